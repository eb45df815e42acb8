"""Risk of the erf attention predictor: on the spheres, on the invariant manifold, at the oracle."""

from sympy import erf, exp, pi, sqrt

from theorem_engine import NONNEGATIVE, Output, Source, Total, corollary, proposition, theorem
from theorem_engine.language.identity import Derivative, Equation, Ordering, SpecialValue, applied, own, slope
from theorem_engine.registry.marion2025.notation import (
    GRAM,
    PRODUCTS,
    C,
    D,
    L,
    c,
    d,
    eps,
    eta,
    g,
    gamma,
    kappa,
    lam,
    nu,
    rho,
    s,
    tau,
    theta,
    var,
)

others = var("others", "n", "tokens that hold noise only", NONNEGATIVE)

MODEL = (
    "k* and v* are orthonormal; k and v have norm one",
    "tokens are Gaussian and independent; the place of the informative one is uniform",
)
RISK = Output("mean squared error, label noise included", NONNEGATIVE)
EXCESS = Output("mean squared error above that of the label noise", NONNEGATIVE)
#: The signal over the widening, c, in the letters of a query.
SIGNAL = lam * sqrt(d / 2) / sqrt(1 + 2 * lam**2 * gamma**2)
ABBREVIATIONS = {D: sqrt(d / 2), g: lam * gamma, s: sqrt(1 + 2 * g**2), tau: lam * D, c: tau / s}
#: Where identities are tried.
PLACES = ({"lam": "0.1", "gamma": 1, "d": 400, "L": 10}, {"lam": 1, "gamma": "0.5", "d": 20, "L": 3})
PAIRS = tuple({"kappa": x, "nu": y, **p} for p in PLACES for x, y in (("0.5", "0.3"), ("-0.2", "0.9"), (1, 1)))
FIVE = tuple({**p, "theta": "0.1", "eta": "-0.2", "rho": "0.05"} for p in PAIRS[:2])


@theorem(
    "marion2025.risk",
    title="Risk of erf attention as a function of five inner products",
    source=Source("2410.01537", "Theorem 1"),
    given=(*PRODUCTS, lam, gamma, d, L, eps),
    outputs={
        "risk": RISK,
        "excess": EXCESS,
        **{f"d_{x.name}": f"derivative of the risk in {x.name}" for x in PRODUCTS},
    },
    needs={"zeta": "gaussian.erf-square", "miss": "gaussian.erf-miss"},
    symbol=r"\mathcal{R}",
    assumes=MODEL,
    requires=(GRAM,),
    checks=("marion2025_reduced.conditional_risk", "marion2025.attention_risk", "marion2025.attention_gradient"),
    identities=lambda: (
        Equation(own("excess", kappa=-kappa, nu=-nu, theta=-theta, eta=-eta), own("excess"), points=FIVE),
        Equation(own("excess", theta=-theta, eta=-eta, rho=-rho), own("excess"), points=FIVE),
        Equation(slope("excess", nu, nu), 0, points=FIVE),
        Equation(own("risk") - own("excess"), eps**2, points=tuple({**p, "eps": "0.5"} for p in FIVE)),
    ),
    marks="DV",
    notes=(
        "A quadratic form in (theta, eta, rho) whose coefficients depend on kappa alone, and affine in nu.",
        "Invariant under (k, v) -> (-k, -v) and under (v, v*) -> (-v, -v*).",
    ),
)
def risk(m, *, zeta, miss):
    """Mean squared error of sum_l erf(lam X_l.k) X_l.v, exact at any d and L.

    The risk depends on k and v only through their inner products with k*, v* and each other. It is
    declared with miss = 1 - 2 erf(c kappa) + zeta, so that nothing cancels near the oracle.
    """
    e0, e1, e2 = (erf(c * kappa).diff(kappa, n) / c**n for n in range(3))
    m0, m1, m2 = (miss(tau * kappa, g).diff(kappa, n) / tau**n for n in range(3))
    own, other = zeta(tau * kappa, g), (L - 1) * zeta(0, lam)
    # the derivatives of zeta enter as those of miss: what is left over vanishes at the oracle by itself
    quadratic = (
        D**2 * own * theta**2
        + 2 * gamma**2 * lam * D * theta * (rho * m1 + (2 * rho - eta) * e1 / s)
        + gamma**4 * lam**2 * rho * (rho * m2 + 2 * (rho - eta) * e2 / s**2)
        + 2 * (L - 1) * C * D * e0 * theta * rho
        + (L - 1) * (lam**2 * zeta.dtt(0, lam) + (L - 2) * C**2 + 2 * C * lam * gamma**2 * e1 / s) * rho**2
    )
    return {
        **ABBREVIATIONS,
        C: 2 * lam / sqrt(pi * (1 + 2 * lam**2)),
        "risk": eps**2 + gamma**2 * (m0 + 2 * (1 - nu) * e0) + other + quadratic,
        "excess": gamma**2 * (m0 + 2 * (1 - nu) * e0) + other + quadratic,
        **{f"d_{x.name}": Total("excess", x) for x in PRODUCTS},
    }


