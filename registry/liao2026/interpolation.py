"""Interpolation error of nonlinear attention on signal plus noise."""

from sympy import Matrix, sqrt

from theorem_engine import Source, Total, theorem
from theorem_engine.registry.liao2026.finite_size import FAR, STIFF
from theorem_engine.registry.liao2026.model import ASSUMED, LIMIT, TRAINED
from theorem_engine.registry.liao2026.notation import (
    A0,
    M11,
    M12,
    M22,
    WORK,
    A,
    a1,
    b2,
    diagonal,
    e,
    eta,
    g,
    gamma,
    kap,
    lam,
    theta,
    v1,
    v2,
)
from theorem_engine.registry.liao2026.resolvent import ERROR, integrands
from theorem_engine.registry.liao2026.spectrum import mm, pp, ym, yy

NOTES = (
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
)


@theorem(
    "liao2026.interpolation-error",
    title="Interpolation error of nonlinear attention",
    source=Source(WORK, "Theorem 1", version="v2"),
    model=TRAINED,
    given=(gamma, diagonal),
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
    needs={"noise": "liao2026.noise-resolvent"},
    zeros=(a1, b2, diagonal),
    assumes=ASSUMED,
    regime=LIMIT,
    warns=(FAR, STIFF),
    checks=("liao2026.attention_error", "liao2026_forms.weight_forms"),
    marks="DV",
    notes=NOTES,
)
def interpolation_error(m, *, noise):
    """Training error of ridge regression of the labels on attention features, for any directions of the weights.

    The error is -gamma^2 dA/dgamma with A = A0 - v^T M^(-1) v. The scalars g, e, eta are those of pure noise; the
    signal enters through means over the spiked spectrum, the weights through the 2 x 2 matrix M.
    """
    F0, F1, F2 = integrands(m)
    k1, q1, slope = m.key_along, m.query_along, m.a1 and kap

    def form(body, product, along):
        return (product - along) * pp(body) + along * mm(body)

    v, M = Matrix([v1, v2]), Matrix([[M11, M12], [M12, M22]])
    return {
        lam: 1 / m.c,
        kap: m.a1 / sqrt(lam),
        theta: sqrt(m.snr * lam),
        **{x: getattr(noise, x.name).at(m) for x in (g, e, eta)},
        A0: yy(F0),
        v1: q1 * ym(F0),
        v2: slope * k1 * ym(F2),
        M11: form(F0, m.query_norm2, q1**2),
        M12: 1 + slope * form(F2, m.key_query, q1 * k1),
        M22: -(slope**2) * g * form(F1, m.key_norm2, k1**2),
        A: A0 - (v.T * M.adjugate() * v)[0] / M.det(),
        "error": -(m.gamma**2) * Total(A, m.gamma),
        **{x.name: x for x in (A, A0, v1, v2, M11, M12, M22)},
    }
