"""A box of points evaluated as arrays, block by block: values, errors, and the reasons of gaps.

Blocks bound the memory and stay in the processor's caches. What hangs on few axes is evaluated once for all blocks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import sympy

from theorem_engine.asking.error import errors_of_outputs, float64_errors, is_statistical
from theorem_engine.asking.evaluation import evaluate_float64, named_point, plan_of
from theorem_engine.asking.point import caution_tests, infeasible_text, meets, requirement_tests
from theorem_engine.asking.ranges import within_ranges
from theorem_engine.backends import get_backend
from theorem_engine.backends.rounded.number import Rounded, error_of
from theorem_engine.base.errors import Infeasible, NotConverged, TheoremEngineError
from theorem_engine.base.exact import to_text
from theorem_engine.language.domains import Interval
from theorem_engine.language.entry import Entry
from theorem_engine.language.operators.base import as_operator
from theorem_engine.planning.plan import Operate
from theorem_engine.sweeping.boxes import Box, NoBoxes
from theorem_engine.sweeping.errors import coarse_places
from theorem_engine.sweeping.staged import Evaluation, blocks, cut

#: What the evaluation with errors may raise where it does not take arrays.
_NO_ARRAYS = (TheoremEngineError, TypeError, ValueError, ArithmeticError, IndexError, AttributeError)


class Table:
    """Results of a sweep as arrays over all its points: values and errors by output, reasons by place."""

    def __init__(self, shape: tuple[int, ...], is_filled: bool = False) -> None:
        self.shape = shape
        #: Whether every place is written to anyway.
        self.is_filled = is_filled
        self.values: dict[str, Any] = {}
        self.errors: dict[str, Any] = {}
        #: Outputs that are truth values.
        self.truths: set[str] = set()
        self.status: dict[tuple[int, ...], str] = {}

        #: What cautions tell at the first point that they speak of, and at how many they do.
        self.cautions: dict[int, tuple[str, int]] = {}

    def hear(self, caution: Any, message: str, count: int) -> None:
        """A caution about some points."""
        first, before = self.cautions.get(id(caution), (message, 0))
        self.cautions[id(caution)] = first, before + count

    def write(self, columns: dict[str, Any], name: str, place: Any, found: Any) -> None:
        """Values of one output on a block."""
        if name not in columns:
            columns[name] = np.empty(self.shape) if self.is_filled else np.full(self.shape, np.nan)
        columns[name][place] = found


def refuse_what_takes_no_arrays(entry: Entry, box: Box) -> None:
    """NoBoxes where an operator wants points one by one, errors are statistical, or an output is no number."""
    statement, plan = plan_of(entry, box.chosen)
    operators = [o for step in plan.steps if isinstance(step, Operate) for o in step.operators]
    is_plain = all(isinstance(shape, sympy.Symbol) for shape in statement.outputs.values())
    if not is_plain or not all(as_operator(o).vectorised for o in operators) or is_statistical(entry, box.chosen):
        raise NoBoxes


class BoxRun:
    """The evaluation of one box into a table."""

    def __init__(self, entry: Entry, box: Box, table: Table, mask: bool, accuracy: bool | str) -> None:
        self.entry, self.box, self.table, self.mask = entry, box, table, mask
        self.accuracy, self.with_errors = accuracy, accuracy is True
        self.statement, _ = plan_of(entry, box.chosen)
        self.targets = self.statement.targets()
        self.values = Evaluation(entry, box, "float64")
        self.errors = Evaluation(entry, box, "rounded") if self.with_errors else None
        self.present = tuple(box.columns)
        self.tests = list(requirement_tests(entry, self.present, box.options))
        self.cautions = caution_tests(entry, self.present, box.options)
        self.letters = box.arrays("float64") if self.tests or self.cautions else []

    def run(self) -> None:
        """All blocks, one after another."""
        for block in blocks(self.box.shape):
            self._block(block)
        if self.accuracy == "coarse":
            self._look_here_and_there()

    def _block(self, block: tuple[slice, ...]) -> None:
        shape = tuple(s.stop - s.start for s in block)
        bad = self._infeasible(block, shape)
        self._listen(block, shape, bad)
        try:
            values = self._checked(self.values.on(block), shape)
        except NotConverged:
            self._one_by_one(block, shape, bad)
            return
        self._within_ranges(block, shape, values, bad)
        errors = self._errors(block, shape, values)
        self._write(block, shape, values, errors, bad)

    def _checked(self, values: Sequence[Any], shape: tuple[int, ...]) -> dict[Any, Any]:
        """Values by target, real numbers or truth values along the axes of the block."""
        for value in values:
            if np.ndim(value) > len(shape) or np.iscomplexobj(value):
                raise NoBoxes
        return dict(zip(self.targets, values, strict=True))

    # requirements

    def _infeasible(self, block: tuple[slice, ...], shape: tuple[int, ...]) -> Any:
        """Where something required does not hold, the reason told; None where everything does."""
        bad: Any = None
        here = [cut(v, block) for v in self.letters]
        for test in self.tests:
            found = test.values(*here)
            met = test.requirement.met(found)
            if met.all():
                continue
            failing = np.broadcast_to(~met, shape)
            if bad is not None:
                failing = failing & ~bad
            for place in np.argwhere(failing):
                at = tuple(place)
                failure = test.requirement.failure([_item(v, at) for v in found])
                if failure is None:
                    continue
                point = self._point(block, at)
                values = dict(zip(self.present, point.values, strict=True))
                # an equality at the edge of what is allowed may be lost to rounding, but not in exact numbers
                if failure.relation is not None and failure.is_exact and meets(failure.relation, values):
                    continue
                text = infeasible_text(self.entry, values, failure)
                if not self.mask:
                    raise Infeasible(text)
                bad = np.zeros(shape, dtype=bool) if bad is None else bad
                bad[at] = True
                self._gap(block, at, text)
        return bad

    def _listen(self, block: tuple[slice, ...], shape: tuple[int, ...], bad: Any) -> None:
        """Where the statement is known to be off: how often, and what is told at the first such point."""
        for function, caution in self.cautions:
            with np.errstate(all="ignore"):
                found = function(*(cut(v, block) for v in self.letters))
            speaks = np.broadcast_to(caution.speaks(found), shape)
            speaks = speaks if bad is None else speaks & ~bad
            if count := int(np.count_nonzero(speaks)):
                first = tuple(np.argwhere(speaks)[0])
                self.table.hear(caution, caution.told([_item(v, first) for v in found]), count)

    # ranges and numbers that are none

    def _within_ranges(self, block: Any, shape: tuple[int, ...], values: dict[Any, Any], bad: Any) -> None:
        """Values beyond an end by no more than their error moved onto it; NaN and what is further out are gaps."""
        suspects: Any = None
        for symbol, value in values.items():
            if value.dtype.kind == "b":
                continue
            low, high = np.min(value), np.max(value)
            interval = self._ranges.get(symbol)
            if interval is None:
                outside = np.isnan(value) if math.isnan(low) else None
            elif _holds(interval, low) and _holds(interval, high):
                outside = None
            else:
                outside = ~_inside(interval, value)
            if outside is not None:
                outside = np.broadcast_to(outside, shape)
                suspects = outside if suspects is None else suspects | outside
        if suspects is None:
            return
        if bad is not None:
            suspects = suspects & ~bad
        for place in np.argwhere(suspects):
            at = tuple(place)
            cell = {s: _item(v, at) for s, v in values.items()}
            moved = self._kept(block, at, cell)
            for symbol, value in (moved or {}).items():
                if value != cell[symbol]:
                    values[symbol] = np.array(np.broadcast_to(values[symbol], shape))
                    values[symbol][at] = value
            if moved is None:
                for symbol in self.targets:
                    values[symbol] = np.array(np.broadcast_to(values[symbol], shape), dtype=float)
                    values[symbol][at] = np.nan

    @property
    def _ranges(self) -> dict[Any, Interval]:
        return _ranges_of(self.entry, self.box.chosen)

    def _kept(self, block: Any, at: Any, cell: Mapping[Any, Any]) -> Mapping[Any, Any] | None:
        """The values of one point within their ranges; None for a gap."""
        point = self._point(block, at)
        try:
            if any(isinstance(v, float) and math.isnan(v) for v in cell.values()):
                raise NotConverged(f"{self.entry.id}: no finite value in double precision")
            return within_ranges(self.entry, self.statement, cell, lambda: float64_errors(self.entry, point))
        except NotConverged as error:
            self._failed(block, at, error)
            return None

    def _failed(self, block: Any, at: Any, error: Exception) -> None:
        there = named_point(self.entry, self._point(block, at))
        message = f"{error} at {', '.join(f'{k}={to_text(v)}' for k, v in there.items())}"
        if not self.mask:
            raise NotConverged(message) from None
        self._gap(block, at, message)

    # point by point

    def _one_by_one(self, block: Any, shape: tuple[int, ...], bad: Any) -> None:
        """After a failure somewhere in a block: find out where, keep the rest."""
        number = get_backend("float64").number
        for name in self.statement.outputs:
            for columns in (self.table.values, *([self.table.errors] if self.with_errors else [])):
                self.table.write(columns, name, self._place(block), np.nan)
        for at in np.ndindex(shape):
            if bad is not None and bad[at]:
                continue
            point = self._point(block, at)
            try:
                results = evaluate_float64(self.entry, self.box.chosen, [number(v) for v in point.values])
            except NotConverged as error:
                self._failed(block, at, error)
                continue
            cell = self._kept(block, at, {s: v.item() if hasattr(v, "item") else v for s, v in results.items()})
            if cell is None:
                continue
            place = self._place(block, at)
            errors = errors_of_outputs(self.entry, point, cell) if self.with_errors else {}
            for name, symbol in self.statement.outputs.items():
                self._mark(name, cell[symbol])
                self.table.write(self.table.values, name, place, cell[symbol])
                if errors.get(name) is not None:
                    self.table.write(self.table.errors, name, place, errors[name])

    # errors

    def _errors(self, block: Any, shape: tuple[int, ...], values: Mapping[Any, Any]) -> dict[Any, Any]:
        """Error bounds of all targets on a block, infinite where nothing is known."""
        if self.errors is None:
            return {}
        try:
            found = self.errors.on(block)
            if any(not isinstance(f, Rounded) and np.asarray(f).dtype.kind != "b" for f in found):
                raise TypeError("a number that depends on no letter")
            # sums of errors are rounded themselves; what is not known is infinite
            errors = {s: 1.01 * np.asarray(error_of(f)) for s, f in zip(self.targets, found, strict=True)}
            return {s: np.where(np.isnan(e), np.inf, e) if np.isnan(np.max(e)) else e for s, e in errors.items()}
        except _NO_ARRAYS:
            made = {s: np.full(shape, np.nan) for s in self.targets}
            for at in np.ndindex(shape):
                cell = {s: _item(v, at) for s, v in values.items()}
                if any(isinstance(v, float) and math.isnan(v) for v in cell.values()):
                    continue
                own = errors_of_outputs(self.entry, self._point(block, at), cell)
                for name, symbol in self.statement.outputs.items():
                    made[symbol][at] = np.nan if own[name] is None else own[name]
            return made

    def _look_here_and_there(self) -> None:
        """Errors at some points of the box only."""
        gaps = self.table.status
        shape = self.box.shape
        for at in (np.unravel_index(i, shape) for i in coarse_places(math.prod(shape))):
            start = tuple(slice(int(i), int(i) + 1) for i in at)
            place = self._place(start, (0,) * len(at))
            if place in gaps:
                continue
            cell = {s: self.table.values[name][place].item() for name, s in self.statement.outputs.items()}
            found = errors_of_outputs(self.entry, self._point(start, (0,) * len(at)), cell)
            for name, error in found.items():
                if error is not None and name not in self.table.truths:
                    self.table.write(self.table.errors, name, place, error)

    # writing

    def _write(self, block: Any, shape: tuple[int, ...], values: Any, errors: Any, bad: Any) -> None:
        place = self._place(block)
        for name, symbol in self.statement.outputs.items():
            value = values[symbol]
            self._mark(name, value)
            if bad is not None:
                value = np.where(bad, np.nan, value)
            self.table.write(self.table.values, name, place, value)
            if symbol in errors and name not in self.table.truths:
                self.table.write(self.table.errors, name, place, errors[symbol])

    def _mark(self, name: str, value: Any) -> None:
        if np.asarray(value).dtype.kind == "b":
            self.table.truths.add(name)

    def _place(self, block: Any, at: Any = None) -> Any:
        """Where a block, or one of its points, is in the table."""
        positions = [p[s] for p, s in zip(self.box.positions, block, strict=True)]
        if at is not None:
            return tuple(int(p[i]) for p, i in zip(positions, at, strict=True))
        if all(len(p) == p[-1] - p[0] + 1 for p in positions):
            return tuple(slice(int(p[0]), int(p[-1]) + 1) for p in positions)
        return np.ix_(*positions)

    def _point(self, block: Any, at: Any) -> Any:
        return self.box.point([s.start + i for s, i in zip(block, at, strict=True)])

    def _gap(self, block: Any, at: Any, message: str) -> None:
        self.table.status[self._place(block, at)] = message


@cache
def _ranges_of(entry: Entry, options: Any) -> dict[Any, Interval]:
    """Declared ranges by target."""
    statement, _ = plan_of(entry, options)
    return {
        statement.outputs[name]: output.range
        for name, output in entry.outputs.items()
        if name in statement.outputs and isinstance(output.range, Interval)
    }


def _holds(interval: Interval, number: Any) -> bool:
    return bool(_inside(interval, number))


def _inside(interval: Interval, value: Any) -> Any:
    low, high = float(interval.low), float(interval.high)
    above = value > low if interval.is_open_below else value >= low
    return above & (value < high if interval.is_open_above else value <= high)


def _item(value: Any, at: tuple[int, ...]) -> Any:
    """A number of an array at a place of the block; what does not vary along an axis is the same all along it."""
    found = (
        value if not np.ndim(value) else value[tuple(i if n > 1 else 0 for i, n in zip(at, value.shape, strict=True))]
    )
    return found.item() if hasattr(found, "item") else found
