"""Owen's T of balls."""

from __future__ import annotations

from typing import Any

from flint import acb, arb

from theorem_engine.backends.balls.functions import ball
from theorem_engine.backends.balls.integration import enclose_integral
from theorem_engine.base.errors import NotAvailable


def owens_t(h: Any, a: Any) -> Any:
    """Owen's T by its integral, which has neither tail nor cut."""
    h, a = ball(h), ball(a)
    if isinstance(h, acb) or isinstance(a, acb):
        raise NotAvailable("no ball code for Owen's T of the variable of an integral")
    half = -h * h / 2

    def shape(x: Any) -> Any:
        return (half * x * x).exp() / (1 + x * x)

    return half.exp() * enclose_integral(shape, arb(0), a) / (2 * arb.pi())
