"""The attention matrix and its error, before any limit is taken."""

from sympy import Abs, Eq, Integer, Matrix, Max, sqrt

from theorem_engine import NONNEGATIVE, Eigenvalues, Output, Source, definition, lemma, limit
from theorem_engine.registry.liao2026.finite_size import FAR
from theorem_engine.registry.liao2026.notation import (
    CUBIC,
    GRAM,
    MOMENT_RULES,
    MOMENTS,
    RATIO,
    RATIO_RULE,
    SIGNAL,
    VARIANCE,
    WEIGHTS_RULE,
    WORK,
    gamma,
    key_norm2,
    lam,
    mu_key,
    mu_query,
    query_norm2,
    snr,
)
from theorem_engine.registry.liao2026.setting import (
    LIMIT,
    MODEL,
    MOMENT_CASES,
    NO_SIGNAL,
    columns_over_rows,
    is_parallel,
    read_moments,
    read_products,
)

#: w_K, w_Q parallel to mu (or zero): their images then lie in the span that the signal already has.
DIRECTIONS = {
    "is_key_parallel": is_parallel(mu_key, key_norm2),
    "is_query_parallel": is_parallel(mu_query, query_norm2),
    "has_no_key": Eq(key_norm2, 0),
    "has_no_query": Eq(query_norm2, 0),
    "is_cancelled": Eq(mu_key * mu_query, -snr),
}


@definition(
    "liao2026.error-identity",
    title="The interpolation error as a derivative of the resolvent",
    source=Source(WORK, "Definition 3", version="v2"),
    given=(*RATIO, gamma, *MOMENTS),
    outputs={"gap": "error as defined less (gamma^2/n) y^T Q^2 y: nothing"},
    given_rules=(RATIO_RULE, *MOMENT_RULES),
    requires=(CUBIC, VARIANCE),
    checks=("liao2026_matrices.error_identity",),
    marks="AV",
    notes=(
        "w = (X K K^T X^T + n gamma)^(-1) X K y and Q = (K^T X^T X K/n + gamma)^(-1) give y - K^T X^T w = gamma Q y, "
        "so the error is (gamma^2/n) y^T Q^2 y = -(gamma^2/n) d/dgamma (y^T Q y).",
        "The prefactor is gamma^2/n; the gamma/(2 n) met in summaries is not the identity.",
        "Hence 0 < error < 1, and the error never falls as gamma grows.",
    ),
)
def error_identity_(c, p, n, gamma, nonlinearity, level, r, a1, second_moment):
    """Ridge regression leaves gamma Q y of the labels; exact algebra, to be checked on drawn matrices."""
    return {"gap": Integer(0)}


@lemma(
    "liao2026.kernel-linearization",
    title="The attention matrix of signal plus noise as that of noise plus low rank",
    source=Source(WORK, "Lemma 1", version="v2"),
    given=(*RATIO, *MOMENTS, *SIGNAL),
    outputs={
        "rank": Output("rank of the kept part", NONNEGATIVE),
        "strength": Output("limit of the operator norm of the kept part", NONNEGATIVE),
    },
    given_rules=(RATIO_RULE, *MOMENT_RULES, WEIGHTS_RULE),
    requires=(GRAM, CUBIC, VARIANCE),
    cases={**MOMENT_CASES, **NO_SIGNAL, **DIRECTIONS},
    assumes=MODEL[:2],
    regime=limit(
        LIMIT, "the remainder's operator norm falls like 1/sqrt(p): tanh, p = n from 125 to 1000, from 0.23 to 0.08"
    ),
    warns=(FAR,),
    checks=("liao2026_matrices.kernel_remainder",),
    marks="DVG",
    notes=(
        "K_X = K_N + (1/p) U Sigma V^T + R with U = [y, Z^T mu, X^T w_K], V = [y, Z^T mu, X^T w_Q], "
        "Sigma = a1 [[|mu|^2, 1, 0], [1, 0, 0], [0, 0, 1]].",
        "Taylor in the shift of the logits, of order 1/sqrt(p): f' averages to a1, the rest of f' and the f'' terms "
        "have operator norm of order 1/sqrt(p).",
    ),
)
def kernel_linearization(
    c, p, n, nonlinearity, level, r, a1, second_moment, snr, key_norm2, query_norm2, mu_key, mu_query, key_query,
    weights, *, is_even, is_linear, has_no_signal, is_key_parallel, is_query_parallel, has_no_key, has_no_query,
    is_cancelled,
):  # fmt: skip
    """Signal and weights add a matrix of rank at most three to the kernel of pure noise.

    Its norm is that of the 3 x 3 product of Sigma with roots of the limits of U^T U/p and V^T V/p.
    """
    moments = read_moments(nonlinearity, level, r, a1, second_moment, is_even, is_linear)
    products = read_products(snr, key_norm2, query_norm2, mu_key, mu_query, key_query, weights, has_no_signal)
    length = sqrt(snr)

    def factor(along, norm2):
        # of the limit of U^T U/p, over lambda; rounding may push what is left of a parallel vector below zero
        return Matrix([[1, 0, 0], [0, length, 0], [length * along, along, sqrt(Max(0, norm2 - along**2))]])

    if weights is not None:
        has_no_key = has_no_query = weights == "none" or (weights == "aligned" and has_no_signal)
        is_key_parallel = is_query_parallel = weights != "orthogonal"
        is_cancelled = False
    has_weights = not (has_no_key or has_no_query)
    if moments.is_even:
        rank = 0
    elif has_no_signal:
        rank = int(has_weights)
    elif has_weights and is_key_parallel and is_query_parallel:
        rank = 1 if is_cancelled else 2
    else:
        rank = 3 if has_weights and not (is_key_parallel or is_query_parallel) else 2
    if rank == 0:
        return {"rank": Integer(0), "strength": Integer(0)}
    inner = Matrix([[snr, 1, 0], [1, 0, 0], [0, 0, 1]])
    key, query = factor(products.key_along, products.key_norm2), factor(products.query_along, products.query_norm2)
    between = key.T * inner * query
    return {
        lam: columns_over_rows(c, p, n),
        "rank": Integer(rank),
        # of a symmetric matrix: the eigenvalues of a product of two would amplify rounding
        "strength": Abs(moments.a1) * lam * sqrt(Eigenvalues(between * between.T).real(0)),
    }
