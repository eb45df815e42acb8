"""Risk away from the invariant manifold: seven order parameters."""

from sympy import Eq

from theorem_engine import Normalised, Output, Source, Total, result
from theorem_engine.registry.duranthon2026.conditioning import (
    centred_excess,
    label_by_stein,
    label_given_both,
    label_given_score,
    mean_square,
)
from theorem_engine.registry.duranthon2026.notation import (
    GRAM,
    MODEL,
    ORDER,
    RISK,
    ROUNDED,
    SHIFT_RULES,
    L,
    activation,
    delta,
    is_near,
    m_kk,
    nu,
    q_kk,
    rest,
    shift,
    task,
)
from theorem_engine.registry.duranthon2026.small_keys import excess_without_key, label_aligned, steepness
from theorem_engine.registry.duranthon2026.tasks import FINITE_SPIKE, task_of
from theorem_engine.registry.duranthon2026.weights import weights_of


@result(
    "duranthon2026.population-risk",
    title="Risk of attention as a function of seven order parameters, and its gradient",
    source=Source("2509.21936", "Section 4", guessed=True),
    given=(task, nu, L, activation, *ORDER, shift, delta),
    given_rules=SHIFT_RULES,
    outputs={
        "risk": RISK,
        **{f"d_{q.name}": Output(f"derivative of the risk in {q.name}", optional=True) for q in ORDER},
    },
    symbol=r"\mathcal{E}",
    assumes=MODEL,
    requires=(FINITE_SPIKE, GRAM),
    checks=(
        "duranthon2026.attention_risk",
        "duranthon2026.reduced_attention_risk",
        "duranthon2026_descent.attention_slopes",
    ),
    marks="DV",
    notes=(
        "Affine in m_vv, in m_kv and in q_vv; even under (m_kv, m_vk, q_kv) -> -(m_kv, m_vk, q_kv), so the manifold "
        "where these vanish is invariant.",
        "Never below the Bayes risk.",
        "At nu = oo the hidden token is the one with the largest chi*; the other tokens lie below it.",
        "Weights with kinks (relu) have a risk here but no gradient: those that vanish jump from 0 to 1 where a token "
        "is the only one with a positive score.",
        "Where k is a multiple of k* (max task) or zero, the risk is written with its first-order terms in the order "
        "parameters that vanish there, so that its gradient is the one-sided limit.",
    ),
)
def population_risk(m):
    """Mean squared error of f = sum_l sigma_l z_l, exact at any dimension: 1 - 2 E[z*_eps f] + E f^2.

    Given all scores, z and z* are Gaussian with means linear in the scores; what is left are means of
    weights times powers of the scores of one, two or three tokens.
    """
    gradient = {f"d_{q.name}": Total("risk", q) for q in ORDER}
    here = task_of(m)
    if m.activation == "centred-linear":
        return {"risk": delta**2 + 1 + centred_excess(here), **gradient}
    weights = weights_of(m, here)
    if m.when(Eq(q_kk, 0)):
        excess = excess_without_key(here, weights)
    else:
        excess = mean_square(here, weights) - 2 * _label(m, here, weights)
    known = {rest: q_kk - m_kk**2} if rest in excess.free_symbols else {}
    # where weights jump, or bend on the way to a multiple of k*, terms from that place would be missing
    return {**known, "risk": delta**2 + 1 + excess, **({} if weights.breaks else gradient)}


def _label(m, here, weights):
    """E[z*_eps f], given what the position hangs on: the scores, and in the max task chi* too."""
    if here.is_marked:
        return label_given_score(here, weights)
    if not isinstance(weights, Normalised) and not weights.breaks:
        return label_by_stein(here, weights)
    # weights with kinks have no first-order terms, and a rest that is none in double precision is none for them
    if m.when(ROUNDED if weights.breaks else Eq(q_kk, m_kk**2)):
        return label_aligned(here, weights)
    if not weights.breaks and m.when(is_near(steepness(weights))):
        return label_aligned(here, weights, has_rest=True)
    return label_given_both(here, weights)
