"""Brackets of a token at any precision, in ball arithmetic.

The same trapezoid sums as in double precision, on a finer grid. On a lattice of log h they are polynomial products;
otherwise matrix products. Only centres are kept: how far they are right is told by evaluations that differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from flint import arb, arb_mat, arb_poly, ctx, fmpz
from mpmath import mp

from theorem_engine.base.errors import NotAvailable, NotConverged

#: Largest table of exponentials of a kernel that is not exponential.
LARGEST = 4_000_000
#: Exponentials that are worked out and multiplied at once.
TOGETHER = 100_000


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


@contextmanager
def ball_precision(spare: int) -> Iterator[None]:
    """Flint at mpmath's precision and some bits more, inside the block only."""
    old, ctx.prec = ctx.prec, mp.prec + spare
    try:
        yield
    finally:
        ctx.prec = old


@dataclass(frozen=True)
class Grid:
    """Nodes u = s of the outer integral, s = step * index, and the same step for the lattice of log h.

    Where no lattice is needed the nodes may spread below a ``bend``, where the integrand is an exponential:
    u = s - exp(bend - s), a double exponential in s.
    """

    step: Any
    first: int
    last: int
    bend: Any = None

    @property
    def count(self) -> int:
        """Number of nodes."""
        return self.last - self.first + 1

    def times(self) -> list[Any]:
        """The balls of exp(u) at all nodes."""
        return _times(self, ctx.prec)

    def widths(self) -> list[Any] | None:
        """du/ds at every node, or None where it is one."""
        if self.bend is None:
            return None
        step, bend = to_ball(self.step), to_ball(self.bend)
        return [1 + (bend - step * (self.first + i)).exp() for i in range(self.count)]


@lru_cache(maxsize=8)
def _times(grid: Grid, precision: int) -> list[Any]:
    """Kept: a mean over the hidden token's score asks for the same again and again."""
    step = to_ball(grid.step)
    places = [step * k for k in range(grid.first, grid.last + 1)]
    if grid.bend is None:
        return [s.exp() for s in places]
    bend = to_ball(grid.bend)
    return [(s - (bend - s).exp()).exp() for s in places]


def bent_grid(step: Any, bend: Any, high: Any, digits: Any) -> Grid:
    """A grid up to ``high`` whose integrand is an exponential of u, or of a multiple of it, below the bend."""
    low = bend - mp.log(digits) - 1
    return Grid(step, int(mp.floor(low / step)), int(mp.ceil(high / step)), bend)


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


def lattice_brackets(
    grid: Grid, first: int, rows: Iterable[Sequence[Any]], asked: Sequence[tuple[int, int]],
    idle: Sequence[Any] | None = None,
) -> BallBrackets:  # fmt: skip
    """Tokens whose log h are the multiples of the grid's step from ``first`` on.

    Each row has the weight of a node, then the weight times each factor; ``idle`` is a row of those whose kernel
    vanishes, which survive at every u. Factor 0 is the constant one.
    """
    with ball_precision(40):
        columns = [[to_ball(v) for v in column] for column in zip(*rows, strict=True)]
        size = len(columns[0]) - 1
        low, high = grid.first + first, grid.last + first + size
        step = to_ball(grid.step)
        # beyond this exp(-v) has no digit left at any power
        limit = mp.ln(mp.mpf(40) * mp.dps + 400)
        small = min(high, int(mp.floor(limit / grid.step)))
        v = [(step * k).exp() for k in range(low, small + 1)]
        decay = [(-value).exp() for value in v]
        tail = high - low + 1 - len(v)
        polynomials = {c: arb_poly(list(reversed(columns[c]))) for c in {0, *(c for _, c in asked)}}

        def convolve(table: list[Any], column: int) -> list[Any]:
            product = arb_poly(table) * polynomials[column]
            return [_sharp(product[size + i]) for i in range(grid.count)]

        zeros, ones = [arb(0)] * tail, [arb(1)] * tail
        tables = {p: [d * value**p for value, d in zip(v, decay, strict=True)] + zeros for p in {p for p, _ in asked}}
        complement = convolve([-((-value).expm1()) for value in v] + ones, 0)
        known = {(0, 0): convolve(decay + zeros, 0)}
        for key in asked:
            if key not in known:
                known[key] = convolve(tables[key[0]], key[1])
        if idle is not None:
            for (power, column), found in known.items():
                if power == 0:
                    known[power, column] = [b + to_ball(idle[column]) for b in found]
    return BallBrackets(known[0, 0], complement, [known[key] for key in asked])


def _sharp(ball: Any) -> Any:
    """The centre of a ball that is finite."""
    if not ball.is_finite():
        raise NotConverged("token mean: a bracket overflowed")
    return ball.mid()


def dense_brackets(
    grid: Grid, weights: Sequence[Any], kernel: Sequence[Any], factors: Sequence[Sequence[Any]],
    asked: Sequence[tuple[int, int]],
) -> BallBrackets:  # fmt: skip
    """Any kernel h at nodes with weights; factor 0 is the constant one.

    With v = t h the power of t stands before the sum, so that one table of exp(-v) serves all brackets.
    """
    refuse_large(grid.count * len(kernel))
    with ball_precision(60):
        keys = list(dict.fromkeys([(0, 0), *asked]))
        h, w = [to_ball(k) for k in kernel], [to_ball(x) for x in weights]
        listed = [w, *([a * to_ball(f) for a, f in zip(w, column, strict=True)] for column in factors)]
        columns = [[k**p * a for k, a in zip(h, listed[c], strict=True)] for p, c in keys]
        right = arb_mat(len(h), len(keys), [column[j] for j in range(len(h)) for column in columns])
        found: list[list[Any]] = [[] for _ in keys]
        stride = max(1, TOGETHER // len(h))
        for start in range(0, grid.count, stride):
            times = grid.times()[start : start + stride]
            table = arb_mat(len(times), len(h), [(-t * k).exp() for t in times for k in h])
            product = table * right
            for i, t in enumerate(times):
                for place, (power, _) in enumerate(keys):
                    found[place].append((product[i, place] * t**power).mid())
        known = dict(zip(keys, found, strict=True))
        # the spare bits are those that the complement loses where it is small
        complement = [(1 - b).mid() for b in known[0, 0]]
    return BallBrackets(known[0, 0], complement, [known[key] for key in asked])


def point_brackets(grid: Grid, kernel: Any, factors: Sequence[Any], asked: Sequence[tuple[int, int]]) -> BallBrackets:
    """The hidden token at one score: nothing to average over, and nobody asks whether it survives."""
    with ball_precision(40):
        h = to_ball(kernel)
        v = [t * h for t in grid.times()]
        decay = [(-value).exp() for value in v]
        inserted = [arb(1), *(to_ball(f) for f in factors)]
        values = [[d * value**p * inserted[c] for value, d in zip(v, decay, strict=True)] for p, c in asked]
        return BallBrackets([], [], values)


def refuse_large(count: int) -> None:
    """An error where a table would take too long."""
    if count > LARGEST:
        raise NotAvailable(
            f"a token mean at {mp.dps} digits would need {count} exponentials here; ask for fewer digits"
        )
