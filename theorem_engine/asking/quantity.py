"""Numbers that carry their error through arithmetic: what becomes of a prediction that is computed with.

Errors are carried by slopes, so that a prediction that enters twice is the same number both times: p - p is 0 without
error, and p*p has the error 2 |p| e + e^2. What slopes leave out, the second order, is bounded and added. Errors of
different numbers are added as they stand: nothing is known about how they go together, and the sum holds whatever that
is.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from typing import Any

from theorem_engine.asking.second_order import FUNCTIONS, OPERATIONS, SMALLEST, of_function, of_operation
from theorem_engine.base.errors import BadRequest, OutOfDomain, TheoremEngineError
from theorem_engine.base.precision import decimals
from theorem_engine.base.text import error_text, value_text


class Origin:
    """One number that errors come from, told from others by its key; its error is worked out when first asked for."""

    def __init__(self, key: Any, error: Any, kind: str) -> None:
        self.key = key
        self._error = error
        self.kind = kind

    @property
    def error(self) -> Any:
        """The absolute error; infinite where it is not known."""
        if callable(self._error):
            self._error = self._error()
        return math.inf if self._error is None or self._error != self._error else self._error

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Origin) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __reduce__(self) -> Any:
        return Origin, (self.key, self.error, self.kind)


class Numeric:
    """What may stand in arithmetic: derived classes say which number with error they are."""

    def quantity(self) -> Quantity:
        """The number with its error; an error where there is none."""
        raise NotImplementedError

    def __add__(self, other: Any) -> Any:
        return _combined("+", self, other)

    def __radd__(self, other: Any) -> Any:
        return _combined("+", other, self)

    def __sub__(self, other: Any) -> Any:
        return _combined("-", self, other)

    def __rsub__(self, other: Any) -> Any:
        return _combined("-", other, self)

    def __mul__(self, other: Any) -> Any:
        return _combined("*", self, other)

    def __rmul__(self, other: Any) -> Any:
        return _combined("*", other, self)

    def __truediv__(self, other: Any) -> Any:
        return _combined("/", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _combined("/", other, self)

    def __pow__(self, other: Any) -> Any:
        return _combined("**", self, other)

    def __rpow__(self, other: Any) -> Any:
        return _combined("**", other, self)

    def __neg__(self) -> Any:
        return _combined("*", self, -1)

    def __pos__(self) -> Any:
        return self.quantity()

    def __abs__(self) -> Any:
        number = self.quantity()
        value = abs(number.value)
        if not number.slopes or value > number.error:
            slope = abs(number.value) / number.value if value else 1.0
            return _made(value, [(number, slope)], 0.0)
        # which sign it has is not told: it is as far off as the number, and moves with nothing else
        return Quantity(value, {Origin(object(), number.error, number.error_kind): 1.0}, 0.0, number.digits)

    def __float__(self) -> float:
        value = self.quantity().value
        if isinstance(value, complex) or hasattr(value, "_mpc_"):
            raise BadRequest(f"{value} is complex and is no float; complex(...) or its real part may be meant")
        return float(value)

    def __complex__(self) -> complex:
        return complex(self.quantity().value)

    def __int__(self) -> int:
        return int(float(self))

    def __round__(self, places: int | None = None) -> Any:
        return round(float(self), places)

    def __bool__(self) -> bool:
        return bool(self.quantity().value)

    def __eq__(self, other: object) -> Any:
        """Numbers are compared by their values; errors take no part."""
        return _compared(operator.eq, self, other)

    def __ne__(self, other: object) -> Any:
        return _compared(operator.ne, self, other)

    def __lt__(self, other: Any) -> Any:
        return _compared(operator.lt, self, other)

    def __le__(self, other: Any) -> Any:
        return _compared(operator.le, self, other)

    def __gt__(self, other: Any) -> Any:
        return _compared(operator.gt, self, other)

    def __ge__(self, other: Any) -> Any:
        return _compared(operator.ge, self, other)

    def __hash__(self) -> int:
        return hash(self.quantity().value)

    def __format__(self, spec: str) -> str:
        return format(_formatted(self.quantity()), spec) if spec else str(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        import numpy as np

        value = self.quantity().value
        return np.array(float(value) if hasattr(value, "_mpf_") else value, dtype=dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Arithmetic of NumPy's arrays and scalars with this number, and the functions whose slopes are known."""
        name = ufunc.__name__
        if method == "__call__" and not options and len(inputs) == 2 and name in _UFUNCS:
            return _UFUNCS[name](*inputs)
        if method == "__call__" and not options and len(inputs) == 1:
            if name in OPERATIONS:
                return OPERATIONS[name](self)
            if name in FUNCTIONS:
                return apply(name, self)
        raise BadRequest(f"numpy.{name} does not carry an error; take float(...) first, or one of {_listed()}")


