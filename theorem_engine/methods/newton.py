"""Self-consistent equations x = F(x) by Newton's method, many points at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
#: (unknowns of shape (k, n)) -> right-hand sides (k, n) and Jacobian (k, k, n)
System = Callable[[Array], tuple[Array, Array]]


def solve_group(
    system: System, start: Array, positive: Sequence[bool], tolerance: float = 1e-14, steps: int = 80
) -> tuple[Array, Array, int]:
    """Newton steps in (log) coordinates; an averaged step where Newton does not help.

    Returns the unknowns, the scaled residual at the returned point, and the number of steps. The
    caller decides whether the residual is good enough.
    """
    logarithmic = np.asarray(positive, dtype=bool)[:, None]
    x = np.where(logarithmic, np.maximum(start, 1e-300), start)
    value, jacobian = system(x)
    residual = _scaled(x, value)
    best = x.copy(), residual.copy()
    idle = 0
    for step in range(1, steps + 1):
        candidate = _newton_step(x, value, jacobian, logarithmic)
        new_value, new_jacobian = system(candidate)
        new_residual = _scaled(candidate, new_value)
        good = new_residual < 0.8 * residual
        # the averaged map keeps positive unknowns positive and is the classical safe step
        averaged = np.where(good, candidate, (x + value) / 2)
        averaged = np.where(np.isfinite(averaged) & (~logarithmic | (averaged > 0)), averaged, x)
        if np.all(good):
            x, value, jacobian, residual = candidate, new_value, new_jacobian, new_residual
        else:
            finished = residual <= tolerance
            x = np.where(finished, x, averaged)
            value, jacobian = system(x)
            residual = _scaled(x, value)
        better = residual < best[1]
        idle = 0 if np.any(better & (residual < 0.9 * best[1])) else idle + 1
        best = np.where(better, x, best[0]), np.where(better, residual, best[1])
        if np.all(best[1] <= tolerance) or (idle >= 4 and np.all(best[1] <= 1e-9)):
            return best[0], best[1], step
    return best[0], best[1], steps


def _scaled(x: Array, value: Array) -> Array:
    with np.errstate(all="ignore"):
        gaps = np.abs(x - value) / np.maximum(np.abs(x), np.maximum(np.abs(value), 1e-300))
    gaps = np.where(x == value, 0.0, gaps)
    return np.where(np.isfinite(gaps), gaps, np.inf).max(axis=0)


def _newton_step(x: Array, value: Array, jacobian: Array, logarithmic: Any) -> Array:
    size = x.shape[0]
    scale = np.where(logarithmic, x, 1.0)
    matrix = (np.eye(size)[:, :, None] - jacobian) * scale[None, :, :]
    with np.errstate(all="ignore"):
        try:
            move = np.linalg.solve(np.moveaxis(matrix, -1, 0), (value - x).T[..., None])[..., 0].T
        except np.linalg.LinAlgError:
            return x + np.nan
        moved = np.where(logarithmic, x * np.exp(np.clip(move, -3, 3)), x + move)
    result: Array = moved
    return result


def as_columns(values: Sequence[Any]) -> tuple[Array, tuple[int, ...]]:
    """Values of any common shape as rows of a (k, n) array, and that shape."""
    arrays = np.broadcast_arrays(*[np.asarray(v, dtype=float) for v in values])
    shape = arrays[0].shape
    return np.stack([a.reshape(-1) for a in arrays]), shape
