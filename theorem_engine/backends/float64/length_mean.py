"""Means over a distribution of lengths in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.base.errors import NotAvailable
from theorem_engine.base.exact import as_float
from theorem_engine.base.reports import note
from theorem_engine.language.lengths import Distribution

#: Values of a body that are held at once, and that are worked out at all: pairs of lengths are many.
HELD, MOST = 1 << 20, 4e8


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
        points = np.broadcast_shapes(*[np.shape(v) for v in values])
        count = numbers.size * int(np.prod(points))
        if count > MOST:
            raise NotAvailable(
                f"a mean over {numbers.size} lengths would take {count:.1e} terms here (at most {MOST:.0e}); give a "
                "distribution over fewer lengths"
            )
        share = max(1, HELD * numbers.size // count)
        totals: list[Any] = [0.0] * len(means)
        for first in range(0, numbers.size, share):
            part, weight = numbers[first : first + share], weights[first : first + share]
            found = [np.multiply(r, np.ones(part.size)) @ weight for r in body(part, *spread)]
            totals = [a + b for a, b in zip(totals, found, strict=True)]
        return totals

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
