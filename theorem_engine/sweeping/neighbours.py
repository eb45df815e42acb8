"""Points of a sweep that lie between two others, along a letter on which solutions move without a jump.

Which points these are follows from the grid alone, never from what has been computed or where: so a sweep gives the
same numbers in one process, in many, on a cluster, and after it was stopped.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from theorem_engine.asking.evaluation import plan_of
from theorem_engine.asking.point import Point
from theorem_engine.base.exact import NotANumber, as_float, read_number
from theorem_engine.language.entry import Entry
from theorem_engine.language.statement import Unknown

#: One of so many points along a letter is solved from its own start.
STEP = 4


@dataclass(frozen=True)
class Place:
    """The numbers of the points on both sides, and how far it is from the left to the right one, from 0 to 1."""

    left: int
    right: int
    share: float


def neighbours(entry: Entry, points: Sequence[Mapping[str, Any]], read: Mapping[int, Point]) -> dict[int, Place]:
    """The points that lie between two others, with these; none where no recipe names a letter that is swept."""
    names = {options: continued_letters(entry, options) for options in {point.options for point in read.values()}}
    if not any(names.values()):
        return {}
    letter = _longest(points, {name for found in names.values() for name in found})
    if letter is None:
        return {}
    # points that differ in this letter alone and share their equations stand in one line
    lines: dict[Any, list[tuple[float, int]]] = {}
    for number, point in read.items():
        value = _number(points[number].get(letter))
        if value is None or letter not in names[point.options]:
            continue
        others = tuple((name, str(v)) for name, v in points[number].items() if name != letter)
        lines.setdefault((point.options, others), []).append((value, number))
    return {number: place for line in lines.values() for number, place in _places(sorted(line))}


def continued_letters(entry: Entry, options: Any) -> frozenset[str]:
    """The letters along which the recipe says that solutions move without a jump."""
    equations = plan_of(entry, options)[0].equations.values()
    return frozenset(x.name for e in equations if isinstance(e, Unknown) for x in e.continued)


def _places(line: Sequence[tuple[float, int]]) -> list[tuple[int, Place]]:
    """Every point of a line but each fourth and the last, between the two of these that are next to it."""
    found = []
    last = len(line) - 1
    for k, (value, number) in enumerate(line):
        before = k - k % STEP
        after = min(before + STEP, last)
        if k in (before, after):
            continue
        (low, left), (high, right) = line[before], line[after]
        if not low < value < high:
            continue
        # solutions are rather powers of a positive letter than lines
        share = math.log(value / low) / math.log(high / low) if low > 0 else (value - low) / (high - low)
        found.append((number, Place(left, right, share)))
    return found


def _longest(points: Sequence[Mapping[str, Any]], letters: set[str]) -> str | None:
    """The letter that takes the most values, of those that take three or more; None if there is none."""
    values = {name: {str(point[name]) for point in points if name in point} for name in letters}
    counts = {name: len(found) for name, found in sorted(values.items()) if len(found) > 2}
    return max(counts, key=counts.__getitem__, default=None)


def _number(value: Any) -> float | None:
    try:
        number = as_float(read_number(value))
    except (NotANumber, TypeError, OverflowError):
        return None
    return number if math.isfinite(number) else None
