"""Self-consistent equations x = F(x) by Newton's method, many points at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Places = NDArray[np.intp]
#: (unknowns of shape (k, m), which of the n points these m are) -> right-hand sides (k, m) and Jacobian (k, k, m)
System = Callable[[Array, Places], tuple[Array, Array]]

#: Below this residual a step that does not help means that rounding has been reached.
FLOOR = 1e-11


def solve_group(
    system: System, start: Array, positive: Sequence[bool], tolerance: float = 4e-15, steps: int = 80
) -> tuple[Array, Array, int]:
    """Newton steps in (log) coordinates; an averaged step where Newton does not help.

    Points that have arrived leave the computation. Returns the unknowns, the scaled residual at the
    returned point, and the number of steps. The caller decides whether the residual is good enough.
    """
    logarithmic = np.asarray(positive, dtype=bool)[:, None]
    best = np.where(logarithmic, np.maximum(start, 1e-300), start)
    here = np.arange(start.shape[1])
    x = best.copy()
    value, jacobian = system(x, here)
    residual = _scaled(x, value)
    smallest = residual.copy()
    idle = np.zeros(here.size, dtype=int)
    step = 0
    while here.size and step < steps:
        step += 1
        candidate = _newton_step(x, value, jacobian, logarithmic)
        new_value, new_jacobian = system(candidate, here)
        new_residual = _scaled(candidate, new_value)
        bad = ~((new_residual < 0.8 * residual) | (new_residual <= tolerance)) & (residual > FLOOR)
        if bad.any():
            # the averaged map keeps positive unknowns positive and is the classical safe step
            averaged = (x[:, bad] + value[:, bad]) / 2
            usable = np.isfinite(averaged) & (~logarithmic | (averaged > 0))
            averaged = np.where(usable, averaged, x[:, bad])
            candidate[:, bad] = averaged
            new_value[:, bad], new_jacobian[:, :, bad] = system(averaged, here[bad])
            new_residual[bad] = _scaled(averaged, new_value[:, bad])
        better = new_residual < smallest[here]
        idle = np.where(better & (new_residual < 0.9 * smallest[here]), 0, idle + 1)
        best[:, here[better]] = candidate[:, better]
        smallest[here[better]] = new_residual[better]
        known = smallest[here]
        done = (known <= tolerance) | ((known <= FLOOR) & (idle >= 1)) | ((known <= 1e-9) & (idle >= 4))
        if done.any():
            left = ~done
            here, idle = here[left], idle[left]
            candidate, new_value, new_jacobian = candidate[:, left], new_value[:, left], new_jacobian[:, :, left]
            new_residual = new_residual[left]
        x, value, jacobian, residual = candidate, new_value, new_jacobian, new_residual
    return best, smallest, step


def _scaled(x: Array, value: Array) -> Array:
    size = np.maximum(np.maximum(np.abs(x), np.abs(value)), 1e-300)
    gaps = np.max(np.abs(x - value) / size, axis=0)
    result: Array = np.where(np.isfinite(gaps), gaps, np.inf)
    return result


def _newton_step(x: Array, value: Array, jacobian: Array, logarithmic: Any) -> Array:
    size = x.shape[0]
    scale = np.where(logarithmic, x, 1.0)
    matrix = (np.eye(size)[:, :, None] - jacobian) * scale[None, :, :]
    try:
        move = np.linalg.solve(np.moveaxis(matrix, -1, 0), (value - x).T[..., None])[..., 0].T
    except np.linalg.LinAlgError:
        return x + np.nan
    result: Array = np.where(logarithmic, x * np.exp(np.clip(move, -3, 3)), x + move)
    return result


def as_columns(values: Sequence[Any]) -> tuple[Array, tuple[int, ...]]:
    """Values of any common shape as rows of a (k, n) array, and that shape."""
    arrays = np.broadcast_arrays(*[np.asarray(v, dtype=float) for v in values])
    shape = arrays[0].shape
    return np.stack([a.reshape(-1) for a in arrays]), shape
