"""Where the theory has a simpler form: no linear part, and the limits of its parameters."""

from sympy import Abs, Eq, Integer, Rational, sqrt

from theorem_engine import (
    ABSENT,
    NONNEGATIVE,
    POSITIVE,
    Alternatives,
    Expression,
    Interval,
    Output,
    Source,
    Start,
    Total,
    corollary,
    given,
)
from theorem_engine.base.errors import OutOfDomain
from theorem_engine.registry.liao2026.finite_size import FAR, STIFF_FIXED
from theorem_engine.registry.liao2026.model import ASSUMED, LIMIT, MODEL
from theorem_engine.registry.liao2026.moments import moments_of
from theorem_engine.registry.liao2026.notation import (
    WORK,
    a1,
    alpha,
    b2,
    delta,
    e,
    eta,
    eta0,
    g,
    gamma,
    kap,
    lam,
    s,
    second_moment,
    theta,
    var,
)
from theorem_engine.registry.liao2026.resolvent import ERROR
from theorem_engine.registry.liao2026.spectrum import mean, mm, pp, ym, yy

even = var("nonlinearity", "f", "even entry-wise nonlinearity, centred", Expression(("cos",)), default=ABSENT)
v = var("v", "v", "1/t - 1", POSITIVE)
t = var("t", "t", "root of the cubic, as a share of its largest value", Interval(0, 1))
optional_gamma = var(
    "gamma", r"\gamma", "ridge penalty over n, for c -> oo only", POSITIVE, default=ABSENT, typical=(0.001, 100)
)


def even_moment(m):
    """The second moment of a nonlinearity without linear part."""
    data = moments_of(m.nonlinearity)
    if data.a1 != 0:
        raise OutOfDomain(
            f"nonlinearity={str(m.nonlinearity)[:60]} is not known to have E[xi f(xi)] = 0; use null-error"
        )
    return {second_moment: data.second_moment}


EVEN = MODEL.only("ratio").also(
    moments=Alternatives(given(second_moment), given(even, defines=even_moment), to=[second_moment])
)


def start_of_root(m):
    """Where the cubic's root lies for a large penalty."""
    if not m.second_moment:
        return {}
    scaled = m.gamma / m.second_moment
    return {v: Start(scaled / lam if m.when(m.c < 1) else scaled + sqrt(scaled), positive=True)}


@corollary(
    "liao2026.zero-a1-error",
    title="Interpolation error of attention without linear part",
    source=Source(WORK, "Theorem 1 at a1 = 0", version="v2", guessed=True),
    model=EVEN,
    given=(gamma,),
    outputs={
        "error": ERROR,
        "alpha": Output("limit of tr Q/n", POSITIVE),
        "delta": Output("limit of (tr S - c tr(S K Q K S))/n", POSITIVE),
    },
    zeros=(second_moment,),
    recipe=start_of_root,
    assumes=(*ASSUMED, "E[xi f(xi)] = 0, and the kernel's diagonal is zero"),
    regime=LIMIT,
    warns=(STIFF_FIXED,),
    checks=("liao2026.attention_error", "liao2026_matrices.noise_traces"),
    marks="DVN",
    notes=(
        "Without linear part neither the signal nor the weights are seen: cos attention is flat in |mu|^2.",
        "u in (-1, 0) solves gamma/nu = -(1 + l u)(l + u)^2/(l u) with l = sqrt(n/p); delta = (1 + l u)(1 + u/l), "
        "alpha = 1/(gamma + nu delta). Here u = -t min(l, 1/l) and v = 1/t - 1, so that nothing cancels at either end.",
    ),
)
def zero_a1_error(m):
    """The error where f has no linear part: one root of a cubic, whatever the signal and the weights."""
    if not m.second_moment:
        return {"error": Integer(1), "alpha": 1 / m.gamma, "delta": Integer(1)}
    has_more_tokens = m.when(m.c < 1)
    scaled = m.gamma / m.second_moment
    small = 1 / lam if has_more_tokens else lam
    return {
        lam: 1 / m.c,
        v: scaled * lam / (lam - t) ** 2 if has_more_tokens else sqrt(scaled * (1 + v) ** 2 / (1 + v - lam)),
        t: 1 / (1 + v),
        delta: v / (1 + v) * (1 - small * t),
        alpha: 1 / (m.gamma + m.second_moment * delta),
        "error": m.gamma**2 * alpha**2 * (1 + m.second_moment * Total(delta, m.gamma)),
        "alpha": alpha,
        "delta": delta,
    }


