"""Machine code for the proximal points of attention; importing this module needs numba.

The same methods as in ``prox`` and ``prox_softmax``, sample by sample.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _weights(chi: Any, s: Any) -> None:
    top = chi[0]
    for i in range(1, chi.size):
        top = max(top, chi[i])
    total = 0.0
    for i in range(chi.size):
        s[i] = np.exp(chi[i] - top)
        total += s[i]
    for i in range(chi.size):
        s[i] /= total


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _height(chi: Any, omega: Any, w: Any, y: float, width_k: float, width_v: float, s: Any) -> float:
    _weights(chi, s)
    gap, along, square = 0.0, 0.0, 0.0
    for i in range(chi.size):
        gap += (chi[i] - omega[i]) ** 2
        along += s[i] * w[i]
        square += s[i] * s[i]
    return gap / (2 * width_k) + (y - along) ** 2 / (2 * (1 + width_v * square))


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _factor(matrix: Any, floor: float) -> bool:
    """Cholesky factor in place; False where a pivot is not above the floor."""
    size = matrix.shape[0]
    for j in range(size):
        pivot = matrix[j, j]
        for k in range(j):
            pivot -= matrix[j, k] ** 2
        if not pivot > floor:
            return False
        pivot = np.sqrt(pivot)
        matrix[j, j] = pivot
        for i in range(j + 1, size):
            value = matrix[i, j]
            for k in range(j):
                value -= matrix[i, k] * matrix[j, k]
            matrix[i, j] = value / pivot
    return True


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _back(matrix: Any, right: Any) -> None:
    size = right.size
    for i in range(size):
        for k in range(i):
            right[i] -= matrix[i, k] * right[k]
        right[i] /= matrix[i, i]
    for i in range(size - 1, -1, -1):
        for k in range(i + 1, size):
            right[i] -= matrix[k, i] * right[k]
        right[i] /= matrix[i, i]


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _descend(
    chi: Any, omega: Any, w: Any, y: float, width_k: float, width_v: float, s: Any, b: Any, off: Any, move: Any,
    trial: Any, matrix: Any, steps: int, tolerance: float, known: Any, near: float,
) -> float:  # fmt: skip
    """Newton's method from ``chi``, in place, until a short step or near a known point; returns the height reached."""
    size = chi.size
    height = _height(chi, omega, w, y, width_k, width_v, s)
    for _ in range(steps):
        along, square = 0.0, 0.0
        for i in range(size):
            along += s[i] * w[i]
            square += s[i] * s[i]
        denominator = 1 + width_v * square
        rho = (y - along) / denominator
        mean_z, mean_b = 0.0, 0.0
        for i in range(size):
            b[i] = w[i] + 2 * rho * width_v * s[i]
            mean_b += s[i] * b[i]
            mean_z += s[i] * (w[i] + width_v * rho * s[i])
        for i in range(size):
            off[i] = -rho * (w[i] + width_v * rho * s[i] - mean_z)
            move[i] = -((chi[i] - omega[i]) / width_k + s[i] * off[i])
            b[i] = s[i] * (b[i] - mean_b)
        curved = rho * rho * width_v
        for i in range(size):
            for j in range(i + 1):
                # J J = diag(s^2) - s_i s_j (s_i + s_j - |s|^2)
                value = b[i] * b[j] / denominator - s[i] * s[j] * (off[i] + off[j])
                value += curved * s[i] * s[j] * (s[i] + s[j] - square)
                if i == j:
                    value += 1 / width_k + s[i] * off[i] - curved * s[i] * s[i]
                matrix[i, j] = value
        short = tolerance
        if not _factor(matrix, 1e-9 / width_k):
            short *= 1e-5
            for i in range(size):
                for j in range(i + 1):
                    matrix[i, j] = b[i] * b[j] / denominator + (1 / width_k if i == j else 0.0)
            _factor(matrix, 0.0)
        descent = 0.0
        for i in range(size):
            trial[i] = move[i]
        _back(matrix, move)
        longest, largest, away = 0.0, 0.0, 0.0
        for i in range(size):
            descent -= trial[i] * move[i]
            longest = max(longest, abs(move[i]))
            largest = max(largest, abs(chi[i]))
        scale = 1.0
        new = height
        for _halving in range(40):
            for i in range(size):
                trial[i] = chi[i] + scale * move[i]
            new = _height(trial, omega, w, y, width_k, width_v, s)
            if new <= height + 1e-4 * scale * descent + 1e-15 * (1 + height):
                break
            scale /= 2
        for i in range(size):
            chi[i] = trial[i]
            away = max(away, abs(chi[i] - known[i]))
        height = min(height, new)
        if longest <= short * (1 + largest) or away <= near:
            break
    return height


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _is_lowest(
    height: float, omega: Any, w: Any, y: float, width_k: float, width_v: float, s: Any, skew: float
) -> bool:  # fmt: skip
    """Whether convexity in the ball that a lower point would lie in is certain."""
    size = omega.size
    radius = np.sqrt(2 * width_k * height)
    _weights(omega, s)
    top, bottom, along, lead = w[0], w[0], 0.0, 0.0
    for i in range(size):
        top, bottom = max(top, w[i]), min(bottom, w[i])
        along += s[i] * w[i]
        lead = max(lead, s[i])
    odds = (1 - lead) / lead * np.exp(min(np.sqrt(2.0) * radius, 700.0))
    p = min(odds / (1 + odds), 0.5)
    spread = p * (1 - p)
    miss = abs(y - along) + radius * np.sqrt(2.0) * spread * (top - bottom)
    miss = min(miss, max(abs(y - top), abs(y - bottom)))
    rho = miss / (1 + width_v * max(1 / size, (1 - p) ** 2))
    bend = min(skew, 2 * spread) * (top - bottom + width_v * rho)
    return width_k * rho * (4 * width_v * rho * spread**2 + bend) < 1


