"""Flows at mpmath's precision: Taylor series, as mpmath does it."""

from __future__ import annotations

from typing import Any

from mpmath import mp

from theorem_engine.backends.base import Backend, Numeric


def lower(laws: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """``mpmath.odefun`` from the start to the end."""
    (law,) = laws
    clock = [law.clock] if law.clock is not None else []
    rates = backend.function([*law.state, *clock, *parameters], list(law.bodies))
    first = backend.function(parameters, [*law.start, law.duration])

    def evaluate(*values: Any) -> list[Any]:
        *start, duration = first(*values)
        if duration == 0:
            return list(start)
        solution = mp.odefun(lambda t, y: list(rates(*y, *([t] if clock else []), *values)), 0, list(start))
        return list(solution(duration))

    return evaluate
