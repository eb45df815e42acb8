"""Errors of random recurrences: a path of one seed, its rounding amplified as a change of its start is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from theorem_engine.backends.base import Backend, Numeric, get_backend
from theorem_engine.backends.rounded import INSIDE, is_numeric, judged


def lower(laws: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend, plain: Numeric) -> Numeric:
    """The float64 state after the last step."""
    (law,) = laws
    return judged(plain, parameters, noise_inside(law, parameters), together=True)


def noise_inside(law: Any, parameters: tuple[Any, ...]) -> Callable[..., list[Any]]:
    """What the roundings of all steps amount to as errors of the parameters: at its start a state of order one."""
    duration = get_backend("float64").function(parameters, [law.duration])
    is_start = [p in law.start for p in parameters]

    def inside(*values: Any) -> list[Any]:
        noise = INSIDE * (1 + float(np.max(duration(*values)[0])))
        return [
            noise * np.maximum(np.abs(v), 1.0 if first else 0.0) if is_numeric(v) else 0.0
            for v, first in zip(values, is_start, strict=True)
        ]

    return inside
