"""Outputs against the ranges their entries declare: a value outside is never returned silently."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from theorem_engine.base.errors import NotConverged
from theorem_engine.base.text import number_text
from theorem_engine.language.domains import Interval

if TYPE_CHECKING:
    from theorem_engine.language.entry import Entry
    from theorem_engine.language.statement import Statement

#: A double beyond an end by no more than this part of the end is the end, rounded.
ROUNDED = 8 * 2.0**-53


def within_ranges(
    entry: Entry, statement: Statement, values: Mapping[Any, Any], errors: Callable[[], Mapping[Any, Any]]
) -> Mapping[Any, Any]:
    """The values, those beyond a closed end of their range by no more than their error moved onto it.

    NotConverged where a value lies further outside; without a range every finite number, complex ones too, is inside.
    ``errors`` is called only if one lies outside at all.
    """
    moved: dict[Any, Any] = {}
    for name, output in entry.outputs.items():
        if output.range is not None and not isinstance(output.range, Interval):
            continue
        for symbol in statement.output_leaves.get(name, ()):
            if symbol not in values:
                continue
            value = values[symbol]
            if output.range is None:
                _refuse_infinite(entry, name, value)
                continue
            if isinstance(value, (bool, complex)) or not _is_number(value) or output.range.has(value):
                continue
            moved[symbol] = _onto_end(entry, name, output.range, value, partial(_error, errors, symbol))
    return {**values, **moved} if moved else values


def _refuse_infinite(entry: Entry, name: str, value: Any) -> None:
    if hasattr(value, "__abs__") and getattr(value, "ndim", 0) == 0 and abs(value) == math.inf:
        raise NotConverged(f"{entry.id}: {name} is beyond the largest number of this precision")


def _error(errors: Callable[[], Mapping[Any, Any]], symbol: Any) -> Any:
    return errors()[symbol]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) or hasattr(value, "_mpf_")


def _onto_end(entry: Entry, name: str, interval: Interval, value: Any, error: Callable[[], Any]) -> Any:
    """The end that a value is not told from; an error where there is none."""
    end, is_open = (
        (interval.low, interval.is_open_below) if value <= interval.low else (interval.high, interval.is_open_above)
    )
    shown = f"{name} = {number_text(value, 3)}"
    where = f"its range {interval.describe()}"
    if abs(value) == math.inf and is_open:
        raise NotConverged(f"{entry.id}: {shown}, beyond the largest number of this precision, is outside {where}")
    if math.isfinite(end) and abs(value) != math.inf:
        exact = Fraction(end)
        place = exact.numerator / (type(value)(exact.denominator) if hasattr(value, "_mpf_") else exact.denominator)
        beyond = abs(value - place)
        is_rounded = not hasattr(value, "_mpf_") and beyond <= ROUNDED * abs(place)
        if is_rounded or beyond <= error():
            if not is_open:
                return place
            raise NotConverged(f"{entry.id}: {shown} is not told from {end}, the open end of {where}")
    raise NotConverged(f"{entry.id}: {shown} is outside {where}")
