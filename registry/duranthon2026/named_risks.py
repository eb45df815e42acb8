"""Minimal risks of erf and of normalised softplus attention under their own names."""

from sympy import Integer, true

from theorem_engine import ABSENT, REAL, Source, result
from theorem_engine.language.unchecked import Unchecked
from theorem_engine.registry.duranthon2026.minimal import OUTPUTS
from theorem_engine.registry.duranthon2026.notation import (
    MODEL,
    ON_MANIFOLD,
    L,
    Q,
    S,
    delta,
    nu,
    shift,
    task,
    var,
)
from theorem_engine.registry.duranthon2026.tasks import FINITE_SPIKE, task_of
from theorem_engine.registry.duranthon2026.weights import moments, weights_of

m_kk = var("m_kk", "m_{kk}", "overlap k.k*/D; the best one if left out", REAL, default=ABSENT, typical=(0, 3))


def _risk(m, name, minimal, miss=None):
    """At a given slope with the best v, or at the best slope."""
    if m.m_kk is None:
        return {output: getattr(minimal, output).at(m, activation=name) for output in OUTPUTS}
    here = task_of(m)
    weights = weights_of(m, here, name)
    found = moments(here, weights, m_kk, 0, miss)
    outputs = {"m_kk": m_kk, "m_vv": S / Q, "shift": getattr(weights, "shift", Integer(0)), "attained": true}
    return {**found.definitions, "risk": delta**2 + found.risk, **outputs}


@result(
    "duranthon2026.erf-risk",
    title="Risk of erf attention, weights 1 + erf(shift + chi)",
    source=Source("2509.21936", "Section 4", guessed=True),
    given=(task, nu, L, m_kk, shift, delta),
    outputs=OUTPUTS,
    assumes=(*MODEL, ON_MANIFOLD, "k is a multiple of k* and v of v*"),
    needs={"minimal": "duranthon2026.minimal-risk", "miss": "gaussian.erf-miss"},
    requires=(FINITE_SPIKE,),
    checks=(
        "duranthon2026.best_erf",
        "duranthon2026_places.best_erf_place",
        Unchecked("attained", because="says whether m_kk is finite, which is measured where it is"),
    ),
    marks="DV",
    notes=(
        "Only the mean length matters in the spiked task, as for every element-wise activation.",
        "Max, nu = oo, L = 2: the optimum is shift 0, m_kk = 1/sqrt(2), and the risk is 1/3.",
        "With shift 0 erf can be worse than linear attention (spiked, L = 10, nu = 5: 0.7706 against 0.6207).",
        "The best shift drifts to minus infinity as L grows at fixed nu, towards the element-wise exponential.",
        "Spiked, nu -> oo: 1.000918 times the best element-wise risk (probit against logistic).",
    ),
)
def erf_risk(m, *, minimal, miss):
    """1 - S^2/Q with S and Q in closed form (spiked) or over the law of chi* at the hidden position (max).

    Minimised over the slope unless m_kk is given, and then over the shift too unless it is given.
    """
    return _risk(m, "erf", minimal, miss)


@result(
    "duranthon2026.softplus-risk",
    title="Risk of attention with normalised softplus weights",
    source=Source("2509.21936", "Section 4", guessed=True),
    given=(task, nu, L, m_kk, delta),
    outputs=OUTPUTS,
    assumes=(*MODEL, ON_MANIFOLD, "k is a multiple of k* and v of v*"),
    needs={"minimal": "duranthon2026.minimal-risk"},
    requires=(FINITE_SPIKE,),
    checks=(
        "duranthon2026.best_softplus",
        "duranthon2026_places.best_softplus_place",
        Unchecked("shift", because="a letter of the family that normalised weights do not have: always zero"),
        Unchecked("attained", because="says whether m_kk is finite, which is measured where it is"),
    ),
    marks="DV",
    notes=(
        "Spiked, nu -> oo: 0.83416 (L-1)/nu, approached slowly: a power law in spite of the normalisation, because "
        "the kernel grows linearly and not exponentially.",
        "Max, nu = oo: the infimum is reached as m_kk -> oo; L = 2: 1 - (7/8 + log(2)/(4 pi))^2/(3/4 + 1/(2 pi)).",
        "Better than erf at L = 2 and 3, worse at L = 10 (spiked, nu = 5).",
    ),
)
def softplus_risk(m, *, minimal):
    """Normalisation alone is not enough: the weights are softplus(chi) over their sum."""
    return _risk(m, "softplus", minimal)
