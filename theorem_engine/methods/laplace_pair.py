"""Laplace integrals over tokens that compete for two kinds of weight at once.

One weight has the kernel exp(slope x), or goes to the largest x altogether; the other has any kernel of
the same token. Brackets become matrices over the two integration variables, products of tables over x.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theorem_engine.errors import NotConverged
from theorem_engine.methods.laplace import (
    FAR,
    Brackets,
    edges_along,
    even_grid,
    find_window,
    marks_of,
    normal_weights,
    power_times_decay,
)
from theorem_engine.methods.quadrature import EPS, gauss_legendre, legendre_panels

Array = NDArray[np.float64]
#: Entries of a three-way table held at once.
CHUNK = 2_000_000
#: A change by halving that leaves rounding only after the next one.
SETTLED = 3e-8
MAX_LEVEL = 6
#: Below this log v a token adds nothing to the brackets of others, even where few of these count.
QUIET = -46.0


class InnerTable:
    """E over zeta of v^a exp(-v) f(x, zeta), v = exp(w) h(x, zeta), at nodes x for every w."""

    def __init__(self, x: Array, logs: Array, weights: Array, asked: Sequence[tuple[int, Any]]) -> None:
        """``logs`` and factors have the shape (x, zeta); ``weights`` are those of zeta."""
        self.x = x
        self.logs = logs
        self.weights = weights
        self.asked = [(power, None if f is None else np.broadcast_to(f, logs.shape)) for power, f in asked]
        finite = logs[np.isfinite(logs)]
        self.lowest, self.highest = float(finite.min()), float(finite.max())

    def marks(self, spacing: float) -> Array:
        """Values of w at which tokens this far apart have v = 1."""
        return marks_of(self.x, self.logs[:, self.logs.shape[1] // 2], spacing)

    def __call__(self, w: Array) -> Brackets:
        """Tables of shape (w, x)."""
        size, depth = self.logs.shape
        step = max(1, CHUNK // max(1, w.size * depth))
        parts = [self._part(w, slice(i, i + step)) for i in range(0, size, step)]
        if len(parts) == 1:
            return parts[0]
        return Brackets(
            np.concatenate([p.survival for p in parts], axis=1),
            np.concatenate([p.complement for p in parts], axis=1),
            [np.concatenate([p.values[i] for p in parts], axis=1) for i in range(len(self.asked))],
        )

    def _part(self, w: Array, rows: slice) -> Brackets:
        logs = self.logs[rows]
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            v = np.exp(w[:, None, None] + logs)
            decay = np.exp(-v)
            values = []
            for power, f in self.asked:
                values.append(self._mean(power_times_decay(v, decay, power), f, rows))
            return Brackets(self._mean(decay, None, rows), self._mean(-np.expm1(-v), None, rows), values)

    def _mean(self, table: Array, f: Any, rows: slice) -> Any:
        if f is not None:
            table = table * f[rows]
        return table[..., 0] if self.weights.size == 1 else table @ self.weights


class ScoreTable:
    """The same where h depends on x and zeta through one score t = zeta + ratio x only.

    v^a exp(-v) is then a table over (w, t), and the mean over zeta a matrix of Gaussian weights.
    """

    def __init__(
        self, x: Array, t: Array, logs: Array, matrices: Sequence[Array], asked: Sequence[tuple[int, int]], ratio: float
    ) -> None:
        """``logs`` at the nodes t; a matrix (t, x) of weights for each factor, the first for the constant one."""
        self.x = x
        self.t = t
        self.ratio = abs(ratio)
        self.logs = logs
        self.matrices = list(matrices)
        self.asked = list(asked)
        self.lowest, self.highest = float(logs.min()), float(logs.max())

    def marks(self, spacing: float) -> Array:
        """Values of w at which tokens this far apart in x have v = 1; zeta blurs what is closer."""
        return marks_of(self.t, self.logs, max(self.ratio * spacing, 1 / 3))

    def __call__(self, w: Array) -> Brackets:
        """Tables of shape (w, x)."""
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            v = np.exp(w[:, None] + self.logs)
            decay = np.exp(-v)
            powers = {power: power_times_decay(v, decay, power) for power in {0, *(p for p, _ in self.asked)}}
            survival = decay @ self.matrices[0]
            complement = -np.expm1(-v) @ self.matrices[0]
        known: dict[tuple[int, int], Array] = {(0, 0): survival}
        for key in self.asked:
            if key not in known:
                known[key] = powers[key[0]] @ self.matrices[key[1]]
        return Brackets(survival, complement, [known[key] for key in self.asked])


def last_place(logs: Array, weights: Array, others: int) -> float:
    """The w beyond which that many tokens survive with probability exp(-300) at most, from rough nodes."""
    marks = np.unique(-logs)
    survival = np.exp(-np.exp(np.minimum(marks[:, None] + logs, FAR))) @ weights
    dead = marks[others * np.log(np.maximum(survival, 1e-300)) < -300]
    return float(dead[0]) if dead.size else float(marks[-1]) + 6


class PanelTable:
    """A steep h of x alone, beside which the first kernel is smooth: h on fine nodes, the first one on few.

    The first kernel is a polynomial on each of some panels in x. The mean of v^a exp(-v) f(x) times each Lagrange
    polynomial is a sum over the fine nodes of the panel, needed only where v passes from nothing to everything.
    """

    #: On a panel where the first kernel changes by two units of log v, its error is then 1e-15.
    COUNT = 32

    def __init__(
        self, x: Array, weights: Array, logs: Array, asked: Sequence[tuple[int, Any]], edges: Array, last: float
    ) -> None:
        """Fine nodes with their weights; ``edges`` are those of the panels, equal ones, and no rule straddles them.

        No w beyond ``last`` is of interest.
        """
        self.last = last
        base, base_weights = gauss_legendre(self.COUNT)
        self.inverse = np.linalg.inv(np.polynomial.legendre.legvander(2 * base - 1, self.COUNT - 1))
        self.fine, self.fine_weights, self.logs = x, weights, logs
        self.asked = list(asked)
        count, width = edges.size - 1, edges[1] - edges[0]
        starts = np.searchsorted(x, edges)
        self.slices = [slice(a, b) for a, b in zip(starts[:-1], starts[1:], strict=True)]
        self.x = (edges[:-1, None] + base * width).ravel()
        self.local = 2 * (x - np.repeat(edges[:-1], np.diff(starts))) / width - 1
        self.weights = np.tile(base_weights, count) * normal_weights(self.x, width)
        self.lowest, self.highest = float(logs.min()), float(logs.max())
        # a kernel this far below its middle adds nothing to the others while it is small
        self.faint = float(np.interp(0.0, x, logs)) + QUIET
        self.bases: dict[int, list[Array]] = {}

    def marks(self, spacing: float) -> Array:
        """Values of w at which tokens this far apart have v = 1."""
        return marks_of(self.fine, self.logs, spacing)

    def _basis(self, i: int) -> list[Array]:
        """Weights times Lagrange polynomials on the fine nodes of a panel, and these times each factor."""
        if i not in self.bases:
            here = self.slices[i]
            basis = np.polynomial.legendre.legvander(self.local[here], self.COUNT - 1) @ self.inverse
            basis *= self.fine_weights[here, None]
            factors = [basis if f is None else basis * np.asarray(f)[here, None] for _, f in self.asked]
            self.bases[i] = [basis, basis, *factors]
        return self.bases[i]

    def _basis_of(self, i: int, f: Any) -> Array:
        """Means of a factor times each Lagrange polynomial of a panel."""
        here = self.slices[i]
        mean: Array = np.asarray(f)[here] @ self._basis(i)[0]
        return mean

    def __call__(self, w: Array) -> Brackets:
        """Tables of shape (w, x), the weights of x among their factors."""
        # the power -1 stands for 1 - exp(-v)
        powers = [0, -1, *(power for power, _ in self.asked)]
        tables = [np.zeros((w.size, self.x.size)) for _ in powers]
        for i, here in enumerate(self.slices):
            columns = slice(self.COUNT * i, self.COUNT * (i + 1))
            logs = self.logs[here]
            low, high = min(logs[0], logs[-1]), max(logs[0], logs[-1])
            over, under = w + low > FAR, w + high < QUIET
            active = ~(over | under)
            tables[1][over, columns] = self.weights[columns]
            if under.any() and high < self.faint:
                for table, power, f in zip(tables, powers, [None, None, *(f for _, f in self.asked)], strict=True):
                    if power == 0:
                        table[under, columns] = self.weights[columns] if f is None else self._basis_of(i, f)
            elif under.any():
                top = np.exp(w[under] + high)[:, None]
                for table, power, basis in zip(tables, powers, self._basis(i), strict=True):
                    a = abs(power)
                    table[under, columns] = top**a * (np.exp(a * (logs - high)) @ basis)
            if active.any():
                v = np.exp(np.minimum(w[active, None] + logs, FAR))
                parts = {0: np.exp(-v), -1: -np.expm1(-v)}
                for power in range(1, 1 + max(powers)):
                    parts[power] = parts[power - 1] * v
                for table, power, basis in zip(tables, powers, self._basis(i), strict=True):
                    table[active, columns] = parts[power] @ basis
        return Brackets(tables[0], tables[1], tables[2:])


class TrivialTable:
    """The second weight is absent: factors alone."""

    lowest = highest = 0.0

    def __init__(self, factors: Sequence[Any], size: int) -> None:
        self.factors = [np.broadcast_to(1.0 if f is None else f, (1, size)) for f in factors]
        self.size = size

    def __call__(self, w: Array) -> Brackets:
        """No dependence on w."""
        return Brackets(np.ones((1, self.size)), np.zeros((1, self.size)), list(self.factors))


#: From log B, the brackets of all products and the nodes w to the integrands; nodes are along the last axis but one
#: of an integral over the largest x, else along the last.
Assemble = Callable[[Any, list[Any], Any], list[Any]]


Table = InnerTable | ScoreTable | PanelTable


def soft_integrals(
    slope: float, weights: Array, first_powers: Sequence[int], table: Table, assemble: Assemble, lengths: Sequence[int]
) -> list[tuple[Any, Any]]:
    """Double integrals over u and w; bracket i is E[v^b exp(-v)(u, x) times table i (w, x)].

    ``weights`` are those of x. Along u the trapezoid rule is spectral; along w the scale changes with the rate of
    the kernel, and panels follow it.
    """
    x = table.x
    few = table if isinstance(table, PanelTable) else None

    def brackets(u: Array, w: Array) -> list[Any]:
        v = np.exp(np.minimum(u[:, None] + slope * x, FAR))
        powers = {0: np.exp(-v) if few else np.exp(-v) * weights}
        for b in range(1, 1 + max(first_powers)):
            powers[b] = powers[b - 1] * v
        lost = -np.expm1(-v) @ weights
        inner = table(w)
        complement = lost[:, None] + powers[0] @ inner.complement.T
        survival = powers[0] @ inner.survival.T
        with np.errstate(divide="ignore", invalid="ignore"):
            log_b = np.where(
                complement < 0.5, np.log1p(-np.minimum(complement, 0.75)), np.log(np.maximum(survival, 0.0))
            )
        return assemble(log_b, [powers[b] @ g.T for b, g in zip(first_powers, inner.values, strict=True)], w)

    rate = max(slope, 1.0)
    margin = 50 + np.log(max(lengths))
    ends_u = -slope * x[-1] - margin, -slope * x[0] + 6
    ends_w = -table.highest - margin, few.last if few else -table.lowest + 6
    # At a given u the integrand lives where the tokens of that u have v of order one: marks in w must be as
    # close as a third of the spread of x that one u sees.
    places = edges_along(table.marks(1 / (3 * rate)), *ends_w, 1.0)
    u = even_grid(*ends_u, max(1.0, rate / 3))
    (low_u, high_u), (low_w, high_w) = _box(brackets, u, places)
    edges = edges_along(table.marks(1.5 / rate), low_w, high_w, 2.0)
    # beside a steep second kernel the sums over w are less smooth in u
    is_steep = table.highest - table.lowest > 4 * rate * float(x[-1] - x[0])
    step = (0.0625 if is_steep else 0.125) * 2.0 ** int(np.log2(rate))
    for _ in range(MAX_LEVEL):
        u = np.arange(2 * np.floor(low_u / step / 2), 2 * np.ceil(high_u / step / 2) + 1) * step
        integrals = legendre_panels(partial(_summed, brackets, u, x.size), edges, watched=1 / 3)
        results, is_rough = [], False
        third = len(integrals) // 3
        for (value, error), (half, _), (scale, _) in zip(
            integrals[:third], integrals[third:-third], integrals[-third:], strict=True
        ):
            gap = abs(2 * half - value)
            is_rough |= gap > SETTLED * scale
            results.append((value * step, (error + 10 * gap * gap / (scale + 1e-300) + 8 * EPS * scale) * step))
        if not is_rough:
            return results
        step /= 2
    raise NotConverged("token mean: the double Laplace integral does not settle")


def _summed(brackets: Callable[[Array, Array], list[Any]], u: Array, depth: int, w: Array) -> list[Any]:
    """At each w the sums over u of all integrands, then those over every second u, then those of absolute values."""
    rows = max(16, CHUNK // max(depth, u.size))
    parts = []
    for start in range(0, w.size, rows):
        found = brackets(u, w[start : start + rows])
        sums = [[v.sum(axis=0) for v in found], [v[::2].sum(axis=0) for v in found]]
        parts.append([*sums[0], *sums[1], *(np.abs(v).sum(axis=0) for v in found)])
    return [np.concatenate(values) for values in zip(*parts, strict=True)]


def _box(
    brackets: Callable[[Array, Array], list[Any]], u: Array, w: Array
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Where any integrand exceeds 1e-20 of its maximum, one coarse step wider."""
    alive = np.zeros((u.size, w.size), dtype=bool)
    for values in brackets(u, w):
        size = np.where(np.isfinite(values), np.abs(values), 0.0)
        alive |= size > 1e-20 * max(size.max(), 1e-300)
    if not alive.any():
        return (float(u[0]), float(u[-1])), (float(w[0]), float(w[-1]))
    rows, columns = np.flatnonzero(alive.any(axis=1)), np.flatnonzero(alive.any(axis=0))
    return (
        (float(u[max(rows[0] - 1, 0)]), float(u[min(rows[-1] + 1, u.size - 1)])),
        (float(w[max(columns[0] - 1, 0)]), float(w[min(columns[-1] + 1, w.size - 1)])),
    )


