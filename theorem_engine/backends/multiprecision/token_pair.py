"""Token means with two weights at mpmath's precision: a double Laplace integral over matrix products.

With v = e^u h1(x) and w' = e^w h2(y) of one token, the brackets at all (u, w) are

    B[u, w] = sum over nodes of exp(-e^u h1(x)) h1^a P[x, y] f h2^b exp(-e^w h2(y)) e^(a u + b w),

two tables of exponentials with the law of the two scores between them: products of three matrices, or of two where
both kernels see the same score. Nodes in u and w are double exponential below the places where all v are small.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sympy
from flint import arb, fmpz_mat
from mpmath import mp

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.backends.float64.token_pair import share_of
from theorem_engine.backends.multiprecision.token_side import gauss_panels
from theorem_engine.backends.multiprecision.token_sums import lengths_of, log_survival, power_of
from theorem_engine.backends.token_bundle import TokenBundle
from theorem_engine.base.errors import NotAvailable
from theorem_engine.language.operators.token_mean import Hardmax
from theorem_engine.numerics.laplace.balls import (
    Grid,
    ball_precision,
    bent_grid,
    from_ball,
    reach,
    refuse_large,
    spacing,
    to_ball,
)

#: Multiplications of a matrix product above which a mean takes minutes.
LONGEST = 3_000_000_000


def lower_pair(means: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """A double integral."""
    return Pair(means, parameters, backend)


@dataclass(frozen=True)
class Scores:
    """Nodes of the first score with their weights, of the second one if it is another, and both kernels there."""

    x: list[Any]
    weights: list[Any]
    logs: list[Any]
    y: list[Any] | None
    step: Any
    seconds: list[Any]


class Pair(TokenBundle):
    """The first weight's kernel is exp(slope x); the second is free, of the same score or of one more."""

    def __init__(self, means: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> None:
        super().__init__(means, parameters, backend)
        first = means[0]
        x, *rest = first.normals
        zeta = rest[0] if rest else sympy.Dummy("zeta")
        kernel, second = sympy.expand(first.kernels[0][0]), first.kernels[1][0]
        if kernel.has(Hardmax):
            raise NotAvailable("an argmax beside another weight is evaluated in double precision only")
        if first.has_hidden or kernel.has(zeta) or not (kernel.is_polynomial(x) and sympy.degree(kernel, x) <= 1):
            raise NotAvailable("of two weights the first must be the exponential of the first letter of like tokens")
        self.slope = backend.function(parameters, [kernel.coeff(x, 1), kernel.coeff(x, 0)])
        self.second = backend.function([x, zeta, *parameters], [second])
        self.ratio: Numeric | None = None
        if second.has(zeta):
            share = share_of(second, x, zeta)
            if share is None or first.breaks:
                raise NotAvailable("two scores have more digits where a smooth kernel sees one sum of them only")
            self.ratio = backend.function(parameters, [share])
        brackets = self.layout.brackets[0]
        inserted = list(dict.fromkeys(f for _, f in brackets if f != 1))
        self.asked = [(a, b, 0 if f == 1 else inserted.index(f) + 1) for (a, b), f in brackets]
        self.inserted = backend.function([x, zeta, *parameters], inserted) if inserted else None
        self.breaks = backend.function(parameters, list(first.breaks)) if first.breaks else None

    def __call__(self, *values: Any) -> list[Any]:
        """All means of the bundle."""
        with mp.extradps(4):
            results = self._evaluate(values)
        return [+r for r in results]

    def _evaluate(self, values: tuple[Any, ...]) -> list[Any]:
        extra, *coefficients = self.outer(*values)
        lengths = lengths_of(self.length(*values)[0])
        scores = self._scores(values)
        grids = self._grids(values, scores, lengths)
        count = grids[0].count * len(scores.x) + grids[1].count * len(scores.seconds) + grids[0].count * grids[1].count
        refuse_large(count)
        refuse_large(grids[0].count * len(scores.x) * grids[1].count // (LONGEST // 4_000_000))
        with ball_precision(60):
            bits = mp.prec + max(n for n, _ in lengths).bit_length() + 20
            tables = self._tables(values, scores, grids, bits)
            sums = self._sum(tables, grids, lengths, extra)
        area = grids[0].step * grids[1].step
        integrals = [
            area * total / math.prod(math.factorial(k - 1) for k in item.powers)
            for total, item in zip(sums, self.layout.products, strict=True)
        ]
        return [sum((coefficients[c] * integrals[p] for c, p in terms), mp.zero) for terms in self.layout.sums]

    def _scores(self, values: tuple[Any, ...]) -> Scores:
        """Even nodes, or Gauss-Legendre panels between kinks."""
        slope, centre = self.slope(*values)
        ratio = mp.mpf(self.ratio(*values)[0]) if self.ratio is not None else None
        # the Gaussian itself needs exp(-2 pi^2/step^2) below the precision
        finest, end = mp.sqrt(2 * mp.pi**2 / (mp.ln(10) * (mp.dps + 4))), reach() + 1
        if ratio is None:
            rate = max(abs(slope), self._rate(values, along_x=True), mp.mpf("1e-6"))
            if self.breaks is not None:
                nodes = self._between(values, end, rate)
            else:
                step = min(finest, spacing() / rate)
                half = int(mp.ceil(end / step))
                nodes = [(k * step, step) for k in range(-half, half + 1)]
            xs = [x for x, _ in nodes]
            seconds = [mp.mpf(self.second(x, mp.zero, *values)[0]) for x in xs]
            return Scores(xs, [w * mp.npdf(x) for x, w in nodes], [centre + slope * x for x in xs], None, None, seconds)
        spread = mp.sqrt(1 + ratio**2)
        step = min(finest / spread, spacing() / max(abs(slope), mp.mpf("1e-6")))
        half = int(mp.ceil(end / step))
        xs = [k * step for k in range(-half, half + 1)]
        width = min(finest, spacing() / max(self._rate(values, along_x=False), mp.mpf("1e-6")))
        half = int(mp.ceil(end * spread / width))
        ys = [k * width for k in range(-half, half + 1)]
        seconds = [mp.mpf(self.second(mp.zero, y, *values)[0]) for y in ys]
        return Scores(xs, [step * mp.npdf(x) for x in xs], [centre + slope * x for x in xs], ys, width, seconds)

    def _between(self, values: tuple[Any, ...], end: Any, rate: Any) -> list[tuple[Any, Any]]:
        assert self.breaks is not None
        marks = sorted(mp.mpf(b) for b in self.breaks(*values) if -end < b < end)
        beside = mp.mpf(10) ** (-mp.dps)
        heights = [self.second(m + s, mp.zero, *values)[0] for m in marks for s in (-beside, beside)]
        if not all(mp.isfinite(h) and h > -mp.dps for h in heights):
            raise NotAvailable("a kernel that vanishes at a kink, beside another weight, is of double precision only")
        edges = [-end, *marks, end]
        return [
            node
            for a, b in zip(edges[:-1], edges[1:], strict=True)
            for node in gauss_panels(a, b, 2 / max(rate, mp.one))
        ]

    def _rate(self, values: tuple[Any, ...], along_x: bool) -> Any:
        """Largest rate of the second kernel's logarithm."""
        nodes = [mp.mpf(k) / 4 for k in range(-48, 49)]
        places = [(t, mp.zero) if along_x else (mp.zero, t) for t in nodes]
        logs = [mp.mpf(self.second(*place, *values)[0]) for place in places]
        steps = [abs(b - a) * 4 for a, b in zip(logs[:-1], logs[1:], strict=True)]
        return max((s for s in steps if mp.isfinite(s)), default=mp.zero)

    def _grids(self, values: tuple[Any, ...], scores: Scores, lengths: list[tuple[int, Any]]) -> tuple[Grid, Grid]:
        """Up to where all tokens of the shortest sequence would have to be small at once."""
        digits = mp.ln(10) * (mp.dps + 4)
        longest, shortest = max(n for n, _ in lengths), min(n for n, _ in lengths)
        far = reach() / mp.sqrt(shortest) + 2
        slope, centre = self.slope(*values)
        spread = mp.one if self.ratio is None else mp.sqrt(1 + self.ratio(*values)[0] ** 2)
        ends = [(-far * spread, mp.zero) if self.ratio is None else (mp.zero, s * far * spread) for s in (-1, 1)]
        if self.ratio is None:
            ends[1] = (far, mp.zero)
        lows = [centre - abs(slope) * far, min(mp.mpf(self.second(*place, *values)[0]) for place in ends)]
        highs = [max(scores.logs), max(scores.seconds)]
        found = [
            bent_grid(spacing(), -high - mp.log(longest) - 1, -low + mp.log(2 * digits), digits)
            for low, high in zip(lows, highs, strict=True)
        ]
        return found[0], found[1]

    def _tables(
        self, values: tuple[Any, ...], scores: Scores, grids: tuple[Grid, Grid], bits: int
    ) -> dict[tuple[int, int, int], Sequence[Any]]:
        """Brackets at all (u, w), row by row.

        v^a exp(-v) is at most one, so that whole numbers of units 2^-bits serve, whose products are quick.
        """
        keys = list(dict.fromkeys([(0, 0, 0), *self.asked]))
        firsts = _decays(scores.logs, grids[0], {a for a, _, _ in keys})
        seconds = _decays(scores.seconds, grids[1], {b for _, b, _ in keys})
        rights = {b: _fixed(_turned(table), bits) for b, table in seconds.items()}
        laws = {column: self._law(values, scores, column) for column in {c for _, _, c in keys}}
        unit = arb(2) ** (-2 * bits)
        tables: dict[tuple[int, int, int], Sequence[Any]] = {}
        for a, column in dict.fromkeys((a, c) for a, _, c in keys):
            law = laws[column]
            if isinstance(law[0], list):
                left = _shifted(_fixed(firsts[a], bits) * _fixed(law, bits), bits)
            else:
                left = _fixed([[e * w for e, w in zip(row, law, strict=True)] for row in firsts[a]], bits)
            for b in {b for p, b, c in keys if (p, c) == (a, column)}:
                tables[a, b, column] = [arb(e) * unit for e in (left * rights[b]).entries()]
        return tables

    def _law(self, values: tuple[Any, ...], scores: Scores, column: int) -> list[Any]:
        """Weights of the nodes times a factor, a list for each node of the first score where there are two."""

        def factor(x: Any, zeta: Any) -> Any:
            return mp.one if column == 0 or self.inserted is None else self.inserted(x, zeta, *values)[column - 1]

        nodes = zip(scores.x, scores.weights, strict=True)
        if scores.y is None:
            return [to_ball(w * factor(x, mp.zero)) for x, w in nodes]
        assert self.ratio is not None
        ratio = self.ratio(*values)[0]
        table = []
        for x, w in nodes:
            zetas = [y - ratio * x for y in scores.y]
            table.append([to_ball(w * scores.step * mp.npdf(z) * factor(x, z)) for z in zetas])
        return table

    def _sum(
        self, tables: dict[tuple[int, int, int], Sequence[Any]], grids: tuple[Grid, Grid],
        lengths: list[tuple[int, Any]], extra: Any,
    ) -> list[Any]:  # fmt: skip
        """Trapezoid sums of all products."""
        counts = {len(item.each) for item in self.layout.products}
        weights = [(n, to_ball(w)) for n, w in lengths]
        widths = [grid.widths() or [] for grid in grids]
        items = [(len(item.each), [tables[self.asked[place]] for place in item.each]) for item in self.layout.products]
        survival = tables[0, 0, 0]
        rest = widths[1]
        if extra:
            constant = to_ball(extra)
            rest = [(-constant * t).exp() * own for t, own in zip(grids[1].times(), rest, strict=True)]
        totals = [arb(0)] * len(items)
        place = 0
        for row in widths[0]:
            sums = [arb(0)] * len(items)
            for own in rest:
                b = survival[place]
                log_b = log_survival(b, 1 - b)
                powers = {count: power_of(log_b, weights, count) * own for count in counts}
                for k, (count, columns) in enumerate(items):
                    value = powers[count]
                    for column in columns:
                        value *= column[place]
                    sums[k] += value
                place += 1
            totals = [total + row * part for total, part in zip(totals, sums, strict=True)]
        return [from_ball(total) for total in totals]


def _decays(logs: list[Any], grid: Grid, powers: set[int]) -> dict[int, list[list[Any]]]:
    """v^p exp(-v) with v = e^u h, a row for each u, for some powers p."""
    kernel = [to_ball(mp.exp(t)) for t in logs]
    tables: dict[int, list[list[Any]]] = {p: [] for p in powers}
    for t in grid.times():
        v = [t * h for h in kernel]
        decay = [(-value).exp() for value in v]
        for p in powers:
            tables[p].append([d * value**p for d, value in zip(decay, v, strict=True)] if p else decay)
    return tables


def _turned(table: list[list[Any]]) -> list[list[Any]]:
    """The transposed table."""
    return [list(column) for column in zip(*table, strict=True)]


def _fixed(table: list[list[Any]], bits: int) -> Any:
    """Numbers rounded to multiples of 2^-bits, as whole numbers."""
    unit = arb(2) ** bits
    entries = [(e * unit).mid().floor().unique_fmpz() for row in table for e in row]
    return fmpz_mat(len(table), len(table[0]), entries)


def _shifted(matrix: Any, bits: int) -> Any:
    """Products of two such numbers as one again."""
    return fmpz_mat(matrix.nrows(), matrix.ncols(), [e >> bits for e in matrix.entries()])
