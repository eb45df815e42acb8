"""Sweeps: a theorem over a grid of points, as a labelled data set."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from theorem_engine.asking.citation import remember
from theorem_engine.asking.error import float64_errors
from theorem_engine.asking.evaluation import evaluate_float64, plan_of
from theorem_engine.asking.point import Point, check_names, read_letter, read_point
from theorem_engine.asking.prediction import check_digits, predict
from theorem_engine.asking.ranges import within_ranges
from theorem_engine.backends import get_backend
from theorem_engine.base.errors import BadRequest, NotAvailable, NotConverged, OutOfDomain
from theorem_engine.base.exact import NotANumber, as_float, as_fraction, read_number, to_text
from theorem_engine.language.catalogue import Named, find_entry
from theorem_engine.language.domains import Structured
from theorem_engine.language.entry import Entry
from theorem_engine.language.letters import Letter
from theorem_engine.language.operators.base import as_operator
from theorem_engine.language.statement import assemble
from theorem_engine.planning.plan import Operate, Plan
from theorem_engine.sweeping.dataset import provenance, variables
from theorem_engine.sweeping.executors import Executor, default_executor

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
        inner = [a * (b / a) ** (i / (count - 1)) for i in range(1, count - 1)]
        return Grid((first, *inner, last))
    a_exact, b_exact = as_fraction(first), as_fraction(last)
    if a_exact is None or b_exact is None:
        raise BadRequest("grid: the ends of an even grid must be rational; use decimals")
    step = (b_exact - a_exact) / (count - 1)
    return Grid(tuple(a_exact + i * step for i in range(count)))


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


def sweep(
    id: Named,
    *,
    digits: int | None = None,
    jobs: int | None = None,
    progress: bool | None = None,
    errors: str = "raise",
    executor: Executor | None = None,
    along: Batch | None = None,
    **parameters: Any,
) -> Any:
    """An entry over the product of all parameters given as a grid, a sequence or a one-dimensional array.

    Returns an ``xarray.Dataset`` with one dimension per swept parameter and one variable per output.
    ``along`` is a batch of points that vary together, as one more dimension.
    Entries that evaluate arrays run in one call; the others are spread over ``jobs`` worker processes.
    ``errors="mask"`` puts NaN where the point is infeasible or a method fails, and says why in ``status``.
    """
    try:
        import xarray
    except ImportError:
        raise NotAvailable("sweeps need xarray: pip install 'theorem-engine[sweep]'") from None
    entry = find_entry(id)
    check_digits(digits)
    if errors not in ("raise", "mask"):
        raise BadRequest(f"errors={errors!r} is neither 'raise' nor 'mask'")
    together = {} if along is None or not along.rows else along.rows[0]
    check_names(entry, {**parameters, **together})
    axes, fixed = _split(entry, parameters)
    if along is not None:
        axes[along.dimension] = list(along.rows)
    points = [_merged(axes, combination) for combination in itertools.product(*axes.values())]
    if len(points) > MAX_POINTS:
        raise BadRequest(f"{entry.id}: {len(points)} points are more than the limit of {MAX_POINTS}")
    remember(entry)
    rows = _Rows(entry, fixed, errors, digits)
    read = rows.read(points)
    if digits is None and _is_vectorised(entry, read):
        rows.evaluate_together(read)
    else:
        chosen = executor or default_executor(jobs, len(points), f"{entry.id}", progress)
        rows.evaluate_apart(points, chosen)
    return xarray.Dataset(
        *variables(rows, axes, None if along is None else (along.dimension, along.rows)),
        attrs=provenance(entry, fixed, digits),
    )


def _split(entry: Entry, parameters: Mapping[str, Any]) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """Swept parameters with their values, each checked once, and fixed ones."""
    axes: dict[str, list[Any]] = {}
    fixed: dict[str, Any] = {}
    letters = {letter.name: letter for letter in entry.given}
    for name, value in parameters.items():
        if isinstance(value, (Grid, list, tuple, range)) or getattr(value, "ndim", 0) == 1:
            values = list(value)
            if not values:
                raise BadRequest(f"{entry.id}: {name} is swept over no values")
            axes[name] = [read_letter(entry, letters[name], v) for v in values]
        else:
            fixed[name] = value
    return axes, fixed


def _merged(axes: Mapping[str, Any], combination: Sequence[Any]) -> dict[str, Any]:
    point: dict[str, Any] = {}
    for name, value in zip(axes, combination, strict=True):
        point.update(value if isinstance(value, Mapping) else {name: value})
    return point


def _is_vectorised(entry: Entry, read: Sequence[tuple[int, Point]]) -> bool:
    """Whether every operator on the way takes arrays; the others are worth a process each."""
    return all(
        as_operator(operator).vectorised
        for options in {point.options for _, point in read}
        for operator in _operators(plan_of(entry, options)[1])
    )


def _operators(plan: Plan) -> Iterator[Any]:
    for step in plan.steps:
        if isinstance(step, Operate):
            yield from step.operators


class _Rows:
    """Results by output and point number, filled in whatever order they come."""

    def __init__(self, entry: Entry, fixed: Mapping[str, Any], errors: str, digits: int | None) -> None:
        self.entry = entry
        self.fixed = fixed
        self.mask = errors == "mask"
        self.digits = digits
        self.outputs: dict[int, Mapping[str, Any]] = {}
        self.status: dict[int, str] = {}

    def read(self, points: Sequence[Mapping[str, Any]]) -> list[tuple[int, Point]]:
        """Check every point; infeasible ones are masked or refused."""
        good = []
        known: dict[tuple[str, int], Any] = {}

        def read_once(entry: Entry, letter: Letter, raw: Any) -> Any:
            # the same object comes again at every point of a row
            key = letter.name, id(raw)
            if key not in known:
                known[key] = read_letter(entry, letter, raw)
            return known[key]

        for number, swept in enumerate(points):
            try:
                good.append((number, read_point(self.entry, {**self.fixed, **swept}, read_once)))
            except OutOfDomain as error:
                if not self.mask:
                    raise
                self.status[number] = str(error)
        return good

    def evaluate_together(self, read: Sequence[tuple[int, Point]]) -> None:
        """One call for all points that share their equations."""
        import numpy as np

        number = get_backend("float64").number
        groups: dict[Any, list[tuple[int, Point]]] = {}
        for index, point in read:
            fixed = tuple(v for v in point.values if _is_shared(v))
            groups.setdefault((point.options, fixed), []).append((index, point))
        for (options, _), members in groups.items():
            columns = list(zip(*(p.values for _, p in members), strict=True))
            values = [
                column[0] if _is_shared(column[0]) else np.array([number(v) for v in column]) for column in columns
            ]
            try:
                results = evaluate_float64(self.entry, options, values)
            except NotConverged:
                self._one_by_one(members, options)
                continue
            statement, _ = plan_of(self.entry, options)
            # arrays of one dimension more are logs: a column for each point
            flat = {s: r if np.ndim(r) > 1 else np.broadcast_to(r, (len(members),)) for s, r in results.items()}
            for row, (index, point) in enumerate(members):
                cell = {s: _item(r[row]) for s, r in flat.items()}
                self._keep(index, point, statement, cell)

    def _one_by_one(self, members: Sequence[tuple[int, Point]], options: Any) -> None:
        """After a failure somewhere in a batch: find out where, keep the rest."""
        number = get_backend("float64").number
        statement, _ = plan_of(self.entry, options)
        for index, point in members:
            try:
                results = evaluate_float64(self.entry, options, [number(v) for v in point.values])
            except NotConverged as error:
                if not self.mask:
                    raise NotConverged(f"{error} at {_describe(self.entry, point)}") from None
                self.status[index] = str(error)
                continue
            self._keep(index, point, statement, {s: _item(r) for s, r in results.items()})

    def _keep(self, index: int, point: Point, statement: Any, cell: Mapping[Any, Any]) -> None:
        try:
            if any(isinstance(v, float) and math.isnan(v) for v in cell.values()):
                raise NotConverged(f"{self.entry.id}: no finite value in double precision")
            cell = within_ranges(self.entry, statement, cell, lambda: float64_errors(self.entry, point))
        except NotConverged as error:
            message = f"{error} at {_describe(self.entry, point)}"
            if not self.mask:
                raise NotConverged(message) from None
            self.status[index] = message
            return
        self.outputs[index] = {name: assemble(shape, cell) for name, shape in statement.outputs.items()}

    def evaluate_apart(self, points: Sequence[Mapping[str, Any]], executor: Executor) -> None:
        """Each point on its own, in whatever processes the executor has."""
        jobs = [
            (self.entry.id, {**self.fixed, **swept}, self.digits, self.mask)
            for number, swept in enumerate(points)
            if number not in self.status
        ]
        numbers = [number for number in range(len(points)) if number not in self.status]
        for number, (outputs, failure) in zip(numbers, executor.map(evaluate_point, jobs), strict=True):
            if failure:
                self.status[number] = failure
            else:
                self.outputs[number] = outputs


def evaluate_point(job: tuple[str, Mapping[str, Any], int | None, bool]) -> tuple[Mapping[str, Any], str]:
    """One prediction in a worker: the id and the point travel, compiled functions do not."""
    id, parameters, digits, mask = job
    try:
        return dict(predict(id, digits=digits, **parameters).outputs), ""
    except (OutOfDomain, NotConverged) as error:
        if not mask:
            raise
        return {}, str(error)


def _identity(job: tuple[str, Mapping[str, Any], int | None, bool]) -> str:
    """What the prediction rests on, for those who keep it."""
    from theorem_engine.asking.fingerprint import prediction_fingerprint

    return prediction_fingerprint(find_entry(job[0]), job[1])


evaluate_point.identity = _identity  # type: ignore[attr-defined]


def _is_shared(value: Any) -> bool:
    """Whether a value makes no array with others of its letter, so that points must share it."""
    return isinstance(value, Structured) and not value.stacks


def _item(value: Any) -> Any:
    return value.item() if getattr(value, "ndim", 1) == 0 else value


def _describe(entry: Entry, point: Point) -> str:
    from theorem_engine.asking.evaluation import named_point

    return ", ".join(f"{k}={to_text(v)}" for k, v in named_point(entry, point).items())
