"""Minimal population risk of every activation, with its minimiser."""

from sympy import Abs, Eq, Gt, Integer, Or, Piecewise, Rational, false, oo, sqrt, true

from theorem_engine import REAL, ElementWise, LengthMean, Minimum, Normalised, OnlyWith, Output, Source, proposition
from theorem_engine.registry.duranthon2026.closed_forms import MINIMISER
from theorem_engine.registry.duranthon2026.notation import (
    IS_ARGMAX,
    MODEL,
    ON_MANIFOLD,
    RISK,
    L,
    Q,
    S,
    activation,
    c,
    chi,
    delta,
    m,
    nu,
    p,
    reached,
    shift,
    sigma,
    task,
)
from theorem_engine.registry.duranthon2026.weights import (
    Shifted,
    hidden_score,
    meaning,
    moments,
    pair_tokens,
    refuse_infinite_spike,
    score_tokens,
)

CASES = {"is_argmax": IS_ARGMAX, "has_no_signal": Eq(nu, 0), "has_one_token": Eq(L, 1)}
ATTAINED = Output("whether the minimum is attained at finite overlaps")
#: Slopes, over one plus the signal's, beyond which the weights have reached their limit as far as it matters.
FARTHEST = 3000
SHIFT = Output("minimising shift of erf; 0 for other activations", REAL)
OUTPUTS = {"risk": RISK, **MINIMISER, "shift": SHIFT, "attained": ATTAINED}


@proposition(
    "duranthon2026.minimal-risk",
    title="Minimal population risk of an activation",
    source=Source("2509.21936", "Proposition 4.3", guessed=True),
    given=(task, nu, L, activation, shift, delta),
    given_rules=(OnlyWith("shift", "activation", ("erf",), required=False),),
    outputs=OUTPUTS,
    assumes=(*MODEL, ON_MANIFOLD, "k is a multiple of k* and v of v*"),
    needs={
        "bayes": "duranthon2026.bayes-risk",
        "bound": "duranthon2026.element-wise-bound",
        "linear": "duranthon2026.linear-risk",
        "miss": "gaussian.erf-miss",
    },
    cases=CASES,
    checks=("duranthon2026.best_attention",),
    marks="DVG",
    notes=(
        "The best v gives 1 - S^2/Q with m_vv = S/Q; for random L both are averaged before the ratio.",
        "Minimisers of erf and softplus are flat: the risk is known to about twice as many digits as they are.",
        "Max task at nu = oo: softmax and normalised softplus reach their infimum only as m_kk -> oo.",
        "Softplus in the spiked task has its minimiser far out: m_kk = 5.7, 8.7, 42.8 at nu = 5, L = 2, 10, 100.",
    ),
)
def minimal_risk(
    task, nu, L, activation, shift, delta, *, bayes, bound, linear, miss, is_argmax, has_no_signal, has_one_token
):
    """Smallest risk over k and v, on the manifold, at R_kk = 0.

    Softmax attains the Bayes risk at m_kk = c_nu, linear weights have closed forms; the others are
    minimised over the slope m of the scores, erf over its shift too unless it is given.
    """
    refuse_infinite_spike(task, is_argmax)
    named = {"task": task, "is_argmax": is_argmax}
    slope = sqrt(nu) if task == "spiked" else nu
    if activation == "softmax":
        return _found(bayes(nu, L, delta, **named), slope, 1, attained=false if is_argmax else true)
    if activation == "element-wise-optimal":
        return _found(bound(nu, L, delta, **named), 1, 1)
    if activation == "linear":
        here = (nu, L, delta)
        return _found(linear(*here, **named), linear.m_kk(*here, **named), linear.m_vv(*here, **named))
    if activation == "centred-linear":
        return _centred(task, delta, is_argmax, has_one_token)
    chosen = meaning(activation, task, is_argmax, shift)
    if activation == "relu":
        # a homogeneous kernel: the weights do not depend on the scale of k
        found = moments(task, activation, is_argmax, Integer(1))
        return {**found.definitions, **_found(delta**2 + found.risk, 1, S / Q)}
    if (has_no_signal or has_one_token) and _has_equal_weights(chosen, has_one_token):
        return _without_signal(chosen, delta, 0 if shift is None else shift)
    if is_argmax and activation == "softplus":
        return _hard_softplus(delta)
    if is_argmax and activation == "softmax-plus-one":
        return _hard_plus_one(delta)
    if isinstance(chosen, Shifted) and shift is None:
        return _searched_with_shift(task, delta, slope, is_argmax, miss)
    # without a signal the tasks are one
    here = moments("spiked" if has_no_signal else task, activation, is_argmax, m, 0, shift, miss)
    scale = Integer(1) if has_no_signal or is_argmax else slope
    return _searched(here, task, activation, chosen, scale, delta, 0 if shift is None else shift)


def _found(risk, m_kk, m_vv, shift=0, attained=true):
    return {"risk": risk, "m_kk": m_kk, "m_vv": m_vv, "shift": shift, "attained": attained}


