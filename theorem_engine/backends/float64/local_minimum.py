"""A local minimum tracked along its parameters, in double precision."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.backends.float64.each_point import each_point
from theorem_engine.base.reports import note
from theorem_engine.numerics.solvers.following import been_to
from theorem_engine.numerics.solvers.search import descend

#: Largest change of the logarithm of a parameter in one step.
STRIDE = 0.35
#: Halvings of the last step where the minimum was lost in it, and the slope to which it is then followed.
HALVINGS, CLOSE = 5, 1e-9


def lower(minima: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """Descents with the symbolic slopes, one for each step of the parameters."""
    (minimum,) = minima
    letters = minimum.letters
    value = backend.function([*letters, *parameters], [minimum.body])
    basin = backend.function([*letters, *parameters], [minimum.basin])
    slopes = backend.function([*letters, *parameters], [minimum.body.diff(x) for x in letters])
    # a parameter that has been replaced by an expression cannot be moved on its own
    moved = [(parameters.index(p), known) for p, known in minimum.known if p in parameters]

    def track(
        start: Any, paths: list[tuple[int, float, float]], values: tuple[Any, ...], halvings: int, tolerance: float
    ) -> tuple[Any, float, bool]:
        """Where the minimum is after its way, the slope left there, and whether it stayed in the basin."""
        where, steepest = np.array(start), math.inf
        for here, is_last in _steps(values, paths, halvings):

            def height(place: Any, here: Any = here) -> float:
                return float(value(*place, *here)[0])

            def slope(place: Any, here: Any = here) -> Any:
                return np.array([float(s) for s in slopes(*place, *here)])

            def inside(place: Any, here: Any = here) -> bool:
                return bool(basin(*place, *here)[0] > 0)

            where, steepest = descend(height, slope, where, 1e-11 if is_last else tolerance, inside)
            if halvings and not inside(where):
                break
        return where, steepest, inside(where)

    def one(*values: Any) -> list[float]:
        visited = been_to(one)
        begin, start = _nearest(values, moved, minimum.start, visited)
        paths = _paths(values, begin)
        where, steepest, is_inside = track(start, paths, values, 0, 1e-5)
        halvings = _halvings(paths)
        if not is_inside and halvings:
            # beside a border of its existence a minimum is lost in a long step though it is still there
            where, steepest, is_inside = track(start, paths, values, halvings, CLOSE)
        if is_inside and steepest <= CLOSE:
            visited.append((values, where))
        best = float(value(*where, *values)[0])
        note("minimum", None, f"followed from known parameters, slope {steepest:.1e} at the minimiser")
        return [best, *(float(x) for x in where), 1.0]

    return lambda *values: each_point(one, values)


def _nearest(
    values: tuple[Any, ...], moved: list[tuple[int, float]], start: Any, visited: list[tuple[tuple[Any, ...], Any]]
) -> tuple[list[tuple[int, float]], Any]:
    """Where the way begins and the minimum there: the last place on it that this search has been to."""
    best, left = (moved, start), math.inf
    free = {i for i, _ in moved}
    for place, where in visited:
        is_alike = all(i in free or a is b or a == b for i, (a, b) in enumerate(zip(place, values, strict=True)))
        # what lies beyond is no place on the way
        if is_alike and all(min(known, values[i]) <= place[i] <= max(known, values[i]) for i, known in moved):
            rest = max((abs(float(values[i]) - float(place[i])) for i, _ in moved), default=0.0)
            if rest < left:
                best, left = ([(i, float(place[i])) for i, _ in moved], where), rest
    return best


def _paths(values: tuple[Any, ...], begin: list[tuple[int, float]]) -> list[tuple[int, float, float]]:
    """The parameters that move, from where to where; what is no positive number does not move."""
    paths = [(i, known, float(values[i])) for i, known in begin if isinstance(values[i], (int, float, np.number))]
    return [(i, a, b) for i, a, b in paths if a > 0 and 0 < b < math.inf]


def _longest(paths: list[tuple[int, float, float]]) -> float:
    """The largest change of the logarithm of a parameter."""
    return max((abs(math.log(b / a)) for _, a, b in paths), default=0.0)


def _halvings(paths: list[tuple[int, float, float]]) -> int:
    """How often the last step is halved until it is as short as it gets."""
    length = _longest(paths)
    last = length / max(1, math.ceil(length / STRIDE))
    return min(HALVINGS, max(0, math.ceil(math.log2(last / STRIDE) + HALVINGS))) if last else 0


def _steps(
    values: tuple[Any, ...], paths: list[tuple[int, float, float]], halvings: int = 0
) -> Iterator[tuple[tuple[Any, ...], bool]]:
    """The parameters on their way, evenly in their logarithms, the last step in halves; whole numbers stay whole."""
    count = math.ceil(_longest(paths) / STRIDE)
    shares = [k / count for k in range(1, count)]
    shares += [1 - 0.5**j / count for j in range(1, halvings + 1) if count]
    for share in shares:
        here = list(values)
        for i, a, b in paths:
            between = a * (b / a) ** share
            here[i] = float(round(between)) if a.is_integer() and b.is_integer() else between
        yield tuple(here), False
    yield values, True
