"""Gaussian means, enclosed: a certified integral over the middle, a bound of both tails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flint import acb, arb, ctx

from theorem_engine.backends.balls.claims import Unproved
from theorem_engine.backends.balls.functions import ball
from theorem_engine.backends.balls.growth import Growth
from theorem_engine.backends.balls.held_token import is_square_of_held, lower_held
from theorem_engine.backends.balls.integration import accuracy, enclose_integral
from theorem_engine.backends.balls.recalled import exactly
from theorem_engine.backends.balls.unfolded import unfolded
from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.backends.running import latest
from theorem_engine.base.errors import NotAvailable

#: Where the middle of an integral ends at last.
FURTHEST = 200


def lower(means: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """Each mean on its own, pieces between its breaks."""
    variables, breaks = means[0].variables, means[0].breaks
    if len(variables) != 1:
        raise NotAvailable("no certificate: Gaussian means over two variables have no enclosure")
    (x,) = variables
    if len(means) == 1 and is_square_of_held(means[0].body, x) and not breaks:
        held = lower_held(means[0].body, x, parameters, backend)
        return lambda *values: [held(*values)]
    bodies = [backend.function([x, *parameters], [m.body]) for m in means]
    bounds = [Growth(unfolded(m.body), x, parameters, backend) for m in means]
    marks = backend.function(parameters, list(breaks)) if breaks else None

    def along(body: Numeric, values: tuple[Any, ...]) -> Callable[[Any], Any]:
        return lambda t: body(t, *values)[0]

    def compute(*values: Any) -> list[Any]:
        places = [] if marks is None else [ball(m).mid() for m in marks(*values)]
        return [
            gaussian_mean(along(body, values), bound(*values), places)
            for body, bound in zip(bodies, bounds, strict=True)
        ]

    def key(values: tuple[Any, ...]) -> Any:
        if any(isinstance(v, acb) for v in values):
            raise NotAvailable("no certificate: a Gaussian mean stands inside another integral")
        return ctx.prec, accuracy(), tuple(map(exactly, values))

    return latest(compute, key)


def gaussian_mean(function: Callable[[Any], Any], growth: tuple[Any, Any], places: Sequence[Any] = ()) -> Any:
    """The mean of a function of complex balls with |f(x)| <= C exp(a |x|), to the precision of its own size.

    E f = (2 pi)^(-1/2) int_{-R}^{R} exp(-x^2/2) f(x) dx + tail, and the tail is at most
    C exp(a^2/2) erfc((R - a)/sqrt 2). The first pass finds the size, to which R and the tolerance are then tied.
    """
    size, rate = growth

    def weighted(x: Any) -> Any:
        return (-x * x / 2).exp() * function(x)

    goal = arb(2) ** -ctx.prec
    found, guess = None, arb(1)
    for _ in range(3):
        reach, tail = _reach(size, rate, goal * guess)
        ends = [-reach, *sorted((p for p in places if -reach < p < reach), key=float), reach]
        total = arb(0)
        for low, high in zip(ends[:-1], ends[1:], strict=True):
            total += enclose_integral(weighted, low, high, guess)
        here = total / (2 * arb.pi()).sqrt() + arb(0, tail)
        found = here if found is None else found.intersection(here)
        known = _sampled_size(weighted) if found.contains(0) else abs(found).mid()
        if not known < guess / 16 or found.rel_accuracy_bits() >= ctx.prec - 24:
            break
        guess = known
    return found


def _sampled_size(function: Callable[[Any], Any]) -> Any:
    """The largest absolute value at places within reach of large exponents; a guess that only steers effort."""
    largest = arb(0)
    for k in range(-80, 81):
        value = abs(acb(function(acb(k) / 2)).real.mid())
        if value.is_finite() and value > largest:
            largest = value
    return largest if largest > 0 else arb(1)


def _reach(size: Any, rate: Any, goal: Any) -> tuple[Any, Any]:
    """The first whole number beyond which the tail is below the goal, and the bound of the tail there."""
    root = arb(2).sqrt()
    factor = size * (rate * rate / 2).exp()
    reach = 8
    while reach <= FURTHEST:
        tail = (factor * ((reach - rate) / root).erfc()).upper()
        if tail < goal:
            return arb(reach), tail
        reach += 1
    raise Unproved(f"the tail of a Gaussian mean is not reached within {FURTHEST} standard deviations")
