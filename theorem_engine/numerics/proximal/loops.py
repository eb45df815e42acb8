"""Descent to a minimum of an objective, sample by sample, as machine code; importing this module needs numba.

The text of this module is the first part of generated modules. Their second part defines anew the numbers and the two
functions below that stand for an objective, before anything is compiled.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

#: Letters of a token, sums over tokens with a part in the Hessian, values kept for each token and for each sample.
LETTERS, SUMS, KEPT, NUMBERS = 1, 0, 0, 0
#: A pivot above this share of the plain curvature is positive.
PIVOT = 1e-9


@numba.njit(cache=True, nogil=True, error_model="numpy")
def softplus(x: float) -> float:
    """log(1 + exp(x)) without overflow."""
    return float(max(x, 0.0) + math.log1p(math.exp(-abs(x))))


@numba.njit(cache=True, nogil=True, error_model="numpy")
def measure(x: Any, c: Any, q: Any, kept: Any, numbers: Any) -> float:
    """The objective at x; what the derivatives use is left in ``kept`` and ``numbers``."""
    return 0.0


@numba.njit(cache=True, nogil=True, error_model="numpy")
def derive(
    x: Any, c: Any, q: Any, kept: Any, numbers: Any, gradient: Any, block: Any, plain: Any, moves: Any, bends: Any,
    outer: Any,
) -> None:  # fmt: skip
    """Fill gradient, second derivatives of a token, J, Y + M J/2 and the curvature of the outer function."""


@numba.njit(cache=True, nogil=True, error_model="numpy")
def factor(matrix: Any, floor: Any) -> bool:
    """Cholesky factor in place; False where a pivot is not above its floor."""
    size = matrix.shape[0]
    for j in range(size):
        pivot = matrix[j, j]
        for k in range(j):
            pivot -= matrix[j, k] ** 2
        if not pivot > floor[j]:
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
def solve(matrix: Any, right: Any) -> None:
    """Solve with a Cholesky factor, in place."""
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
def add_blocks(matrix: Any, block: Any) -> None:
    """Add the matrices of the tokens to the lower half."""
    tokens = block.shape[2]
    for a in range(LETTERS):
        for b in range(a + 1):
            for i in range(tokens):
                matrix[a * tokens + i, b * tokens + i] += block[a, b, i]


@numba.njit(cache=True, nogil=True, error_model="numpy")
def fill_exact(matrix: Any, block: Any, moves: Any, bends: Any) -> None:
    """The Hessian, lower half."""
    for i in range(matrix.shape[0]):
        for j in range(i + 1):
            value = 0.0
            for p in range(SUMS):
                value += moves[i, p] * bends[j, p] + bends[i, p] * moves[j, p]
            matrix[i, j] = value
    add_blocks(matrix, block)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def fill_plain(matrix: Any, plain: Any, moves: Any, outer: Any, shift: float) -> None:
    """Without the second derivatives of the sums, lower half; ``shift`` is added to the diagonal."""
    for i in range(matrix.shape[0]):
        for j in range(i + 1):
            value = shift if i == j else 0.0
            for p in range(SUMS):
                for r in range(SUMS):
                    value += outer[p, r] * moves[i, p] * moves[j, r]
            matrix[i, j] = value
    add_blocks(matrix, plain)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def descend(
    start: Any, fields: Any, singles: Any, known: Any, near: float, steps: int, tolerance: float, heights: Any,
    last: Any,
) -> None:  # fmt: skip
    """Newton's method from each row of ``start``, in place, until a short step or near a known point.

    ``heights`` are those reached, ``last`` the lengths of the last steps relative to the point.
    """
    size = start.shape[1]
    tokens = size // LETTERS
    kept, numbers = np.empty((KEPT, tokens)), np.empty(NUMBERS)
    gradient, move, trial, floor = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    block, plain = np.empty((LETTERS, LETTERS, tokens)), np.empty((LETTERS, LETTERS, tokens))
    moves, bends, outer = np.empty((size, SUMS)), np.empty((size, SUMS)), np.empty((SUMS, SUMS))
    matrix = np.empty((size, size))
    for n in range(start.shape[0]):
        x, c, q = start[n], fields[n], singles[n]
        height = measure(x, c, q, kept, numbers)
        last[n] = np.inf
        for _ in range(steps):
            derive(x, c, q, kept, numbers, gradient, block, plain, moves, bends, outer)
            highest = 0.0
            for a in range(LETTERS):
                for i in range(tokens):
                    floor[a * tokens + i] = PIVOT * abs(plain[a, a, i])
                    highest = max(highest, abs(plain[a, a, i]))
            fill_exact(matrix, block, moves, bends)
            allowed = tolerance
            if not factor(matrix, floor):
                # these steps shrink by a factor only: they go on to rounding
                allowed *= 1e-5
                fill_plain(matrix, plain, moves, outer, 0.0)
                shift = 1e-3 * highest
                while not factor(matrix, floor) and shift < 1e12 * highest:
                    fill_plain(matrix, plain, moves, outer, shift)
                    shift *= 10
            for i in range(size):
                move[i] = -gradient[i]
            solve(matrix, move)
            descent, longest, largest, away = 0.0, 0.0, 0.0, 0.0
            for i in range(size):
                descent += gradient[i] * move[i]
                longest = max(longest, abs(move[i]))
                largest = max(largest, abs(x[i]))
            scale = 1.0
            new = height
            for _halving in range(40):
                for i in range(size):
                    trial[i] = x[i] + scale * move[i]
                new = measure(trial, c, q, kept, numbers)
                if new <= height + 1e-4 * scale * descent + 1e-15 * (1 + abs(height)):
                    break
                scale /= 2
            for i in range(size):
                x[i] = trial[i]
                away = max(away, abs(x[i] - known[n, i]))
            height = min(height, new)
            last[n] = scale * longest / (1 + largest)
            if longest <= allowed * (1 + largest) or away <= near:
                break
        heights[n] = height


@numba.njit(cache=True, nogil=True, error_model="numpy")
def gather(c: Any, q: Any, numbers: Any) -> tuple[float, float]:
    """Sums over tokens, left in ``numbers``, and the ends between which a multiplier lies."""
    return -np.inf, np.inf


@numba.njit(cache=True, nogil=True, error_model="numpy")
def equation(m: float, q: Any, numbers: Any) -> tuple[float, float]:
    """An increasing function of the multiplier, and its slope."""
    return m, 1.0


@numba.njit(cache=True, nogil=True, error_model="numpy")
def place(m: float, x: Any, c: Any, q: Any) -> None:
    """The letters that follow from the multiplier."""


@numba.njit(cache=True, nogil=True, error_model="numpy")
def follow(points: Any, fields: Any, singles: Any, steps: int, tolerance: float, heights: Any) -> None:
    """The root of the equation by Newton's method kept between the ends, and the point and height that follow."""
    kept, numbers = np.empty((KEPT, points.shape[1] // LETTERS)), np.empty(NUMBERS)
    for n in range(points.shape[0]):
        q = singles[n]
        low, high = gather(fields[n], q, numbers)
        below, above = low, high
        value, slope = equation(0.0, q, numbers)
        m = min(max(-value / slope, 0.9 * below), 0.9 * above)
        for _ in range(steps):
            value, slope = equation(m, q, numbers)
            if value < 0:
                below = m
            else:
                above = m
            new = m - value / slope
            if not below <= new <= above:
                new = (below + above) / 2
            moved, size = abs(new - m), 1 + abs(new)
            room = min(m - low, high - m, size)
            m = new
            if moved <= tolerance * room + 1e-15 * min(high, size):
                break
        place(m, points[n], fields[n], q)
        heights[n] = measure(points[n], fields[n], q, kept, numbers)
