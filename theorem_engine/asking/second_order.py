"""What slopes leave out of an error that is carried: bounds of the second order, by Taylor's theorem.

    |f(x + d) - f(x) - f'(x) d| <= max |f''| e^2/2,   |d| <= e,

the maximum over all places that x + d may have. Where a function has no bound there, the rest is infinite.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

#: A result below the doubles is off by less than this.
SMALLEST = 5e-324


def of_operation(sign: str, a: Any, b: Any, first: Any, second: Any) -> Any:
    """The rest of a*b, a/b or a**b, whose numbers are off by at most ``first`` and ``second``."""
    if sign in "+-":
        return 0.0
    if sign == "*":
        return 0.0 if not first or not second else first * second
    if sign == "/":
        if not second:
            return 0.0
        low = abs(b) - second
        # that of (da - q db)/(b + db) - (da - q db)/b
        return (first + abs(a / b) * second) * second / (abs(b) * low) if low > 0 else math.inf
    return _of_power(a, b, first, second)


def _of_power(a: Any, b: Any, first: Any, second: Any) -> Any:
    """By the three second derivatives of a**b, each at its largest."""
    low, high = abs(a) - first, abs(a) + first
    if not first and not second:
        return 0.0
    try:
        if not second and b == int(abs(b)):
            return b * (b - 1) / 2 * high ** max(int(b) - 2, 0) * first * first if b > 1 else 0.0
        if not low > 0:
            return math.inf
        size = max(x ** (abs(b) + second) for x in (low, high, 1 / low, 1 / high))
        slope, logarithm = abs(b) + second, max(abs(_log(low)), abs(_log(high)))
        return size * (
            slope * (slope + 1) / low / low * first * first / 2
            + (1 + slope * logarithm) / low * first * second
            + logarithm * logarithm * second * second / 2
        )
    except (OverflowError, TypeError):
        return math.inf


def _log(value: Any) -> float:
    from mpmath import mp

    return float(mp.log(value)) if hasattr(value, "_mpf_") else math.log(value)


#: Functions of one number by the names they have in NumPy: the function, its slope from place and value, and the
#: largest size of its second derivative on an interval.
FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any], Callable[[float, float], float]]] = {
    "exp": (math.exp, lambda x, y: y, lambda low, high: math.exp(high)),
    "expm1": (math.expm1, lambda x, y: y + 1, lambda low, high: math.exp(high)),
    "log": (math.log, lambda x, y: 1 / x, lambda low, high: 1 / low**2 if low > 0 else math.inf),
    "log1p": (math.log1p, lambda x, y: 1 / (1 + x), lambda low, high: 1 / (1 + low) ** 2 if low > -1 else math.inf),
    "log10": (math.log10, lambda x, y: 1 / (x * math.log(10)), lambda low, high: 1 / low**2 if low > 0 else math.inf),
    "log2": (math.log2, lambda x, y: 1 / (x * math.log(2)), lambda low, high: 2 / low**2 if low > 0 else math.inf),
    "sqrt": (
        math.sqrt, lambda x, y: 1 / (2 * y) if y else math.inf, lambda low, high: low**-1.5 if low > 0 else math.inf,
    ),
    "sin": (math.sin, lambda x, y: math.cos(x), lambda low, high: 1.0),
    "cos": (math.cos, lambda x, y: -math.sin(x), lambda low, high: 1.0),
    "tanh": (math.tanh, lambda x, y: 1 - y * y, lambda low, high: 0.77),
}  # fmt: skip
#: Functions that are one of the operations, and keep all digits.
OPERATIONS: dict[str, Callable[[Any], Any]] = {
    "absolute": abs, "negative": operator.neg, "positive": operator.pos, "square": lambda x: x * x,
}  # fmt: skip


def of_function(name: str, x: float, error: Any) -> float:
    """The rest of a function of ``FUNCTIONS`` at a number that is off by at most ``error``."""
    spread = float(error)
    if not spread:
        return 0.0
    if not math.isfinite(spread):
        return math.inf
    try:
        return FUNCTIONS[name][2](x - spread, x + spread) * spread * spread / 2
    except (OverflowError, ZeroDivisionError):
        return math.inf
