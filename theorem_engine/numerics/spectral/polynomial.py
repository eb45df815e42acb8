"""Roots of real polynomials: closed forms up to the third degree, companion matrices above.

Results are starting points for a polish on the polynomial in its author's form, which carries more
accuracy than expanded coefficients can.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Coefficients beyond this, over the first one, have third powers outside double precision.
HUGE = 1e100


def scalar_roots(coefficients: Sequence[float]) -> list[complex]:
    """Roots of one polynomial, highest power first; of a conjugate pair only the upper one is returned.

    One that is not a number stands for roots out of reach of double precision.
    """
    degree = len(coefficients) - 1
    lead = coefficients[0]
    if not lead:
        return [complex(math.nan, math.nan)]
    monic = [c / lead for c in coefficients[1:]]
    if not all(abs(c) < HUGE for c in monic):
        return [complex(math.nan, math.nan)]
    if degree == 1:
        return [complex(-monic[0])]
    if degree == 2:
        return _quadratic(*monic)
    if degree == 3:
        first = _real_root(*monic)
        b, c, d = monic
        # deflate from the end that is stable for this root
        middle = b + first
        last = -d / first if first * first * abs(b) > abs(d) and first else c + first * middle
        return [complex(first), *_quadratic(middle, last)]
    return [complex(z) for z in np.roots(list(coefficients)) if z.imag >= 0]


def _quadratic(b: float, c: float) -> list[complex]:
    inside = b * b / 4 - c
    if inside < 0:
        return [complex(-b / 2, math.sqrt(-inside))]
    far = -b / 2 - math.copysign(math.sqrt(inside), b)
    return [complex(far), complex(c / far if far else 0.0)]


def _real_root(b: float, c: float, d: float) -> float:
    """A real root of s^3 + b s^2 + c s + d, by Cardano or Vieta and two Newton steps."""
    p, q = c - b * b / 3, b * (2 * b * b / 27 - c / 3) + d
    inside = q * q / 4 + p * p * p / 27
    if inside >= 0:
        u = math.cbrt(abs(q) / 2 + math.sqrt(inside))
        t = math.copysign(u - (p / (3 * u) if u else 0.0), -q)
    else:
        t = 2 * math.sqrt(-p / 3) * math.cos(cmath.phase(complex(-q / 2, math.sqrt(-inside))) / 3)
    x = t - b / 3
    for _ in range(2):
        slope = (3 * x + 2 * b) * x + c
        step = (((x + b) * x + c) * x + d) / slope if slope else 0.0
        if not math.isfinite(step):
            break
        x -= step
    return x


def array_roots(coefficients: Sequence[Any], count: int) -> NDArray[np.complex128]:
    """Roots of many polynomials as rows (degree, count); NaN where the leading coefficient vanishes."""
    with np.errstate(all="ignore"):
        table = np.stack([np.broadcast_to(np.asarray(c, dtype=float), (count,)) for c in coefficients])
        monic = table[1:] / table[0]
        if len(monic) == 1:
            return -monic + 0j
        if len(monic) == 2:
            return _quadratics(monic[0], monic[1])
        if len(monic) == 3:
            return _cubics(*monic)
        matrix = np.zeros((count, len(monic), len(monic)))
        matrix[:, 0, :] = -monic.T
        matrix[:, 1:, :-1] = np.eye(len(monic) - 1)
        bad = ~np.isfinite(matrix).all(axis=(1, 2))
        matrix[bad] = 0
        roots = np.asarray(np.linalg.eigvals(matrix).T, dtype=np.complex128)
        roots[:, bad] = np.nan
        return roots


def _quadratics(b: Any, c: Any) -> Any:
    inside = b * b / 4 - c
    root = np.sqrt(np.abs(inside))
    far = -b / 2 - np.copysign(root, b)
    near = np.where(far != 0, c / far, 0.0)
    pair = -b / 2 + 1j * root
    return np.where(inside < 0, np.stack([pair, pair.conj()]), np.stack([far, near]))


def _cubics(b: Any, c: Any, d: Any) -> Any:
    p, q = c - b * b / 3, b * (2 * b * b / 27 - c / 3) + d
    inside = q * q / 4 + p * p * p / 27
    root = np.sqrt(np.abs(inside))
    u = np.cbrt(np.abs(q) / 2 + root)
    one = np.copysign(u - np.where(u != 0, p / (3 * u), 0.0), -q)
    three = 2 * np.sqrt(np.abs(p) / 3) * np.cos(np.angle(-q / 2 + 1j * root) / 3)
    x = np.where(inside >= 0, one, three) - b / 3
    for _ in range(2):
        slope = (3 * x + 2 * b) * x + c
        step = np.where(slope != 0, (((x + b) * x + c) * x + d) / slope, 0.0)
        x = np.where(np.isfinite(step), x - step, x)
    middle = b + x
    last = np.where((x * x * np.abs(b) > np.abs(d)) & (x != 0), -d / x, c + x * middle)
    return np.concatenate([x[None] + 0j, _quadratics(middle, last)])
