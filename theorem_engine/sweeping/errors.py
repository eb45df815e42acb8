"""Errors of many points at once: the evaluation with errors runs on arrays where it can, else point by point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from theorem_engine.asking.error import errors_of_outputs, is_statistical
from theorem_engine.asking.evaluation import compiled, plan_of
from theorem_engine.asking.point import Point
from theorem_engine.backends import get_backend
from theorem_engine.base.errors import TheoremEngineError
from theorem_engine.language.domains import Structured
from theorem_engine.language.entry import Entry
from theorem_engine.language.statement import shape_errors

#: Points whose errors are worked out in one call: arrays of this length stay in the processor's caches.
CHUNK = 4096
#: Parts into which the points of a coarse estimate are divided; one of each is looked at.
COARSE = 32


def errors_together(
    entry: Entry, points: Sequence[Point], cells: Sequence[Mapping[Any, Any]]
) -> list[Mapping[str, Any]]:
    """Errors of the outputs at points that share their equations; ``cells`` are the values found there."""
    found: list[Mapping[str, Any]] = []
    for first in range(0, len(points), CHUNK):
        some, there = points[first : first + CHUNK], cells[first : first + CHUNK]
        columns = _in_one_call(entry, some) if len(some) > 1 else None
        if columns is None:
            found += [errors_of_outputs(entry, point, cell) for point, cell in zip(some, there, strict=True)]
            continue
        statement, _ = plan_of(entry, some[0].options)
        for row, cell in enumerate(there):
            errors = {symbol: column[row] for symbol, column in columns.items()}
            found.append({name: shape_errors(shape, cell, errors) for name, shape in statement.outputs.items()})
    return found


def _in_one_call(entry: Entry, points: Sequence[Point]) -> dict[Any, Any] | None:
    """Errors of all targets as arrays; None where the evaluation does not take arrays."""
    options = points[0].options
    statement, _ = plan_of(entry, options)
    targets = statement.targets()
    if is_statistical(entry, options):
        return None
    try:
        columns = [_column(column) for column in zip(*(p.values for p in points), strict=True)]
        with np.errstate(all="ignore"):
            results = compiled(entry, options, "rounded")(*columns)
        errors = {}
        for symbol, result in zip(targets, results, strict=True):
            error = getattr(result, "error", None)
            if error is None or np.ndim(result.value) > 1 or np.ndim(error) > 1:
                # a number that depends on no letter, a truth value or a log
                return None
            # sums of errors are rounded themselves; what is not known is infinite
            known = np.where(np.isnan(error), np.inf, 1.01 * np.asarray(error))
            errors[symbol] = np.broadcast_to(known, (len(points),)).tolist()
    except (TheoremEngineError, TypeError, ValueError, ArithmeticError, IndexError, AttributeError):
        return None
    return errors


def _column(values: Sequence[Any]) -> Any:
    """Values of one letter as a backend has them: an array with errors, or the one that all share."""
    from theorem_engine.backends.rounded.number import Rounded, error_of, value_of

    if isinstance(values[0], Structured) and not values[0].stacks:
        return values[0]
    numbers = [get_backend("rounded").number(v) for v in values]
    if not all(isinstance(n, Rounded) for n in numbers):
        raise TypeError("a letter that carries no error")
    return Rounded(np.array([value_of(n) for n in numbers]), np.array([error_of(n) for n in numbers]))


def coarse_places(count: int) -> list[int]:
    """Numbers of the points that a coarse estimate looks at, both ends among them."""
    return sorted({round(i * (count - 1) / min(COARSE, max(1, count - 1))) for i in range(min(COARSE, count - 1) + 1)})
