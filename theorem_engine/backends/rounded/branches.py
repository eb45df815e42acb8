"""Errors of fixed points: how far around each the sign of its equation is not certain, and what follows from that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theorem_engine.backends.base import Backend, Numeric, get_backend
from theorem_engine.backends.float64.branches import FixedPoints, arranged, chosen_row
from theorem_engine.backends.rounded import solved_errors
from theorem_engine.backends.rounded.eigenvalues import eigenvalue_bounds
from theorem_engine.backends.rounded.number import Rounded, each_place, error_of, value_of
from theorem_engine.backends.rounded.root import certain_bracket
from theorem_engine.planning.branches import branch_plan, solution_plan


def lower(laws: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend, plain: Numeric) -> Numeric:
    """The fixed points of double precision; what is chosen or counted within the noise is not known at all."""
    (law,) = laws
    size = len(law.unknowns)
    rough = FixedPoints(law, parameters, get_backend("float64"))
    run = backend.compile(branch_plan(law, parameters))
    rest = backend.compile(solution_plan(law, parameters)) if law.width > size + 1 else None

    def noisy(x: float, values: Sequence[Any]) -> tuple[float, float]:
        gap = run(Rounded(x), *values)[0] - Rounded(x)
        return float(value_of(gap)), float(error_of(gap))

    def errors_of(x: Sequence[float], values: Sequence[Any]) -> Any:
        if size == 1:
            return [certain_bracket(lambda u: noisy(u, values), x[0])]
        flat = run(*map(Rounded, x), *values)
        matrix = np.eye(size) - np.array([float(value_of(v)) for v in flat[size:]]).reshape(size, size)
        gap = np.array([float(error_of(f)) + abs(float(value_of(f)) - v) for f, v in zip(flat, x, strict=False)])
        return 2 * solved_errors(matrix, gap)

    def numbers(x: Sequence[float], values: Sequence[Any]) -> list[Any]:
        is_known = not np.any(x) or any(_is_exact(x, place) for place in law.trivial)
        errors = [0.0] * size if is_known else errors_of(x, values)
        letters = [Rounded(v, e) for v, e in zip(x, errors, strict=True)]
        flat = run(*letters, *values)
        more = list(rest(*letters, *values)) if rest is not None else []
        slope = flat[1] if size == 1 else _largest(flat[size:], size)
        return [*letters, *more[: len(law.defined)], slope, *more[len(law.defined) :]]

    def evaluate(*values: Any) -> list[Any]:
        with np.errstate(all="ignore"):
            found, turns = rough([value_of(v) for v in values])
            rows = [numbers(x, values) for x in found]
            # with one unknown none is missed where every turning point is beyond the noise
            is_complete = size == 1 and all(abs(v) > e for v, e in (noisy(t, values) for t in turns))
        chosen = chosen_row(law, [[_number(v) for v in row] for row in rows])
        result = arranged(law, rows, chosen, Rounded(np.inf, 0.0 if is_complete else np.inf))
        if not (is_complete or law.choice != "energy") or not _is_certain(law, rows):
            result[: law.width] = [Rounded(_number(v), np.inf) for v in result[: law.width]]
        return [*result, Rounded(float(len(rows)), 0.0 if is_complete else np.inf)]

    return lambda *values: each_place(evaluate, values)


def _number(value: Any) -> float:
    return float(value_of(value))


def _is_exact(x: Sequence[float], place: Any) -> bool:
    return all(entry.is_Rational and float(entry) == v for v, entry in zip(x, place, strict=True))


def _tells(slope: Any) -> bool:
    """Whether a fixed point is stable or not, beyond the noise."""
    return bool(abs(_number(slope) - 1) > float(error_of(slope)))


def _is_certain(law: Any, rows: Sequence[Sequence[Any]]) -> bool:
    """Whether noise leaves open neither which are stable nor which of those has the least energy."""
    place = len(law.letters)
    if not all(_tells(row[place]) for row in rows):
        return False
    stable = [row for row in rows if _number(row[place]) < 1]
    if law.choice != "energy" or len(stable) < 2:
        return True
    first, second = sorted((row[-1] for row in stable), key=_number)[:2]
    return bool(_number(second) - _number(first) > float(error_of(first)) + float(error_of(second)))


def _largest(flat: Sequence[Any], size: int) -> Any:
    """The largest real part of the eigenvalues of a matrix with errors."""
    matrix = np.array([_number(v) for v in flat]).reshape(size, size)
    noise = np.array([float(error_of(v)) for v in flat]).reshape(size, size)
    if not np.all(np.isfinite(matrix)):
        return Rounded(np.inf, np.inf)
    places = np.linalg.eigvals(matrix)
    bounds = eigenvalue_bounds(matrix, noise, places)
    return Rounded(float(np.max(places.real)), float(np.max(bounds)))
