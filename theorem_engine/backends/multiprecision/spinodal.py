"""Where two fixed points meet, at mpmath's precision: the place of double precision, polished."""

from __future__ import annotations

import math
from typing import Any

from mpmath import mp

from theorem_engine.backends.base import Backend, Numeric, get_backend
from theorem_engine.backends.float64.each_point import plain
from theorem_engine.base.errors import NotConverged
from theorem_engine.numerics.solvers.branches import fold_step
from theorem_engine.planning.branches import fold_plan, solution_plan
from theorem_engine.planning.plan import Operate


def lower(nodes: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """Newton's method for the equation and its slope."""
    (node,) = nodes
    rough = get_backend("float64").operate(Operate(nodes, ((None,) * node.components(),), parameters))
    fold = backend.compile(fold_plan(node, parameters))
    rest = backend.compile(solution_plan(node, [node.along, *parameters])) if node.defined else None

    def evaluate(*values: Any) -> list[Any]:
        s, x, *_ = (mp.mpf(float(v)) for v in rough(*[plain(v) for v in values]))
        if math.isinf(s):
            return [mp.inf] * node.components()
        last = mp.inf
        for _ in range(60):
            step = fold_step(x, s, fold(x, s, *values))
            x, s = x - step[0], s - step[1]
            change = max(abs(step[0] / x), abs(step[1] / s))
            if change == 0 or (change < mp.mpf(10) ** (-mp.dps // 2) and change >= last / 4):
                return [s, x, *([] if rest is None else rest(x, s, *values))]
            last = change
        raise NotConverged(f"the spinodal at {mp.dps} digits moved by {mp.nstr(last, 2)} in its last step")

    return evaluate
