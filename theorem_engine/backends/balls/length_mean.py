"""Means over a distribution of lengths, in balls."""

from __future__ import annotations

from typing import Any

from flint import arb

from theorem_engine.backends.balls import real_ball
from theorem_engine.backends.balls.functions import ball
from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.language.lengths import Distribution


def lower(means: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """A sum over the lengths."""
    body = backend.function([means[0].letter, *parameters], [m.body for m in means])
    place = parameters.index(means[0].length)

    def evaluate(*values: Any) -> list[Any]:
        given = values[place]
        if not isinstance(given, Distribution):
            return list(body(given, *values))
        totals = [arb(0)] * len(means)
        for n, weight in given.weights:
            for i, value in enumerate(body(arb(n), *values)):
                totals[i] += real_ball(weight) * ball(value)
        return totals

    return evaluate
