"""The axes of a sweep: every value read and checked once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from theorem_engine.asking.point import read_letter
from theorem_engine.base.errors import BadRequest, OutOfDomain, TheoremEngineError
from theorem_engine.base.exact import NotANumber, read_number
from theorem_engine.language.domains import Interval
from theorem_engine.language.entry import Entry
from theorem_engine.language.letters import Letter
from theorem_engine.sweeping.grids import Grid

#: By letter and position along its axis, why a value is none of the letter's.
Refusals = Mapping[str, Mapping[int, str]]


def read_axes(
    entry: Entry, parameters: Mapping[str, Any], mask: bool
) -> tuple[dict[str, list[Any]], dict[str, Any], Refusals]:
    """Swept parameters with their values, fixed ones as they are, and what was refused, where gaps are allowed."""
    axes: dict[str, list[Any]] = {}
    fixed: dict[str, Any] = {}
    refused: dict[str, dict[int, str]] = {}
    letters = {letter.name: letter for letter in entry.given}
    for name, value in parameters.items():
        if not isinstance(value, (Grid, list, tuple, range)) and getattr(value, "ndim", 0) != 1:
            fixed[name] = value
            continue
        values = value.tolist() if _has_doubles(value) else list(value)
        if not values:
            raise BadRequest(f"{entry.id}: {name} is swept over no values")
        axes[name] = values
        if _is_within(letters[name], value, values):
            continue
        for position, one in enumerate(values):
            try:
                values[position] = read_letter(entry, letters[name], one)
            except OutOfDomain as error:
                if not mask:
                    raise
                values[position] = _as_given(one)
                refused.setdefault(name, {})[position] = str(error)
    return axes, fixed, refused


def read_rows(
    entry: Entry, rows: Sequence[Mapping[str, Any]], mask: bool
) -> tuple[list[dict[str, Any]], dict[int, str]]:
    """Points of several letters that go together, each read once, and what was refused."""
    letters = {letter.name: letter for letter in entry.given}
    found, refused = [], {}
    for position, row in enumerate(rows):
        try:
            found.append({name: read_letter(entry, letters[name], value) for name, value in row.items()})
        except TheoremEngineError as error:
            if not mask:
                raise
            found.append(dict(row))
            refused[position] = str(error)
    return found, refused


def _has_doubles(value: Any) -> bool:
    """Whether these are doubles of NumPy, which mean what Python's own do."""
    return str(getattr(value, "dtype", "")) == "float64"


def _is_within(letter: Letter, given: Any, values: Sequence[Any]) -> bool:
    """Whether many values are all in an interval by a look at the least and the largest; False if that does not tell.

    Doubles stay what they are when they are read, and so do the exact numbers of a grid.
    """
    if type(letter.domain) is not Interval:
        return False
    if isinstance(given, Grid):
        # from one end to the other
        ends = values[0], values[-1]
    elif _has_doubles(given):
        import numpy as np

        size = np.abs(given)
        # a NaN is in no order; the smallest and largest sizes are those that numbers may have
        if not (np.all((size == 0) | (size >= 1e-300)) and np.all(size <= 1e300)):
            return False
        ends = min(values), max(values)
    else:
        return False
    try:
        for end in ends:
            letter.domain.read(end)
    except ValueError:
        return False
    return True


def _as_given(value: Any) -> Any:
    """A value outside its domain, for the label of a gap: the number it is, or itself."""
    try:
        return read_number(value)
    except NotANumber:
        return value
