"""The resolvent of attention on pure noise: a self-consistent system of three scalars."""

from sympy import Abs, Integer, Max, sqrt

from theorem_engine import (
    NONNEGATIVE,
    POSITIVE,
    Interval,
    MarchenkoPastur,
    Output,
    Source,
    SpectralMean,
    Total,
    Unknown,
    corollary,
    limit,
    proposition,
)
from theorem_engine.registry.liao2026.finite_size import STIFF
from theorem_engine.registry.liao2026.notation import (
    CUBIC,
    I0,
    I1,
    I2,
    MOMENT_RULES,
    MOMENTS,
    RATIO,
    RATIO_RULE,
    VARIANCE,
    WORK,
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
from theorem_engine.registry.liao2026.setting import (
    CORRECTION,
    LIMIT,
    MODEL,
    MOMENT_CASES,
    NO_DIAGONAL,
    columns_over_rows,
    read_moments,
)

ERROR = Output("limit of the interpolation error |y - K^T X^T w|^2/n", Interval(0, 1))
SCALARS = {"alpha": alpha, "beta": beta, "delta": delta, "g": g, "e": e, "eta": eta}


def integrands(g, e, kap, eta):
    """The three functions of the spectrum that everything is a mean of: (1 + e s)/P, s/P and s B/P."""
    line = kap * s + eta
    cubic = g * (1 + e * s) + s * line**2
    return (1 + e * s) / cubic, s / cubic, s * line / cubic


@proposition(
    "liao2026.noise-resolvent",
    title="Resolvent of attention on pure noise",
    source=Source(WORK, "Proposition 1", version="v2"),
    given=(*RATIO, gamma, *MOMENTS, diagonal),
    outputs={
        "alpha": Output("limit of tr Q/n", POSITIVE),
        "beta": "minus sqrt(c) times the limit of tr(Q K S)/n",
        "delta": Output("limit of (tr S - c tr(S K Q K S))/n", NONNEGATIVE),
        "g": Output("effective penalty gamma + b^2 delta", POSITIVE),
        "e": "b^2 alpha",
        "eta": "eta0 + b^2 beta",
        **{f"d_{name}": f"derivative of {name} in gamma" for name in SCALARS},
    },
    given_rules=(RATIO_RULE, *MOMENT_RULES),
    requires=(CUBIC, VARIANCE),
    cases={**MOMENT_CASES, **NO_DIAGONAL},
    assumes=MODEL,
    regime=limit(LIMIT, CORRECTION),
    warns=(STIFF,),
    checks=("liao2026_matrices.noise_traces",),
    marks="DVG",
    notes=(
        "Q = (K^T X^T X K/n + gamma)^(-1), S = X^T X/p. Linearise gamma + c K S K as a Schur complement; averaging the "
        "Gaussian part W of K gives the Dyson equation of a 2 x 2 matrix in each eigenvalue s of S. Its map sends "
        "matrices of positive real part strictly into themselves, so exactly one solution has g > 0 and e >= 0.",
        "The paper's own form need not be this one; the content is the same.",
        "Q is equivalent to alpha I in deterministic directions, and given X to (g + B^T phi(S) B)^(-1) with "
        "phi(s) = s/(1 + e s), B = kap (S - I + X^T w_K w_Q^T X/p) + b^2 beta.",
        "Without nonlinear part (b = 0): g = gamma, e = 0, eta = eta0, no fixed point. With a1 = 0 and no "
        "diagonal: eta = 0.",
        "g alpha plus the mean of s B^2/P is one.",
    ),
)
def noise_resolvent(
    c, p, n, gamma, nonlinearity, level, r, a1, second_moment, diagonal, *, is_even, is_linear, has_no_diagonal
):
    """Limits of the traces of Q on pure noise, from three scalars that solve their own equations.

    P(s) = g (1 + e s) + s B(s)^2 with B(s) = kap s + eta; alpha, delta and -beta are means of (1 + e s)/P, g s/P
    and s B/P over the Marchenko-Pastur law of ratio n/p.
    """
    moments = read_moments(nonlinearity, level, r, a1, second_moment, is_even, is_linear)
    linear_part = Integer(0) if moments.is_even else kap
    constant = Integer(0) if moments.is_even and has_no_diagonal else eta
    law = MarchenkoPastur(lam)
    trace_part = Integer(0) if moments.is_linear else e
    means = [SpectralMean(body, s, law) for body in integrands(g, trace_part, linear_part, constant)]
    # rounding may push the variance of a nearly linear f below zero
    equations = {
        lam: columns_over_rows(c, p, n),
        penalty: gamma,
        kap: moments.a1 / sqrt(lam),
        b2: (moments.rest + Abs(moments.rest)) / 2 if nonlinearity is None else moments.rest,
        eta0: -(moments.a1 - diagonal) / sqrt(lam),
        I0: means[0],
        I1: means[1],
        I2: means[2],
    }
    if moments.is_linear:
        group = {g: penalty, e: Integer(0), eta: eta0}
    else:
        # without linear part alpha = 1/g is at least each of these two, by the atom at zero and by Jensen's inequality;
        # their sum has the right power of gamma at every c, so that Newton's method needs a few steps only
        start = (Max(0, 1 - 1 / lam) + 2 / (1 + sqrt(1 + 4 * b2 / penalty))) / penalty
        group = {
            g: Unknown(penalty + b2 * g * I1, 1 / start, positive=True, along=penalty),
            e: Unknown(b2 * I0, b2 * start, positive=True),
            eta: Integer(0) if constant == 0 else Unknown(eta0 - b2 * I2, eta0),
        }
    return {
        **equations,
        **group,
        alpha: I0,
        beta: -I2,
        delta: g * I1,
        **SCALARS,
        **{f"d_{name}": Total(symbol, gamma) for name, symbol in SCALARS.items()},
    }


@corollary(
    "liao2026.null-error",
    title="Interpolation error of attention on pure noise",
    source=Source(WORK, "Theorem 1 at mu = 0", version="v2", guessed=True),
    given=(*RATIO, gamma, *MOMENTS, diagonal),
    outputs={"error": ERROR},
    needs={"resolvent": "liao2026.noise-resolvent"},
    given_rules=(RATIO_RULE, *MOMENT_RULES),
    requires=(CUBIC, VARIANCE),
    cases={**MOMENT_CASES, **NO_DIAGONAL},
    assumes=MODEL,
    regime=limit(LIMIT, CORRECTION),
    warns=(STIFF,),
    checks=("liao2026.attention_error",),
    marks="DV",
    notes=(
        "Attention is not always worse than ridge on noise: for tanh at c = 0.25 it is better from gamma about 1 on.",
    ),
)
def null_error(
    c,
    p,
    n,
    gamma,
    nonlinearity,
    level,
    r,
    a1,
    second_moment,
    diagonal,
    *,
    resolvent,
    is_even,
    is_linear,
    has_no_diagonal,
):
    """What attention leaves of labels that have nothing to do with the tokens: -gamma^2 d alpha/d gamma."""
    trace = resolvent(
        c=c, p=p, n=n, gamma=gamma, nonlinearity=nonlinearity, level=level, r=r, a1=a1, second_moment=second_moment,
        diagonal=diagonal, is_even=is_even, is_linear=is_linear, has_no_diagonal=has_no_diagonal,
    )  # fmt: skip
    return {alpha: trace, "error": -(gamma**2) * Total(alpha, gamma)}
