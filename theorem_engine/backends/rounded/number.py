"""Doubles, or arrays of them, that carry a bound of their own absolute error.

Every NumPy or SciPy function of them gives its own value, and for the error: the rounding of that function, and
the errors of its arguments through its slope, or through its values at both ends where an error is wide.
What cannot be told is infinite.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import special

from theorem_engine.backends.rounded import scalars
from theorem_engine.backends.rounded.arrays import FUNCTION, NARROW, NORMAL, TINY, UNIT, quick_error
from theorem_engine.backends.rounded.scalars import SMALLEST
from theorem_engine.base.exact import as_fraction

__all__ = [
    "FUNCTION", "NARROW", "NORMAL", "SMALLEST", "UNIT", "Rounded", "bound_of", "each_place", "error_of", "reported",
    "rounding_of", "spread", "underflow", "value_of", "with_error",
]  # fmt: skip


#: The error of an infinity that is an overflow, of a number known to lie beyond the largest double; one over that.
BEYOND = float(np.finfo(np.float64).max)


def _quick(rule: Callable[..., scalars.Pair | None], name: str) -> Callable[[Any, Any], Any]:
    """An operation on two single numbers by floats, on others by the careful way."""
    careful = _OPERATORS[name.replace("__r", "__")]
    is_turned = name.startswith("__r")

    def operate(self: Rounded, other: Any) -> Any:
        # written out: this is where the time of a prediction's error goes
        if type(self.value) is np.float64 and type(self.error) is float:
            kind = type(other)
            if kind is Rounded:
                its = (float(other.value), other.error) if type(other.value) is np.float64 else None
            elif kind is int or kind is float or kind is np.float64:
                its = (float(other), 0.0) if kind is not int or abs(other) < 2**53 else None
            else:
                its = None
            if its is not None and type(its[1]) is float:
                mine = float(self.value)
                found = rule(*its, mine, self.error) if is_turned else rule(mine, self.error, *its)
                if found is not None:
                    return _single(*found)
        return _by_arrays(careful, [other, self] if is_turned else [self, other])

    return operate


#: What the signs of arithmetic stand for.
_OPERATORS = {
    "__add__": np.add, "__sub__": np.subtract, "__mul__": np.multiply, "__truediv__": np.divide, "__pow__": np.power,
}  # fmt: skip


def _single(value: float, error: float) -> Rounded:
    """A number with its error, both of which are floats."""
    made: Rounded = object.__new__(Rounded)
    made.value, made.error = np.float64(value), error
    return made


def _pair(x: Any) -> scalars.Pair | None:
    """A single real number and its error, as floats."""
    kind = type(x)
    if kind is Rounded:
        return (float(x.value), x.error) if type(x.value) is np.float64 and type(x.error) is float else None
    if kind is float or kind is np.float64 or (kind is int and abs(x) < 2**53):
        return float(x), 0.0
    return None


class Rounded(np.lib.mixins.NDArrayOperatorsMixin):
    """A number or an array, and a bound of the absolute error of each."""

    __slots__ = ("error", "value")

    def __init__(self, value: Any, error: Any = 0.0) -> None:
        if type(value) is float and type(error) is float:
            self.value, self.error = np.float64(value), error
            return
        self.value = value if np.ndim(value) or isinstance(value, complex) else np.float64(value)
        self.error = error if np.ndim(error) else float(error)

    @property
    def real(self) -> Rounded:
        """The real part; its error is no larger."""
        return Rounded(np.real(self.value), self.error)

    @property
    def imag(self) -> Rounded:
        """The imaginary part; its error is no larger."""
        return Rounded(np.imag(self.value), self.error)

    @staticmethod
    def up_to(value: Any, left: Any) -> Rounded:
        """A value of which a term of the size of ``left`` is missing."""
        shape = np.shape(value_of(left))
        missing = np.abs(value_of(left)) + error_of(left)
        return Rounded((value_of(value) + np.zeros(shape))[()], error_of(value) + missing)

    def __float__(self) -> float:
        return float(np.real(self.value))

    def __bool__(self) -> bool:
        return bool(self.value)

    def __getitem__(self, place: Any) -> Rounded:
        """A part of an array; ``[()]`` makes a number of an array without axes."""
        value = np.asarray(self.value)
        return Rounded(value[place], np.broadcast_to(self.error, value.shape)[place])

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Value by the function itself; error by its rounding and by what its arguments bring."""
        if method != "__call__" or kwargs:
            return NotImplemented
        if len(inputs) == 1:
            rule = scalars.FUNCTIONS.get(ufunc)
            if rule is not None and (mine := _pair(self)) is not None:
                with np.errstate(all="ignore"):
                    known = float(ufunc(self.value))
                own = rule(known, *mine)
                if own is not None:
                    return _single(known, own)
        elif ufunc in scalars.OPERATIONS:
            # a double of NumPy on the left asks its own operation first
            pairs = [_pair(x) for x in inputs]
            if pairs[0] is not None and pairs[1] is not None:
                found = scalars.OPERATIONS[ufunc](*pairs[0], *pairs[1])
                if found is not None:
                    return _single(*found)
        return _by_arrays(ufunc, inputs)

    __add__, __radd__ = _quick(scalars.plus, "__add__"), _quick(scalars.plus, "__radd__")
    __sub__, __rsub__ = _quick(scalars.minus, "__sub__"), _quick(scalars.minus, "__rsub__")
    __mul__, __rmul__ = _quick(scalars.times, "__mul__"), _quick(scalars.times, "__rmul__")
    __truediv__, __rtruediv__ = _quick(scalars.over, "__truediv__"), _quick(scalars.over, "__rtruediv__")
    __pow__ = _quick(scalars.power, "__pow__")

    def __neg__(self) -> Rounded:
        """A sign changes no error."""
        return Rounded(-self.value, self.error)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """A choice between two; no other function of arrays is known."""
        if function is not np.where or kwargs or len(args) != 3:
            return NotImplemented
        condition, yes, no = args
        return Rounded(
            np.where(condition, value_of(yes), value_of(no))[()],
            np.where(condition, error_of(yes), error_of(no))[()],
        )


