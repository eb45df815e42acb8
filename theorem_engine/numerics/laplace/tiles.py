"""Tiles: stretches of the score x with brackets of a token that competes for two kinds of weight at once.

The first weight has the kernel exp(slope x), the second any kernel h(x, zeta). A bracket is a sum over x of
F(u, x) G(w, x), F = v^b exp(-v) with v = exp(u + slope x), and G the mean over zeta of v^a exp(-v) f with
v = exp(w) h. On a tile F needs its values at few nodes x, and G is one or zero unless log v is near 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theorem_engine.base.errors import NotAvailable, NotConverged
from theorem_engine.numerics.laplace.nodes import graded_rule, normal_weights
from theorem_engine.numerics.laplace.sums import FAR, REACH
from theorem_engine.numerics.panels import are_resolved, is_graded, is_resolved
from theorem_engine.numerics.quadrature import gauss_legendre

Array = NDArray[np.float64]
#: Nodes of a tile, and the change of log v over it.
COUNT, SPAN = 64, 16.0
#: Nodes that carry the first kernel on a tile with a steep second one: over two units of log v to 2e-15.
FEW = 32
#: Over this change of log v a rule with as many nodes is good to 2e-15.
SMOOTH = 4.0
#: Halvings of a stretch after which what is left has no weight.
DEEPEST = 40
#: Nodes (score, x) of one tile at most.
MOST_SCORES = 20_000_000
#: Parts of one stretch at most.
MOST_PARTS = 20_000
#: Below this log v a token adds nothing to the brackets of others, even where few of these count.
QUIET = -46.0
#: From here on exp(-v) counts as zero: products of smaller numbers would leave the normal range, where all is slow.
END = 5.5
#: A function of the second v and the column of a factor: a power a for v^a exp(-v), LOST for 1 - exp(-v).
Key = tuple[int, int]
LOST = -1
#: Functions of x and zeta by which brackets are multiplied.
Factors = Callable[[Any, Any], list[Array]]


def decays(logs: Array) -> tuple[Array, Array]:
    """v and exp(-v), in the place of log v."""
    is_over = logs > END
    v = np.exp(np.minimum(logs, FAR, out=logs), out=logs)
    decay = np.exp(-v)
    decay[is_over] = 0.0
    return v, decay


class Piece:
    """Some nodes of a tile, with log h and columns of weights times factors on them; the first factor is one."""

    def __init__(self, logs: Array, columns: Sequence[Array]) -> None:
        self.logs, self.columns = logs, columns
        self.lowest, self.highest = float(logs.min()), float(logs.max())
        #: The columns' sums over the nodes at each x.
        self.totals: Array = np.array([self.total(column) for column in columns])

    def total(self, column: Array) -> Array:
        """The sum of a column over the nodes at each x."""
        return column

    def fold(self, table: Array, column: Array, out: Array) -> None:
        """Sums at each x of a table (w, nodes) times a column."""
        np.multiply(table, column, out=out)

    def tables(self, w: Array, keys: Sequence[Key]) -> Array:
        """For each key at each w and x: its function of v, with the weights."""
        v = w.reshape(-1, *(1 for _ in self.logs.shape)) + self.logs
        v, decay = decays(v)
        powers = {0: decay}
        for power in range(1, 1 + max(p for p, _ in keys)):
            powers[power] = powers[power - 1] * v
        if any(power == LOST for power, _ in keys):
            powers[LOST] = -np.expm1(-v)
        tables = np.empty((len(keys), w.size, self.totals.shape[1]))
        for out, (power, column) in zip(tables, keys, strict=True):
            self.fold(powers[power], self.columns[column], out)
        return tables


class SpreadPiece(Piece):
    """Nodes that are not those of x: columns are matrices (nodes, x)."""

    def total(self, column: Array) -> Array:
        """A sum over the first axis."""
        return np.asarray(column.sum(axis=0))

    def fold(self, table: Array, column: Array, out: Array) -> None:
        """A product of matrices."""
        np.matmul(table, column, out=out)


class SmearedPiece(Piece):
    """Nodes (x, zeta), summed over zeta; columns have the same shape."""

    def total(self, column: Array) -> Array:
        """A sum over the last axis."""
        return np.asarray(column.sum(axis=1))

    def fold(self, table: Array, column: Array, out: Array) -> None:
        """A sum over the last axis."""
        np.einsum("wxz,xz->wx", table, column, out=out)


class Tile:
    """Nodes of one stretch of x: the first kernel on a few of them, the second on as many as it needs."""

    def __init__(self, x: Array, pieces: Sequence[Piece]) -> None:
        self.x, self.pieces = x, pieces
        self.lowest, self.highest = min(p.lowest for p in pieces), max(p.highest for p in pieces)
        self.totals: Array = sum((p.totals for p in pieces[1:]), start=pieces[0].totals)

    def block(self, w: Array, keys: Sequence[Key], low: float) -> Array:
        """For each key at each w and x: its function of v, with the weights."""
        if len(self.pieces) == 1:
            return self.pieces[0].tables(w, keys)
        table = np.zeros((len(keys), w.size, self.x.size))
        for piece in self.pieces:
            first, last = np.searchsorted(w, [low - piece.highest, FAR - piece.lowest])
            table[:, :first] += where_small(piece.totals, keys)[:, None]
            table[:, first:last] += piece.tables(w[first:last], keys)
            table[:, last:] += where_large(piece.totals, keys)[:, None]
        return table


def where_small(totals: Array, keys: Sequence[Key]) -> Array:
    """What each key is at each x where v is negligible."""
    return _chosen(totals, keys, 0)


def where_large(totals: Array, keys: Sequence[Key]) -> Array:
    """What each key is at each x where exp(-v) is zero."""
    return _chosen(totals, keys, LOST)


def _chosen(totals: Array, keys: Sequence[Key], power: int) -> Array:
    """The columns of keys with this power, zero for the others."""
    result = totals[[column for _, column in keys]]
    result[[p != power for p, _ in keys]] = 0.0
    return np.asarray(result)


def _stretches(slope: float, x: Array, logs: Array, most: int = COUNT) -> list[slice]:
    """Stretches of x over which neither kernel changes much."""
    found, start = [], 0
    while start < x.size:
        here = slice(start, start + most)
        along = slope * (x[here] - x[start])
        with np.errstate(invalid="ignore"):
            changes = np.maximum(np.abs(logs[here] - logs[start]), along)
        # a vanishing kernel does not change while it vanishes, and then at once
        changes = np.maximum.accumulate(np.where(np.isnan(changes), along, changes))
        stop = start + max(1, int(np.searchsorted(changes, SPAN, side="right")))
        found.append(slice(start, stop))
        start = stop
    return found


def cut_tiles(slope: float, x: Array, weights: Array, logs: Array, factors: Sequence[Array]) -> list[Tile]:
    """Tiles with all their nodes, for a kernel h of x alone."""
    columns = [weights, *(weights * f for f in factors)]
    return [Tile(x[here], [Piece(logs[here], [c[here] for c in columns])]) for here in _stretches(slope, x, logs)]


def smeared_tiles(
    slope: float, x: Array, weights: Array, log_h: Callable[[Any, Any], Array], factors: Factors, step: float,
    ratio: float | None, kinks: Sequence[float] = (),
) -> list[Tile]:  # fmt: skip
    """Tiles for a kernel of x and zeta, of one score t = zeta + ratio x if there is a ratio; ``step`` is that of zeta.

    With a score, log h is needed at nodes t only, shared by all x of a tile; else at nodes zeta for every x. Kinks are
    values of the score.
    """
    zeta = np.arange(-round(REACH / step), round(REACH / step) + 1) * step
    tiles = []
    for here in _stretches(slope, x, log_h(x, np.zeros(1))):
        ends = sorted((float(ratio * x[here][0]), float(ratio * x[here][-1]))) if ratio is not None else (0.0, np.inf)
        if ratio is not None and kinks:
            count = 4 * (ends[1] - ends[0] + 2 * REACH) / step * x[here].size
            if count > MOST_SCORES:
                raise NotAvailable(
                    f"a kernel with a kink would need {count:.1e} nodes here (at most {MOST_SCORES}): its score hardly "
                    "depends on the second letter"
                )
            rule = graded_rule(ends[0] - REACH, ends[1] + REACH, kinks, 4 * step)
            tiles.append(_on_scores(rule, x[here], weights[here], log_h, factors, ratio))
        elif ratio is not None and ends[1] - ends[0] + 2 * REACH < 0.25 * x[here].size * zeta.size * step:
            t = np.arange(np.floor((ends[0] - REACH) / step), np.ceil((ends[1] + REACH) / step) + 1) * step
            tiles.append(_on_scores((t, np.full(t.size, step)), x[here], weights[here], log_h, factors, ratio))
        else:
            both = weights[here, None] * normal_weights(zeta, step)
            columns = [both, *(both * f for f in factors(x[here, None], zeta))]
            tiles.append(Tile(x[here], [SmearedPiece(log_h(x[here, None], zeta), columns)]))
    return tiles


def _on_scores(
    rule: tuple[Array, Array], x: Array, weights: Array, log_h: Callable[[Any, Any], Array], factors: Factors,
    ratio: float,
) -> Tile:  # fmt: skip
    """One tile on nodes of the score, in pieces over which log h changes little."""
    t, steps = rule
    zeta = t[:, None] - ratio * x
    both = np.where(np.abs(zeta) < REACH + 1, weights * normal_weights(zeta, steps[:, None]), 0.0)
    columns = [both, *(both * f for f in factors(x, zeta))]
    logs = log_h(np.zeros(1), t)
    parts = _stretches(0.0, t, logs, 4 * COUNT)
    return Tile(x, [SpreadPiece(logs[part], [c[part] for c in columns]) for part in parts])


def last_place(logs: Array, weights: Array, others: int) -> float:
    """The w beyond which that many tokens survive with probability exp(-100) at most, from rough nodes."""
    marks = np.unique(-logs)
    survival = np.exp(-np.exp(np.minimum(marks[:, None] + logs, FAR))) @ weights
    dead = marks[others * np.log(np.maximum(survival, 1e-300)) < -100]
    return float(dead[0]) if dead.size else float(marks[-1]) + 6


@cache
def _spread(level: int, place: int) -> Array:
    """At the nodes of a dyadic part of a tile: the Lagrange polynomials of the whole tile's nodes."""
    base, _ = gauss_legendre(FEW)
    inverse = np.linalg.inv(np.polynomial.legendre.legvander(2 * base - 1, FEW - 1))
    local = (place + base) / 2**level
    return np.asarray(np.polynomial.legendre.legvander(2 * local - 1, FEW - 1) @ inverse, dtype=float)


