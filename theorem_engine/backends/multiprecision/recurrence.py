"""Recurrences at mpmath's precision."""

from __future__ import annotations

from typing import Any

from mpmath import mp

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.backends.bundles import compile_law
from theorem_engine.base.errors import NotConverged


def lower(laws: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """A plain loop."""
    (law,) = laws
    made = compile_law(law, parameters, backend)

    def evaluate(*values: Any) -> list[Any]:
        *state, duration = made.first(*values)
        for t in range(int(duration)):
            now = [mp.mpf(t)] if made.has_clock else []
            if made.stop is not None and made.stop(*state, *now, *values)[0]:
                break
            state = made.step(*state, *now, *values)
        if not all(mp.isfinite(s) for s in state):
            raise NotConverged(f"the recurrence left the finite numbers within {int(duration)} steps")
        return list(state)

    return evaluate