def _by_arrays(ufunc: Any, inputs: Sequence[Any]) -> Any:
    """Value and error of any function, in few passes where that goes."""
    plain = [value_of(x) for x in inputs]
    with np.errstate(all="ignore"):
        result = ufunc(*plain)
        if np.asarray(result).dtype.kind == "b":
            return result
        errors = [error_of(x) for x in inputs]
        quick = quick_error(ufunc, plain, errors, result)
        if quick is not None:
            return Rounded(result, quick)
        error = _own(ufunc, plain, result) + _carried(ufunc, plain, errors, result)
        return Rounded(result, _settled(ufunc, error, result, plain, errors))


def value_of(x: Any) -> Any:
    """The number itself."""
    return x.value if isinstance(x, Rounded) else x


def error_of(x: Any) -> Any:
    """The bound of its error; nothing for a plain number."""
    return x.error if isinstance(x, Rounded) else 0.0


def underflow(value: Any) -> Any:
    """What a sum of many terms may have lost below the smallest normal double: that double, or nothing above it."""
    return np.where(np.abs(value) < NORMAL, NORMAL, 0.0)[()]


def spread(x: Any) -> Any:
    """With one trailing axis more, for the nodes of a rule, if it is an array."""
    if isinstance(x, Rounded):
        if not np.ndim(x.value) and not np.ndim(x.error):
            return x
        value, error = np.broadcast_arrays(x.value, x.error)
        return Rounded(value[..., None], error[..., None])
    return np.asarray(x)[..., None] if np.ndim(x) else x


def each_place(method: Callable[..., list[Any]], values: tuple[Any, ...]) -> list[Any]:
    """A method of single numbers at each place of broadcast arrays; what is no number passes as it is."""
    shape = np.broadcast_shapes(*[np.shape(value_of(v)) for v in values]) if values else ()
    if shape == ():
        return method(*values)
    rows = []
    for place in np.ndindex(shape):
        here = [
            Rounded(np.broadcast_to(v.value, shape)[place], np.broadcast_to(v.error, shape)[place])
            if isinstance(v, Rounded)
            else np.broadcast_to(v, shape)[place]
            if np.ndim(v)
            else v
            for v in values
        ]
        rows.append(method(*here))
    return [
        Rounded(
            np.array([float(value_of(r)) for r in column]).reshape(shape),
            np.array([float(error_of(r)) for r in column]).reshape(shape),
        )
        for column in zip(*rows, strict=True)
    ]


