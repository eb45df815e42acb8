"""Self-consistent groups in double precision, vectorised over points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.backends.float64.iterated import CompiledGroup, lower_iterated
from theorem_engine.base.errors import NotConverged
from theorem_engine.base.reports import note
from theorem_engine.numerics.solvers.continuation import follow
from theorem_engine.numerics.solvers.newton import (
    Array,
    Places,
    as_columns,
    newton_step,
    shaped,
    solve_group,
    solve_point,
)
from theorem_engine.planning.plan import Solve

#: A residual above this is no solution.
ACCEPT = 1e-9
#: Continuation multiplies its letter by this, at most so many times.
EASE, EASINGS = 4.0, 16


def lower_group(solve: Solve, backend: Backend) -> Numeric:
    """Newton from each branch's start; the first branch that converges everywhere is returned."""
    if solve.method != "newton":
        return lower_iterated(solve, backend)
    kind = _Linear if solve.is_linear else _Newton if solve.eased is None else _Followed
    lowered = kind(solve, backend)

    def evaluate(*values: Any) -> list[Any]:
        with np.errstate(all="ignore"):
            if all(isinstance(v, (float, int)) for v in values):
                single = lowered.point([float(v) for v in values])
                if single is not None:
                    return single
            columns, shape = as_columns(values)
            found = lowered(columns)
        return shaped(found, shape)

    return evaluate


class _Group(CompiledGroup):
    """A compiled group as a system of equations at many points."""

    def __call__(self, columns: Array) -> Array:
        """Unknowns at many points; rows of the argument are starts, branch by branch, and parameters."""
        raise NotImplementedError

    def point(self, values: Sequence[float]) -> list[float] | None:
        """Unknowns at one point given by plain floats; None where the way for many points has to be taken."""
        return None

    def system(self, x: Array, parameters: Array) -> tuple[Array, Array]:
        """Right-hand sides and Jacobian at many points."""
        flat = np.stack([np.broadcast_to(v, x.shape[1:]) for v in self.run(*x, *parameters)])
        return flat[: self.size], flat[self.size :].reshape(self.size, self.size, -1)


class _Linear(_Group):
    """Equations linear in their unknowns: one solution of a linear system."""

    def point(self, values: Sequence[float]) -> list[float] | None:
        origin = [0.0] * self.size
        try:
            flat = self.run(*origin, *values)
            # from the origin one Newton step arrives
            x = newton_step(origin, flat, (False,) * self.size)
        except (OverflowError, ZeroDivisionError):
            return None
        if not x:
            return None
        note(f"linear group {self.names}", 0.0)
        return x

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


class _Followed(_Group):
    """Newton's method along the way from easier equations, at each point."""

    def __init__(self, solve: Solve, backend: Backend) -> None:
        super().__init__(solve, backend)
        assert solve.eased is not None
        self.way = backend.compile(solve.eased)

    def point(self, values: Sequence[float]) -> list[float]:
        parameters = values[self.size * len(self.solve.starts) :]

        def system(share: float) -> Any:
            def at(x: Sequence[float]) -> Sequence[float]:
                try:
                    found: Sequence[float] = self.way(*x, share, *parameters)
                    return found
                except (OverflowError, ZeroDivisionError, NotConverged):
                    # too far a step: a smaller one is tried
                    return [math.inf] * (self.size * (self.size + 1))

            return at

        x, steps = follow(system, values[: self.size], self.solve.positive, self.names)
        note(f"continuation for {self.names}", 0.0, f"{steps} steps from the easy equations")
        return x

    def __call__(self, columns: Array) -> Array:
        return np.array([self.point([float(v) for v in column]) for column in columns.T]).T


class _Newton(_Group):
    """Newton's method from each branch's start, by way of an easier problem where it fails."""

    def point(self, values: Sequence[float]) -> list[float] | None:
        parameters = values[self.size * len(self.solve.starts) :]

        def system(x: Sequence[float]) -> Sequence[float]:
            try:
                found: Sequence[float] = self.run(*x, *parameters)
                return found
            except (OverflowError, ZeroDivisionError):
                return [math.inf] * (self.size * (self.size + 1))

        for branch in range(len(self.solve.starts)):
            start = values[branch * self.size : (branch + 1) * self.size]
            x, residual, steps = solve_point(system, start, self.solve.positive)
            if residual <= ACCEPT:
                note(f"Newton for {self.names}", residual, f"{steps} steps, branch {branch}")
                return x
        return None

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