@dataclass(frozen=True, eq=False)
class Quantity(Numeric):
    """A number with its absolute error, made of other numbers.

    ``slopes`` holds what the errors come from, and how far each moves the number; ``rounding`` is what rounding did on
    the way and what slopes leave out, or a function that finds it when an error is asked for.

    >>> from theorem_engine.asking.prediction import predict
    >>> p = predict("marion2025.linear-risk", gamma=1, L=10)
    >>> print(p - p)
    0.0 +- 0
    """

    value: Any
    slopes: Mapping[Origin, Any]
    rounding: Any = 0.0
    digits: int | None = None

    def quantity(self) -> Quantity:
        """Itself."""
        return self

    @property
    def error(self) -> Any:
        """The absolute error: by slopes, with what these leave out."""
        carried = sum((_times(abs(slope), origin.error) for origin, slope in self.slopes.items()), 0.0)
        return carried + _found(self.rounding)

    @property
    def error_kind(self) -> str:
        """The kinds of the errors that it is made of."""
        kinds = sorted({origin.kind for origin in self.slopes})
        return ", ".join(kinds) or ("rounded" if _found(self.rounding) else "exact")

    @property
    def remark(self) -> str:
        """How the error came about, as a sentence."""
        if len(self.slopes) < 2:
            return "The error is carried to first order, and what that leaves out is added."
        return (
            f"The error is carried to first order from {len(self.slopes)} numbers, what that leaves out is added, and "
            "all is added up: how their errors go together is not known."
        )

    def __str__(self) -> str:
        value = self.value if isinstance(self.value, (float, complex)) or self.digits else float(self.value)
        return f"{value_text(value, self.error, self.digits)} +- {error_text(self.error)}"

    def __repr__(self) -> str:
        return f"{self} ({self.error_kind})"

    def __reduce__(self) -> Any:
        return Quantity, (self.value, dict(self.slopes), _found(self.rounding), self.digits)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        from theorem_engine.base.text import jsonable

        return {
            "value": jsonable(self.value, self.digits),
            "error": jsonable(self.error, None),
            "error_kind": self.error_kind,
        }


def _found(rounding: Any) -> Any:
    """A number, where it may be a function that finds it."""
    return rounding() if callable(rounding) else rounding


def _times(slope: Any, error: Any) -> Any:
    """A product in which nothing of an unknown error is nothing, and that no rounding makes nothing."""
    return 0.0 if slope == 0 or error == 0 else slope * error or SMALLEST


def _read(given: Any) -> Quantity | None:
    """A number of any kind as one with an error; None if it is no number."""
    if isinstance(given, Numeric):
        return given.quantity()
    if isinstance(given, bool) or hasattr(given, "_mpf_") or hasattr(given, "_mpc_"):
        return Quantity(given if not isinstance(given, bool) else int(given), {})
    if getattr(given, "ndim", None) == 0 and hasattr(given, "item"):
        given = given.item()
    if isinstance(given, Fraction):
        nearest = float(given)
        return Quantity(nearest, {}, float(abs(Fraction(nearest) - given)))
    return Quantity(given, {}) if isinstance(given, (int, float, complex)) else None


