"""Where two fixed points meet, in double precision."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.backends.float64.each_point import each_point
from theorem_engine.base.reports import note
from theorem_engine.numerics.solvers.branches import all_roots, fold_step, folds
from theorem_engine.planning.branches import branch_plan, fold_plan, solution_plan

#: Newton's steps, and the relative move that ends them.
STEPS, STILL = 60, 1e-14


def lower(nodes: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """Turning points of the equation over a scan of the parameter, then Newton's method for both."""
    (node,) = nodes
    run = backend.compile(branch_plan(node, [node.along, *parameters]))
    fold = backend.compile(fold_plan(node, parameters))
    rest = backend.compile(solution_plan(node, [node.along, *parameters])) if node.defined else None
    inner = backend.function([node.along, *parameters], list(node.ranges[0]))
    outer = backend.function(parameters, list(node.ranges[1]))

    def one(*values: float) -> list[float]:
        def turning(s: float) -> tuple[list[float], list[float]]:
            def both(x: Any) -> tuple[Any, Any]:
                f, slope = run(x, s, *values)
                return f - x, slope - 1

            low, high = (float(e) for e in inner(s, *values))
            turns = all_roots(both, low, high).turns
            return turns, [float(both(x)[0]) for x in turns]

        def newton(x: float, s: float) -> tuple[float, float] | None:
            last = math.inf
            for _ in range(STEPS):
                step = fold_step(x, s, [float(v) for v in fold(x, s, *values)])
                if not all(math.isfinite(v) for v in step):
                    return None
                x, s = x - step[0], s - step[1]
                change = max(abs(step[0]) / max(abs(x), 1e-300), abs(step[1]) / max(abs(s), 1e-300))
                if change <= STILL or (change < 1e-9 and change >= last / 2):
                    return x, s
                last = change
            return None

        with np.errstate(all="ignore"):
            found = folds(turning, newton, *(float(e) for e in outer(*values)))
            note("spinodal", None, f"{len(found)} along {node.along.name}")
            if not found:
                return [math.inf] * node.components()
            s, x = found[-1 if node.takes_last else 0]
            return [s, x, *([] if rest is None else rest(x, s, *values))]

    return lambda *values: each_point(one, values)
