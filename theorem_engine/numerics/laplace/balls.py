"""Brackets of a token at any precision, in ball arithmetic.

The same trapezoid sums as in double precision, on a finer grid. On a lattice they are one polynomial
product; otherwise one matrix product.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from flint import arb, arb_mat, arb_poly, ctx, fmpz
from mpmath import mp

from theorem_engine.base.errors import NotAvailable, NotConverged

#: Largest table of exponentials of a kernel that is not exponential.
LARGEST = 600_000


def to_ball(value: Any) -> Any:
    """An mpf as a ball, exact if flint works with at least mpmath's precision."""
    sign, man, exp, _ = mp.mpf(value)._mpf_
    if not man:
        return arb(0)
    ball = arb(fmpz(int(-man if sign else man)))
    return ball * arb(2) ** int(exp)


def from_ball(ball: Any) -> Any:
    """The centre of a ball as an mpf."""
    man, exp = ball.mid().man_exp()
    return mp.ldexp(mp.mpf(int(man)), int(exp))


@dataclass
class Grid:
    """Nodes u = step * index for the outer integral, and the same step for the lattice of log h."""

    step: Any
    first: int
    last: int


@dataclass
class BallBrackets:
    """Lists over the nodes u: survival, its complement, and the brackets asked for."""

    survival: list[Any]
    complement: list[Any]
    values: list[list[Any]]


def spacing() -> Any:
    """Step at which exp(-pi^2/step) is below the working precision, with room for powers."""
    return mp.pi**2 / ((mp.dps + 6) * mp.ln(10))


def reach() -> Any:
    """Where the normal density falls below the working precision."""
    return mp.sqrt(2 * mp.ln(10) * (mp.dps + 4))


def _decays(power: int, v: Any) -> Any:
    return (-v).exp() if power == 0 else v**power * (-v).exp()


def lattice_brackets(
    grid: Grid, slope: Any, centre: Any, ends: tuple[Any, Any], factors: Callable[[Any], Sequence[Any]],
    asked: Sequence[tuple[int, int]],
) -> BallBrackets:  # fmt: skip
    """log h = centre + slope x on the multiples of the step; factor 0 is the constant one."""
    bounds = sorted(centre + slope * end for end in ends)
    low, high = int(mp.floor(bounds[0] / grid.step)), int(mp.ceil(bounds[1] / grid.step))
    first, last = grid.first + low, grid.last + high
    scale = grid.step / abs(slope) / mp.sqrt(2 * mp.pi)
    old, ctx.prec = ctx.prec, mp.prec + 40
    try:
        columns: list[list[Any]] = []
        for j in range(low, high + 1):
            x = (j * grid.step - centre) / slope
            weight = scale * mp.exp(-x * x / 2)
            for i, f in enumerate([mp.one, *factors(x)]):
                if j == low:
                    columns.append([])
                columns[i].append(to_ball(weight * f))
        step = to_ball(grid.step)
        # beyond this exp(-v) has no digit left at any power
        limit = mp.ln(mp.mpf(40) * mp.dps + 400)
        small = min(last, int(mp.floor(limit / grid.step)))
        v = [(step * k).exp() for k in range(first, small + 1)]
        tail = last - small
        polynomials = [arb_poly(list(reversed(c))) for c in columns]
        size, count = high - low, grid.last - grid.first + 1

        def convolve(table: list[Any], column: int) -> list[Any]:
            product = arb_poly(table) * polynomials[column]
            return [from_ball(_sharp(product[size + i])) for i in range(count)]

        zeros, ones = [arb(0)] * tail, [arb(1)] * tail
        tables = {p: [_decays(p, value) for value in v] + zeros for p in {0, *(p for p, _ in asked)}}
        complement = convolve([-((-value).expm1()) for value in v] + ones, 0)
        survival = convolve(tables[0], 0)
        known: dict[tuple[int, int], list[Any]] = {(0, 0): survival}
        for key in asked:
            if key not in known:
                known[key] = convolve(tables[key[0]], key[1])
    finally:
        ctx.prec = old
    return BallBrackets(survival, complement, [known[key] for key in asked])


def _sharp(ball: Any) -> Any:
    """A ball that still has the digits it should; sums of mixed sign may lose some."""
    if not ball.is_finite():
        raise NotConverged("token mean: a bracket overflowed")
    return ball


def dense_brackets(
    grid: Grid, weights: Sequence[Any], kernel: Sequence[Any], factors: Sequence[Sequence[Any]],
    asked: Sequence[tuple[int, int]],
) -> BallBrackets:  # fmt: skip
    """Any kernel h at nodes with weights; factor 0 is the constant one."""
    count = grid.last - grid.first + 1
    if count * len(kernel) > LARGEST:
        raise NotAvailable(
            f"a token mean at {mp.dps} digits would need {count * len(kernel)} exponentials here; ask for fewer digits"
        )
    old, ctx.prec = ctx.prec, mp.prec + 30
    try:
        step = to_ball(grid.step)
        rows = [(step * i).exp() for i in range(grid.first, grid.last + 1)]
        h = [to_ball(k) for k in kernel]
        w = [to_ball(x) for x in weights]
        cut = arb(40 * mp.dps + 400)
        zero = arb(0)
        columns = {c: [a if c == 0 else a * to_ball(f) for a, f in zip(w, ([1] * len(w) if c == 0 else factors[c - 1]),
                                                                       strict=True)]
                   for c in {0, *(c for _, c in asked)}}  # fmt: skip
        totals: dict[tuple[int, int], list[Any]] = {(0, 0): [], **{key: [] for key in asked}}
        complement: list[Any] = []
        powers = sorted({p for p, _ in totals})
        vectors = {c: arb_mat(len(w), 1, columns[c]) for c in columns}
        for t in rows:
            v = [t * k for k in h]
            decay = [(-value).exp() if value < cut else zero for value in v]
            lost = [-((-value).expm1()) for value in v]
            complement.append(from_ball((arb_mat(1, len(w), lost) * vectors[0])[0, 0]))
            current = {0: decay}
            for p in powers:
                if p:
                    current[p] = [value**p * d if d != 0 else zero for value, d in zip(v, decay, strict=True)]
            rowed = {p: arb_mat(1, len(w), current[p]) for p in powers}
            for p, c in totals:
                totals[p, c].append(from_ball((rowed[p] * vectors[c])[0, 0]))
    finally:
        ctx.prec = old
    return BallBrackets(totals[0, 0], complement, [totals[key] for key in asked])
