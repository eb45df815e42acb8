"""Trajectories at mpmath's precision."""

from __future__ import annotations

from typing import Any

from mpmath import mp

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.backends.multiprecision.flow import Way
from theorem_engine.base.errors import NotAvailable
from theorem_engine.language.operators.dynamics import Flow, Recurrence


def lower(trajectories: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """The log of a recurrence, or a flow at equal times."""
    (trajectory,) = trajectories
    law = trajectory.law
    if isinstance(law, Flow):
        return _of_flow(trajectory, parameters, backend)
    if not isinstance(law, Recurrence):
        raise NotAvailable(f"the way of a {type(law).__name__} is available in double precision only")
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


def _of_flow(trajectory: Any, parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    way = Way(trajectory.law, parameters, backend)
    pieces = backend.function(parameters, [trajectory.every])

    def evaluate(*values: Any) -> list[Any]:
        count = int(pieces(*values)[0])
        times: list[Any] = []

        def equal(duration: Any) -> list[Any]:
            times.extend(duration * k / count for k in range(count + 1))
            return times

        states = way(values, equal)
        return [times, *(list(column) for column in zip(*states, strict=True)), *states[-1]]

    return evaluate
