"""All fixed points of a group at mpmath's precision: those of double precision, polished."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mpmath import mp

from theorem_engine.backends.base import Backend, Numeric, get_backend
from theorem_engine.backends.float64.branches import FixedPoints, arranged, chosen_row
from theorem_engine.backends.float64.each_point import plain
from theorem_engine.backends.multiprecision.group import settled
from theorem_engine.planning.branches import branch_plan, solution_plan


def lower(laws: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """Newton's method from each fixed point; which one is meant is decided with all digits."""
    (law,) = laws
    size, names = len(law.unknowns), ", ".join(x.name for x in law.unknowns)
    rough = FixedPoints(law, parameters, get_backend("float64"))
    run = backend.compile(branch_plan(law, parameters))
    rest = backend.compile(solution_plan(law, parameters)) if law.width > size + 1 else None
    exact = backend.function(parameters, [v for place in law.trivial for v in place])

    def numbers(x: Sequence[Any], values: Sequence[Any]) -> list[Any]:
        flat = run(*x, *values)
        more = list(rest(*x, *values)) if rest is not None else []
        return [*x, *more[: len(law.defined)], _largest(flat[size:], size), *more[len(law.defined) :]]

    def evaluate(*values: Any) -> list[Any]:
        known = list(exact(*values))
        trivial = [known[i : i + size] for i in range(0, len(known), size)]
        found = [[mp.mpf(v) for v in x] for x in rough([plain(v) for v in values])[0]]
        # those that are known stand among those found, to double precision
        for place in trivial:
            found.remove(_nearest(found, place))
        solved = [settled(run, x, values, names) for x in found]
        rows = [numbers(x, values) for x in sorted([*trivial, *solved])]
        return [*arranged(law, rows, chosen_row(law, rows), mp.inf), mp.mpf(len(rows))]

    return evaluate


def _nearest(found: Sequence[list[Any]], place: Sequence[Any]) -> list[Any]:
    return min(found, key=lambda x: sum(abs(a - b) for a, b in zip(x, place, strict=True)))


def _largest(flat: Sequence[Any], size: int) -> Any:
    if size == 1:
        return flat[0]
    matrix = mp.matrix([flat[i * size : (i + 1) * size] for i in range(size)])
    return max(mp.re(v) for v in mp.eig(matrix, left=False, right=False))
