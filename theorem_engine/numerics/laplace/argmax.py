"""Laplace integrals over tokens of which the one with the largest x takes the first weight altogether.

The second weight, if there is one, has any kernel of the same token: the integrals run over the largest x and over
the variable w of that kernel, and all brackets of the other tokens are running integrals over x below it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theorem_engine.base.errors import NotConverged
from theorem_engine.numerics.laplace.double_sums import Assemble
from theorem_engine.numerics.laplace.nodes import edges_along, extent, find_window, marks_of
from theorem_engine.numerics.laplace.sums import Brackets, power_times_decay
from theorem_engine.numerics.quadrature import EPS, gauss_legendre, legendre_panels

Array = NDArray[np.float64]
#: Entries of a three-way table held at once.
CHUNK = 2_000_000


class InnerTable:
    """E over zeta of v^a exp(-v) f(x, zeta), v = exp(w) h(x, zeta), at nodes x for every w."""

    def __init__(self, x: Array, logs: Array, weights: Array, asked: Sequence[tuple[int, Any]]) -> None:
        """``logs`` and factors have the shape (x, zeta); ``weights`` are those of zeta."""
        self.x = x
        self.logs = logs
        self.weights = weights
        self.asked = [(power, None if f is None else np.broadcast_to(f, logs.shape)) for power, f in asked]
        self.lowest, self.highest = extent(logs)

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


class TrivialTable:
    """The second weight is absent: factors alone."""

    lowest = highest = 0.0

    def __init__(self, factors: Sequence[Any], size: int) -> None:
        self.factors = [np.broadcast_to(1.0 if f is None else f, (1, size)) for f in factors]
        self.size = size

    def __call__(self, w: Array) -> Brackets:
        """No dependence on w."""
        return Brackets(np.ones((1, self.size)), np.zeros((1, self.size)), list(self.factors))


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
        found = assemble(log_b, brackets, w[:, None])
        if isinstance(table, TrivialTable):
            found = [*found, *(np.abs(values) for values in found)]
        return [values @ panels.weights for values in found]

    if isinstance(table, TrivialTable):
        sums = integrand(np.zeros(1))
        half = len(sums) // 2
        return [(v[0], 8 * EPS * size[0]) for v, size in zip(sums[:half], sums[half:], strict=True)]
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