def _combined(sign: str, a: Any, b: Any) -> Any:
    """Two numbers by one of the five operations, or a number and each of an array."""
    for one in (a, b):
        if getattr(one, "ndim", 0):
            import numpy as np

            return np.frompyfunc(lambda x, y: _combined(sign, x, y), 2, 1)(_boxed(a), _boxed(b))
    left, right = _read(a), _read(b)
    if left is None or right is None:
        return NotImplemented
    digits = max((n.digits for n in (left, right) if n.digits), default=None)
    try:
        if digits is None and not any(hasattr(n.value, "_mpf_") or hasattr(n.value, "_mpc_") for n in (left, right)):
            return _result(sign, left, right, None)

        # whatever precision the user has set: that of the digits asked for, or of doubles
        with decimals(digits + 5 if digits else 17):
            return _result(sign, left, right, digits)
    except ZeroDivisionError:
        raise OutOfDomain(f"{left} {sign} {right} divides by zero") from None
    except OverflowError:
        raise OutOfDomain(f"{left} {sign} {right} is too large for a double; ask for digits") from None


def _boxed(one: Any) -> Any:
    """A number in an array of its own, so that NumPy leaves it whole."""
    import numpy as np

    if getattr(one, "ndim", 0):
        return one
    box = np.empty((), dtype=object)
    box[()] = one
    return box


_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "**": operator.pow,
}  # fmt: skip


def _result(sign: str, left: Quantity, right: Quantity, digits: int | None) -> Quantity:
    a, b = left.value, right.value
    value = _OPERATIONS[sign](a, b)
    if value != value or (isinstance(value, complex) and not isinstance(a, complex) and not isinstance(b, complex)):
        raise OutOfDomain(f"{left} {sign} {right} has no value among the real numbers")
    slopes = _slopes(sign, left, right, value)

    def rest() -> Any:
        return of_operation(sign, a, b, left.error, right.error)

    return _made(value, slopes, _rounding(sign, a, b, value, digits), digits, None if sign in "+-" else rest)


def _slopes(sign: str, left: Quantity, right: Quantity, value: Any) -> list[tuple[Quantity, Any]]:
    a, b = left.value, right.value
    if sign in "+-":
        return [(left, 1.0), (right, 1.0 if sign == "+" else -1.0)]
    if sign == "*":
        return [(left, b), (right, a)]
    if sign == "/":
        # a divisor that may be zero bounds nothing
        inverse = 1 / b if abs(b) > right.error else math.inf
        return [(left, inverse), (right, -value * inverse if value else 0.0 * b)]
    if (not left.slopes and not left.rounding) or not b:
        by_base: Any = 0.0
    elif a == 0:
        by_base = 0.0 if b > 1 else 1.0 if b == 1 else math.inf
    else:
        by_base = b * a ** (b - 1)
    by_exponent = 0.0 if not right.slopes and not right.rounding else value * _log(a)
    return [(left, by_base), (right, by_exponent)]


def _log(value: Any) -> Any:
    if hasattr(value, "_mpf_"):
        from mpmath import mp

        return mp.log(value)
    return math.log(value) if value > 0 else math.inf


def _rounding(sign: str, a: Any, b: Any, value: Any, digits: int | None) -> Any:
    """How far a result is from the exact one: none for whole results of doubles, half a unit in general."""
    if digits is not None:
        return abs(value) * 10.0 ** (-digits - 4)
    if sign == "**" or not all(isinstance(x, (int, float)) and math.isfinite(x) for x in (a, b, value)):
        return 0.0 if abs(value) == math.inf else abs(value) * 2.0**-52 + SMALLEST
    exact = _OPERATIONS[sign](Fraction(a), Fraction(b))
    # rounded up, for it is a bound itself
    distance = abs(exact - Fraction(value))
    return float(distance) * (1 + 2.0**-50) + SMALLEST if distance else 0.0


