"""Roots at mpmath's precision: the float64 root, polished."""

from __future__ import annotations

import math
from typing import Any

from mpmath import mp

from theorem_engine.backends.base import Backend, Numeric, get_backend
from theorem_engine.plan import Operate


def lower(roots: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """Newton's method with the symbolic slope."""
    (root,) = roots
    rough = get_backend("float64").operate(Operate(roots, ((None,),), parameters))
    both = backend.function([root.letter, *parameters], [root.body, root.body.diff(root.letter)])

    def evaluate(*values: Any) -> list[Any]:
        start = float(rough(*[float(v) for v in values])[0])
        return [mp.inf if math.isinf(start) else polish(lambda x: both(x, *values), mp.mpf(start))]

    return evaluate


def polish(function: Any, x: Any) -> Any:
    """Newton from a good start until the step no longer shrinks."""
    from theorem_engine.errors import NotConverged

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
