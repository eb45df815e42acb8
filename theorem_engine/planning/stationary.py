"""Gradient, Hessian and mixed derivatives of an objective of many tokens, all from SymPy.

With the Lagrangian ell = e + sum_a m_a h_a of one token (``objective`` has e, h, G and T) the multipliers m_a are the
derivatives of Phi in T_a; they follow from the last sum to the first. Then, l being a token and J_a = dT_a/dx,

    gradient_l = d ell/dx_l
    Hessian    = diag(d2 ell/dx_l dx_l) + sum_a (Y_a J_a^T + J_a Y_a^T) + sum_ab M_ab J_a J_b^T,

with Y_a = d2 ell/dx dT_a and M_ab = d2 G/dT_a dT_b + sum_l d2 ell/dT_a dT_b: a matrix of each token and a few dyads,
whatever the number of tokens. Where it is not positive definite the second derivatives of the sums are left out
(Gauss and Newton), which leaves diag(d2 e/dx dx) + sum_ab d2G/dT_a dT_b J_a J_b^T.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import sympy

from theorem_engine.language.operators.stochastic import TokenSum
from theorem_engine.planning.objective import Objective, Totals, fresh


class Stationary:
    """All derivatives of an objective up to the second, in its letters, its sums and further letters."""

    def __init__(self, objective: Objective) -> None:
        self.objective = objective
        self.letters = objective.letters
        self.sums = objective.sums
        self.symbols = tuple(s.symbol for s in self.sums)
        self.multipliers = tuple(fresh("multiplier", i) for i in range(len(self.sums)))
        self.totals = Totals(objective, frozenset(self.multipliers))
        self.density = objective.each + sympy.Add(
            *(m * s.density for m, s in zip(self.multipliers, self.sums, strict=True))
        )

    def _written(self, expression: Any) -> Any:
        return self.objective.with_shares(expression)

    @cached_property
    def gradient(self) -> list[Any]:
        """Of each token, in each letter."""
        return [self._written(self.density.diff(x)) for x in self.letters]

    @cached_property
    def blocks(self) -> list[list[Any]]:
        """Second derivatives within a token at fixed sums."""
        return [[self._written(self.density.diff(a, b)) for b in self.letters] for a in self.letters]

    @cached_property
    def plain_blocks(self) -> list[list[Any]]:
        """The same of the terms of each token alone."""
        return [[self.objective.each.diff(a, b) for b in self.letters] for a in self.letters]

    @cached_property
    def mixed(self) -> list[list[Any]]:
        """Y: for each sum and each letter."""
        return [[self._written(self.density.diff(x, t)) for x in self.letters] for t in self.symbols]

    @cached_property
    def direct(self) -> list[list[Any]]:
        """Derivatives of h_a in the letters at fixed sums."""
        return [[self._written(s.density.diff(x)) for x in self.letters] for s in self.sums]

    @cached_property
    def chain(self) -> list[list[Any]]:
        """How sums move with the sums before them: sum_l dh_a/dT_b."""
        return [
            [self.totals.of(s.density.diff(t)) if i > j else sympy.Integer(0) for j, t in enumerate(self.symbols)]
            for i, s in enumerate(self.sums)
        ]

    @cached_property
    def outer_curvature(self) -> list[list[Any]]:
        """Second derivatives of G."""
        return [[self.objective.outer.diff(a, b) for b in self.symbols] for a in self.symbols]

    @cached_property
    def curvature(self) -> list[list[Any]]:
        """M."""
        return [
            [g + self.totals.of(self.density.diff(a, b)) for b, g in zip(self.symbols, row, strict=True)]
            for a, row in zip(self.symbols, self.outer_curvature, strict=True)
        ]

    @cached_property
    def adjoint(self) -> dict[Any, Any]:
        """The multipliers, last sum first."""
        found = {}
        for a in reversed(range(len(self.sums))):
            later = (self.multipliers[b] * self.chain[b][a] for b in range(a + 1, len(self.sums)))
            found[self.multipliers[a]] = self.objective.outer.diff(self.symbols[a]) + sympy.Add(*later)
        return found

    def equations(self) -> list[tuple[Any, Any]]:
        """Everything that the derivatives are written in, as functions of whole sequences."""
        found: list[tuple[Any, Any]] = []
        shares = {s.symbol: (share, s.density) for share, s in self.objective.shares().items()}
        for s in self.sums:
            found.append((s.symbol, s.equation()))
            if s.symbol in shares:
                found.append(shares[s.symbol])
        return [*found, *((m, TokenSum(e)) for m, e in self.totals.more.items()), *self.adjoint.items()]

    @cached_property
    def height(self) -> Any:
        """The objective, in terms of its sums."""
        each = self.objective.each
        return (each if self.objective.is_separate else TokenSum(each)) + self.objective.outer
