"""Flows in double precision: DOP853 with tight tolerances."""

from __future__ import annotations

from typing import Any

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.backends.float64.points import each_point
from theorem_engine.errors import NotConverged
from theorem_engine.trace import note

RELATIVE, ABSOLUTE = 1e-13, 1e-15


def lower(laws: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """An adaptive integrator at each point; a stiff law falls back on Radau."""
    (law,) = laws
    clock = [law.clock] if law.clock is not None else []
    rates = backend.function([*law.state, *clock, *parameters], list(law.bodies))
    first = backend.function(parameters, [*law.start, law.duration])

    def one(*values: float) -> list[float]:
        from scipy.integrate import solve_ivp

        *start, duration = (float(v) for v in first(*values))
        if duration == 0:
            return start

        def slope(t: float, y: Any) -> list[float]:
            return [float(r) for r in rates(*y, *([t] if clock else []), *values)]

        for method in ("DOP853", "Radau"):
            done = solve_ivp(slope, (0.0, duration), start, method=method, rtol=RELATIVE, atol=ABSOLUTE)
            if done.success:
                note("flow", RELATIVE, f"{method}, {done.t.size - 1} steps")
                return [float(v) for v in done.y[:, -1]]
        raise NotConverged(f"the flow could not be followed to time {duration:g}: {done.message}")

    return lambda *values: each_point(one, values)
