"""Tuned regularisation, and the limits of strong ridge and of many samples."""

from dataclasses import replace

from sympy import Integer, sqrt

from theorem_engine import NONNEGATIVE, Integers, Interval, Limit, Output, Source, corollary, result
from theorem_engine.registry.duranthon2026.finite_sample import (
    DOUBTS,
    NOT_LONG_SEARCHED,
    NOTES,
    OUTPUTS,
    REPLICA,
    TRAINED,
)
from theorem_engine.registry.duranthon2026.finite_sample_notation import (
    FINITE_MODEL,
    LONGEST_SOFTMAX,
    ONE_SET,
    L,
    V_v,
    activation,
    alpha,
    any_nu,
    any_task,
    draws,
    fixed_r_v,
    m_v,
    q_v,
    trained_activation,
)
from theorem_engine.registry.duranthon2026.finite_sample_tuning import (
    BOX,
    NOTE,
    STRENGTHS,
    default_draws,
    tuned_equations,
)
from theorem_engine.registry.duranthon2026.notation import (
    RISK,
    SHIFT_RULES,
    UP_TO_INFINITY,
    delta,
    nu,
    shift,
    task,
    var,
)
from theorem_engine.registry.duranthon2026.tasks import FINITE_SPIKE

tuned_L = var("L", "L", "tokens in a sequence", Integers(2, LONGEST_SOFTMAX), typical=(2, 3))
s_1 = var("s_1", "s_1", "weight of the hidden token at k = 0", NONNEGATIVE)
s_2 = var("s_2", "s_2", "sum of squared weights at k = 0", NONNEGATIVE)
b = var("b", "b", "half the linear coefficient of the quadratic equation of V_v")
c = var("c", "c", "weight of the risk in q_v - m_v^2", NONNEGATIVE)


@result(
    "duranthon2026.erm-tuned",
    costly=True,
    title="Test risk of empirical risk minimisation at the best ridge strengths",
    source=Source("2509.21936", "Figure 3"),
    given=(task, nu, tuned_L, delta, alpha, trained_activation, shift, draws),
    given_rules=SHIFT_RULES,
    outputs={**OUTPUTS, **STRENGTHS},
    assumes=REPLICA,
    regime=ONE_SET,
    needs={"risk": "duranthon2026.erm-risk"},
    requires=(FINITE_SPIKE, *NOT_LONG_SEARCHED),
    recipe=BOX,
    doubts=DOUBTS,
    error_kind="statistical",
    checks=TRAINED,
    marks="DV",
    notes=(
        NOTE,
        "Max task, nu = oo, softmax, no noise: the risk falls as r_k -> 0 and the minimiser sits on the boundary, so "
        "the value is an upper bound.",
        *NOTES[:1],
    ),
)
def erm_tuned(m, *, risk):
    """The risk of the minimiser as a function of the two ridge strengths, minimised over both."""
    return tuned_equations(m, risk, OUTPUTS, default_draws(m))


@corollary(
    "duranthon2026.ridge-limit",
    title="Empirical risk minimisation with a strongly penalised k",
    source=Source("2509.21936", "Result 5.1 at r_k -> oo", guessed=True),
    given=(any_task, any_nu, L, delta, alpha, activation, fixed_r_v),
    outputs={
        "risk": RISK,
        "train_error": Output("mean of (y - f)^2 on the training set", NONNEGATIVE),
        "m_v": Output("overlap v.v*/D", Interval(0, 1)),
        "q_v": Output("squared norm v.v/D", NONNEGATIVE),
        "V_v": Output("response of v", NONNEGATIVE),
    },
    assumes=(*FINITE_MODEL, "r_k -> oo, so k = 0"),
    regime=replace(ONE_SET, words="N, D -> oo with N = alpha D, then r_k -> oo"),
    checks=(
        "duranthon2026_finite.ridge_regression",
        "duranthon2026_ridge.ridge_forms",
        "duranthon2026_cavity.ridge_of_one",
    ),
    marks="DVN",
    notes=(
        "With k = 0 the predictor is v.(sum of tokens)/L (softmax) or v.(sum of tokens) (linear): ridge regression on "
        "the summed tokens, where the hidden token's share is signal and the rest is noise. Task and nu do not matter.",
        "Even at large r_v the overlap m_v is positive: v = 0 is a solution in the limit r_v -> oo only.",
    ),
)
def ridge_limit(L, delta, alpha, activation, r_v):
    """Ridge regression: V (r_v + alpha s_2/(1 + V s_2)) = 1, and m_v, q_v linear given V.

    s_1 is the weight of the hidden token, s_2 the sum of squared weights at k = 0.
    """
    weight = {s_1: 1 / L, s_2: 1 / L} if activation == "softmax" else {s_1: Integer(1), s_2: L}
    gain = 1 + V_v * s_2
    risk = delta**2 + 1 - 2 * m_v * s_1 + q_v * s_2
    return {
        **weight,
        b: (r_v + (alpha - 1) * s_2) / 2,
        # the positive root of r s_2 V^2 + 2 b V - 1, without cancellation where b > 0
        V_v: 1 / (b + sqrt(b**2 + r_v * s_2)),
        m_v: V_v * alpha * s_1 / gain,
        c: V_v**2 * alpha * s_2 / gain**2,
        q_v: (m_v**2 + c * (1 + delta**2 - 2 * m_v * s_1)) / (1 - c * s_2),
        "risk": risk,
        "train_error": risk / gain**2,
        "m_v": m_v,
        "q_v": q_v,
        "V_v": V_v,
    }


@corollary(
    "duranthon2026.large-sample-limit",
    costly=True,
    title="Empirical risk minimisation with many samples",
    source=Source("2509.21936", "Result 5.1 at alpha -> oo", guessed=True),
    given=(task, nu, L, delta, activation),
    outputs={
        "risk": RISK,
        "m_k": Output("limit of k.k*/D; infinite for softmax in the max task at nu = oo", UP_TO_INFINITY),
        "m_v": Output("limit of v.v*/D"),
    },
    needs={"minimal": "duranthon2026.minimal-risk"},
    assumes=(*FINITE_MODEL, "alpha -> oo at fixed ridge strengths"),
    regime=Limit(grows=(alpha,), orders=(1,), words="alpha -> oo after N, D -> oo", correction="of order 1/alpha"),
    requires=(FINITE_SPIKE,),
    checks=("duranthon2026.best_attention", "duranthon2026_places.best_place"),
    marks="DV",
    notes=(
        "Empirical minimisers tend to the minimiser of the population risk, at any fixed ridge strengths.",
        "Spiked softmax: alpha times the excess risk tends to E[(y-f)^2 |Jz|^2]/E|Jz|^2 + E[(y-f)^2 |p|^2]/E|p|^2, J "
        "being the Jacobian of softmax, whatever the ridge strengths: 1.698(2) at L = 3, nu = 1, 1.512(2) at nu = 2.",
    ),
)
def large_sample_limit(m, *, minimal):
    """As alpha grows the minimiser of the empirical risk becomes that of the population risk."""
    return {"risk": minimal.at(m), "m_k": minimal.m_kk.at(m), "m_v": minimal.m_vv.at(m)}
