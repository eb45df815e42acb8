"""Bounds of a function over the whole line: |f(x)| <= C exp(a |x|), read off its expression.

A tail of a Gaussian mean is bounded by this and by nothing less: values at finitely many places prove nothing about
infinity. Each rule turns bounds of the parts into one of the whole; a node without a rule is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import sympy
from flint import arb

from theorem_engine.backends.balls.claims import Unproved
from theorem_engine.backends.balls.functions import ball
from theorem_engine.backends.base import Backend
from theorem_engine.base.errors import NotAvailable
from theorem_engine.language.functions import (
    expm1,
    log_softplus,
    normal_cdf,
    normal_pdf,
    positive_part,
    softplus,
)
from theorem_engine.language.operators.base import Component, is_operator

Pair = tuple[Any, Any]
Rule = Callable[[Sequence[Any]], Pair]
Floor = Callable[[Sequence[Any]], Any]

#: Functions bounded whatever their argument, by these numbers.
_BOUNDED = {
    sympy.erf: 1, sympy.tanh: 1, sympy.sin: 1, sympy.cos: 1, sympy.sign: 1, sympy.Heaviside: 1, sympy.sech: 1,
    normal_cdf: 1, normal_pdf: 1, sympy.erfc: 2, sympy.atan: 2,
}  # fmt: skip


class Growth:
    """The bound of one body in one variable, as a function of the parameters."""

    def __init__(self, body: Any, variable: Any, parameters: Sequence[Any], backend: Backend) -> None:
        self.variable = variable
        self._constants: list[Any] = []
        self._rule = self._bound(body)
        self._values = backend.function(list(parameters), self._constants) if self._constants else None

    def __call__(self, *values: Any) -> Pair:
        """C and a at given parameters, both upper bounds."""
        constants = [] if self._values is None else [ball(v) for v in self._values(*values)]
        size, rate = self._rule(constants)
        return size.upper(), rate.upper()

    def _free(self, node: Any) -> bool:
        return self.variable not in node.free_symbols

    def _constant(self, node: Any) -> int:
        if node not in self._constants:
            self._constants.append(node)
        return self._constants.index(node)

    def _refused(self, node: Any) -> NotAvailable:
        return NotAvailable(f"no growth bound for {str(node)[:80]} in a Gaussian mean")

    def _bound(self, node: Any) -> Rule:
        if self._free(node):
            place = self._constant(node)
            return lambda c: (abs(c[place]), arb(0))
        if node == self.variable:
            return lambda c: (arb(1), arb(1))
        if isinstance(node, Component) or is_operator(node):
            raise self._refused(type(node).__name__)
        kind = type(node)
        if kind in _BOUNDED:
            most = _BOUNDED[kind]
            return lambda c: (arb(most), arb(0))
        if isinstance(node, (sympy.Add, sympy.Max, sympy.Min)):
            return _summed([self._bound(a) for a in node.args])
        if isinstance(node, sympy.Piecewise):
            return _summed([self._bound(value) for value, _ in node.args])
        if isinstance(node, sympy.Mul):
            return _multiplied([self._bound(a) for a in node.args])
        if isinstance(node, sympy.exp) or (isinstance(node, sympy.Pow) and node.base is sympy.E):
            return self._exponential(node.args[0] if isinstance(node, sympy.exp) else node.exp)
        if isinstance(node, (sympy.cosh, sympy.sinh)):
            return _summed([self._exponential(node.args[0]), self._exponential(-node.args[0])])
        if isinstance(node, expm1):
            return _summed([self._exponential(node.args[0]), lambda c: (arb(1), arb(0))])
        if isinstance(node, (sympy.Abs, positive_part)):
            return self._bound(node.args[0])
        if isinstance(node, (softplus, log_softplus)):
            # log 2 <= softplus(y)/min(1, e^y) and softplus(y) <= log 2 + |y|
            inner = self._bound(node.args[0])
            return _summed([inner, lambda c: (arb(2), arb(0))])
        if isinstance(node, sympy.log):
            # |log f| <= f + 1/f
            return _summed([self._bound(node.args[0]), self._reciprocal(node.args[0], 1)])
        if isinstance(node, sympy.Pow):
            return self._power(node.base, node.exp)
        raise self._refused(node)

    def _power(self, base: Any, exponent: Any) -> Rule:
        if not self._free(exponent):
            raise self._refused(base**exponent)
        if exponent.is_negative:
            return self._reciprocal(base, -exponent)
        inner, place = self._bound(base), self._constant(exponent)

        def rule(c: Sequence[Any]) -> Pair:
            size, rate = inner(c)
            power = c[place]
            if not power >= 0:
                raise Unproved(f"no growth bound: the sign of the exponent {exponent} is not told")
            # a larger base than one keeps the power an upper bound for every exponent in its ball
            return (size.max(arb(1)).log() * power).exp(), rate * power

        def whole(c: Sequence[Any]) -> Pair:
            size, rate = inner(c)
            return size ** int(exponent), rate * int(exponent)

        return whole if exponent.is_Integer else rule

    def _reciprocal(self, base: Any, exponent: Any) -> Rule:
        floor, place = self._floor(base), self._constant(sympy.sympify(exponent, strict=True))
        if floor is None:
            raise self._refused(1 / base)

        def rule(c: Sequence[Any]) -> Pair:
            least = floor(c)
            if not least > 0:
                raise Unproved(f"no growth bound: {str(base)[:60]} is not bounded away from zero")
            return (-least.log() * c[place]).exp(), arb(0)

        return rule

    def _floor(self, node: Any) -> Floor | None:
        """A lower bound that is not negative, where the node plainly has one."""
        if self._free(node):
            place = self._constant(node)
            return lambda c: c[place].lower()
        if isinstance(node, sympy.cosh):
            return lambda c: arb(1)
        if isinstance(node, (sympy.exp, sympy.Abs, sympy.erfc, softplus, normal_cdf, normal_pdf, positive_part)) or (
            isinstance(node, sympy.Pow) and (node.base is sympy.E or node.exp.is_even)
        ):
            return lambda c: arb(0)
        if isinstance(node, (sympy.Add, sympy.Mul)):
            parts = [self._floor(a) for a in node.args]
            if any(p is None for p in parts):
                return None
            return _added(parts) if isinstance(node, sympy.Add) else _product(parts)
        if isinstance(node, sympy.Pow) and node.exp.is_Rational:
            inner = self._floor(node.base)
            power = node.exp
            if inner is None:
                return None
            if power < 0:
                return lambda c: _nonnegative(inner(c)) * 0
            return lambda c: (_nonnegative(inner(c)).log() * arb(int(power.p)) / int(power.q)).exp() if (
                inner(c) > 0
            ) else _nonnegative(inner(c)) * 0  # fmt: skip
        return None

    def _exponential(self, argument: Any) -> Rule:
        """The exponential of a quadratic polynomial that does not rise, and of terms that are understood."""
        x = self.variable
        flat = sympy.expand(argument)
        polynomial, rules = sympy.S.Zero, []
        for term in sympy.Add.make_args(flat):
            if term.is_polynomial(x):
                polynomial += term
            else:
                rules.append(self._of_term(term))
        powers = sympy.Poly(polynomial, x).all_coeffs()[::-1] if polynomial != 0 else []
        if len(powers) > 3:
            raise self._refused(sympy.exp(argument))
        places = [self._constant(q) for q in (*powers, *([sympy.S.Zero] * (3 - len(powers))))]

        def rule(c: Sequence[Any]) -> Pair:
            level, slope, bend = (c[place] for place in places)
            if not bend <= 0:
                raise Unproved(f"no growth bound for exp({str(argument)[:60]}): it may grow like a Gaussian")
            if bend < -1:
                # a narrow hump: its top is a better bound than a line far above it
                return (level - slope * slope / (4 * bend)).upper().exp(), arb(0)
            return level.upper().exp(), abs(slope)

        return _multiplied([rule, *rules])

    def _of_term(self, term: Any) -> Rule:
        """exp(c f) for a bounded f, and for softplus and its logarithm of a line."""
        factor, rest = term.as_independent(self.variable, as_Add=False)
        place = self._constant(factor)
        inner = self._bound(rest)
        if isinstance(rest, (softplus, log_softplus)):
            line = sympy.expand(rest.args[0])
            is_line = line.is_polynomial(self.variable) and sympy.degree(line, self.variable) <= 1
            slopes = [self._constant(line.coeff(self.variable, k)) for k in (0, 1)] if is_line else None
            is_log = isinstance(rest, log_softplus)

            def rule(c: Sequence[Any]) -> Pair:
                times = c[place]
                if times <= 0 and not is_log:
                    return arb(1), arb(0)
                if slopes is None:
                    raise self._refused(sympy.exp(term))
                # both lie within 2 + |line|: log softplus(y) >= min(0, y) + log log 2 and <= softplus(y)
                size = abs(times)
                return (size * (2 + abs(c[slopes[0]]))).exp(), size * abs(c[slopes[1]])

            return rule

        def bounded(c: Sequence[Any]) -> Pair:
            size, rate = inner(c)
            if not rate == 0:
                raise self._refused(sympy.exp(term))
            return (abs(c[place]) * size).exp(), arb(0)

        return bounded


def _nonnegative(value: Any) -> Any:
    if not value >= 0:
        raise Unproved("no growth bound: a part that should not be negative may be")
    return value


def _added(parts: Sequence[Any]) -> Floor:
    # a sum needs no sign of its parts, only their lower bounds
    return lambda c: sum((p(c) for p in parts), arb(0)).lower()


def _product(parts: Sequence[Any]) -> Floor:
    def rule(c: Sequence[Any]) -> Any:
        total = arb(1)
        for p in parts:
            total *= _nonnegative(p(c))
        return total.lower()

    return rule


def _summed(rules: Sequence[Rule]) -> Rule:
    return _joined(rules, arb(0), lambda a, b: (a[0] + b[0], a[1].max(b[1])))


def _multiplied(rules: Sequence[Rule]) -> Rule:
    return _joined(rules, arb(1), lambda a, b: (a[0] * b[0], a[1] + b[1]))


def _joined(rules: Sequence[Rule], first: Any, join: Callable[[Pair, Pair], Pair]) -> Rule:
    return lambda c: reduce(join, (inner(c) for inner in rules), (first, arb(0)))
