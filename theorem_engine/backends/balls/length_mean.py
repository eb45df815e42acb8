"""Means over a distribution of lengths, in balls."""

from __future__ import annotations

from typing import Any

from flint import arb

from theorem_engine.backends.balls import real_ball
from theorem_engine.backends.balls.functions import as_whole, ball
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


def exact_lengths(value: Any) -> list[tuple[int, Any]]:
    """Lengths and their weights; a number is a length of its own."""
    if isinstance(value, Distribution):
        return [(int(n), real_ball(w)) for n, w in value.weights]
    return [(as_whole(value), arb(1))]
