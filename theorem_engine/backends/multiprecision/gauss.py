"""Integrals of elementary functions by Gauss-Legendre panels, in flint's numbers.

The numbers are balls of which the centre is kept: a function of them takes microseconds where mpmath's takes tens. Two
rules of a panel must agree, or it is halved; what does not settle, or loses digits on the way, is left to tanh-sinh.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import sympy
from flint import arb, ctx
from mpmath import mp

from theorem_engine.backends.base import Numeric, get_backend
from theorem_engine.base.errors import TheoremEngineError
from theorem_engine.language.operators.base import Operator
from theorem_engine.numerics.laplace.balls import ball_precision, from_ball, to_ball

#: Panels of one integral before another rule is tried.
PANELS = 64
#: Bits beyond mpmath's.
SPARE = 20


def ball_function(inputs: Sequence[Any], body: Any) -> Numeric | None:
    """An elementary expression as a function of balls; None where there is no code for it."""
    if body.has(Operator, sympy.Integral):
        return None
    try:
        found: Numeric = get_backend("balls").function(list(inputs), [body])
    except (TheoremEngineError, TypeError):
        return None
    return found


def integrate_panels(body: Numeric, values: Sequence[Any], low: Any, high: Any) -> Any:
    """The integral as an mpf, or None where panels do not settle."""
    if not all(isinstance(v, (int, mp.mpf)) and mp.isfinite(v) for v in (*values, low, high)):
        return None
    with ball_precision(SPARE):
        letters = [to_ball(v) for v in values]
        try:
            found = _settled(lambda x: body(x, *letters)[0], to_ball(low), to_ball(high))
        except (TheoremEngineError, ArithmeticError, ValueError):
            return None
        return None if found is None else from_ball(found)


def _settled(function: Callable[[Any], Any], low: Any, high: Any) -> Any:
    """The sum over panels, each halved if no two rules that follow each other agree.

    A rule has half as many nodes again as the one before. Where the integrand is smooth on the whole interval it has
    half as many digits again, and two that agree on two thirds of the digits leave the later one with all of them;
    on panels that were halved, to where the integrand is sharp, two have to agree on all.
    """
    counts = [2 * mp.dps // 9 + 2]
    while counts[-1] < 3 * mp.dps // 4:
        counts.append(3 * counts[-1] // 2)
    whole, tight = arb(10) ** -(2 * mp.dps // 3 + 2), arb(10) ** -mp.dps
    # the size is that of the integral of the absolute value, by the coarsest rule
    open_panels, done, size = [(low, (high - low) / 2)], arb(0), arb(0)
    for turn in range(PANELS):
        start, half = open_panels.pop()
        before, is_halved = None, turn > 0
        for count in counts:
            terms = [weight * function(start + half * node) for node, weight in _rule(count, ctx.prec)]
            value = half * sum(terms, arb(0))
            if not value.is_finite():
                return None
            if before is None:
                size = size.max(abs(half) * sum(map(abs, terms), arb(0))).mid()
            elif abs(value - before).mid() <= (tight if is_halved else whole) * size:
                if value.rad() > tight * size:
                    return None
                done += value
                break
            before = value
        else:
            open_panels += [(start, half / 2), (start + half, half / 2)]
        if not open_panels:
            # an integral much smaller than its integrand has lost the digits between
            return done.mid() if abs(done).mid() > arb(10) ** -6 * size else None
    return None


@lru_cache(maxsize=32)
def _rule(count: int, precision: int) -> list[tuple[Any, Any]]:
    """Nodes between 0 and 2, and weights."""
    found = []
    for k in range(count):
        root, weight = arb.legendre_p_root(count, k, weight=True)
        found.append(((1 + root).mid(), weight.mid()))
    return found
