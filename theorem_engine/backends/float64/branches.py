"""All fixed points of a group in double precision."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.backends.float64.each_point import each_point
from theorem_engine.base.errors import NotConverged
from theorem_engine.base.reports import note
from theorem_engine.language.operators.branches import Branches
from theorem_engine.numerics.solvers.branches import all_roots, all_solutions, largest_slope, meant
from theorem_engine.planning.branches import branch_plan, solution_plan


def lower(laws: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """Scan and bracket with one unknown, Newton's method from a lattice with several."""
    (law,) = laws
    search = FixedPoints(law, parameters, backend)

    def one(*values: float) -> list[float]:
        with np.errstate(all="ignore"):
            found, turns = search(values)
            rows = [search.numbers(x, values) for x in found]
        names = ", ".join(x.name for x in law.unknowns)
        # how far noise moves them is known where noise is: with the error of the prediction
        note("fixed points", None, f"{len(found)} of {names}, {len(turns)} turning points")
        return [*arranged(law, rows, chosen_row(law, rows), math.inf), float(len(rows))]

    return lambda *values: each_point(one, values)


class FixedPoints:
    """The compiled equations of a group, and all their solutions at a point."""

    def __init__(self, law: Branches, parameters: Sequence[Any], backend: Backend) -> None:
        self.law, self.size = law, len(law.unknowns)
        self.run = backend.compile(branch_plan(law, parameters))
        self.rest = backend.compile(solution_plan(law, parameters)) if law.width > self.size + 1 else None
        ends = [end for pair in law.ranges for end in pair]
        self.ends = backend.function(parameters, [*ends, *(v for place in law.trivial for v in place)])

    def __call__(self, values: Sequence[Any]) -> tuple[list[list[float]], list[float]]:
        """The unknowns of each fixed point, by rising first letter, and the turning points between them."""
        numbers = [float(e) for e in self.ends(*values)]
        box = [(numbers[2 * i], numbers[2 * i + 1]) for i in range(self.size)]
        rest = numbers[2 * self.size :]
        known = [rest[i : i + self.size] for i in range(0, len(rest), self.size)]
        turns: list[float] = []
        if self.size == 1:

            def both(x: Any) -> tuple[Any, Any]:
                f, slope = self.run(x, *values)
                return f - x, slope - 1

            zeros = all_roots(both, *box[0])
            found, turns = [[x] for x in zeros.zeros], zeros.turns
        else:
            found = all_solutions(lambda x, _: self.system(x, values), box)
        found = sorted([*known, *found])
        if len(found) > self.law.most:
            names = ", ".join(x.name for x in self.law.unknowns)
            raise NotConverged(f"{len(found)} fixed points of {names} were found, and at most {self.law.most} declared")
        return found, turns

    def system(self, x: Any, values: Sequence[Any]) -> tuple[Any, Any]:
        """Right-hand sides and Jacobian at many places."""
        flat = np.stack([np.broadcast_to(v, x.shape[1:]) for v in self.run(*x, *values)])
        return flat[: self.size], flat[self.size :].reshape(self.size, self.size, -1)

    def numbers(self, x: Sequence[Any], values: Sequence[Any]) -> list[Any]:
        """All numbers of a fixed point: unknowns, letters that they define, slope, energy."""
        flat = self.run(*x, *values)
        jacobian = np.array(
            [[float(flat[self.size * (1 + i) + k]) for k in range(self.size)] for i in range(self.size)]
        )
        more = list(self.rest(*x, *values)) if self.rest is not None else []
        count = len(self.law.defined)
        return [*x, *more[:count], largest_slope(jacobian), *more[count:]]


def chosen_row(law: Branches, rows: Sequence[Sequence[Any]]) -> int | None:
    """The number of the fixed point that is meant, from zero on."""
    return meant([row[len(law.letters)] for row in rows], [row[-1] for row in rows], law.choice)


def arranged(law: Branches, rows: Sequence[Sequence[Any]], chosen: int | None, nothing: Any) -> list[Any]:
    """The numbers of the one meant, and of each in turn; what does not exist is nothing."""
    empty = [nothing] * law.width
    blocks = [empty if chosen is None else rows[chosen], *rows, *([empty] * (law.most - len(rows)))]
    return [v for block in blocks for v in block]