def steep_tiles(
    log_h: Callable[[Array], Array], factors: Callable[[Array], list[Array]], edges: Array, floor: float,
    places: Sequence[tuple[float, float]] = (),
) -> list[Tile]:  # fmt: skip
    """Tiles between the edges, on which the first kernel is a polynomial; fine nodes follow a steep second one.

    On a tile the mean of a function of x times the first kernel needs that kernel's values at few nodes only. Where
    log h is below ``floor`` nobody looks. ``places`` are those where it or a factor is known to be sharp.
    """
    heights = log_h(edges)
    is_low = np.maximum(heights[:-1], heights[1:]) < floor
    is_plain = _are_smooth(log_h, factors, edges, heights, places) | is_low
    tiles: list[Tile] = []
    start = 0
    while start < is_plain.size:
        if not is_plain[start]:
            # a sum over nodes is good over twice the span over which a polynomial follows the first kernel
            middle = (edges[start] + edges[start + 1]) / 2
            tiles += [
                _spread_tile(log_h, factors, float(a), float(b), floor, places)
                for a, b in ((edges[start], middle), (middle, edges[start + 1]))
            ]
            start += 1
            continue
        stop = start + 1
        while stop < min(is_plain.size, start + 4) and is_plain[stop] and is_low[stop] == is_low[start]:
            stop += 1
        tiles.append(_plain_tile(log_h, factors, edges[start : stop + 1]))
        start = stop
    return tiles


