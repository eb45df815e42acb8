"""Brackets of a token on a lattice, enclosed.

With T(v) = exp(-e^v) and k_p(v) = e^{pv} T(v), a token whose kernel is exp(mu + s x), x normal, has the brackets
K_p(u) = E k_p(u + mu + s x); B = K_0. On the strip |Im v| <= y < pi/2, |k_p(v + iy)| = k_p(v + log cos y)/cos^p y.

Inner step. With mu + s x on the lattice hZ and the weights h/(s sqrt(2 pi)) exp(-(ih - mu)^2/(2 s^2)) the trapezoid sum
K^h obeys |K^h(u) - K(u)| <= eps K(u + log cos y), eps = 2 exp(y^2/(2 s^2))/((exp(2 pi y/h) - 1) cos^p y), and
K(u - d) <= e^{ph} K(u - kh) for k = ceil(d/h), d = -log cos y, since k_p(v - r) >= e^{-pr} k_p(v) for r >= 0. The bound
closes on itself: U = sup k_p = (p/e)^p everywhere, then a few times U(u) <- K^h(u) + eps e^{ph} U(u - kh).

Where s is small the lattice of x itself is used, with the same bound at y = a s. A bracket with a further factor f(x)
has no sign, and the error is absolute: eps (p/e)^p times the mean of |f| along the lines of the strip.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from flint import arb, arb_poly

from theorem_engine.backends.balls.claims import Unproved
from theorem_engine.backends.balls.convolution import convolve, make_table
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
    #: How often the bound of an error is closed on itself.
    rounds: int = 3


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
        self._scores: _Scores | None = None
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
        """A bound of K_p at and left of a place: e^{pv} without the decay, the largest value, or a multiple of 1 - B.

        k_p/(1 - T) = t^p/(e^t - 1) <= t^(p-1) e^(-t/2) at t = e^v, since t/2 <= sinh(t/2); 1 - B rises.
        """
        if factor:
            return (largest_kernel(power) * self.size_of(factor)).upper()
        token = self.token
        free = (power * (place * step_ball(self.effort) + token.mu) + power**2 * token.s**2 / 2).exp()
        found = _least(largest_kernel(power), free)
        return _least(found, _fold(power) * self.missing(place)) if power else found

    def missing(self, place: int) -> Any:
        """A bound of 1 - B at a place."""
        return _least(1 - self.at(0, place), self.rising_exponential(place))

    def rising_exponential(self, place: int) -> Any:
        """The mean of e^v, which is above 1 - B."""
        return (place * step_ball(self.effort) + self.token.mu + self.token.s**2 / 2).exp()

    def falling(self, power: int, factor: int, place: int) -> Any:
        """A bound of K_p right of a place: k_p(v) <= (2p/e)^p T(v - log 2), and B decreases."""
        if power == 0:
            return self.spread_of(factor, self.surviving(place))
        return ((arb(2 * power) / arb.const_e()) ** power * self.spread_of(factor, self.before(place))).upper()

    def surviving(self, place: int) -> Any:
        """A bound of B at a place.

        B <= P(x < -R) + T(v) at the score v of x = -R. Where the letters are balls, as on the way of a recurrence, this
        does not grow with their radii, which B does and of which a factor takes the root.
        """
        found = self.at(0, place) if place >= self.effort.first else arb(1)
        if self.token.is_fixed:
            return found.upper()
        reach = arb(self.effort.reach)
        least = place * step_ball(self.effort) + self.token.mu - self.token.s * reach
        return _least(found, (reach / arb(2).sqrt()).erfc() / 2 + _kernel(0, least))

    def before(self, place: int) -> Any:
        """A bound of B log 2 to the left of a place: B at a place of the lattice at least as far."""
        h = step_ball(self.effort)
        steps = math.ceil(math.log(2) / self.effort.step) + 1
        if not steps * h >= arb(2).log():
            raise Unproved("token mean: the step back is not told from log 2")
        return self.surviving(place - steps)

    def left_sum(self, power: int, factor: int, place: int) -> Any:
        """A bound of h times the sum of K_p over all places left of one.

        h k_1(v) <= e^h (T(v - h) - T(v)) sums to e^h (1 - B), and k_p(v) <= 2 (2(p - 1)/e)^(p-1) k_1(v - log 2).
        """
        return (_fold(power) * step_ball(self.effort).exp() * self.spread_of(factor, self.missing(place))).upper()

    def right_sum(self, power: int, factor: int, place: int) -> Any:
        """A bound of h times the sum of K_p over all places right of one."""
        here = self.spread_of(factor, self.surviving(place) if power == 1 else self.before(place))
        return (_fold(power) * step_ball(self.effort).exp() * here).upper()

    def _factor_table(self, power: int, factor: FactorHere) -> list[Any]:
        if self.token.is_fixed:
            raise Unproved("token mean: a factor of a score that is a number")
        return with_factor(self.token, power, factor, self.effort)

    def _table(self, power: int) -> list[Any]:
        if self.token.is_fixed:
            h = step_ball(self.effort)
            return [_kernel(power, j * h + self.token.mu) for j in range(self.effort.first, self.effort.last + 1)]
        if self.token.s < SMALL:
            raw, margin, eps = _small_slope(self.token, power, self.effort)
        else:
            self._scores = self._scores or _Scores(self.token, self.effort)
            raw, margin, eps = _on_lattice(self._scores, power)
        # raw starts some margins early: what lies left of a place bounds the error there
        largest, spread = arb(0).union(largest_kernel(power).upper()), arb(0, eps)
        found = [largest] * len(raw)
        for _ in range(self.effort.rounds + 1):
            moved = [largest] * margin + found[: len(raw) - margin]
            found = [value + spread * before for value, before in zip(raw, moved, strict=True)]
        return found[self.effort.rounds * margin :]


def _least(first: Any, second: Any) -> Any:
    """The smaller of two upper bounds.

    Not the upper end of the balls' minimum: the middle and radius of that are those of the wider ball, whose rounding
    may be far above the bound of the narrower one.
    """
    return first.upper().min(second.upper())


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


class _Scores:
    """The lattice of one kind of token: the places of its scores and their weights, the same for all powers."""

    def __init__(self, token: Token, effort: Effort) -> None:
        h, s, mu = step_ball(effort), token.s, token.mu
        self.token, self.effort, self.h = token, effort, h
        slope, centre = float(s.mid()), float(mu.mid())
        self.y = arb(min(effort.strip, 2 * math.pi * slope**2 / effort.step))
        self.margin = _margin(self.y, h)
        low, high = (math.floor((centre - effort.reach * slope) / effort.step),
                     math.ceil((centre + effort.reach * slope) / effort.step))  # fmt: skip
        self.below, self.above = (-math.ceil(effort.decay / effort.step),
                                  math.ceil(math.log(effort.decay + 60) / effort.step))  # fmt: skip
        self.first = effort.first - effort.rounds * self.margin
        # scores left of this are left of the table of a kernel at every place
        is_cut = self.below - effort.last > low
        low = max(low, min(self.below - effort.last, high - 1))
        if not ((is_cut or low * h <= mu) and mu <= high * h):
            raise Unproved("token mean: the centre of a token is not told")
        if max(high - low, self.above - self.below, effort.last - self.first) > LARGEST:
            raise Unproved("token mean: the lattice is too large")
        self.low, self.unit = low, h / (s * (2 * arb.pi()).sqrt())
        scale = -1 / (2 * s * s)
        self.weights = [self.unit * (scale * (i * h - mu) ** 2).exp() for i in range(low, high + 1)]
        self.bits = int((effort.decay + 8) / math.log(2)) + 24
        self.table = make_table(self.weights[::-1], self.bits, 1 + self.unit)
        root = arb(2).sqrt()
        self.over = ((high * h - mu) / s / root).erfc() / 2
        self.under = arb(0) if is_cut else ((mu - low * h) / s / root).erfc() / 2
        self.far = self._far() if is_cut else arb(0)

    def _far(self) -> Any:
        """The weights left of all that are kept: the lattice sum of a Gaussian is 1 + 2 (q + q^4 + q^9 + ...)."""
        rest = (-2 * (arb.pi() * self.token.s / self.h) ** 2).exp()
        if not rest < 0.5:
            raise Unproved("token mean: the step of the lattice is too coarse")
        return 1 + arb(0).union((4 * rest).upper()) - sum(self.weights, arb(0)) - arb(0).union(self.over.upper())


def _on_lattice(scores: _Scores, power: int) -> tuple[list[Any], int, Any]:
    """The sums K^h by one product of polynomials, with all that was left out added as intervals."""
    h, effort, below, unit = scores.h, scores.effort, scores.below, scores.unit
    # the lattice is that of v: its step in x is h/s, its strip y/s
    eps = _error_factor(scores.y, scores.y / scores.token.s, h / scores.token.s, power, h)
    table = make_table(_kernels(power, h, below, scores.above), scores.bits, largest_kernel(power))
    product, error = convolve(table, scores.table, 1 + unit)
    end = scores.above * h
    if not end.exp() > power:
        raise Unproved("token mean: the table of the kernel ends too early")
    spare = (scores.over + scores.under) * largest_kernel(power) + (1 + unit) * _kernel(power, end)
    if power:
        # left of the table k_p <= e^{pv}
        spare += (1 + unit) * (power * below * h).exp()
    pad = arb(0).union(spare.upper()) + arb(0, error)
    offset = scores.low - below + len(scores.weights) - 1
    places = range(scores.first, effort.last + 1)
    found = [product[j + offset] + pad if 0 <= j + offset < len(product) else pad for j in places]
    if power == 0:
        # left of the table T = 1 - [0, e^v]
        shrink = 1 - arb(0).union((below * h).exp().upper())
        totals = [shrink * total for total in accumulate(scores.weights, initial=scores.far)]
        for place, j in enumerate(places):
            found[place] += totals[min(max(below - j - scores.low, 0), len(scores.weights))]
    return found, scores.margin, eps


def _kernels(power: int, h: Any, below: int, above: int) -> list[Any]:
    """The kernel at all places of its table."""
    rising = [(j * h).exp() for j in range(below, above + 1)]
    falling = [(-v).exp() for v in rising]
    return falling if power == 0 else [v**power * t for v, t in zip(rising, falling, strict=True)]


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
    for j in range(effort.first - effort.rounds * margin, effort.last + 1):
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
