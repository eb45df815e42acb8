"""Lengths of sequences: whole numbers, or finite distributions over them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from theorem_engine.base.exact import Exact, NotANumber, as_float, as_fraction, read_number
from theorem_engine.language.domains import Domain, Integers, Rejected, Structured

if TYPE_CHECKING:
    from numpy.random import Generator


@dataclass(frozen=True)
class Lengths(Domain):
    """A length, or a finite distribution over lengths: {2: 0.5, 3: 0.5}, "2:0.5,3:0.5" or "uniform(1,3)"."""

    low: int = 1
    high: int = 10**12
    is_whole = True

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
        elif isinstance(given, str) and ":" in given:
            weights = {whole.read(length): read_number(weight) for length, weight in _pairs(given)}
        else:
            weights = {whole.read(given): 1}
        total: Any = sum(as_fraction(w) or Fraction(-1) for w in weights.values())
        if not weights or any(as_float(w) < 0 for w in weights.values()) or abs(total - 1) > Fraction(1, 10**12):
            raise Rejected("is not a distribution: weights must be >= 0 and sum to 1")
        return Distribution(tuple(sorted((n, w) for n, w in weights.items() if as_float(w) > 0)))

    def draw(self, rng: Generator, typical: tuple[Any, ...] | None) -> int:
        """A single length, evenly spread on a logarithmic scale."""
        low, high = typical or (1, 12)
        return round(math.exp(rng.uniform(math.log(low), math.log(high))))

    def describe(self) -> str:
        """What is accepted."""
        whole = f"an integer from {self.low} to {self.high}"
        return f"{whole}, or a distribution over such integers, 'uniform(1,3)' or '2:0.5,4:0.5'"

    def assumptions(self) -> Mapping[str, bool]:
        """A length is a positive whole number."""
        return {"integer": True, "positive": True}


def _pairs(text: str) -> list[tuple[str, str]]:
    """Lengths and weights of a text such as ``2:0.5,4:0.5``, in braces or not."""
    body = text.strip()
    if body.startswith("{") and body.endswith("}"):
        body = body[1:-1]
    pairs = [part.partition(":") for part in body.split(",")]
    if len(pairs) > 100_000 or len({length.strip() for length, _, _ in pairs}) < len(pairs):
        raise NotANumber("names a length twice, or too many of them")
    if not all(sign and weight.strip() for _, sign, weight in pairs):
        raise NotANumber("is not length:weight,length:weight")
    return [(length, weight) for length, _, weight in pairs]


@dataclass(frozen=True)
class Distribution(Structured):
    """A finite distribution over whole numbers: pairs (number, exact weight)."""

    weights: tuple[tuple[int, Exact], ...]
    stacks = False

    def single(self) -> int | None:
        """The number that has all the weight, if there is one."""
        return self.weights[0][0] if len(self.weights) == 1 else None

    def plain(self) -> Any:
        """The number that has all the weight, or the weights by number."""
        return self.weights[0][0] if len(self.weights) == 1 else {n: as_float(w) for n, w in self.weights}

    def as_number(self, real: Callable[[Any], Any], complex_of: Callable[[Any, Any], Any]) -> Any:
        """Itself: the means over it read its weights."""
        return self

    def __str__(self) -> str:
        if len(self.weights) == 1:
            return str(self.weights[0][0])
        return "{" + ", ".join(f"{n}: {w}" for n, w in self.weights) + "}"
