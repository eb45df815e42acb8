"""Bounds of a factor over a strip of the complex plane: |f(x + iq)| <= C exp(a |x|) for |q| <= width.

A factor here is what stands beside the weights in a token mean: polynomials in the score, error functions of it. With
w = r + iq, |erfc(w)| <= e^{q^2} erfc(r), from its integral along the line through w.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sympy
from flint import arb

from theorem_engine.backends.balls.functions import ball
from theorem_engine.backends.base import Backend
from theorem_engine.base.errors import NotAvailable
from theorem_engine.language.functions import normal_cdf, normal_pdf

Pair = tuple[Any, Any]
Rule = Callable[[Sequence[Any], Any], Pair]


class Factor:
    """One factor: its values on the line, and its bound on strips."""

    def __init__(self, expression: Any, variable: Any, parameters: Sequence[Any], backend: Backend) -> None:
        self.variable = variable
        self._constants: list[Any] = []
        self._rule = self._bound(sympy.expand_mul(expression))
        self._numbers = backend.function(list(parameters), self._constants) if self._constants else None
        self._value = backend.function([variable, *parameters], [expression])

    def at(self, values: Sequence[Any]) -> FactorHere:
        """The factor at given parameters."""
        constants = [] if self._numbers is None else [ball(v) for v in self._numbers(*values)]
        return FactorHere(lambda x: ball(self._value(x, *values)[0]), lambda width: self._rule(constants, width))

    def _constant(self, node: Any) -> int:
        if node not in self._constants:
            self._constants.append(node)
        return self._constants.index(node)

    def _bound(self, node: Any) -> Rule:
        x = self.variable
        if x not in node.free_symbols:
            place = self._constant(node)
            return lambda c, width: (abs(c[place]), arb(0))
        if node == x:
            return lambda c, width: (1 + width, arb(1))
        if isinstance(node, sympy.Add):
            return _summed([self._bound(a) for a in node.args])
        if isinstance(node, sympy.Mul):
            return _multiplied([self._bound(a) for a in node.args])
        if isinstance(node, sympy.Pow) and node.exp.is_Integer and node.exp > 0:
            return _multiplied([self._bound(node.base)] * int(node.exp))
        if isinstance(node, (normal_cdf, normal_pdf, sympy.erf, sympy.erfc)):
            line = sympy.expand(node.args[0])
            if line.is_polynomial(x) and sympy.degree(line, x) == 1:
                place = self._constant(line.coeff(x, 1))
                half = isinstance(node, (normal_cdf, normal_pdf))

                def rule(c: Sequence[Any], width: Any) -> Pair:
                    tilt = (c[place] * width) ** 2
                    return 3 * (tilt / 2 if half else tilt).exp(), arb(0)

                return rule
        raise NotAvailable(f"no certificate: a token mean has the factor {str(node)[:60]}, which has no enclosure")


class FactorHere:
    """A factor at given parameters."""

    def __init__(self, value: Callable[[Any], Any], bound: Callable[[Any], Pair]) -> None:
        self.value, self.bound = value, bound

    def mean_size(self, width: Any) -> Any:
        """A bound of the mean of |f| along every line of the strip: E exp(a|x|) <= 2 exp(a^2/2)."""
        size, rate = self.bound(width)
        return (2 * size * (rate * rate / 2).exp()).upper()

    def root_mean_square(self) -> Any:
        """A bound of the root of the mean of f^2."""
        size, rate = self.bound(arb(0))
        return (2 * size * size * (2 * rate * rate).exp()).sqrt().upper()


def _summed(rules: Sequence[Rule]) -> Rule:
    def rule(c: Sequence[Any], width: Any) -> Pair:
        size, rate = arb(0), arb(0)
        for inner in rules:
            more, faster = inner(c, width)
            size, rate = size + more, rate.max(faster)
        return size, rate

    return rule


def _multiplied(rules: Sequence[Rule]) -> Rule:
    def rule(c: Sequence[Any], width: Any) -> Pair:
        size, rate = arb(1), arb(0)
        for inner in rules:
            more, faster = inner(c, width)
            size, rate = size * more, rate + faster
        return size, rate

    return rule
