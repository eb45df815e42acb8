"""The error of a root: how far around it the sign of its function is not certain."""

from __future__ import annotations

from typing import Any

import numpy as np

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.backends.rounded.number import UNIT, Rounded, each_place, error_of, value_of
from theorem_engine.numerics.solvers.search import scan_points


def lower(roots: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend, plain: Numeric) -> Numeric:
    """The float64 root, between two places where the function is beyond its own noise."""
    (root,) = roots
    body = backend.function([root.letter, *parameters], [root.body])
    ends = backend.function(parameters, list(root.args[2:4]))

    def evaluate(*values: Any) -> list[Any]:
        (x,) = (float(r) for r in plain(*[value_of(v) for v in values]))

        def noisy(u: float) -> tuple[float, float]:
            found = body(Rounded(u), *values)[0]
            return float(value_of(found)), float(error_of(found))

        if np.isinf(x):
            low, high = (float(e) for e in ends(*values))
            return [Rounded(x, 0.0 if _has_one_sign(noisy, low, high) else np.inf)]
        return [Rounded(x, certain_bracket(noisy, x))]

    return lambda *values: each_place(evaluate, values)


def certain_bracket(noisy: Any, x: float, plain: Any = None, here: Any = None) -> float:
    """Half the width of an interval around x at whose ends a function has two signs beyond its noise.

    Noise over slope to begin with, then doubled: where the slope is small the curvature has to do it. ``plain`` is the
    function without its noise, which a slope does not need, and ``here`` what it is at x, where they are known.
    """
    value, noise = here or noisy(x)
    if not np.isfinite(noise):
        return np.inf
    width = 4 * UNIT * abs(x) + 1e-300
    far = max(1e-6 * abs(x), width)
    values = [plain(x + d) if plain else noisy(x + d)[0] for d in (far, -far)]
    slope = abs(values[0] - values[1]) / (2 * far)
    if slope > 0:
        width = max(width, 1.05 * (abs(value) + noise) / slope)
    for _ in range(80):
        left, right = noisy(x - width), noisy(x + width)
        if left[0] * right[0] < 0 and abs(left[0]) > left[1] and abs(right[0]) > right[1]:
            return width
        if not width < max(abs(x), 1e-290):
            break
        width *= 1.5
    return np.inf


def _has_one_sign(noisy: Any, low: float, high: float) -> bool:
    """Whether the function is beyond its noise, and on one side of zero, at all places that were looked at."""
    found = [noisy(float(p)) for p in scan_points(low, high, 33)]
    signs = {np.sign(v) for v, noise in found if abs(v) > noise}
    return len(signs) == 1 and all(abs(v) > noise for v, noise in found)
