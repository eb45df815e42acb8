"""Sparse signals from few equations: the lasso, and where minimising the absolute sum recovers exactly."""

from sympy import Lt, Rational, Symbol, erf, sqrt

from theorem_engine import (
    NONNEGATIVE,
    POSITIVE,
    REAL,
    Exceeds,
    Holds,
    Interval,
    Limit,
    Output,
    Root,
    Search,
    Source,
    mills,
    normal_cdf,
    normal_pdf,
    notation,
    theorem,
)
from theorem_engine.language.identity import Ordering, own

var = notation("classics.sparse")
UNIT = Interval(0, 1, True, True)
delta = var("delta", r"\delta", "equations over unknowns, n/N", POSITIVE, typical=(0.3, 1.5))
rho = var("rho", r"\rho", "share of nonzero entries among all N", UNIT, typical=(0.02, 0.4))
s2 = var("s2", r"\sigma^2", "variance of the noise", POSITIVE, typical=(0.001, 0.5))
theta = var("theta", r"\theta", "threshold in units of tau", Interval(0, 10**6), typical=(1, 2.5))
tau = var("tau", r"\tau", "standard deviation of what is thresholded", POSITIVE)
mu = var("mu", r"\mu", "size of a nonzero entry in units of tau", POSITIVE)
r0 = var("r0", "r_0", "squared error at a zero entry in units of tau^2", NONNEGATIVE)
active = var("active", "a", "share of nonzero entries of the estimate", NONNEGATIVE)

few = var("delta", r"\delta", "equations over unknowns, n/N", UNIT, typical=(0.05, 0.95))
z = var("z", "z", "threshold of the estimate at the transition", POSITIVE)


def error_of_zero(threshold):
    """E of the squared soft-thresholded standard normal variable."""
    return 2 * ((1 + threshold**2) * normal_cdf(-threshold) - threshold * normal_pdf(threshold))


def mean_square(tau, mu, r0):
    """Mean squared error of soft thresholding at theta tau, entries zero or one, noise tau; mu is 1/tau."""
    killed = normal_cdf(theta - mu) - normal_cdf(-theta - mu)
    kept = normal_cdf(mu - theta) + normal_cdf(-theta - mu)
    of_one = (
        tau**2 * (1 + theta**2) * kept
        + killed
        - tau**2 * theta * (normal_pdf(theta + mu) + normal_pdf(theta - mu))
        - tau * (normal_pdf(theta - mu) - normal_pdf(theta + mu))
    )
    return (1 - rho) * tau**2 * r0 + rho * of_one


#: The state is never above this: the error of an entry one is below one plus that of an entry zero.
CEILING = sqrt((s2 + rho / delta) / (1 - error_of_zero(theta) / delta))


@theorem(
    "classics.lasso",
    title="Error of the lasso on a sparse signal",
    source=Source("bayati2012"),
    given=(delta, rho, s2, theta),
    outputs={
        "tau": Output("standard deviation of what is thresholded", POSITIVE),
        "lam": Output("penalty that gives this threshold; negative where no lasso does", REAL),
        "mse": Output("squared error |xhat - x|^2/N", NONNEGATIVE),
        "active": Output("share of nonzero entries of the estimate", Interval(0, 1)),
    },
    requires=(
        Holds(Lt(error_of_zero(theta), delta), "theta is above the least threshold, where noise sustains itself"),
    ),
    recipe={tau: Search(sqrt(s2) / 2, 2 * CEILING)},
    assumes=(
        "y = A x + noise, A is n by N with independent N(0, 1/n) entries",
        "entries of x are zero but for a share rho, which are one or minus one",
        "the estimate minimises |y - A x|^2/2 + lam |x|_1",
    ),
    regime=Limit(grows=("N", "n"), fixed=("n/N",), orders=(1,)),
    warns=(
        Exceeds(
            lambda view: -Symbol("lam"),
            lambda view: Rational(0),
            "lam is {number} below zero: a fixed point of state evolution, but of no lasso; take a larger theta",
            "where lam is negative the numbers are a fixed point of state evolution, but of no lasso",
            outputs=("lam",),
        ),
    ),
    checks=("classics_sparse.lasso",),
    marks="DV",
    notes=(
        "tau^2 = s2 + mse/delta has one root for each theta above its least value, since mse is concave in tau^2. lam "
        "rises from below zero to infinity with theta.",
        "theta -> oo: the estimate is zero, mse = rho, lam = theta tau.",
        "Found by Donoho, Maleki and Montanari (2009); the source named proves it.",
    ),
)  # fmt: skip
def lasso(delta, rho, s2, theta):
    """The lasso is soft thresholding of the signal in Gaussian noise, whose size accounts for its own error."""
    balance = (s2 + mean_square(tau, 1 / tau, error_of_zero(theta)) / delta) / tau**2 - 1
    return {
        tau: Root(balance, tau),
        mu: 1 / tau,
        r0: error_of_zero(theta),
        active: 2 * (1 - rho) * normal_cdf(-theta) + rho * (normal_cdf(mu - theta) + normal_cdf(-theta - mu)),
        "tau": tau,
        "lam": theta * tau * (1 - active / delta),
        "mse": mean_square(tau, mu, r0),
        "active": active,
    }


@theorem(
    "classics.l1-transition",
    title="Where the least absolute sum recovers a sparse signal",
    source=Source("donoho2009"),
    given=(few,),
    outputs={
        "rho": Output("largest share of nonzeros over equations, k/n", Interval(0, 1)),
        "z": Output("threshold at the transition", POSITIVE),
    },
    recipe={z: Search(Rational(1, 10**9), Rational(75, 2))},
    assumes=("A is n by N Gaussian; x has k nonzeros; |x|_1 is minimised subject to A x = y",),
    regime=Limit(grows=("N", "n", "k"), fixed=("n/N", "k/n"), orders=(1,)),
    checks=("classics_sparse.statistical_dimension",),
    identities=lambda: (Ordering(own("rho"), 1, points=({"delta": "0.5"}, {"delta": "0.9"})),),
    marks="DV",
    notes=(
        "delta = 2 phi(z)/(z + 2 phi(z) - 2 z Phi(-z)) and rho = 1 - z Phi(-z)/phi(z). With e = rho delta the same as "
        "delta = min over z of e (1 + z^2) + 2 (1 - e) ((1 + z^2) Phi(-z) - z phi(z)).",
        "delta -> 1: rho -> 1; delta -> 0: rho ~ 1/(2 log(1/delta)). The transition has width N^(-1/2).",
    ),
)
def l1_transition(delta):
    """Below a sharp share of nonzeros the sparse signal is recovered with probability one, above it with none."""
    # the first equation of the notes without its cancellations
    return {z: Root(delta * z * erf(z / sqrt(2)) / normal_pdf(z) - 2 * (1 - delta), z), "rho": 1 - z * mills(z), "z": z}
