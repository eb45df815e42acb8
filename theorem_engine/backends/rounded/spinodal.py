"""The error of a spinodal: noise of the equation and of its slope, through Newton's step."""

from __future__ import annotations

from typing import Any

import numpy as np

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.backends.rounded import solved_errors
from theorem_engine.backends.rounded.number import UNIT, Rounded, each_place, error_of, value_of
from theorem_engine.planning.branches import fold_plan, solution_plan


def lower(nodes: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend, plain: Numeric) -> Numeric:
    """The place of double precision; where there is none nothing says how nearly there is one."""
    (node,) = nodes
    fold = backend.compile(fold_plan(node, parameters))
    rest = backend.compile(solution_plan(node, [node.along, *parameters])) if node.defined else None

    def evaluate(*values: Any) -> list[Any]:
        s, x, *_ = (float(v) for v in plain(*[value_of(v) for v in values]))
        if np.isinf(s):
            return [Rounded(np.inf, np.inf)] * node.components()
        f, slope, moved, bent, mixed = fold(Rounded(x), Rounded(s), *values)
        matrix = np.array([[value_of(slope) - 1, value_of(moved)], [value_of(bent), value_of(mixed)]], dtype=float)
        noise = [abs(value_of(f) - x) + error_of(f), abs(value_of(slope) - 1) + error_of(slope)]
        of_x, of_s = 2 * solved_errors(matrix, np.array(noise, dtype=float))
        # the parameter is an extremum: it feels the place to second order only, and the noise of f in full
        of_s = min(of_s, 2 * noise[0] / abs(matrix[0, 1]) + UNIT * abs(s) + abs(matrix[1, 0]) * of_x**2)
        here = [Rounded(s, of_s), Rounded(x, of_x)]
        return [*here, *([] if rest is None else rest(here[1], here[0], *values))]

    return lambda *values: each_place(evaluate, values)
