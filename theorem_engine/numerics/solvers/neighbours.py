"""Starts between two solutions that are known: on both sides of a point a system has a solution near the one there.

A start of one's own decides which of several solutions is found; so a start taken from neighbours must not lead to
another one. It is used only where the neighbours are alike, and what is found from it counts only if it lies between
them, or nearly so. Everything else is solved from its own start.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
#: What solves each system, by the names of its unknowns.
Solutions = Mapping[str, Sequence[float]]
#: Unknowns of neighbours that are alike differ by less than this factor: widths, which are positive and may follow a
#: power of a letter, and others, which tell one solution from another.
WIDTHS_ALIKE, ALIKE = 6.0, 1.5
#: What is found between two neighbours may lie outside them by this factor.
BEYOND = 1.25


@dataclass(frozen=True)
class Between:
    """Where a point lies between two others, from 0 to 1, and what solves the systems of both."""

    share: float
    left: Solutions
    right: Solutions

    def start(self, name: str, positive: Sequence[bool]) -> Array | None:
        """The geometric mean of both solutions, weighted by the place; None where they are not alike."""
        left, right = (np.array(side.get(name, ()), dtype=float) for side in (self.left, self.right))
        # a zero is like nothing else, and so is what was not solved
        if left.size != len(positive) or left.shape != right.shape or not np.all(left * right > 0):
            return None
        ratio = right / left
        if np.any(np.abs(np.log(ratio)) > np.log(np.where(positive, WIDTHS_ALIKE, ALIKE))):
            return None
        start: Array = left * ratio**self.share
        return start

    def holds(self, name: str, solution: Array) -> bool:
        """Whether a solution lies between the two, or nearly so."""
        sides = np.array([self.left[name], self.right[name]], dtype=float)
        sizes = np.abs(sides)
        is_near = (np.abs(solution) <= BEYOND * sizes.max(axis=0)) & (np.abs(solution) >= sizes.min(axis=0) / BEYOND)
        return bool(np.all(is_near & (np.sign(solution) == np.sign(sides[0]))))


@dataclass
class Told:
    """What is told of the systems solved in a block, and where they may start."""

    between: Between | None
    found: dict[str, list[float]] = field(default_factory=dict)
    solvers: dict[str, Any] = field(default_factory=dict)

    def keep(self, name: str, solver: Any, solution: Array) -> None:
        """Keep the first solution of a system; of two that share a name neither is known by it."""
        if self.solvers.setdefault(name, solver) is not solver:
            self.found.pop(name, None)
        elif name not in self.found:
            self.found[name] = [float(x) for x in solution]


#: No argument: generated code stands between a sweep and the systems it solves.
_told: ContextVar[Told | None] = ContextVar("told", default=None)


@contextmanager
def telling(between: Between | None = None) -> Iterator[Told]:
    """Inside the block systems tell what solves them, and may start between the solutions given."""
    told = Told(between)
    token = _told.set(told)
    try:
        yield told
    finally:
        _told.reset(token)


def told() -> Told | None:
    """The block that this is in, if there is one."""
    return _told.get()
