"""Decisions at every place of arrays: one by one, and by elimination for matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


def each_place(decide: Callable[..., bool], values: Sequence[Any]) -> Any:
    """A decision about single numbers at each place of broadcast arrays."""
    import numpy as np

    places = np.broadcast_arrays(*values)
    found = [decide(*(p[at] for p in places)) for at in np.ndindex(places[0].shape)]
    return np.array(found, dtype=bool).reshape(places[0].shape)


def has_positive_pivots(entries: Sequence[Any], size: int, shift: float) -> Any:
    """Where symmetric matrices, given by their entries row by row and shifted, are eliminated with positive pivots.

    Where they are, no eigenvalue is below minus the shift, up to rounding; elsewhere nothing is said.
    """
    import numpy as np

    rows = [[np.asarray(v, dtype=float) for v in entries[i * size : (i + 1) * size]] for i in range(size)]
    positive: Any = np.asarray(True)
    with np.errstate(all="ignore"):
        for k in range(size):
            pivot = rows[k][k] + shift
            positive = positive & (pivot > 0) & (pivot < np.inf)
            for i in range(k + 1, size):
                if not rows[k][i].ndim and rows[k][i] == 0:
                    continue
                ratio = rows[k][i] / pivot
                for j in range(i, size):
                    if rows[k][j].ndim or rows[k][j] != 0:
                        rows[i][j] = rows[i][j] - ratio * rows[k][j]
    return positive


def lowest_eigenvalue(entries: Sequence[Any], size: int, slack: float) -> float | None:
    """None if a matrix, given by its entries row by row, is positive semidefinite up to a part of its size.

    Else its lowest eigenvalue, which is infinite where an entry is.
    """
    import numpy as np

    matrix = np.array(entries, dtype=float).reshape(size, size)
    if not np.all(np.isfinite(matrix)):
        return -np.inf
    eigenvalues = np.linalg.eigvalsh(matrix)
    lowest = float(eigenvalues[0])
    return None if lowest >= -slack * max(1.0, float(eigenvalues[-1])) else lowest
