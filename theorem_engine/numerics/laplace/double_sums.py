"""Double Laplace integrals over tokens that compete for two kinds of weight at once, by a sweep over tiles.

While u falls, tile after tile leaves the region where the first factor F of a bracket is zero, is multiplied out
while F passes to one, and then joins running sums over x. The nodes in w lie on one lattice, and each u looks only
at the stretch of it where its integrand lives: for fixed u it is analytic for |Im w| < pi/2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from theorem_engine.base.errors import NotConverged
from theorem_engine.numerics.laplace.nodes import even_grid
from theorem_engine.numerics.laplace.sums import FAR, LOW, ROUGH_LOW, ROUGH_STEP
from theorem_engine.numerics.laplace.tiles import LOST, Array, Key, Tile, decays, where_large, where_small
from theorem_engine.numerics.quadrature import EPS
from theorem_engine.numerics.roughly import is_rough

#: Lattice in w: the trapezoid rule has a relative error of exp(-pi^2/STEP) = 1e-23. The first look is coarse.
STEP, COARSE = 0.1875, 2.0
#: Changes by halving that leave rounding only after the next one. In w the error is squared by it; in u a bend of
#: the second kernel, of little weight, may converge later than the rest.
SETTLED_U, SETTLED_W = 1e-11, 3e-8
MAX_LEVEL = 6
#: Relative error of rough integrals.
ROUGH = 1e-6
#: A sum that settles has a gap at least so many times smaller after a halving; one that does not meets the noise of an
#: integrand, of a part that is too small to be heard, and its gap is then its error, with this margin.
FALLS, STUCK = 8.0, 30.0
#: Values of u handled together span this much at most, and hold so many numbers.
TOGETHER, HELD = 16.0, 8_000_000

#: A bracket asked for: the power of the first v, of the second, and the column of its factor.
Asked = tuple[int, int, int]
#: From log B, the brackets and the nodes w (first axis) to the integrands.
Assemble = Callable[[Any, list[Any], Any], list[Any]]


@dataclass(frozen=True)
class Seen:
    """A first look: falling u, the stretch of w that counts at each, and the largest share of a maximum there."""

    u: Array
    lows: Array
    highs: Array
    shares: Array


class _Lattice:
    """Nodes in w with the tiles on them, for one pass over u."""

    def __init__(self, tiles: Sequence[Tile], groups: Sequence[list[Key]], ends: tuple[float, float], step: float,
                 low: float) -> None:  # fmt: skip
        """Keys come in groups, one for each power of the first v."""
        self.tiles, self.groups, self.low = tiles, groups, low
        self.keys = [key for group in groups for key in group]
        self.indices = np.arange(int(np.floor(ends[0] / step)), int(np.ceil(ends[1] / step)) + 1)
        self.w: Array = self.indices.astype(np.float64) * step
        self.blocks: dict[int, tuple[int, int, list[Array]]] = {}
        self.done = 0
        # over tiles where F is one, which matters to the power zero only
        self.sums = np.zeros((len(groups[0]), self.w.size))

    def block(self, i: int) -> tuple[int, int, list[Array]]:
        """Rows at which a tile's second kernel is neither one nor zero, and its tables there for each group."""
        if i not in self.blocks:
            tile = self.tiles[i]
            first, last = (int(k) for k in np.searchsorted(self.w, [self.low - tile.highest, FAR - tile.lowest]))
            table = tile.block(self.w[first:last], self.keys, self.low)
            ends = np.cumsum([0, *(len(group) for group in self.groups)])
            self.blocks[i] = first, last, [table[a:b] for a, b in zip(ends[:-1], ends[1:], strict=True)]
        return self.blocks[i]

    def pass_tiles(self, count: int) -> None:
        """The first tiles join the running sums."""
        for i in range(self.done, count):
            first, last, tables = self.block(i)
            totals = self.tiles[i].totals
            self.sums[:, :first] += where_small(totals, self.groups[0]).sum(axis=1)[:, None]
            self.sums[:, first:last] += tables[0].sum(axis=2)
            self.sums[:, last:] += where_large(totals, self.groups[0]).sum(axis=1)[:, None]
            del self.blocks[i]
        self.done = max(self.done, count)


