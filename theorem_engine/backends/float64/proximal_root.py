"""Proximal points that follow from one multiplier."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from theorem_engine.backends.base import Backend
from theorem_engine.backends.float64 import proximal_code
from theorem_engine.backends.float64.proximal_descent import packed, parameters
from theorem_engine.numerics.compiled import call_compiled
from theorem_engine.numerics.proximal import multiplier
from theorem_engine.planning.objective import TOKENS, Objective
from theorem_engine.planning.quadratic import MULTIPLIER, OneMultiplier
from theorem_engine.planning.stationary import Stationary


class RootPoint:
    """The equation of the multiplier, and the letters that follow from its root."""

    def __init__(self, objective: Objective, form: OneMultiplier, backend: Backend) -> None:
        self.letters, self.backend, self.form = objective.letters, backend, form
        self.of = Stationary(objective)
        self.fields, self.singles = parameters(objective)

    @cached_property
    def module(self) -> Any:
        """Machine code, or None."""
        return proximal_code.root_module(self.form, self.of, self.fields, self.singles)

    @cached_property
    def plain(self) -> _Plain:
        """The same in NumPy."""
        return _Plain(self.of, self.form, (*self.fields, *self.singles), self.backend)

    def find(self, batch: Any) -> tuple[tuple[Any, ...], Any]:
        """The letters (n, L) and the height (n, 1)."""
        if batch.count < proximal_code.WORTH_COMPILING or self.module is None:
            return self.plain.find(batch)
        fields, singles = packed(batch, self.fields, self.singles)
        points, heights = np.empty((batch.count, len(self.letters) * batch.tokens)), np.empty(batch.count)
        call_compiled(self.module.follow, points, fields, singles, multiplier.STEPS, multiplier.LAST_STEP, heights)
        return tuple(np.split(points, len(self.letters), axis=1)), heights[:, None]


class _Plain:
    """The same as NumPy functions of whole sequences."""

    def __init__(self, of: Stationary, form: OneMultiplier, names: tuple[Any, ...], backend: Backend) -> None:
        self.parameters = (*names, TOKENS)
        self.inside = tuple(sorted(form.residual.free_symbols - {MULTIPLIER}, key=lambda s: s.name))
        self.own = [s for s in self.inside if s in form.sums]
        self.sums = backend.function(self.parameters, [form.sums[s] for s in self.own])
        self.poles = backend.function(self.parameters, list(form.poles))
        residual = form.residual
        self.equation = backend.function([MULTIPLIER, *self.inside], [residual, residual.diff(MULTIPLIER)])
        self.point = backend.function([MULTIPLIER, *self.parameters], list(form.point))
        sums = {s.symbol: s.equation() for s in of.sums}
        self.height = backend.function([*of.letters, *self.parameters], [of.height], sums)

    def find(self, batch: Any) -> tuple[tuple[Any, ...], Any]:
        """The letters (n, L) and the height (n, 1)."""
        given = batch.take(self.parameters)
        known = dict(zip(self.own, self.sums(*given), strict=True))
        numbers = [np.broadcast_to(known[s] if s in known else batch.values[s], (batch.count, 1)) for s in self.inside]

        def equation(m: Any, at: Any) -> Any:
            value, slope = self.equation(m, *(a[at, 0] for a in numbers))
            return np.broadcast_to(value, m.shape), np.broadcast_to(slope, m.shape)

        m = multiplier.roots(*multiplier.ends(self.poles(*given), batch.count), equation)[:, None]
        letters = tuple(np.broadcast_to(e, (batch.count, batch.tokens)) for e in self.point(m, *given))
        return letters, np.broadcast_to(self.height(*letters, *given)[0], (batch.count, 1))
