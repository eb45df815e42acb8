"""Risks of linear attention and of the best element-wise activation, minimised in closed form."""

from sympy import cosh, exp, log, oo, sqrt

from theorem_engine import GaussianMean, Interval, LengthMean, Output, Source, corollary
from theorem_engine.registry.duranthon2026.notation import (
    MODEL,
    ON_MANIFOLD,
    RISK,
    L,
    delta,
    length,
    mu,
    n,
    n_2,
    nu,
    task,
    x,
)
from theorem_engine.registry.duranthon2026.tasks import ARGMAX, FINITE_SPIKE, task_of

#: Where an infimum is a limit, the overlaps grow without bound on the way to it, of either sign.
ANY_SIZE = Interval(-oo, oo, left_open=False, right_open=False)
MINIMISER = {
    "m_kk": Output("minimising overlap k.k*/D; infinite where the infimum is a limit", ANY_SIZE),
    "m_vv": Output("minimising overlap v.v*/D; infinite where the infimum is a limit at vanishing weights", ANY_SIZE),
}


@corollary(
    "duranthon2026.linear-risk",
    title="Minimal risk of linear attention, weights 1 + chi",
    source=Source("2509.21936", "Corollary 4.2", guessed=True),
    given=(task, nu, L, delta),
    outputs={"risk": RISK, **MINIMISER},
    assumes=(*MODEL, ON_MANIFOLD),
    requires=(FINITE_SPIKE,),
    checks=("duranthon2026.best_linear_estimator", "duranthon2026_places.best_linear_place"),
    marks="DVG",
    notes=(
        "Spiked, nu -> oo: the risk is E[L]/nu to first order. Neither L/(L-1)/nu nor (L-1)/nu, which circulate, is "
        "right: the first is the constant of 1/risk, the second belongs to the centred weights 1/L + chi - mean chi.",
        "Max, nu -> oo: the risk tends to 1 - (1 + M_L^2)/L with M_L the mean maximum of L normals: no decay.",
        "nu fixed, L -> oo: L (1 - risk) tends to 1 + nu (spiked) and 1 + nu^2 (max), the first terms of exp(c_nu^2).",
        "Small nu: 1 - 1/L - nu (L-1)^2/L^3 in the spiked task, with nu^2 for nu in the max task.",
    ),
)
def linear_risk(m):
    """Weights 1 + chi_l with chi = a chi*: S and Q are polynomials in a, and the best a is explicit.

    Only the mean length and, in the max task, the mean mu of chi* at the hidden position enter; mu is
    nu times the Bayes risk by Stein's identity.
    """
    task = task_of(m)
    if task.is_marked:
        slope = sqrt(nu) * (length - 1) / length
        weight = 1 + slope * sqrt(nu)
        return {
            length: LengthMean(L, L),
            "risk": delta**2 + length * (length - 1) / (length**2 + nu * (length - 1)),
            "m_kk": slope,
            "m_vv": weight / (length * (1 + slope**2) - 1 + weight**2),
        }
    return {
        length: LengthMean(L, L),
        mu: task.lead(),
        "risk": delta**2 + ((length - 1) - mu**2) / length,
        "m_kk": mu,
        "m_vv": 1 / length,
    }


@corollary(
    "duranthon2026.element-wise-bound",
    title="Smallest risk of any element-wise activation",
    source=Source("2509.21936", "Corollary 4.1", guessed=True),
    given=(task, nu, L, delta),
    outputs={"risk": RISK},
    symbol=r"\mathcal{E}_{\mathrm{ew}}",
    assumes=(*MODEL, ON_MANIFOLD),
    requires=(FINITE_SPIKE,),
    checks=("duranthon2026.element_wise_estimator",),
    marks="DVG",
    notes=(
        "Spiked: the best weight is the sigmoid of sqrt(nu) chi* - nu/2 - log(E[L] - 1).",
        "Bayes risk <= this <= the minimal risks of linear and erf attention; the first gap is E sum Var(p_l | chi_l).",
        "Spiked, nu -> oo: sqrt(E[L]-1) sqrt(pi/(2 nu)) exp(-nu/8): without normalisation half the exponent is lost.",
        "L = 2, spiked: equal to the Bayes risk at nu/2, so normalisation is worth exactly a factor 2 in nu.",
        "Max, nu = oo: (L-1)/(2L-1), which tends to 1/2.",
    ),
)
def element_wise_bound(m):
    """The best weight of a token given only its own score is the posterior probability given that score.

    Its risk is one minus the mean square of that probability, summed over tokens. In the max task the
    probability is L pi_L(chi*), pi_L(y) being the mean of the softmax weight of a token whose score is y.
    """
    task, known = task_of(m), {length: LengthMean(L, L)}
    if task.is_marked:
        # for a single token the logarithm is infinite and the whole vanishes, as it should
        balance = 1 / (2 * cosh((sqrt(nu) * x - log(length - 1)) / 2))
        return {**known, "risk": delta**2 + sqrt(length - 1) * exp(-nu / 8) * GaussianMean(balance, x)}
    if task is ARGMAX:
        overlap = LengthMean(LengthMean(n * n_2 / (n + n_2 - 1), L, n), L, n_2)
    else:
        overlap = GaussianMean(task.density(x) ** 2, x)
    return {**known, "risk": delta**2 + 1 - overlap / length}