class Panels:
    """Gauss-Legendre panels on a line with running integrals from the left."""

    def __init__(self, edges: Array, count: int = 16) -> None:
        nodes, base = gauss_legendre(count)
        widths = np.diff(edges)
        self.count = count
        self.x = (edges[:-1, None] + widths[:, None] * nodes).ravel()
        self.weights = (widths[:, None] * base).ravel()
        self.widths = widths
        # integral of each Lagrange polynomial from 0 to each node, through Legendre expansions
        vandermonde = np.polynomial.legendre.legvander(2 * nodes - 1, count - 1)
        running = np.empty((count, count))
        for k in range(count):
            unit = np.zeros(count)
            unit[k] = 1.0
            antiderivative = np.polynomial.legendre.legint(unit, lbnd=-1) / 2
            running[:, k] = np.polynomial.legendre.legval(2 * nodes - 1, antiderivative)
        self.running = running @ np.linalg.inv(vandermonde)

    def cumulative(self, values: Array) -> Array:
        """Integral from the left end to every node, along the last axis."""
        panels = values.reshape(*values.shape[:-1], -1, self.count)
        inside = panels @ self.running.T * self.widths[:, None]
        totals = np.sum(panels * self.weights.reshape(-1, self.count), axis=-1)
        before = np.concatenate([np.zeros((*totals.shape[:-1], 1)), np.cumsum(totals, axis=-1)[..., :-1]], axis=-1)
        result: Array = (inside + before[..., None]).reshape(values.shape)
        return result