@theorem(
    "marion2025.manifold-risk",
    title="Risk of erf attention on the invariant manifold",
    source=Source("2410.01537", "Theorem 1, in particular"),
    given=(kappa, nu, lam, gamma, d, L, eps),
    outputs={"risk": RISK, "excess": EXCESS},
    needs={"risk": "marion2025.risk"},
    assumes=(*MODEL, "v is orthogonal to k*, k to v*, and k to v"),
    checks=("marion2025_reduced.conditional_risk", "marion2025.attention_risk"),
    identities=lambda: (
        Derivative(
            "excess",
            kappa,
            2
            * gamma**2
            * SIGNAL
            * (2 / sqrt(pi) * exp(-((SIGNAL * kappa) ** 2)))
            * (erf(SIGNAL * kappa / sqrt(1 + 4 * lam**2 * gamma**2)) - nu),
            points=PAIRS,
        ),
        Derivative("excess", nu, -2 * gamma**2 * erf(SIGNAL * kappa), points=PAIRS),
        Equation(own("excess", kappa=-kappa, nu=-nu), own("excess"), points=PAIRS),
        SpecialValue(
            {kappa: 0},
            "excess",
            gamma**2 * (1 + applied("gaussian.erf-square", t=0, g=lam * gamma))
            + (L - 1) * applied("gaussian.erf-square", t=0, g=lam),
            points=PAIRS,
        ),
        Ordering(applied("marion2025.oracle-risk", "excess"), own("excess"), points=PAIRS[:2] + PAIRS[3:5]),
    ),
    marks="DV",
)
def manifold_risk(m, *, risk):
    """The risk where k sees only k* and v only v*: theta = eta = rho = 0."""
    return {name: getattr(risk, name).at(m, theta=0, eta=0, rho=0) for name in ("risk", "excess")}


@corollary(
    "marion2025.oracle-risk",
    title="Risk of the oracle, k = k* and v = v*",
    source=Source("2410.01537", "Corollary 2"),
    given=(lam, gamma, d, L, eps),
    outputs={"risk": RISK, "excess": EXCESS},
    needs={"manifold": "marion2025.manifold-risk"},
    assumes=MODEL,
    checks=("marion2025_reduced.conditional_risk", "marion2025.attention_risk"),
    identities=lambda: (
        Equation(
            own("excess"),
            gamma**2 * applied("gaussian.erf-miss", t=lam * sqrt(d / 2), g=lam * gamma)
            + (L - 1) * applied("gaussian.erf-square", t=0, g=lam),
            points=PLACES,
        ),
        Ordering((L - 1) * applied("gaussian.erf-square", t=0, g=lam), own("excess"), points=PLACES),
        Ordering(
            own("excess"),
            applied("marion2025.linear-risk", "excess"),
            box={"lam": ("0.08", "0.12"), "gamma": ("0.9", "1.1"), "d": 400, "L": 10},
        ),
    ),
    marks="DV",
    notes=("The excess vanishes as d grows if lam sqrt(d) -> oo and lam sqrt(L) -> 0, possible iff L = o(d).",),
)
def oracle_risk(m, *, manifold):
    """What erf attention reaches with perfect parameters: the miss of its own token and the others' noise."""
    return {name: getattr(manifold, name).at(m, kappa=1, nu=1) for name in ("risk", "excess")}


@proposition(
    "marion2025.linear-risk",
    title="Risk of the best linear predictor",
    source=Source("2410.01537", "Proposition 3"),
    given=(gamma, L, eps),
    outputs={"risk": RISK, "excess": EXCESS, "coefficient": "multiple of v* applied to every token"},
    assumes=MODEL,
    checks=("marion2025.best_linear_risk",),
    identities=lambda: (
        SpecialValue({L: 1}, "excess", 0, points=({"gamma": 1},)),
        Equation(
            own("excess"),
            gamma**2 * (1 - own("coefficient")) ** 2 + (L - 1) * own("coefficient") ** 2,
            points=({"gamma": 1, "L": 10}, {"gamma": "0.3", "L": 2}),
        ),
        Ordering(own("excess"), gamma**2, box={"gamma": ("0.1", 3), "L": 10}),
    ),
    marks="DV",
    notes=("Independent of d; an intercept does not help, since the means are along k*, orthogonal to v*.",),
)
def linear_risk(gamma, L, eps):
    """The best linear function of all tokens gives each the same multiple of v*: it cannot choose."""
    # a letter of its own: beside a small gamma^2 a sum with L would leave nothing of it, or less
    coefficient = gamma**2 / (gamma**2 + others)
    excess = others * coefficient
    return {others: L - 1, "risk": eps**2 + excess, "excess": excess, "coefficient": coefficient}
