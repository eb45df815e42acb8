"""The Bayes risk, why softmax attains it, and the sum rule it obeys."""

from sympy import Eq, oo

from theorem_engine import Output, Source, proposition
from theorem_engine.language.identity import Derivative, Equation, Ordering, SpecialValue, applied, own
from theorem_engine.registry.duranthon2026.notation import (
    MODEL,
    RISK,
    UP_TO_INFINITY,
    L,
    delta,
    nu,
    task,
)
from theorem_engine.registry.duranthon2026.tasks import FINITE_SPIKE, task_of

SPIKED, MAX = {"task": "spiked"}, {"task": "max"}
#: Where identities are tried; means over tokens have no enclosure on intervals.
PLACES = ({"nu": 2, "L": 3}, {"nu": 5, "L": 10})
BETWEEN = "duranthon2026.element-wise-bound"


@proposition(
    "duranthon2026.bayes-risk",
    title="Risk of the best estimator that knows k* and v*",
    source=Source("2509.21936", "Proposition 4.1"),
    given=(task, nu, L, delta),
    outputs={"risk": RISK},
    symbol=r"\mathcal{E}_{\mathrm{Bayes}}",
    assumes=MODEL,
    requires=(FINITE_SPIKE,),
    checks=("duranthon2026.bayes_estimator",),
    identities=lambda: (
        SpecialValue({L: 1}, "risk", 0, points=({"nu": 2},), options=SPIKED),
        Derivative("risk", nu, applied("duranthon2026.bayes-slope"), points=PLACES[:1], options=SPIKED),
        Equation(own("risk", nu=nu / 2, L=2), applied(BETWEEN, L=2), points=({"nu": 3}, {"nu": 8}), options=SPIKED),
        Ordering(own("risk"), applied(BETWEEN), points=PLACES, options=SPIKED),
        Ordering(applied(BETWEEN), applied("duranthon2026.linear-risk"), points=PLACES, options=SPIKED),
        Ordering(own("risk"), applied(BETWEEN), points=PLACES[:1], options=MAX),
        Ordering(applied(BETWEEN), applied("duranthon2026.linear-risk"), points=PLACES[:1], options=MAX),
        Ordering(
            own("risk"),
            applied("duranthon2026.manifold-risk", activation="softmax", m_kk=1, m_vv=1),
            points=PLACES,
            options=SPIKED,
        ),
    ),
    marks="DVG",
    notes=(
        "Equals 1 - E sum p^2 (Nishimori); declared through the posterior probability of wrong tokens, so that a "
        "risk of 1e-45 keeps all its digits.",
        "Decreasing in nu, increasing in L, between 0 and 1 - 1/L; for random L the mean of the fixed-L values.",
        "Spiked: the risk is twice the derivative of the mutual information in nu.",
        "L -> oo at fixed nu: L (1 - risk) -> exp(nu) in the spiked task, exp(nu^2) in the max task.",
    ),
)
def bayes_risk(m):
    """The posterior of the hidden position is p = softmax(c_nu chi*), c_nu = sqrt(nu) (spiked) or nu (max).

    The best estimate is sum_l p_l z*_l, since z* is independent of the position. Its risk is the mean
    posterior probability of the tokens that are not the hidden one: (L-1) E p_2 with token 1 hidden, or
    L (L-1) E p_1 p_2 in the max task, where the tokens themselves carry no mark.
    """
    return {"risk": m.delta**2 + task_of(m).bayes_risk()}


@proposition(
    "duranthon2026.softmax-optimality",
    title="Softmax attention attains the Bayes risk",
    source=Source("2509.21936", "Proposition 4.2"),
    given=(task, nu, L, delta),
    outputs={
        "risk": RISK,
        "bayes": RISK,
        "temperature": Output("the overlap m_kk = c_nu at which the weights are the posterior", UP_TO_INFINITY),
    },
    assumes=(*MODEL, "k = c_nu k* and v = v*"),
    needs={"bayes": "duranthon2026.bayes-risk", "manifold": "duranthon2026.manifold-risk"},
    requires=(FINITE_SPIKE,),
    checks=("duranthon2026.bayes_estimator", "duranthon2026_places.best_place"),
    identities=lambda: (
        Equation(own("risk"), own("bayes"), points=PLACES, options=SPIKED),
        Ordering(own("risk"), applied("duranthon2026.linear-risk"), points=PLACES, options=SPIKED),
    ),
    marks="DVG",
    notes=(
        "One choice of k serves every L at once, so a random length costs nothing.",
        "Normalised weights h/sum h attain the Bayes risk at some L >= 2, nu > 0 only if log h is affine.",
        "At nu = oo the risk is reached only as the temperature grows without bound.",
    ),
)
def softmax_optimality(m, *, bayes, manifold):
    """With k = c_nu k* softmax weights are the posterior itself, so the predictor is the Bayes estimator.

    The risk is computed as that of attention at the overlaps (c_nu, 1), not as the Bayes risk.
    """
    c_nu = task_of(m).c_nu
    if m.when(Eq(m.nu, oo)):
        return {"risk": bayes.at(m), "bayes": bayes.at(m), "temperature": c_nu}
    here = manifold.at(m, m_kk=c_nu, m_vv=1, activation="softmax")
    return {"risk": here, "bayes": bayes.at(m), "temperature": c_nu}
