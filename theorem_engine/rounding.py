"""The error of a double-precision prediction."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from theorem_engine.backends import get_backend

if TYPE_CHECKING:
    from theorem_engine.declaration import Entry
    from theorem_engine.point import Point


def float64_errors(entry: Entry, point: Point) -> dict[Any, float]:
    """Error bounds of every target, by running the evaluation on numbers that carry their error."""
    import numpy as np

    from theorem_engine.predicting import compiled, plan_of

    statement, _ = plan_of(entry, point.options)
    if entry.error_kind == "statistical":
        return _statistical_errors(entry, point)
    number = get_backend("rounded").number
    with np.errstate(all="ignore"):
        results = compiled(entry, point.options, "rounded")(*[number(v) for v in point.values])
    return {symbol: _error_of(value) for symbol, value in zip(statement.targets(), results, strict=True)}


def _statistical_errors(entry: Entry, point: Point) -> dict[Any, float]:
    """Standard errors: the whole evaluation on each set of random numbers alone, and the spread of the results."""
    import numpy as np

    from theorem_engine.errors import NotConverged
    from theorem_engine.predicting import evaluate_float64, plan_of
    from theorem_engine.replicates import COUNT, only

    number = get_backend("float64").number
    values = [number(v) for v in point.values]
    runs = []
    for index in range(COUNT):
        with only(index):
            try:
                runs.append([float(v) for v in evaluate_float64(entry, point.options, values).values()])
            except NotConverged:
                continue
    targets = plan_of(entry, point.options)[0].targets()
    if len(runs) <= COUNT // 2:
        return dict.fromkeys(targets, float("inf"))
    columns = np.array(runs).T
    # an output that is infinite whatever the random numbers has no statistical error
    return {
        symbol: 0.0 if np.all(column == column[0]) else float(np.std(column, ddof=1) / np.sqrt(COUNT))
        for symbol, column in zip(targets, columns, strict=True)
    }


def _error_of(value: Any) -> Any:
    """The bound that a number carries, an array of them for an array; unknown is infinite."""
    import numpy as np

    if not hasattr(value, "error"):
        return _rounding_of(value)
    # sums of errors are rounded themselves
    error = np.where(np.isnan(value.error), np.inf, 1.01 * np.asarray(value.error))
    error = np.broadcast_to(error, np.broadcast_shapes(np.shape(value.value), error.shape))
    return error if error.ndim else float(error)


def _rounding_of(constant: Any) -> float:
    """Error of an output that depends on no letter: a few roundings, or none for whole numbers."""
    number = abs(constant) if isinstance(constant, (int, float, complex)) else 0.0
    is_exact = isinstance(constant, bool) or not math.isfinite(number) or number == int(number)
    return 0.0 if is_exact else number * 2.0**-50


def errors_of_outputs(entry: Entry, point: Point, values: Mapping[Any, Any]) -> dict[str, Any]:
    """Error bounds of all outputs, each in the shape of its output; infinite where they could not be worked out."""
    from theorem_engine.errors import TheoremEngineError
    from theorem_engine.guard import guarded
    from theorem_engine.predicting import plan_of
    from theorem_engine.statement import shape_errors

    statement, _ = plan_of(entry, point.options)
    try:
        with guarded(entry, None, "the estimate of the error"):
            errors = float64_errors(entry, point)
    except TheoremEngineError:
        # the value stands; how far it can be trusted is not known
        errors = dict.fromkeys(statement.targets(), float("inf"))
    return {name: shape_errors(shape, values, errors) for name, shape in statement.outputs.items()}
