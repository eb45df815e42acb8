"""Minimal population risk of every activation, with its minimiser."""

from sympy import Eq, Gt, Integer, Piecewise, false, oo, sqrt, true

from theorem_engine import REAL, LengthMean, Minimum, Normalised, OnlyWith, Output, Source, proposition
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
    delta,
    m,
    nu,
    p,
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
    # a homogeneous kernel has no equal weights to fall back on: relu is evaluated as at any other point
    if (has_no_signal or has_one_token) and activation != "relu":
        return _without_signal(task, activation, shift, delta)
    if is_argmax and activation == "softplus":
        return _hard_softplus(delta)
    return _searched(task, activation, shift, delta, slope, is_argmax, miss)


def _found(risk, m_kk, m_vv, shift=0, attained=true):
    return {"risk": risk, "m_kk": m_kk, "m_vv": m_vv, "shift": shift, "attained": attained}


def _centred(task, delta, is_argmax, has_one_token):
    """Weights 1/L + chi - mean chi: (A + b B)^2/(A + b^2 C) is largest at b = B/C, where it is A + B^2/C."""
    a, others = LengthMean(1 / L, L), LengthMean(L, L) - 1
    if has_one_token:
        return _found(delta**2, 0, 1)
    if task == "spiked":
        b, c = sqrt(nu) * (1 - a), others + nu * (1 - a)
    else:
        b, c = hidden_score(is_argmax), others
    slope = Piecewise((0, others <= 0), (b / c, True))
    return _found(delta**2 + (1 - a) - b * slope, slope, 1)


def _without_signal(task, activation, shift, delta):
    """Nothing to attend to: equal weights are best, 1/L each if normalised."""
    chosen = meaning(activation, task, False, shift)
    if isinstance(chosen, Normalised):
        # equal kernels h(0); with a constant in the sum they are a little less than 1/L
        weight = LengthMean(1 / L, L)
        if chosen.extra != 0 or chosen.breaks:
            return _search_from(moments(task, activation, False, m), delta, 1)
        return _found(delta**2 + 1 - weight, 0, 1)
    level = chosen.at(0)
    mean_length = LengthMean(L, L)
    return _found(delta**2 + 1 - 1 / mean_length, 0, 1 / (level * mean_length), 0 if shift is None else shift)


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


def _searched(task, activation, shift, delta, slope, is_argmax, miss):
    scale = Integer(1) if is_argmax else slope
    chosen = meaning(activation, task, is_argmax, shift)
    if isinstance(chosen, Shifted) and shift is None:
        found = moments(task, activation, is_argmax, m, 0, c, miss)
        # in the spiked task the best slope grows with the signal and the shift with its square; in the max task
        # both stay of order one, since the argmax is learnt to the resolution of the erf at any nu
        low = scale / (1 + scale) / 100
        wide = {m: (low, 3 + 3 * scale), c: (-14 - slope**2 / 3, 3)}
        best = Minimum(found.inline(found.risk), over=wide if task == "spiked" else {m: (low, 15), c: (-14, 3)}, scan=9)
        return {c: best.at(c), **_at_minimum(found, best, delta, c)}
    if activation == "relu":
        # a homogeneous kernel: the weights do not depend on the scale of k
        found = moments(task, activation, is_argmax, Integer(1))
        return {**found.definitions, **_found(delta**2 + found.risk, 1, S / Q)}
    found = moments(task, activation, is_argmax, m, 0, shift, miss)
    return _search_from(found, delta, scale, 0 if shift is None else shift, isinstance(activation, str))


def _search_from(found, delta, scale, shift=0, is_named=True):
    """The named activations fall and then rise in m; of a user's own nothing is known.

    Where sequences are long, softplus falls up to slopes of hundreds, though by less than 1e-8.
    """
    far = 3000 + 2 * scale if is_named else 100 + 10 * scale
    # the search starts in the middle of the range, on the scale of the signal
    near = scale**2 / far if is_named else scale / (1 + scale) / 100
    best = Minimum(found.inline(found.risk), over={m: (near, far)}, scan=17, single_valley=is_named)
    return {**_at_minimum(found, best, delta, shift), "attained": Gt(far, m)}


def _at_minimum(found, best, delta, shift):
    return {m: best.at(m), **found.definitions, **_found(delta**2 + best, m, S / Q, shift)}
