"""Recurrences in double precision, all points advanced together."""

from __future__ import annotations

from typing import Any

import numpy as np

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.errors import NotConverged
from theorem_engine.trace import note


def lower(laws: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """A loop over steps; points with fewer steps stop earlier."""
    (law,) = laws
    clock = [law.clock] if law.clock is not None else []
    step = backend.function([*law.state, *clock, *parameters], list(law.bodies))
    first = backend.function(parameters, [*law.start, law.duration])

    def evaluate(*values: Any) -> list[Any]:
        *state, duration = np.broadcast_arrays(*[np.asarray(v, dtype=float) for v in first(*values)])
        counts = np.asarray(duration, dtype=int)
        with np.errstate(all="ignore"):
            for t in range(int(counts.max(initial=0))):
                time = [float(t)] if clock else []
                new = step(*state, *time, *values)
                running = counts > t
                state = [np.where(running, n, s) for n, s in zip(new, state, strict=True)]
        if not all(np.all(np.isfinite(s)) for s in state):
            raise NotConverged(f"the recurrence left the finite numbers within {int(counts.max())} steps")
        note("recurrence", np.nan, f"{int(counts.max(initial=0))} steps")
        return state

    return evaluate
