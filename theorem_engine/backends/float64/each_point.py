"""Running a scalar method over every point of broadcast parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from theorem_engine.language.domains import Structured


def each_point(method: Callable[..., Sequence[float]], values: Sequence[Any]) -> list[Any]:
    """Call a method of scalars at each point and put its results back into the points' shape."""
    shape = np.broadcast_shapes(*[np.shape(v) for v in values]) if values else ()
    if shape == ():
        return [np.float64(r) for r in method(*[plain(v) for v in values])]
    flat = [np.broadcast_to(v, shape).ravel() for v in values]
    rows = [method(*[plain(v[i]) for v in flat]) for i in range(flat[0].size)]
    return [np.array(column, dtype=float).reshape(shape) for column in zip(*rows, strict=True)]


def plain(value: Any) -> Any:
    """A NumPy float, which overflows to infinity where Python's raises; what is no number passes as it is."""
    return value if isinstance(value, Structured) else np.float64(value)
