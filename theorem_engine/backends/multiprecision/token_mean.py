"""Token means at mpmath's precision: the Laplace integral with brackets in ball arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from flint import arb, arb_mat
from mpmath import mp

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.backends.multiprecision.integral import integrate
from theorem_engine.backends.multiprecision.token_pair import lower_pair
from theorem_engine.backends.multiprecision.token_side import Side
from theorem_engine.backends.multiprecision.token_sums import lengths_of, log_survival, power_of
from theorem_engine.backends.token_bundle import TokenBundle
from theorem_engine.base.errors import NotAvailable
from theorem_engine.language.operators.token_layout import make_layout
from theorem_engine.language.operators.token_mean import Hardmax
from theorem_engine.numerics.laplace.balls import (
    BallBrackets,
    Grid,
    ball_precision,
    bent_grid,
    from_ball,
    reach,
    spacing,
    to_ball,
)


def lower(means: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """One weight, or two at once."""
    first = means[0]
    if len(first.kernels) == 2:
        return lower_pair(means, parameters, backend)
    if first.kernels[0].has(Hardmax):
        return _lower_argmax(means, parameters, backend)
    return _Single(means, parameters, backend)


def _lower_argmax(means: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """Factors of the largest token alone: an integral against the law of the maximum."""
    layout = make_layout(means)
    (x,) = means[0].normals
    if any(len(item.each) != 1 for item in layout.products) or means[0].breaks:
        raise NotAvailable("at the argmax only means over the largest token have more digits than double precision")
    body = backend.function([x, *parameters], [f for _, f in layout.brackets[0]])
    outer = backend.function(parameters, list(layout.coefficients))
    length = backend.function(parameters, [means[0].length])

    def evaluate(*values: Any) -> list[Any]:
        lengths = lengths_of(length(*values)[0])

        def density(t: Any) -> Any:
            below = mp.erfc(-t / mp.sqrt(2)) / 2
            return mp.npdf(t) * sum(w * n * below ** (n - 1) for n, w in lengths)

        ends = [-reach(), *(mp.mpf(k) for k in range(-4, 9, 2)), reach()]

        def integral(place: int) -> Any:
            return integrate(lambda t: density(t) * body(t, *values)[place], *ends)

        integrals = [integral(item.each[0]) for item in layout.products]
        coefficients = outer(*values)
        return [sum((coefficients[c] * integrals[p] for c, p in terms), mp.zero) for terms in layout.sums]

    return evaluate


class _Single(TokenBundle):
    """One weight: brackets of two kinds of token, one sum over u."""

    def __init__(self, means: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> None:
        super().__init__(means, parameters, backend)
        first = means[0]
        (x,) = first.normals
        self.sides = [
            Side(x, first.kernels[0][k], self.layout.brackets[k], first.breaks[k::2], parameters, backend)
            for k in range(1 + self.has_hidden)
        ]
        self.powers = self.highest_power
        self.kinds = list(dict.fromkeys(_kind(item) for item in self.layout.products))
        self.kept: dict[Any, Callable[[int], list[Any]]] = {}

    def __call__(self, *values: Any) -> list[Any]:
        with mp.extradps(8):
            results = self._evaluate(values)
        return [+r for r in results]

    def _evaluate(self, values: tuple[Any, ...]) -> list[Any]:
        extra, *coefficients = self.outer(*values)
        lengths = lengths_of(self.length(*values)[0])
        longest = max(n for n, _ in lengths)
        for side in self.sides:
            side.rate = side.slope(values)
        slope = max(side.rate for side in self.sides)
        gap = mp.zero
        if self.has_hidden and self.sides[1].has_normal and slope > 0:
            centres = [side.log_kernel(mp.zero, values) for side in self.sides]
            gap = abs(centres[1] - centres[0]) / (2 * slope) if all(map(mp.isfinite, centres)) else mp.mpf(4)
        tilt = max(gap, min(self.powers * slope, mp.sqrt(2 * mp.log(longest))))
        ends = -(reach() + gap), reach() + tilt
        spans = [side.span(values, ends) for side in self.sides]
        digits = mp.ln(10) * (mp.dps + 4)
        manners = {side.manner(values, ends) for side in self.sides}
        low, high = -max(b for _, b in spans) - mp.log(longest), -min(a for a, _ in spans) + mp.log(2 * digits)
        if manners == {"dense"}:
            grid = bent_grid(spacing(), low - 1, high, digits)
        else:
            # on a lattice of log h the normal density is analytic in half the strip of the exponentials
            step = spacing() / 2 if "curve" in manners else spacing()
            # whole blocks, so that nearby points share their brackets
            grid = Grid(step, 512 * int(mp.floor((low - digits) / step / 512)), 512 * int(mp.ceil(high / step / 512)))
        brackets = [side.brackets(values, ends, grid) for side in self.sides]
        integrals = self._sum(self._integrand(values, brackets, lengths, grid, extra), grid, manners == {"line"})
        return [sum((coefficients[c] * integrals[p] for c, p in terms), mp.zero) for terms in self.layout.sums]

    def _sum(self, integrand: Callable[[range], list[Any]], grid: Grid, is_line: bool) -> list[Any]:
        """Trapezoid sums; nodes are thinned while the brackets are smoother than the grid, and halving decides."""
        smooth = min((side.rate for side in self.sides if side.has_normal), default=mp.zero)
        stride = 1
        while is_line and 4 * stride * grid.step <= smooth:
            stride *= 2
        last = grid.last - grid.first
        sums = integrand(range(0, last + 1, 2 * stride))
        tolerance = mp.mpf(10) ** (-(mp.dps * 11) // 20)
        while True:
            new = integrand(range(stride, last + 1, 2 * stride))
            settled = all(abs(a - b) <= tolerance * (abs(a) + abs(b)) for a, b in zip(sums, new, strict=True))
            sums = [a + b for a, b in zip(sums, new, strict=True)]
            if settled or stride == 1:
                break
            stride //= 2
        return [
            grid.step * stride * total / mp.factorial(item.powers[0] - 1)
            for total, item in zip(sums, self.layout.products, strict=True)
        ]

    def _integrand(
        self, values: tuple[Any, ...], sides: list[BallBrackets], lengths: list[tuple[int, Any]], grid: Grid, extra: Any
    ) -> Callable[[range], list[Any]]:
        """Sums of the integrands over some nodes."""
        alone = self._ordinary(values, sides[0], lengths, grid, extra)
        owns = [None if item.hidden is None else sides[1].values[item.hidden] for item in self.layout.products]
        places = [self.kinds.index(_kind(item)) for item in self.layout.products]

        def sums(nodes: range) -> list[Any]:
            with ball_precision(20):
                rows = [alone(i) for i in nodes]
                totals = []
                for place, own in zip(places, owns, strict=True):
                    column = arb_mat(1, len(rows), [row[place] for row in rows])
                    right = [arb(1)] * len(rows) if own is None else [own[i] for i in nodes]
                    totals.append(from_ball((column * arb_mat(len(rows), 1, right))[0, 0]))
                return totals

        return sums

    def _ordinary(
        self, values: tuple[Any, ...], side: BallBrackets, lengths: list[tuple[int, Any]], grid: Grid, extra: Any
    ) -> Callable[[int], list[Any]]:
        """What the ordinary tokens add at a node; kept, since a mean over the hidden token's score repeats it."""
        key = (mp.prec, grid, extra, tuple(lengths), tuple(values[i] for i in self.sides[0].used))
        if key in self.kept:
            return self.kept[key]
        hidden = int(self.has_hidden)
        counts = {len(each) for each, _ in self.kinds}
        with ball_precision(20):
            constant, widths = to_ball(extra), grid.widths()
            times = grid.times() if extra else []
            weights = [(n - hidden, to_ball(w)) for n, w in lengths]

        @cache
        def row(i: int) -> list[Any]:
            log_b = log_survival(side.survival[i], side.complement[i])
            powers = {count: power_of(log_b, weights, count) for count in counts}
            nobody = constant * times[i] if extra else arb(0)
            rest = (-nobody).exp() * (1 if widths is None else widths[i])
            found = []
            for each, share in self.kinds:
                value = powers[len(each)] * rest
                if share:
                    value *= nobody**share
                for place in each:
                    value *= side.values[place][i]
                found.append(value)
            return found

        if len(self.kept) >= 4:
            self.kept.clear()
        self.kept[key] = row
        return row


def _kind(item: Any) -> tuple[tuple[int, ...], int]:
    """Which ordinary tokens stand in a product: many products differ in the hidden token only."""
    return item.each, item.nobody
