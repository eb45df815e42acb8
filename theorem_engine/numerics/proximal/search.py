"""The lowest of several minima: descent from the centre, and from further starts unless it is certain."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
#: A minimum lower than the one reached from the centre by more than this is a jump.
JUMP = 1e-7
#: Relative length of the last Newton step, whose square is what is left; the coarse one only tells which minima are
#: worth a polish, and a search that comes as near to the first minimum as ``NEAR`` has found the same.
FINE, COARSE, NEAR = 1e-7, 1e-5, 0.02


class Descent(Protocol):
    """Newton's method from a start for some samples: points and heights, until near ``known`` where it is given."""

    def __call__(
        self, start: Array, rows: Any, tolerance: float, known: Array | None = None, near: float = 0.0
    ) -> tuple[Array, Array]:
        """Points (n, size) and heights (n,)."""


def lowest(
    descend: Descent,
    centre: Array,
    certain: Callable[[Array], Any],
    starts: Callable[[Any], Iterable[Array]] | None,
) -> tuple[Array, Array, Array]:
    """Points, heights, and marks that are one where the lowest minimum is not that of the centre.

    ``certain`` tells from the heights reached where no other minimum is lower; ``starts`` gives further starts.
    """
    points, first = descend(centre, slice(None), FINE)
    if starts is None:
        return points, first, np.zeros_like(first)
    heights = first.copy()
    rows = np.flatnonzero(~certain(first))
    if rows.size:
        known = points[rows].copy()
        for start in starts(rows):
            x, height = descend(start, rows, COARSE, known, NEAR)
            lower = height < heights[rows] - JUMP
            if lower.any():
                there = rows[lower]
                points[there], heights[there] = descend(x[lower], there, FINE)
    return points, heights, (heights < first - JUMP).astype(float)
