"""Flows in double precision: DOP853 with tight tolerances, and extrapolation where the law is stiff."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.backends.float64.each_point import each_point
from theorem_engine.base.errors import NotConverged
from theorem_engine.base.reports import note
from theorem_engine.numerics.solvers import stiff

RELATIVE, ABSOLUTE = 1e-13, 1e-15
#: Evaluations of the rates after which a law counts as stiff, and after which a stiff one is given up.
EXPLICIT, BUDGET = 6_000, 60_000


class _Spent(Exception):
    """The budget is used up."""


def lower(laws: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """The state at the end of the time, and what is read off it."""
    (law,) = laws
    way = follow(law, parameters, backend)
    readings = backend.function([*law.state, *parameters], list(law.readings))

    def end(*values: Any) -> list[float]:
        state = [float(column[-1]) for column in way(values, 1)[1:]]
        return [*state, *(float(r) for r in readings(*state, *values))]

    return lambda *values: each_point(end, values)


def follow(law: Any, parameters: tuple[Any, ...], backend: Backend) -> Callable[..., Any]:
    """A function (parameters, pieces) -> columns of time and state at equal times, from start to end.

    It may be given another start and looser tolerances, to tell how much they matter. A start whose letters are arrays
    is followed at all places in the same steps, which stiff laws are not: None. ``looks`` are times per piece that
    are looked at without another step; a stiff law has the ends of the pieces alone.
    """
    clock = [law.clock] if law.clock is not None else []
    rates = backend.function([*law.state, *clock, *parameters], list(law.bodies))
    first = backend.function(parameters, [*law.start, law.duration])

    def way(
        values: Sequence[float],
        pieces: int,
        start: Sequence[Any] | None = None,
        looseness: float = 1.0,
        looks: int = 1,
    ) -> Any:
        *stated, duration = (float(v) for v in first(*values))
        begin = np.array(stated if start is None else start, dtype=float)
        times, ends = (np.linspace(0.0, duration, n * pieces + 1) for n in (looks, 1))
        if duration == 0:
            return [times, *np.repeat(begin[..., None], times.size, axis=-1)]

        spent = 0

        def slope(budget: int, t: float, y: Any) -> Any:
            nonlocal spent
            spent += 1
            if spent > budget:
                raise _Spent
            if begin.ndim == 1:
                return [float(r) for r in rates(*y, *([t] if clock else []), *values)]
            found = rates(*y.reshape(begin.shape), *([t] if clock else []), *values)
            return np.concatenate([np.broadcast_to(r, begin.shape[1:]) for r in found])

        tolerances = (RELATIVE * looseness, ABSOLUTE * looseness)
        found = _explicit(partial(slope, EXPLICIT), begin.ravel(), times, *tolerances)
        if begin.ndim > 1:
            return None if found is None else [times, *found.reshape(*begin.shape, times.size)]
        if found is None:
            spent, times = 0, ends
            found = _stiff(partial(slope, BUDGET), begin, times, *tolerances)
        if found is None:
            raise NotConverged(f"the flow could not be followed to time {duration:g} within {BUDGET} evaluations")
        note("flow", np.nan, f"{spent} evaluations")
        return [times, *found]

    return way


def _explicit(slope: Callable[..., Any], start: Any, times: Any, relative: float, absolute: float) -> Any:
    from scipy.integrate import solve_ivp

    try:
        done = solve_ivp(
            slope, (0.0, float(times[-1])), start, method="DOP853", rtol=relative, atol=absolute, t_eval=times
        )
    except (_Spent, ValueError, OverflowError):
        return None
    if not (done.success and done.y.shape[1] == times.size and np.all(np.isfinite(done.y))):
        return None
    return done.y


def _stiff(slope: Callable[..., Any], start: Any, times: Any, relative: float, absolute: float) -> Any:
    """Time goes along as a letter of the state."""
    states = [np.array([0.0, *start])]
    try:
        for piece in np.diff(times):
            # rounding in the table leaves less than the last digits
            states.append(
                stiff.follow(lambda y: [1.0, *slope(y[0], y[1:])], states[-1], float(piece), 10 * relative, absolute)
            )
    except (_Spent, NotConverged, ValueError, OverflowError, np.linalg.LinAlgError):
        return None
    return np.array(states).T[1:]