def _settled(ufunc: Any, error: Any, result: Any, plain: list[Any], errors: list[Any]) -> Any:
    """Unknown errors are infinite; an infinity is exact where an argument is one exactly, and an overflow elsewhere."""
    if np.all(np.isfinite(error)) and np.all(np.isfinite(result)):
        return error
    error = np.where(np.isnan(error), np.inf, error)
    was_infinite, was_beyond = np.zeros((), dtype=bool), np.zeros((), dtype=bool)
    for x, known in zip(plain, errors, strict=True):
        was_infinite = was_infinite | (np.isinf(x) & (known < BEYOND))
        was_beyond = was_beyond | (np.isinf(x) & (known == BEYOND))
    overflow = np.where(
        was_beyond & _keeps_size(ufunc, plain, errors) | _overflows(ufunc, plain, errors), BEYOND, np.inf
    )
    error = np.where(np.isinf(result), np.where(was_infinite & ~was_beyond, 0.0, overflow), error)
    return np.where(np.isnan(result), np.inf, error)[()]


def _overflows(ufunc: Any, plain: list[Any], errors: list[Any]) -> Any:
    """Whether an exponential or hyperbolic function lies beyond the largest double for certain."""
    if ufunc not in (np.exp, np.cosh, np.sinh) or np.iscomplexobj(plain[0]):
        return np.zeros((), dtype=bool)
    size = plain[0] if ufunc is np.exp else np.abs(plain[0])
    return np.isfinite(plain[0]) & np.isinf(ufunc(size - errors[0]))


def _keeps_size(ufunc: Any, plain: list[Any], errors: list[Any]) -> bool | Any:
    """Whether what lies beyond the largest double does so after this operation: sums, and products by one or more."""
    if ufunc in (np.add, np.subtract):
        return True
    if ufunc is np.multiply:
        return np.minimum(*(np.abs(x) - np.where(np.isinf(x), 0.0, e) for x, e in zip(plain, errors, strict=True))) >= 1
    return ufunc is np.negative


def _own(ufunc: Any, plain: list[Any], result: Any) -> Any:
    """Rounding of the function itself."""
    if ufunc in _EXACT:
        return 0.0
    size = np.abs(result)
    if ufunc in (np.add, np.subtract):
        # what an addition rounds away is a double itself
        a, b = plain[0], plain[1] if ufunc is np.add else np.negative(plain[1])
        part = result - a
        return np.abs((a - (result - part)) + (b - part))
    if ufunc in _WITHIN_HALF:
        own = UNIT * size
        if ufunc is np.multiply and _are_whole(plain) and np.all(size < 2.0**53):
            return 0.0
    elif ufunc in _SQUARING:
        own = (FUNCTION + _SQUARING[ufunc] * UNIT * np.abs(plain[0]) ** 2) * size
    else:
        own = FUNCTION * size
    if np.all(size >= NORMAL):
        return own
    is_zero = np.zeros((), dtype=bool)
    for x in plain:
        is_zero = is_zero | (x == 0)
    # libraries give up erfc and its like a little above the smallest double
    return own + np.where((size < NORMAL) & ~is_zero, TINY if ufunc in _SQUARING else SMALLEST, 0.0)[()]


def _are_whole(plain: list[Any]) -> bool:
    return all(not np.iscomplexobj(x) and np.all(np.equal(np.floor(x), x)) for x in plain)


def _carried(ufunc: Any, plain: list[Any], errors: list[Any], result: Any) -> Any:
    """What the errors of the arguments make of the result."""
    if not any(np.any(e) for e in errors):
        return 0.0
    if ufunc in _ADDITIVE:
        return sum(errors)
    if ufunc is np.multiply:
        (a, b), (ea, eb) = map(np.abs, plain), errors
        return _times(a, eb) + _times(b, ea) + _times(ea, eb)
    if ufunc is np.divide:
        b, (ea, eb) = np.abs(plain[1]), errors
        top = ea + _times(np.abs(result), eb)
        # an error that underflows is not nothing
        least = np.where(np.equal(top, 0), 0.0, SMALLEST)
        # one over what lies beyond the largest double
        least = np.where(np.isinf(b) & (eb == BEYOND), (np.abs(plain[0]) + ea) * TINY + SMALLEST, least)
        return np.where(eb < b, np.maximum(top / np.where(eb < b, b - eb, 1.0), least), np.inf)[()]
    if ufunc is np.exp and not np.iscomplexobj(result):
        return _times(np.abs(result), np.expm1(errors[0]))
    if ufunc is np.cosh and not np.iscomplexobj(result) and np.all(errors[0] <= 1):
        # its slope, and half the square of the error where that vanishes
        return _times(np.abs(np.sinh(plain[0])), 1.2 * errors[0]) + _times(np.abs(result), errors[0] ** 2)
    total: Any = 0.0
    for position, error in enumerate(errors):
        if np.any(error):
            total = total + _through(ufunc, plain, position, result, error)
    if ufunc is np.power and np.any(is_beyond := np.isinf(plain[0]) & np.equal(errors[0], BEYOND)):
        is_small = (plain[1] <= -1) & np.equal(errors[1], 0)
        total = np.where(is_beyond, np.where(is_small, TINY, np.inf), total)[()]
    return total


