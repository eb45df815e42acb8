"""Self-consistent groups at mpmath's precision: the float64 solution, polished."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mpmath import mp

from theorem_engine.backends.base import Backend, Numeric, get_backend
from theorem_engine.backends.float64.each_point import plain
from theorem_engine.base.errors import NotAvailable, NotConverged
from theorem_engine.planning.plan import Solve


class Singular(NotConverged):
    """Equations that cannot be told from dependent ones with the digits carried; with more of them they may be."""


def lower_group(solve: Solve, backend: Backend) -> Numeric:
    """Newton steps from the double-precision solution until the residual stands still."""
    if solve.method != "newton":
        raise NotAvailable(f"the group {', '.join(s.name for s in solve.unknowns)} is solved in double precision only")
    run = backend.compile(solve.residual)
    size, branches = len(solve.unknowns), len(solve.starts)
    names = ", ".join(s.name for s in solve.unknowns)
    rough = None if solve.is_linear else get_backend("float64").group(solve)

    def evaluate(*values: Any) -> list[Any]:
        parameters = values[size * branches :]
        if rough is None:
            return _step(run, [mp.zero] * size, parameters, names)[0]
        return settled(run, [mp.mpf(float(v)) for v in rough(*[plain(v) for v in values])], parameters, names)

    return evaluate


def settled(run: Numeric, x: list[Any], parameters: Sequence[Any], names: str) -> list[Any]:
    """The solution of x = F(x) near a place, by Newton's method until a step no longer improves on the last.

    ``run`` has right-hand sides and their Jacobian row by row.
    """
    last = mp.inf
    for _ in range(60):
        x, move = _step(run, x, parameters, names)
        change = max(abs(m) / max(abs(v), mp.eps) for m, v in zip(move, x, strict=True))
        # quadratic convergence ends at rounding
        if change == 0 or (change < mp.mpf(10) ** (-mp.dps // 2) and change >= last / 4):
            return x
        last = change
    raise NotConverged(f"Newton at {mp.dps} digits moved by {mp.nstr(last, 2)} in its last step")


def _step(run: Numeric, x: list[Any], parameters: Sequence[Any], names: str) -> tuple[list[Any], list[Any]]:
    """Newton's step from a place: where it leads, and how far."""
    size = len(x)
    flat = run(*x, *parameters)
    matrix = mp.matrix(size, size)
    for i in range(size):
        for k in range(size):
            matrix[i, k] = (1 if i == k else 0) - flat[size + i * size + k]
    move = _solved(matrix, [f - v for f, v in zip(flat[:size], x, strict=True)], names)
    return [v + m for v, m in zip(x, move, strict=True)], move


def _solved(matrix: Any, right: list[Any], names: str) -> list[Any]:
    """The solution of a linear system whose unknowns and equations may have very different units.

    mpmath takes a matrix for singular by the size of its entries: they are brought to one, in powers of two.
    """
    size = len(right)

    def unit(entries: list[Any]) -> Any:
        largest = max(abs(v) for v in entries)
        return mp.ldexp(1, -int(mp.mag(largest))) if largest and mp.isfinite(largest) else mp.one

    rows, columns = [mp.one] * size, [mp.one] * size
    for _ in range(3):
        rows = [unit([matrix[i, k] * columns[k] for k in range(size)]) for i in range(size)]
        columns = [unit([matrix[i, k] * rows[i] for i in range(size)]) for k in range(size)]
    scaled = mp.matrix(size, size)
    for i in range(size):
        for k in range(size):
            scaled[i, k] = rows[i] * matrix[i, k] * columns[k]
    try:
        found = mp.lu_solve(scaled, mp.matrix([rows[i] * right[i] for i in range(size)]))
    except ZeroDivisionError:
        raise Singular(f"the equations of {names} are singular at {mp.dps} digits") from None
    return [columns[k] * found[k] for k in range(size)]
