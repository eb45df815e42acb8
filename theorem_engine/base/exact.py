"""Numbers as users write them, kept exact until a backend asks for digits.

A float means the decimal it prints as: ``0.1`` is one tenth at any precision. Text is read by a
fixed grammar (a decimal, a rational, ``sqrt(...)`` of one, ``inf``); nothing is ever evaluated.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

#: Powers of ten accepted on input; beyond them float64 has neither zero's neighbours nor a finite number.
MAX_EXPONENT = 300
MAX_TEXT = 400

_DECIMAL = r"[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]{1,6})?|\.[0-9]+(?:[eE][+-]?[0-9]{1,6})?"
_RATIONAL = re.compile(rf"(?P<num>{_DECIMAL})(?:\s*/\s*(?P<den>{_DECIMAL}))?")
_SQRT = re.compile(r"sqrt\s*\((?P<inside>[^()]*)\)")
_INFINITY = re.compile(r"(?:inf|infinity|oo)", re.IGNORECASE)


class NotANumber(ValueError):
    """Raised inside the library with the reason; callers add the letter and the entry."""


@dataclass(frozen=True, slots=True)
class Root:
    """The positive square root of a rational that is no perfect square, with a sign."""

    square: Fraction
    negative: bool = False

    def __str__(self) -> str:
        return f"{'-' if self.negative else ''}sqrt({self.square})"


@dataclass(frozen=True, slots=True)
class Constant:
    """A real number given as a SymPy expression without letters, such as ``pi/3``."""

    expression: Any

    def __str__(self) -> str:
        return str(self.expression)


Exact = int | float | Fraction | Root | Constant


def read_number(given: Any) -> Exact:
    """Read a number of any supported kind.

    >>> read_number("sqrt(1/2)"), read_number("0.1"), read_number("sqrt(9/4)")
    (Root(square=Fraction(1, 2), negative=False), Fraction(1, 10), Fraction(3, 2))
    """
    kind = type(given)
    if kind is float:
        return _checked_float(given)
    if kind is int:
        return _in_range(given)
    if isinstance(given, str):
        return _read_text(given)
    if isinstance(given, (bool, type(None), complex)):
        raise NotANumber("is not a real number")
    if isinstance(given, int):
        return _in_range(int(given))
    if isinstance(given, float) and kind.__module__ != "numpy":
        return _checked_float(float(given))
    if isinstance(given, Fraction):
        return _in_range(given)
    if isinstance(given, Decimal):
        if given.is_nan():
            raise NotANumber("is NaN, which is no number")
        if given.is_infinite():
            return math.copysign(math.inf, given)
        if not given.is_zero() and abs(given.adjusted()) > MAX_EXPONENT:
            raise NotANumber(f"is beyond 1e{MAX_EXPONENT} or below 1e-{MAX_EXPONENT}")
        return Fraction(given)
    if isinstance(given, (Root, Constant)):
        return given
    return _read_foreign(given)


def _in_range(number: Any) -> Any:
    if type(number) is int and -(2**60) < number < 2**60:
        return number
    if number and not Fraction(1, 10**MAX_EXPONENT) <= abs(number) <= 10**MAX_EXPONENT:
        raise NotANumber(f"is beyond 1e{MAX_EXPONENT} or below 1e-{MAX_EXPONENT}")
    return number


def _checked_float(number: float) -> float:
    if number != number:
        raise NotANumber("is NaN, which is no number")
    if math.isfinite(number) and number and not 1e-300 <= abs(number) <= 1e300:
        raise NotANumber(f"is beyond 1e{MAX_EXPONENT} or below 1e-{MAX_EXPONENT}")
    return number


@lru_cache(maxsize=4096)
def _read_text(text: str) -> Exact:
    if len(text) > MAX_TEXT:
        raise NotANumber(f"is longer than {MAX_TEXT} characters")
    body = text.strip()
    negative = body[:1] == "-"
    if body[:1] in ("-", "+"):
        body = body[1:].lstrip()
    if body.lower() == "nan":
        raise NotANumber("is NaN, which is no number")
    if _INFINITY.fullmatch(body):
        return -math.inf if negative else math.inf
    root = _SQRT.fullmatch(body)
    rational = _RATIONAL.fullmatch(root["inside"].strip() if root else body)
    if rational is None:
        raise NotANumber("is not a decimal, a rational, sqrt(...) of one, or inf")
    number = _decimal(rational["num"])
    if rational["den"] is not None:
        denominator = _decimal(rational["den"])
        if denominator == 0:
            raise NotANumber("divides by zero")
        number = _in_range(number / denominator)
    if root:
        return square_root(number, negative=negative)
    return -number if negative else number


def _decimal(text: str) -> Fraction:
    mantissa, _, exponent = text.lower().partition("e")
    if exponent and abs(int(exponent)) > 2 * MAX_EXPONENT:
        raise NotANumber(f"is beyond 1e{MAX_EXPONENT} or below 1e-{MAX_EXPONENT}")
    # Fraction reads "5." and ".5" alike only when a digit stands on each side.
    if mantissa.startswith("."):
        mantissa = "0" + mantissa
    return _in_range(Fraction(f"{mantissa.rstrip('.')}e{exponent or 0}"))


def square_root(square: Fraction, *, negative: bool = False) -> Fraction | Root:
    """The square root of a non-negative rational, rational where it is one."""
    num, den = math.isqrt(square.numerator), math.isqrt(square.denominator)
    if num * num == square.numerator and den * den == square.denominator:
        value = Fraction(num, den)
        return -value if negative else value
    return Root(square, negative)


def _read_foreign(given: Any) -> Exact:
    """NumPy scalars, mpmath and SymPy numbers, recognised without importing those packages."""
    package = type(given).__module__.partition(".")[0]
    if package == "numpy":
        if getattr(given, "ndim", 1) != 0:
            if getattr(given, "ndim", 1) > 1:
                raise NotANumber(f"is an array of {given.ndim} dimensions; a letter is one number, an axis has one")
            raise NotANumber("is an array, not a number; te.sweep takes arrays")
        item = given.item()
        if isinstance(item, bool) or not isinstance(item, (int, float)):
            raise NotANumber("is not a real number")
        # str keeps what the user sees: float32(0.1) prints as 0.1
        return _in_range(item) if isinstance(item, int) else read_number(str(given))
    if package == "mpmath" and hasattr(given, "_mpf_"):
        import mpmath

        if mpmath.isnan(given):
            raise NotANumber("is NaN, which is no number")
        if mpmath.isinf(given):
            return math.inf if given > 0 else -math.inf
        man, exp = given.man_exp
        if abs(exp) > 4 * MAX_EXPONENT:
            raise NotANumber(f"is beyond 1e{MAX_EXPONENT} or below 1e-{MAX_EXPONENT}")
        return _in_range(Fraction(int(man)) * Fraction(2) ** int(exp))
    if package == "sympy":
        return _read_sympy(given)
    if hasattr(given, "__len__") and hasattr(given, "__iter__"):
        raise NotANumber(f"is a {type(given).__name__}, not a number; te.sweep takes several values of a letter")
    raise NotANumber(f"is a {type(given).__name__}, not a number")


def _read_sympy(given: Any) -> Exact:
    import sympy

    if not isinstance(given, sympy.Expr) or given.free_symbols:
        raise NotANumber("is not a SymPy number")
    if given is sympy.oo or given is -sympy.oo:
        return math.inf if given is sympy.oo else -math.inf
    if isinstance(given, sympy.Rational):
        return _in_range(Fraction(int(given.p), int(given.q)))
    if isinstance(given, sympy.Float):
        return read_number(str(given))
    if given is sympy.nan or given.is_real is not True:
        raise NotANumber("is not a real SymPy number")
    square = given**2
    if isinstance(square, sympy.Rational):
        return square_root(Fraction(int(square.p), int(square.q)), negative=bool(given < 0))
    return Constant(given)


def as_fraction(value: Exact) -> Fraction | None:
    """The rational this value is, or None for irrationals and infinities."""
    if isinstance(value, float):
        return Fraction(repr(value)) if math.isfinite(value) else None
    if isinstance(value, (int, Fraction)):
        return Fraction(value)
    return None


def as_float(value: Exact) -> float:
    """The nearest float64 (roots: within one unit in the last place)."""
    if type(value) is Fraction:
        # the quotient of two whole numbers is rounded once, and the long way round costs three times as much
        numerator, denominator = value.as_integer_ratio()
        return numerator / denominator
    if isinstance(value, Root):
        root = math.sqrt(value.square)
        return -root if value.negative else root
    if isinstance(value, Constant):
        return float(value.expression.evalf(20))
    return float(value)


def as_mpf(value: Exact) -> Any:
    """The value at mpmath's current precision."""
    from mpmath import mp

    if isinstance(value, Root):
        root = mp.sqrt(as_mpf(value.square))
        return -root if value.negative else root
    if isinstance(value, Constant):
        return mp.mpf(value.expression.evalf(mp.dps + 5))
    fraction = as_fraction(value)
    return mp.mpf(value) if fraction is None else mp.mpf(fraction.numerator) / fraction.denominator


