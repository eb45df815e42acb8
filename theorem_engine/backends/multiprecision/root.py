"""Roots at mpmath's precision: the float64 root, polished."""

from __future__ import annotations

import math
from typing import Any

from mpmath import mp

from theorem_engine.backends.base import Backend, Numeric, get_backend
from theorem_engine.backends.float64.each_point import plain
from theorem_engine.planning.plan import Operate


def lower(roots: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """Newton's method with the symbolic slope, or the secant method where there is none."""
    (root,) = roots
    rough = get_backend("float64").operate(Operate(roots, ((None,),), parameters))
    try:
        both = backend.function([root.letter, *parameters], [root.body, root.body.diff(root.letter)])
        has_slope = True
    except TypeError:
        both = backend.function([root.letter, *parameters], [root.body])
        has_slope = False

    def evaluate(*values: Any) -> list[Any]:
        start = float(rough(*[plain(v) for v in values])[0])
        if math.isinf(start):
            return [mp.inf]
        if has_slope:
            return [polish(lambda x: both(x, *values), mp.mpf(start))]
        return [_secant(lambda x: both(x, *values)[0], mp.mpf(start))]

    return evaluate


def _secant(function: Any, x: Any) -> Any:
    """The secant method from two places that double precision hardly tells apart."""
    from theorem_engine.base.errors import NotConverged

    before = x * (1 + mp.mpf(10) ** -12)
    old, new = function(before), function(x)
    for _ in range(60):
        if new == old:
            return x
        step = new * (x - before) / (new - old)
        before, old = x, new
        x -= step
        if abs(step) <= mp.mpf(10) ** (8 - mp.dps) * abs(x):
            return x
        new = function(x)
    raise NotConverged(f"the secant method at {mp.dps} digits moved by {mp.nstr(step, 2)} in its last step")


def polish(function: Any, x: Any) -> Any:
    """Newton from a good start until the step no longer shrinks."""
    from theorem_engine.base.errors import NotConverged

    last = mp.inf
    for _ in range(60):
        value, slope = function(x)
        step = value / slope
        x -= step
        change = abs(step) / max(abs(x), mp.eps)
        if change == 0 or (change < mp.mpf(10) ** (-mp.dps // 2) and change >= last / 4):
            return x
        last = change
    raise NotConverged(f"Newton at {mp.dps} digits moved by {mp.nstr(last, 2)} in its last step")
