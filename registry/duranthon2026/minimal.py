"""Minimal population risk of every activation, with its minimiser."""

from sympy import Abs, And, Eq, Gt, Integer, Or, Piecewise, Rational, false, oo, true

from theorem_engine import REAL, LengthMean, Minimum, Normalised, Output, Source, proposition
from theorem_engine.base.errors import NotAvailable
from theorem_engine.language.unchecked import Unchecked
from theorem_engine.registry.duranthon2026.closed_forms import MINIMISER
from theorem_engine.registry.duranthon2026.minimal_search import FAINTEST, is_dear, natural_slope, where_to_look
from theorem_engine.registry.duranthon2026.notation import (
    ACTIVATIONS,
    MODEL,
    ON_MANIFOLD,
    RISK,
    SHIFT_RULES,
    L,
    Q,
    S,
    V,
    activation,
    c,
    chi,
    delta,
    drop,
    hard,
    lowest,
    nu,
    p,
    reached,
    shift,
    sigma,
    slope,
    task,
)
from theorem_engine.registry.duranthon2026.tasks import ARGMAX, FINITE_SPIKE, seen_task_of, task_of
from theorem_engine.registry.duranthon2026.weak_erf import FAINT, weakly_shifted
from theorem_engine.registry.duranthon2026.weights import (
    Centred,
    Shifted,
    moments,
    pair_tokens,
    score_tokens,
    weights_of,
)

ATTAINED = Output("whether the minimum is attained at finite overlaps")
#: What bounded rising kernels become for steep scores.
STEP = Normalised(Piecewise((1, chi > 0), (0, True)), breaks=(0,))
#: Mean squares of weights below this, and above its inverse, are near the ends of double precision.
VANISHING = Rational(1, 10**280)
#: Risks below this have lost more digits in 1 - S^2/Q than they lose by an inexact place.
FEW_DIGITS = Rational(1, 10**6)
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
    requires=(FINITE_SPIKE,),
    recipe=where_to_look,
    checks=(
        "duranthon2026.best_attention",
        "duranthon2026_places.best_place",
        Unchecked("attained", because="says whether m_kk is finite, which is measured where it is"),
    ),
    marks="DVG",
    notes=(
        "The best v gives 1 - S^2/Q with m_vv = S/Q; for random L both are averaged before the ratio.",
        "Minimisers of erf and softplus are flat: the risk is known to about twice as many digits as they are.",
        "Max task at nu = oo: softmax and normalised softplus reach their infimum only as m_kk -> oo.",
        "Softplus in the spiked task has its minimiser far out: m_kk = 5.7, 8.7, 42.8 at nu = 5, L = 2, 10, 100.",
    ),
)
def minimal_risk(m, *, bayes, bound, linear, miss):
    """Smallest risk over k and v, on the manifold, at R_kk = 0.

    Softmax attains the Bayes risk at m_kk = c_nu, linear weights have closed forms; the others are
    minimised over the slope m of the scores, erf over its shift too unless it is given.
    """
    if m.activation == "softmax":
        best = task_of(m)
        return _found(bayes.at(m), best.c_nu, 1, attained=false if best is ARGMAX else true)
    if m.activation == "element-wise-optimal":
        return _found(bound.at(m), 1, 1)
    if m.activation == "linear":
        return _found(linear.at(m), linear.m_kk.at(m), linear.m_vv.at(m))
    if m.activation == "centred-linear":
        return _centred(m)
    seen = seen_task_of(m)
    weights = weights_of(m, seen)
    if m.activation == "relu":
        # a homogeneous kernel: the weights do not depend on the scale of k
        found = moments(seen, weights, Integer(1))
        return {**found.definitions, **_found(delta**2 + found.risk, 1, S / Q)}
    if _equal_weights_are_best(m, weights):
        return _equal_weights(weights)
    if seen is ARGMAX and m.activation == "softplus":
        return _hard_softplus()
    if isinstance(weights, Shifted) and m.shift is None:
        return _searched_with_shift(m, miss)
    if is_dear(m) and m.when(nu < FAINTEST):
        raise NotAvailable(
            f"{m.owner}: nu below 1e-6 is not searched in the max task with normalised weights; the risk is that at "
            "nu = 0 up to nu^2"
        )
    return _searched(m, weights, moments(seen, weights, slope, 0, miss))


def _found(risk, m_kk, m_vv, shift=0, attained=true):
    return {"risk": risk, "m_kk": m_kk, "m_vv": m_vv, "shift": shift, "attained": attained}


def _centred(m):
    """Weights 1/L + chi - mean chi: (A + b B)^2/(A + b^2 C) is largest at b = B/C, where it is A + B^2/C."""
    if m.when(Eq(L, 1)):
        return _found(delta**2, 0, 1)
    here, parts = task_of(m), Centred.of(task_of(m))
    spread = parts.others + parts.mark
    best = Piecewise((0, parts.others <= 0), (parts.lead / spread, True))
    # 1 - A - B^2/C is a product in the spiked task, which keeps its digits however strong the signal is
    gap = 1 - parts.level
    risk = gap * parts.others / spread if here.is_marked else gap - parts.lead * best
    return _found(delta**2 + risk, best, 1)


