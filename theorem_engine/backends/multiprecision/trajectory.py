"""Trajectories at mpmath's precision."""

from __future__ import annotations

from typing import Any

from mpmath import mp

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.base.errors import NotAvailable
from theorem_engine.language.operators.dynamics import Recurrence


def lower(trajectories: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """The log of a recurrence."""
    (trajectory,) = trajectories
    law = trajectory.law
    if not isinstance(law, Recurrence):
        raise NotAvailable("trajectories of flows are available in double precision only")
    clock = [law.clock] if law.clock is not None else []
    step = backend.function([*law.state, *clock, *parameters], list(law.bodies))
    first = backend.function(parameters, [*law.start, law.duration, trajectory.every])

    def evaluate(*values: Any) -> list[Any]:
        *state, duration, every = first(*values)
        rows = []
        for t in range(int(duration)):
            if t % int(every) == 0:
                rows.append([mp.mpf(t), *state])
            state = step(*state, *([mp.mpf(t)] if clock else []), *values)
        rows.append([duration, *state])
        return [*(list(column) for column in zip(*rows, strict=True)), *state]

    return evaluate
