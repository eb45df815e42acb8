"""Recurrences at mpmath's precision."""

from __future__ import annotations

from typing import Any

from mpmath import mp

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.base.errors import NotConverged


def lower(laws: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """A plain loop."""
    (law,) = laws
    clock = [law.clock] if law.clock is not None else []
    step = backend.function([*law.state, *clock, *parameters], list(law.bodies))
    first = backend.function(parameters, [*law.start, law.duration])

    stop = backend.function([*law.state, *clock, *parameters], [law.until]) if law.until is not None else None

    def evaluate(*values: Any) -> list[Any]:
        *state, duration = first(*values)
        for t in range(int(duration)):
            if stop is not None and stop(*state, *([mp.mpf(t)] if clock else []), *values)[0]:
                break
            state = step(*state, *([mp.mpf(t)] if clock else []), *values)
        if not all(mp.isfinite(s) for s in state):
            raise NotConverged(f"the recurrence left the finite numbers within {int(duration)} steps")
        return list(state)

    return evaluate
