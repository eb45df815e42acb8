"""Brackets of a token on a lattice, enclosed.

With T(v) = exp(-e^v) and k_p(v) = e^{pv} T(v), a token whose kernel is exp(mu + s x), x normal, has the brackets
K_p(u) = E k_p(u + mu + s x); B = K_0. On the strip |Im v| <= y < pi/2, |k_p(v + iy)| = k_p(v + log cos y)/cos^p y.

Inner step. With mu + s x on the lattice hZ and the weights h/(s sqrt(2 pi)) exp(-(ih - mu)^2/(2 s^2)) the trapezoid sum
K^h obeys |K^h(u) - K(u)| <= eps K(u + log cos y), eps = 2 exp(y^2/(2 s^2))/((exp(2 pi y/h) - 1) cos^p y), and
K(u - d) <= e^{ph} K(u - kh) for k = ceil(d/h), d = -log cos y, since k_p(v - r) >= e^{-pr} k_p(v) for r >= 0. The bound
closes on itself: U = sup k_p = (p/e)^p everywhere, then three times U(u) <- K^h(u) + eps e^{ph} U(u - kh).

Where s is small the lattice of x itself is used, with the same bound at y = a s. A bracket with a further factor f(x)
has no sign, and the error is absolute: eps (p/e)^p times the mean of |f| along the lines of the strip.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flint import arb, arb_poly

from theorem_engine.backends.balls.claims import Unproved
from theorem_engine.backends.balls.strip import FactorHere

#: Below this slope a lattice in x is coarser than one in the logarithm of the kernel.
SMALL = 0.06
#: Largest number of entries of a table.
LARGEST = 200_000


@dataclass(frozen=True)
class Effort:
    """How hard to try: all of it guessed in double precision, none of it part of the proof."""

    #: Step of the lattice, a dyadic number.
    step: float
    #: First and last place of the sum over u, in steps.
    first: int
    last: int
    #: Half width of the strip.
    strip: float
    #: Standard deviations kept, and decay of the kernel kept, in logarithms.
    reach: float
    decay: float


@dataclass(frozen=True)
class Token:
    """One kind of token: the logarithm of its kernel is mu + s x."""

    mu: Any
    s: Any
    #: Whether the slope was negative; x is then counted the other way, which only factors see.
    is_turned: bool = False

    @property
    def is_fixed(self) -> bool:
        """Whether its kernel is a number."""
        return bool(self.s == 0)


def step_ball(effort: Effort) -> Any:
    """The step of the lattice, exactly."""
    return arb(effort.step)


def largest_kernel(power: int) -> Any:
    """sup k_p = (p/e)^p."""
    return arb(1) if power == 0 else (arb(power) / arb.const_e()) ** power


class Brackets:
    """Balls of K_p(jh) of one kind of token, for all powers and factors asked, j from first to last.

    Factors are numbered from one; zero is the factor one.
    """

    def __init__(
        self, token: Token, asked: Sequence[tuple[int, int]], effort: Effort, factors: Sequence[FactorHere] = ()
    ) -> None:
        self.token, self.effort, self.factors = token, effort, factors
        self._tables = {
            (p, f): self._table(p) if f == 0 else self._factor_table(p, factors[f - 1]) for p, f in {(0, 0), *asked}
        }

    def at(self, power: int, place: int) -> Any:
        """K_p at a place of the lattice."""
        return self._tables[power, 0][place - self.effort.first]

    def __getitem__(self, key: tuple[int, int]) -> list[Any]:
        return self._tables[key]

    def size_of(self, factor: int) -> Any:
        """A bound of the mean of the absolute value of a factor."""
        return arb(1) if factor == 0 else self.factors[factor - 1].mean_size(arb(0))

    def spread_of(self, factor: int, value: Any) -> Any:
        """A bound of E t |f| for 0 <= t <= 1 with the mean given, by the inequality of Cauchy and Schwarz."""
        return value if factor == 0 else (value.sqrt() * self.factors[factor - 1].root_mean_square()).upper()

    def rising(self, power: int, factor: int, place: int) -> Any:
        """A bound of K_p at and left of a place: e^{pv} without the decay, or the largest value."""
        if factor:
            return (largest_kernel(power) * self.size_of(factor)).upper()
        token = self.token
        free = (power * (place * step_ball(self.effort) + token.mu) + power**2 * token.s**2 / 2).exp()
        return largest_kernel(power).min(free).upper()

    def missing(self, place: int) -> Any:
        """A bound of 1 - B at a place."""
        return (1 - self.at(0, place)).min(self.rising_exponential(place)).upper()

    def rising_exponential(self, place: int) -> Any:
        """The mean of e^v, which is above 1 - B."""
        return (place * step_ball(self.effort) + self.token.mu + self.token.s**2 / 2).exp()

    def falling(self, power: int, factor: int, place: int) -> Any:
        """A bound of K_p right of a place: k_p(v) <= (2p/e)^p T(v - log 2), and B decreases."""
        if power == 0:
            return self.spread_of(factor, self.at(0, place).upper())
        return ((arb(2 * power) / arb.const_e()) ** power * self.spread_of(factor, self.before(place).upper())).upper()

    def before(self, place: int) -> Any:
        """B at a place of the lattice at least log 2 to the left, which is above that log 2 to the left."""
        h = step_ball(self.effort)
        steps = math.ceil(math.log(2) / self.effort.step) + 1
        if not steps * h >= arb(2).log():
            raise Unproved("token mean: the step back is not told from log 2")
        return self.at(0, max(place - steps, self.effort.first)) if place - steps >= self.effort.first else arb(1)

    def left_sum(self, power: int, factor: int, place: int) -> Any:
        """A bound of h times the sum of K_p over all places left of one.

        h k_1(v) <= e^h (T(v - h) - T(v)) sums to e^h (1 - B), and k_p(v) <= 2 (2(p - 1)/e)^(p-1) k_1(v - log 2).
        """
        return (_fold(power) * step_ball(self.effort).exp() * self.spread_of(factor, self.missing(place))).upper()

    def right_sum(self, power: int, factor: int, place: int) -> Any:
        """A bound of h times the sum of K_p over all places right of one."""
        here = self.spread_of(factor, (self.at(0, place) if power == 1 else self.before(place)).upper())
        return (_fold(power) * step_ball(self.effort).exp() * here).upper()

    def _factor_table(self, power: int, factor: FactorHere) -> list[Any]:
        if self.token.is_fixed:
            raise Unproved("token mean: a factor of a score that is a number")
        return with_factor(self.token, power, factor, self.effort)

    def _table(self, power: int) -> list[Any]:
        if self.token.is_fixed:
            h = step_ball(self.effort)
            return [_kernel(power, j * h + self.token.mu) for j in range(self.effort.first, self.effort.last + 1)]
        raw, margin, eps = (_small_slope if self.token.s < SMALL else _on_lattice)(self.token, power, self.effort)
        # raw starts three margins early: what lies left of a place bounds the error there
        bound = [largest_kernel(power).upper()] * len(raw)
        for _ in range(3):
            bound = [
                (value + eps * (bound[i - margin] if i >= margin else largest_kernel(power))).upper()
                for i, value in enumerate(raw)
            ]
        found = []
        for i in range(3 * margin, len(raw)):
            error = (eps * bound[i - margin]).upper()
            found.append(raw[i] + arb(0, error))
        return found


def _fold(power: int) -> Any:
    return arb(1) if power == 1 else 2 * (arb(2 * (power - 1)) / arb.const_e()) ** (power - 1)


def _kernel(power: int, v: Any) -> Any:
    if power:
        return (power * v - v.exp()).exp()
    return (-v.exp()).exp()


def _margin(y: Any, h: Any) -> int:
    """Steps to the left that cover -log cos y; part of the proof."""
    if not (y > 0 and y < arb.pi() / 2):
        raise Unproved("token mean: the strip is not told from its limits")
    distance = -y.cos().log()
    steps = math.ceil(float((distance / h).mid())) or 1
    if not (distance <= steps * h and steps * h <= distance + h):
        steps += 1
    if not (distance <= steps * h and steps * h <= distance + h):
        raise Unproved("token mean: the margin of the strip is not told")
    return steps


def _error_factor(y: Any, width: Any, h: Any, power: int, back: Any) -> Any:
    """eps e^{p h}: ``width`` is y over the slope, ``back`` the step by which a bound is moved."""
    rate = 2 * arb.pi() * width / h
    return (2 * (width * width / 2).exp() / (rate.exp() - 1) / y.cos() ** power * (power * back).exp()).upper()


def _on_lattice(token: Token, power: int, effort: Effort) -> tuple[list[Any], int, Any]:
    """The sums K^h by one product of polynomials, with all that was left out added as intervals."""
    h, s, mu = step_ball(effort), token.s, token.mu
    slope = float(s.mid())
    y = arb(min(effort.strip, 2 * math.pi * slope**2 / effort.step))
    margin = _margin(y, h)
    # the lattice is that of v: its step in x is h/s, its strip y/s
    eps = _error_factor(y, y / s, h / s, power, h)
    centre = float(mu.mid())
    low, high = (math.floor((centre - effort.reach * slope) / effort.step),
                 math.ceil((centre + effort.reach * slope) / effort.step))  # fmt: skip
    if not (low * h <= mu <= high * h):
        raise Unproved("token mean: the centre of a token is not told")
    below, above = -math.ceil(effort.decay / effort.step), math.ceil(math.log(effort.decay + 60) / effort.step)
    first = effort.first - 3 * margin
    if max(high - low, above - below, effort.last - first) > LARGEST:
        raise Unproved("token mean: the lattice is too large")
    unit = h / (s * (2 * arb.pi()).sqrt())
    weights = [unit * (-(((i * h - mu) / s) ** 2) / 2).exp() for i in range(low, high + 1)]
    table = [_kernel(power, j * h) for j in range(below, above + 1)]
    product = (arb_poly(table) * arb_poly(weights[::-1])).coeffs()
    root = arb(2).sqrt()
    cut = (((mu - low * h) / s / root).erfc() + ((high * h - mu) / s / root).erfc()) / 2 * largest_kernel(power)
    end = above * h
    if not end.exp() > power:
        raise Unproved("token mean: the table of the kernel ends too early")
    beyond = (1 + unit) * _kernel(power, end)
    spare = (cut + beyond).upper()
    # weights whose place lies left of the table: there k_p = e^{pv} (1 - [0, e^{v}])
    prefix, totals = arb(0), [arb(0)]
    for i, weight in zip(range(low, high + 1), weights, strict=True):
        prefix += weight * (power * i * h).exp() if power else weight
        totals.append(prefix)
    shrink = 1 - arb(0).union((below * h).exp().upper())
    result, pad = [], arb(0).union(spare)
    offset = low - below + len(weights) - 1
    for j in range(first, effort.last + 1):
        place = j + offset
        value = product[place] if 0 <= place < len(product) else arb(0)
        left = min(max(below - j - low, 0), len(weights))
        if left:
            value += ((power * j * h).exp() if power else arb(1)) * totals[left] * shrink
        result.append(value + pad)
    return result, margin, eps


def _small_slope(token: Token, power: int, effort: Effort) -> tuple[list[Any], int, Any]:
    """The sums on a lattice of x itself, for slopes below that of the lattice in u."""
    h, s, mu = step_ball(effort), token.s, token.mu
    # exp(-2 pi^2/g^2) is what a lattice of step g leaves of the Gaussian alone
    step = math.floor(4096 * math.sqrt(2 * math.pi**2 / (effort.decay + 10))) / 4096
    slope = float(s.mid())
    width = min(2 * math.pi / step, 1.4 / slope)
    g, a = arb(step), arb(width)
    y = a * s
    margin = _margin(y, h)
    eps = _error_factor(y, a, g, power, h)
    count = math.ceil(effort.reach / step)
    root = (2 * arb.pi()).sqrt()
    nodes = [(i * g * s + mu).exp() for i in range(-count, count + 1)]
    weights = [g / root * (-((i * g) ** 2) / 2).exp() for i in range(-count, count + 1)]
    pad = arb(0).union(((count * g / arb(2).sqrt()).erfc() * largest_kernel(power)).upper())
    result = []
    for j in range(effort.first - 3 * margin, effort.last + 1):
        here, total = (j * h).exp(), arb(0)
        for node, weight in zip(nodes, weights, strict=True):
            value = here * node
            total += weight * (-value).exp() * value**power
        result.append(total + pad)
    return result, margin, eps


def with_factor(token: Token, power: int, factor: FactorHere, effort: Effort) -> list[Any]:
    """Balls of E f(x) k_p(jh + mu + s x), all errors absolute."""
    h, s, mu = step_ball(effort), token.s, token.mu
    slope, centre = float(s.mid()), float(mu.mid())
    y = arb(min(effort.strip, 2 * math.pi * slope**2 / effort.step))
    _margin(y, h)
    error = _error_factor(y, y / s, h / s, power, arb(0)) * largest_kernel(power) * factor.mean_size(y / s)
    low, high = (math.floor((centre - effort.reach * slope) / effort.step),
                 math.ceil((centre + effort.reach * slope) / effort.step))  # fmt: skip
    below, above = -math.ceil(effort.decay / effort.step), math.ceil(math.log(effort.decay + 60) / effort.step)
    if max(high - low, above - below, effort.last - effort.first) > LARGEST:
        raise Unproved("token mean: the lattice is too large")
    unit = h / (s * (2 * arb.pi()).sqrt())
    sign = -1 if token.is_turned else 1
    weights, sizes = [], arb(0)
    for i in range(low, high + 1):
        x = (i * h - mu) / s
        weight = unit * (-(x**2) / 2).exp() * factor.value(sign * x)
        weights.append(weight)
        sizes += abs(weight)
    size, rate = factor.bound(arb(0))
    left, right = (mu - low * h) / s, (high * h - mu) / s
    if not (left > rate and right > rate):
        raise Unproved("token mean: the factor grows beyond the places kept")
    # beyond the last place the bound of the factor times the density decreases: a sum is below its integral
    root = arb(2).sqrt()
    cut = size * (rate * rate / 2).exp() * (((left - rate) / root).erfc() + ((right - rate) / root).erfc()) / 2
    end = above * h
    if not end.exp() > power:
        raise Unproved("token mean: the table of the kernel ends too early")
    spare = arb(0, (error + cut * largest_kernel(power) + sizes * _kernel(power, end)).upper())
    product = (arb_poly([_kernel(power, j * h) for j in range(below, above + 1)]) * arb_poly(weights[::-1])).coeffs()
    totals, absolutes = [arb(0)], [arb(0)]
    for i, weight in zip(range(low, high + 1), weights, strict=True):
        risen = weight * (power * i * h).exp()
        totals.append(totals[-1] + risen)
        absolutes.append(absolutes[-1] + abs(risen))
    shrink, offset = (below * h).exp(), low - below + len(weights) - 1
    result = []
    for j in range(effort.first, effort.last + 1):
        place = j + offset
        value = product[place] if 0 <= place < len(product) else arb(0)
        count = min(max(below - j - low, 0), len(weights))
        if count:
            value += (power * j * h).exp() * (totals[count] + arb(0, (absolutes[count] * shrink).upper()))
        result.append(value + spare)
    return result
