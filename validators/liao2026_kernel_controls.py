"""Control variates from the attention matrix itself: its low forms, whose means are integrals in few dimensions.

Tokens are x_i = y_i t_i with t_i = mu + noise, independent of the labels y. For an odd f the matrix
K_ij = f(x_i.x_j/sqrt(p))/sqrt(p) is y_i y_j times the same of the t_i, and forms of it between y and the projections of
the tokens on fixed directions are sums over pairs and triples of the t_i. Given one token the inner products with the
others are Gaussian, so that the means of these sums are integrals over a Gaussian number, the token's projections and
the length of the rest of it. That is the definition of the model; no limit is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import special

from .liao2026_model import Array, Point, make_vectors

Function = Callable[[Array], Array]
#: Nodes for a projection of the token, by the number of these; for the length of the rest; and for the inner products
#: with another token.
PROJECTIONS, LENGTHS, PRODUCTS = (1, 12, 10, 8), 6, 401
#: Standard deviations that the last of these reach.
REACH = 9.0
#: Where and how finely a function is looked at, and by how much it may jump between two places.
LOOKED, JUMP = np.linspace(-12.0, 12.0, 4801), 0.05


def is_suitable(f: Function) -> bool:
    """Whether a function is odd, and continuous as far as can be seen: then the means are known accurately."""
    values = f(LOOKED)
    odd = bool(np.allclose(values, -values[::-1], atol=1e-9))
    return odd and float(np.max(np.abs(np.diff(values)))) < JUMP


class KernelControls:
    """Forms of the matrix of ``f`` between the labels and directions, less their means at p and n.

    They are v^T K w, (K v).(K w) and |K|^2 for all v and w among y/sqrt(n) and X^T e/sqrt(p), with an orthonormal basis
    e of the directions.
    """

    def __init__(self, f: Function, diagonal: float, tokens: int, mu: Array, directions: Sequence[Array]) -> None:
        self.basis = vectors_spanned(np.array(directions))
        self.upper = np.triu_indices(len(self.basis) + 1)
        self.means = self._means(f, diagonal, tokens, mu.size, self.basis @ mu)

    def __call__(self, tokens: Array, labels: Array, kernel: Array) -> Array:
        """The controls of one draw, from its tokens, labels and attention matrix."""
        p, n = tokens.shape
        vectors = np.column_stack([labels / np.sqrt(n), (self.basis @ tokens).T / np.sqrt(p)])
        images = kernel @ vectors
        once, twice = vectors.T @ images, images.T @ images
        power = np.sum(kernel * kernel) / n
        found: Array = np.concatenate([once[self.upper], twice[self.upper], [power]]) - self.means
        return found

    def _means(self, f: Function, diagonal: float, n: int, p: int, along: Array) -> Array:
        weight, projections, length2 = token_nodes(p, along)
        length = np.sqrt(length2)
        # the other token: its product with this one, of mean t.mu and standard deviation |t|
        xi = np.linspace(-REACH, REACH, PRODUCTS)
        law = np.exp(-xi * xi / 2)
        law /= law.sum()
        values = f(((projections @ along)[:, None] + length[:, None] * xi) / np.sqrt(p)) / np.sqrt(p)
        squares = values * values
        f0, f1 = values @ law, values @ (law * xi)
        s0, s1, s2 = (squares @ (law * xi**k) for k in range(3))
        # the other's projections have mean m + (t.e/|t|) xi given its product with this one
        slope = projections / length[:, None]
        own = np.column_stack([np.full(len(weight), 1 / np.sqrt(n)), projections / np.sqrt(p)])
        seen = np.column_stack([f0 / np.sqrt(n), (along * f0[:, None] + slope * f1[:, None]) / np.sqrt(p)])
        once = n * (n - 1) * (own.T @ (weight[:, None] * seen))
        plain = own.T @ (weight[:, None] * own)
        size = len(along) + 1
        both = np.empty((size, size))
        both[0, 0] = weight @ s0 / n
        both[0, 1:] = both[1:, 0] = weight @ (along * s0[:, None] + slope * s1[:, None]) / np.sqrt(n * p)
        for a in range(size - 1):
            for b in range(size - 1):
                product = slope[:, a] * slope[:, b]
                mixed = along[a] * slope[:, b] + along[b] * slope[:, a]
                part = along[a] * along[b] * s0 + mixed * s1 + product * (s2 - s0) + (a == b) * s0
                both[a + 1, b + 1] = weight @ part / p
        cross = own.T @ (weight[:, None] * seen)
        twice = n * (
            (n - 1) * (n - 2) * (seen.T @ (weight[:, None] * seen))
            + (n - 1) * both
            + diagonal * (n - 1) * (cross + cross.T)
            + diagonal**2 * plain
        )
        once = once + diagonal * n * plain
        power = (n - 1) * float(weight @ s0) + diagonal**2
        return np.concatenate([once[self.upper], twice[self.upper], [power]])


#: Controls by size and point: their means are integrals.
_KNOWN: dict[Any, KernelControls] = {}


def kernel_controls(point: Point, f: Function, p: int, n: int) -> KernelControls | None:
    """Controls of a point's attention matrix without weights, between labels, signal and weights; none for some f."""
    if not is_suitable(f):
        return None
    place = (p, n, *sorted((name, str(value)) for name, value in point.items()))
    if place not in _KNOWN:
        vectors = make_vectors(point, p)
        _KNOWN[place] = KernelControls(f, float(point.get("diagonal", 0.0)), n, vectors[0], vectors)
    return _KNOWN[place]


def vectors_spanned(directions: Array) -> Array:
    """Orthonormal rows that span the directions; none for directions that are all zero."""
    _, values, rows = np.linalg.svd(directions, full_matrices=False)
    # vectors made from a Gram matrix are known to the square root of rounding
    kept: Array = rows[values > 1e-6 * max(1.0, float(values[0]))]
    return kept


def _squared_length(dimension: int) -> tuple[Array, Array]:
    """Nodes and weights for the squared length of a Gaussian vector, from the recurrence of Laguerre's polynomials.

    Tables of these nodes divide gamma functions, which leave double precision beyond some hundred dimensions.
    """
    order, k = dimension / 2 - 1, np.arange(LENGTHS)
    off = np.sqrt(k[1:] * (k[1:] + order))
    nodes, vectors = np.linalg.eigh(np.diag(2 * k + 1 + order) + np.diag(off, 1) + np.diag(off, -1))
    return 2 * nodes, vectors[0] ** 2


def token_nodes(p: int, along: Array) -> tuple[Array, Array, Array]:
    """Weights, projections and squared lengths of a token t = mu + noise, as a quadrature over its law."""
    rank = len(along)
    nodes, weights = special.roots_hermitenorm(PROJECTIONS[rank])
    weights = weights / weights.sum()
    rest, rest_weights = _squared_length(p - rank)
    grids = np.meshgrid(*[nodes] * rank, rest, indexing="ij")
    weight = np.ones(())
    for one in (*[weights] * rank, rest_weights):
        weight = np.multiply.outer(weight, one)
    projections = np.stack([grid.ravel() for grid in grids[:-1]], axis=1) + along if rank else np.zeros((LENGTHS, 0))
    length2 = np.sum(projections**2, axis=1) + grids[-1].ravel()
    return weight.ravel(), projections, length2
