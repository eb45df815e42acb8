"""A sweep taken apart into boxes: products of parts of the axes on which the equations are the same.

Every value is read once. Options, words and conditions divide the axes; where a condition divides the points in a way
that is no product of axes, there are no boxes.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property
from typing import Any

import numpy as np
import sympy

from theorem_engine.asking.point import Point, check_names, meets, read_letter
from theorem_engine.backends import get_backend
from theorem_engine.backends.rounded.number import UNIT, Rounded
from theorem_engine.base.errors import TheoremEngineError
from theorem_engine.base.exact import Constant, Root, as_float
from theorem_engine.language.conditions import Undecided
from theorem_engine.language.entry import Entry
from theorem_engine.language.letters import ABSENT, Letter

#: Values of one axis whose distance from their doubles is worked out one by one; beyond, a bound does.
FEW = 4096
#: The same for doubles, whose decimals have to be read.
FEW_DOUBLES = 64
#: Points at which a condition is decided in exact numbers, one by one.
MOST_EXACT = 20_000


class NoBoxes(Exception):
    """The points of a sweep are no union of products on which the equations are the same."""


@dataclass(frozen=True)
class Refused:
    """A value of an axis that is no value of its letter, and why."""

    reason: str


@dataclass(frozen=True)
class Column:
    """Values of one letter: along an axis, or one for all points."""

    axis: int | None
    values: Sequence[Any]

    @cached_property
    def numbers(self) -> Any:
        """The nearest doubles of values along an axis; NaN in the place of words and refusals."""
        return np.array([np.nan if isinstance(v, (str, Refused)) else as_float(v) for v in self.values])

    def at(self, positions: Sequence[Any]) -> Any:
        """The exact value at a place of the whole sweep."""
        return self.values[0 if self.axis is None else positions[self.axis]]


@dataclass(frozen=True)
class Box:
    """Points that share their equations: positions along every axis, the letters' values, the options."""

    positions: tuple[Any, ...]
    columns: Mapping[Letter, Column]
    options: Mapping[str, Any]
    #: Why there is nothing to evaluate here; no text where there is.
    reason: str = ""

    @property
    def shape(self) -> tuple[int, ...]:
        """Points along every axis."""
        return tuple(len(p) for p in self.positions)

    @cached_property
    def chosen(self) -> tuple[tuple[str, Any], ...]:
        """The options in the order in which statements are known by them."""
        return tuple(sorted(self.options.items(), key=lambda item: item[0]))

    def axes(self) -> dict[Any, frozenset[int]]:
        """The axes along which every letter varies."""
        return {x: frozenset() if c.axis is None else frozenset({c.axis}) for x, c in self.columns.items()}

    def point(self, place: Sequence[int]) -> Point:
        """One point; ``place`` counts within the box."""
        there = [p[i] for p, i in zip(self.positions, place, strict=True)]
        return Point(tuple(c.at(there) for c in self.columns.values()), self.chosen)

    def arrays(self, backend: str) -> list[Any]:
        """All letters as numbers of a backend, each along its axis."""
        return [self._array(column, backend) for column in self.columns.values()]

    def _array(self, column: Column, backend: str) -> Any:
        if column.axis is None:
            number = get_backend(backend).number(column.values[0])
            return np.float64(number) if isinstance(number, float) else number
        shape = [1] * len(self.positions)
        shape[column.axis] = -1
        positions = self.positions[column.axis]
        numbers = column.numbers[positions]
        if backend != "rounded":
            return numbers.reshape(shape)
        chosen = [column.values[i] for i in positions.tolist()]
        return Rounded(numbers.reshape(shape), _distances(chosen, numbers).reshape(shape))


