"""The attention matrix and its error, before any limit is taken."""

from dataclasses import replace

from sympy import Abs, Eq, Integer, Matrix, Max, Rational, sqrt

from theorem_engine import NONNEGATIVE, Eigenvalues, Output, Source, Total, definition, lemma
from theorem_engine.registry.liao2026.finite_size import FAR
from theorem_engine.registry.liao2026.model import ASSUMED, LIMIT, MODEL
from theorem_engine.registry.liao2026.notation import WORK, A, a1, gamma, lam, s
from theorem_engine.registry.liao2026.spectrum import mean


@definition(
    "liao2026.error-identity",
    title="The interpolation error as a derivative of the resolvent",
    source=Source(WORK, "Definition 3", version="v2"),
    model=MODEL.only("ratio", "moments"),
    given=(gamma,),
    outputs={"gap": "error as defined less (gamma^2/n) y^T Q^2 y: nothing"},
    zeros=(a1,),
    checks=("liao2026_matrices.error_identity",),
    marks="AV",
    notes=(
        "w = (X K K^T X^T + n gamma)^(-1) X K y and Q = (K^T X^T X K/n + gamma)^(-1) give y - K^T X^T w = gamma Q y, "
        "so the error is (gamma^2/n) y^T Q^2 y = -(gamma^2/n) d/dgamma (y^T Q y).",
        "The prefactor is gamma^2/n; the gamma/(2 n) met in summaries is not the identity.",
        "The identity holds for every matrix; it is written out here for the linear part of f on pure noise, whose "
        "K = a1 (S - I) has the eigenvalue c a1^2 s (s - 1)^2 of K^T X^T X K/n where S = X^T X/p has s.",
        "Hence 0 < error < 1, and the error never falls as gamma grows.",
    ),
)
def error_identity(m):
    """Ridge regression leaves gamma Q y of the labels; exact algebra, to be checked on drawn matrices.

    In a direction in which K^T X^T X K/n is t, regression fits the share t/(t + gamma) of the labels, and Q is
    1/(t + gamma).
    """
    t = m.a1**2 * s * (s - 1) ** 2 / lam
    unfitted = mean("n", (1 - t / (t + m.gamma)) ** 2)
    return {
        lam: 1 / m.c,
        A: mean("n", 1 / (t + m.gamma)),
        "gap": unfitted + m.gamma**2 * Total(A, m.gamma),
    }


def rank(m):
    """Rank of the kept part: vectors parallel to mu (or zero) have images in the span that the signal already has."""
    if not m.a1:
        return 0
    has_weights = not (m.when(Eq(m.key_norm2, 0)) or m.when(Eq(m.query_norm2, 0)))
    if m.when(Eq(m.snr, 0)):
        return int(has_weights)
    if not has_weights:
        return 2
    pairs = (m.key_along, m.key_norm2), (m.query_along, m.query_norm2)
    # up to rounding of both
    parallel = [m.when(Abs(along**2 - norm2) <= Rational(1, 10**12) * norm2) for along, norm2 in pairs]
    if all(parallel):
        return 1 if m.when(Eq(m.key_along * m.query_along, -1)) else 2
    return 2 if any(parallel) else 3


@lemma(
    "liao2026.kernel-linearization",
    title="The attention matrix of signal plus noise as that of noise plus low rank",
    source=Source(WORK, "Lemma 1", version="v2"),
    model=MODEL,
    outputs={
        "rank": Output("rank of the kept part", NONNEGATIVE),
        "strength": Output("limit of the operator norm of the kept part", NONNEGATIVE),
    },
    zeros=(a1,),
    assumes=ASSUMED[:2],
    regime=replace(
        LIMIT,
        orders=(Rational(1, 2),),
        correction="the remainder's operator norm falls like 1/sqrt(p): tanh, p = n from 125 to 1000, "
        "from 0.23 to 0.08",
    ),
    warns=(FAR,),
    checks=("liao2026_matrices.kept_part", "liao2026_matrices.kernel_remainder"),
    marks="DVG",
    notes=(
        "K_X = K_N + (1/p) U Sigma V^T + R with U = [y, Z^T mu, X^T w_K], V = [y, Z^T mu, X^T w_Q], "
        "Sigma = a1 [[|mu|^2, 1, 0], [1, 0, 0], [0, 0, 1]].",
        "Taylor in the shift of the logits, of order 1/sqrt(p): f' averages to a1, the rest of f' and the f'' terms "
        "have operator norm of order 1/sqrt(p).",
    ),
)
def kernel_linearization(m):
    """Signal and weights add a matrix of rank at most three to the kernel of pure noise.

    Its norm is that of the 3 x 3 product of Sigma with roots of the limits of U^T U/p and V^T V/p.
    """
    if not rank(m):
        return {"rank": Integer(0), "strength": Integer(0)}
    length = sqrt(m.snr)

    def factor(along, norm2):
        # of the limit of U^T U/p, over lambda; of what is parallel nothing is left, and no rounding either
        across = 0 if m.when(Eq(along**2, norm2)) else sqrt(Max(0, norm2 - along**2))
        return Matrix([[1, 0, 0], [0, length, 0], [length * along, along, across]])

    inner = Matrix([[m.snr, 1, 0], [1, 0, 0], [0, 0, 1]])
    between = factor(m.key_along, m.key_norm2).T * inner * factor(m.query_along, m.query_norm2)
    return {
        lam: 1 / m.c,
        "rank": Integer(rank(m)),
        # of a symmetric matrix: the eigenvalues of a product of two would amplify rounding
        "strength": Abs(m.a1) * lam * sqrt(Eigenvalues(between * between.T).real(0)),
    }
