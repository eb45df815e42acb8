"""Letters of single-location regression with the erf attention layer (arXiv 2410.01537).

L tokens in R^d; one of them, at a hidden place, is shifted by sqrt(d/2) k* and carries the answer
X.v*; the others are noise. The predictor is sum_l erf(lam X_l.k) X_l.v with unit vectors k and v.
"""

from sympy import Matrix

from theorem_engine import ABSENT, NONNEGATIVE, POSITIVE, Integers, Interval, PositiveSemidefinite, notation

var = notation(
    "marion2025",
    conventions=(
        "gamma is the standard deviation of the informative token, lam the inverse temperature of the erf, nu an inner "
        "product; other papers use gamma for a ridge penalty and nu for the strength of a signal.",
        "k*, v*, k and v are unit vectors; the informative token is shifted by sqrt(d/2) k*.",
    ),
)
UNIT = Interval(-1, 1)

kappa = var("kappa", r"\kappa", "inner product of k and k*", UNIT)
nu = var("nu", r"\nu", "inner product of v and v*", UNIT)
theta = var("theta", r"\theta", "inner product of v and k*", UNIT)
eta = var("eta", r"\eta", "inner product of k and v*", UNIT)
rho = var("rho", r"\rho", "inner product of k and v", UNIT)
PRODUCTS = (kappa, nu, theta, eta, rho)

lam = var("lam", r"\lambda", "inverse temperature of the erf", POSITIVE, typical=(0.01, 3))
gamma = var("gamma", r"\gamma", "standard deviation of the informative token", POSITIVE, typical=(0.1, 3))
d = var("d", "d", "dimension of a token", Integers(2), typical=(4, 1000))
L = var("L", "L", "tokens in a sequence", Integers(1), typical=(1, 30))
eps = var("eps", r"\varepsilon", "standard deviation of the label noise", NONNEGATIVE, default=0, typical=(0, 1))

D = var("D", "D", "length sqrt(d/2) of the shift of the informative token", POSITIVE)
g = var("g", "g", "noise of the informative token inside the erf", POSITIVE)
s = var("s", "s", "widening of the erf by that noise, squared 1 + 2 g^2", POSITIVE)
tau = var("tau", r"\tau", "signal inside the erf at perfect alignment", POSITIVE)
c = var("c", "c", "signal over the widening", POSITIVE)
C = var("C", "C", "mean of the product erf(lam X.k) X.k for a noise token", POSITIVE)

GRAM = PositiveSemidefinite(
    Matrix([[1, 0, kappa, theta], [0, 1, eta, nu], [kappa, eta, 1, rho], [theta, nu, rho, 1]]),
    "the Gram matrix of (k*, v*, k, v)",
)

alpha = var("alpha", r"\alpha", "step size", POSITIVE, typical=(0.0005, 0.02))
schedule = var("schedule", r"\delta", "rate of decay of lam: lam_t = lam / (1 + schedule t)", NONNEGATIVE, default=0,
               typical=(0, 0.001))  # fmt: skip
steps = var("steps", "n", "number of steps", Integers(0, 10_000_000), typical=(0, 300))
time = var("time", "t", "length of time", NONNEGATIVE, typical=(0, 0.005))
trajectory = var("trajectory", "m", "log every so many steps (of a flow: at so many equal pieces of its time)",
                 Integers(1, 10_000_000), default=ABSENT, typical=(1, 100))  # fmt: skip
step = var("step", "t", "number of the step, from zero")
