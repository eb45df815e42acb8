"""Means over a distribution of lengths in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.domains import Distribution
from theorem_engine.trace import note
from theorem_engine.values import as_float


def lower(means: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """One evaluation at all lengths of a distribution."""
    length = means[0].length
    body = backend.function([means[0].letter, *parameters], [m.body for m in means])
    place = parameters.index(length)

    def one(value: Any, values: tuple[Any, ...]) -> list[Any]:
        if not isinstance(value, Distribution):
            return list(body(value, *values))
        numbers = np.array([float(n) for n, _ in value.weights])
        weights = np.array([as_float(w) for _, w in value.weights])
        spread = [np.asarray(v)[..., None] if np.ndim(v) else v for v in values]
        return [np.multiply(r, np.ones(numbers.size)) @ weights for r in body(numbers, *spread)]

    def evaluate(*values: Any) -> list[Any]:
        given = values[place]
        if np.ndim(given) == 0:
            results = one(given[()] if isinstance(given, np.ndarray) else given, values)
        else:
            shape = np.broadcast_shapes(*[np.shape(v) for v in values])
            flat = [np.broadcast_to(np.asarray(v, dtype=object), shape).ravel() for v in values]
            rows = [one(flat[place][i], tuple(v[i] for v in flat)) for i in range(flat[0].size)]
            results = [np.array([float(r) for r in c]).reshape(shape) for c in zip(*rows, strict=True)]
        note("mean over lengths", [4e-16 * np.abs(r) for r in results])
        return results

    return evaluate