def compare(value: Exact, bound: Fraction | int | float) -> int:
    """-1, 0 or 1 as the value is below, at or above the bound; exact for rationals and roots."""
    if type(value) is int and type(bound) is int:
        return _sign(value - bound)
    if isinstance(value, Root) and math.isfinite(bound):
        if value.negative != (bound < 0):
            return -1 if value.negative else 1
        order = _sign(value.square - Fraction(bound) ** 2)
        return -order if value.negative else order
    fraction = as_fraction(value)
    if fraction is None or not math.isfinite(bound):
        return _sign(as_float(value) - float(bound)) if as_float(value) != bound else 0
    return _sign(fraction - Fraction(bound))


def _sign(number: Any) -> int:
    return (number > 0) - (number < 0)


def to_text(value: Any) -> str:
    """How the value is shown and stored: text that reads back to the same number."""
    if isinstance(value, float):
        # repr of a NumPy float would name its type
        return repr(float(value))
    if isinstance(value, Fraction):
        decimal = _terminating(value)
        return decimal if decimal is not None else str(value)
    return str(value)


def _terminating(value: Fraction) -> str | None:
    """The finite decimal of a rational, if it has a short one."""
    denominator, twos, fives = value.denominator, 0, 0
    while denominator % 2 == 0:
        denominator, twos = denominator // 2, twos + 1
    while denominator % 5 == 0:
        denominator, fives = denominator // 5, fives + 1
    places = max(twos, fives)
    if denominator != 1 or places > 30:
        return None
    text = f"{Decimal(value.numerator * 10**places // value.denominator).scaleb(-places):f}"
    return text
