"""Vectorised quadrature with error estimates.

Integrands take an array of nodes with one trailing axis more than the points and return values of
that shape; several integrands over the same nodes come as a list, and those of one shape may come stacked in one
array. All results are (value, error).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theorem_engine.base.errors import NotConverged

Array = NDArray[np.float64]
Integrand = Callable[[Any], Sequence[Any]]
EPS = float(np.finfo(float).eps)
#: Relative to the integral of the absolute value: what float64 sums can be expected to reach.
TOLERANCE = 64 * EPS
MAX_LEVEL = 13
#: Panels of one integral that are looked at at once.
MOST_PANELS = 20_000
#: Values of one integrand, over all points, that are held at once where a rule has grown.
MOST_VALUES = 4_000_000


@cache
def gauss_legendre(count: int) -> tuple[Array, Array]:
    """Nodes and weights on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return (nodes + 1) / 2, weights / 2


@cache
def _paired_rule() -> tuple[Array, Array]:
    """Nodes of the 16- and 32-point rules together, and the weights of each as columns of one matrix."""
    (n16, w16), (n32, w32) = gauss_legendre(16), gauss_legendre(32)
    weights = np.zeros((48, 2))
    weights[:16, 0], weights[16:, 1] = w16, w32
    return np.concatenate([n16, n32]), weights


