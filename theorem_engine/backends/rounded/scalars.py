"""Errors of single numbers in a few operations of Python's own floats, where everything is finite.

The bounds are those of the careful way, which takes ten times as long; None where only that has one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from theorem_engine.backends.rounded.arrays import FUNCTION, NARROW, UNIT

#: Below the smallest normal double results are rounded to multiples of the smallest one.
NORMAL, SMALLEST = 2.0**-1022, 2.0**-1074
#: A number and its error.
Pair = tuple[float, float]


def _own(size: float, units: float = UNIT) -> float:
    """Rounding of an operation whose result has this size; more than nothing where that underflows."""
    return units * size if size >= NORMAL else units * size + SMALLEST


def plus(a: float, ea: float, b: float, eb: float) -> Pair | None:
    """What an addition rounds away is a double itself."""
    value = a + b
    part = value - a
    error = ea + eb + abs((a - (value - part)) + (b - part))
    return (value, error) if error < math.inf else None


def minus(a: float, ea: float, b: float, eb: float) -> Pair | None:
    """A difference is a sum."""
    return plus(a, ea, -b, eb)


def times(a: float, ea: float, b: float, eb: float) -> Pair | None:
    """A product of whole numbers is exact."""
    value = a * b
    size = abs(value)
    is_exact = a == 0 or b == 0 or (size < 2.0**53 and a.is_integer() and b.is_integer())
    error = 0.0 if is_exact else _own(size)
    # a zero that is one leaves nothing of the other's error
    if (ea or eb) and (a or ea) and (b or eb):
        error += abs(a) * eb + abs(b) * ea + ea * eb + 3 * SMALLEST
    return (value, error) if size + error < math.inf else None


def over(a: float, ea: float, b: float, eb: float) -> Pair | None:
    """A quotient; only where the error leaves the divisor away from zero."""
    room = abs(b) - eb
    if not 0 < room < math.inf:
        return None
    value = a / b
    error = _own(abs(value)) if a else 0.0
    if ea or (a and eb):
        # divided before it is multiplied: a product of small numbers underflows
        error += ea / room + abs(value) * (eb / room) + 3 * SMALLEST
    return (value, error) if abs(value) + error < math.inf else None


def power(a: float, ea: float, b: float, eb: float) -> Pair | None:
    """Squares and reciprocals; other powers the careful way."""
    if eb or b not in (2.0, -1.0):
        return None
    if b == -1.0:
        return over(1.0, 0.0, a, ea)
    value = a * a
    # a power may be computed otherwise than by a product
    error = _own(value, UNIT + FUNCTION) if a else 0.0
    if ea:
        error += (2 * abs(a) + ea) * ea + 2 * SMALLEST
    return (value, error) if value + error < math.inf else None


def exponential(value: float, x: float, error: float) -> float | None:
    """The error of an exponential."""
    if error > NARROW or not abs(value) < math.inf:
        return None
    return abs(value) * (1.000001 * error + FUNCTION) + 2 * SMALLEST


def root(value: float, x: float, error: float) -> float | None:
    """The error of a root."""
    if not error <= NARROW * x or not value < math.inf:
        return None
    return UNIT * value + (error / (1.999999 * value) if error else 0.0)


def error_function(value: float, x: float, error: float, squared: float = 0.0) -> float | None:
    """The error of erf and erfc, whose slope is largest at the end nearest to zero.

    ``squared`` is how much of the rounded square of x an exponential takes, in units.
    """
    if value == 0 and x == 0 and error == 0:
        return 0.0
    near = max(abs(x) - error, 0.0)
    if not near < math.inf:
        return None
    own = (FUNCTION + squared * UNIT * x * x) * abs(value)
    return own + 1.1284 * math.exp(-near * near) * error + 2 * SMALLEST


def complement(value: float, x: float, error: float) -> float | None:
    """The error of erfc."""
    return error_function(value, x, error, 1.0)


#: The error of a function of one number, from its value, its argument and the error of that.
FUNCTIONS: dict[Any, Callable[[float, float, float], float | None]] = {
    np.exp: exponential, np.sqrt: root, special.erf: error_function, special.erfc: complement,
}  # fmt: skip
