"""Interpolation error of nonlinear attention on signal plus noise."""

from sympy import Integer, sqrt

from theorem_engine import MarchenkoPastur, Source, SpectralMean, Total, limit, theorem
from theorem_engine.registry.liao2026.finite_size import FAR, FILE_SIZE, STIFF
from theorem_engine.registry.liao2026.notation import (
    A0,
    CUBIC,
    GRAM,
    M11,
    M12,
    M22,
    MOMENT_RULES,
    MOMENTS,
    RATIO,
    RATIO_RULE,
    SIGNAL,
    VARIANCE,
    WEIGHTS_OR_FILE_RULE,
    WORK,
    A,
    diagonal,
    e,
    eta,
    g,
    gamma,
    k1,
    kap,
    lam,
    q1,
    s,
    theta,
    v1,
    v2,
    weights_file,
)
from theorem_engine.registry.liao2026.resolvent import ERROR, integrands
from theorem_engine.registry.liao2026.setting import (
    CORRECTION,
    LIMIT,
    MODEL,
    MOMENT_CASES,
    NO_DIAGONAL,
    NO_SIGNAL,
    behind_weights,
    columns_over_rows,
    read_moments,
    read_products,
)


@theorem(
    "liao2026.interpolation-error",
    title="Interpolation error of nonlinear attention",
    source=Source(WORK, "Theorem 1", version="v2"),
    given=(*RATIO, gamma, *MOMENTS, *SIGNAL, diagonal, weights_file),
    outputs={
        "error": ERROR,
        "A": "limit of y^T Q y/n",
        "A0": "that limit without weights",
        "v1": "first entry of the correction's vector",
        "v2": "second entry of the correction's vector",
        "M11": "correction's matrix, query against query",
        "M12": "correction's matrix, key against query",
        "M22": "correction's matrix, key against key",
    },
    needs={"resolvent": "liao2026.noise-resolvent"},
    given_rules=(RATIO_RULE, *MOMENT_RULES, WEIGHTS_OR_FILE_RULE),
    requires=(GRAM, CUBIC, VARIANCE, FILE_SIZE),
    cases={**MOMENT_CASES, **NO_DIAGONAL, **NO_SIGNAL},
    assumes=MODEL,
    regime=limit(LIMIT, CORRECTION),
    warns=(FAR, STIFF),
    checks=("liao2026.attention_error",),
    marks="DV",
    notes=(
        "weights_file names a .npz or .safetensors with W_K and W_Q (rows are the heads' dimensions), and perhaps mu, "
        "the direction of the signal, without which the weights count as orthogonal to it; or with a layer of GPT-2, "
        "h.<layer>.attn.c_attn.weight, chosen as file#layer or file#layer.head. W_K^T W_Q is taken as "
        "s (I + w_K w_Q^T); the point of the prediction says how large the rest is. The multiple s, of either sign, "
        "makes f(t) into f(s t), whose moments are used; f must then be given, not its moments. p is that of the file.",
        "softmax behind a multiple s is e^(s t - 1/2) - 1, entry by entry; a row-wise softmax divides by its own mean, "
        "which is the same at the penalty gamma e^(s^2 - 1).",
        "The paper states this through a 9 x 9 system; three scalars and a 2 x 2 correction carry the same content.",
        "Derivation: insert the equivalent of Q given X (noise-resolvent), whose weights are a rank-two change of a "
        "function of S, and apply Woodbury; the forms of S in the directions of y, mu and the weights are those of "
        "spiked-resolvent. det M < 0 always, so the correction never blows up.",
        "Weights orthogonal to mu have no effect in the limit; without signal no weights have.",
        "w_Q along mu, |w_Q||w_K| -> oo: the error tends to the null error over 1 + |mu|^2.",
        "Invariant under (gamma, a1, nu, d) -> (t^2 gamma, t a1, t^2 nu, t d), (a1, d) -> (-a1, -d), "
        "(w_K, w_Q) -> (t w_K, w_Q/t) and mu -> -mu; not under exchange of w_K and w_Q.",
        "At finite size: the diagonal of K moves the error by order 1/sqrt(p) (0.017 rms at p of a few hundred, 0.002 "
        "once `diagonal` is given; for clip at 5 it is 5/sqrt(p)). For w_K = w_Q = mu, tanh, p = 500, c = 0.25 the "
        "limit is 6 % high at |mu|^2 = 2 and useless from 4 on; with a2 != 0 the first correction is of order "
        "1/sqrt(p).",
    ),
)
def interpolation_error(
    c, p, n, gamma, nonlinearity, level, r, a1, second_moment, snr, key_norm2, query_norm2, mu_key, mu_query, key_query,
    weights, diagonal, weights_file, *, resolvent, is_even, is_linear, has_no_diagonal, has_no_signal,
):  # fmt: skip
    """Training error of ridge regression of the labels on attention features, for any directions of the weights.

    The error is -gamma^2 dA/dgamma with A = A0 - v^T M^(-1) v. The scalars g, e, eta are those of pure noise; the
    signal enters through means over the spiked spectrum, the weights through the 2 x 2 matrix M.
    """
    nonlinearity, a1 = behind_weights(nonlinearity, a1, weights_file)
    moments = read_moments(nonlinearity, level, r, a1, second_moment, is_even, is_linear)
    products = read_products(
        snr, key_norm2, query_norm2, mu_key, mu_query, key_query, weights, has_no_signal, weights_file
    )
    noise = {
        name: getattr(resolvent, name)(
            c=c, p=p, n=n, gamma=gamma, nonlinearity=nonlinearity, level=level, r=r, a1=a1, second_moment=second_moment,
            diagonal=diagonal, is_even=is_even, is_linear=is_linear, has_no_diagonal=has_no_diagonal,
        )
        for name in ("g", "e", "eta")
    }  # fmt: skip
    linear_part = Integer(0) if moments.is_even else kap
    scalars = (
        g,
        Integer(0) if moments.is_linear else e,
        linear_part,
        Integer(0) if moments.is_even and has_no_diagonal else eta,
    )

    def mean(index, form):
        return SpectralMean(integrands(*scalars)[index], s, MarchenkoPastur(lam, theta, form))

    def both(index, across, along):
        return across * mean(index, "pp") + along * mean(index, "mm")

    key_across, query_across = products.key_norm2 - k1**2, products.query_norm2 - q1**2
    return {
        lam: columns_over_rows(c, p, n),
        kap: moments.a1 / sqrt(lam),
        theta: sqrt(snr * lam),
        k1: products.key_along,
        q1: products.query_along,
        g: noise["g"],
        e: noise["e"],
        eta: noise["eta"],
        A0: mean(0, "yy"),
        v1: q1 * mean(0, "ym"),
        v2: linear_part * k1 * mean(2, "ym"),
        M11: both(0, query_across, q1**2),
        M12: 1 + linear_part * both(2, products.key_query - q1 * k1, q1 * k1),
        M22: -(linear_part**2) * g * both(1, key_across, k1**2),
        A: A0 - (v1**2 * M22 - 2 * v1 * v2 * M12 + v2**2 * M11) / (M11 * M22 - M12**2),
        "error": -(gamma**2) * Total(A, gamma),
        "A": A,
        "A0": A0,
        "v1": v1,
        "v2": v2,
        "M11": M11,
        "M12": M12,
        "M22": M22,
    }
