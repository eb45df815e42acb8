"""Results of a sweep by point number, evaluated together or apart, with errors and the reasons of gaps."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from theorem_engine.asking.error import float64_errors, is_statistical
from theorem_engine.asking.evaluation import evaluate_float64, named_point, plan_of
from theorem_engine.asking.point import Point, read_point, reading_once
from theorem_engine.asking.prediction import predict
from theorem_engine.asking.ranges import within_ranges
from theorem_engine.backends import get_backend
from theorem_engine.base.errors import NotConverged, TheoremEngineError
from theorem_engine.base.exact import to_text
from theorem_engine.base.random_sets import LEVEL
from theorem_engine.language.catalogue import find_entry
from theorem_engine.language.domains import Structured
from theorem_engine.language.entry import Entry
from theorem_engine.language.operators.base import as_operator
from theorem_engine.language.statement import assemble
from theorem_engine.numerics.solvers.neighbours import Between, telling
from theorem_engine.planning.plan import Operate, Plan
from theorem_engine.sweeping.errors import coarse_places, errors_together
from theorem_engine.sweeping.executors import Executor
from theorem_engine.sweeping.neighbours import neighbours


def is_vectorised(entry: Entry, read: Sequence[tuple[int, Point]]) -> bool:
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


class Rows:
    """Results by output and point number, filled in whatever order they come.

    ``accuracy`` says where errors are worked out: True for every point, "coarse" for some, False for none.
    """

    def __init__(
        self, entry: Entry, fixed: Mapping[str, Any], mask: bool, digits: int | None, accuracy: bool | str
    ) -> None:
        self.entry = entry
        self.fixed = fixed
        self.mask = mask
        self.digits = digits
        self.accuracy = accuracy
        self.outputs: dict[int, Mapping[str, Any]] = {}
        self.errors: dict[int, Mapping[str, Any]] = {}
        self.status: dict[int, str] = {}
        self.kinds: set[str] = set()
        self.level: float | None = None

    def read(self, points: Sequence[Mapping[str, Any]]) -> list[tuple[int, Point]]:
        """Check every point; those that cannot be are gaps or refused."""
        good = []
        read = reading_once()
        for number, swept in enumerate(points):
            try:
                good.append((number, read_point(self.entry, {**self.fixed, **swept}, read)))
            except TheoremEngineError as error:
                if not self.mask:
                    raise
                self.status[number] = str(error)
        return good

    def evaluate_together(self, read: Sequence[tuple[int, Point]]) -> None:
        """One call for all points that share their equations."""
        groups: dict[Any, list[tuple[int, Point]]] = {}
        for index, point in read:
            fixed = tuple(v for v in point.values if _is_shared(v))
            groups.setdefault((point.options, fixed), []).append((index, point))
        for (options, _), members in groups.items():
            cells = self._values(members, options)
            kept = [(index, point, cells[index]) for index, point in members if index in cells]
            self._work_out_errors(kept)
            random = is_statistical(self.entry, options)
            self.kinds.add("statistical" if random else "estimated")
            self.level = LEVEL if random else self.level

    def _values(self, members: Sequence[tuple[int, Point]], options: Any) -> dict[int, Mapping[Any, Any]]:
        """Values of all targets by point number; gaps are left out."""
        import numpy as np

        number = get_backend("float64").number
        columns = list(zip(*(p.values for _, p in members), strict=True))
        values = [column[0] if _is_shared(column[0]) else np.array([number(v) for v in column]) for column in columns]
        try:
            results = evaluate_float64(self.entry, options, values)
        except NotConverged:
            return self._one_by_one(members, options)
        # arrays of one dimension more are logs: a column for each point
        flat = {s: r if np.ndim(r) > 1 else np.broadcast_to(r, (len(members),)) for s, r in results.items()}
        found = {}
        for row, (index, point) in enumerate(members):
            cell = self._kept(index, point, {s: _item(r[row]) for s, r in flat.items()})
            if cell is not None:
                found[index] = cell
        return found

    def _one_by_one(self, members: Sequence[tuple[int, Point]], options: Any) -> dict[int, Mapping[Any, Any]]:
        """After a failure somewhere in a batch: find out where, keep the rest."""
        number = get_backend("float64").number
        found = {}
        for index, point in members:
            try:
                results = evaluate_float64(self.entry, options, [number(v) for v in point.values])
            except NotConverged as error:
                self._failed(index, f"{error} at {_describe(self.entry, point)}")
                continue
            cell = self._kept(index, point, {s: _item(r) for s, r in results.items()})
            if cell is not None:
                found[index] = cell
        return found

    def _kept(self, index: int, point: Point, cell: Mapping[Any, Any]) -> Mapping[Any, Any] | None:
        """The values of one point within their ranges, and its outputs made of them; None for a gap."""
        statement, _ = plan_of(self.entry, point.options)
        try:
            if any(isinstance(v, float) and math.isnan(v) for v in cell.values()):
                raise NotConverged(f"{self.entry.id}: no finite value in double precision")
            cell = within_ranges(self.entry, statement, cell, lambda: float64_errors(self.entry, point))
        except NotConverged as error:
            self._failed(index, f"{error} at {_describe(self.entry, point)}")
            return None
        self.outputs[index] = {name: assemble(shape, cell) for name, shape in statement.outputs.items()}
        return cell

    def _failed(self, index: int, message: str) -> None:
        if not self.mask:
            raise NotConverged(message) from None
        self.status[index] = message

    def _work_out_errors(self, kept: Sequence[tuple[int, Point, Mapping[Any, Any]]]) -> None:
        if not kept or not self.accuracy:
            return
        chosen = [kept[i] for i in coarse_places(len(kept))] if self.accuracy == "coarse" else kept
        found = errors_together(self.entry, [point for _, point, _ in chosen], [cell for _, _, cell in chosen])
        self.errors.update(zip((index for index, _, _ in chosen), found, strict=True))

    def evaluate_apart(
        self, points: Sequence[Mapping[str, Any]], executor: Executor, read: Sequence[tuple[int, Point]] = ()
    ) -> None:
        """Each point on its own, in whatever processes the executor has; those between others start from these."""
        numbers = [number for number in range(len(points)) if number not in self.status]
        looked_at = {numbers[i] for i in coarse_places(len(numbers))} if numbers else set()
        asked = {n: {**self.fixed, **points[n]} for n in numbers}
        beside = {} if self.digits is not None else neighbours(self.entry, points, dict(read))
        jobs = {
            n: Job(
                self.entry.id, asked[n], self.digits, self.mask,
                n in looked_at if self.accuracy == "coarse" else bool(self.accuracy),
                left=asked[beside[n].left] if n in beside else None,
                right=asked[beside[n].right] if n in beside else None,
            )
            for n in numbers
        }  # fmt: skip
        prepare = getattr(executor, "prepare", None)
        if beside and prepare is not None:
            # a store is named after all points, whatever the order they are evaluated in
            prepare(evaluate_point, list(jobs.values()))
        tellers = {side for place in beside.values() for side in (place.left, place.right)}
        told: dict[int, Mapping[str, Sequence[float]]] = {}
        first = [n for n in numbers if n not in beside]
        waiting = [replace(jobs[n], tells=n in tellers) for n in first]
        for number, found in zip(first, executor.map(evaluate_point, waiting), strict=True):
            told[number] = found[5]
            self._take(number, found)
        if beside:
            last = [n for n in numbers if n in beside]
            waiting = [
                replace(jobs[n], between=Between(b.share, told.get(b.left, {}), told.get(b.right, {})))
                for n in last
                for b in (beside[n],)
            ]
            for number, found in zip(last, executor.map(evaluate_point, waiting), strict=True):
                self._take(number, found)

    def _take(self, number: int, found: Found) -> None:
        outputs, errors, kind, level, failure, _ = found
        if failure:
            self.status[number] = failure
            return
        self.outputs[number] = outputs
        self.kinds.add(kind)
        self.level = self.level or level
        if errors is not None:
            self.errors[number] = errors


@dataclass(frozen=True)
class Job:
    """One point to be evaluated, and where its solvers may start: what solves others is no part of what is asked."""

    id: str
    parameters: Mapping[str, Any]
    digits: int | None
    mask: bool
    with_errors: bool
    #: The points on both sides, where a solver may start between them.
    left: Mapping[str, Any] | None = None
    right: Mapping[str, Any] | None = None
    between: Between | None = field(default=None, compare=False)
    #: Whether to say what solves the systems on the way.
    tells: bool = field(default=False, compare=False)


#: Outputs, errors, their kind and level, the reason of a failure, and what solves the systems on the way.
Found = tuple[
    Mapping[str, Any], "Mapping[str, Any] | None", str, "float | None", str, Mapping[str, Sequence[float]]
]  # fmt: skip


def evaluate_point(job: Job) -> Found:
    """One prediction in a worker, with errors if asked: the id and the point travel, compiled functions do not."""
    try:
        with telling(job.between) as told:
            found = predict(job.id, digits=job.digits, **job.parameters)
            outputs = dict(found.outputs)
            errors = dict(found.errors) if job.with_errors else None
    except TheoremEngineError as error:
        if not job.mask:
            raise
        return {}, None, "", None, str(error), {}
    return outputs, errors, found.error_kind, found.error_level, "", dict(told.found) if job.tells else {}


def is_found(result: Any) -> bool:
    """Whether data from a journal have the form of what ``evaluate_point`` gives."""
    if not isinstance(result, (list, tuple)) or len(result) != 6:
        return False
    outputs, errors, kind, level, failure, told = result
    return (
        isinstance(outputs, Mapping)
        and (errors is None or isinstance(errors, Mapping))
        and isinstance(kind, str)
        and (level is None or isinstance(level, float))
        and isinstance(failure, str)
        and isinstance(told, Mapping)
    )


def _identity(job: Job) -> str:
    """What the prediction rests on, for those who keep it."""
    from theorem_engine.asking.fingerprint import prediction_fingerprint

    return prediction_fingerprint(find_entry(job.id), job.parameters)


evaluate_point.identity = _identity  # type: ignore[attr-defined]


def _is_shared(value: Any) -> bool:
    """Whether a value makes no array with others of its letter, so that points must share it."""
    return isinstance(value, Structured) and not value.stacks


def _item(value: Any) -> Any:
    return value.item() if getattr(value, "ndim", 1) == 0 else value


def _describe(entry: Entry, point: Point) -> str:
    return ", ".join(f"{k}={to_text(v)}" for k, v in named_point(entry, point).items())
