"""The bulk as a 3 x 3 matrix, and signal, weights and the labels' mean as changes of finite rank on top of it.

Q = (gamma + c K^T S K)^(-1) is the first block of the inverse of [[gamma, sqrt(c) K^T, 0], [sqrt(c) K, 0, -1],
[0, -1, S]]. On vectors that are independent of the noise its bulk acts as G (x) I with a 3 x 3 matrix G of means over
the Marchenko-Pastur law. Everything else is of finite rank in a few directions of R^n, orthonormal in the limit: the
labels y, the rest of the vector of ones, the tokens' squared lengths, and the noise along directions of R^p.
"""

from dataclasses import dataclass
from functools import cache

from sympy import Matrix, Rational, eye, sqrt, zeros

from theorem_engine import Total, rows_of
from theorem_engine.base.errors import MissingParameter, OutOfDomain
from theorem_engine.registry.liao2026.model import multiple
from theorem_engine.registry.liao2026.notation import alpha, beta, delta, e, eta, g, kap, lam, var

J0 = var("J0", "J_0", "mean of 1/P")
JB = var("JB", "J_B", "mean of B/P")
ENTRIES = {
    (i, j): var(f"G{i + 1}{j + 1}", f"G_{{{i + 1}{j + 1}}}", f"entry {i + 1}, {j + 1} of the bulk's matrix")
    for i in range(3)
    for j in range(i, 3)
}
G = Matrix(3, 3, lambda i, j: ENTRIES[min(i, j), max(i, j)])


@cache
def response(block, direction):
    """The letter of one coordinate of what the changes of finite rank leave of the labels."""
    return var(f"u{block + 1}_{direction}", f"u_{{{block + 1},{direction}}}", f"block {block + 1} along {direction}")


def bulk(m, noise):
    """Equations of the bulk's matrix, from the resolvent on pure noise."""
    return {
        lam: 1 / m.c,
        kap: m.a1 / sqrt(lam),
        **{x: getattr(noise, x.name).at(m) for x in (alpha, beta, delta, g, e, eta)},
        J0: alpha - e * delta / g,
        JB: kap * delta / g + eta * J0,
        ENTRIES[0, 0]: alpha,
        ENTRIES[0, 1]: -beta,
        ENTRIES[0, 2]: JB,
        ENTRIES[1, 1]: -delta,
        ENTRIES[1, 2]: -g * J0,
        ENTRIES[2, 2]: g * e * J0 - kap * beta + eta * JB,
    }


@dataclass(frozen=True)
class RankPart:
    """W_K^T W_Q = s (I + sum k_r q_r^T/s) on the span of mu and the weights, in coordinates, the first along mu."""

    scale: object
    keys: tuple
    queries: tuple
    size: int

    @property
    def change(self):
        """I + sum k_r q_r^T/s in these coordinates."""
        found = eye(self.size)
        for key, query in zip(self.keys, self.queries, strict=True):
            found += Matrix(key) * Matrix(query).T / self.scale
        return found


def rank_part(m, least=1):
    """The weights of a setting: rows given, those of a file, or none."""
    if m.has("weights_file") and m.weights_file is not None:
        keys, queries = m.weights_file.keys, m.weights_file.queries
    elif not m.has("keys") or (m.keys is None and m.queries is None):
        keys = queries = ()
    elif m.keys is None or m.queries is None:
        raise MissingParameter(f"{m.owner} needs keys and queries together: the rank part is sum k_r q_r^T")
    else:
        keys, queries = rows_of(m.keys), rows_of(m.queries)
    if len(keys) != len(queries) or len({len(row) for row in (*keys, *queries)}) > 1:
        raise OutOfDomain("keys and queries are not as many, or have not as many coordinates")
    keys, queries = (tuple(tuple(Rational(x) for x in row) for row in rows) for rows in (keys, queries))
    size = max(least, len(keys[0]) if keys else 1)
    keys, queries = (tuple((*row, *[Rational(0)] * (size - len(row))) for row in rows) for rows in (keys, queries))
    return RankPart(multiple(m), keys, queries, size)


class Changes:
    """Directions of R^n by name, and the finite-rank parts of the matrix in them."""

    def __init__(self, m, names, size):
        self.m = m
        #: The labels, directions beside them, and the noise along each coordinate of R^p.
        self.names = ("y", *names, *(f"z{r + 1}" for r in range(size)))
        #: Columns: the tokens along each coordinate, X^T e_r over sqrt(n c).
        self.tokens = Matrix.hstack(*(self._tokens_along(r) for r in range(size)))

    def along(self, name):
        """The unit vector of a direction."""
        return Matrix([int(name == other) for other in self.names])

    def _tokens_along(self, r):
        signal = sqrt(self.m.snr) * self.along("y") if r == 0 else zeros(len(self.names), 1)
        return (signal + self.along(f"z{r + 1}")) * sqrt(lam)

    def linear(self, change):
        """The part of the attention matrix that is linear in the tokens: row for the key, column for the query."""
        return self.m.a1 * self.tokens * change * self.tokens.T

    def solved(self, kernel, bulk=G):
        """Equations of what the change ``kernel`` of the attention matrix leaves, its blocks and their images under G.

        G is the matrix of the ``bulk``. With T = G^(-1) (x) I + [[0, sqrt(c) D^T, 0], [sqrt(c) D, 0, 0], [0, 0, P P^T]]
        and T x = (y, 0, 0) these are
        u = G^(-1) x and x.
        """
        u = [Matrix([response(block, name) for name in self.names]) for block in range(3)]
        x = [sum((bulk[i, j] * u[j] for j in range(3)), zeros(len(self.names), 1)) for i in range(3)]
        right = (
            self.along("y") - kernel.T * x[1] / sqrt(lam),
            -kernel * x[0] / sqrt(lam),
            -self.tokens * (self.tokens.T * x[2]),
        )
        equations = {letter: side for block, sides in zip(u, right, strict=True)
                     for letter, side in zip(block, sides, strict=True)}  # fmt: skip
        return equations, u, x


def interpolation(m, u, bulk=G):
    """The error -gamma^2 dA/dgamma: only the bulk knows gamma."""
    slopes = Matrix(3, 3, lambda i, j: Total(bulk[i, j], m.gamma))
    return -(m.gamma**2) * pairing(slopes, u)


def pairing(matrix, u):
    """sum_ij M_ij <u_i, u_j> for a symmetric M."""
    return sum((1 if i == j else 2) * matrix[i, j] * u[i].dot(u[j]) for i in range(3) for j in range(i, 3))
