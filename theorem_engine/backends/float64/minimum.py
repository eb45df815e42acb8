"""Minima over letters in double precision."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.backends.float64.each_point import each_point
from theorem_engine.base.errors import NotConverged
from theorem_engine.base.reports import note
from theorem_engine.language.operators.base import Operator
from theorem_engine.numerics.roughly import Graded, roughly
from theorem_engine.numerics.solvers.iteration import following
from theorem_engine.numerics.solvers.line_search import REMAINDER, lowest, valley
from theorem_engine.numerics.solvers.search import SCAN, find_minimum, find_valley, follow_down, scan_points

#: A curvature below this, relative to the value, is rounding.
FLAT = 1e-11


def lower(minima: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """One letter: the zero of the symbolic slope. Several: local searches from the best scanned points."""
    (minimum,) = minima
    letters = minimum.letters
    value = backend.function([*letters, *parameters], [minimum.body])
    derivatives = [minimum.body.diff(x) for x in letters] if minimum.slopes else []
    slopes = backend.function([*letters, *parameters], derivatives)
    ends = backend.function(parameters, [end for pair in minimum.ranges for end in pair])
    units = backend.function(parameters, [minimum.unit]) if minimum.unit is not None else None
    can_be_rough = any(operator.can_be_rough for operator in minimum.body.atoms(Operator))

    def one(*values: Any) -> list[float]:
        edges = [float(e) for e in ends(*values)]

        @cache
        def height(*place: float) -> float:
            return float(value(*map(np.float64, place), *values)[0])

        @cache
        def slope(*place: float) -> tuple[float, ...]:
            return tuple(float(s) for s in slopes(*map(np.float64, place), *values))

        if units is not None:
            if not can_be_rough:
                return _along_a_line(minimum, height, lambda p: slope(p)[0], edges, float(units(*values)[0]))

            @cache
            def rough_height(place: float) -> float:
                with roughly():
                    return float(value(np.float64(place), *values)[0])

            @cache
            def rough_slope(place: float) -> float:
                with roughly():
                    return float(slopes(np.float64(place), *values)[0])

            both = Graded(height, rough_height), Graded(lambda p: slope(p)[0], rough_slope)
            return _along_a_line(minimum, *both, edges, float(units(*values)[0]))
        if not minimum.slopes:
            with following():
                where = follow_down(height, edges, minimum.scan or 9)
            note("minimum", None, "by values alone")
            return [height(*where), *where, 1.0]
        is_told, below = True, 0.0
        if len(letters) == 1:
            count = minimum.scan or SCAN
            if minimum.single_valley:
                where = [find_valley(height, lambda u: slope(u)[0], edges[0], edges[1], count)]
            else:
                where = [find_minimum(height, lambda u: slope(u)[0], edges[0], edges[1], count)]
        else:
            where, is_told, below = _several(height, slope, edges, minimum.scan or 17)
        best = height(*where)
        steepest = max(abs(s) for s in slope(*where))
        # how far the bottom may lie below where it is not told from noise; else the error follows from the slopes
        left = None if is_told else [4e-16 * abs(best) + below, *(np.inf for _ in where), 0.0]
        note("minimum", left, f"slope {steepest:.1e} at the minimiser")
        return [best, *where, float(is_told)]

    return lambda *values: each_point(one, values)


def _along_a_line(minimum: Any, height: Any, slope: Any, edges: list[float], unit: float) -> list[float]:
    """One letter whose range has no ends of its own."""
    if minimum.single_valley:
        found = valley(height, slope, edges[1], unit)
    else:
        found = lowest(height, slope if minimum.slopes else None, edges[0], edges[1], unit, minimum.scan or 4)
    best = height(found.place)
    manner = "at the minimiser" if found.is_attained else "on the way to a limit"
    errors = [4e-16 * abs(best) + found.below, 4e-16 * abs(found.place) + found.within, 0.0]
    note("minimum", errors, f"value {best:.3g} {manner}")
    return [best, found.place, float(found.is_attained)]


def _several(
    height: Callable[..., float], slope: Callable[..., tuple[float, ...]], edges: list[float], count: int
) -> tuple[list[float], bool, float]:
    """Local searches from the best scanned points, on the logarithm where the values are positive.

    A minimum of 1e-20 is as deep as one of 1 only on that scale; letters of positive ranges are followed by their
    logarithms too. Also whether the minimiser is told from its surroundings: where a whole unit along some direction
    changes the value by less than rounding, it is not. Last, how much lower the minimum may be where the function
    has no value beside it.
    """
    from scipy.optimize import minimize

    axes = [scan_points(a, b, count) for a, b in zip(edges[::2], edges[1::2], strict=True)]
    grid = np.stack([g.ravel() for g in np.meshgrid(*axes, indexing="ij")], axis=-1)
    heights = np.array([height(*(float(x) for x in p)) for p in grid])
    heights = np.where(np.isfinite(heights), heights, np.inf)
    if not np.any(np.isfinite(heights)):
        raise NotConverged("minimum: no finite value was found on the given ranges")
    is_positive = bool(np.all(heights > 0))
    is_log = np.array([low > 0 for low in edges[::2]])

    def place(u: Any) -> tuple[float, ...]:
        return tuple(float(x) for x in np.where(is_log, np.exp(np.where(is_log, u, 0.0)), u))

    def objective(u: Any) -> tuple[float, Any]:
        where = place(u)
        value, gradient = height(*where), np.array(slope(*where)) * np.where(is_log, where, 1.0)
        if not is_positive:
            return value, gradient
        if not value > 0:
            return np.inf, np.zeros_like(gradient)
        return float(np.log(value)), gradient / value

    def coordinates(p: Any) -> Any:
        return np.where(is_log, np.log(np.where(is_log, p, 1.0)), p)

    bounds = list(zip(coordinates(edges[::2]), coordinates(edges[1::2]), strict=True))
    options = {"ftol": 0, "gtol": 1e-12}
    found = [
        minimize(objective, coordinates(grid[i]), method="L-BFGS-B", bounds=bounds, jac=True, options=options)
        for i in np.argsort(heights)[:4]
    ]
    best = min(found, key=lambda r: float(r.fun))
    polished, weakest, way = _polished(lambda u: objective(u)[1], best.x, bounds)
    scale = 1.0 if is_positive else abs(height(*place(best.x)))
    where = polished if objective(polished)[0] <= objective(best.x)[0] + 1e-15 * scale else best.x
    if weakest > FLAT * scale:
        return list(place(where)), True, 0.0
    level = height(*place(where))
    # beside places without a value there is no curvature: what the search gained on the scan is all that is known
    others = [height(*place(where + s * way)) for s in (1, -1)] if way.any() else [float(np.min(heights))]
    return (
        list(place(where)),
        False,
        REMAINDER * max((abs(h - level) for h in others if np.isfinite(h)), default=np.inf),
    )


def _polished(gradient: Callable[[Any], Any], start: Any, bounds: list[Any]) -> tuple[Any, float, Any]:
    """Newton's steps to where the gradient vanishes, which tells a minimiser better than values.

    Also the least curvature and its direction.
    """
    here, weakest, way = np.array(start, dtype=float), np.inf, np.zeros(np.size(start))
    for _ in range(4):
        now = gradient(here)
        step = 1e-4
        columns = [(gradient(here + step * e) - gradient(here - step * e)) / (2 * step) for e in np.eye(here.size)]
        if not np.all(np.isfinite(columns)):
            return here, 0.0, way
        strengths, directions = np.linalg.eigh((np.array(columns) + np.array(columns).T) / 2)
        weakest, way = float(strengths[0]), directions[:, 0]
        if not weakest > 0:
            return here, 0.0, way
        move = -directions @ ((directions.T @ now) / strengths)
        if np.max(np.abs(move)) > 0.5 or any(not a < x < b for x, (a, b) in zip(here + move, bounds, strict=True)):
            return here, weakest, way
        here = here + move
    return here, weakest, way