def _centred(task, delta, is_argmax, has_one_token):
    """Weights 1/L + chi - mean chi: (A + b B)^2/(A + b^2 C) is largest at b = B/C, where it is A + B^2/C."""
    a, others = LengthMean(1 / L, L), LengthMean(L, L) - 1
    if has_one_token:
        return _found(delta**2, 0, 1)
    if task == "spiked":
        # 1 - A - B^2/C is a product here, which keeps its digits however strong the signal is
        b, c = sqrt(nu) * (1 - a), others + nu * (1 - a)
        risk = (1 - a) * others / c
    else:
        b, c = hidden_score(is_argmax), others
        risk = (1 - a) - b * Piecewise((0, others <= 0), (b / c, True))
    return _found(delta**2 + risk, Piecewise((0, others <= 0), (b / c, True)), 1)


def _has_equal_weights(chosen, has_one_token):
    """Whether scores of zero give equal weights, not zero, and none are better where nothing is to be attended to.

    With a constant in the sum of kernels the weights at zero scores depend on the length: others can be better if
    that is random.
    """
    if isinstance(chosen, Normalised):
        return not chosen.breaks and (chosen.extra == 0 or has_one_token)
    return isinstance(chosen, (Shifted, ElementWise)) and not chosen.breaks and chosen.at(0).is_zero is False


def _without_signal(chosen, delta, shift):
    """Nothing to attend to: equal weights are best, 1/L each if normalised."""
    if isinstance(chosen, Normalised):
        # a single token shares with the constant alone
        share = 1 + chosen.extra / chosen.kernel.xreplace({chi: Integer(0)})
        return _found(delta**2 + 1 - LengthMean(1 / L, L), 0, share)
    mean_length = LengthMean(L, L)
    return _found(delta**2 + 1 - 1 / mean_length, 0, 1 / (chosen.at(0) * mean_length), shift)


def _hard_softplus(delta):
    """m -> oo: softplus becomes its positive part; if all tokens are negative, the largest takes all."""
    chosen = meaning("relu", "max")
    alone = LengthMean(2 ** (-L), L)
    tokens = pair_tokens(chosen, True, 1, 0)
    return {
        S: tokens.mean(each=(p * sigma,)) + alone,
        Q: score_tokens("max", chosen, 1, 0).mean(each=(sigma**2,)) + alone,
        **_found(delta**2 + 1 - S**2 / Q, oo, S / Q, attained=false),
    }


def _hard_plus_one(delta):
    """m -> oo: the largest token takes all if its score is positive, and nothing is taken if none is."""
    missed = LengthMean(2 ** (-L), L)
    return _found(delta**2 + missed, oo, 1, attained=false)


def _searched_with_shift(task, delta, slope, is_argmax, miss):
    """Over the slope and the shift of erf.

    In the spiked task the best slope grows with the signal and the shift with its square; in the max task both stay
    of order one, since the argmax is learnt to the resolution of the erf at any nu.
    """
    scale = Integer(1) if is_argmax else slope
    found = moments(task, "erf", is_argmax, m, 0, c, miss)
    low = scale / (1 + scale) / 100
    wide = {m: (low, 3 + 3 * scale), c: (-14 - slope**2 / 3, 3)}
    best = Minimum(found.inline(found.risk), over=wide if task == "spiked" else {m: (low, 15), c: (-14, 3)}, scan=9)
    definitions = {c: best.at(c), m: best.at(m), **found.definitions}
    return {**definitions, **_found(delta**2 + best, m, S / Q, c)}


def _searched(found, task, activation, chosen, scale, delta, shift):
    """Over the slope of the scores, at every scale, and over its sign where that is not settled beforehand."""
    steep = isinstance(activation, str) and task == "max" and isinstance(chosen, Normalised)
    # softplus and the softmax with a constant are best at slopes like the signal's, bounded weights at lower ones
    unit = scale if activation in ("softplus", "softmax-plus-one") and task == "max" else scale / (1 + scale)
    best = Minimum(
        found.inline(found.risk),
        over={m: (0 if _prefers_positive(activation, chosen, task) else -oo, FARTHEST * (1 + scale) if steep else oo)},
        scan=2 if task == "max" and isinstance(chosen, Normalised) else 4,
        # two weights at once are dear: of the named ones it is known that their risk falls and then rises
        single_valley=steep,
        slopes=not chosen.breaks,
        unit=unit,
    )
    attained = Gt(reached, Rational(1, 2))
    # where the infimum is a limit, scores vanish or grow without bound on the way to it
    limit = Piecewise((m, attained), (oo, m > unit), (-oo, m < -unit), (0, True))
    weight = Piecewise((S / Q, Or(attained, Abs(m) > unit)), (oo, S > 0), (-oo, True))
    definitions = {m: best.at(m), reached: best.is_attained, **found.definitions}
    return {**definitions, **_found(delta**2 + best, limit, weight, shift, attained)}


def _prefers_positive(activation, chosen, task):
    """Whether scores that fall along k* are known to be no better than those that rise.

    Weights h/sum h of a rising kernel: with falling scores the hidden token's share is 1/L at most, so S^2/Q is at
    most its value 1/L at zero scores. In the max task Q does not see the sign, and S grows with the alignment. Rising
    weights whose logarithm is concave, of each score alone: S^2/Q grows with the shift of the hidden score.
    """
    if isinstance(chosen, Normalised):
        return task == "max" or chosen.extra == 0
    return isinstance(activation, str)
