"""Ridge regression in high dimension."""

from sympy import Abs, Ne, Or, Piecewise, sqrt

from theorem_engine import NONNEGATIVE, POSITIVE, Holds, Limit, Output, Source, notation, theorem
from theorem_engine.language.identity import Equation, Ordering, applied, own
from theorem_engine.registry.classics.notation import g, s2

var = notation("classics.ridge")
lam = var("lam", r"\lambda", "ridge penalty", NONNEGATIVE, typical=(0, 2))
r2 = var("r2", "r^2", "squared norm of the coefficients", POSITIVE, typical=(0.2, 3))
w = var("w", "w", "g - 1 + lam")
Delta = var("Delta", r"\Delta", "distance of the two roots of the equation for kappa", NONNEGATIVE)
kappa = var("kappa", r"\kappa", "effective penalty, the root of g/(1 + kappa) + lam/kappa = 1", NONNEGATIVE)
shrunk = var("shrunk", "b", "share of a coefficient that is shrunk away, kappa/(1 + kappa)", NONNEGATIVE)
spent = var("spent", "v", "effective degrees of freedom over samples, g/(1 + kappa)", NONNEGATIVE)
#: Where identities are tried.
PLACES = (
    {"g": "1.5", "lam": "0.2", "r2": 1, "s2": "0.3"},
    {"g": "0.7", "lam": "0.1", "r2": 2, "s2": 1},
    {"g": 2, "lam": "0.01", "r2": 1, "s2": "0.25"},
)


@theorem(
    "classics.ridge-risk",
    title="Risk of ridge regression on isotropic data",
    source=Source("hastie2022"),
    given=(g, lam, r2, s2),
    outputs={
        "risk": Output("squared distance of the estimate from the coefficients", NONNEGATIVE),
        "best_lam": Output("penalty that minimises the risk", NONNEGATIVE),
        "bias": Output("part of the risk that is there without noise", NONNEGATIVE),
        "variance": Output("part of the risk that the noise makes", NONNEGATIVE),
    },
    requires=(Holds(Or(lam > 0, Ne(g, 1)), "without penalty there are not as many coefficients as samples"),),
    assumes=(
        "coordinates of x are independent of mean zero and variance one, y = x.b + noise, |b|^2 = r2, in a random "
        "direction unless x is Gaussian",
        "the estimate minimises |y - X b|^2/n + lam |b|^2",
    ),
    regime=Limit(grows=("n", "p"), fixed=("p/n",), orders=(1,)),
    checks=("classics_regressions.ridge_risk", "classics_regressions.best_penalty"),
    identities=lambda: (
        Equation(
            own("risk"),
            lam**2 * r2 * applied("classics.marchenko-pastur", "slope", z=-lam)
            + s2 * g * applied("classics.marchenko-pastur", "m", z=-lam)
            - s2 * g * lam * applied("classics.marchenko-pastur", "slope", z=-lam),
            points=PLACES,
        ),
        Equation(
            own("risk", lam=s2 * g / r2), s2 * g * applied("classics.marchenko-pastur", "m", z=-s2 * g / r2),
            points=PLACES,
        ),
        Ordering(own("risk", lam=s2 * g / r2), own("risk"), points=PLACES),
        Equation(own("risk", lam=0), s2 * g / (1 - g), points=PLACES[1:2]),
    ),
    marks="DV",
    notes=(
        "risk = lam^2 r2 m' + s2 g (m - lam m') with the Stieltjes transform m of the Marchenko-Pastur law at -lam; "
        "the form used here has no cancellation at small penalties.",
        "lam -> 0: s2 g/(1 - g) for g < 1, r2 (1 - 1/g) + s2/(g - 1) for g > 1: double descent in g. At best_lam the "
        "risk is s2 g m(-best_lam) and rises with g.",
    ),
)  # fmt: skip
def ridge_risk(g, lam, r2, s2):
    """Excess prediction error of ridge regression, through the effective penalty kappa."""
    return {
        w: g - 1 + lam,
        # each in the form whose powers stay in double precision
        Delta: Piecewise((Abs(w) * sqrt(1 + 4 * lam / w**2), Abs(w) > 1), (sqrt(w**2 + 4 * lam), True)),
        kappa: Piecewise(((w + Delta) / 2, w > 0), (2 * lam / (Delta - w), True)),
        shrunk: kappa / (1 + kappa),
        spent: g / (1 + kappa),
        # 1 - g/(1 + kappa)^2 = Delta/(1 + kappa): nothing cancels where g is near one
        "risk": r2 * shrunk * (kappa / Delta) + s2 * (spent / Delta),
        "best_lam": s2 * g / r2,
        "bias": r2 * shrunk * (kappa / Delta),
        "variance": s2 * (spent / Delta),
    }