def _equal_weights_are_best(m, weights):
    """Whether there is nothing to attend to, and scores of zero give equal weights that are not zero.

    With a constant in the sum of kernels the weights at zero scores depend on the length: others can be better if
    that is random.
    """
    is_alone = m.when(Eq(L, 1))
    if not is_alone and not m.when(Eq(nu, 0)):
        return False
    if isinstance(weights, Normalised):
        return not weights.breaks and (weights.extra == 0 or is_alone)
    if isinstance(weights, Shifted):
        return True
    level = weights.at(0).replace(lambda node: hasattr(node, "definition"), lambda node: node.definition())
    return not weights.breaks and level.is_finite is not False and level.evalf() != 0


def _equal_weights(weights):
    """Nothing to attend to: 1/L each if normalised."""
    if isinstance(weights, Normalised):
        # a single token shares with the constant alone
        share = 1 + weights.extra / weights.kernel.xreplace({chi: Integer(0)})
        return _found(delta**2 + 1 - LengthMean(1 / L, L), 0, share)
    mean_length = LengthMean(L, L)
    level = weights.shift if isinstance(weights, Shifted) else 0
    return _found(delta**2 + 1 - 1 / mean_length, 0, 1 / (weights.at(0) * mean_length), level)


def _hard_softplus():
    """m -> oo: softplus becomes its positive part; if all tokens are negative, the largest takes all."""
    weights, alone = ACTIVATIONS["relu"], LengthMean(2 ** (-L), L)
    return {
        S: pair_tokens(ARGMAX, weights, 1, 0).mean(each=(p * sigma,)) + alone,
        Q: score_tokens(weights, 1, 0).mean(each=(sigma**2,)) + alone,
        **_found(delta**2 + 1 - S**2 / Q, oo, S / Q, attained=false),
    }


def _hard_limit(m):
    """Risk at v = 1 of weights with steep scores at nu = oo; None where the limit is not known.

    With a constant in the sum the largest token takes all if its score is positive, and nothing is taken if none is.
    Bounded kernels share among the positive scores; if there are none, the largest takes all.
    """
    if seen_task_of(m) is not ARGMAX:
        return None
    alone = LengthMean(2 ** (-L), L)
    if m.activation == "softmax-plus-one":
        return alone
    if m.activation == "tanh":
        return 1 - alone - score_tokens(STEP, 1, 0).mean(each=(sigma**2,))
    return None


def _searched_with_shift(m, miss):
    """Over the slope and the shift of erf.

    In the spiked task the best slope grows with the signal and the shift with its square: the threshold of the erf
    lies half way between ordinary and hidden scores. In the max task both stay of order one at any nu, since the
    argmax is learnt to the resolution of the erf. Weak signals and long sequences drive the shift to -sqrt(L/2).
    """
    seen = seen_task_of(m)
    if m.when(nu < (FAINT**2 if seen.is_marked else FAINT)):
        return weakly_shifted(seen, miss)
    level = 3 - slope * seen.shift / 2 - drop
    found = moments(seen, Shifted(level), slope, 0, miss)
    best = Minimum(found.inline(found.risk), over=(slope, drop))
    definitions = {
        reached: best.is_attained,
        slope: best.at(slope),
        drop: best.at(drop),
        c: level,
        **moments(seen, Shifted(c), slope, 0, miss).definitions,
    }
    return {**definitions, **_found(delta**2 + best, slope, S / Q, c, Gt(reached, Rational(1, 2)))}


def _searched(m, weights, found):
    """Over the slope of the scores, at every scale, and over its sign where that is not settled beforehand."""
    unit, limit = natural_slope(m), _hard_limit(m)
    # SymPy would open a condition that contains a kernel with branches
    body = 1 - S**2 / Q if weights.breaks else found.risk
    if V in found.definitions and not weights.breaks:
        # weights whose squares underflow or overflow are no place to look at
        body = Piecewise((body, And(Q > VANISHING, 1 / VANISHING > Q)), (oo, True))
    best = Minimum(found.inline(body), over=slope)
    attained = Gt(reached, Rational(1, 2))
    # where the infimum is a limit, scores vanish or grow without bound on the way to it
    place = Piecewise((slope, attained), (oo, slope > unit), (-oo, slope < -unit), (0, True))
    weight = Piecewise((S / Q, Or(attained, Abs(slope) > unit)), (oo, S > 0), (-oo, True))
    definitions = {slope: best.at(slope), reached: best.is_attained, **found.definitions}
    level = Integer(0) if m.shift is None else shift
    if limit is None:
        # near zero the difference has few digits, and the risk at the place found has more
        risk = Piecewise((lowest, lowest > FEW_DIGITS), (found.risk, True)) if weights.breaks else best
        known = {**definitions, lowest: best} if weights.breaks else definitions
        return {**known, **_found(delta**2 + risk, place, weight, level, attained)}
    is_lower = Gt(hard, lowest)
    place, weight = Piecewise((place, is_lower), (oo, True)), Piecewise((weight, is_lower), (1, True))
    risk = delta**2 + Piecewise((lowest, is_lower), (hard, True))
    return {**definitions, lowest: best, hard: limit, **_found(risk, place, weight, level, And(attained, is_lower))}
