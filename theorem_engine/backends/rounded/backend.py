"""The float64 backend with errors: the same code, on numbers that carry a bound of their own error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from theorem_engine.backends.base import Backend, NoLowering, Numeric, find_lowering, get_backend, is_constant
from theorem_engine.backends.rounded.number import (
    UNIT,
    Rounded,
    each_place,
    error_of,
    reported,
    underflow,
    value_of,
    with_error,
)
from theorem_engine.backends.running import once
from theorem_engine.base.reports import own_notes
from theorem_engine.planning.plan import Operate, Solve

#: Roundings inside an operator, as an error of each of its parameters: a few operations follow on each.
INSIDE = 4 * UNIT


class RoundedFloat64(Backend):
    """The float64 backend with errors."""

    name = "rounded"

    def elementary(
        self, inputs: Sequence[Any], equations: Sequence[tuple[Any, Any]], outputs: Sequence[Any]
    ) -> Numeric:
        """The float64 code itself; the numbers do the work."""
        return get_backend("float64").elementary(inputs, equations, outputs)

    def operate(self, step: Operate) -> Numeric:
        """The operator's own module here, or the float64 operator judged from outside."""
        plain = get_backend("float64").operate(step)
        try:
            lowering = find_lowering(step.operators[0], self.name)
        except NoLowering:
            return _kept(judged(plain, step.parameters), step)
        knowing: Numeric = lowering.lower(step.operators, step.parameters, self, plain)
        return _kept(knowing, step)

    def at_each_outcome(self, run: Numeric) -> Numeric:
        """Place by place: arrays with errors are not taken apart and put together again."""
        return lambda *values: each_place(run, values)

    def flattened(self, run: Numeric) -> Numeric:
        """As for plain arrays; values and errors go together."""

        def flat(*values: Any) -> list[Any]:
            shape = np.broadcast_shapes(*(np.shape(part) for v in values for part in (value_of(v), error_of(v))))
            if len(shape) < 2:
                return list(run(*values))
            return [_shaped(r, shape) for r in run(*(_unrolled(v, shape) for v in values))]

        return flat

    def group(self, solve: Solve) -> Numeric:
        """The float64 solution; its error is the inverse Jacobian applied to the error of the residual."""
        plain = get_backend("float64").group(solve)
        residual = self.compile(solve.residual)
        bare = get_backend("float64").compile(solve.residual)
        size, offset = len(solve.unknowns), len(solve.unknowns) * len(solve.starts)

        def evaluate(*values: Any) -> list[Any]:
            # doubles of NumPy overflow to infinity, plain ones raise
            x: list[Any] = [np.float64(v) for v in plain(*[value_of(v) for v in values])]
            flat = residual(*[Rounded(v) for v in x], *values[offset:])
            if solve.method == "newton":
                matrix = np.eye(size) - np.array([value_of(v) for v in flat[size:]], dtype=float).reshape(size, size)
            else:
                matrix = np.eye(size) - _differences(bare, x, [value_of(v) for v in values[offset:]])
            gap = np.array([error_of(f) + abs(value_of(f) - v) for f, v in zip(flat[:size], x, strict=True)])
            return [Rounded(v, e) for v, e in zip(x, solved_errors(matrix, gap), strict=True)]

        return lambda *values: each_place(evaluate, values)

    def number(self, value: Any) -> Any:
        """The nearest double, and how far it is from the value."""
        return with_error(value, get_backend("float64").number(value))


def _kept(function: Numeric, step: Operate) -> Numeric:
    """The function, evaluated once if it depends on nothing."""
    return once(function) if is_constant(step) else function


def _unrolled(value: Any, shape: tuple[int, ...]) -> Any:
    """An array over all places of a shape, one after another; numbers stay as they are."""
    if isinstance(value, Rounded):
        if not np.ndim(value.value) and not np.ndim(value.error):
            return value
        return Rounded(np.broadcast_to(value.value, shape).ravel(), np.broadcast_to(value.error, shape).ravel())
    return np.broadcast_to(value, shape).ravel() if np.ndim(value) else value


def _shaped(result: Any, shape: tuple[int, ...]) -> Any:
    """The other way."""
    if isinstance(result, Rounded):
        parts = [np.reshape(p, (*shape, *np.shape(p)[1:])) if np.ndim(p) else p for p in (result.value, result.error)]
        return Rounded(*parts)
    return np.reshape(result, (*shape, *np.shape(result)[1:])) if np.ndim(result) else result