def _distances(values: Sequence[Any], numbers: Any) -> Any:
    """How far doubles are from the values that they stand for, or a bound of it."""
    if len(values) > FEW_DOUBLES and all(isinstance(v, float) for v in values):
        # the decimal that a double prints as is nearer to it than to any other
        return np.where(np.isfinite(numbers), UNIT * np.abs(numbers), 0.0)
    if len(values) <= FEW:
        return np.array([_distance(v, x) for v, x in zip(values, numbers.tolist(), strict=True)])
    if all(isinstance(v, int) and abs(v) < 2**53 for v in values):
        return np.zeros(len(values))
    units = 2 if any(isinstance(v, (Root, Constant)) for v in values) else 1
    return np.where(np.isfinite(numbers), units * UNIT * np.abs(numbers), 0.0)


def _distance(value: Any, number: float) -> float:
    """How far a double is from the value it stands for, as for a single point."""
    if not isinstance(value, (int, Fraction)):
        return float(get_backend("rounded").number(value).error)
    num, den = number.as_integer_ratio()
    gap = abs(value.numerator * den - num * value.denominator)
    return 1.001 * (gap / (den * value.denominator)) if gap else 0.0


#: Values along one axis by letter, or a ``Refused`` in the place of one.
Columns = Mapping[str, Sequence[Any]]


def make_boxes(entry: Entry, fixed: Mapping[str, Any], axes: Sequence[Columns], mask: bool) -> list[Box]:
    """The boxes of a sweep."""
    parts = [_parts(entry, columns) for columns in axes]
    found: list[Box] = []
    for combination in itertools.product(*parts):
        options = {name: value for signature, _ in combination for name, value in signature}
        positions = tuple(places for _, places in combination)
        try:
            waiting = [_read(entry, fixed, axes, positions, options)]
            while waiting:
                box = waiting.pop()
                settled = _settled(entry, box)
                if isinstance(settled, Box):
                    found.append(settled)
                else:
                    waiting += settled
        except TheoremEngineError as error:
            if not mask:
                raise
            found.append(Box(positions, {}, {}, str(error)))
    return found


def _parts(entry: Entry, columns: Columns) -> list[tuple[tuple[tuple[str, Any], ...], Any]]:
    """Positions along an axis by what is no number there: options, words, refusals."""
    options = {x.name for x in entry.given if x.domain.is_option}
    count = len(next(iter(columns.values())))
    if not options & set(columns) and all(_are_numbers(values) for values in columns.values()):
        return [((), np.arange(count))]
    parts: dict[Any, list[int]] = {}
    for position in range(count):
        apart = []
        for name, values in columns.items():
            value = values[position]
            if name in options or isinstance(value, (str, Refused)):
                apart.append((name, value))
            elif not _are_numbers([value]):
                raise NoBoxes
        try:
            parts.setdefault(tuple(apart), []).append(position)
        except TypeError:
            raise NoBoxes from None
    return [(apart, np.array(places)) for apart, places in parts.items()]


def _are_numbers(values: Sequence[Any]) -> bool:
    return {type(v) for v in values} <= {int, float, Fraction, Root, Constant}


def _read(
    entry: Entry, fixed: Mapping[str, Any], axes: Sequence[Columns], positions: tuple[Any, ...],
    apart: Mapping[str, Any],
) -> Box:  # fmt: skip
    """A box with its letters and options read; conditions are not decided yet."""
    swept = {name: axis for axis, columns in enumerate(axes) for name in columns}
    given = {**fixed, **{name: axes[axis][name][positions[axis][0]] for name, axis in swept.items()}}
    check_names(entry, given)
    columns: dict[Letter, Column] = {}
    options: dict[str, Any] = {}
    absent = entry.model.left_out(given) if entry.model is not None else ()
    for letter in entry.given:
        name = letter.name
        if name in swept and name not in apart:
            columns[letter] = Column(swept[name], axes[swept[name]][name])
            continue
        raw = given[name] if name in given else ABSENT if name in absent else letter.default
        if isinstance(raw, Refused):
            raise TheoremEngineError(raw.reason)
        value = raw if raw is ABSENT else read_letter(entry, letter, raw)
        if value is ABSENT or letter.domain.is_option or isinstance(value, str):
            options[name] = value
        else:
            columns[letter] = Column(None, [value])
    return Box(positions, columns, options)


