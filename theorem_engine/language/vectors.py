"""Vectors and single numbers as values of an option: the statement is written for them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from theorem_engine.base.exact import NotANumber, as_fraction, read_number
from theorem_engine.language.domains import Domain, Rejected
from theorem_engine.language.numbers import Numbers, numbers_of

if TYPE_CHECKING:
    from numpy.random import Generator


@dataclass(frozen=True)
class Vectors(Domain):
    """Several vectors of equal length with rational coordinates, as text "1, 1/2; 0, 1" or as rows of a sequence.

    Their exact form is text.

    >>> Vectors().read([[1, "0.5"], [0, 1]])
    '1, 1/2; 0, 1'
    """

    most: int = 16
    longest: int = 48
    is_option = True
    is_list = True

    def read(self, given: Any) -> str:
        """The coordinates as fractions, commas between them and semicolons between vectors."""
        if isinstance(given, str):
            given = given.strip().removesuffix(";").split(";")
        if not isinstance(given, Iterable) or getattr(given, "ndim", 1) == 0:
            raise NotANumber("is no list of vectors")
        rows = list(given)
        if rows and not any(isinstance(row, (str, Iterable)) for row in rows):
            # one vector without brackets around it
            rows = [rows]
        found = [Numbers(most=self.longest).read(row) for row in rows]
        if not 0 < len(found) <= self.most:
            raise Rejected(f"has {len(found)} vectors; {self.describe()}")
        if len({row.count(",") for row in found}) > 1:
            raise Rejected("has vectors of different lengths")
        return "; ".join(found)

    def describe(self) -> str:
        """What is accepted."""
        return f"up to {self.most} vectors of up to {self.longest} rational coordinates, such as '1, 1/2; 0, 1'"

    def draw(self, rng: Generator, typical: tuple[Any, ...] | None) -> str:
        """Two vectors in three dimensions, so that those of two letters fit each other."""
        return "; ".join(", ".join(f"{rng.integers(-8, 9)}/10" for _ in range(3)) for _ in range(2))


def rows_of(text: str) -> tuple[tuple[Fraction, ...], ...]:
    """The vectors of an exact form.

    >>> rows_of("1, 1/2; 0, 1")[0]
    (Fraction(1, 1), Fraction(1, 2))
    """
    return tuple(numbers_of(row) for row in text.split(";"))


@dataclass(frozen=True)
class Fixed(Domain):
    """One rational number that the statement is written for; its exact form is text.

    >>> Fixed(low=Fraction(1, 100), high=100, either_sign=True).read("-0.5")
    '-1/2'
    """

    low: Fraction | int
    high: Fraction | int
    #: Whether the size is meant, and the sign is free.
    either_sign: bool = False
    is_option = True

    def read(self, given: Any) -> str:
        """A fraction in the range."""
        number = as_fraction(read_number(given))
        if number is None:
            raise Rejected("is no rational number")
        size = abs(number) if self.either_sign else number
        if not self.low <= size <= self.high:
            raise Rejected(f"is outside what is served: {self.describe()}")
        return str(number)

    def describe(self) -> str:
        """The range."""
        return f"a rational number from {self.low} to {self.high}{', or minus one' if self.either_sign else ''}"

    def draw(self, rng: Generator, typical: tuple[Any, ...] | None) -> str:
        """A number of two digits."""
        low, high = typical or (self.low, self.high)
        size = round(float(rng.uniform(float(low), float(high))), 2)
        return str(-size if self.either_sign and rng.random() < 0.5 else size)
