"""Nodes for Laplace integrals over tokens: rules along a score, places along u, and the windows that count."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theorem_engine.base.errors import NotAvailable
from theorem_engine.numerics.quadrature import gauss_legendre

Array = NDArray[np.float64]
_NORM = float(1 / np.sqrt(2 * np.pi))


def refuse_too_many(count: float, most: int) -> None:
    """Scores so steep that the nodes they need would not fit; the limit is the argmax."""
    if not count <= most:
        needs = f"{count:.1e} nodes here (at most {most:.1e})"
        raise NotAvailable(f"a token mean would need {needs}: the scores are too steep")


def extent(logs: Array) -> tuple[float, float]:
    """The lowest and the highest of the logarithms of a kernel; where it vanishes, at minus infinity, it has none."""
    finite = logs[np.isfinite(logs)]
    if not finite.size:
        raise NotAvailable("a kernel vanishes at every score: there is no sum of kernels to divide by")
    return float(finite.min()), float(finite.max())


def normal_weights(x: Any, step: Any) -> Any:
    """Weights of the trapezoid rule for the standard normal law."""
    return _NORM * np.exp(-0.5 * x * x) * step


def graded_rule(left: float, right: float, breaks: Sequence[float], panel: float = 0.5) -> tuple[Array, Array]:
    """Gauss-Legendre nodes and weights on [left, right], panels shrinking towards each break by halves.

    A kernel that vanishes at its kink needs nodes at every scale there.
    """
    base, base_weights = gauss_legendre(16)
    marks = sorted({b for b in breaks if left < b < right})
    ends = [left, *marks, right]
    edges: list[float] = []
    for a, b in zip(ends[:-1], ends[1:], strict=True):
        edges += _graded(a, b, a in marks, b in marks, panel)
    lows, highs = np.array(edges[::2]), np.array(edges[1::2])
    nodes = (lows[:, None] + (highs - lows)[:, None] * base).ravel()
    weights = ((highs - lows)[:, None] * base_weights).ravel()
    order = np.argsort(nodes)
    return nodes[order], weights[order]


def graded_nodes(left: float, right: float, breaks: Sequence[float], panel: float = 0.5) -> tuple[Array, Array]:
    """The same with the weights of the standard normal law."""
    nodes, weights = graded_rule(left, right, breaks, panel)
    return nodes, weights * normal_weights(nodes, 1.0)


def panel_edges(left: float, right: float, widest: float) -> Array:
    """Ends of equal panels no wider than this."""
    return np.linspace(left, right, int(np.ceil((right - left) / widest)) + 1)


def nodes_along(
    kernel: Callable[[Array], Array], edges: Array, most: int, floor: float = -np.inf
) -> tuple[Array, Array]:
    """Gauss-Legendre nodes with normal weights, panels halved until log h changes by one at most over each.

    Where log h is below ``floor`` nobody looks, and panels stay as they are.

    For steep kernels that flatten somewhere: an even grid would be as fine everywhere as it must be where they rise.
    """
    base, base_weights = gauss_legendre(16)
    while True:
        refuse_too_many(16 * edges.size, most)
        logs = kernel(edges)
        steep = (np.abs(np.diff(logs)) > 1) & (np.maximum(logs[:-1], logs[1:]) > floor)
        if not steep.any():
            break
        edges = np.sort(np.concatenate([edges, (edges[:-1][steep] + edges[1:][steep]) / 2]))
    widths = np.diff(edges)
    nodes = (edges[:-1, None] + widths[:, None] * base).ravel()
    return nodes, (widths[:, None] * base_weights).ravel() * _NORM * np.exp(-0.5 * nodes * nodes)


def _graded(a: float, b: float, at_a: bool, at_b: bool, panel: float) -> list[float]:
    """Panel ends (low, high, low, high, ...) of one interval."""
    if at_a and at_b:
        middle = (a + b) / 2
        return [*_graded(a, middle, True, False, panel), *_graded(middle, b, False, True, panel)]
    edges: list[float] = []
    if at_a or at_b:
        width = min(b - a, 2 * panel)
        sizes = [width * 2.0**-k for k in range(61)]
        for big, small in zip(sizes[:-1], sizes[1:], strict=True):
            edges += [a + small, a + big] if at_a else [b - big, b - small]
        a, b = (a + width, b) if at_a else (a, b - width)
    count = int(np.ceil((b - a) / panel)) if b > a else 0
    for i in range(count):
        edges += [a + (b - a) * i / count, a + (b - a) * (i + 1) / count]
    return edges


def even_grid(low: float, high: float, step: float) -> Array:
    """Multiples of a step that cover an interval."""
    refuse_too_many((high - low) / step, 300_000)
    return np.asarray(np.arange(np.floor(low / step), np.ceil(high / step) + 1) * step, dtype=float)


def marks_of(positions: Array, logs: Array, spacing: float) -> Array:
    """-logs at positions about ``spacing`` apart and, where the kernel vanishes, at unit steps towards its zero."""
    is_finite = np.isfinite(logs)
    positions, logs = positions[is_finite], logs[is_finite]
    at = np.arange(positions[0], positions[-1] + spacing, spacing)
    marks = -np.interp(at, positions, logs)
    if not is_finite.all():
        marks = np.concatenate([marks, np.arange(-logs.max(), -logs.min())])
    return np.unique(marks)


def edges_along(marks: Array, low: float, high: float, gap: float) -> Array:
    """From low to high: the marks, at least ``gap`` apart, and steps of twice the gap where there are none below."""
    first = min((float(m) for m in marks if m > low), default=high)
    edges = [low, *np.arange(low + 2 * gap, min(first, high) - gap, 2 * gap)]
    for mark in marks:
        if mark - edges[-1] >= gap and high - mark >= gap:
            edges.append(float(mark))
    return np.array([*edges, high])


def find_window(integrand: Callable[[Array], list[Any]], grid: Array) -> tuple[float, float]:
    """Where any of the integrands exceeds 1e-22 of its own maximum, one coarse step wider."""
    alive = np.zeros(grid.size, dtype=bool)
    for values in integrand(grid):
        size = np.abs(np.broadcast_to(values, np.broadcast_shapes(np.shape(values), grid.shape)))
        size = np.where(np.isfinite(size), size, 0.0)
        top = size.max(axis=-1, keepdims=True)
        here = (size > 1e-22 * top).reshape(-1, grid.size)
        alive |= here.any(axis=0)
    if not alive.any():
        return float(grid[0]), float(grid[-1])
    first, last = int(np.argmax(alive)), int(grid.size - 1 - np.argmax(alive[::-1]))
    return float(grid[max(first - 1, 0)]), float(grid[min(last + 1, grid.size - 1)])
