"""Dyson equation of a random matrix whose rows belong to classes: a small matrix for each class.

    G_u^(-1) = L_u + [M (1 + r w G M)^(-1)]_uu - S[G]_u ,     S[G]_u = sum_v w_v s_uv G_v

with classes u of weights w_u, matrices G_u of order k, couplings M and variances s. M has few directions that count:
with its eigenvectors V and eigenvalues J in the weighted space, M (1 + r w G M)^(-1) = V J (1 + H J)^(-1) V^T and
H = r sum_u V_u^T G_u V_u.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theorem_engine.base.errors import NotConverged

Array = NDArray[np.float64]
#: Eigenvalues of the coupling below this share of the largest are left out.
FEW = 1e-10
#: Rounds of the iteration; every third mixes so many of the last ones.
ROUNDS, MEMORY = 600, 8
TOLERANCE = 1e-12


@dataclass(frozen=True)
class Variances:
    """Kernels over pairs of classes, each with its place in the small matrices and where it is taken from."""

    places: tuple[tuple[int, int, int, int], ...]
    kernels: tuple[Array, ...]

    def of(self, g: Array, weights: Array) -> Array:
        """S[G] for all classes."""
        found = np.zeros_like(g)
        for (i, j, a, b), kernel in zip(self.places, self.kernels, strict=True):
            found[:, i, j] += kernel @ (weights * g[:, a, b])
        return found


@dataclass(frozen=True)
class Blocks:
    """All that the equation is made of, over classes (and pairs of them)."""

    weights: Array
    local: Array
    coupling: Array
    ratio: float
    variances: Variances
    mean: Array
    vector: Array


class Solution:
    """The matrices of all classes, the quadratic form, and its derivative along a change of the blocks."""

    def __init__(self, blocks: Blocks, start: Array) -> None:
        self.blocks = blocks
        size, order = blocks.local.shape[:2]
        root = np.sqrt(blocks.weights)
        weighted = (root[:, None, None, None] * blocks.coupling * root[None, :, None, None]).transpose(0, 2, 1, 3)
        values, vectors = np.linalg.eigh(weighted.reshape(size * order, size * order))
        kept = np.abs(values) > FEW * np.max(np.abs(values), initial=1e-300)
        self.strengths = values[kept]
        #: Of each class k rows; over the root of its weight they are functions of the class.
        self.directions = vectors[:, kept].reshape(size, order, -1)
        self.g, self.residual, self.rounds = self._solved(np.broadcast_to(start, blocks.local.shape).copy())
        self._finish()

    def _shared(self, g: Array) -> tuple[Array, Array]:
        """J (1 + H J)^(-1), and what it adds to the inverse of each class."""
        v = self.directions
        h = self.blocks.ratio * np.einsum("uia,uij,ujb->ab", v, g, v, optimize=True)
        inner = np.linalg.solve(np.eye(h.shape[0]) + self.strengths[:, None] * h, np.diag(self.strengths))
        inner = (inner + inner.T) / 2
        added = np.einsum("uia,ab,ujb->uij", v, inner, v, optimize=True)
        return inner, added / self.blocks.weights[:, None, None]

    def _step(self, g: Array) -> Array:
        blocks = self.blocks
        inverse = blocks.local + self._shared(g)[1] - blocks.variances.of(g, blocks.weights)
        found: Array = np.asarray(np.linalg.inv((inverse + inverse.transpose(0, 2, 1)) / 2), dtype=np.float64)
        return found

    def _solved(self, g: Array) -> tuple[Array, float, int]:
        """Averaged iteration, mixed with earlier rounds where that keeps the signs of the diagonal and helps."""
        signs = np.sign(np.einsum("uii->ui", g))
        past: list[tuple[Array, Array]] = []
        residual = np.inf
        for number in range(1, ROUNDS + 1):
            try:
                image = self._step(g)
            except np.linalg.LinAlgError:
                raise NotConverged("the Dyson equation met a singular matrix") from None
            gap = image - g
            residual = float(np.max(np.abs(gap)) / (np.max(np.abs(g)) + 1e-300))
            if not np.isfinite(residual):
                break
            if residual < TOLERANCE:
                return image, residual, number
            past = [*past[-MEMORY + 1 :], (g.ravel(), gap.ravel())]
            plain = g + gap / 2
            g = plain
            if number % 3 == 0 and len(past) > 2:
                mixed = _mixed(past).reshape(g.shape)
                diagonal = np.einsum("uii->ui", mixed)
                if np.all(np.isfinite(mixed)) and np.all((np.sign(diagonal) == signs)[:, :2]):
                    g = mixed
        if residual < 1e-9:
            return g, residual, ROUNDS
        raise NotConverged(f"the Dyson equation of {g.shape[0]} classes did not converge (residual {residual:.1e})")

    def _finish(self) -> None:
        blocks = self.blocks
        size, order = blocks.local.shape[:2]
        self.inner, _ = self._shared(self.g)
        root = np.sqrt(blocks.weights)
        self.matrix = _weighted(blocks.mean, root)
        here = np.arange(size)
        table = self.matrix.reshape(size, order, size, order)
        table[here, :, here, :] += np.linalg.inv(self.g)
        self.right = (root[:, None] * blocks.vector).ravel()
        self.x = np.linalg.solve(self.matrix, self.right)

    @property
    def form(self) -> float:
        """b^T T^(-1) b."""
        return float(self.right @ self.x)

    def slope(self, change: Blocks) -> float:
        """Derivative of the form where the blocks change at these rates (the weights do not)."""
        from scipy.sparse.linalg import LinearOperator, gmres

        blocks, shape = self.blocks, self.blocks.local.shape
        fixed = change.local - change.variances.of(self.g, blocks.weights) + self._coupling_change(change)

        def answer(flat: Array) -> Array:
            """What the inverse gains where G changes."""
            moved = flat.reshape(shape)
            v = self.directions
            h = blocks.ratio * np.einsum("uia,uij,ujb->ab", v, moved, v, optimize=True)
            shared = np.einsum("uia,ab,ujb->uij", v, -self.inner @ h @ self.inner, v, optimize=True)
            return shared / blocks.weights[:, None, None] - blocks.variances.of(moved, blocks.weights)

        def image(inverse: Array) -> Array:
            return -np.einsum("uij,ujk,ukl->uil", self.g, inverse, self.g, optimize=True)

        size = self.g.size
        operator = LinearOperator((size, size), matvec=lambda x: x - image(answer(x)).ravel(), dtype=float)
        right = image(fixed).ravel()
        moved, failed = gmres(operator, right, rtol=1e-11, atol=0.0, restart=80, maxiter=40)
        if failed:
            raise NotConverged("the derivative of the Dyson equation did not converge")
        inverse = fixed + answer(moved)
        table = _weighted(change.mean, np.sqrt(blocks.weights))
        x = self.x.reshape(shape[:2])
        turned = float(np.einsum("ui,uij,uj->", x, inverse, x)) + float(self.x @ table @ self.x)
        other = float((np.sqrt(blocks.weights)[:, None] * change.vector).ravel() @ self.x)
        return 2 * other - turned

    def _coupling_change(self, change: Blocks) -> Array:
        """What a change of the coupling and of the ratio adds to the inverse of each class."""
        blocks, v = self.blocks, self.directions
        weights = blocks.weights[:, None, None]
        bulk = np.einsum("uij,uja->uia", self.g, v, optimize=True) * blocks.ratio
        found = np.zeros_like(self.g)
        if change.ratio:
            h = np.einsum("uia,uij,ujb->ab", v, self.g, v, optimize=True) * change.ratio
            found -= np.einsum("uia,ab,ujb->uij", v, self.inner @ h @ self.inner, v, optimize=True) / weights
        if np.any(change.coupling):
            size, order = self.g.shape[:2]
            turned = _weighted(change.coupling, np.sqrt(blocks.weights))
            flat, seen = v.reshape(size * order, -1), bulk.reshape(size * order, -1)
            # R = 1 - r G V Y V^T on both sides
            right = turned - (turned @ seen) @ self.inner @ flat.T
            both = right - flat @ (self.inner @ (seen.T @ right))
            here = np.arange(size)
            found += both.reshape(size, order, size, order)[here, :, here, :] / weights
        return found


def _weighted(pairs: Array, root: Array) -> Array:
    """A kernel of small matrices over pairs of classes as one matrix in the weighted space."""
    size, order = pairs.shape[0], pairs.shape[2]
    scaled = root[:, None, None, None] * pairs * root[None, :, None, None]
    return scaled.transpose(0, 2, 1, 3).reshape(size * order, size * order).copy()


def _mixed(past: Sequence[tuple[Array, Array]]) -> Array:
    """The combination of past rounds whose gap is least (Anderson), half a step on."""
    places, gaps = (np.array(part) for part in zip(*past, strict=True))
    steps, turns = np.diff(places, axis=0), np.diff(gaps, axis=0)
    shares = np.linalg.lstsq(turns.T, gaps[-1], rcond=1e-12)[0]
    mixed: Array = places[-1] + gaps[-1] - shares @ (steps + turns)
    return mixed


def product_nodes(laws: Sequence[tuple[int, float | None]]) -> tuple[Array, Array]:
    """Places (one row per letter) and weights of a product law: coins by their mean, normals by Gauss and Hermite.

    Classes of weight zero are left out.
    """
    rules = []
    for count, mean in laws:
        if mean is None:
            nodes, weights = np.polynomial.hermite_e.hermegauss(count)
            rules.append((nodes, weights / weights.sum()))
        else:
            rules.append((np.array([1.0, -1.0]), np.array([1 + mean, 1 - mean]) / 2))
    places = np.array([axis.ravel() for axis in np.meshgrid(*(nodes for nodes, _ in rules), indexing="ij")])
    weights = np.prod([axis.ravel() for axis in np.meshgrid(*(w for _, w in rules), indexing="ij")], axis=0)
    there = weights > 0
    return places[:, there], weights[there]