def _plain_tile(log_h: Callable[[Array], Array], factors: Callable[[Array], list[Array]], edges: Array) -> Tile:
    """One tile on the nodes of some panels."""
    base, base_weights = gauss_legendre(FEW)
    widths = np.diff(edges)
    x = (edges[:-1, None] + base * widths[:, None]).ravel()
    weights = (base_weights * widths[:, None]).ravel() * normal_weights(x, 1.0)
    return Tile(x, [Piece(log_h(x), [weights, *(weights * f for f in factors(x))])])


def _are_smooth(
    log_h: Callable[[Array], Array], factors: Callable[[Array], list[Array]], edges: Array, heights: Array,
    places: Sequence[tuple[float, float]],
) -> NDArray[np.bool_]:  # fmt: skip
    """The same as ``_is_smooth`` for neighbouring stretches, asked of all at once."""
    base, _ = gauss_legendre(FEW)
    widths = np.diff(edges)
    with np.errstate(invalid="ignore"):
        found = np.abs(np.diff(heights)) <= SMOOTH
    ends = zip(edges[:-1], edges[1:], strict=True)
    found &= np.array([is_graded(float(a), float(b), places) for a, b in ends], dtype=bool)
    x = (edges[:-1][found, None] + widths[found, None] * base).ravel()
    if x.size:
        values = [np.broadcast_to(v, x.shape).reshape(-1, FEW) for v in (log_h(x), *factors(x))]
        found[found] = are_resolved(values, FEW)
    return found


