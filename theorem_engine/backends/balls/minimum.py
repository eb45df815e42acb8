"""Minima, enclosed: a certified zero of the gradient where the Hessian is positive definite.

Over one letter with a finite range all zeros of the slope are counted: if there is one, the minimum is that of the
range. Otherwise, and over several letters, the minimum is proved to be a strict local one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from flint import acb, arb, arb_mat

from theorem_engine.backends.balls.claims import Unproved, claim
from theorem_engine.backends.balls.counting import count_roots
from theorem_engine.backends.balls.functions import ball
from theorem_engine.backends.balls.group import double
from theorem_engine.backends.balls.krawczyk import box_text, krawczyk, sharpen
from theorem_engine.backends.balls.root import enclose_root
from theorem_engine.backends.base import Backend, Numeric, get_backend
from theorem_engine.base.errors import NotAvailable
from theorem_engine.planning.plan import Operate


def lower(minima: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """The gradient and the Hessian come from the expression."""
    (minimum,) = minima
    letters = minimum.letters
    names, size = [x.name for x in letters], len(letters)
    if not minimum.slopes:
        raise NotAvailable("no certificate: this minimum is found from values alone")
    # what has no enclosure is refused before second derivatives are formed, which may take minutes
    value = backend.function([*letters, *parameters], [minimum.body])
    gradient = [minimum.body.diff(x) for x in letters]
    rough = get_backend("float64").operate(Operate(minima, ((None,) * minimum.components(),), parameters))
    both = backend.function([*letters, *parameters], [*gradient, *(g.diff(x) for g in gradient for x in letters)])
    ends = backend.function(parameters, [end for pair in minimum.ranges for end in pair]) if minimum.ranges else None

    def evaluate(*values: Any) -> list[Any]:
        if any(isinstance(v, acb) for v in values):
            raise NotAvailable("no certificate: a minimum stands inside an integral")
        _, *start, is_attained = (float(v) for v in rough(*[double(v) for v in values]))
        if not is_attained:
            raise NotAvailable("no certificate: this infimum is a limit that no value reaches, or rounding hides it")

        def system(x: Sequence[Any]) -> tuple[list[Any], list[list[Any]]]:
            flat = [ball(v) for v in both(*x, *values)]
            return flat[:size], [flat[size * (i + 1) : size * (i + 2)] for i in range(size)]

        def slope(x: Any) -> tuple[Any, Any]:
            (first,), ((second,),) = system([x])
            return first, second

        if size == 1 and ends is not None:
            low, high = (float(ball(e).mid()) for e in ends(*values))
            if math.isfinite(low) and math.isfinite(high):
                lowest = _lowest_of_range(slope, low, high, start[0], names[0])
                if lowest is not None:
                    return [ball(value(lowest, *values)[0]), lowest, arb(1)]
        box, image = krawczyk(system, sharpen(system, [arb(v) for v in start]))
        _, hessian = system(box)
        if not _is_positive(hessian):
            raise Unproved("the Hessian is not told to be positive definite at the minimiser")
        claim("local", f"strict local minimum at {', '.join(names)}, the only stationary point in the box; lower "
              "minima elsewhere are not excluded", dict(zip(names, map(box_text, box), strict=True)))  # fmt: skip
        return [ball(value(*image, *values)[0]), *image, arb(1)]

    return evaluate


def _lowest_of_range(slope: Any, low: float, high: float, start: float, name: str) -> Any:
    """The only stationary point of a range, where it falls before and rises after; None where that is not decided."""
    try:
        found, pieces = count_roots(slope, low, high)
    except Unproved:
        return None
    if len(found) != 1 or not found[0].rises:
        return None
    where = f"[{low:.6g}, {high:.6g}]"
    claim("global-in-box", f"the lowest value over {name} in {where}: the slope has exactly one zero there, by "
          f"{pieces} pieces", {name: where})  # fmt: skip
    return enclose_root(slope, found[0], start)


def _is_positive(matrix: Sequence[Sequence[Any]]) -> bool:
    """Whether all leading minors are positive, by Sylvester's criterion."""
    return all(arb_mat([list(row[:k]) for row in matrix[:k]]).det() > 0 for k in range(1, len(matrix) + 1))
