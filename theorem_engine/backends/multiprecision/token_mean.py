"""Token means at mpmath's precision: the Laplace integral with brackets in ball arithmetic."""

from __future__ import annotations

import math
from typing import Any

import sympy
from mpmath import mp

from theorem_engine.backends.base import Backend, Numeric, is_nested
from theorem_engine.backends.multiprecision.integral import integrate
from theorem_engine.base.errors import NotAvailable
from theorem_engine.base.exact import as_mpf
from theorem_engine.language.lengths import Distribution
from theorem_engine.language.operators.token_layout import make_layout
from theorem_engine.language.operators.token_mean import Hardmax
from theorem_engine.numerics.laplace.balls import (
    BallBrackets,
    Grid,
    dense_brackets,
    lattice_brackets,
    reach,
    spacing,
)


def lower(means: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """One weight; two weights at once are left to double precision."""
    first = means[0]
    if is_nested():
        raise NotAvailable("token means inside a minimum, a flow or an integral are evaluated in double precision only")
    if len(first.kernels) == 2:
        raise NotAvailable("token means with two weights are evaluated in double precision only")
    if first.kernels[0].has(Hardmax):
        return _lower_argmax(means, parameters, backend)
    return _Single(means, parameters, backend)


def _lengths(value: Any) -> list[tuple[int, Any]]:
    if isinstance(value, Distribution):
        return [(int(n), as_mpf(w)) for n, w in value.weights]
    return [(int(mp.nint(value)), mp.one)]


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
        lengths = _lengths(length(*values)[0])

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


class _Single:
    """One weight: brackets of two kinds of token, one sum over u."""

    def __init__(self, means: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> None:
        first = means[0]
        if first.breaks:
            raise NotAvailable("token means of kernels with kinks are evaluated in double precision only")
        self.layout = make_layout(means)
        self.has_hidden = first.has_hidden
        (x,) = first.normals
        self.sides = [
            _Side(x, first.kernels[0][k], self.layout.brackets[k], parameters, backend)
            for k in range(1 + self.has_hidden)
        ]
        self.outer = backend.function(parameters, [first.extra, *self.layout.coefficients])
        self.length = backend.function(parameters, [first.length])
        self.powers = max((p for side in self.layout.brackets for (p,), _ in side), default=1)

    def __call__(self, *values: Any) -> list[Any]:
        with mp.extradps(8):
            results = self._evaluate(values)
        return [+r for r in results]

    def _evaluate(self, values: tuple[Any, ...]) -> list[Any]:
        extra, *coefficients = self.outer(*values)
        lengths = _lengths(self.length(*values)[0])
        longest = max(n for n, _ in lengths)
        for side in self.sides:
            side.rate = side.slope(values)
        slope = max(side.rate for side in self.sides)
        gap = mp.zero
        if self.has_hidden and self.sides[1].has_normal and slope > 0:
            gap = abs(self.sides[1].centre(values) - self.sides[0].centre(values)) / (2 * slope)
        tilt = max(gap, min(self.powers * slope, mp.sqrt(2 * mp.log(longest))))
        ends = -(reach() + gap), reach() + tilt
        spans = [side.span(values, ends) for side in self.sides]
        step = spacing()
        digits = mp.ln(10) * (mp.dps + 4)
        low = -max(b for _, b in spans) - digits - mp.log(longest)
        high = -min(a for a, _ in spans) + mp.log(2 * digits)
        # whole blocks, so that nearby points share their brackets
        grid = Grid(step, 512 * int(mp.floor(low / step / 512)), 512 * int(mp.ceil(high / step / 512)))
        brackets = [side.brackets(values, ends, grid) for side in self.sides]
        integrals = self._sum(brackets, lengths, grid, extra)
        return [sum((coefficients[c] * integrals[p] for c, p in terms), mp.zero) for terms in self.layout.sums]

    def _sum(self, sides: list[BallBrackets], lengths: list[tuple[int, Any]], grid: Grid, extra: Any) -> list[Any]:
        """Trapezoid sums; nodes are thinned while the brackets are smoother than the grid, and halving decides."""
        smooth = min((side.rate for side in self.sides if side.has_normal), default=mp.zero)
        stride = 1
        while 4 * stride * grid.step <= smooth:
            stride *= 2
        last = grid.last - grid.first
        sums = self._partial_sums(sides, lengths, grid, extra, range(0, last + 1, 2 * stride))
        tolerance = mp.mpf(10) ** (-(mp.dps * 11) // 20)
        while True:
            new = self._partial_sums(sides, lengths, grid, extra, range(stride, last + 1, 2 * stride))
            settled = all(abs(a - b) <= tolerance * (abs(a) + abs(b)) for a, b in zip(sums, new, strict=True))
            sums = [a + b for a, b in zip(sums, new, strict=True)]
            if settled or stride == 1:
                break
            stride //= 2
        return [
            grid.step * stride * total / mp.factorial(item.powers[0] - 1)
            for total, item in zip(sums, self.layout.products, strict=True)
        ]

    def _partial_sums(
        self, sides: list[BallBrackets], lengths: list[tuple[int, Any]], grid: Grid, extra: Any, nodes: range
    ) -> list[Any]:
        totals = [mp.zero] * len(self.layout.products)
        hidden = int(self.has_hidden)
        counts = {len(item.each) for item in self.layout.products}
        ordinary = sides[0]
        for i in nodes:
            b = ordinary.survival[i]
            lost = ordinary.complement[i]
            log_b = mp.log1p(-lost) if lost < mp.mpf(1) / 2 else mp.log(max(b, mp.zero))
            nobody = extra * mp.exp((grid.first + i) * grid.step)
            rest = mp.exp(-nobody) if extra else mp.one
            powers = {}
            for count in counts:
                total = mp.zero
                for n, weight in lengths:
                    choices = math.perm(n - hidden, count)
                    left = n - hidden - count
                    if choices:
                        total += weight * choices * (mp.exp(left * log_b) if left else mp.one)
                powers[count] = total * rest
            for k, item in enumerate(self.layout.products):
                value = powers[len(item.each)]
                if item.nobody:
                    value *= nobody**item.nobody
                if not value:
                    continue
                for place in item.each:
                    value *= ordinary.values[place][i]
                if item.hidden is not None:
                    value *= sides[1].values[item.hidden][i]
                totals[k] += value
        return totals


class _Side:
    """One kind of token."""

    def __init__(self, x: Any, kernel: Any, brackets: list[Any], parameters: tuple[Any, ...], backend: Backend) -> None:
        self.has_normal = x in kernel.free_symbols
        inserted = list(dict.fromkeys(f for _, f in brackets if f != 1))
        self.asked = [(p, 0 if f == 1 else inserted.index(f) + 1) for (p,), f in brackets]
        self.kernel = backend.function([x, *parameters], [kernel])
        self.inserted = backend.function([x, *parameters], inserted) if inserted else None
        if not self.has_normal:
            # such a mean stands under another mean over that score, and would be taken at hundreds of points
            raise NotAvailable(
                "a token mean at a fixed score of the hidden token is evaluated in double precision only"
            )
        self.line: Numeric | None = None
        expanded = sympy.expand(kernel)
        if self.has_normal and expanded.is_polynomial(x) and sympy.degree(expanded, x) == 1:
            self.line = backend.function(parameters, [expanded.coeff(x, 1), expanded.coeff(x, 0)])
        self.rate = mp.zero
        self.used = [i for i, s in enumerate(parameters) if any(s in f.free_symbols for f in (kernel, *inserted))]
        self.kept: dict[Any, BallBrackets] = {}

    def slope(self, values: tuple[Any, ...]) -> Any:
        """Largest rate of log h."""
        if not self.has_normal:
            return mp.zero
        if self.line is not None:
            return abs(self.line(*values)[0])
        nodes = [mp.mpf(k) / 4 for k in range(-48, 49)]
        logs = [self.kernel(t, *values)[0] for t in nodes]
        return max(abs(b - a) * 4 for a, b in zip(logs[:-1], logs[1:], strict=True))

    def centre(self, values: tuple[Any, ...]) -> Any:
        """log h at the middle of the token's law."""
        return self.kernel(mp.zero, *values)[0]

    def span(self, values: tuple[Any, ...], ends: tuple[Any, Any]) -> tuple[Any, Any]:
        """Smallest and largest log h in reach."""
        here = [self.kernel(end, *values)[0] for end in (ends if self.has_normal else (mp.zero, mp.zero))]
        return min(here), max(here)

    def brackets(self, values: tuple[Any, ...], ends: tuple[Any, Any], grid: Grid) -> BallBrackets:
        """All brackets at all nodes; kept, since a mean over the hidden token's score repeats the others'."""
        key = (mp.prec, tuple(values[i] for i in self.used), ends, grid.first, grid.last)
        if key not in self.kept:
            if len(self.kept) >= 8:
                self.kept.clear()
            self.kept[key] = self._brackets(values, ends, grid)
        return self.kept[key]

    def _brackets(self, values: tuple[Any, ...], ends: tuple[Any, Any], grid: Grid) -> BallBrackets:
        if self.line is not None:
            slope, centre = self.line(*values)
            if abs(slope) >= 2 * grid.step:
                low, high = ends if slope > 0 else (-ends[1], -ends[0])
                return lattice_brackets(
                    grid, slope, centre, (low, high), lambda t: self._factors(t, values), self.asked
                )
        # the Gaussian itself needs exp(-2 pi^2/step^2) below the precision
        finest = mp.sqrt(2 * mp.pi**2 / (mp.ln(10) * (mp.dps + 4)))
        slope = self.slope(values)
        step = min(finest, grid.step / slope) if slope > 0 else finest
        nodes = [k * step for k in range(int(mp.floor(ends[0] / step)), int(mp.ceil(ends[1] / step)) + 1)]
        weights = [step * mp.npdf(t) for t in nodes]
        kernel = [mp.exp(self.kernel(t, *values)[0]) for t in nodes]
        rows = [self._factors(t, values) for t in nodes]
        columns = [list(c) for c in zip(*rows, strict=True)]
        return dense_brackets(grid, weights, kernel, columns, self.asked)

    def _factors(self, t: Any, values: tuple[Any, ...]) -> list[Any]:
        return list(self.inserted(t, *values)) if self.inserted is not None else []
