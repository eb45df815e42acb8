"""Exact identities between risks: the excess over Bayes, the information sum rule, the cost of random lengths."""

from sympy import Integral, Rational, log

from theorem_engine import NONNEGATIVE, LengthMean, Output, Source, corollary, remark
from theorem_engine.registry.duranthon2026.notation import (
    MODEL,
    ON_MANIFOLD,
    SHIFT_RULES,
    L,
    Q,
    S,
    activation,
    m_kk,
    m_vv,
    n,
    nu,
    shift,
    task,
    var,
)
from theorem_engine.registry.duranthon2026.tasks import FINITE_SPIKE, task_of
from theorem_engine.registry.duranthon2026.weights import moments, weights_of

t = var("t", "t", "share of the range of nu, integrated over", NONNEGATIVE)


@remark(
    "duranthon2026.excess-identity",
    title="The excess over Bayes is a squared distance from the posterior",
    source=Source("2509.21936", "Section 4", guessed=True),
    given=(task, nu, L, m_kk, m_vv, activation, shift),
    given_rules=SHIFT_RULES,
    outputs={
        "excess": Output("risk minus Bayes risk", NONNEGATIVE),
        "distance": Output("mean squared distance of m_vv sigma from the posterior p", NONNEGATIVE),
    },
    assumes=(*MODEL, ON_MANIFOLD, "k is a multiple of k* and v of v*"),
    needs={"miss": "gaussian.erf-miss"},
    requires=(FINITE_SPIKE,),
    checks=("duranthon2026.attention_excess",),
    marks="DV",
    notes=("Holds for any weights that are functions of the tokens.",),
)
def excess_identity(m, *, miss):
    """risk = Bayes risk + E |m_vv sigma - p|^2, since p_l is the posterior mean of the hidden indicator.

    The excess is formed from the risk and the Bayes risk, the distance from E sum sigma^2,
    E sum sigma p = E sigma_eps (Nishimori) and E sum p^2.
    """
    here = task_of(m)
    found = moments(here, weights_of(m, here), m_kk, 0, miss)
    return {
        **found.definitions,
        "excess": 1 - 2 * m_vv * S + m_vv**2 * Q - here.bayes_risk(),
        "distance": m_vv**2 * Q - 2 * m_vv * S + here.posterior_square(),
    }


@remark(
    "duranthon2026.information-sum-rule",
    title="The Bayes risk of the spiked task integrates to twice the entropy of the position",
    source=Source("2509.21936", "Section 4", guessed=True),
    given=(L,),
    outputs={
        "integral": Output("integral of the spiked Bayes risk over nu", NONNEGATIVE),
        "two_log_L": Output("2 E log L", NONNEGATIVE),
    },
    assumes=MODEL,
    needs={"bayes": "duranthon2026.bayes-risk"},
    checks=("duranthon2026.bayes_information",),
    marks="DV",
    notes=("d risk/d nu = -E |diag p - p p^T|^2.",),
)
def information_sum_rule(m, *, bayes):
    """The Bayes risk is twice the derivative of the mutual information of position and scores in nu.

    That information grows from 0 to log L, so the integral over all nu is 2 log L; it is taken over
    t = nu/(nu + scale), where the exponential fall leaves nothing at the end.
    """
    scale = 4 + 2 * log(LengthMean(L, L))
    here = scale * t / (1 - t)
    integrand = bayes.at(m, nu=here, task="spiked") * scale / (1 - t) ** 2
    ends = (0, Rational(1, 4), Rational(1, 2), Rational(3, 4), 1)
    total = sum(Integral(integrand, (t, a, b)) for a, b in zip(ends[:-1], ends[1:], strict=True))
    return {"integral": total, "two_log_L": 2 * LengthMean(log(L), L)}


@corollary(
    "duranthon2026.variable-length",
    title="What a random sequence length costs an activation",
    source=Source("2509.21936", "Corollary 4.4"),
    given=(task, nu, L, activation, shift),
    given_rules=SHIFT_RULES,
    outputs={"excess": Output("minimal risk minus the mean of the minimal risks at each length", NONNEGATIVE)},
    assumes=(*MODEL, ON_MANIFOLD),
    needs={"minimal": "duranthon2026.minimal-risk", "bayes": "duranthon2026.bayes-risk"},
    requires=(FINITE_SPIKE,),
    checks=("duranthon2026.length_cost",),
    marks="DVG",
    notes=(
        "Zero for softmax, whose best parameters are the same for every length; the minimum of a mean is never below "
        "the mean of minima.",
        "Uniform on {1, 2, 3}, spiked, nu = 1: linear 0.4 against a Bayes risk of 0.26869.",
    ),
)
def variable_length(m, *, minimal, bayes):
    """One set of parameters for all lengths against the best for each."""
    risk = bayes if m.activation == "softmax" else minimal
    return {"excess": risk.at(m) - LengthMean(risk.at(m, L=n), L, n)}
