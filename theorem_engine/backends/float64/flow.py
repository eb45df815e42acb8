"""Flows in double precision: DOP853 with tight tolerances."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.backends.float64.points import each_point
from theorem_engine.errors import NotConverged
from theorem_engine.trace import note

RELATIVE, ABSOLUTE = 1e-13, 1e-15
#: Evaluations of the rates after which a flow is given up; a stiff law gets as many again from Radau.
BUDGET = 12_000


class _Spent(Exception):
    """The budget is used up."""


def lower(laws: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """The state at the end of the time."""
    (law,) = laws
    way = follow(law, parameters, backend)
    return lambda *values: each_point(lambda *v: [column[-1] for column in way(v, 1)[1:]], values)


def follow(law: Any, parameters: tuple[Any, ...], backend: Backend) -> Callable[..., list[Any]]:
    """A function (parameters, pieces) -> columns of time and state at equal times, from start to end.

    It may be given another start and another relative tolerance, to tell how much they matter.
    """
    clock = [law.clock] if law.clock is not None else []
    rates = backend.function([*law.state, *clock, *parameters], list(law.bodies))
    first = backend.function(parameters, [*law.start, law.duration])

    def way(
        values: Sequence[float], pieces: int, start: Sequence[float] | None = None, tolerance: float = RELATIVE
    ) -> list[Any]:
        from scipy.integrate import solve_ivp

        *stated, duration = (float(v) for v in first(*values))
        start = stated if start is None else start
        times = np.linspace(0.0, duration, pieces + 1)
        if duration == 0:
            return [times, *(np.full(pieces + 1, s) for s in start)]

        spent = 0

        def slope(t: float, y: Any) -> list[float]:
            nonlocal spent
            spent += 1
            if spent > BUDGET:
                raise _Spent
            return [float(r) for r in rates(*y, *([t] if clock else []), *values)]

        for method in ("DOP853", "Radau"):
            spent = 0
            try:
                done = solve_ivp(
                    slope,
                    (0.0, duration),
                    start,
                    method=method,
                    rtol=tolerance,
                    atol=ABSOLUTE * tolerance / RELATIVE,
                    t_eval=times,
                )
            except (_Spent, ValueError, OverflowError):
                continue
            if done.success and done.y.shape[1] == times.size and np.all(np.isfinite(done.y)):
                note("flow", tolerance, f"{method}, {done.nfev} evaluations")
                return [times, *done.y]
        raise NotConverged(f"the flow could not be followed to time {duration:g} within {BUDGET} evaluations")

    return way
