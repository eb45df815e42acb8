"""Minima over letters in double precision."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.backends.float64.points import each_point
from theorem_engine.errors import NotConverged
from theorem_engine.methods.iteration import following
from theorem_engine.methods.line_search import lowest, valley
from theorem_engine.methods.search import SCAN, find_minimum, find_valley, follow_down, scan_points
from theorem_engine.trace import note


def lower(minima: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """One letter: the zero of the symbolic slope. Several: local searches from the best scanned points."""
    (minimum,) = minima
    letters = minimum.letters
    value = backend.function([*letters, *parameters], [minimum.body])
    derivatives = [minimum.body.diff(x) for x in letters] if minimum.slopes else []
    slopes = backend.function([*letters, *parameters], derivatives)
    ends = backend.function(parameters, [end for pair in minimum.ranges for end in pair])
    units = backend.function(parameters, [minimum.unit]) if minimum.unit is not None else None

    def one(*values: Any) -> list[float]:
        edges = [float(e) for e in ends(*values)]

        @cache
        def height(*place: float) -> float:
            return float(value(*map(np.float64, place), *values)[0])

        @cache
        def slope(*place: float) -> tuple[float, ...]:
            return tuple(float(s) for s in slopes(*map(np.float64, place), *values))

        if units is not None:
            return _along_a_line(minimum, height, slope, edges, float(units(*values)[0]))
        if not minimum.slopes:
            with following():
                where = follow_down(height, edges, minimum.scan or 9)
            note("minimum", None, "by values alone")
            return [height(*where), *where, 1.0]
        if len(letters) == 1:
            count = minimum.scan or SCAN
            if minimum.single_valley:
                where = [find_valley(height, lambda u: slope(u)[0], edges[0], edges[1], count)]
            else:
                where = [find_minimum(height, lambda u: slope(u)[0], edges[0], edges[1], count)]
        else:
            where = _several(height, slope, edges, minimum.scan or 17)
        best = height(*where)
        steepest = max(abs(s) for s in slope(*where))
        note("minimum", None, f"slope {steepest:.1e} at the minimiser")
        return [best, *where, 1.0]

    return lambda *values: each_point(one, values)


def _along_a_line(minimum: Any, height: Any, slope: Any, edges: list[float], unit: float) -> list[float]:
    """One letter whose range has no ends of its own."""

    def rate(place: float) -> float:
        return float(slope(place)[0])

    if minimum.single_valley:
        found = valley(height, rate, edges[1], unit)
    else:
        found = lowest(height, rate if minimum.slopes else None, *edges, unit, minimum.scan or 4)
    best = height(found.place)
    manner = "at the minimiser" if found.is_attained else "on the way to a limit"
    errors = [4e-16 * abs(best) + found.below, 4e-16 * abs(found.place) + found.within, 0.0]
    note("minimum", errors, f"value {best:.3g} {manner}")
    return [best, found.place, float(found.is_attained)]


def _several(
    height: Callable[..., float], slope: Callable[..., tuple[float, ...]], edges: list[float], count: int
) -> list[float]:
    """Local searches from the best scanned points, on the logarithm where the values are positive.

    A minimum of 1e-20 is as deep as one of 1 only on that scale.
    """
    from scipy.optimize import minimize

    axes = [scan_points(a, b, count) for a, b in zip(edges[::2], edges[1::2], strict=True)]
    grid = np.stack([g.ravel() for g in np.meshgrid(*axes, indexing="ij")], axis=-1)
    heights = np.array([height(*(float(x) for x in p)) for p in grid])
    heights = np.where(np.isfinite(heights), heights, np.inf)
    if not np.any(np.isfinite(heights)):
        raise NotConverged("minimum: no finite value was found on the given ranges")
    is_positive = bool(np.all(heights > 0))

    def objective(p: Any) -> tuple[float, Any]:
        place = tuple(float(x) for x in p)
        value, gradient = height(*place), np.array(slope(*place))
        if not is_positive:
            return value, gradient
        if not value > 0:
            return np.inf, np.zeros_like(gradient)
        return float(np.log(value)), gradient / value

    bounds = list(zip(edges[::2], edges[1::2], strict=True))
    found = [
        minimize(objective, grid[i], method="L-BFGS-B", bounds=bounds, jac=True, options={"ftol": 0, "gtol": 1e-12})
        for i in np.argsort(heights)[:3]
    ]
    best = min(found, key=lambda r: float(r.fun))
    return [float(x) for x in best.x]