def judged(
    plain: Numeric,
    parameters: Sequence[Any],
    inside: Callable[..., list[Any]] | None = None,
    together: bool = False,
) -> Numeric:
    """A float64 operator with errors: its own report, and its sensitivity to each parameter.

    A parameter is moved by its own error, or by as much as the roundings of the arithmetic inside amount to, which
    ``inside`` says for each where a few of them are not all. An operator for which many points hardly take longer than
    one is asked for all moves ``together``.
    """
    is_whole = [bool(getattr(p, "is_integer", False)) for p in parameters]

    def evaluate(*values: Any) -> list[Any]:
        centre = [value_of(v) for v in values]
        with own_notes() as notes:
            found = list(plain(*centre))
        own = reported(notes, len(found))
        singles = found
        if all(np.ndim(r) == 0 and not isinstance(r, complex) for r in (*found, *own)):
            # single numbers as one array: an operator may have dozens of them
            found, own = [np.array([float(r) for r in found])], [np.array([float(e) for e in own])]
            moved: Numeric = lambda *at: [np.array([float(r) for r in plain(*at)])]  # noqa: E731
        else:
            moved = plain
        errors = [2 * UNIT * np.abs(r) + underflow(r) + e for r, e in zip(found, own, strict=True)]
        least = inside(*centre) if inside else [INSIDE * np.abs(c) if is_numeric(c) else 0.0 for c in centre]
        moves: list[tuple[int, Any, Any]] = []
        for position, value in enumerate(values):
            if not isinstance(value, Rounded) or (is_whole[position] and not np.any(value.error)):
                continue
            if not np.all(np.isfinite(value.value)):
                continue
            if np.all(np.isinf(value.error)):
                # nothing is known of this parameter, nor of what is made of it
                errors = [e + np.inf for e in errors]
                continue
            error = np.maximum(value.error, 0.0 if is_whole[position] else least[position])
            moves.append((position, error, np.maximum(np.maximum(error, 1e-7 * np.abs(value.value)), 1e-290)))
        every = _changes_together(plain, centre, moves, singles) if together and len(moves) > 1 else None
        for k, (position, error, step) in enumerate(moves):
            if every is None:
                changes = _changes(moved, centre, position, step, found)
            else:
                changes = [np.array([float(c) for c in every[k]])] if moved is not plain else every[k]
            for i, change in enumerate(changes):
                errors[i] = errors[i] + np.where(error > 0, change / step * error, 0.0)[()]
        errors = [np.where(np.isnan(e), np.inf, e)[()] for e in errors]
        if moved is not plain:
            (found,), (errors,) = found, errors
        return [Rounded(r, e) for r, e in zip(found, errors, strict=True)]

    return evaluate


def is_numeric(value: Any) -> bool:
    """Whether a parameter is a number or an array of them."""
    return isinstance(value, (int, float, complex, np.ndarray, np.number))


def _changes(plain: Numeric, centre: list[Any], position: int, step: Any, found: list[Any]) -> list[Any]:
    """How far the results move with one parameter; the other direction where there is nothing on one side."""
    changes: list[Any] = [np.inf] * len(found)
    for sign in (1, -1):
        moved = list(centre)
        moved[position] = centre[position] + sign * step
        try:
            shifted = plain(*moved)
        except (ArithmeticError, ValueError):
            continue
        gaps = [np.abs(np.asarray(b) - a) for a, b in zip(found, shifted, strict=True)]
        # an infinity that stays one has not moved
        gaps = [np.where(np.asarray(a) == np.asarray(b), 0.0, g) for a, b, g in zip(found, shifted, gaps, strict=True)]
        changes = [np.where(np.isfinite(c), c, g) for c, g in zip(changes, gaps, strict=True)]
        if all(np.all(np.isfinite(c)) for c in changes):
            break
    return [np.where(np.isfinite(c), c, np.inf) for c in changes]


def _changes_together(
    plain: Numeric, centre: list[Any], moves: list[tuple[int, Any, Any]], found: list[Any]
) -> list[list[Any]] | None:
    """The same for several parameters, each moved at a point of its own; None where one by one is the way."""
    if any(is_numeric(c) and np.ndim(c) for c in centre):
        return None
    columns = [np.full(len(moves), c, dtype=float) if is_numeric(c) else c for c in centre]
    for k, (position, _, step) in enumerate(moves):
        columns[position][k] += step
    try:
        shifted = plain(*columns)
    except (ArithmeticError, ValueError):
        return None
    gaps = [np.abs(np.asarray(b) - a) for a, b in zip(found, shifted, strict=True)]
    if not all(len(g) == len(moves) and np.all(np.isfinite(g)) for g in gaps):
        return None
    return [[g[k] for g in gaps] for k in range(len(moves))]


def solved_errors(matrix: Any, gap: Any) -> Any:
    """Errors of the solution of a linear system whose right-hand side is off by so much; infinite if it is singular."""
    try:
        inverse = np.abs(np.linalg.inv(matrix))
    except np.linalg.LinAlgError:
        return np.full(len(gap), np.inf)
    with np.errstate(all="ignore"):
        errors = inverse @ gap
    return np.where(np.isnan(errors), np.inf, errors)


def _differences(function: Numeric, x: list[float], parameters: list[Any]) -> Any:
    """Jacobian of a map by central differences."""
    columns = []
    for k, value in enumerate(x):
        step = 1e-4 * max(abs(value), 1e-8)
        up, down = (function(*x[:k], value + sign * step, *x[k + 1 :], *parameters) for sign in (1, -1))
        columns.append([(float(a) - float(b)) / (2 * step) for a, b in zip(up, down, strict=True)])
    return np.array(columns).T


__all__ = ["BACKEND", "Rounded", "RoundedFloat64", "judged", "reported", "solved_errors"]

BACKEND = RoundedFloat64()
