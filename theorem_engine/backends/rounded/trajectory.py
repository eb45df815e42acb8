"""Errors of trajectories: those of their law, at every entry of the log."""

from __future__ import annotations

from typing import Any

import numpy as np

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.backends.rounded import judged
from theorem_engine.backends.rounded.flow import FlowErrors
from theorem_engine.backends.rounded.number import UNIT, Rounded, error_of, value_of
from theorem_engine.backends.rounded.random_recurrence import noise_inside
from theorem_engine.backends.rounded.recurrence import Amplified
from theorem_engine.language.operators.dynamics import Recurrence
from theorem_engine.language.operators.stochastic import RandomRecurrence


def lower(trajectories: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend, plain: Numeric) -> Numeric:
    """The log with the clock first, then the final state, as float64 has them."""
    (trajectory,) = trajectories
    law = trajectory.law
    if isinstance(law, RandomRecurrence):
        return judged(plain, parameters, noise_inside(law, parameters), together=True)
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
        # steps are counted; times are parts of a duration that has an error of its own
        off = 0.0 if is_stepped else (2 * UNIT + _relative(way.first(*values)[-1])) * np.abs(clock)
        return [Rounded(clock, off), *logged, *final]

    return evaluate


def _relative(duration: Any) -> float:
    """The relative error of a time."""
    size = abs(float(value_of(duration)))
    return float(error_of(duration)) / size if size else 0.0