def legendre_interval(integrand: Integrand, low: Any, high: Any) -> list[tuple[Any, Any]]:
    """Integrals over [low, high] of functions analytic there: Gauss-Legendre, panels doubled until it settles.

    The error of the rule falls geometrically, so a difference of 1e-8 between 16 and 32 nodes means
    that the larger rule has arrived.
    """
    base, _ = _paired_rule()
    low = np.asarray(low, dtype=float)
    width = np.asarray(high, dtype=float) - low
    for level in range(MAX_LEVEL):
        panels = 2**level
        together = max(1, MOST_VALUES // (base.size * max(1, width.size)))
        parts = [
            _interval_sums(integrand, low, width, panels, first, min(first + together, panels))
            for first in range(0, panels, together)
        ]
        results, settled = [], True
        sums: Any
        sizes: Any
        for column in zip(*parts, strict=True):
            sums, sizes = column[0] if len(column) == 1 else map(sum, zip(*column, strict=True))
            if panels > 1:
                sums, sizes = sums / panels, sizes / panels
            fine = sums[..., 1]
            gap = np.abs(fine - sums[..., 0])
            settled = settled and bool((gap <= np.maximum(1e-8 * sizes, 1e-300)).all())
            results.append((width * fine, np.abs(width) * (_squared(gap, sizes) + 4 * EPS * sizes)))
        if settled:
            return results
    raise NotConverged(f"quadrature on an interval: {16 * 2**MAX_LEVEL} nodes do not settle the integral")


def _interval_sums(
    integrand: Integrand, low: Any, width: Any, panels: int, first: int, last: int
) -> list[tuple[Any, Any]]:
    """Sums of both rules, and of absolute values, over some of the panels that an interval is cut into."""
    base, weights = _paired_rule()
    nodes = base if panels == 1 else ((np.arange(first, last)[:, None] + base) / panels).ravel()
    found = []
    for values in integrand(low[..., None] + width[..., None] * nodes):
        table = values if np.shape(values)[-1:] == nodes.shape else np.multiply(values, np.ones(nodes.size))
        if np.isnan(table).any():
            raise NotConverged("quadrature on an interval: the integrand has no finite value in double precision")
        if panels > 1:
            table = table.reshape(*table.shape[:-1], last - first, base.size)
        sums, sizes = table @ weights, np.abs(table) @ weights[:, 1]
        found.append((sums.sum(-2), sizes.sum(-1)) if panels > 1 else (sums, sizes))
    return found


def _squared(gap: Any, scale: Any) -> Any:
    """Error left after a doubling that moved the result by ``gap``: convergence is at least quadratic."""
    return 10 * gap * (gap / (scale + 1e-300))


def window(size: Callable[[Any], Any], reach: float, step: float, threshold: float = 1e-20) -> tuple[Any, Any]:
    """Where a function on the line is not negligible: a coarse scan of [-reach, reach], per point."""
    grid = np.arange(-round(reach / step), round(reach / step) + 1) * step
    values = np.abs(np.asarray(size(grid)))
    values = np.where(np.isfinite(values), values, 0.0)
    top = values.max(axis=-1, keepdims=True)
    alive = values >= threshold * np.where(top > 0, top, 1)
    alive |= top == 0
    first = np.argmax(alive, axis=-1)
    last = alive.shape[-1] - 1 - np.argmax(alive[..., ::-1], axis=-1)
    return grid[np.maximum(first - 1, 0)], grid[np.minimum(last + 1, grid.size - 1)]


def trapezoid_line(
    integrand: Integrand, low: float, high: float, step: float = 0.25, in_one_call: bool = False,
    sure: float | None = None, size_of: Sequence[int] | None = None,
) -> list[tuple[Any, Any]]:  # fmt: skip
    """Integrals over the line of functions analytic in a strip and negligible outside [low, high].

    The trapezoid rule converges geometrically there; the step is halved until the sums settle, new
    nodes only. Nodes are integer multiples of a dyadic step, so that they carry no rounding.

    The first halving always takes place: ``in_one_call`` asks for the nodes before and after it together, which
    saves a call where calls are dear but holds twice as many values.

    A change of 1e-8 by halving leaves rounding after it if one scale rules the integrand. Where a small part of it may
    be sharper than the rest, ``sure`` is the step at which theory knows all of it to be summed; until then only changes
    of the size of rounding settle. ``size_of`` names for each row of stacked integrands the row whose absolute values
    its rounding is relative to.
    """
    first, last = np.floor(low / step), np.ceil(high / step)
    if in_one_call:
        both = _on(integrand, np.arange(2 * first, 2 * last + 1) * (step / 2))
        sums, new = [_sums(v[..., ::2]) for v in both], [_sums(v[..., 1::2]) for v in both]
    else:
        sums, new = [_sums(v) for v in _on(integrand, np.arange(first, last + 1) * step)], []
    points = max((np.size(total) for total, _ in sums), default=1)
    for _ in range(MAX_LEVEL):
        new = new or _sums_in_parts(integrand, (np.arange(first, last) + 0.5) * step, points)
        results, settled = [], True
        for (old_sum, old_size), (new_sum, new_size) in zip(sums, new, strict=True):
            value, scale = (old_sum + new_sum) * step / 2, (old_size + new_size) * step / 2
            if size_of is not None:
                scale = scale[list(size_of)]
            gap = np.abs(value - old_sum * step)
            is_sure = sure is None or step / 2 <= sure
            enough = 1e-8 if is_sure else TOLERANCE
            settled = settled and bool(np.all((gap <= enough * scale) | (scale < 1e-300)))
            left = _squared(gap, scale) if is_sure else gap
            results.append((value, left + 4 * EPS * scale))
        if settled:
            return results
        if not all(np.isfinite(value).all() for value, _ in results):
            # nodes stay, so that no halving makes a number of it
            raise NotConverged("Gaussian mean: the integrand is no number, or beyond double precision, at some nodes")
        sums, new = [(a + c, b + d) for (a, b), (c, d) in zip(sums, new, strict=True)], []
        step, first, last = step / 2, 2 * first, 2 * last
    raise NotConverged(
        "Gaussian mean: the trapezoid rule does not settle; the integrand has a jump or a kink (declare it in `breaks`)"
    )


@cache
def _legendre_tail() -> Array:
    """From values at the 16 nodes of a panel to the last two coefficients of their Legendre series."""
    nodes, _ = gauss_legendre(16)
    return np.asarray(np.linalg.inv(np.polynomial.legendre.legvander(2 * nodes - 1, 15))[14:].T, dtype=float)


def legendre_panels(
    integrand: Integrand, edges: Any, size_of: Sequence[int] | None = None,
    noise: Callable[[Array], Array] | None = None, tolerance: float = 4 * EPS,
) -> list[tuple[float, float]]:  # fmt: skip
    """Integrals over [edges[0], edges[-1]] of smooth functions of very uneven scale: panels halved where needed.

    The error of Gauss's rule on a panel is about the square of the last Legendre coefficients, relative to the
    integral over that panel. ``size_of`` names for each integrand the one whose absolute values its rounding is
    relative to, ``noise`` says by how much the integrand amplifies the rounding of a node.
    """
    base, weights = gauss_legendre(16)
    lows, highs = np.asarray(edges[:-1], dtype=float), np.asarray(edges[1:], dtype=float)
    totals: Any = None
    for _ in range(3 * MAX_LEVEL):
        widths = highs - lows
        nodes = lows[:, None] + widths[:, None] * base
        found: Any = integrand(nodes.ravel())
        if not isinstance(found, np.ndarray):
            found = np.stack([np.broadcast_to(v, (nodes.size,)) for v in found])
        values = found.reshape(-1, *nodes.shape)
        sums, sizes = (values @ weights) * widths, (np.abs(values) @ weights) * widths
        if size_of is not None:
            sizes = sizes[list(size_of)]
        rough = np.max(np.abs(values @ _legendre_tail()), axis=-1) * widths
        error = np.minimum(rough, 10 * rough**2 / (sizes + 1e-300))
        if totals is None:
            totals = np.zeros((4, len(values)))
            scale = sizes.sum(axis=1)[:, None] + 1e-300
        good = np.all(error <= tolerance * np.maximum(scale, totals[1, :, None]), axis=0)
        bad = ~good
        loud = sizes if noise is None else sizes + ((np.abs(values) * noise(nodes)) @ weights) * widths
        totals += np.stack([part[:, good].sum(axis=1) for part in (sums, sizes, error, loud)])
        if good.all():
            return [(float(value), float(left + 4 * EPS * size)) for value, _, left, size in totals.T]
        # nodes come to the integrand in rising order
        halves = np.stack([lows[bad], (lows[bad] + highs[bad]) / 2, highs[bad]])
        lows, highs = halves[:2].T.ravel(), halves[1:].T.ravel()
        # rounding noise never settles
        if lows.size > MOST_PANELS:
            break
    raise NotConverged("quadrature on panels: halving does not settle the integral")


def _on(integrand: Integrand, nodes: Any) -> list[Any]:
    return [np.broadcast_to(v, np.broadcast_shapes(np.shape(v), nodes.shape)) for v in integrand(nodes)]


def _sums_in_parts(integrand: Integrand, nodes: Any, points: int) -> list[tuple[Any, Any]]:
    """Sums over all nodes, as many of them at once as there is room for."""
    together = max(64, MOST_VALUES // max(1, points))
    parts = [
        [_sums(v) for v in _on(integrand, nodes[begin : begin + together])] for begin in range(0, nodes.size, together)
    ]
    if len(parts) == 1:
        return parts[0]
    return [(sum(part[0] for part in column), sum(part[1] for part in column)) for column in zip(*parts, strict=True)]


def _sums(values: Any) -> tuple[Any, Any]:
    return np.sum(values, axis=-1), np.sum(np.abs(values), axis=-1)
