"""A local minimum tracked along its parameters, in double precision."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.backends.float64.each_point import each_point
from theorem_engine.base.reports import note
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

    def track(values: tuple[Any, ...], halvings: int, tolerance: float) -> tuple[Any, float, bool]:
        """Where the minimum is after its way, the slope left there, and whether it stayed in the basin."""
        where, steepest = np.array(minimum.start), math.inf
        for here, is_last in _steps(values, moved, halvings):

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
        where, steepest, is_inside = track(values, 0, 1e-5)
        if not is_inside:
            # beside a border of its existence a minimum is lost in a long step though it is still there
            where, steepest, _ = track(values, HALVINGS, CLOSE)
        best = float(value(*where, *values)[0])
        note("minimum", None, f"followed from known parameters, slope {steepest:.1e} at the minimiser")
        return [best, *(float(x) for x in where), 1.0]

    return lambda *values: each_point(one, values)


def _steps(
    values: tuple[Any, ...], moved: list[tuple[int, float]], halvings: int = 0
) -> Iterator[tuple[tuple[Any, ...], bool]]:
    """The parameters on their way, evenly in their logarithms, the last step in halves; whole numbers stay whole."""
    paths = [(i, known, float(values[i])) for i, known in moved if isinstance(values[i], (int, float, np.number))]
    paths = [(i, a, b) for i, a, b in paths if a > 0 and 0 < b < math.inf]
    count = max((math.ceil(abs(math.log(b / a)) / STRIDE) for _, a, b in paths), default=0)
    shares = [k / count for k in range(1, count)]
    shares += [1 - 0.5**j / count for j in range(1, halvings + 1) if count]
    for share in shares:
        here = list(values)
        for i, a, b in paths:
            between = a * (b / a) ** share
            here[i] = float(round(between)) if a.is_integer() and b.is_integer() else between
        yield tuple(here), False
    yield values, True