def hard_integrals(
    panels: Panels,
    table: InnerTable | ScoreTable | TrivialTable,
    is_winner: Sequence[bool],
    assemble: Assemble,
    longest: int,
) -> list[tuple[Any, Any]]:
    """Integrals over the largest x and over w; the winner's bracket is at x, the others' run below it.

    ``assemble`` gets log of the running survival and the brackets: the winner's as a density in x.
    """
    from scipy.special import log_ndtr, ndtr

    x = panels.x
    density = np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi)
    above = ndtr(-x)

    def integrand(w: Array) -> list[Any]:
        inner = table(w)
        complement = above + panels.cumulative(density * inner.complement)
        survival = panels.cumulative(density * inner.survival)
        with np.errstate(divide="ignore", invalid="ignore"):
            log_b = np.where(complement < 0.5, np.log1p(-np.minimum(complement, 0.75)), np.log(np.maximum(survival, 0)))
        if isinstance(table, TrivialTable):
            log_b = np.broadcast_to(log_ndtr(x), log_b.shape)
        brackets = [
            density * values if winner else panels.cumulative(density * values)
            for winner, values in zip(is_winner, inner.values, strict=True)
        ]
        return [values @ panels.weights for values in assemble(log_b, brackets, w[:, None])]

    if isinstance(table, TrivialTable):
        return [(v[0], 8 * EPS * abs(v[0])) for v in integrand(np.zeros(1))]
    ends = -table.highest - 50 - float(np.log(longest)), -table.lowest + 6
    rows = max(16, CHUNK // x.size)

    def in_chunks(w: Array) -> list[Any]:
        parts = [integrand(w[i : i + rows]) for i in range(0, w.size, rows)]
        return [np.concatenate(values) for values in zip(*parts, strict=True)]

    low, high = find_window(in_chunks, edges_along(table.marks(1 / 3), *ends, 1.0))
    try:
        return legendre_panels(in_chunks, edges_along(table.marks(1.0), low, high, 2.0))
    except NotConverged:
        raise NotConverged("token mean: the Laplace integral at the argmax does not settle") from None