@numba.njit(cache=True, nogil=True, error_model="numpy")
def minimise(
    omega: Any, w: Any, y: Any, width_k: float, width_v: float, chi: Any, jumped: Any, jump: float, vertex: float,
    steps: int, fine: float, coarse: float, near: float, skew: float,
) -> None:  # fmt: skip
    """Fill ``chi`` with the best minimiser of each sample and ``jumped`` with one where it was not the first."""
    count, size = omega.shape
    s, b, off, move, trial = np.empty(size), np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    matrix = np.empty((size, size))
    x, known = np.empty(size), np.empty(size)
    for n in range(count):
        mean = 0.0
        for i in range(size):
            chi[n, i] = omega[n, i]
            mean += omega[n, i] / size
        first = _descend(
            chi[n], omega[n], w[n], y[n], width_k, width_v, s, b, off, move, trial, matrix, steps, fine, known, -1.0
        )
        lowest = first
        if first > jump and not _is_lowest(first, omega[n], w[n], y[n], width_k, width_v, s, skew):
            for i in range(size):
                known[i] = chi[n, i]
            for start in range(size + 1):
                for i in range(size):
                    x[i] = mean
                    if start > 0:
                        x[i] += (vertex if i == start - 1 else 0.0) - vertex / size
                height = _descend(
                    x, omega[n], w[n], y[n], width_k, width_v, s, b, off, move, trial, matrix, steps, coarse, known,
                    near,
                )  # fmt: skip
                if height < lowest - jump:
                    lowest = _descend(
                        x, omega[n], w[n], y[n], width_k, width_v, s, b, off, move, trial, matrix, steps, fine, known,
                        -1.0,
                    )  # fmt: skip
                    for i in range(size):
                        chi[n, i] = x[i]
        jumped[n] = 1.0 if lowest < first - jump else 0.0


@numba.njit(cache=True, nogil=True, error_model="numpy")
def linear_roots(product: Any, size: Any, y: Any, kappa: float, steps: int, last: float) -> Any:
    """The roots of ``prox.linear_roots``."""
    end = 1 / np.sqrt(kappa)
    found = np.empty(product.size)
    for n in range(product.size):
        low, high = -end, end
        rho = min(max((y[n] - product[n]) / (1 + size[n]), -0.9 * end), 0.9 * end)
        for _ in range(steps):
            square = kappa * rho * rho
            d = 1 - square
            numerator = product[n] * (1 + square) + rho * size[n]
            inverse = 1 / (d * d)
            h = y[n] - rho - numerator * inverse
            slope = -1 - (2 * kappa * rho * product[n] + size[n] + 4 * kappa * rho * numerator / d) * inverse
            if h > 0:
                low = rho
            else:
                high = rho
            new = rho - h / slope
            if not low <= new <= high:
                new = (low + high) / 2
            moved = abs(new - rho)
            room = end - abs(rho)
            rho = new
            if moved <= last * room + 1e-15 * end:
                break
        found[n] = rho
    return found
