"""Krawczyk's test: exactly one solution of equations in a box, or no answer.

For F(x) = 0 with the Jacobian J, a midpoint x, C near J(x)^(-1) and a box X around x, let
K = x - C F(x) + (1 - C J(X))(X - x). If K lies inside the interior of X, there is exactly one solution in X, and it is
in K.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flint import arb, arb_mat, ctx

from theorem_engine.backends.balls.claims import Unproved

#: F and J, row by row, at a box.
System = Callable[[Sequence[Any]], tuple[list[Any], list[list[Any]]]]
#: How much wider than Newton's step the box is taken, in turn.
FACTORS = (8, 64, 10**4, 10**8)


def sharpen(system: System, start: Sequence[Any]) -> list[Any]:
    """Newton's method on midpoints; no proof, only a place to look."""
    x = [arb(v).mid() for v in start]
    last = None
    for _ in range(60):
        values, jacobian = system(x)
        try:
            move = arb_mat(_middles(jacobian)).solve(arb_mat([[v.mid()] for v in values]))
        except ZeroDivisionError:
            raise Unproved("the equations are singular where double precision solves them") from None
        x = [(v - move[i, 0]).mid() for i, v in enumerate(x)]
        change = max(float((abs(move[i, 0]) / (abs(v) + arb(2) ** -ctx.prec)).mid()) for i, v in enumerate(x))
        is_still = last is not None and change >= last / 4
        if change == 0 or (change < 1e-8 and (is_still or change < 2.0 ** (4 - ctx.prec))):
            return x
        last = change
    raise Unproved("Newton's method does not settle from the solution of double precision")


def krawczyk(system: System, middle: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The box in which there is exactly one solution, and the smaller one that holds it."""
    size = len(middle)
    values, jacobian = system(middle)
    try:
        inverse = arb_mat(_middles(jacobian)).inv()
    except ZeroDivisionError:
        raise Unproved("the equations are singular where double precision solves them") from None
    inverse = arb_mat([[inverse[i, k].mid() for k in range(size)] for i in range(size)])
    step = inverse * arb_mat([[v] for v in values])
    for factor in FACTORS:
        radii = [
            (factor * abs(step[i, 0]).upper()).max(arb(2) ** (8 - ctx.prec) * (abs(x) + arb(2) ** -ctx.prec)).upper()
            for i, x in enumerate(middle)
        ]
        box = [x + arb(0, r) for x, r in zip(middle, radii, strict=True)]
        _, slopes = system(box)
        rest = inverse * arb_mat(slopes)
        image = []
        for i, x in enumerate(middle):
            spread = arb(0)
            for k in range(size):
                spread += ((1 if i == k else 0) - rest[i, k]) * arb(0, radii[k])
            image.append(x - step[i, 0] + spread)
        if all(v.is_finite() and b.contains_interior(v) for v, b in zip(image, box, strict=True)):
            return box, image
    radius = max(float(r) for r in radii)
    raise Unproved(f"Krawczyk image not inside the box (radius {radius:.1e})")


def _middles(matrix: Sequence[Sequence[Any]]) -> list[list[Any]]:
    return [[v.mid() for v in row] for row in matrix]


def box_text(box: Any) -> str:
    """A side of a box as text, rounded outwards."""
    return str(box.str(15))
