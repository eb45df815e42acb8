"""Recurrences, enclosed: each step in balls, whose radii grow with the Jacobians on the way."""

from __future__ import annotations

from typing import Any

from flint import arb

from theorem_engine.backends.balls.claims import Unproved
from theorem_engine.backends.balls.functions import as_whole, ball
from theorem_engine.backends.base import Backend, Numeric


def lower(laws: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """A plain loop; a stop that balls do not tell is no answer."""
    (law,) = laws
    clock = [law.clock] if law.clock is not None else []
    step = backend.function([*law.state, *clock, *parameters], list(law.bodies))
    first = backend.function(parameters, [*law.start, law.duration])
    stop = backend.function([*law.state, *clock, *parameters], [law.until]) if law.until is not None else None

    def evaluate(*values: Any) -> list[Any]:
        *state, duration = first(*values)
        for t in range(as_whole(duration)):
            now = [arb(t)] if clock else []
            if stop is not None:
                is_over = stop(*state, *now, *values)[0]
                if is_over is None:
                    raise Unproved(f"whether the recurrence ends at step {t} is not told")
                if is_over:
                    break
            state = [ball(v) for v in step(*state, *now, *values)]
            if not all(v.is_finite() for v in state):
                raise Unproved(f"the balls of a recurrence grew without bound within {t + 1} steps")
        return list(state)

    return evaluate