def sweep_integrals(
    slope: float, tiles: Sequence[Tile], asked: Sequence[Asked], assemble: Assemble, lengths: Sequence[int],
    last: float, profile: tuple[Array, Array],
) -> list[tuple[Any, Any]]:  # fmt: skip
    """Double integrals over u and w of what ``assemble`` makes of the brackets.

    No w beyond ``last`` is of interest; ``profile`` is log h on an even grid of x.
    """
    sweep = _Sweep(slope, tiles, asked, assemble, lengths, last)
    seen = sweep.look(even_grid(*sweep.ends, sweep.stride))
    step_u = sweep.first_step(seen, profile)
    if is_rough():
        step_u, step_w = min(4 * step_u, sweep.stride / 2), ROUGH_STEP
        totals = sweep.add(step_u, step_w, seen)
        area = step_u * step_w
        return [(float(v) * area, ROUGH * float(s) * area) for v, s in zip(totals[0], totals[3], strict=True)]
    step_w = STEP
    before_u = before_w = np.inf
    for _ in range(MAX_LEVEL):
        totals = sweep.add(step_u, step_w, seen)
        gap_u, gap_w = np.abs(2 * totals[1:3] - totals[0])
        coarse_w = np.abs(2 * totals[4] - totals[2])
        scale = totals[3] + 1e-300
        rough_u, rough_w = gap_u > SETTLED_U * scale, gap_w > SETTLED_W * scale
        stuck_u, stuck_w = rough_u & (gap_u > before_u / FALLS), rough_w & (gap_w > before_w / FALLS)
        halve_u, halve_w = bool(np.any(rough_u & ~stuck_u)), bool(np.any(rough_w & ~stuck_w))
        if not (halve_u or halve_w):
            # a gap of noise may be small by chance: the larger one of two counts
            errors = np.where(stuck_u, STUCK * np.maximum(gap_u, before_u), 0.1 * gap_u) + 8 * EPS * scale
            # the sum over an analytic integrand squares its gap by halving; what is left of a larger one is noise
            noise = np.maximum(gap_w - 100 * coarse_w**2 / scale - 32 * EPS * scale, 0)
            errors += np.where(stuck_w, STUCK * np.maximum(gap_w, before_w), 10 * gap_w**2 / scale + STUCK * noise)
            area = step_u * step_w
            return [(float(v) * area, float(e) * area) for v, e in zip(totals[0], errors, strict=True)]
        # where a direction is not halved its gap says nothing new
        step_u, before_u = (step_u / 2, gap_u) if halve_u else (step_u, before_u)
        step_w, before_w = (step_w / 2, gap_w) if halve_w else (step_w, before_w)
    raise NotConverged("token mean: the double Laplace integral does not settle")