def _made(
    value: Any, parts: list[tuple[Quantity, Any]], rounding: Any, digits: int | None = None, rest: Any = None
) -> Quantity:
    """A number made of others by slopes; ``rest`` finds what these leave out, when an error is asked for."""
    slopes: dict[Origin, Any] = {}
    later = [] if rest is None or not any(number.slopes or number.rounding for number, _ in parts) else [rest]
    for number, slope in parts:
        if callable(number.rounding):
            later.append(partial(_carried, slope, number.rounding))
        else:
            rounding = rounding + _times(abs(slope), number.rounding)
        for origin, inner in number.slopes.items():
            slopes[origin] = slopes.get(origin, 0.0) + (0.0 if inner == 0 else slope * inner)
        digits = digits or number.digits
    kept = {origin: slope for origin, slope in slopes.items() if slope != 0}
    return Quantity(value, kept, cache(partial(_total, rounding, later)) if later else rounding, digits)


def _carried(slope: Any, rounding: Any) -> Any:
    return _times(abs(slope), _found(rounding))


def _total(rounding: Any, later: list[Callable[[], Any]]) -> Any:
    return sum((part() for part in later), rounding)


def _compared(relation: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    try:
        other = _read(b)
    except TheoremEngineError:
        other = None
    if other is None:
        return NotImplemented
    try:
        mine = a.quantity().value
    except TheoremEngineError:
        # what is no number equals itself only
        if relation in (operator.eq, operator.ne):
            return NotImplemented
        raise
    return relation(mine, other.value)


def _formatted(number: Quantity) -> Any:
    """The value as something that takes a format: a decimal where a double would lose digits."""
    if number.digits is not None and hasattr(number.value, "_mpf_"):
        from decimal import Decimal

        from mpmath import nstr

        return Decimal(str(nstr(number.value, number.digits, strip_zeros=False)))
    return number.value


_UFUNCS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: _combined("+", a, b),
    "subtract": lambda a, b: _combined("-", a, b),
    "multiply": lambda a, b: _combined("*", a, b),
    "divide": lambda a, b: _combined("/", a, b),
    "power": lambda a, b: _combined("**", a, b),
    "equal": lambda a, b: _plain(a) == _plain(b),
    "not_equal": lambda a, b: _plain(a) != _plain(b),
    "less": lambda a, b: _plain(a) < _plain(b),
    "less_equal": lambda a, b: _plain(a) <= _plain(b),
    "greater": lambda a, b: _plain(a) > _plain(b),
    "greater_equal": lambda a, b: _plain(a) >= _plain(b),
}


def _plain(given: Any) -> Any:
    return given.quantity().value if isinstance(given, Numeric) else given


def _listed() -> str:
    return ", ".join([*FUNCTIONS, *OPERATIONS])


def apply(name: str, number: Numeric) -> Quantity:
    """A function of ``FUNCTIONS`` at a number, in double precision, with the error carried."""
    given = number.quantity()
    function, slope, _ = FUNCTIONS[name]
    x = float(number)
    try:
        value = function(x)
        moved = slope(x, value)
    except (ValueError, ZeroDivisionError, OverflowError):
        raise OutOfDomain(f"{name}({given}) has no value among the real numbers") from None
    # a number of more digits is rounded to a double first
    double = _made(x, [(given, 1.0)], _distance(given.value, x))
    # zeros of these functions are exact, but for those of exponentials, which are too small for a double
    is_rounded = math.isfinite(value) and (value or name == "exp")
    rounding = abs(value) * 2.0**-51 + SMALLEST if is_rounded else 0.0
    return _made(
        value, [(replace(double, digits=None), moved)], rounding, None, lambda: of_function(name, x, double.error)
    )


def _distance(value: Any, x: float) -> float:
    """How far a number of more digits is from a double."""
    if not hasattr(value, "_mpf_") or not math.isfinite(x):
        return 0.0

    with decimals(40):
        distance = float(abs(value - x))
    return distance * (1 + 2.0**-50) + SMALLEST if distance else 0.0
