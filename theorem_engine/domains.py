"""Where a letter lives: what it accepts, how that is said, and what SymPy may assume of it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from theorem_engine.errors import nearest
from theorem_engine.values import Exact, NotANumber, as_float, as_fraction, compare, read_number, to_text


class Rejected(ValueError):
    """A number outside its domain; callers add the letter and the entry."""


class Domain:
    """Base of all domains."""

    #: Options choose which equations are built; letters of the other domains are symbols in them.
    is_option = False
    #: Whether a value can be made up for a test.
    can_be_drawn = True

    def read(self, given: Any) -> Any:
        """The value in exact form; NotANumber or Rejected with the reason."""
        raise NotImplementedError

    def describe(self) -> str:
        """The domain in one phrase, as it appears in error messages."""
        raise NotImplementedError

    def assumptions(self) -> Mapping[str, bool]:
        """SymPy assumptions that hold for every value."""
        return {}

    def to_json(self) -> Any:
        """What a page or a form needs to know."""
        return self.describe()


@dataclass(frozen=True)
class Interval(Domain):
    """A real interval with rational or infinite ends; a closed infinite end admits infinity.

    >>> Interval(0, math.inf, left_open=True).describe()
    '(0, oo)'
    """

    low: Fraction | int | float
    high: Fraction | int | float
    left_open: bool = False
    right_open: bool | None = None

    def _right_open(self) -> bool:
        return self.high == math.inf if self.right_open is None else self.right_open

    @property
    def is_open_below(self) -> bool:
        """Whether the lower end is left out."""
        return self.left_open or self.low == -math.inf

    @property
    def is_open_above(self) -> bool:
        """Whether the upper end is left out."""
        return self._right_open()

    def read(self, given: Any) -> Exact:
        """A real number of the interval."""
        value = read_number(given)
        if type(value) is float and math.isfinite(value) and self.low < value < self.high:
            return value
        below, above = compare(value, self.low), compare(value, self.high)
        low_is_open = self.left_open or self.low == -math.inf
        if below < 0 or above > 0 or (below == 0 and low_is_open) or (above == 0 and self._right_open()):
            raise Rejected(f"is outside {self.describe()}")
        return value

    def describe(self) -> str:
        """Brackets as in mathematics."""
        left = "(" if self.left_open or self.low == -math.inf else "["
        right = ")" if self._right_open() else "]"
        return f"{left}{_end(self.low)}, {_end(self.high)}{right}"

    def assumptions(self) -> Mapping[str, bool]:
        """Reality and sign."""
        # A letter that may be infinite is only extended real to SymPy; its sign still holds.
        real = {"extended_real": True} if self._admits_infinity() else {"real": True}
        prefix = "extended_" if self._admits_infinity() else ""
        if self.low > 0 or (self.low == 0 and self.left_open):
            return {**real, f"{prefix}positive": True}
        if self.low == 0:
            return {**real, f"{prefix}nonnegative": True}
        return real

    def _admits_infinity(self) -> bool:
        return self.high == math.inf and not self._right_open()


@dataclass(frozen=True)
class OrWord(Interval):
    """A real interval, or a word that asks for another statement, in which the letter is not a number.

    >>> OrWord(0, math.inf, word="tuned").describe()
    "[0, oo), or 'tuned'"
    """

    word: str = ""

    def read(self, given: Any) -> Any:
        """A real number of the interval, or the word itself."""
        return given if isinstance(given, str) and given == self.word else super().read(given)

    def describe(self) -> str:
        """The interval and the word."""
        return f"{super().describe()}, or {self.word!r}"


@dataclass(frozen=True)
class Integers(Domain):
    """Whole numbers from ``low`` to ``high``."""

    low: int
    high: int | None = None

    def read(self, given: Any) -> int:
        """A whole number; 3.0 and "3" are the number three, 2.5 is refused."""
        value = read_number(given)
        fraction = as_fraction(value)
        if fraction is None or fraction.denominator != 1:
            raise Rejected(f"is not a whole number; {self.describe()}")
        number = int(fraction)
        if number < self.low or (self.high is not None and number > self.high):
            raise Rejected(f"is not among the {self.describe()}")
        return number

    def describe(self) -> str:
        """The range in words."""
        return f"integers >= {self.low}" if self.high is None else f"integers from {self.low} to {self.high}"

    def assumptions(self) -> Mapping[str, bool]:
        """Integrality and sign."""
        sign = {"positive": True} if self.low > 0 else {"nonnegative": True} if self.low == 0 else {}
        return {"integer": True, **sign}


@dataclass(frozen=True)
class Choice(Domain):
    """One of a few names."""

    names: tuple[str, ...]
    is_option = True

    def read(self, given: Any) -> str:
        """One of the names, exactly."""
        if not isinstance(given, str):
            raise NotANumber(f"is a {type(given).__name__}, not {self.describe()}")
        if given not in self.names:
            raise Rejected(f"is not {self.describe()}{nearest(given, self.names, 1)}")
        return given

    def describe(self) -> str:
        """The names."""
        return "one of " + ", ".join(repr(name) for name in self.names)

    def to_json(self) -> Any:
        """The names, for a form."""
        return list(self.names)


@dataclass(frozen=True)
class Switch(Choice):
    """Yes or no: a truth value, or the word true or false."""

    names: tuple[str, ...] = ("true", "false")

    def read(self, given: Any) -> Any:
        """A truth value."""
        return given if isinstance(given, bool) else super().read(given) == "true"

    def describe(self) -> str:
        """The two words."""
        return "true or false"


@dataclass(frozen=True)
class Expression(Domain):
    """A function: one of a few names, or a SymPy expression of one letter (from Python only)."""

    names: tuple[str, ...]
    is_option = True

    def read(self, given: Any) -> Any:
        """A known name or an expression; text is never parsed as mathematics."""
        if isinstance(given, str):
            return Choice(self.names).read(given)
        import sympy

        if not isinstance(given, sympy.Expr) or len(given.free_symbols) != 1:
            raise NotANumber("is neither a known name nor a SymPy expression of one letter")
        if given.atoms(sympy.Float):
            raise NotANumber("contains a binary number; write exact rationals, or digits are lost")
        return given

    def describe(self) -> str:
        """The names, and the open door."""
        return "one of " + ", ".join(repr(name) for name in self.names) + ", or a SymPy expression of one letter"

    def to_json(self) -> Any:
        """The names, for a form."""
        return list(self.names)


@dataclass(frozen=True)
class ComplexPlane(Domain):
    """Any finite complex number; text is "re", "re+imj" or "re-imj"."""

    def read(self, given: Any) -> Any:
        """A real number, or a pair of exact parts."""
        if isinstance(given, ComplexValue):
            return given
        if isinstance(given, complex) or type(given).__name__ in ("complex128", "complex64"):
            return ComplexValue(REAL.read(float(given.real)), REAL.read(float(given.imag)))
        if isinstance(given, str) and (match := _COMPLEX.fullmatch(given.strip())):
            return ComplexValue(REAL.read(match["re"]), REAL.read(match["im"].replace(" ", "")))
        try:
            return REAL.read(given)
        except NotANumber:
            raise NotANumber('is neither a real number nor one such as "1/2+3j"') from None

    def describe(self) -> str:
        """In words."""
        return "the complex numbers"


_COMPLEX = re.compile(r"(?P<re>[+-]?[^+-]+(?:[eE][+-]?[0-9]+)?)\s*(?P<im>[+-]\s*[^+-]+(?:[eE][+-]?[0-9]+)?)j")


@dataclass(frozen=True)
class ComplexValue:
    """Exact real and imaginary parts."""

    real: Exact
    imaginary: Exact

    def __str__(self) -> str:
        imaginary = to_text(self.imaginary)
        return f"{to_text(self.real)}{'' if imaginary.startswith('-') else '+'}{imaginary}j"


@dataclass(frozen=True)
class Lengths(Domain):
    """A length, or a finite distribution over lengths: {2: 0.5, 3: 0.5} or "uniform(1,3)"."""

    low: int = 1
    high: int = 10**12

    def read(self, given: Any) -> Distribution:
        """A distribution; a plain number is the one concentrated there."""
        whole = Integers(self.low, self.high)
        if isinstance(given, Distribution):
            given = dict(given.weights)
        if isinstance(given, Mapping):
            weights = {whole.read(length): read_number(weight) for length, weight in given.items()}
        elif isinstance(given, str) and given.strip().startswith("uniform("):
            ends = given.strip().removeprefix("uniform(").removesuffix(")").split(",")
            if len(ends) != 2 or not given.strip().endswith(")"):
                raise NotANumber('is not "uniform(first,last)"')
            first, last = (whole.read(end) for end in ends)
            if last < first or last - first >= 100_000:
                raise Rejected("names no length, or more than 100000 of them")
            weights = {n: Fraction(1, last - first + 1) for n in range(first, last + 1)}
        else:
            weights = {whole.read(given): 1}
        total: Any = sum(as_fraction(w) or Fraction(-1) for w in weights.values())
        if not weights or any(as_float(w) < 0 for w in weights.values()) or abs(total - 1) > Fraction(1, 10**12):
            raise Rejected("is not a distribution: weights must be >= 0 and sum to 1")
        return Distribution(tuple(sorted((n, w) for n, w in weights.items() if as_float(w) > 0)))

    def describe(self) -> str:
        """What is accepted."""
        return f"an integer from {self.low} to {self.high}, or a distribution over such integers"

    def assumptions(self) -> Mapping[str, bool]:
        """A length is a positive whole number."""
        return {"integer": True, "positive": True}


@dataclass(frozen=True)
class Distribution:
    """A finite distribution over whole numbers: pairs (number, exact weight)."""

    weights: tuple[tuple[int, Exact], ...]

    def __str__(self) -> str:
        if len(self.weights) == 1:
            return str(self.weights[0][0])
        return "{" + ", ".join(f"{n}: {w}" for n, w in self.weights) + "}"


POSITIVE = Interval(0, math.inf, left_open=True)
NONNEGATIVE = Interval(0, math.inf)
REAL = Interval(-math.inf, math.inf)


def _end(number: Fraction | int | float) -> str:
    if math.isinf(number):
        return "oo" if number > 0 else "-oo"
    return str(number)