class _Sweep:
    """One set of integrands, for passes of different fineness."""

    def __init__(
        self, slope: float, tiles: Sequence[Tile], asked: Sequence[Asked], assemble: Assemble, lengths: Sequence[int],
        last: float,
    ) -> None:  # fmt: skip
        self.slope, self.tiles, self.assemble = slope, tiles, assemble
        # below this log v a token adds nothing, even to the sum over all others
        self.low = (ROUGH_LOW if is_rough() else LOW) - float(np.log(max(lengths)))
        self.least = 1e-9 if is_rough() else 1e-18
        self.groups: list[list[Key]] = [[] for _ in range(1 + max(power for power, _, _ in asked))]
        for power, second, column in [(0, LOST, 0), (0, 0, 0), *asked]:
            if (second, column) not in self.groups[power]:
                self.groups[power].append((second, column))
        self.asked = [(power, self.groups[power].index((second, column))) for power, second, column in asked]
        self.starts = slope * np.array([tile.x[0] for tile in tiles])
        self.stops = slope * np.array([tile.x[-1] for tile in tiles])
        # mass of the tiles from each one on
        self.beyond = np.cumsum([0.0, *(tile.totals[0].sum() for tile in reversed(tiles))])[::-1]
        margin = (24 if is_rough() else 50) + float(np.log(max(lengths)))
        self.stride = max(1.0, slope / 3)
        self.under = [[where_small(tile.totals, group) for group in self.groups] for tile in tiles]
        self.over = [[where_large(tile.totals, group) for group in self.groups] for tile in tiles]
        highest = max(tile.highest for tile in tiles)
        finite = (piece.logs[np.isfinite(piece.logs)] for tile in tiles for piece in tile.pieces)
        lowest = min(float(logs.min(initial=highest)) for logs in finite)
        self.ends = -float(self.stops[-1]) - margin, -float(self.starts[0]) + 6
        self.rows = -highest - margin, min(last, -lowest + 6)

    def look(self, u: Array) -> Seen:
        """Coarse u where an integrand exceeds 1e-18 of its maximum, from which w to which, and how large they are."""
        lattice = self._lattice(COARSE, self.rows)
        parts = [found for _, found, _ in self._values(lattice, u, None)]
        values = np.abs([np.concatenate(found, axis=1) for found in zip(*parts, strict=True)])
        values = np.where(np.isfinite(values), values, 0.0)
        shares = np.max(values / np.maximum(values.max(axis=(1, 2), keepdims=True), 1e-300), axis=0)
        alive = shares > self.least
        here = alive.any(axis=0)
        if not here.any():
            return Seen(u[::-1], np.full(u.size, lattice.w[0]), np.full(u.size, lattice.w[-1]), np.ones(u.size))
        before, after = np.argmax(alive, axis=0) - 1, lattice.w.size - np.argmax(alive[::-1], axis=0)
        lows = lattice.w[np.maximum(before, 0)]
        highs = lattice.w[np.minimum(after, lattice.w.size - 1)]
        return Seen(u[::-1][here], lows[here], highs[here], shares.max(axis=0)[here])

    def first_step(self, seen: Seen, profile: tuple[Array, Array]) -> float:
        """Step in u: a share of the scale of the normal law, or of a bend of log h if there is a sharper one.

        With a bend by d, steps of h slope/d leave about 10^(-16/sqrt(h)) of what the integrand is at the bend
        (measured); the first kernel blurs what is sharper than one unit of u.
        """
        x, logs = profile
        rises = max(self.slope, 1.0)
        with np.errstate(invalid="ignore"):
            rates = np.diff(logs) / (x[1] - x[0])
        share = np.interp(-rises * x[1:], seen.u[::-1], np.log10(seen.shares[::-1]), left=-np.inf, right=-np.inf)
        share[~np.isfinite(rates)] = -np.inf
        widest = step = 0.125 * 2.0 ** int(np.log2(rises))
        for k in range(12):
            seen_rates = rates[share >= -k]
            if seen_rates.size:
                bend = max(float(np.ptp(seen_rates)), 1e-9)
                # what is first seen at this level has ten times its share at most
                step = min(step, 0.31 * rises / bend * (16 / (12.5 - 0.9 * k)) ** 2)
        return max(min(0.25, widest), 2.0 ** math.floor(math.log2(step)))

    def add(self, step_u: float, step_w: float, seen: Seen) -> Array:
        """Sums of the integrands over all nodes, every second u, every second w, of absolute values, every fourth w."""
        places, lows, highs = seen.u, seen.lows, seen.highs
        gap = self.stride
        u = even_grid(float(places.min()) - gap, float(places.max()) + gap, step_u)
        lattice = self._lattice(step_w, (float(lows.min()), float(highs.max())))
        totals: Any = np.zeros((5, 1))

        def window(part: Array) -> tuple[float, float] | None:
            near = (places >= part.min() - 1.01 * gap) & (places <= part.max() + 1.01 * gap)
            return (float(lows[near].min()), float(highs[near].max())) if near.any() else None

        for part, found, indices in self._values(lattice, u, window):
            values = np.array(found)
            at_u = values.sum(axis=1)
            even_u = np.round(part / step_u).astype(np.int64) % 2 == 0
            halves = at_u[:, even_u].sum(axis=1), values[:, indices % 2 == 0].sum(axis=(1, 2))
            fourths = values[:, indices % 4 == 0].sum(axis=(1, 2))
            totals = totals + np.array([at_u.sum(axis=1), *halves, np.abs(values).sum(axis=(1, 2)), fourths])
        return np.asarray(totals)

    def _lattice(self, step: float, ends: tuple[float, float]) -> _Lattice:
        return _Lattice(self.tiles, self.groups, ends, step, self.low)

    def _values(self, lattice: _Lattice, u: Array, window: Any) -> Iterator[tuple[Array, list[Array], Any]]:
        """Integrands, w along the first axis, for falling stretches of u, with the places on the lattice."""
        falling = u[::-1]
        start = 0
        while start < falling.size:
            stop = max(start + 1, int(np.searchsorted(-falling, -falling[start] + TOGETHER)))
            stop = min(stop, start + max(1, HELD // (lattice.w.size * len(lattice.keys))))
            part = falling[start:stop]
            start = stop
            ends = window(part) if window is not None else (lattice.w[0], lattice.w[-1])
            if ends is None:
                continue
            rows = slice(int(np.searchsorted(lattice.w, ends[0])), int(np.searchsorted(lattice.w, ends[1], "right")))
            yield part, self._part(lattice, part, rows), lattice.indices[rows]

    def _part(self, lattice: _Lattice, u: Array, rows: slice) -> list[Array]:
        """The integrands at some neighbouring u and a stretch of w."""
        # tiles with F = 1 at all these u, tiles with F = 0 at all of them, and those between
        first = int(np.searchsorted(self.stops, self.low - u.max()))
        last = max(first, int(np.searchsorted(self.starts, FAR - u.min())))
        lattice.pass_tiles(first)
        top, bottom = rows.start, rows.stop
        found = [np.zeros((len(group), bottom - top, u.size)) for group in self.groups]
        found[0] += lattice.sums[:, rows, None]
        lost = np.full(u.size, self.beyond[last])
        for i in range(first, last):
            tile = self.tiles[i]
            v, power = decays(self.slope * tile.x[:, None] + u)
            lost += tile.totals[0] @ -np.expm1(-v)
            begin, end, tables = lattice.block(i)
            a, b = (min(max(k, top), bottom) for k in (begin, end))
            for bracket, under, table, over in zip(found, self.under[i], tables, self.over[i], strict=True):
                if a > top:
                    bracket[:, : a - top] += (under @ power)[:, None]
                if a < b:
                    bracket[:, a - top : b - top] += table[:, a - begin : b - begin] @ power
                if b < bottom:
                    bracket[:, b - top :] += (over @ power)[:, None]
                power = power * v
        complement, survival = found[0][0] + lost, found[0][1]
        with np.errstate(divide="ignore", invalid="ignore"):
            log_b = np.where(
                complement < 0.5, np.log1p(-np.minimum(complement, 0.75)), np.log(np.maximum(survival, 0.0))
            )
        return self.assemble(log_b, [found[power][place] for power, place in self.asked], lattice.w[rows, None])