def _times(size: Any, error: Any) -> Any:
    """A product in which no error is nothing, however large its partner, and which does not underflow to nothing."""
    is_nothing = np.equal(error, 0) | np.equal(size, 0) & np.isfinite(error)
    return np.where(is_nothing, 0.0, np.maximum(size * error, SMALLEST))[()]


def _through(function: Callable[..., Any], plain: list[Any], position: int, result: Any, error: Any) -> Any:
    """|df/dx| times an error of x by differences: over the error if that is wide, else over a step above rounding."""
    step = np.maximum(np.maximum(error, NARROW * np.abs(plain[position])), 1e-290)
    # a slope is not told from differences that are rounding themselves
    changes = []
    for sign in (1, -1):
        moved = list(plain)
        moved[position] = plain[position] + sign * step
        changes.append(np.abs(function(*moved) - result))
    both = np.array(np.broadcast_arrays(*changes))
    # outside the domain on one side there is nothing to compare with; on both sides nothing is known
    worst = np.max(np.where(np.isnan(both), -1.0, both), axis=0)
    worst = np.where(worst < 0, np.inf, worst)
    return _times(worst, np.minimum(error / step, 1.0))


_EXACT = {
    np.negative, np.positive, np.absolute, np.conjugate, np.maximum, np.minimum, np.sign, np.floor, np.ceil,
}  # fmt: skip
_WITHIN_HALF = {np.multiply, np.divide, np.sqrt, np.square}
_ADDITIVE = {np.add, np.subtract, np.negative, np.positive, np.absolute, np.conjugate}
#: Functions that take the exponential of a rounded square: how much of it, in units. ndtr rounds its argument first.
_SQUARING: dict[Any, float] = {special.erfc: 1.0, special.ndtr: 2.0}


def with_error(value: Any, number: Any) -> Any:
    """The nearest double of an exact value, and how far it is from it; what is no number stays as it is."""
    if isinstance(number, complex):
        return Rounded(number, UNIT * abs(number))
    if not isinstance(number, float):
        return number
    exact = as_fraction(value)
    if exact is None or not np.isfinite(number):
        return Rounded(number, 0.0 if exact is None and np.isinf(number) else 2 * UNIT * abs(number))
    gap = abs(exact - Fraction(*number.as_integer_ratio()))
    return Rounded(number, 1.001 * float(gap) if gap else 0.0)


def bound_of(value: Any) -> Any:
    """The bound that a result carries, an array of them for an array; unknown is infinite."""
    if not hasattr(value, "error"):
        return rounding_of(value)
    # sums of errors are rounded themselves
    error = np.where(np.isnan(value.error), np.inf, 1.01 * np.asarray(value.error))
    error = np.broadcast_to(error, np.broadcast_shapes(np.shape(value.value), error.shape))
    return error if error.ndim else float(error)


def rounding_of(constant: Any) -> float:
    """Error of an output that depends on no letter: a few roundings, or none for whole numbers."""
    number = abs(constant) if isinstance(constant, (int, float, complex)) else 0.0
    is_exact = isinstance(constant, bool) or not math.isfinite(number) or number == int(number)
    return 0.0 if is_exact else number * 2.0**-50


def reported(notes: Sequence[Any], count: int) -> list[Any]:
    """Errors that an operator reported of its results, one for each or one for all; infinite if it said nothing.

    Several reports add up; NaN stands for unknown, None for a remark that is not about errors.
    """
    total: list[Any] = [0.0] * count
    spoken = [note.error for note in notes if note.error is not None]
    for error in spoken:
        each = error if isinstance(error, list) else [error] * count
        for i in range(count):
            own = np.asarray(each[min(i, len(each) - 1)], dtype=float)
            total[i] = total[i] + np.where(np.isnan(own), np.inf, own)
    return total if spoken else [np.inf] * count
