"""Errors of long arrays in few passes: bounds that are a little wider than those of single numbers, and never narrower.

Only where everything is finite; whoever asks falls back on the careful way elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

UNIT = 2.0**-53
#: Special functions are right to a few units in the last place.
FUNCTION = 4 * UNIT
#: More than all that a few products may lose below the smallest normal double.
UNDERFLOW = 8 * 2.0**-1074
#: Below the smallest normal double results are rounded to multiples of the smallest one.
NORMAL = 2.0**-1022
#: One over the largest double, and more than what a library may have set to zero near it.
TINY = 6e-309
#: Single numbers have a way of their own.
MANY = 2
#: An error below this part of the argument is followed by the slope alone.
NARROW = 1e-6


def quick_error(ufunc: Any, plain: list[Any], errors: list[Any], result: Any) -> Any:
    """A bound of the error of a function of long arrays, or None where only the careful way has one."""
    rule = _RULES.get(ufunc)
    if rule is None or not isinstance(result, np.ndarray) or result.size < MANY or result.dtype != np.float64:
        return None
    error = rule(plain, errors, result)
    # infinities and NaN anywhere show in the largest
    return (
        error if error is not None and math.isfinite(error.max() if isinstance(error, np.ndarray) else error) else None
    )


def _is_exact(error: Any) -> bool:
    return not isinstance(error, np.ndarray) and error == 0


def _own(result: Any, units: float = UNIT) -> Any:
    """Rounding of the function itself, in an array that may be written to."""
    size = np.abs(result)
    size *= units
    return size


def _sum(plain: list[Any], errors: list[Any], result: Any) -> Any:
    total = _own(result)
    for error in errors:
        if not _is_exact(error):
            total += error
    return total


def _product(plain: list[Any], errors: list[Any], result: Any) -> Any:
    (a, b), (ea, eb) = plain, errors
    total = _own(result)
    if not _is_exact(ea):
        total += np.abs(b) * ea
    if not _is_exact(eb):
        total += (np.abs(a) + ea) * eb
    total += UNDERFLOW
    return total


def _quotient(plain: list[Any], errors: list[Any], result: Any) -> Any:
    (_, b), (ea, eb) = plain, errors
    total = _own(result)
    if not _is_exact(ea) or not _is_exact(eb):
        room = np.abs(b) - eb
        if not (np.min(room) > 0 and np.max(room) < math.inf):
            return None
        total += (ea if _is_exact(eb) else ea + np.abs(result) * eb) / room
    total += UNDERFLOW
    return total


def _square(plain: list[Any], errors: list[Any], result: Any) -> Any:
    total, (error,) = _own(result), errors[:1]
    if not _is_exact(error):
        total += (2 * np.abs(plain[0]) + error) * error
    total += UNDERFLOW
    return total


def _power(plain: list[Any], errors: list[Any], result: Any) -> Any:
    """Squares and reciprocals; other powers the careful way."""
    if np.ndim(plain[1]) or not _is_exact(errors[1]):
        return None
    if plain[1] == 2:
        total = _square(plain, errors, result)
        # a power may be computed otherwise than by a product
        total += _own(result, FUNCTION)
        return total
    if plain[1] == -1:
        return _quotient([1.0, plain[0]], [0.0, errors[0]], result)
    return None


def _exponential(plain: list[Any], errors: list[Any], result: Any) -> Any:
    if _is_exact(errors[0]):
        total = _own(result, FUNCTION)
    elif np.max(errors[0]) > NARROW:
        return None
    else:
        total = np.abs(result) * (1.000001 * errors[0] + FUNCTION)
    total += UNDERFLOW
    return total


def _by_slope(slope: Callable[[Any], Any], squared: float = 0.0) -> Callable[..., Any]:
    """Of a function whose slope falls with the size of the argument: the slope at the nearest end to zero.

    ``squared`` of the argument's square, in units, is what a function that takes the exponential of it loses.
    """

    def rule(plain: list[Any], errors: list[Any], result: Any) -> Any:
        x, error = plain[0], errors[0]
        total = _own(result, FUNCTION)
        if squared:
            total *= 1.0 + (squared / 4) * x * x
            # libraries give up a little above the smallest double
            total += np.where(np.abs(result) < NORMAL, TINY, 0.0)
        if not _is_exact(error):
            total += slope(np.maximum(np.abs(x) - error, 0.0)) * error
        total += UNDERFLOW
        return total

    return rule


def _root(plain: list[Any], errors: list[Any], result: Any) -> Any:
    total = _own(result)
    if not _is_exact(errors[0]):
        if not np.all(errors[0] <= NARROW * np.asarray(plain[0])):
            return None
        total += errors[0] / (1.999999 * result)
    return total


def _wave(plain: list[Any], errors: list[Any], result: Any) -> Any:
    """Of a sine or cosine, whose slope is at most one."""
    total = _own(result, FUNCTION)
    if not _is_exact(errors[0]):
        total += np.minimum(np.sqrt(np.maximum(1.0 - result * result, 0.0)) + 3e-8 + errors[0], 1.0) * errors[0]
    total += UNDERFLOW
    return total


def _hyperbolic(plain: list[Any], errors: list[Any], result: Any) -> Any:
    """Of a hyperbolic cosine: its slope, and half the square of the error where that vanishes."""
    total = _own(result, FUNCTION)
    if not _is_exact(errors[0]):
        if not np.max(errors[0]) <= NARROW:
            return None
        total += (1.00001 * np.abs(np.sinh(plain[0])) + result * errors[0]) * errors[0]
    return total


def _same(plain: list[Any], errors: list[Any], result: Any) -> Any:
    return errors[0]


def _larger(plain: list[Any], errors: list[Any], result: Any) -> Any:
    return np.maximum(*errors)


_RULES: dict[Any, Callable[[list[Any], list[Any], Any], Any]] = {
    np.add: _sum, np.subtract: _sum, np.multiply: _product, np.divide: _quotient, np.square: _square,
    np.power: _power, np.exp: _exponential, np.sqrt: _root, np.negative: _same, np.positive: _same,
    np.absolute: _same, np.sin: _wave, np.cos: _wave, np.cosh: _hyperbolic, np.maximum: _larger, np.minimum: _larger,
    special.erf: _by_slope(lambda x: 1.1284 * np.exp(-x * x)),
    special.erfc: _by_slope(lambda x: 1.1284 * np.exp(-x * x), squared=1.0),
    special.ndtr: _by_slope(lambda x: 0.39895 * np.exp(-0.5 * x * x), squared=2.0),
    np.tanh: _by_slope(lambda x: 1.0 / np.cosh(np.minimum(x, 300.0)) ** 2),
    np.arctan: _by_slope(lambda x: 1.0 / (1.0 + x * x)),
}  # fmt: skip
