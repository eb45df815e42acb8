"""Trajectories in double precision: the log of a recurrence, or a flow at equal times."""

from __future__ import annotations

from typing import Any

import numpy as np

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.backends.float64.flow import follow
from theorem_engine.backends.float64.random_recurrence import RandomRunner
from theorem_engine.backends.float64.recurrence import Runner
from theorem_engine.language.operators.dynamics import Recurrence
from theorem_engine.language.operators.stochastic import RandomRecurrence


def lower(trajectories: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """Arrays with the log as their last axis."""
    (trajectory,) = trajectories
    law = trajectory.law
    every = backend.function(parameters, [trajectory.every])
    if isinstance(law, (Recurrence, RandomRecurrence)):
        runner = (Runner if isinstance(law, Recurrence) else RandomRunner)(law, parameters, backend)

        def logged(*values: Any) -> list[Any]:
            found = runner.run(values, every(*values)[0])
            return [*found.log, *found.final]

        return logged
    way = follow(law, parameters, backend)

    def evaluate(*values: Any) -> list[Any]:
        pieces = int(np.max(every(*values)[0]))
        shape = np.broadcast_shapes(*[np.shape(v) for v in values])
        flat = [np.broadcast_to(np.asarray(v, dtype=float), shape).ravel() for v in values]
        rows = [way([float(v[i]) for v in flat], pieces) for i in range(int(np.prod(shape)) if shape else 1)]
        columns = [np.array(column).reshape(*shape, pieces + 1) for column in zip(*rows, strict=True)]
        return [*columns, *(column[..., -1] for column in columns[1:])]

    return evaluate
