"""Errors of single numbers in a few operations of Python's own floats, where everything is finite.

The bounds are those of the careful way, which takes ten times as long; None where only that has one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from theorem_engine.backends.rounded.arrays import FUNCTION, NARROW, NORMAL, TINY, UNIT

SMALLEST = 2.0**-1074
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


#: Exponents up to which an error of a base is followed by the slope alone.
LARGEST_EXPONENT = 64.0


def power(a: float, ea: float, b: float, eb: float) -> Pair | None:
    """Exact exponents of a base whose error is narrow; others the careful way."""
    if eb:
        return None
    if b == -1.0:
        return over(1.0, 0.0, a, ea)
    if b == 2.0:
        value = a * a
        # a power may be computed otherwise than by a product
        error = _own(value, UNIT + FUNCTION) if a else 0.0
        if ea:
            error += (2 * abs(a) + ea) * ea + 2 * SMALLEST
        return (value, error) if value + error < math.inf else None
    size = abs(a)
    if not ea <= NARROW * size or not size or abs(b) > LARGEST_EXPONENT or (a < 0 and not b.is_integer()):
        return None
    try:
        value = a**b
    except OverflowError:
        return None
    # (1 + x)^b - 1 with |b x| below 1e-4 is b x to one part in 10^4
    error = _own(abs(value), FUNCTION) + abs(value) * (1.0002 * abs(b) * (ea / size)) + 2 * SMALLEST
    return (value, error) if abs(value) + error < math.inf else None


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
    """The error of erfc, which libraries set to zero a little above the smallest double."""
    found = error_function(value, x, error, 1.0)
    return found if found is None or value >= NORMAL else found + TINY


def tangent(value: float, x: float, error: float) -> float | None:
    """The error of tanh, whose slope is largest at the end nearest to zero."""
    near = max(abs(x) - error, 0.0)
    slope = 1.0 / math.cosh(near) ** 2 if near < 300 else SMALLEST
    return FUNCTION * abs(value) + slope * error + (2 * SMALLEST if x or error else 0.0)


def angle(value: float, x: float, error: float) -> float | None:
    """The error of an arc tangent, whose slope is largest at the end nearest to zero."""
    near = max(abs(x) - error, 0.0)
    if not near < math.inf:
        return None
    return FUNCTION * abs(value) + error / (1.0 + near * near) + (2 * SMALLEST if x or error else 0.0)


def sine(value: float, x: float, error: float) -> float | None:
    """The error of a sine or cosine, whose slope is at most one, and the root of 1 - value^2 within an error."""
    if not (abs(x) < math.inf and error < math.inf):
        return None
    slope = math.sqrt(max(1.0 - value * value, 0.0)) + 3e-8 + error
    return FUNCTION * abs(value) + min(slope, 1.0) * error + (2 * SMALLEST if x or error else 0.0)


def logarithm(value: float, x: float, error: float) -> float | None:
    """The error of a logarithm."""
    if not error <= NARROW * x or not 0 < x < math.inf:
        return None
    return FUNCTION * abs(value) + 1.000002 * error / x


def size(value: float, x: float, error: float) -> float | None:
    """The error of a sign taken away, or of nothing done."""
    return error


def larger(a: float, ea: float, b: float, eb: float) -> Pair | None:
    """The larger of two: it is known as well as the worse of them, or as the larger where that is certain."""
    return _chosen(a, ea, b, eb) if a >= b else _chosen(b, eb, a, ea)


def smaller(a: float, ea: float, b: float, eb: float) -> Pair | None:
    """The smaller of two."""
    return _chosen(a, ea, b, eb) if a <= b else _chosen(b, eb, a, ea)


def _chosen(a: float, ea: float, b: float, eb: float) -> Pair | None:
    if not ea + eb < math.inf or abs(a) == math.inf:
        return None
    return a, ea if abs(a - b) > ea + eb else max(ea, eb)


#: The error of a function of one number, from its value, its argument and the error of that.
FUNCTIONS: dict[Any, Callable[[float, float, float], float | None]] = {
    np.exp: exponential, np.sqrt: root, special.erf: error_function, special.erfc: complement, np.tanh: tangent,
    np.arctan: angle, np.sin: sine, np.cos: sine, np.log: logarithm,
    np.absolute: size, np.negative: size, np.positive: size,
}  # fmt: skip
#: Value and error of an operation on two numbers.
OPERATIONS: dict[Any, Callable[[float, float, float, float], Pair | None]] = {
    np.add: plus, np.subtract: minus, np.multiply: times, np.divide: over, np.power: power,
    np.maximum: larger, np.minimum: smaller,
}  # fmt: skip
