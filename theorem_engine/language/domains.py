"""Where a letter lives: what it accepts, how that is said, and what SymPy may assume of it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from theorem_engine.base.errors import nearest
from theorem_engine.base.exact import Exact, NotANumber, as_float, as_fraction, compare, read_number, to_text

if TYPE_CHECKING:
    from numpy.random import Generator

#: Ends of ranges for unbounded letters that state no typical one.
WIDE = 10.0


class Rejected(ValueError):
    """A number outside its domain; callers add the letter and the entry."""


class Domain:
    """Base of all domains; a new one derives from it and says what it reads, how it is described and drawn."""

    #: Options choose which equations are built; letters of the other domains are symbols in them.
    is_option = False
    #: Whether a value can be made up for a test.
    can_be_drawn = True
    #: Whether values are whole numbers.
    is_whole = False
    #: Whether one value is a list, so that the commas in its text are its own and not those of several values.
    is_list = False

    def read(self, given: Any) -> Any:
        """The value in exact form, which it reads again as it is; NotANumber or Rejected with the reason."""
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

    def draw(self, rng: Generator, typical: tuple[Any, ...] | None) -> Any:
        """A value made up for a test, short enough to be written down; of those that are typical, if they are known."""
        raise TypeError(f"no way to draw from {type(self).__name__}")

    def examples(self) -> tuple[Any, ...]:
        """Values under which an entry states what it does not state otherwise, where none can be drawn."""
        return ()


class Structured:
    """Base of exact values that are more than one real number; what the engine has to know about such a value."""

    #: Whether many of them make an array of numbers; if not, points that share one are evaluated together.
    stacks = True

    def single(self) -> Any:
        """The one exact number that conditions on a letter compare; None if it is no single number."""
        return None

    def plain(self) -> Any:
        """The value as simulators read it: plain numbers, or a mapping of them."""
        raise NotImplementedError

    def as_number(self, real: Callable[[Any], Any], complex_of: Callable[[Any, Any], Any]) -> Any:
        """The value as a backend has it: ``real`` makes its numbers, ``complex_of`` joins two of them."""
        raise NotImplementedError


class Measured:
    """Base of options made of numbers in double precision, as those of a file are: they have no more digits."""

    #: Digits that are sure to be those of the numbers meant, after a few roundings.
    digits = 13


@dataclass(frozen=True)
class Interval(Domain):
    """A real interval with rational or infinite ends; a closed infinite end admits infinity.

    >>> Interval(0, math.inf, left_open=True).describe()
    '(0, oo)'
    """

    low: Fraction | int | float
    high: Fraction | int | float
    left_open: bool | None = None
    right_open: bool | None = None

    def _right_open(self) -> bool:
        return self.high == math.inf if self.right_open is None else self.right_open

    @property
    def is_open_below(self) -> bool:
        """Whether the lower end is left out."""
        return self.low == -math.inf if self.left_open is None else self.left_open

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
        if below < 0 or above > 0 or (below == 0 and self.is_open_below) or (above == 0 and self._right_open()):
            raise Rejected(f"is outside {self.describe()}")
        return value

    def has(self, value: Any) -> bool:
        """Whether a number of any kind lies in the interval."""
        if self.low < value < self.high:
            return True
        at_low = value == self.low and not self.is_open_below
        return bool(at_low or (value == self.high and not self.is_open_above))

    def describe(self) -> str:
        """Brackets as in mathematics."""
        left = "(" if self.is_open_below else "["
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

    def draw(self, rng: Generator, typical: tuple[Any, ...] | None) -> float:
        """A decimal of three digits; on a logarithmic scale if the range has several powers of ten."""
        low, high = map(float, typical or (max(float(self.low), -WIDE), min(float(self.high), WIDE)))
        if low > 0 and high / low > 20:
            return float(f"{math.exp(rng.uniform(math.log(low), math.log(high))):.3g}")
        value = float(f"{rng.uniform(low, high):.3g}")
        return min(max(value, low), high) if value or not self.left_open else high / 2

    def _admits_infinity(self) -> bool:
        return (self.high == math.inf and not self._right_open()) or (self.low == -math.inf and not self.is_open_below)


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
    is_whole = True

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

    def draw(self, rng: Generator, typical: tuple[Any, ...] | None) -> int:
        """Evenly spread on a logarithmic scale."""
        low, high = typical or (self.low, self.high if self.high is not None else self.low + 20)
        shift = 1 - low
        return round(math.exp(rng.uniform(0, math.log(high + shift)))) - shift


class Named(Domain):
    """What is chosen by one of a few ``names``, or given in another way that its class reads."""

    names: tuple[str, ...]
    is_option = True

    def to_json(self) -> Any:
        """The names, for a form."""
        return list(self.names)

    def draw(self, rng: Generator, typical: tuple[Any, ...] | None) -> str:
        """One of the names."""
        return drawn_name(self.names, rng, typical)


@dataclass(frozen=True)
class Choice(Named):
    """One of a few names."""

    names: tuple[str, ...]

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
class Expression(Named):
    """A function: one of a few names, or an expression of one letter, as text or from SymPy."""

    names: tuple[str, ...]

    def read(self, given: Any) -> Any:
        """A known name or an expression; text is read by a grammar of its own and never evaluated."""
        if isinstance(given, str):
            from theorem_engine.language.written_functions import function_of, is_word

            return Choice(self.names).read(given) if given in self.names or is_word(given) else function_of(given)
        import sympy

        if not isinstance(given, sympy.Expr) or len(given.free_symbols) != 1:
            raise NotANumber("is neither a known name nor a SymPy expression of one letter")
        if given.atoms(sympy.Float):
            raise NotANumber("contains a binary number; write exact rationals, or digits are lost")
        return given

    def describe(self) -> str:
        """The names, and the open door."""
        listed = ", ".join(repr(name) for name in self.names)
        return f"one of {listed}, or an expression of one letter such as x^3 - 3*x, tanh(2*x) or max(0, x)"


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
        except NotANumber as error:
            if "beyond" in str(error) or "below" in str(error):
                raise
            raise NotANumber('is neither a real number nor one such as "1/2+3j"') from None

    def describe(self) -> str:
        """In words."""
        return "the complex numbers"

    def draw(self, rng: Generator, typical: tuple[Any, ...] | None) -> complex:
        """A number of the upper half plane, away from the real line."""
        return complex(round(rng.uniform(-3, 3), 3), round(rng.uniform(0.5, 3), 3))


_COMPLEX = re.compile(r"(?P<re>[+-]?[^+-]+(?:[eE][+-]?[0-9]+)?)\s*(?P<im>[+-]\s*[^+-]+(?:[eE][+-]?[0-9]+)?)j")


@dataclass(frozen=True)
class ComplexValue(Structured):
    """Exact real and imaginary parts."""

    real: Exact
    imaginary: Exact

    def single(self) -> Exact | None:
        """The real part, if there is no other."""
        return self.real if as_float(self.imaginary) == 0 else None

    def plain(self) -> complex:
        """A number of Python's own."""
        return complex(as_float(self.real), as_float(self.imaginary))

    def as_number(self, real: Callable[[Any], Any], complex_of: Callable[[Any, Any], Any]) -> Any:
        """Both parts, joined."""
        return complex_of(real(self.real), real(self.imaginary))

    def __str__(self) -> str:
        imaginary = to_text(self.imaginary)
        return f"{to_text(self.real)}{'' if imaginary.startswith('-') else '+'}{imaginary}j"


POSITIVE = Interval(0, math.inf, left_open=True)
NONNEGATIVE = Interval(0, math.inf)
REAL = Interval(-math.inf, math.inf)


def drawn_name(names: tuple[str, ...], rng: Generator, typical: tuple[Any, ...] | None) -> Any:
    """One of a few names, or of those that are typical."""
    chosen = typical or names
    return chosen[int(rng.integers(len(chosen)))]


def _end(number: Fraction | int | float) -> str:
    if math.isinf(number):
        return "oo" if number > 0 else "-oo"
    return str(number)
