"""Recurrences, enclosed: each step in balls, whose radii grow with the Jacobians on the way."""

from __future__ import annotations

from typing import Any

from flint import arb

from theorem_engine.backends.balls.claims import Unproved
from theorem_engine.backends.balls.functions import as_whole, ball
from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.backends.bundles import compile_law


def lower(laws: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """A plain loop; a stop that balls do not tell is no answer."""
    (law,) = laws
    made = compile_law(law, parameters, backend)

    def evaluate(*values: Any) -> list[Any]:
        *state, duration = made.first(*values)
        for t in range(as_whole(duration)):
            now = [arb(t)] if made.has_clock else []
            if made.stop is not None:
                is_over = made.stop(*state, *now, *values)[0]
                if is_over is None:
                    raise Unproved(f"whether the recurrence ends at step {t} is not told")
                if is_over:
                    break
            state = [ball(v) for v in made.step(*state, *now, *values)]
            if not all(v.is_finite() for v in state):
                raise Unproved(f"the balls of a recurrence grew without bound within {t + 1} steps")
        return list(state)

    return evaluate
