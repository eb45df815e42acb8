"""Values that are swept: grids, evenly or geometrically spaced, and batches of points that go together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from theorem_engine.base.errors import BadRequest
from theorem_engine.base.exact import NotANumber, as_float, as_fraction, read_number, to_text

#: A sweep larger than this is refused: its data set would not fit a workstation.
MAX_POINTS = 10_000_000


@dataclass(frozen=True)
class Grid:
    """Equally (or geometrically) spaced values, exact where the ends are."""

    values: tuple[Any, ...]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)


def grid(low: Any, high: Any, count: int, log: bool = False, whole: bool = False) -> Grid:
    """Values from low to high, both included; ``log=True`` spaces them geometrically.

    ``whole=True`` rounds them to whole numbers and keeps each once, so that there may be fewer than ``count``.

    >>> [float(v) for v in grid(0, 1, 5)]
    [0.0, 0.25, 0.5, 0.75, 1.0]
    >>> list(grid(1, 1000, 7, log=True, whole=True))
    [1, 3, 10, 32, 100, 316, 1000]
    """
    if whole:
        return _whole(grid(low, high, count, log), low, high)
    try:
        first, last = read_number(low), read_number(high)
    except NotANumber as reason:
        raise BadRequest(f"grid({low!r}, {high!r}): an end {reason}") from None
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MAX_POINTS:
        raise BadRequest(f"grid: count={count!r} is not a whole number from 1 to {MAX_POINTS}")
    if not (math.isfinite(as_float(first)) and math.isfinite(as_float(last))):
        raise BadRequest("grid: both ends must be finite")
    if count == 1:
        return Grid((first,))
    if log:
        a, b = as_float(first), as_float(last)
        if not (a > 0 and b > 0):
            raise BadRequest("grid: a geometric grid needs positive ends")
        inner = [_short(a * (b / a) ** (i / (count - 1))) for i in range(1, count - 1)]
        return Grid((first, *inner, last))
    a_exact, b_exact = as_fraction(first), as_fraction(last)
    if a_exact is None or b_exact is None:
        raise BadRequest("grid: the ends of an even grid must be rational; use decimals")
    step = (b_exact - a_exact) / (count - 1)
    shared = math.lcm(a_exact.denominator, step.denominator)
    begin, stride = (int(part * shared) for part in (a_exact, step))
    return Grid(tuple(Fraction(begin + i * stride, shared) for i in range(count)))


def _short(value: float) -> float:
    """The decimal of twelve digits that rounding has moved a value from, if there is one: decades are whole numbers.

    >>> _short(100.00000000000001), _short(0.3333333333333333)
    (100.0, 0.3333333333333333)
    """
    decimal = float(f"{value:.12g}")
    return decimal if abs(decimal - value) <= 8 * math.ulp(value) else value


def _whole(values: Grid, low: Any, high: Any) -> Grid:
    """The nearest whole numbers, each once; the ends must be whole themselves."""
    for end in (low, high):
        fraction = as_fraction(read_number(end))
        if fraction is None or fraction.denominator != 1:
            raise BadRequest(f"grid: {to_text(end)} is not a whole number; with whole=True both ends must be")
    exact = [as_fraction(v) for v in values]
    return Grid(tuple(dict.fromkeys(math.floor(v + Fraction(1, 2)) for v in exact if v is not None)))


@dataclass(frozen=True)
class Batch:
    """Points that go together: one dimension, several letters, a value of each per row."""

    dimension: str
    rows: tuple[Mapping[str, Any], ...]


def batch(dimension: str, **columns: Any) -> Batch:
    """Points along one named dimension, given by equally long columns.

    >>> len(batch("run", kappa=[0.1, 0.2], nu=[0.3, 0.4]).rows)
    2
    """
    listed = {name: list(values) for name, values in columns.items()}
    if not listed or len({len(values) for values in listed.values()}) != 1:
        raise BadRequest(f"batch {dimension!r}: all columns must have the same length")
    return Batch(dimension, tuple(dict(zip(listed, row, strict=True)) for row in zip(*listed.values(), strict=True)))
