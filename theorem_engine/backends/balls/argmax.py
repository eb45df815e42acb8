"""Token means where all weight goes to the largest score, enclosed: integrals against the law of the maximum."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flint import acb, arb

from theorem_engine.backends.balls.functions import ball, normal_cdf
from theorem_engine.backends.balls.gaussian_mean import gaussian_mean
from theorem_engine.backends.balls.growth import Growth
from theorem_engine.backends.balls.length_mean import exact_lengths
from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.base.errors import NotAvailable
from theorem_engine.language.operators.token_layout import make_layout


def lower_argmax(means: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """Factors of the largest of n tokens alone: the mean of f(x) n Phi(x)^(n-1), which grows as f does."""
    layout = make_layout(means)
    (x,) = means[0].normals
    if any(len(item.each) != 1 for item in layout.products) or means[0].breaks or means[0].has_hidden:
        raise NotAvailable("no certificate: at the argmax only means over the largest token have an enclosure")
    factors = [f for _, f in layout.brackets[0]]
    bodies = [backend.function([x, *parameters], [f]) for f in factors]
    bounds = [Growth(f, x, parameters, backend) for f in factors]
    outer = backend.function(parameters, list(layout.coefficients))
    length = backend.function(parameters, [means[0].length])

    def largest(body: Numeric, values: tuple[Any, ...], lengths: list[tuple[int, Any]]) -> Callable[[Any], Any]:
        def function(t: Any) -> Any:
            below = normal_cdf(t)
            density = sum((w * n * below ** (n - 1) for n, w in lengths), arb(0))
            return density * ball(body(t, *values)[0])

        return function

    def evaluate(*values: Any) -> list[Any]:
        if any(isinstance(v, acb) for v in values):
            raise NotAvailable("no certificate: a token mean stands inside another integral")
        lengths = exact_lengths(length(*values)[0])
        longest = max(n for n, _ in lengths)
        integrals = []
        for item in layout.products:
            body, bound = bodies[item.each[0]], bounds[item.each[0]]
            size, rate = bound(*values)
            integrals.append(gaussian_mean(largest(body, values, lengths), (size * longest, rate)))
        coefficients = [ball(c) for c in outer(*values)]
        return [sum((coefficients[c] * integrals[p] for c, p in terms), arb(0)) for terms in layout.sums]

    return evaluate
