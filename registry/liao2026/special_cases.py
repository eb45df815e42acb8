"""Where the theory has a simpler form: no linear part, and the limits of its parameters."""

from sympy import Eq, Expr, Integer, Lt, Rational, sqrt

from theorem_engine import (
    ABSENT,
    NONNEGATIVE,
    POSITIVE,
    Expression,
    Interval,
    MarchenkoPastur,
    OneOf,
    Output,
    Source,
    SpectralMean,
    Total,
    Unknown,
    corollary,
    limit,
)
from theorem_engine.errors import OutOfDomain
from theorem_engine.registry.liao2026.finite_size import FAR, STIFF_FIXED
from theorem_engine.registry.liao2026.hermite import moments_of
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
    alpha,
    b2,
    c,
    delta,
    e,
    eta,
    eta0,
    g,
    gamma,
    k1,
    kap,
    lam,
    mu_query,
    n,
    p,
    q1,
    query_norm2,
    s,
    second_moment,
    theta,
    var,
)
from theorem_engine.registry.liao2026.resolvent import ERROR
from theorem_engine.registry.liao2026.setting import (
    CORRECTION,
    LIMIT,
    MODEL,
    MOMENT_CASES,
    NO_SIGNAL,
    columns_over_rows,
    is_parallel,
    read_moments,
    read_products,
)

even = var("nonlinearity", "f", "even entry-wise nonlinearity, centred", Expression(("cos",)), default=ABSENT)
v = var("v", "v", "1/t - 1", POSITIVE)
t = var("t", "t", "root of the cubic, as a share of its largest value", Interval(0, 1))

#: More tokens than dimensions, from c or from the sizes.
TALL = {"has_more_tokens": Lt(c, 1), "has_more_tokens_by_sizes": Lt(p, n)}


@corollary(
    "liao2026.zero-a1-error",
    title="Interpolation error of attention without linear part",
    source=Source(WORK, "Theorem 1 at a1 = 0", version="v2", guessed=True),
    given=(*RATIO, gamma, even, second_moment),
    outputs={
        "error": ERROR,
        "alpha": Output("limit of tr Q/n", POSITIVE),
        "delta": Output("limit of (tr S - c tr(S K Q K S))/n", POSITIVE),
    },
    given_rules=(RATIO_RULE, OneOf((("second_moment",), ("nonlinearity",)))),
    cases={**TALL, "is_zero": Eq(second_moment, 0)},
    assumes=(*MODEL, "E[xi f(xi)] = 0, and the kernel's diagonal is zero"),
    regime=limit(LIMIT, CORRECTION),
    warns=(STIFF_FIXED,),
    checks=("liao2026.attention_error",),
    marks="DVN",
    notes=(
        "Without linear part neither the signal nor the weights are seen: cos attention is flat in |mu|^2.",
        "u in (-1, 0) solves gamma/nu = -(1 + l u)(l + u)^2/(l u) with l = sqrt(n/p); delta = (1 + l u)(1 + u/l), "
        "alpha = 1/(gamma + nu delta). Here u = -t min(l, 1/l) and v = 1/t - 1, so that nothing cancels at either end.",
    ),
)
def zero_a1_error(c, p, n, gamma, nonlinearity, second_moment, *, has_more_tokens, has_more_tokens_by_sizes, is_zero):
    """The error where f has no linear part: one root of a cubic, whatever the signal and the weights."""
    if isinstance(nonlinearity, Expr):
        data = moments_of(nonlinearity)
        if data.a1 != 0:
            raise OutOfDomain(
                f"liao2026.zero-a1-error: nonlinearity={str(nonlinearity)[:60]} is not known to have E[xi f(xi)] = 0; "
                "use null-error"
            )
        moment = data.second_moment
    else:
        moment = second_moment if nonlinearity is None else moments_of(nonlinearity).second_moment
    if is_zero or moment == 0:
        return {"error": Integer(1), "alpha": 1 / gamma, "delta": Integer(1)}
    scaled = gamma / moment
    if has_more_tokens or has_more_tokens_by_sizes:
        root = Unknown(scaled * lam / (lam - t) ** 2, scaled / lam, positive=True)
        small = 1 / lam
    else:
        root = Unknown(sqrt(scaled * (1 + v) ** 2 / (1 + v - lam)), scaled + sqrt(scaled), positive=True)
        small = lam
    return {
        lam: columns_over_rows(c, p, n),
        v: root,
        t: 1 / (1 + v),
        delta: v / (1 + v) * (1 - small * t),
        alpha: 1 / (gamma + moment * delta),
        "error": gamma**2 * alpha**2 * (1 + moment * Total(delta, gamma)),
        "alpha": alpha,
        "delta": delta,
    }


