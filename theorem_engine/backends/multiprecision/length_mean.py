"""Means over a distribution of lengths at mpmath's precision."""

from __future__ import annotations

from typing import Any

from mpmath import mp

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.backends.bundles import over_lengths
from theorem_engine.base.exact import as_mpf
from theorem_engine.language.lengths import Distribution


def lower(means: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """A sum over the lengths."""

    def average(body: Numeric, given: Distribution, values: tuple[Any, ...]) -> list[Any]:
        totals = [mp.zero] * len(means)
        for n, weight in given.weights:
            for i, value in enumerate(body(mp.mpf(n), *values)):
                totals[i] += as_mpf(weight) * value
        return totals

    return over_lengths(means, parameters, backend, average)