def _settled(entry: Entry, box: Box) -> Box | list[Box]:
    """The box with all conditions decided, or its parts where one holds on some of it only."""
    options = dict(box.options)
    for name, relation in entry.cases.items():
        if name not in options:
            truth = truth_of(relation, box)
            if truth.all() != truth.any():
                return _divided(box, truth)
            options[name] = bool(truth.all())
    for ask in (entry.read_model, entry.statement):
        if ask == entry.read_model and entry.model is None:
            continue
        while True:
            try:
                ask(options)
            except Undecided as need:
                truth = truth_of(need.relation, box)
                if truth.all() != truth.any():
                    return _divided(box, truth)
                options[need.name] = bool(truth.all())
            else:
                break
    return replace(box, options=options)


def _divided(box: Box, truth: Any) -> list[Box]:
    """The box cut in two along the only axis on which a condition hangs."""
    for axis in range(truth.ndim):
        along = np.moveaxis(truth, axis, 0).reshape(truth.shape[axis], -1)
        if (along == along[:, :1]).all():
            halves = []
            for outcome in (False, True):
                positions = list(box.positions)
                positions[axis] = positions[axis][along[:, 0] == outcome]
                halves.append(replace(box, positions=tuple(positions)))
            return halves
    raise NoBoxes


def truth_of(relation: Any, box: Box) -> Any:
    """Where a condition on the letters holds, along the axes of a box; absent letters meet none."""
    letters = [x for x in box.columns if x in relation.free_symbols]
    shape = (1,) * len(box.positions)
    if len(letters) < len(relation.free_symbols):
        return np.zeros(shape, dtype=bool)
    wide = {box.columns[x].axis for x in letters} - {None}
    places = [range(n) if axis in wide else range(1) for axis, n in enumerate(box.shape)]
    shape = tuple(len(p) for p in places)
    truth, sure = _in_doubles(relation, letters, box, shape)
    unsure = np.argwhere(~sure)
    if len(unsure) > MOST_EXACT:
        raise NoBoxes
    for place in unsure:
        there = [p[i] for p, i in zip(box.positions, place, strict=True)]
        truth[tuple(place)] = meets(relation, {x: box.columns[x].at(there) for x in letters})
    return truth


def _in_doubles(relation: Any, letters: Sequence[Letter], box: Box, shape: tuple[int, ...]) -> tuple[Any, Any]:
    """What doubles say of a relation, and where their errors leave no doubt about it."""
    truth, sure = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
    if truth.size < 16 or not isinstance(relation, sympy.core.relational.Relational):
        return truth, sure
    arrays = dict(zip(box.columns, box.arrays("rounded"), strict=True))
    with np.errstate(all="ignore"):
        try:
            left, right = _sides(relation, tuple(letters))(*(arrays[x] for x in letters))
            gap = left - right
        except (TheoremEngineError, TypeError, ValueError, ArithmeticError):
            return truth, sure
        if not isinstance(gap, Rounded):
            return truth, sure
        value, error = (np.broadcast_to(part, shape) for part in (gap.value, gap.error))
        sure = np.isfinite(error) & (np.abs(value) > 2 * error)
        return np.array(_compare(relation, value), dtype=bool), np.array(sure)


def _compare(relation: Any, gap: Any) -> Any:
    """The relation, by the difference of its sides where that is not zero."""
    if isinstance(relation, (sympy.Gt, sympy.Ge)):
        return gap > 0
    if isinstance(relation, (sympy.Lt, sympy.Le)):
        return gap < 0
    return np.full(np.shape(gap), isinstance(relation, sympy.Ne))


@cache
def _sides(relation: Any, letters: tuple[Letter, ...]) -> Any:
    return get_backend("rounded").function(letters, [relation.lhs, relation.rhs])
