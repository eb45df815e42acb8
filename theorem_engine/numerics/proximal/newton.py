"""Descent to a minimum of an objective for many samples at once in NumPy, the same as the compiled ``loops``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
#: Most steps. A handful is the rule; just beyond the place where a minimum vanished a descent creeps for hundreds.
STEPS = 1000
#: A pivot above this share of the plain curvature is positive.
PIVOT = 1e-9


@dataclass(frozen=True)
class Derivatives:
    """Of n samples with K letters for each of L tokens and P sums over them.

    ``gradient`` (n, K L); ``block`` and ``plain`` (n, K, K, L), second derivatives within a token with and without
    those of the sums; ``moves`` (n, K L, P), derivatives J of the sums; ``bends`` (n, K L, P), Y + M J/2; ``outer``
    (n, P, P).
    """

    gradient: Array
    block: Array
    plain: Array
    moves: Array
    bends: Array
    outer: Array

    def exact(self) -> Array:
        """The Hessian."""
        half = self.moves @ np.swapaxes(self.bends, 1, 2)
        return _with_blocks(half + np.swapaxes(half, 1, 2), self.block)

    def gauss_newton(self, rows: Any) -> Array:
        """Without the second derivatives of the sums."""
        moves = self.moves[rows]
        return _with_blocks(moves @ self.outer[rows] @ np.swapaxes(moves, 1, 2), self.plain[rows])

    def floors(self) -> Array:
        """The least pivot of each letter of each token."""
        diagonal = np.einsum("naal->nal", self.plain)
        return PIVOT * np.abs(diagonal).reshape(len(diagonal), -1)


def _with_blocks(matrix: Array, block: Array) -> Array:
    count, letters, _, tokens = block.shape
    grid = matrix.reshape(count, letters, tokens, letters, tokens)
    for i in range(tokens):
        grid[:, :, i, :, i] += block[:, :, :, i]
    return matrix


def descend(
    start: Array,
    measure: Callable[[Array, Any], Array],
    derive: Callable[[Array, Any], Derivatives],
    tolerance: float,
    known: Array | None = None,
    near: float = 0.0,
) -> tuple[Array, Array, Array]:
    """Newton's method where the Hessian is positive definite, Gauss-Newton elsewhere, halved until it descends.

    ``measure`` and ``derive`` take points and the samples they belong to. Ends after a short step, or ``near`` a
    ``known`` point. Returns points, heights, and the last steps' lengths relative to the points.
    """
    x = start.copy()
    here = np.arange(len(x))
    last = np.full(len(x), np.inf)
    height = measure(x, here)
    for _ in range(STEPS):
        if not here.size:
            break
        now, at = height[here], x[here]
        found = derive(at, here)
        hessian = found.exact()
        usable = np.all(np.isfinite(hessian), axis=(1, 2))
        hessian[~usable] = np.eye(hessian.shape[-1])
        floors = found.floors()
        bad = np.linalg.eigvalsh(hessian)[:, 0] <= np.min(floors, axis=1)
        if bad.any():
            hessian[bad] = _definite(found.gauss_newton(bad), floors[bad])
        move = -np.linalg.solve(hessian, found.gradient[..., None])[..., 0]
        descent = np.sum(found.gradient * move, axis=1)
        scale = np.ones(len(here))
        new = now
        for _halving in range(40):
            new = measure(at + scale[:, None] * move, here)
            high = ~(new <= now + 1e-4 * scale * descent + 1e-15 * (1 + np.abs(now)))
            if not high.any():
                break
            scale = np.where(high, scale / 2, scale)
        x[here] = at + scale[:, None] * move
        height[here] = np.fmin(new, now)
        # Gauss-Newton steps shrink by a factor only: they go on to rounding
        size = 1 + np.max(np.abs(at), axis=1)
        allowed = np.where(bad, 1e-5 * tolerance, tolerance) * size
        longest = np.max(np.abs(move), axis=1)
        last[here] = np.where(usable, scale * longest / size, np.inf)
        left = longest > allowed
        if known is not None:
            left &= np.max(np.abs(x[here] - known[here]), axis=1) > near
        here = here[left & usable]
    return x, height, last


def _definite(matrices: Array, floors: Array) -> Array:
    """The matrices with as much added to the diagonal as makes them positive definite, which is nothing as a rule."""
    lowest = np.linalg.eigvalsh(matrices)[:, 0]
    least = np.min(floors, axis=1)
    shift = np.where(lowest > least, 0.0, 1e-3 / PIVOT * np.max(floors, axis=1) - 2 * np.minimum(lowest, 0.0))
    return matrices + shift[:, None, None] * np.eye(matrices.shape[-1])
