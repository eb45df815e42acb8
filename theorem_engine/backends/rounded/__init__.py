"""Double precision that carries a first-order bound of its own error.

Runs the same generated code as the float64 backend on numbers with an error attached, so the error
of a prediction follows the evaluation that was really made: rounding, cancellation, truncation of
quadratures, residuals of solvers. An estimate, not a proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theorem_engine.backends.base import Backend, Numeric, get_backend
from theorem_engine.plan import Operate, Solve
from theorem_engine.trace import listening

UNIT = 2.0**-53
#: Special functions are right to a few units in the last place.
FUNCTION = 4 * UNIT


class Rounded(np.lib.mixins.NDArrayOperatorsMixin):
    """A double and a bound of its absolute error."""

    __slots__ = ("error", "value")

    def __init__(self, value: Any, error: Any = 0.0) -> None:
        self.value = value if isinstance(value, complex) else float(value)
        self.error = float(error)

    @property
    def real(self) -> Rounded:
        """The real part; its error is no larger."""
        return Rounded(self.value.real, self.error)

    def __float__(self) -> float:
        return float(self.value.real)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Value by the function itself, error by its measured sensitivity to each input."""
        if method != "__call__" or kwargs or any(isinstance(x, np.ndarray) and x.ndim for x in inputs):
            return NotImplemented
        # a chosen branch comes wrapped in an array without dimensions
        inputs = tuple(x.item() if isinstance(x, np.ndarray) else x for x in inputs)
        plain = [x.value if isinstance(x, Rounded) else x for x in inputs]
        result = ufunc(*plain)
        if isinstance(result, (bool, np.bool_)):
            return result
        result = complex(result) if isinstance(result, complex) else float(result)
        error = FUNCTION * abs(result) if ufunc not in _EXACT else _EXACT[ufunc] * abs(result)
        for position, x in enumerate(inputs):
            if isinstance(x, Rounded) and x.error:
                error += x.error * _sensitivity(ufunc, plain, position, result, x.error)
        return Rounded(result, error)


_EXACT: dict[Any, float] = {
    np.add: UNIT,
    np.subtract: UNIT,
    np.multiply: UNIT,
    np.divide: UNIT,
    np.sqrt: UNIT,
    np.negative: 0.0,
    np.positive: 0.0,
    np.absolute: 0.0,
}


def _sensitivity(function: Any, plain: list[Any], position: int, result: Any, error: float) -> float:
    """|df/dx| by formula where it is linear, else by a difference wide enough to stand above rounding."""
    if function in (np.add, np.subtract, np.negative, np.positive, np.absolute):
        return 1.0
    if function is np.multiply:
        return float(abs(plain[1 - position]))
    step = max(error, 1e-7 * abs(plain[position]), 1e-290)
    slopes = []
    for sign in (1, -1):
        moved = list(plain)
        moved[position] = plain[position] + sign * step
        with np.errstate(all="ignore"):
            change = float(abs(function(*moved) - result))
        if np.isfinite(change):
            slopes.append(change / step)
    return max(slopes, default=float("inf"))


class RoundedFloat64(Backend):
    """The float64 backend with errors."""

    name = "rounded"

    def elementary(
        self, inputs: Sequence[Any], equations: Sequence[tuple[Any, Any]], outputs: Sequence[Any]
    ) -> Numeric:
        """The float64 code itself; the numbers do the work."""
        return get_backend("float64").elementary(inputs, equations, outputs)

    def operate(self, step: Operate) -> Numeric:
        """The float64 operator, its own error estimate, and its sensitivity to each parameter."""
        plain = get_backend("float64").operate(step)

        def evaluate(*values: Any) -> list[Any]:
            centre = [_value(v) for v in values]
            with listening() as notes:
                found = list(plain(*centre))
            # logs of trajectories are arrays; they pass as they are, the numbers beside them get errors
            scalars = [i for i, r in enumerate(found) if not np.ndim(r)]
            results = {i: float(found[i]) for i in scalars}
            own = _own_errors(notes, len(found))
            errors = {i: 2 * UNIT * abs(results[i]) + own[i] for i in scalars}
            for position, value in enumerate(values):
                if not isinstance(value, Rounded) or not value.error:
                    continue
                step_size = max(value.error, 1e-7 * abs(value.value), 1e-290)
                moved = list(centre)
                moved[position] = value.value + step_size
                shifted = plain(*moved)
                for i in scalars:
                    errors[i] += abs(float(shifted[i]) - results[i]) / step_size * value.error
            return [Rounded(results[i], errors[i]) if i in results else r for i, r in enumerate(found)]

        return evaluate

    def group(self, solve: Solve) -> Numeric:
        """The float64 solution; its error is the inverse Jacobian applied to the error of the residual."""
        plain = get_backend("float64").group(solve)
        residual = self.compile(solve.residual)
        bare = get_backend("float64").compile(solve.residual)
        size, offset = len(solve.unknowns), len(solve.unknowns) * len(solve.starts)

        def evaluate(*values: Any) -> list[Any]:
            x = [float(v) for v in plain(*[_value(v) for v in values])]
            flat = [v if isinstance(v, Rounded) else Rounded(v) for v in residual(*x, *values[offset:])]
            if solve.method == "newton":
                matrix = np.eye(size) - np.array([v.value for v in flat[size:]]).reshape(size, size)
            else:
                matrix = np.eye(size) - _differences(bare, x, [_value(v) for v in values[offset:]])
            gap = np.array([f.error + abs(f.value - v) for f, v in zip(flat[:size], x, strict=True)])
            errors = np.abs(np.linalg.inv(matrix)) @ gap
            return [Rounded(v, e) for v, e in zip(x, errors, strict=True)]

        return evaluate

    def number(self, value: Any) -> Any:
        """The nearest double, half a unit in its last place off unless it is a whole number."""
        number = get_backend("float64").number(value)
        if isinstance(number, complex):
            return Rounded(number, UNIT * abs(number))
        if not isinstance(number, float):
            return number
        return Rounded(number, 0.0 if number.is_integer() or np.isinf(number) else UNIT * abs(number))


def _differences(function: Numeric, x: list[float], parameters: list[Any]) -> Any:
    """Jacobian of a map by central differences."""
    columns = []
    for k, value in enumerate(x):
        step = 1e-4 * max(abs(value), 1e-8)
        up, down = (function(*x[:k], value + sign * step, *x[k + 1 :], *parameters) for sign in (1, -1))
        columns.append([(float(a) - float(b)) / (2 * step) for a, b in zip(up, down, strict=True)])
    return np.array(columns).T


def _value(value: Any) -> Any:
    return value.value if isinstance(value, Rounded) else value


def _own_errors(notes: list[Any], count: int) -> list[float]:
    """Error estimates the operator reported: one for each result, or one for all."""
    total = [0.0] * count
    for note in notes[-1:]:
        reported = note.error if isinstance(note.error, list) else [note.error] * count
        for i in range(count):
            own = float(np.max(reported[min(i, len(reported) - 1)]))
            total[i] += 0.0 if np.isnan(own) else own
    return total


BACKEND = RoundedFloat64()
