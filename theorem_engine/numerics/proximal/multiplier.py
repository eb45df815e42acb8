"""Roots of an increasing equation between two ends, for many samples at once in NumPy, the same as in ``loops``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
STEPS = 100
#: A Newton step of this length, relative to the distance from the nearer end, leaves only its square.
LAST_STEP = 1e-8


def roots(low: Array, high: Array, equation: Callable[[Array, Any], tuple[Array, Array]]) -> Array:
    """Newton's method kept between the ends; ``equation`` takes multipliers and the samples they belong to."""
    here = np.arange(len(low))
    value, slope = equation(np.zeros(len(low)), here)
    m = np.minimum(np.maximum(-value / slope, 0.9 * low), 0.9 * high)
    below, above = low.copy(), high.copy()
    for _ in range(STEPS):
        x = m[here]
        value, slope = equation(x, here)
        below[here], above[here] = np.where(value < 0, x, below[here]), np.where(value < 0, above[here], x)
        new = x - value / slope
        inside = (new >= below[here]) & (new <= above[here])
        new = np.where(inside, new, (below[here] + above[here]) / 2)
        m[here] = new
        size = 1 + np.abs(new)
        room = np.minimum(np.minimum(x - low[here], high[here] - x), size)
        here = here[np.abs(new - x) > LAST_STEP * room + 1e-15 * np.minimum(high[here], size)]
        if not here.size:
            break
    return m


def ends(poles: list[Any], count: int) -> tuple[Array, Array]:
    """The poles next to zero on both sides, or infinity."""
    low, high = np.full(count, -np.inf), np.full(count, np.inf)
    for pole in poles:
        pole = np.broadcast_to(np.ravel(pole), (count,))
        low = np.where((pole < 0) & (pole > low), pole, low)
        high = np.where((pole > 0) & (pole < high), pole, high)
    return low, high
