"""Minimal population risk of every activation, with its minimiser."""

from sympy import Abs, And, Eq, Gt, Integer, Not, Or, Piecewise, Rational, false, log, oo, pi, sqrt, true

from theorem_engine import (
    REAL,
    GaussianMean,
    LengthMean,
    Minimum,
    Normalised,
    Output,
    Root,
    Source,
    erfcx,
    normal_cdf,
    proposition,
)
from theorem_engine.registry.duranthon2026.closed_forms import MINIMISER
from theorem_engine.registry.duranthon2026.notation import (
    IS_ARGMAX,
    MODEL,
    ON_MANIFOLD,
    RISK,
    SHIFT_RULES,
    L,
    Q,
    S,
    activation,
    c,
    chi,
    delta,
    drop,
    hard,
    lowest,
    m,
    nu,
    p,
    reached,
    shift,
    sigma,
    task,
    weak,
    x,
)
from theorem_engine.registry.duranthon2026.weights import (
    Moments,
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
#: What bounded rising kernels become for steep scores.
STEP = Normalised(Piecewise((1, chi > 0), (0, True)), breaks=(0,))
SHIFT = Output("minimising shift of erf; 0 for other activations", REAL)
OUTPUTS = {"risk": RISK, **MINIMISER, "shift": SHIFT, "attained": ATTAINED}


@proposition(
    "duranthon2026.minimal-risk",
    title="Minimal population risk of an activation",
    source=Source("2509.21936", "Proposition 4.3", guessed=True),
    given=(task, nu, L, activation, shift, delta),
    given_rules=SHIFT_RULES,
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
    is_blind = has_no_signal or (has_one_token and task == "max")
    if activation == "relu":
        # a homogeneous kernel: the weights do not depend on the scale of k
        found = _blind(activation, Integer(1)) if is_blind else moments(task, activation, is_argmax, Integer(1))
        return {**found.definitions, **_found(delta**2 + found.risk, 1, S / Q)}
    if (has_no_signal or has_one_token) and _has_equal_weights(chosen, has_one_token):
        return _without_signal(chosen, delta, 0 if shift is None else shift)
    if is_argmax and activation == "softplus":
        return _hard_softplus(delta)
    if isinstance(chosen, Shifted) and shift is None:
        return _searched_with_shift(task, delta, slope, is_argmax, miss)
    level = Integer(0) if shift is None else shift
    if is_blind:
        return _searched(_blind(activation, m), "spiked", activation, chosen, Integer(1), delta, level)
    found = moments(task, activation, is_argmax, m, 0, shift, miss)
    scale, limit = (Integer(1), _hard_limit(activation)) if is_argmax else (slope, None)
    return _searched(found, task, activation, chosen, scale, delta, level, limit)


def _blind(activation, m):
    """Moments where the hidden token is like all others: without a signal, or alone, the tasks are one."""
    found = moments("spiked", activation, False, m)
    return Moments(
        {letter: means.xreplace({nu: Integer(0)}) for letter, means in found.definitions.items()}, found.risk
    )


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
    if isinstance(chosen, Shifted):
        return True
    level = chosen.at(0).replace(lambda node: hasattr(node, "definition"), lambda node: node.definition())
    return not chosen.breaks and level.is_finite is not False and level.evalf() != 0


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


def _hard_limit(activation):
    """Risk of the argmax at v = 1 as m -> oo, and the slope up to which lower ones are looked for; None if not known.

    With a constant in the sum the largest token takes all if its score is positive, and nothing is taken if none is.
    To first order in 1/m this costs log(4) - 1 times the density of a tie among positive scores, and gains the
    density of a largest score of zero: where the cost is larger the risk falls towards its limit. Bounded kernels
    share among the positive scores; if there are none, the largest takes all.
    """
    alone = LengthMean(2 ** (-L), L)
    if activation == "softmax-plus-one":
        others = LengthMean(L * (L - 1) * normal_cdf(Abs(x) / sqrt(2)) ** (L - 2), L)
        tie = GaussianMean(others, x, breaks=(0,)) / (4 * sqrt(pi))
        zero = LengthMean(2 * L * 2 ** (-L), L) / sqrt(2 * pi)
        return alone, Piecewise((30, (log(4) - 1) * tie > zero), (3000, True))
    if activation == "tanh":
        return 1 - alone - score_tokens("max", STEP, 1, 0).mean(each=(sigma**2,)), Integer(81)
    return None


def _searched_with_shift(task, delta, slope, is_argmax, miss):
    """Over the slope and the shift of erf.

    In the spiked task the best slope grows with the signal and the shift with its square: the threshold of the erf
    lies half way between ordinary and hidden scores. In the max task both stay of order one at any nu, since the
    argmax is learnt to the resolution of the erf. Weak signals and long sequences drive the shift to -sqrt(L/2).
    """
    scale = Integer(1) if is_argmax else slope
    mean_length = LengthMean(L, L)
    half_way = m * slope / 2 if task == "spiked" else 0
    found = moments(task, "erf", is_argmax, m, 0, 3 - half_way - drop, miss)
    root = sqrt(mean_length)
    low, high = scale / (1 + scale) / (10 + 20 * root), 3 + 3 * scale if task == "spiked" else 15
    count = 25 if task == "spiked" else 15
    best = Minimum(found.inline(found.risk), over={m: (low, high), drop: (Rational(1, 10), 100 + 3 * root)}, scan=count)
    # where rounding hides the minimiser it is that of a weak signal, to first order, unless its weights underflow
    balance = Root(1 + sqrt(pi) * c * erfcx(-c) - 1 / (mean_length - 1), c, -10 - root, 5)
    gentle = scale * (1 - 1 / mean_length) * sqrt(pi) * erfcx(-weak) / 2
    told, small = Gt(reached, Rational(1, 2)), Gt(weak, -18)
    is_found = Or(told, Not(small))
    definitions = {
        reached: best.is_attained,
        m: best.at(m),
        drop: best.at(drop),
        c: 3 - half_way - drop,
        weak: balance,
        **moments(task, "erf", is_argmax, m, 0, c, miss).definitions,
    }
    level = 1 / (mean_length * Shifted(weak).at(0))
    m_kk, m_vv, shift = (Piecewise((a, is_found), (b, True)) for a, b in ((m, gentle), (S / Q, level), (c, weak)))
    return {**definitions, **_found(delta**2 + best, m_kk, m_vv, shift, Or(told, small))}


def _searched(found, task, activation, chosen, scale, delta, shift, limit=None):
    """Over the slope of the scores, at every scale, and over its sign where that is not settled beforehand."""
    # softplus is best at slopes like the signal's, other weights of the max task at ten at most
    is_dear = task == "max" and isinstance(chosen, Normalised)
    unit = scale if is_dear and activation == "softplus" else scale / (1 + scale)
    best = Minimum(
        # SymPy would open a condition that contains a kernel with branches
        found.inline(1 - S**2 / Q if chosen.breaks else found.risk),
        over={
            m: (0 if _prefers_positive(activation, chosen, task) else -oo, _farthest(activation, is_dear, scale, limit))
        },
        scan=2 if is_dear else 4,
        # two weights at once are dear: these two are known to have a risk that falls and then rises
        single_valley=is_dear and activation in ("softplus", "tanh"),
        slopes=not chosen.breaks,
        unit=unit,
    )
    attained = Gt(reached, Rational(1, 2))
    # where the infimum is a limit, scores vanish or grow without bound on the way to it
    place = Piecewise((m, attained), (oo, m > unit), (-oo, m < -unit), (0, True))
    weight = Piecewise((S / Q, Or(attained, Abs(m) > unit)), (oo, S > 0), (-oo, True))
    definitions = {m: best.at(m), reached: best.is_attained, **found.definitions}
    if limit is None:
        best = found.risk if chosen.breaks else best
        return {**definitions, **_found(delta**2 + best, place, weight, shift, attained)}
    is_lower = Gt(hard, lowest)
    place, weight = Piecewise((place, is_lower), (oo, True)), Piecewise((weight, is_lower), (1, True))
    risk = delta**2 + Piecewise((lowest, is_lower), (hard, True))
    return {**definitions, lowest: best, hard: limit[0], **_found(risk, place, weight, shift, And(attained, is_lower))}


def _farthest(activation, is_dear, scale, limit):
    """The steepest scores that are looked at: all that count, where evaluations are dear."""
    if not is_dear:
        return oo
    if limit is not None:
        return limit[1]
    # the softmax with a constant is best near that without one, at the signal's own slope
    return {"softplus": 3000 + 2 * scale, "tanh": 3000 + 2 * scale, "softmax-plus-one": 10 + 3 * scale}.get(
        activation if isinstance(activation, str) else "", 100 + 10 * scale
    )


def _prefers_positive(activation, chosen, task):
    """Whether scores that fall along k* are known to be no better than those that rise.

    Weights h/sum h of a rising kernel: with falling scores the hidden token's share is 1/L at most, so S^2/Q is at
    most its value 1/L at zero scores. In the max task Q does not see the sign, and S grows with the alignment. Rising
    weights whose logarithm is concave, of each score alone: S^2/Q grows with the shift of the hidden score.
    """
    if isinstance(chosen, Normalised):
        return task == "max" or chosen.extra == 0
    return isinstance(activation, str)
