"""Risk on the invariant manifold, where k sees only k* and v only v*, and the excess over Bayes."""

from sympy import Eq

from theorem_engine import ABSENT, NONNEGATIVE, Holds, Normalised, Output, Source, result
from theorem_engine.language.functions import positive_part
from theorem_engine.registry.duranthon2026.notation import (
    MODEL,
    ON_MANIFOLD,
    RISK,
    ROUNDED,
    SHIFT_RULES,
    L,
    Q,
    S,
    activation,
    delta,
    m_kk,
    m_vv,
    nu,
    rest,
    shift,
    task,
    var,
)
from theorem_engine.registry.duranthon2026.tasks import FINITE_SPIKE, seen_task_of
from theorem_engine.registry.duranthon2026.weights import moments, weights_of

q_kk = var("q_kk", "q_{kk}", "squared norm k.k/D; m_kk^2 if left out", NONNEGATIVE, default=ABSENT, typical=(0, 6))
q_vv = var("q_vv", "q_{vv}", "squared norm v.v/D; m_vv^2 if left out", NONNEGATIVE, default=ABSENT, typical=(0, 6))


@result(
    "duranthon2026.manifold-risk",
    title="Risk of attention on the invariant manifold",
    source=Source("2509.21936", "Section 4", guessed=True),
    given=(task, nu, L, activation, m_kk, q_kk, m_vv, q_vv, shift, delta),
    given_rules=SHIFT_RULES,
    outputs={"risk": RISK, "S": Output("mean weight of the hidden token"), "Q": Output("mean sum of squared weights")},
    assumes=(*MODEL, ON_MANIFOLD),
    requires=(
        FINITE_SPIKE,
        Holds(q_kk >= m_kk**2, "k.k/D is at least the square of k.k*/D"),
        Holds(q_vv >= m_vv**2, "v.v/D is at least the square of v.v*/D"),
    ),
    needs={"miss": "gaussian.erf-miss"},
    checks=("duranthon2026.attention_risk", "duranthon2026_places.weight_moments"),
    marks="DV",
    notes=(
        "At the best v the risk is 1 - S^2/Q; for random L both are averaged before the ratio.",
        "q_kk = m_kk^2 is optimal: proved in the max task for every increasing activation and in the spiked task for "
        "linear and erf weights; for softmax and softplus in the spiked task it rests on numerical scans.",
        "The manifold is invariant under the gradient flow.",
    ),
)
def manifold_risk(m, *, miss):
    """risk = 1 - 2 m_vv S + q_vv Q with S = E sigma_eps and Q = E sum sigma_l^2.

    The scores are chi = m_kk chi* + sqrt(q_kk - m_kk^2) zeta with zeta independent of everything.
    """
    # alone or without a signal the max task is the spiked one, without a double integral
    seen = seen_task_of(m)
    weights = weights_of(m, seen)
    # double integrals divide by the root of the rest; they are of double precision, where this one is none
    aligned = ROUNDED if isinstance(weights, Normalised) else Eq(q_kk, m_kk**2)
    has_rest = m.q_kk is not None and not m.when(aligned)
    found = moments(seen, weights, m_kk, rest if has_rest else 0, miss)
    known = {rest: positive_part(q_kk - m_kk**2)} if has_rest else {}
    square = m_vv**2 if m.q_vv is None else q_vv
    return {**known, **found.definitions, "risk": delta**2 + 1 - 2 * m_vv * S + square * Q, "S": S, "Q": Q}
