"""Self-consistent groups in double precision, vectorised over points."""

from __future__ import annotations

from typing import Any

import numpy as np

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.errors import NotConverged
from theorem_engine.methods.newton import as_columns, solve_group
from theorem_engine.plan import Solve
from theorem_engine.trace import note

#: A residual above this is no solution.
ACCEPT = 1e-9


def lower_group(solve: Solve, backend: Backend) -> Numeric:
    """Newton from each branch's start; the first branch that converges everywhere is returned."""
    run = backend.compile(solve.residual)
    size, branches = len(solve.unknowns), len(solve.starts)
    names = ", ".join(s.name for s in solve.unknowns)

    def evaluate(*values: Any) -> list[Any]:
        columns, shape = as_columns(values) if values else (np.zeros((0, 1)), ())
        parameters = list(columns[size * branches :])

        def system(x: Any) -> tuple[Any, Any]:
            with np.errstate(all="ignore"):
                flat = np.stack([np.broadcast_to(v, x.shape[1:]) for v in run(*x, *parameters)])
            return flat[:size], flat[size:].reshape(size, size, -1)

        if solve.is_linear:
            points = columns.shape[1]
            value, jacobian = system(np.zeros((size, points)))
            matrix = np.moveaxis(np.eye(size)[:, :, None] - jacobian, -1, 0)
            x = np.linalg.solve(matrix, value.T[..., None])[..., 0].T
            note(f"linear group {names}", float(np.max(np.abs(system(x)[0] - x))))
            return [row.reshape(shape) for row in x]
        seen = []
        for branch in range(branches):
            start = columns[branch * size : (branch + 1) * size]
            x, residual, steps = solve_group(system, start, solve.positive)
            worst = float(np.max(residual))
            if worst <= ACCEPT:
                note(f"Newton for {names}", worst, f"{steps} steps, branch {branch}")
                return [row.reshape(shape) for row in x]
            seen.append(f"branch {branch}: residual {worst:.1e} after {steps} steps")
        raise NotConverged(f"the group {names} did not converge (wanted {ACCEPT:.0e}); {'; '.join(seen)}")

    return evaluate
