"""Laplace integrals over tokens that compete for two kinds of weight at once.

One weight has the kernel exp(slope x), or goes to the largest x altogether; the other has any kernel of
the same token. Brackets become matrices over the two integration variables, products of tables over x.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theorem_engine.errors import NotConverged
from theorem_engine.methods.laplace import Brackets, even_grid, find_window, power_times_decay
from theorem_engine.methods.quadrature import EPS, gauss_legendre

Array = NDArray[np.float64]
#: Entries of a three-way table held at once.
CHUNK = 2_000_000
#: A change by halving that leaves rounding only after the next one.
SETTLED = 3e-8
MAX_LEVEL = 6


class InnerTable:
    """E over zeta of v^a exp(-v) f(x, zeta), v = exp(w) h(x, zeta), at nodes x for every w."""

    def __init__(self, logs: Array, weights: Array, asked: Sequence[tuple[int, Any]], scale: float = 1.0) -> None:
        """``logs`` and factors have the shape (x, zeta); ``weights`` are those of zeta.

        ``scale`` is the smallest rate of log h: brackets are smooth in w on that scale.
        """
        self.scale = max(scale, 1.0)
        self.logs = logs
        self.weights = weights
        self.asked = [(power, None if f is None else np.broadcast_to(f, logs.shape)) for power, f in asked]
        finite = logs[np.isfinite(logs)]
        self.lowest, self.highest = float(finite.min()), float(finite.max())

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
        self, logs: Array, matrices: Sequence[Array], asked: Sequence[tuple[int, int]], scale: float = 1.0
    ) -> None:
        """``logs`` at the nodes t; a matrix (t, x) of weights for each factor, the first for the constant one."""
        self.scale = max(scale, 1.0)
        self.logs = logs
        self.matrices = list(matrices)
        self.asked = list(asked)
        self.lowest, self.highest = float(logs.min()), float(logs.max())

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


def soft_integrals(
    slope: float, x: Array, weights: Array, first_powers: Sequence[int], table: InnerTable | ScoreTable,
    assemble: Assemble, longest: int,
) -> list[tuple[Any, Any]]:  # fmt: skip
    """Double integrals over u and w; bracket i is E[v^b exp(-v)(u, x) times table i (w, x)]."""

    def brackets(u: Array, w: Array) -> list[Any]:
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            v = np.exp(u[:, None] + slope * x)
            decay = np.exp(-v)
            powers = {b: power_times_decay(v, decay, b) * weights for b in {0, *first_powers}}
            lost = -np.expm1(-v) @ weights
        inner = table(w)
        complement = lost[:, None] + powers[0] @ inner.complement.T
        survival = powers[0] @ inner.survival.T
        with np.errstate(divide="ignore"):
            log_b = np.where(complement < 0.5, np.log1p(-np.minimum(complement, 0.75)), np.log(survival))
        return assemble(log_b, [powers[b] @ g.T for b, g in zip(first_powers, inner.values, strict=True)], w)

    margin = 50 + np.log(longest)
    ends_u = -slope * x[-1] - margin, -slope * x[0] + 6
    ends_w = -table.highest - margin, -table.lowest + 6
    # Both variables see the same x, so the integrand is a ridge in (u, w) of width one across. Summed over a
    # fine w it is smooth in u on the scale of the slope, and only then may the step in u be that large.
    wide_u, wide_w = max(slope, 1.0), max(table.scale / max(slope, 1.0), 1.0)
    coarse_u, coarse_w = max(1.0, wide_u / 3), max(1.0, wide_w / 3)
    (low_u, high_u), (low_w, high_w) = _box(brackets, ends_u, ends_w, coarse_u, coarse_w)
    step_u, step_w = (0.25 * 2.0 ** int(np.log2(rate)) for rate in (wide_u, wide_w))
    for _ in range(MAX_LEVEL):
        u = np.arange(2 * np.floor(low_u / step_u / 2), 2 * np.ceil(high_u / step_u / 2) + 1) * step_u
        w = np.arange(2 * np.floor(low_w / step_w / 2), 2 * np.ceil(high_w / step_w / 2) + 1) * step_w
        results, rough_u, rough_w = [], False, False
        for values in brackets(u, w):
            area = step_u * step_w
            scale = np.sum(np.abs(values)) * area
            value = np.sum(values) * area
            gap_u = abs(2 * np.sum(values[::2]) * area - value)
            gap_w = abs(2 * np.sum(values[:, ::2]) * area - value)
            rough_u |= bool(gap_u > SETTLED * scale)
            rough_w |= bool(gap_w > SETTLED * scale)
            gap = max(gap_u, gap_w)
            results.append((value, 10 * gap * gap / (scale + 1e-300) + 8 * EPS * scale))
        if not rough_u and not rough_w:
            return results
        step_u, step_w = step_u / (1 + rough_u), step_w / (1 + rough_w)
    raise NotConverged("token mean: the double Laplace integral does not settle")


def _box(
    brackets: Callable[[Array, Array], list[Any]], ends_u: tuple[float, float], ends_w: tuple[float, float],
    step_u: float, step_w: float,
) -> tuple[tuple[float, float], tuple[float, float]]:  # fmt: skip
    """Where any integrand exceeds 1e-20 of its maximum, one coarse step wider."""
    u, w = even_grid(*ends_u, step_u), even_grid(*ends_w, step_w)
    alive = np.zeros((u.size, w.size), dtype=bool)
    for values in brackets(u, w):
        size = np.where(np.isfinite(values), np.abs(values), 0.0)
        alive |= size > 1e-20 * max(size.max(), 1e-300)
    if not alive.any():
        return ends_u, ends_w
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

    from theorem_engine.methods.quadrature import trapezoid_line

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
    low, high = find_window(integrand, even_grid(*ends, max(1.0, table.scale / 3)))
    try:
        return trapezoid_line(integrand, low, high, 0.5 * 2.0 ** int(np.log2(table.scale)))
    except NotConverged:
        raise NotConverged("token mean: the Laplace integral at the argmax does not settle") from None
