"""Control variates from the attention matrix of any continuous function, its forms with the vector of ones among them.

Where f is not odd the matrix K_ij = f(x_i.x_j/sqrt(p))/sqrt(p) knows the labels of both tokens, not their product
alone. Given the labels, tokens of a class are mu or -mu plus noise, and forms of K between the labels, the vector of
ones and projections of the tokens are sums over pairs and triples of classes. Given one token the inner products with
the others are Gaussian, so that the means of these sums are integrals as in ``liao2026_kernel_controls``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .liao2026_kernel_controls import REACH, Function, token_nodes, vectors_spanned
from .liao2026_model import Array

#: Nodes of the inner products with another token: many where f has a kink, which makes a rule of even steps slow.
SMOOTH, KINKED = 401, 2001
#: Where a function is looked at; by how much it may jump, and its slope change, between two of these places.
LOOKED, JUMP, BEND = np.linspace(-12.0, 12.0, 4801), 0.05, 1.5e-3
#: Directions that signal and weights may span, for functions with and without kinks.
MOST, MOST_KINKED = 3, 2


def nodes_for(f: Function, rank: int) -> int:
    """How many nodes a function takes; none where it jumps or the directions are too many."""
    values = f(LOOKED)
    if float(np.max(np.abs(np.diff(values)))) > JUMP:
        return 0
    is_kinked = float(np.max(np.abs(np.diff(values, 2)))) > BEND
    return 0 if rank > (MOST_KINKED if is_kinked else MOST) else KINKED if is_kinked else SMOOTH


class ClassControls:
    """Forms of the matrix of ``f`` between labels, ones and directions, less their means at p, n and the labels' sum.

    They are v^T K w, (K v).(K w) and |K|^2 for all v and w among y/sqrt(n), 1/sqrt(n) and X^T e/sqrt(p), with an
    orthonormal basis e of the directions.
    """

    def __init__(self, f: Function, diagonal: float, mu: Array, directions: Sequence[Array], nodes: int) -> None:
        self.basis = vectors_spanned(np.array(directions))
        self.upper = np.triu_indices(len(self.basis) + 2)
        self.p, self.diagonal = mu.size, diagonal
        self.along = self.basis @ mu
        self.weight, _, _ = token_nodes(self.p, self.along)
        self.first = {sign: self._of_class(f, sign, nodes) for sign in (1, -1)}
        #: Means by how many tokens have each label: draws of one mean differ by one.
        self.means: dict[tuple[int, int], Array] = {}

    def __call__(self, tokens: Array, labels: Array, kernel: Array) -> Array:
        """The controls of one draw, from its tokens, labels and attention matrix."""
        p, n = tokens.shape
        above = int(np.sum(labels > 0))
        if (n, above) not in self.means:
            self.means[n, above] = self._means(n, {1: above, -1: n - above})
        sides = [labels / np.sqrt(n), np.full(n, 1 / np.sqrt(n)), *(self.basis @ tokens / np.sqrt(p))]
        vectors = np.column_stack(sides)
        images = kernel @ vectors
        once, twice = vectors.T @ images, images.T @ images
        power = np.sum(kernel * kernel) / n
        found: Array = np.concatenate([once[self.upper], twice[self.upper], [power]]) - self.means[n, above]
        return found

    def _of_class(self, f: Function, sign: int, nodes: int) -> tuple[Array, Array, dict[int, list[Array]]]:
        """Projections of a token of a class, their slopes, and moments of f with tokens of either class."""
        _, projections, length2 = token_nodes(self.p, sign * self.along)
        length = np.sqrt(length2)
        xi = np.linspace(-REACH, REACH, nodes)
        law = np.exp(-xi * xi / 2)
        law /= law.sum()
        moments = {}
        for other in (1, -1):
            centre = other * (projections @ self.along)
            values = f((centre[:, None] + length[:, None] * xi) / np.sqrt(self.p)) / np.sqrt(self.p)
            moments[other] = [values @ law, values @ (law * xi)]
            values *= values
            moments[other] += [values @ (law * xi**k) for k in range(3)]
        return projections, projections / length[:, None], moments

    def _means(self, n: int, counts: dict[int, int]) -> Array:
        size, root, wide = len(self.along) + 2, 1 / np.sqrt(n), 1 / np.sqrt(self.p)
        once, twice, power = np.zeros((size, size)), np.zeros((size, size)), 0.0
        for sign, (projections, slope, moments) in self.first.items():
            share = counts[sign] * self.weight
            flat = np.ones(len(share))
            own = np.column_stack([sign * root * flat, root * flat, wide * projections])
            whole, pairs, equal = np.zeros_like(own), np.zeros((size, size)), np.zeros((size, size))
            for other, (f0, f1, s0, s1, s2) in moments.items():
                there = counts[other] - (sign == other)
                seen = np.column_stack([
                    other * root * f0, root * f0, wide * (other * self.along * f0[:, None] + slope * f1[:, None])
                ])  # fmt: skip
                whole += there * seen
                # two others of one class are different ones
                pairs -= there * (seen.T @ (share[:, None] * seen))
                equal += there * self._squares(share, slope, (s0, s1, s2), other, n)
                power += there * float(share @ s0) / n
            plain, cross = own.T @ (share[:, None] * own), own.T @ (share[:, None] * whole)
            once += cross + self.diagonal * plain
            twice += whole.T @ (share[:, None] * whole) + pairs + equal
            twice += self.diagonal * (cross + cross.T) + self.diagonal**2 * plain
        found: Array = np.concatenate([once[self.upper], twice[self.upper], [power + self.diagonal**2]])
        return found

    def _squares(self, share: Array, slope: Array, moments: tuple[Array, ...], other: int, n: int) -> Array:
        """Sums of K_ij^2 v_j w_j over first tokens, for one other token of a class."""
        s0, s1, s2 = moments
        size = len(self.along) + 2
        found = np.empty((size, size))
        found[0, 0] = found[1, 1] = share @ s0 / n
        found[0, 1] = found[1, 0] = other * found[0, 0]
        here = share @ (other * self.along * s0[:, None] + slope * s1[:, None]) / np.sqrt(n * self.p)
        found[1, 2:] = found[2:, 1] = here
        found[0, 2:] = found[2:, 0] = other * here
        for a in range(size - 2):
            for b in range(size - 2):
                mixed = other * (self.along[a] * slope[:, b] + self.along[b] * slope[:, a])
                part = (self.along[a] * self.along[b] + (a == b)) * s0 + mixed * s1
                found[a + 2, b + 2] = share @ (part + slope[:, a] * slope[:, b] * (s2 - s0)) / self.p
        return found
