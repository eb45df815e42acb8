"""Minima over letters in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.backends.float64.points import each_point
from theorem_engine.errors import NotConverged
from theorem_engine.methods.search import find_minimum, scan_points
from theorem_engine.trace import note


def lower(minima: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """One letter: the zero of the symbolic slope. Several: local searches from the best scanned points."""
    (minimum,) = minima
    letters = minimum.letters
    value = backend.function([*letters, *parameters], [minimum.body])
    slopes = backend.function([*letters, *parameters], [minimum.body.diff(x) for x in letters])
    ends = backend.function(parameters, [end for pair in minimum.ranges for end in pair])

    def one(*values: float) -> list[float]:
        edges = [float(e) for e in ends(*values)]
        if len(letters) == 1:
            x = find_minimum(
                lambda u: float(value(u, *values)[0]), lambda u: float(slopes(u, *values)[0]), edges[0], edges[1]
            )
            where = [x]
        else:
            where = _several(value, slopes, values, edges)
        best = float(value(*where, *values)[0])
        slope = max(abs(float(s)) for s in slopes(*where, *values))
        note("minimum", 4e-16 * abs(best), f"slope {slope:.1e} at the minimiser")
        return [best, *where]

    return lambda *values: each_point(one, values)


def _several(value: Numeric, slopes: Numeric, values: tuple[float, ...], edges: list[float]) -> list[float]:
    from scipy.optimize import minimize

    axes = [scan_points(a, b)[::8] for a, b in zip(edges[::2], edges[1::2], strict=True)]
    grid = np.stack([g.ravel() for g in np.meshgrid(*axes, indexing="ij")], axis=-1)
    heights = np.array([float(value(*p, *values)[0]) for p in grid])
    order = np.argsort(np.where(np.isfinite(heights), heights, np.inf))[:5]
    bounds = list(zip(edges[::2], edges[1::2], strict=True))
    found = [
        minimize(
            lambda p: float(value(*p, *values)[0]), grid[i], method="L-BFGS-B", bounds=bounds,
            jac=lambda p: np.array([float(s) for s in slopes(*p, *values)]), options={"ftol": 0, "gtol": 1e-13},
        )
        for i in order
    ]  # fmt: skip
    best = min(found, key=lambda r: r.fun)
    if not np.isfinite(best.fun):
        raise NotConverged("minimum: no finite value was found on the given ranges")
    return [float(x) for x in best.x]
