"""Newton's method for an objective, by generated machine code or by NumPy."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import sympy

from theorem_engine.backends.base import Backend
from theorem_engine.backends.float64 import proximal_code
from theorem_engine.numerics.compiled import call_compiled
from theorem_engine.numerics.proximal import newton
from theorem_engine.planning.objective import TOKENS, Objective
from theorem_engine.planning.stationary import Stationary

#: A descent whose last step was this long, relative to the point, has not found a minimum.
UNFINISHED = 1e-3


def parameters(objective: Objective) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Letters that tokens have, one value each, and letters of a sample, in an order that is always the same."""
    found = sorted(objective.parameters, key=lambda s: (s.name, getattr(s, "scope", "")))
    return tuple(s for s in found if s not in objective.shared), tuple(s for s in found if s in objective.shared)


def packed(batch: Any, fields: tuple[Any, ...], singles: tuple[Any, ...]) -> tuple[Any, Any]:
    """Their values as machine code takes them: (n, fields, L) and (n, singles)."""
    each, one = np.empty((batch.count, len(fields), batch.tokens)), np.empty((batch.count, len(singles)))
    for i, array in enumerate(batch.take(fields)):
        each[:, i] = array
    for i, array in enumerate(batch.take(singles)):
        one[:, i] = array[:, 0]
    return each, one


class Descent:
    """Descent for one objective of tokens, or of single numbers."""

    def __init__(self, objective: Objective, backend: Backend) -> None:
        self.objective = objective
        self.of = Stationary(objective)
        self.backend = backend
        self.fields, self.singles = parameters(objective)

    @cached_property
    def module(self) -> Any:
        """Machine code, or None."""
        return proximal_code.descent_module(self.of, self.fields, self.singles)

    @cached_property
    def plain(self) -> _Plain:
        """The same in NumPy."""
        return _Plain(self.of, (*self.fields, *self.singles), self.backend)

    def at(self, batch: Any) -> Any:
        """The descent for given parameters: ``search.Descent``."""
        is_worth_it = batch.count >= proximal_code.WORTH_COMPILING
        return self._compiled(batch) if is_worth_it and self.module is not None else self._numpy(batch)

    def _compiled(self, batch: Any) -> Any:
        fields, singles = packed(batch, self.fields, self.singles)

        def descend(start: Any, rows: Any, tolerance: float, known: Any = None, near: float = -1.0) -> Any:
            x = np.array(start, dtype=float, order="C")
            height, last = np.empty(len(x)), np.empty(len(x))
            call_compiled(self.module.descend, x, fields[rows], singles[rows], x if known is None else known,
                          -1.0 if known is None else near, newton.STEPS, tolerance, height, last)  # fmt: skip
            return _finished(x, height, last, known is None)

        return descend

    def _numpy(self, batch: Any) -> Any:
        plain = self.plain
        given = batch.take(plain.parameters)

        def descend(start: Any, rows: Any, tolerance: float, known: Any = None, near: float = 0.0) -> Any:
            here = [a[rows] for a in given]
            found = newton.descend(
                np.array(start, dtype=float), lambda x, at: plain.measure(x, [a[at] for a in here]),
                lambda x, at: plain.derive(x, [a[at] for a in here]), tolerance, known, near,
            )  # fmt: skip
            return _finished(*found, known is None)

        return descend


def _finished(x: Any, height: Any, last: Any, must_end: bool) -> tuple[Any, Any]:
    if must_end:
        x[~(last <= UNFINISHED)] = np.nan
    return x, height


class _Plain:
    """Objective and derivatives as NumPy functions of whole sequences."""

    def __init__(self, of: Stationary, parameters: tuple[Any, ...], backend: Backend) -> None:
        self.of, self.parameters = of, (*parameters, TOKENS)
        inputs = [*of.letters, *self.parameters]
        tables = [of.gradient, *of.blocks, *of.plain_blocks, *of.direct, *of.mixed, *of.chain, *of.curvature,
                  *of.outer_curvature]  # fmt: skip
        # the sums that the tables need are known only once they are written
        self._height = _function(inputs, of, [of.height], backend)
        self._tables = _function(inputs, of, [e for row in tables for e in row], backend)

    def _letters(self, x: Any) -> list[Any]:
        return np.split(x, len(self.of.letters), axis=1)

    def measure(self, x: Any, given: list[Any]) -> Any:
        """Heights (n,)."""
        return np.array(np.broadcast_to(self._height(*self._letters(x), *given)[0], (len(x), 1))[:, 0])

    def derive(self, x: Any, given: list[Any]) -> newton.Derivatives:
        """All derivatives that a step needs."""
        letters, sums = len(self.of.letters), len(self.of.sums)
        count, tokens = len(x), x.shape[1] // letters
        flat = iter(self._tables(*self._letters(x), *given))

        def table(*shape: int) -> Any:
            """Numbers of each token, (n, shape, L)."""
            found = [np.broadcast_to(next(flat), (count, tokens)) for _ in range(int(np.prod(shape)))]
            return (
                np.stack(found, axis=1).reshape(count, *shape, tokens) if found else np.zeros((count, *shape, tokens))
            )

        def single(*shape: int) -> Any:
            """Numbers of each sample, (n, shape)."""
            found = [np.broadcast_to(next(flat), (count, 1)) for _ in range(int(np.prod(shape)))]
            return np.concatenate(found, axis=1).reshape(count, *shape) if found else np.zeros((count, *shape))

        gradient = table(letters).reshape(count, -1)
        block, plain = table(letters, letters), table(letters, letters)
        moves, mixed = (table(sums, letters).reshape(count, sums, letters * tokens) for _ in range(2))
        chain, curvature, outer = (single(sums, sums) for _ in range(3))
        for a in range(sums):
            moves[:, a] += np.einsum("nb,nbi->ni", chain[:, a, :a], moves[:, :a])
        bends = mixed + curvature @ moves / 2
        return newton.Derivatives(gradient, block, plain, np.swapaxes(moves, 1, 2), np.swapaxes(bends, 1, 2), outer)


def _function(inputs: list[Any], of: Stationary, wanted: list[Any], backend: Backend) -> Any:
    targets = [sympy.Dummy(f"result{i}") for i in range(len(wanted))]
    return backend.elementary(inputs, [*of.equations(), *zip(targets, wanted, strict=True)], targets)
