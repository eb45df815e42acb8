"""All fixed points of one unknown, enclosed: how many there are on the range, and each of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from flint import acb, arb

from theorem_engine.backends.balls.claims import Unproved, claim
from theorem_engine.backends.balls.counting import count_roots
from theorem_engine.backends.balls.functions import ball
from theorem_engine.backends.balls.root import enclose_root
from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.backends.float64.branches import arranged
from theorem_engine.base.errors import NotAvailable
from theorem_engine.planning.branches import branch_plan, solution_plan


def lower(laws: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """Roots counted on the range; stability and the least energy are decided by balls that do not touch."""
    (law,) = laws
    if len(law.unknowns) > 1:
        raise NotAvailable("no certificate: fixed points of several unknowns are looked for, not counted")
    name = law.unknowns[0].name
    run = backend.compile(branch_plan(law, parameters))
    rest = backend.compile(solution_plan(law, parameters)) if law.width > 2 else None
    ends = backend.function(parameters, [*law.ranges[0], *(place[0] for place in law.trivial)])

    def numbers(x: Any, values: Sequence[Any]) -> list[Any]:
        _, slope = (ball(v) for v in run(x, *values))
        more = [ball(v) for v in rest(x, *values)] if rest is not None else []
        return [x, *more[: len(law.defined)], slope, *more[len(law.defined) :]]

    def evaluate(*values: Any) -> list[Any]:
        if any(isinstance(v, acb) for v in values):
            raise NotAvailable("no certificate: fixed points stand inside an integral")

        def dual(x: Any) -> tuple[Any, Any]:
            f, slope = (ball(v) for v in run(x, *values))
            return f - x, slope - 1

        bounds = [ball(e) for e in ends(*values)]
        low, high = (float(e.mid()) for e in bounds[:2])
        where = f"[{low:.6g}, {high:.6g}]"
        brackets, pieces = count_roots(dual, low, high) if low < high else ([], 0)
        found = [enclose_root(dual, bracket, math.nan) for bracket in brackets]
        claim("unique", f"exactly {len(found)} fixed points {name} on {where}, by {pieces} pieces", {name: where})
        rows = [numbers(x, values) for x in sorted([*bounds[2:], *found], key=lambda v: float(v.mid()))]
        if len(rows) > law.most:
            raise Unproved(f"there are {len(rows)} fixed points {name}, and at most {law.most} were declared")
        return [*arranged(law, rows, _meant(law, rows), arb.pos_inf()), arb(len(rows))]

    return evaluate


def _meant(law: Any, rows: Sequence[Sequence[Any]]) -> int | None:
    """The number of the stable fixed point that is meant, where balls tell it from the others."""
    slopes = [row[len(law.letters)] for row in rows]
    if not all(slope < 1 or slope > 1 for slope in slopes):
        raise Unproved("whether a fixed point is stable is not told")
    stable = [i for i, slope in enumerate(slopes) if slope < 1]
    if not stable:
        return None
    if law.choice != "energy":
        return stable[-1 if law.choice == "last" else 0]
    least = min(stable, key=lambda i: float(rows[i][-1].mid()))
    if not all(rows[least][-1] < rows[i][-1] for i in stable if i != least):
        raise Unproved("which fixed point has the least energy is not told")
    return least
