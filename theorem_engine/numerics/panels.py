"""Panels of a line on which functions are polynomials to rounding: first placed by what is known, then by halving."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theorem_engine.base.errors import NotConverged
from theorem_engine.numerics.quadrature import EPS, gauss_legendre

Array = NDArray[np.float64]
#: The last coefficients of a Legendre series, relative to the function, whose square is rounding: Gauss's rule is
#: exact to twice the degree.
RESOLVED = 1e-9
#: Coefficients that halving does not reduce are noise if they are as small as this, and a jump otherwise.
NOISE = 1e-12
#: Panels narrower than this hold no mass, nor do those a few roundings wide: what jumps there is left.
TINY = 2.0**-57
#: Panels so narrow that what is left on them is judged by its weight.
NARROW = 1e-6
MAX_LEVEL = 70


def graded_edges(low: float, high: float, widest: float, places: Iterable[tuple[float, float]]) -> Array:
    """Ends of panels no wider than ``widest``, doubling in width away from each (place, scale).

    A place without a scale, a kink, is an end itself.
    """
    ends = {low, high}
    for place, scale in places:
        if not np.isfinite(place):
            continue
        ends.add(place)
        step = scale
        # a jump has the scale zero
        while 0 < step < high - low:
            ends |= {place - step, place + step}
            step *= 2
    inner = np.array(sorted(e for e in ends if low <= e <= high))
    # ends closer than rounding make panels without nodes
    keep = np.diff(inner, prepend=-np.inf) > 4 * EPS * np.maximum(np.abs(inner), 1e-300)
    inner = inner[keep]
    edges = [inner[:1]]
    for a, b in zip(inner[:-1], inner[1:], strict=True):
        edges.append(np.linspace(a, b, int(np.ceil((b - a) / widest)) + 1)[1:])
    return np.concatenate(edges)


@cache
def _tail(count: int) -> Array:
    """From values at the nodes of a panel to the last two coefficients of their Legendre series."""
    nodes, _ = gauss_legendre(count)
    return np.asarray(np.linalg.inv(np.polynomial.legendre.legvander(2 * nodes - 1, count - 1))[-2:].T, dtype=float)


@dataclass(frozen=True)
class Resolved:
    """Panels that resolve some functions, and what each function may be off by on each panel."""

    edges: Array
    slack: Array


def resolve(
    functions: Callable[[Array], Sequence[Any]], edges: Array, most: int, rises: int = 0, span: float = 1.0,
    count: int = 16, floor: float = -np.inf,
) -> Resolved:  # fmt: skip
    """Halve panels until every function is a polynomial there; the first ``rises`` change by ``span`` at most on each.

    Those first functions are logarithms, resolved absolutely; where they are below ``floor`` nobody looks. The others
    are resolved relative to their size on the panel.
    """
    base, _ = gauss_legendre(count)
    lows, highs = edges[:-1], edges[1:]
    known = np.full(lows.size, np.inf)
    top: Any = None
    done: list[tuple[Array, Array, Array]] = []
    held = 0
    for _ in range(MAX_LEVEL):
        nodes = lows[:, None] + (highs - lows)[:, None] * base
        found = [np.broadcast_to(np.asarray(f, dtype=float), (nodes.size,)) for f in functions(nodes.ravel())]
        values = np.stack(found).reshape(len(found), *nodes.shape)
        is_kernel = np.arange(len(found)) < rises
        with np.errstate(invalid="ignore"):
            rough = np.max(np.abs(values @ _tail(count)), axis=-1)
            sizes = np.max(np.abs(values), axis=-1)
        sizes[is_kernel] = 1.0
        if top is None:
            top = np.max(sizes, axis=1, keepdims=True)
        # a vanishing kernel is infinitely low; a change from there to somewhere lies between panels
        rough = np.where(np.isnan(rough), 0.0, rough)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(sizes > 0, rough / sizes, 0.0)
        bad = share > RESOLVED
        noise = bad & (share > 0.1 * known) & (rough <= NOISE * top)
        slack = np.where(noise, rough, np.minimum(rough, 10 * rough * share))
        # an argument near its zero is rounded relative to what it was subtracted from, on panels of hardly any mass
        light = bad & (highs - lows < NARROW) & (rough * (highs - lows) <= EPS * top)
        slack = np.where(light, rough, slack)
        fails = np.any(bad & ~noise & ~light, axis=0)
        for k in range(rises):
            with np.errstate(invalid="ignore"):
                change = values[k].max(axis=-1) - values[k].min(axis=-1)
            fails |= change > span
            fails &= values[k].max(axis=-1) > floor
        tiny = highs - lows <= np.maximum(TINY, 64 * EPS * np.abs(lows))
        slack = np.where(tiny, rough, slack)
        fails &= ~tiny
        done.append((lows[~fails], highs[~fails], slack[rises:, ~fails]))
        held += int(np.sum(~fails))
        if not fails.any():
            break
        if (held + 2 * int(fails.sum())) * count > most:
            raise NotConverged(f"quadrature: more than {most} nodes do not resolve the integrand")
        known = np.repeat(np.max(np.where(bad, share, 0.0), axis=0)[fails], 2)
        known = np.where(known > 0, known, np.inf)
        middle = (lows[fails] + highs[fails]) / 2
        lows, highs = (np.stack(pair, axis=1).ravel() for pair in ((lows[fails], middle), (middle, highs[fails])))
    else:
        raise NotConverged("quadrature: halving does not resolve the integrand")
    lows = np.concatenate([part[0] for part in done])
    order = np.argsort(lows)
    ends = np.append(lows[order], max(float(part[1].max(initial=-np.inf)) for part in done))
    return Resolved(ends, np.concatenate([part[2] for part in done], axis=1)[:, order])


def is_resolved(values: Sequence[Any], count: int, rises: int = 1) -> bool:
    """Whether values at the nodes of one panel are those of polynomials; the first ``rises`` absolutely."""
    for place, found in enumerate(values):
        here = np.broadcast_to(np.asarray(found, dtype=float), (count,))
        if not np.isfinite(here).all():
            continue
        size = 1.0 if place < rises else float(np.max(np.abs(here)))
        if float(np.max(np.abs(here @ _tail(count)))) > RESOLVED * size:
            return False
    return True


def are_resolved(values: Sequence[Array], count: int, rises: int = 1) -> Any:
    """The same for many panels, a row of nodes each."""
    good = np.ones(len(values[0]), dtype=bool)
    for place, found in enumerate(values):
        is_finite = np.isfinite(found).all(axis=1, keepdims=True)
        here = np.where(is_finite, found, 0.0)
        sizes = 1.0 if place < rises else np.max(np.abs(here), axis=1)
        good &= np.max(np.abs(here @ _tail(count)), axis=1) <= RESOLVED * sizes
    return good


def is_graded(low: float, high: float, places: Iterable[tuple[float, float]]) -> bool:
    """Whether a panel is no wider than a few scales of the places near it."""
    width = high - low
    return all(
        width <= 4 * scale or at < low - width or at > high + width for at, scale in places if np.isfinite(scale)
    )


def nodes_of(edges: Array, count: int = 16) -> tuple[Array, Array]:
    """Gauss-Legendre nodes and weights on panels."""
    base, base_weights = gauss_legendre(count)
    widths = np.diff(edges)
    return (edges[:-1, None] + widths[:, None] * base).ravel(), (widths[:, None] * base_weights).ravel()
