"""Where two fixed points meet, enclosed: exactly one such place in a box around that of double precision."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from flint import acb, arb

from theorem_engine.backends.balls.claims import claim
from theorem_engine.backends.balls.functions import ball
from theorem_engine.backends.balls.group import double
from theorem_engine.backends.balls.krawczyk import box_text, krawczyk, sharpen
from theorem_engine.backends.base import Backend, Numeric, get_backend
from theorem_engine.base.errors import NotAvailable
from theorem_engine.planning.branches import fold_plan, solution_plan
from theorem_engine.planning.plan import Operate


def lower(nodes: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """Krawczyk's test for f = x, f_x = 1 in both letters."""
    (node,) = nodes
    names = [node.unknowns[0].name, node.along.name]
    rough = get_backend("float64").operate(Operate(nodes, ((None,) * node.components(),), parameters))
    fold = backend.compile(fold_plan(node, parameters))
    rest = backend.compile(solution_plan(node, [node.along, *parameters])) if node.defined else None

    def evaluate(*values: Any) -> list[Any]:
        if any(isinstance(v, acb) for v in values):
            raise NotAvailable("no certificate: a spinodal stands inside an integral")
        s, x, *_ = (float(v) for v in rough(*[double(v) for v in values]))
        if math.isinf(s):
            raise NotAvailable(f"no certificate: double precision finds no spinodal along {names[1]}")

        def system(place: Sequence[Any]) -> tuple[list[Any], list[list[Any]]]:
            f, slope, moved, bent, mixed = (ball(v) for v in fold(*place, *values))
            return [f - place[0], slope - 1], [[slope - 1, moved], [bent, mixed]]

        box, image = krawczyk(system, sharpen(system, [arb(x), arb(s)]))
        claim("local", f"exactly one place where fixed points {names[0]} meet along {names[1]} in the box; others are "
              "not excluded", dict(zip(names, map(box_text, box), strict=True)))  # fmt: skip
        place, parameter = image
        return [parameter, place, *([] if rest is None else [ball(v) for v in rest(place, parameter, *values)])]

    return evaluate
