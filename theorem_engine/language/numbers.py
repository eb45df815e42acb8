"""Lists of numbers as values of a letter: each list is a statement of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from theorem_engine.base.exact import NotANumber, as_fraction, read_number
from theorem_engine.language.domains import Domain, Rejected

if TYPE_CHECKING:
    from numpy.random import Generator


@dataclass(frozen=True)
class Numbers(Domain):
    """A list of rational numbers, as text "1, 1/2, 1/4" or as a sequence; its exact form is text.

    >>> Numbers(positive=True).read([1, "0.5"])
    '1, 1/2'
    """

    positive: bool = False
    most: int = 200
    is_option = True
    is_list = True

    def read(self, given: Any) -> str:
        """The numbers as fractions, separated by commas."""
        if isinstance(given, str):
            given = given.strip().removeprefix("[").removesuffix("]").split(",")
        is_list = isinstance(given, Iterable) and not isinstance(given, (bytes, Mapping, set))
        if not is_list or getattr(given, "ndim", 1) != 1:
            raise NotANumber("is no list of numbers")
        found = []
        for part in given:
            number = as_fraction(read_number(part))
            if number is None:
                raise Rejected("is no list of rational numbers")
            if self.positive and number <= 0:
                raise Rejected(f"has {number}; {self.describe()}")
            found.append(number)
            if len(found) > self.most:
                raise Rejected(f"is too long; {self.describe()}")
        if not found:
            raise Rejected(f"is empty; {self.describe()}")
        return ", ".join(map(str, found))

    def describe(self) -> str:
        """What is accepted."""
        kind = "positive rational numbers" if self.positive else "rational numbers"
        return f"a list of up to {self.most} {kind}, such as '1, 1/2, 1/4'"

    def draw(self, rng: Generator, typical: tuple[Any, ...] | None) -> str:
        """Five numbers, so that lists of two letters fit each other."""
        return ", ".join(f"{rng.integers(1, 10)}/{rng.integers(1, 10)}" for _ in range(5))


def numbers_of(text: str) -> tuple[Fraction, ...]:
    """The numbers of a list in its exact form.

    >>> numbers_of("1, 1/2")
    (Fraction(1, 1), Fraction(1, 2))
    """
    return tuple(Fraction(part) for part in text.split(","))
