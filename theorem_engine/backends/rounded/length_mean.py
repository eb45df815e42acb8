"""The error of a mean over lengths: the mean of the errors at each."""

from __future__ import annotations

from typing import Any

import numpy as np

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.backends.bundles import over_lengths
from theorem_engine.backends.rounded.number import UNIT, Rounded, error_of, spread, value_of
from theorem_engine.base.exact import as_float
from theorem_engine.language.lengths import Distribution


def lower(means: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend, plain: Numeric) -> Numeric:
    """The float64 means, and the body with its errors at all lengths at once."""

    def average(body: Numeric, given: Distribution, values: tuple[Any, ...]) -> list[Any]:
        found = plain(*[value_of(v) for v in values])
        numbers = np.array([float(n) for n, _ in given.weights])
        weights = np.array([as_float(w) for _, w in given.weights])
        results = []
        for value, part in zip(found, body(numbers, *(spread(v) for v in values)), strict=True):
            size = np.abs(value_of(part)) * np.ones(numbers.size)
            # a weight is a rounded number; the sum of so many adds a rounding for each
            noise = error_of(part) + (4 + numbers.size**0.5) * UNIT * size
            results.append(Rounded(value, noise @ weights))
        return results

    return over_lengths(means, parameters, backend, average)
