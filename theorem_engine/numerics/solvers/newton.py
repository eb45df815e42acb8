"""Self-consistent equations x = F(x) by Newton's method, at one point or at many at once.

Newton steps are taken in the logarithm of positive unknowns. A step may raise the residual: far from the solution
it often does on the way. Only when several steps in a row have not led below the smallest residual seen does the
averaged map (x + F(x))/2 take over, the classical safe step, which keeps positive unknowns positive.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Places = NDArray[np.intp]
#: (unknowns of shape (k, m), which of the n points these m are) -> right-hand sides (k, m) and Jacobian (k, k, m)
System = Callable[[Array, Places], tuple[Array, Array]]
#: unknowns -> right-hand sides, then the Jacobian row by row
PointSystem = Callable[[list[float]], Sequence[float]]

#: The residual aimed at, relative to the unknowns.
TOLERANCE = 4e-15
#: Below this residual a step that does not help means that rounding has been reached.
FLOOR = 1e-11
#: Below this one, several steps that do not help mean the same.
HIGH_FLOOR, HIGH_PATIENCE = 1e-9, 4
#: Newton steps without progress before the averaged map is tried.
PATIENCE = 8
STEPS = 80
#: Steps that leave at most this share are Newton's own: the next leaves that share's square of what there is, within
#: this factor.
QUICK, CAUTION = 1e-3, 10.0
#: Largest step in a logarithm.
REACH = 3.0


def solve_group(system: System, start: Array, positive: Sequence[bool]) -> tuple[Array, Array, int]:
    """The unknowns at many points, the scaled residual at each, and the number of steps.

    Points that have arrived leave the computation. The caller decides whether the residual is good enough.
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
    while here.size and step < STEPS:
        step += 1
        candidate = _newton_step(x, value, jacobian, logarithmic)
        new_value, new_jacobian = system(candidate, here)
        new_residual = _scaled(candidate, new_value)
        bad = (idle >= PATIENCE) & ~(new_residual < 0.8 * residual) & (residual > FLOOR) | ~np.isfinite(new_residual)
        if bad.any():
            averaged = (x[:, bad] + value[:, bad]) / 2
            usable = np.isfinite(averaged) & (~logarithmic | (averaged > 0))
            averaged = np.where(usable, averaged, x[:, bad])
            candidate[:, bad] = averaged
            new_value[:, bad], new_jacobian[:, :, bad] = system(averaged, here[bad])
            new_residual[bad] = _scaled(averaged, new_value[:, bad])
        better = new_residual < smallest[here]
        idle = np.where(new_residual < 0.9 * smallest[here], 0, idle + 1)
        best[:, here[better]] = candidate[:, better]
        smallest[here[better]] = new_residual[better]
        known = smallest[here]
        done = (
            (known <= TOLERANCE) | ((known <= FLOOR) & (idle >= 1)) | ((known <= HIGH_FLOOR) & (idle >= HIGH_PATIENCE))
        )
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
    result: Array = np.where(logarithmic, x * np.exp(np.clip(move, -REACH, REACH)), x + move)
    return result


def solve_point(
    system: PointSystem, start: Sequence[float], positive: Sequence[bool]
) -> tuple[list[float], float, int]:
    """As ``solve_group`` for a single point, on plain floats: arrays of one column cost several times more."""
    x = [max(v, 1e-300) if is_log else v for v, is_log in zip(start, positive, strict=True)]
    flat = system(x)
    residual = smallest = scaled_gap(x, flat)
    best, idle, step = x, 0, 0
    while step < STEPS:
        step += 1
        candidate = newton_step(x, flat, positive)
        new = system(candidate) if candidate else flat
        new_residual = scaled_gap(candidate, new) if candidate else math.inf
        stuck = idle >= PATIENCE and not new_residual < 0.8 * residual and residual > FLOOR
        if stuck or new_residual == math.inf:
            averaged = [(v + f) / 2 for v, f in zip(x, flat, strict=False)]
            candidate = [
                a if math.isfinite(a) and (a > 0 or not is_log) else v
                for a, v, is_log in zip(averaged, x, positive, strict=True)
            ]
            new = system(candidate)
            new_residual = scaled_gap(candidate, new)
        idle = 0 if new_residual < 0.9 * smallest else idle + 1
        share = new_residual / residual if residual else 1.0
        if new_residual < smallest:
            best, smallest = candidate, new_residual
        x, flat, residual = candidate, new, new_residual
        expected = CAUTION * residual * share**2
        if not stuck and share <= QUICK and best is x and smallest > TOLERANCE and expected <= TOLERANCE / 10:
            # the next step arrives: what it leaves need not be looked at
            candidate = newton_step(x, flat, positive)
            if candidate:
                return candidate, expected, step + 1
        if (
            smallest <= TOLERANCE
            or (smallest <= FLOOR and idle >= 1)
            or (smallest <= HIGH_FLOOR and idle >= HIGH_PATIENCE)
        ):
            break
    return best, smallest, step


def scaled_gap(x: Sequence[float], flat: Sequence[float]) -> float:
    """The scaled residual; infinite where there is none."""
    worst = 0.0
    for v, f in zip(x, flat, strict=False):
        gap = abs(v - f) / max(abs(v), abs(f), 1e-300)
        if not gap < math.inf:
            return math.inf
        worst = max(worst, gap)
    return worst


def newton_step(x: Sequence[float], flat: Sequence[float], positive: Sequence[bool]) -> list[float]:
    """The next point, by elimination with row pivots; nothing where the matrix is singular."""
    size = len(x)
    rows = []
    for i in range(size):
        slopes = flat[size * (i + 1) : size * (i + 2)]
        row = [((i == k) - slopes[k]) * (x[k] if positive[k] else 1.0) for k in range(size)]
        rows.append([*row, flat[i] - x[i]])
    for k in range(size):
        for i in range(k + 1, size):
            if abs(rows[i][k]) > abs(rows[k][k]):
                rows[k], rows[i] = rows[i], rows[k]
        head = rows[k][k]
        if not 0 < abs(head) < math.inf:
            return []
        for i in range(k + 1, size):
            factor = rows[i][k] / head
            if factor:
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
    move = [0.0] * size
    for k in reversed(range(size)):
        row = rows[k]
        move[k] = (row[size] - sum(row[i] * move[i] for i in range(k + 1, size))) / row[k]
    if not all(map(math.isfinite, move)):
        return []
    return [
        v * math.exp(max(-REACH, min(REACH, d))) if is_log else v + d
        for v, d, is_log in zip(x, move, positive, strict=True)
    ]


def shaped(rows: Array, shape: tuple[int, ...]) -> list[Any]:
    """Rows as numbers, or as arrays of the shape that the values had."""
    return [float(row[0]) for row in rows] if shape == () else [row.reshape(shape) for row in rows]


def as_columns(values: Sequence[Any]) -> tuple[Array, tuple[int, ...]]:
    """Values of any common shape as rows of a (k, n) array, and that shape."""
    if not values:
        return np.zeros((0, 1)), ()
    arrays = np.broadcast_arrays(*[np.asarray(v, dtype=float) for v in values])
    shape = arrays[0].shape
    return np.stack([a.reshape(-1) for a in arrays]), shape