def near_the_floor(m, noise):
    """The solution close to the limit gamma -> 0 is a safe start."""
    near = Rational(1, 10**4)
    return {g: Start(noise.g.at(m, gamma=near) / near, positive=True), eta: Start(noise.eta.at(m, gamma=near))}


@corollary(
    "liao2026.limits",
    title="Limits of the interpolation error in gamma and in c",
    source=Source(WORK, "Theorem 1, limits", version="v2", guessed=True),
    model=MODEL,
    given=(optional_gamma,),
    outputs={
        "M1": Output("slope: error = 1 - 2 M1/gamma + O(gamma^-2) as gamma -> oo", NONNEGATIVE),
        "floor": Output("error as gamma -> 0; needs c < 1, b > 0, and w_Q parallel to mu or zero", Interval(0, 1)),
        "wide": Output("error as c -> oo, at fixed gamma; needs gamma", Interval(0, 1)),
    },
    needs={"noise": "liao2026.noise-resolvent"},
    zeros=(a1, b2),
    recipe=near_the_floor,
    assumes=ASSUMED,
    regime=LIMIT,
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
)
def limits(m, *, noise):
    """What is left of the error at the ends of gamma and c, in closed form or from two scalars.

    As gamma -> 0 with c < 1, g = g0 gamma and e = e0/gamma with e0 = b^2 (1 - c); (g0, eta) solve
    g0 (1 - b^2 <1/den>) = 1 and eta = eta0 - b^2 <B/den>, den = g0 e0 + B^2, the means
    over the spectrum without its atom at zero.
    """
    k1, q1 = m.key_along, m.query_along

    def key_mean(body):
        return (m.key_norm2 - k1**2) * pp(body) + k1**2 * mm(body)

    signal = yy(s * (s - 1) ** 2) + 2 * theta * q1 * k1 * ym(s * (s - 1)) + theta**2 * q1**2 * key_mean(s)
    quantities = {
        lam: 1 / m.c,
        kap: m.a1 / sqrt(lam),
        theta: sqrt(m.snr * lam),
        "M1": m.b2 + kap**2 * signal,
    }
    wide = {"wide": "needs gamma" if m.gamma is None else 1 / sqrt(1 + 4 * (m.b2 + m.a1**2) / m.gamma)}
    if not m.when(m.c < 1):
        return {**quantities, "floor": "refused: it needs c < 1", **wide}
    if not m.b2:
        return {**quantities, "floor": "refused: it needs a nonlinear part, b > 0", **wide}
    # up to rounding of both
    if not m.when(Eq(m.snr, 0)) and not m.when(Abs(q1**2 - m.query_norm2) <= Rational(1, 10**12) * m.query_norm2):
        return {**quantities, "floor": "refused: it needs w_Q parallel to mu, or zero", **wide}
    atom = 1 - 1 / lam
    if not m.a1:
        return {**quantities, "floor": atom, **wide}
    line = kap * s + eta
    den = g * e + line**2

    def without_atom(body):
        return mean("n", body) - atom * body.subs(s, 0)

    overlap = theta / (theta**2 + lam)
    share = e * mm(1 / den)
    bent = (1 + kap * q1 * k1 * mm(line / den)) ** 2 + kap**2 * q1**2 * g * share * key_mean(1 / den)
    return {
        **quantities,
        eta0: -kap,
        e: m.b2 * atom,
        g: 1 + m.b2 * g * without_atom(1 / den),
        eta: eta0 - m.b2 * without_atom(line / den),
        "floor": atom / (1 + m.snr) + overlap**2 * share / bent,
        **wide,
    }
