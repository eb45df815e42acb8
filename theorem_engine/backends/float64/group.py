"""Self-consistent groups in double precision, vectorised over points."""

from __future__ import annotations

from typing import Any

import numpy as np

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.errors import NotConverged
from theorem_engine.methods.iteration import iterate
from theorem_engine.methods.newton import Array, Places, as_columns, solve_group
from theorem_engine.plan import Solve
from theorem_engine.trace import note

#: A residual above this is no solution.
ACCEPT = 1e-9
#: Continuation multiplies its letter by this, at most so many times.
EASE, EASINGS = 4.0, 16
#: Iterations of a map: memory, damping, budget, and the residual aimed at. Means over samples whose proximal
#: points jump are smooth only up to the share of one sample, so less is accepted than is aimed at.
ITERATIONS = {"anderson": (6, 0.7, 150, 1e-9), "iteration": (0, 1.0, 4000, 1e-9)}
ACCEPT_ITERATION = 1e-3


def lower_group(solve: Solve, backend: Backend) -> Numeric:
    """Newton from each branch's start; the first branch that converges everywhere is returned."""
    kind = _Linear if solve.is_linear else _Newton if solve.method == "newton" else _Iteration
    lowered = kind(solve, backend)

    def evaluate(*values: Any) -> list[Any]:
        columns, shape = as_columns(values) if values else (np.zeros((0, 1)), ())
        with np.errstate(all="ignore"):
            found = lowered(columns)
        return [float(row[0]) for row in found] if shape == () else [row.reshape(shape) for row in found]

    return evaluate


class _Group:
    """A compiled group as a system of equations at many points."""

    def __init__(self, solve: Solve, backend: Backend) -> None:
        self.solve = solve
        self.run = backend.compile(solve.residual)
        self.size = len(solve.unknowns)
        self.names = ", ".join(s.name for s in solve.unknowns)

    def system(self, x: Array, parameters: Array) -> tuple[Array, Array]:
        """Right-hand sides and Jacobian; a single point runs on plain floats, which is several times faster."""
        if x.shape[1] == 1:
            try:
                flat = np.array(self.run(*x[:, 0].tolist(), *parameters[:, 0].tolist()), dtype=float)[:, None]
            except (OverflowError, ZeroDivisionError):
                flat = np.full((self.size * (self.size + 1), 1), np.inf)
        else:
            flat = np.stack([np.broadcast_to(v, x.shape[1:]) for v in self.run(*x, *parameters)])
        return flat[: self.size], flat[self.size :].reshape(self.size, self.size, -1)


class _Linear(_Group):
    """Equations linear in their unknowns: one solution of a linear system."""

    def __call__(self, parameters: Array) -> Array:
        value, jacobian = self.system(np.zeros((self.size, parameters.shape[1])), parameters)
        matrix = np.moveaxis(np.eye(self.size)[:, :, None] - jacobian, -1, 0)
        try:
            x: Array = np.asarray(np.linalg.solve(matrix, value.T[..., None])[..., 0].T, dtype=float)
        except np.linalg.LinAlgError:
            raise NotConverged(f"the linear group {self.names} is singular") from None
        left = value + np.einsum("ikn,kn->in", jacobian, x) - x
        note(f"linear group {self.names}", float(np.max(np.abs(left))))
        return x


class _Newton(_Group):
    """Newton's method from each branch's start, by way of an easier problem where it fails."""

    def __call__(self, columns: Array) -> Array:
        branches = len(self.solve.starts)
        parameters = columns[self.size * branches :]
        seen = []
        for branch in range(branches):
            start = columns[branch * self.size : (branch + 1) * self.size]
            x, residual, steps = self._solve(start, parameters, EASINGS)
            worst = float(np.max(residual))
            if worst <= ACCEPT:
                note(f"Newton for {self.names}", worst, f"{steps} steps, branch {branch}")
                return x
            seen.append(f"branch {branch}: residual {worst:.1e} after {steps} steps")
        raise NotConverged(f"the group {self.names} did not converge (wanted {ACCEPT:.0e}); {'; '.join(seen)}")

    def _solve(self, start: Array, parameters: Array, easings: int) -> tuple[Array, Array, int]:
        def system(x: Array, here: Places) -> tuple[Array, Array]:
            return self.system(x, parameters[:, here])

        x, residual, steps = solve_group(system, start, self.solve.positive)
        failed = np.flatnonzero(~(residual <= ACCEPT))
        if self.solve.along is None or not failed.size or not easings:
            return x, residual, steps
        eased = parameters[:, failed].copy()
        eased[self.solve.along] *= EASE
        nearer, _, more = self._solve(start[:, failed], eased, easings - 1)
        again, left, last = solve_group(
            lambda y, here: system(y, failed[here]), nearer, self.solve.positive
        )  # fmt: skip
        better = left < residual[failed]
        x[:, failed[better]], residual[failed[better]] = again[:, better], left[better]
        return x, residual, steps + more + last


class _Iteration(_Group):
    """Iteration of the map at each point, from each branch's start until one converges."""

    def __call__(self, columns: Array) -> Array:
        branches = len(self.solve.starts)
        found = [self._point(columns[:, n], branches) for n in range(columns.shape[1])]
        return np.stack(found, axis=1)

    def _point(self, column: Array, branches: int) -> Array:
        parameters = column[self.size * branches :].tolist()
        memory, damping, steps, tolerance = ITERATIONS[self.solve.method]

        def function(x: Array) -> Array:
            try:
                return np.array(self.run(*x.tolist(), *parameters), dtype=float)
            except (OverflowError, ZeroDivisionError):
                return np.full(self.size, np.nan)

        seen = []
        for branch in range(branches):
            start = column[branch * self.size : (branch + 1) * self.size]
            x, residual, taken = iterate(
                function, start, self.solve.positive, memory=memory, damping=damping, steps=steps, tolerance=tolerance
            )
            if residual <= (ACCEPT_ITERATION if memory else 10 * tolerance):
                note(f"{self.solve.method} for {self.names}", residual, f"{taken} evaluations, branch {branch}")
                return x
            seen.append(f"branch {branch}: residual {residual:.1e} after {taken} evaluations")
        raise NotConverged(f"the group {self.names} did not converge (wanted {tolerance:.0e}); {'; '.join(seen)}")