def _is_smooth(
    log_h: Callable[[Array], Array], factors: Callable[[Array], list[Array]], low: float, high: float,
    places: Sequence[tuple[float, float]],
) -> bool:  # fmt: skip
    """Whether the nodes of one rule follow log h and every factor over a stretch."""
    left, right = log_h(np.array([low, high]))
    if not abs(right - left) <= SMOOTH or not is_graded(low, high, places):
        return False
    base, _ = gauss_legendre(FEW)
    x = low + (high - low) * base
    return is_resolved([log_h(x), *factors(x)], FEW)


def _spread_tile(
    log_h: Callable[[Array], Array], factors: Callable[[Array], list[Array]], low: float, high: float, floor: float,
    places: Sequence[tuple[float, float]],
) -> Tile:  # fmt: skip
    """One tile with few nodes for the first kernel and many for the second."""
    base, base_weights = gauss_legendre(FEW)
    pieces: list[Piece] = []
    for level, place in _dyadic(log_h, factors, low, high, floor, places):
        width = (high - low) / 2**level
        x = low + (place + base) * width
        weights = base_weights * normal_weights(x, width)
        columns = [weights, *(weights * f for f in factors(x))]
        if level:
            columns = [c[:, None] * _spread(level, place) for c in columns]
        pieces.append((SpreadPiece if level else Piece)(log_h(x), columns))
    return Tile(low + (high - low) * base, pieces)


def _dyadic(
    log_h: Callable[[Array], Array], factors: Callable[[Array], list[Array]], low: float, high: float, floor: float,
    places: Sequence[tuple[float, float]],
) -> list[tuple[int, int]]:  # fmt: skip
    """Dyadic parts (level, place) of an interval over which log h changes little, from left to right."""
    parts: list[tuple[int, int]] = []
    waiting = [(0, 0)]
    while waiting:
        level, place = waiting.pop()
        if len(parts) > MOST_PARTS:
            raise NotConverged("token mean: the kernel of the weights is too steep to be resolved")
        left, right = (low + (high - low) * (place + end) / 2**level for end in (0, 1))
        is_low = float(np.max(log_h(np.array([left, right])))) < floor
        if is_low or level >= DEEPEST or _is_smooth(log_h, factors, left, right, places):
            parts.append((level, place))
        else:
            waiting += [(level + 1, 2 * place + 1), (level + 1, 2 * place)]
    return parts
