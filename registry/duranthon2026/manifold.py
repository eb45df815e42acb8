"""Risk on the invariant manifold, where k sees only k* and v only v*, and the excess over Bayes."""

from sympy import Eq, Rational

from theorem_engine import ABSENT, NONNEGATIVE, Holds, Normalised, Output, Source, result
from theorem_engine.functions import positive_part
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
    delta,
    m_kk,
    m_vv,
    nu,
    shift,
    task,
    var,
)
from theorem_engine.registry.duranthon2026.weights import meaning, moments

q_kk = var("q_kk", "q_{kk}", "squared norm k.k/D; m_kk^2 if left out", NONNEGATIVE, default=ABSENT, typical=(0, 6))
q_vv = var("q_vv", "q_{vv}", "squared norm v.v/D; m_vv^2 if left out", NONNEGATIVE, default=ABSENT, typical=(0, 6))
rest = var("rest", r"\bar R_{kk}", "what k* does not see of k.k/D, q_kk - m_kk^2", NONNEGATIVE)
#: A rest of k that is a difference of equal numbers to rounding.
ROUNDED = q_kk * (1 - Rational(1, 10**15)) <= m_kk**2


@result(
    "duranthon2026.manifold-risk",
    title="Risk of attention on the invariant manifold",
    source=Source("2509.21936", "Section 4", guessed=True),
    given=(task, nu, L, activation, m_kk, q_kk, m_vv, q_vv, shift, delta),
    given_rules=SHIFT_RULES,
    outputs={"risk": RISK, "S": Output("mean weight of the hidden token"), "Q": Output("mean sum of squared weights")},
    assumes=(*MODEL, ON_MANIFOLD),
    requires=(
        Holds(q_kk >= m_kk**2, "k.k/D is at least the square of k.k*/D"),
        Holds(q_vv >= m_vv**2, "v.v/D is at least the square of v.v*/D"),
    ),
    needs={"miss": "gaussian.erf-miss"},
    cases={"is_argmax": IS_ARGMAX, "has_no_rest": Eq(q_kk, m_kk**2), "is_rounded": ROUNDED},
    checks=("duranthon2026.attention_risk",),
    marks="DV",
    notes=(
        "At the best v the risk is 1 - S^2/Q; for random L both are averaged before the ratio.",
        "q_kk = m_kk^2 is optimal: proved in the max task for every increasing activation and in the spiked task for "
        "linear and erf weights; for softmax and softplus in the spiked task it rests on numerical scans.",
        "The manifold is invariant under the gradient flow.",
    ),
)
def manifold_risk(
    task, nu, L, activation, m_kk, q_kk, m_vv, q_vv, shift, delta, *, miss, is_argmax, has_no_rest, is_rounded
):
    """risk = 1 - 2 m_vv S + q_vv Q with S = E sigma_eps and Q = E sum sigma_l^2.

    The scores are chi = m_kk chi* + sqrt(q_kk - m_kk^2) zeta with zeta independent of everything.
    """
    # double integrals divide by the root of the rest; they are of double precision, where this one is none
    is_aligned = q_kk is None or has_no_rest or (is_rounded and isinstance(meaning(activation, task), Normalised))
    found = moments(task, activation, is_argmax, m_kk, 0 if is_aligned else rest, shift, miss)
    known = {} if is_aligned else {rest: positive_part(q_kk - m_kk**2)}
    square = m_vv**2 if q_vv is None else q_vv
    return {**known, **found.definitions, "risk": delta**2 + 1 - 2 * m_vv * S + square * Q, "S": S, "Q": Q}