@corollary(
    "liao2026.limits",
    title="Limits of the interpolation error in gamma and in c",
    source=Source(WORK, "Theorem 1, limits", version="v2", guessed=True),
    given=(*RATIO, *MOMENTS, *SIGNAL, optional_gamma := var(
        "gamma", r"\gamma", "ridge penalty over n, for c -> oo only", POSITIVE, default=ABSENT, typical=(0.001, 100)
    )),
    outputs={
        "M1": Output("slope: error = 1 - 2 M1/gamma + O(gamma^-2) as gamma -> oo", NONNEGATIVE),
        "floor": Output("error as gamma -> 0; needs c < 1, b > 0, and w_Q parallel to mu or zero", Interval(0, 1)),
        "wide": Output("error as c -> oo, at fixed gamma; needs gamma", Interval(0, 1)),
    },
    needs={"resolvent": "liao2026.noise-resolvent"},
    given_rules=(RATIO_RULE, *MOMENT_RULES, WEIGHTS_RULE),
    requires=(GRAM, CUBIC, VARIANCE),
    cases={
        **MOMENT_CASES, **NO_SIGNAL, **TALL, "is_query_parallel": is_parallel(mu_query, query_norm2),
    },
    assumes=MODEL,
    regime=limit(LIMIT, CORRECTION),
    warns=(FAR, STIFF_FIXED),
    checks=("liao2026.error_limits",),
    marks="DVN",
    notes=(
        "Without signal M1 = nu + a1^2/c (ridge: c) and the floor is 1 - c; at c >= 1 the null error vanishes like "
        "gamma^(1/3) (c = 1, b > 0), gamma^(1/2) (c = 1, b = 0) or sqrt(gamma) (c > 1).",
        "b = 0, c < 1: the excess over 1 - c falls like sqrt(gamma) for c > 1/4, gamma^(3/4) at 1/4, gamma^2 below.",
        "With signal the floor lies strictly above that of ridge, (1 - c)/(1 + |mu|^2); the gap closes as "
        "alignment grows.",
        "As c -> oo only the second moment is left, the signal drops out too; as c -> 0 the error is "
        "(1 - c)/(1 + |mu|^2).",
        "Where the floor is not known in this form the output says so in words.",
    ),
)  # fmt: skip
def limits(
    c, p, n, nonlinearity, level, r, a1, second_moment, snr, key_norm2, query_norm2, mu_key, mu_query, key_query,
    weights, gamma, *, resolvent, is_even, is_linear, has_no_signal, has_more_tokens, has_more_tokens_by_sizes,
    is_query_parallel,
):  # fmt: skip
    """What is left of the error at the ends of gamma and c, in closed form or from two scalars.

    As gamma -> 0 with c < 1, g = g0 gamma and e = e0/gamma with e0 = b^2 (1 - c); (g0, eta) solve
    g0 (1 - b^2 <1/den>) = 1 and eta = eta0 - b^2 <B/den>, den = g0 e0 + B^2, the means
    over the spectrum without its atom at zero.
    """
    moments = read_moments(nonlinearity, level, r, a1, second_moment, is_even, is_linear)
    products = read_products(snr, key_norm2, query_norm2, mu_key, mu_query, key_query, weights, has_no_signal)
    if weights is not None:
        is_query_parallel = weights != "orthogonal"

    def mean(body, form):
        return SpectralMean(body, s, MarchenkoPastur(lam, theta, form))

    def key_mean(body):
        return (products.key_norm2 - k1**2) * mean(body, "pp") + k1**2 * mean(body, "mm")

    quantities = {
        lam: columns_over_rows(c, p, n),
        kap: moments.a1 / sqrt(lam),
        b2: moments.rest,
        theta: sqrt(snr * lam),
        k1: products.key_along,
        q1: products.query_along,
    }
    signal = (
        mean(s * (s - 1) ** 2, "yy") + 2 * theta * q1 * k1 * mean(s * (s - 1), "ym") + theta**2 * q1**2 * key_mean(s)
    )
    wide = "needs gamma" if gamma is None else 1 / sqrt(1 + 4 * moments.second_moment / gamma)

    def outputs(floor):
        return {"M1": b2 + kap**2 * signal, "floor": floor, "wide": wide}

    if not (has_more_tokens or has_more_tokens_by_sizes):
        return {**quantities, **outputs("refused: it needs c < 1")}
    if moments.is_linear:
        return {**quantities, **outputs("refused: it needs a nonlinear part, b > 0")}
    if not (is_query_parallel or has_no_signal):
        return {**quantities, **outputs("refused: it needs w_Q parallel to mu, or zero")}
    if moments.is_even:
        return {**quantities, **outputs(1 - 1 / lam)}
    line = kap * s + eta
    den = g * e + line**2
    atom = 1 - 1 / lam

    def without_atom(body):
        return mean(body, "n") - atom * body.subs(s, 0)

    # the solution close to the limit is a safe start
    near = Rational(1, 10**4)
    start = {
        name: getattr(resolvent, name)(
            c=c, p=p, n=n, gamma=near, nonlinearity=nonlinearity, level=level, r=r, a1=a1, second_moment=second_moment
        )
        for name in ("g", "eta")
    }
    overlap = theta / (theta**2 + lam)
    share = e * mean(1 / den, "mm")
    bent = (1 + kap * q1 * k1 * mean(line / den, "mm")) ** 2 + kap**2 * q1**2 * g * share * key_mean(1 / den)
    return {
        **quantities,
        eta0: -kap,
        e: b2 * atom,
        g: Unknown(1 + b2 * g * without_atom(1 / den), start["g"] / near, positive=True),
        eta: Unknown(eta0 - b2 * without_atom(line / den), start["eta"]),
        **outputs(atom / (1 + snr) + overlap**2 * share / bent),
    }
