"""The resolvent of attention on pure noise: a self-consistent system of three scalars."""

from sympy import Max, sqrt

from theorem_engine import (
    NONNEGATIVE,
    POSITIVE,
    Interval,
    MarchenkoPastur,
    Output,
    Source,
    SpectralMean,
    Start,
    Total,
    corollary,
    proposition,
)
from theorem_engine.registry.liao2026.finite_size import STIFF
from theorem_engine.registry.liao2026.model import ASSUMED, LIMIT, MODEL
from theorem_engine.registry.liao2026.notation import (
    I0,
    I1,
    I2,
    WORK,
    a1,
    alpha,
    b2,
    beta,
    delta,
    diagonal,
    e,
    eta,
    eta0,
    g,
    gamma,
    kap,
    lam,
    penalty,
    s,
)

ERROR = Output("limit of the interpolation error |y - K^T X^T w|^2/n", Interval(0, 1))
NOTES = (
    "Q = (K^T X^T X K/n + gamma)^(-1), S = X^T X/p. Linearise gamma + c K S K as a Schur complement; averaging the "
    "Gaussian part W of K gives the Dyson equation of a 2 x 2 matrix in each eigenvalue s of S. Its map sends "
    "matrices of positive real part strictly into themselves, so exactly one solution has g > 0 and e >= 0.",
    "The paper's own form need not be this one; the content is the same.",
    "Q is equivalent to alpha I in deterministic directions, and given X to (g + B^T phi(S) B)^(-1) with "
    "phi(s) = s/(1 + e s), B = kap (S - I + X^T w_K w_Q^T X/p) + b^2 beta.",
    "Without nonlinear part (b = 0): g = gamma, e = 0, eta = eta0, no fixed point. With a1 = 0 and no "
    "diagonal: eta = 0.",
    "g alpha plus the mean of s B^2/P is one.",
)


def integrands(m):
    """The three functions of the spectrum that everything is a mean of: (1 + e s)/P, s/P and s B/P.

    Terms that vanish are left out, because the degree of P decides how means are found.
    """
    rise, line = 1 + (m.b2 and e) * s, (m.a1 and kap) * s + ((m.a1 or m.diagonal) and eta)
    cubic = g * rise + s * line**2
    return rise / cubic, s / cubic, s * line / cubic


def starts(m):
    """Without linear part alpha = 1/g is at least each of two terms, by the atom at zero and by Jensen's inequality.

    Their sum has the right power of gamma at every c, so that Newton's method needs a few steps only.
    """
    near = (Max(0, 1 - 1 / lam) + 2 / (1 + sqrt(1 + 4 * m.b2 / penalty))) / penalty
    return {
        g: Start(1 / near, positive=True, along=penalty),
        e: Start(m.b2 * near, positive=True),
        eta: Start(eta0),
    }


@proposition(
    "liao2026.noise-resolvent",
    title="Resolvent of attention on pure noise",
    source=Source(WORK, "Proposition 1", version="v2"),
    model=MODEL.only("ratio", "moments"),
    given=(gamma, diagonal),
    outputs={
        "alpha": Output("limit of tr Q/n", POSITIVE),
        "beta": "minus sqrt(c) times the limit of tr(Q K S)/n",
        "delta": Output("limit of (tr S - c tr(S K Q K S))/n", NONNEGATIVE),
        "g": Output("effective penalty gamma + b^2 delta", POSITIVE),
        "e": "b^2 alpha",
        "eta": "eta0 + b^2 beta",
        **{f"d_{name}": f"derivative of {name} in gamma" for name in ("alpha", "beta", "delta", "g", "e", "eta")},
    },
    zeros=(a1, b2, diagonal),
    recipe=starts,
    assumes=ASSUMED,
    regime=LIMIT,
    warns=(STIFF,),
    checks=("liao2026_matrices.noise_traces",),
    marks="DVG",
    aliases=("liao2026.definition-4",),
    notes=(
        *NOTES,
        "Definition 4, deterministic equivalent: a matrix M with u^T (Q - M) v -> 0 and tr B (Q - M)/n -> 0 for all "
        "u, v and B of bounded norm that do not depend on the noise.",
    ),
)
def noise_resolvent(m):
    """Limits of the traces of Q on pure noise, from three scalars that solve their own equations.

    P(s) = g (1 + e s) + s B(s)^2 with B(s) = kap s + eta; alpha, delta and -beta are means of (1 + e s)/P, g s/P
    and s B/P over the Marchenko-Pastur law of ratio n/p.
    """
    means = [SpectralMean(body, s, MarchenkoPastur(lam)) for body in integrands(m)]
    return {
        lam: 1 / m.c,
        penalty: m.gamma,
        kap: m.a1 / sqrt(lam),
        eta0: (m.diagonal - m.a1) / sqrt(lam),
        **dict(zip((I0, I1, I2), means, strict=True)),
        g: penalty + m.b2 * g * I1,
        e: m.b2 * I0,
        eta: eta0 - m.b2 * I2 if m.a1 or m.diagonal else 0,
        alpha: I0,
        beta: -I2,
        delta: g * I1,
        **{x.name: x for x in (alpha, beta, delta, g, e, eta)},
        **{f"d_{x.name}": Total(x, m.gamma) for x in (alpha, beta, delta, g, e, eta)},
    }


@corollary(
    "liao2026.null-error",
    title="Interpolation error of attention on pure noise",
    source=Source(WORK, "Theorem 1 at mu = 0", version="v2", guessed=True),
    model=MODEL.only("ratio", "moments"),
    given=(gamma, diagonal),
    outputs={"error": ERROR},
    needs={"noise": "liao2026.noise-resolvent"},
    assumes=ASSUMED,
    regime=LIMIT,
    warns=(STIFF,),
    checks=("liao2026.attention_error",),
    marks="DV",
    notes=(
        "Attention is not always worse than ridge on noise: for tanh at c = 0.25 it is better from gamma about 1 on.",
    ),
)
def null_error(m, *, noise):
    """What attention leaves of labels that have nothing to do with the tokens: -gamma^2 d alpha/d gamma."""
    return {alpha: noise.at(m), "error": -(m.gamma**2) * Total(alpha, m.gamma)}
