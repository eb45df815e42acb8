"""Token means of exponential weights, enclosed: the lattice theorem.

A mean is a sum of integrals over u of products of brackets, all of them positive. For |Im u| <= y the integral of the
absolute value is at most I/cos^P y, P the total power of the weights, so the trapezoid sum with the step h obeys
|sum - I| <= rho I with rho = 2/(cos^P y (exp(2 pi y/h) - 1)): a relative bound, free of the length and of the signal.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import sympy
from flint import acb, arb, ctx

from theorem_engine.backends.balls.argmax import lower_argmax
from theorem_engine.backends.balls.claims import Unproved
from theorem_engine.backends.balls.functions import ball
from theorem_engine.backends.balls.lattice import SMALL, Brackets, Effort, Token, step_ball
from theorem_engine.backends.balls.length_mean import exact_lengths
from theorem_engine.backends.balls.strip import Factor
from theorem_engine.backends.balls.window import LENGTHS, find_window
from theorem_engine.backends.base import Backend, Numeric, get_backend
from theorem_engine.backends.float64.each_point import plain
from theorem_engine.backends.token_bundle import TokenBundle
from theorem_engine.base.errors import NotAvailable, TheoremEngineError
from theorem_engine.language.lengths import Distribution
from theorem_engine.language.operators.token_layout import Product
from theorem_engine.language.operators.token_mean import Hardmax
from theorem_engine.planning.plan import Operate

#: Half width of the strip; near pi/2, where the step may be largest.
STRIP = 1.5


def lower(means: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """One exponential weight; the rest is refused by name."""
    first = means[0]
    if len(first.kernels) != 1:
        raise NotAvailable("no certificate: token means with two weights have no enclosure")
    if first.kernels[0].has(Hardmax):
        return lower_argmax(means, parameters, backend)
    return _Lattice(means, parameters, backend)


class _Lattice(TokenBundle):
    """A bundle of token means over the same tokens."""

    def __init__(self, means: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> None:
        super().__init__(means, parameters, backend)
        first = means[0]
        (x,) = first.normals
        sides = self.layout.brackets[: 1 + self.has_hidden]
        self.factors = [list(dict.fromkeys(f for _, f in side if f != 1)) for side in sides]
        self.asked = [
            [(p, 0 if f == 1 else own.index(f) + 1) for (p,), f in side]
            for side, own in zip(sides, self.factors, strict=True)
        ]
        self.bounds = [[Factor(f, x, parameters, backend) for f in own] for own in self.factors]
        lines = []
        for kernel in first.kernels[0][: 1 + self.has_hidden]:
            line = sympy.expand(kernel)
            if not line.is_polynomial(x) or sympy.degree(line, x) > 1:
                raise NotAvailable("no certificate: token means are enclosed for exponential weights only")
            lines += [line.coeff(x, 0), line.coeff(x, 1)]
        self.lines = backend.function(parameters, lines)
        self.rough = get_backend("float64").operate(Operate(means, ((None,),) * len(means), parameters))

    def __call__(self, *values: Any) -> list[Any]:
        if any(isinstance(v, acb) for v in values):
            raise NotAvailable("no certificate: a token mean stands inside another integral")
        lengths = exact_lengths(self.length(*values)[0])
        longest = max(n for n, _ in lengths)
        # errors of brackets with factors are absolute, and their sums cancel
        spare = 40 * any(self.factors)
        with ctx.extraprec(60 + spare + int(1.5 * math.log2(longest))):
            return self._enclosed(values, lengths, longest)

    def _enclosed(self, values: tuple[Any, ...], lengths: list[tuple[int, Any]], longest: int) -> list[Any]:
        extra, *coefficients = (ball(v) for v in self.outer(*values))
        found = [ball(v) for v in self.lines(*values)]
        tokens = [Token(mu, abs(s), bool(s < 0)) for mu, s in zip(found[::2], found[1::2], strict=True)]
        if not extra.is_zero():
            tokens.append(Token(extra.log(), arb(0)))
        power = max(item.powers[0] for item in self.layout.products)
        effort = self._effort(tokens, lengths, power, self._guess(values, longest))
        asked = [*self.asked, *([] if extra.is_zero() else [[(item.nobody, 0) for item in self.layout.products]])]
        here = [*([f.at(values) for f in own] for own in self.bounds), []]
        brackets = [Brackets(token, pairs, effort, own) for token, pairs, own in zip(tokens, asked, here, strict=False)]
        integrals = [self._integral(item, brackets, lengths, effort) for item in self.layout.products]
        return [sum((coefficients[c] * integrals[p] for c, p in terms), arb(0)) for terms in self.layout.sums]

    def _guess(self, values: tuple[Any, ...], longest: int) -> float:
        """The logarithm of the smallest mean, in double precision; steers the effort only."""
        try:
            with np.errstate(all="ignore"):
                found = [abs(float(v)) for v in self.rough(*[_plain(v) for v in values])]
        except (TheoremEngineError, ArithmeticError, ValueError):
            found = []
        sizes = [math.log(v) for v in found if 0 < v < math.inf]
        return min(sizes, default=-20.0)

    def _effort(self, tokens: list[Token], lengths: list[tuple[int, Any]], power: int, size: float) -> Effort:
        longest, shortest = max(n for n, _ in lengths), min(n for n, _ in lengths)
        digits = math.log(2) * (ctx.prec - 80 - 1.5 * math.log2(longest)) + 4
        if any(self.factors):
            # errors are absolute then
            digits -= min(size, 0.0)
        slopes = [float(t.s.mid()) for t in tokens if not t.is_fixed]
        # an error of the survival counts once for every token; the strip costs a factor 1/cos(y) for every power
        need = digits + math.log(longest) + 3 * power + 3
        wide = max((STRIP**2 / (2 * s * s) for s in slopes), default=0.0)
        if wide > (need + wide) / 4:
            step = min([2 * math.pi * STRIP / need, *(
                s * math.sqrt(2 * math.pi**2 / need) for s in slopes if s >= SMALL
            )])  # fmt: skip
        else:
            step = 2 * math.pi * STRIP / (need + wide)
        step = math.floor(4096 * step) / 4096
        if step <= 0:
            raise Unproved("token mean: the slope of the scores is too small for its lattice")
        decay = digits - min(size, 0.0) + power * math.log(longest)
        if any(self.factors):
            # what lies beyond the ends is bounded by roots
            decay *= 2
        reach = math.sqrt(2 * (decay + 4))
        low, high = math.inf, math.inf
        for index, token in enumerate(tokens):
            s, mu = float(token.s.mid()), float(token.mu.mid())
            low = min(low, -mu - min(decay + s * s / 2, s * reach + decay))
            is_there = index > 0 or shortest - self.has_hidden >= 1
            if is_there:
                high = min(high, -mu + s * reach + math.log(decay + 5))
        if not any(self.factors):
            low, high = self._window(tokens, lengths, (low, high), reach, digits)
        rounds = max(1, math.ceil(decay / need))
        return Effort(step, math.floor(low / step), math.ceil(high / step), STRIP, reach, decay + 5, rounds)

    def _window(
        self,
        tokens: list[Token],
        lengths: list[tuple[int, Any]],
        ends: tuple[float, float],
        reach: float,
        digits: float,
    ) -> tuple[float, float]:
        """The ends of the sum over u that these products and lengths need."""
        products, shares = [], []
        few = lengths[:: max(1, len(lengths) // LENGTHS)]
        for number, item in enumerate(self.layout.products):
            brackets = [(0, self.asked[0][place][0]) for place in item.each]
            if item.hidden is not None:
                brackets.append((1, self.asked[1][item.hidden][0]))
            if len(tokens) > 1 + self.has_hidden:
                brackets.append((1 + self.has_hidden, item.nobody))
            products.append(brackets)
            for n, weight in (lengths[0], *few, lengths[-1]):
                others = n - self.has_hidden
                if others >= len(item.each):
                    share, choices = float(ball(weight).mid()), math.perm(others, len(item.each))
                    shares.append((number, math.log(max(share, 1e-300)), math.log(choices), others - len(item.each)))
        lines = [(float(t.mu.mid()), float(t.s.mid())) for t in tokens]
        return find_window(lines, products, shares, ends, reach, digits)

    def _integral(self, item: Product, brackets: list[Brackets], lengths: list[tuple[int, Any]], effort: Effort) -> Any:
        """The sum over u, what lies beyond its ends, and the error of the rule."""
        hidden, count = int(self.has_hidden), len(item.each)
        present = [(n, w, math.perm(n - hidden, count), n - hidden - count) for n, w in lengths if n - hidden >= count]
        if not present:
            return arb(0)
        factors = [(brackets[0], *self.asked[0][place]) for place in item.each]
        if item.hidden is not None:
            factors.append((brackets[1], *self.asked[1][item.hidden]))
        if len(brackets) > 1 + hidden:
            factors.append((brackets[1 + hidden], item.nobody, 0))
        h, ordinary = step_ball(effort), brackets[0]
        total = arb(0)
        size = effort.last - effort.first + 1
        tables = [table[power, factor] for table, power, factor in factors]
        survival = ordinary[0, 0]
        for i in range(size):
            value = _powers(survival[i], present)
            for table in tables:
                value *= table[i]
            total += value
        total *= h
        is_plain = all(factor == 0 for _, _, factor in factors)
        ends = self._ends(factors, ordinary, present, effort)
        total += arb(0).union(ends) if is_plain else arb(0, ends)
        y = arb(STRIP)
        rho = 2 / (y.cos() ** item.powers[0] * ((2 * arb.pi() * y / h).exp() - 1))
        if not rho < 1:
            raise Unproved("token mean: the step of the lattice is too coarse")
        if is_plain:
            return total / (1 + arb(0, rho.upper())) / math.factorial(item.powers[0] - 1)
        # weights are at most one: the mean of the absolute value is at most the product of those of the factors
        most = sum((w * c for _, w, c, _ in present), arb(0))
        for kind, _, factor in factors:
            most *= kind.size_of(factor)
        return total / math.factorial(item.powers[0] - 1) + arb(0, (rho * most).upper())

    def _ends(self, factors: Any, ordinary: Brackets, present: Any, effort: Effort) -> Any:
        """Bounds of the sum beyond both ends: one factor with a power is summed, the others are at most what they were.

        Left of the first place and right of the last one the factors without a weight are at most one, and at most
        what they are at the last place.
        """
        order = sorted(range(len(factors)), key=lambda i: factors[i][2] > 0)
        chosen = next(i for i in order if factors[i][1])
        table, power, factor = factors[chosen]
        left = table.left_sum(power, factor, effort.first)
        right = table.right_sum(power, factor, effort.last)
        for i, (other, own, beside) in enumerate(factors):
            if i != chosen:
                left *= other.rising(own, beside, effort.first)
                right *= other.falling(own, beside, effort.last)
        choices = sum((w * c for _, w, c, _ in present), arb(0))
        return (left * choices + right * _powers(ordinary.at(0, effort.last), present)).upper()


def _powers(survival: Any, present: Any) -> Any:
    """The number of choices of the tokens that are named, times the survival of the others."""
    total = arb(0)
    for _, weight, choices, left in present:
        if left < 64:
            power = survival**left
        elif survival > 0:
            power = (left * survival.log()).exp()
        else:
            upper = survival.upper()
            power = arb(0).union((left * upper.log()).exp().upper()) if upper > 0 else arb(0)
        total += weight * choices * power
    return total


def _plain(value: Any) -> Any:
    return plain(value) if isinstance(value, Distribution) else plain(float(ball(value).mid()))
