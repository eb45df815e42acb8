"""An output of an entry at the points of a data set, as a function of letters that are left free.

Where the statement can be differentiated the gradient is exact: the chain rule goes through every definition and the
implicit function theorem through self-consistent groups. Elsewhere it is a central difference with a stated step.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray

from theorem_engine.asking.error import is_statistical
from theorem_engine.asking.evaluation import evaluate_float64, plan_of
from theorem_engine.asking.guard import guarded
from theorem_engine.asking.point import Point, read_point, reading_once
from theorem_engine.asking.prediction import predict
from theorem_engine.backends import get_backend
from theorem_engine.base.errors import (
    BadRequest,
    NotAvailable,
    NotConverged,
    OutOfDomain,
    TheoremEngineError,
    ValidityWarning,
)
from theorem_engine.language.domains import Structured
from theorem_engine.language.entry import Entry
from theorem_engine.language.operators.base import as_operator
from theorem_engine.language.statement import Total, make_statement
from theorem_engine.planning.plan import Operate, make_plan
from theorem_engine.sweeping.data import Measured

Array = NDArray[np.float64]
#: Steps of central differences, relative to the letter: where values carry rounding, and where they carry the noise of
#: random numbers.
STEP, STEP_IN_NOISE = 6e-6, 1e-3
#: A normal variable is within so many standard deviations 95 times in 100, which is what statistical errors promise.
NORMAL_95 = 1.959964
#: Places at which the error of an entry without random numbers is worked out before it is asked for everywhere.
PROBES = 3


class Curve:
    """The theorem beside one data set."""

    def __init__(self, entry: Entry, measured: Measured, fixed: Mapping[str, Any], free: Sequence[str] = ()) -> None:
        self.entry = entry
        self.output = measured.output
        self.rows = measured.points
        self.fixed = dict(fixed)
        self.free = tuple(free)
        self._last: tuple[Mapping[str, float], list[Point]] = ({}, [])

    def points(self, letters: Mapping[str, float]) -> list[Point]:
        """The points at values of the free letters, every requirement checked."""
        # values and gradient are asked for at the same place
        if self._last[1] and self._last[0] == letters:
            return self._last[1]
        read = reading_once()
        given = {**self.fixed, **{name: float(value) for name, value in letters.items()}}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ValidityWarning)
            found = [read_point(self.entry, {**given, **row}, read) for row in self.rows]
        self._last = (dict(letters), found)
        return found

    def values(self, letters: Mapping[str, float]) -> Array:
        """The output at all points; NotConverged or OutOfDomain where there is none."""
        return self._evaluated(self.points(letters), self._output_alone)

    def _output_alone(self, options: Any, values: list[Any]) -> list[Any]:
        statement, _ = plan_of(self.entry, options)
        return [evaluate_float64(self.entry, options, values)[self._symbol(statement)]]

    def _symbol(self, statement: Any) -> Any:
        shape = statement.outputs.get(self.output)
        if not isinstance(shape, sympy.Symbol):
            raise BadRequest(f"{self.entry.id}: {self.output} is not a single number here, so no data compare with it")
        return shape

    def gradient(self, letters: Mapping[str, float]) -> Array | None:
        """Exact derivatives in the free letters, a row for each; None where the statement has none or they are NaN."""

        def derivatives(options: Any, values: list[Any]) -> list[Any]:
            run = _gradient_of(self.entry, options, self.output, self.free)
            if run is None:
                raise NotAvailable("")
            with np.errstate(all="ignore"), guarded(self.entry, None, "the gradient"):
                return run(*[np.float64(v) if isinstance(v, float) else v for v in values])

        try:
            return self._evaluated(self.points(letters), derivatives, len(self.free))
        except (NotAvailable, NotConverged):
            return None

    def _evaluated(self, points: Sequence[Point], function: Callable[..., list[Any]], rows: int | None = None) -> Array:
        """Values of a function of the letters at all points: one call for those that share their equations."""
        number = get_backend("float64").number
        found = np.full((rows or 1, len(points)), np.nan)
        groups: dict[Any, list[int]] = {}
        for index, point in enumerate(points):
            shared = tuple(v for v in point.values if _is_shared(v))
            apart = () if _takes_arrays(self.entry, point.options) else (index,)
            groups.setdefault((point.options, shared, apart), []).append(index)
        for (options, _, _), members in groups.items():
            columns = list(zip(*(points[i].values for i in members), strict=True))
            if len(members) == 1:
                values: list[Any] = [number(column[0]) for column in columns]
            else:
                values = [
                    number(column[0]) if _is_shared(column[0]) else np.array([number(v) for v in column])
                    for column in columns
                ]
            for row, result in enumerate(function(options, values)):
                found[row, members] = np.asarray(result, dtype=float)
        if not np.all(np.isfinite(found)):
            raise NotConverged(f"{self.entry.id}: {self.output} has no finite value at some of the points")
        return found if rows is not None else found[0]

    def predicted(self, letters: Mapping[str, float], sigmas: Array) -> tuple[Array, Array]:
        """The output at all points and its standard error, with everything that a prediction checks and warns of.

        Where random numbers are drawn the error of each point is the one stated, as a standard deviation. Elsewhere
        it is worked out at a few points; only if it is not far below the errors of the data there, at all of them.
        """
        given = {**self.fixed, **{name: float(value) for name, value in letters.items()}}
        said: dict[str, None] = {}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ValidityWarning)
            found = [predict(self.entry.id, **{**given, **row}) for row in self.rows]
        for warning in caught:
            said.setdefault(str(warning.message))
        for message in said:
            warnings.warn(ValidityWarning(message), stacklevel=4)
        values = np.array([_number(self.entry, self.output, p.outputs[self.output]) for p in found])
        if any(p.error_level is not None for p in found):
            errors = np.array([self._error(p) / NORMAL_95 for p in found])
        else:
            probes = np.unique(np.linspace(0, len(found) - 1, PROBES).round().astype(int))
            probed = np.array([self._error(found[i]) for i in probes])
            if np.all(probed <= 1e-3 * sigmas[probes]):
                return values, np.full(len(found), float(np.max(probed)))
            errors = np.array([self._error(p) for p in found])
        if not np.all(np.isfinite(errors)):
            raise NotAvailable(
                f"{self.entry.id}: the error of {self.output} is not known at some of the points, so no distance from "
                "the data can be judged there"
            )
        return values, errors

    def _error(self, prediction: Any) -> float:
        error = prediction.errors[self.output]
        return 0.0 if error is None else float(error)


def _number(entry: Entry, output: str, value: Any) -> float:
    if isinstance(value, (bool, str, complex)) or not isinstance(value, (int, float)):
        raise BadRequest(f"{entry.id}: {output} is not a single number, so no data compare with it")
    return float(value)


def _is_shared(value: Any) -> bool:
    """Whether a value makes no array with others of its letter, so that points must share it."""
    return isinstance(value, Structured) and not value.stacks


@cache
def _takes_arrays(entry: Entry, options: tuple[tuple[str, Any], ...]) -> bool:
    """Whether every operator on the way takes arrays."""
    return all(
        as_operator(operator).vectorised
        for step in plan_of(entry, options)[1].steps
        if isinstance(step, Operate)
        for operator in step.operators
    )


@cache
def _gradient_of(
    entry: Entry, options: tuple[tuple[str, Any], ...], output: str, free: tuple[str, ...]
) -> Callable[..., list[Any]] | None:
    """The derivatives of an output as a function of the letters; None where the statement cannot be differentiated."""
    statement, _ = plan_of(entry, options)
    letters = {letter.name: letter for letter in statement.given}
    target = statement.output_symbol(output)
    wanted = {
        f"derivative in {name}": statement.partials.get((output, letters[name]), Total(target, letters[name]))
        for name in free
    }
    try:
        extended = make_statement(entry.id, statement.given, {**statement.equations, **wanted})
        targets = [extended.output_symbol(name) for name in wanted]
        return get_backend("float64").compile(make_plan(extended.given, extended.equations, targets, entry.id))
    except (TypeError, ValueError, NotImplementedError, TheoremEngineError):
        # an operator without derivative, or one that no backend evaluates
        return None


def step_of(entry: Entry, points: Sequence[Point]) -> float:
    """The step of differences, relative to the letter."""
    is_noisy = any(is_statistical(entry, options) for options in {point.options for point in points})
    return STEP_IN_NOISE if is_noisy else STEP


__all__ = ["Curve", "NotConverged", "OutOfDomain", "step_of"]
