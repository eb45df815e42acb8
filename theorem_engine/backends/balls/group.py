"""Self-consistent groups, enclosed: exactly one solution in a box around that of double precision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flint import acb, arb, arb_mat

from theorem_engine.backends.balls.claims import Unproved, claim
from theorem_engine.backends.balls.functions import ball
from theorem_engine.backends.balls.krawczyk import box_text, krawczyk, sharpen
from theorem_engine.backends.base import Backend, Numeric, get_backend
from theorem_engine.backends.float64.each_point import plain
from theorem_engine.base.errors import NotAvailable
from theorem_engine.language.domains import Structured
from theorem_engine.planning.plan import Solve


def lower_group(solve: Solve, backend: Backend) -> Numeric:
    """Linear groups by elimination, others by Krawczyk's test."""
    names = [s.name for s in solve.unknowns]
    listed = ", ".join(names)
    if solve.method != "newton":
        raise NotAvailable(f"no certificate: the group {listed} is iterated without derivatives")
    run = backend.compile(solve.residual)
    size, branches = len(names), len(solve.starts)
    rough = None if solve.is_linear else get_backend("float64").group(solve)

    def system(x: Sequence[Any], parameters: Sequence[Any]) -> tuple[list[Any], list[list[Any]]]:
        """x - f(x) and its Jacobian."""
        flat = [ball(v) for v in run(*x, *parameters)]
        slopes = [[(1 if i == k else 0) - flat[size + i * size + k] for k in range(size)] for i in range(size)]
        return [v - f for v, f in zip(x, flat[:size], strict=True)], slopes

    def evaluate(*values: Any) -> list[Any]:
        if any(isinstance(v, acb) for v in values):
            raise NotAvailable("no certificate: a self-consistent group stands inside another integral")
        parameters = values[size * branches :]
        if rough is None:
            residual, slopes = system([arb(0)] * size, parameters)
            try:
                found = arb_mat(slopes).solve(arb_mat([[-r] for r in residual]))
            except ZeroDivisionError:
                raise Unproved(f"the linear equations of {listed} are not told from singular ones") from None
            return [found[i, 0] for i in range(size)]
        start = [float(v) for v in rough(*[double(v) for v in values])]
        middle = sharpen(lambda x: system(x, parameters), [arb(v) for v in start])
        box, image = krawczyk(lambda x: system(x, parameters), middle)
        for name, is_positive, side in zip(names, solve.positive, image, strict=True):
            if is_positive and not side > 0:
                raise Unproved(f"the sign of {name} is not told")
        claim("unique", f"exactly one solution for {listed} in the box",
              {n: box_text(b) for n, b in zip(names, box, strict=True)})  # fmt: skip
        return image

    return evaluate


def double(value: Any) -> Any:
    """The midpoint of a ball as a double; what is no number passes as it is."""
    return plain(value) if isinstance(value, Structured) else plain(float(ball(value).mid()))
