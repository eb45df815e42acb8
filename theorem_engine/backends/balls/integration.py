"""Certified integrals of analytic functions over an interval."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from flint import acb, arb, ctx

from theorem_engine.backends.balls.claims import Unproved
from theorem_engine.backends.balls.functions import asking_analytic, ball
from theorem_engine.base.held import held

#: Evaluations of one integrand after which it is given up; fewer where letters are intervals.
BUDGET, COARSE_BUDGET = 60_000, 300
#: Accuracy of integrals whose letters are intervals, and at the middle of such intervals.
COARSE, MIDDLING = 2.0**-12, 2.0**-40


class _Manner:
    """The accuracy that is enough at present, None for all there is; one evaluation runs at a time in a process."""

    enough: float | None = None


def accurate_to(enough: float) -> AbstractContextManager[None]:
    """Integrals in this block need this accuracy only, absolute where they are small."""
    return held(_Manner, "enough", enough)


def accuracy() -> float | None:
    """The accuracy that is enough at present, None for all there is."""
    return _Manner.enough


def enclose_integral(function: Callable[[Any], Any], low: Any, high: Any, size: Any = None) -> Any:
    """The integral of a function of complex balls that is real on the line.

    ``size`` is a guess of the result's size, to which the absolute tolerance is tied: without it a tiny integral
    would be done at once. What the function raises is raised again after the integrator has ended, since it cannot
    pass through the library; a budget that ran out shows as a ball too wide to be of use.
    """
    raised: list[BaseException] = []

    def integrand(x: Any, is_asked: bool) -> Any:
        if raised:
            return acb(arb.nan(), arb.nan())
        try:
            with asking_analytic(is_asked):
                return acb(function(x))
        except BaseException as error:
            raised.append(error)
            return acb(arb.nan(), arb.nan())

    unit = arb(2) ** -ctx.prec if _Manner.enough is None else arb(_Manner.enough)
    tolerance = unit * abs(size).mid() if size is not None else unit
    budget = COARSE_BUDGET if _Manner.enough == COARSE else BUDGET
    found = acb.integral(integrand, acb(low), acb(high), rel_tol=unit, abs_tol=tolerance, eval_limit=budget)
    if raised:
        raise raised[0]
    if not found.is_finite():
        raise Unproved("integral: no finite enclosure within the budget")
    return found.real


def enclose_relatively(function: Callable[[Any], Any], low: Any, high: Any) -> Any:
    """The same, repeated with the size that was found where that is far from one."""
    found = enclose_integral(function, low, high)
    if _Manner.enough is None and (found.contains(0) or abs(found) < arb(2) ** -8):
        size = abs(found).upper() if not found.contains(0) else _sampled_size(function, low, high)
        if size > 0:
            found = enclose_integral(function, low, high, size)
    return found


def _sampled_size(function: Callable[[Any], Any], low: Any, high: Any) -> Any:
    """The largest absolute value at a few places, times the length; a guess that only steers effort."""
    largest = arb(0)
    for k in range(1, 32):
        value = abs(acb(function(acb(low + (high - low) * k / 32))).real.mid())
        if value.is_finite() and value > largest:
            largest = value
    return largest * abs(ball(high - low).mid())
