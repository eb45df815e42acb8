"""Errors of trajectories: those of their law, at every entry of the log."""

from __future__ import annotations

from typing import Any

import numpy as np

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.backends.rounded import judged
from theorem_engine.backends.rounded.flow import FlowErrors
from theorem_engine.backends.rounded.number import Rounded, value_of
from theorem_engine.backends.rounded.random_recurrence import noise_inside
from theorem_engine.backends.rounded.recurrence import Amplified
from theorem_engine.language.operators.dynamics import Recurrence
from theorem_engine.language.operators.stochastic import RandomRecurrence


def lower(trajectories: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend, plain: Numeric) -> Numeric:
    """The log with the clock first, then the final state, as float64 has them."""
    (trajectory,) = trajectories
    law = trajectory.law
    if isinstance(law, RandomRecurrence):
        return judged(plain, parameters, noise_inside(law, parameters))
    every = backend.function(parameters, [trajectory.every])
    is_stepped = isinstance(law, Recurrence)
    way: Any = (Amplified if is_stepped else FlowErrors)(law, parameters, backend)

    def evaluate(*values: Any) -> list[Any]:
        clock, *found = plain(*[value_of(v) for v in values])
        count = int(float(value_of(every(*values)[0])))
        errors = way.errors(values, count)
        columns = np.array(errors).T if is_stepped else errors
        size = len(found) // 2
        logged = [Rounded(c, e) for c, e in zip(found[:size], columns, strict=True)]
        final = [Rounded(float(c), e[-1]) for c, e in zip(found[size:], columns, strict=True)]
        return [Rounded(clock, 0.0), *logged, *final]

    return evaluate
