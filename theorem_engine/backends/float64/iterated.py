"""Self-consistent groups solved by iterating their map, point by point."""

from __future__ import annotations

from typing import Any

import numpy as np

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.base.errors import NotConverged
from theorem_engine.base.random_sets import is_restricted, standard_error
from theorem_engine.base.reports import note
from theorem_engine.numerics.solvers.iteration import Array, iterate, nearest_solution, remember
from theorem_engine.numerics.solvers.neighbours import told
from theorem_engine.numerics.solvers.newton import as_columns, shaped
from theorem_engine.planning.plan import Solve

#: Memory, damping and budget of each method.
MANNERS = {"anderson": (6, 0.7, 150), "iteration": (0, 1.0, 4000)}
#: The residual aimed at. Ten times as much is a solution: a plain iteration creeps towards the end.
TOLERANCE, ACCEPT = 1e-9, 1e-8
#: Means over samples whose proximal points jump have steps, and a fixed point only up to the weight of a few samples.
#: There a residual below this share of the map's own statistical error is a solution: it adds 3 per cent to the error.
SHARE = 0.25
#: Evaluations that a start taken from a neighbouring point is worth.
SHORT = 60
#: Where no start leads to a solution the letter that eases the equations is multiplied by this, so many times.
EASE, EASINGS = 4.0, 6


def lower_iterated(solve: Solve, backend: Backend) -> Numeric:
    """A function of starts, branch by branch, and parameters that returns the unknowns."""
    group = _Iterated(solve, backend)

    def evaluate(*values: Any) -> list[Any]:
        columns, shape = as_columns(values)
        with np.errstate(all="ignore"):
            found = np.stack([group.solution(columns[:, n]) for n in range(columns.shape[1])], axis=1)
        return shaped(found, shape)

    return evaluate


class CompiledGroup:
    """Equations of a group as compiled code, with the number and the names of its unknowns."""

    def __init__(self, solve: Solve, backend: Backend) -> None:
        self.solve = solve
        self.run = backend.compile(solve.residual)
        self.size = len(solve.unknowns)
        self.names = ", ".join(s.name for s in solve.unknowns)


class _Iterated(CompiledGroup):
    """Iteration from each branch's start until one converges, by way of an easier problem where all fail."""

    def solution(self, column: Array) -> Array:
        """The unknowns at one point."""
        width = self.size * len(self.solve.starts)
        starts = list(column[:width].reshape(-1, self.size))
        parameters = column[width:]
        # a plain iteration is asked for where the start chooses the branch
        near = nearest_solution(self, parameters) if self.solve.method == "anderson" else None
        x = self._between(parameters) if near is None else self._try(near, parameters, SHORT, [])
        seen: list[str] = []
        if x is None:
            x = self._from_starts(starts, parameters, EASINGS, seen)
        if x is None:
            raise NotConverged(f"the group {self.names} did not converge (wanted {TOLERANCE:.0e}); {'; '.join(seen)}")
        remember(self, parameters, x)
        block = told()
        if block is not None and not is_restricted():
            block.keep(self.names, self, x)
        return x

    def _between(self, parameters: Array) -> Array | None:
        """The solution near those of neighbouring points; None where there are none, or it is another one."""
        block = told()
        between = None if block is None else block.between
        if between is None or self.solve.method != "anderson":
            return None
        start = between.start(self.names, self.solve.positive)
        x = None if start is None else self._try(start, parameters, SHORT, [])
        return x if x is not None and between.holds(self.names, x) else None

    def _from_starts(self, starts: list[Array], parameters: Array, easings: int, seen: list[str]) -> Array | None:
        for start in starts:
            x = self._try(start, parameters, MANNERS[self.solve.method][2], seen)
            if x is not None:
                return x
        if self.solve.along is None or not easings:
            return None
        eased = parameters.copy()
        eased[self.solve.along] *= EASE
        easier = self._from_starts(starts, eased, easings - 1, [])
        return None if easier is None else self._try(easier, parameters, MANNERS[self.solve.method][2], seen)

    def _try(self, start: Array, parameters: Array, steps: int, seen: list[str]) -> Array | None:
        memory, damping, _ = MANNERS[self.solve.method]
        listed = parameters.tolist()

        def function(x: Array) -> Array:
            try:
                return np.array(self.run(*x.tolist(), *listed), dtype=float)
            except (OverflowError, ZeroDivisionError):
                return np.full(self.size, np.nan)

        judged: list[Array] = []

        def is_noise(x: Array, value: Array) -> bool:
            if np.all(np.abs(value - x) <= SHARE * standard_error(lambda: function(x))):
                judged.append(x)
            return bool(judged)

        x, residual, taken = iterate(
            function, start, self.solve.positive, memory=memory, damping=damping, steps=steps, tolerance=TOLERANCE,
            is_enough=is_noise,
        )  # fmt: skip
        if residual <= ACCEPT or judged:
            note(f"{self.solve.method} for {self.names}", residual, f"{taken} evaluations")
            return x
        seen.append(f"residual {residual:.1e} after {taken} evaluations")
        return None
