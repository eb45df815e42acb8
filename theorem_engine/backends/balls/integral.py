"""Integrals over a finite interval, enclosed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from theorem_engine.backends.balls.functions import ball
from theorem_engine.backends.balls.integration import enclose_relatively
from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.base.errors import NotAvailable


def lower(integrals: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """Each integral on its own, its integrand on complex balls."""
    limits = integrals[0].limits
    if len(limits) != 1 or len(limits[0]) != 3 or any(end.is_infinite for end in limits[0][1:]):
        raise NotAvailable(f"{integrals[0]}: only integrals over one finite interval are enclosed")
    variable, low, high = limits[0]
    ends = backend.function(parameters, [low, high])
    bodies = [backend.function([variable, *parameters], [i.function]) for i in integrals]

    def along(body: Numeric, values: tuple[Any, ...]) -> Callable[[Any], Any]:
        return lambda x: body(x, *values)[0]

    def evaluate(*values: Any) -> list[Any]:
        a, b = (ball(end) for end in ends(*values))
        return [enclose_relatively(along(body, values), a, b) for body in bodies]

    return evaluate
