"""Online learning of a two-layer network in the limit of many inputs."""

from sympy import Le, asin, pi, sqrt

from theorem_engine import NONNEGATIVE, POSITIVE, REAL, Flow, Holds, Interval, Limit, Output, Source, notation, theorem

var = notation("classics.online")
R = var("R", "R", "inner product of student and teacher at the start", REAL, typical=(-0.3, 0.5))
Q = var("Q", "Q", "squared norm of the student at the start", POSITIVE, typical=(0.3, 1))
eta = var("eta", r"\eta", "learning rate", Interval(0, 100, left_open=True), typical=(0.3, 3.5))
time = var("time", "t", "steps over dimension", Interval(0, 1000), typical=(0.2, 3))
T = var("T", "T", "squared norm of the teacher", POSITIVE, default=1, typical=(0.5, 2))
s2 = var("s2", r"\sigma^2", "variance of the label noise", NONNEGATIVE, default=0, typical=(0, 0.3))


def half_error(R, Q, T):
    """Half the mean squared distance of the two units, without noise."""
    cross = asin(R / sqrt((1 + Q) * (1 + T)))
    return (asin(Q / (1 + Q)) + asin(T / (1 + T)) - 2 * cross) / pi


def rates(R, Q, T, eta, s2):
    """How the two products move: terms in eta by the mean gradient, in eta^2 by its spread."""
    mixed, single = sqrt((1 + Q) * (1 + T) - R**2), sqrt(1 + 2 * Q)
    both = (1 + 2 * Q) * (1 + T) - 2 * R**2
    spread = asin((both - 1 - 2 * Q) / both) - 2 * asin(R / sqrt((1 + 3 * Q) * both)) + asin(Q / (1 + 3 * Q))
    return {
        R: 2 * eta / pi * ((T * (1 + Q) - R**2) / mixed - R / single) / (1 + Q),
        Q: 4 * eta / pi * (R / mixed - Q / single) / (1 + Q)
        + 4 * eta**2 / (pi**2 * single) * spread
        + 2 * eta**2 * s2 / (pi * single),
    }


@theorem(
    "classics.saad-solla",
    title="Online gradient descent of an erf unit",
    source=Source("saad1995"),
    given=(R, Q, eta, time, T, s2),
    outputs={
        "R": Output("inner product of student and teacher at the end", REAL),
        "Q": Output("squared norm of the student at the end", NONNEGATIVE),
        "risk": Output("half the mean squared error without noise", NONNEGATIVE),
    },
    requires=(Holds(Le(R**2, Q * T), "an inner product is at most the product of the norms"),),
    assumes=(
        "one student and one teacher unit erf(x/sqrt(2)); inputs are standard normal and fresh at each step",
        "the step is eta/N times the gradient of half the squared error",
    ),
    regime=Limit(grows=("N",), orders=(1,), words="N -> oo at fixed time", correction="of order 1/N"),
    checks=("classics_dynamics.online_descent",),
    marks="DV",
    notes=(
        "R = Q = T is a fixed point without noise, stable below eta = pi sqrt((1 + 4 T)/(1 + 2 T)), which is 4.05578 "
        "at T = 1; above, the risk settles at a finite value.",
        "The case of one unit of each; the paper has any numbers. Proved by Goldt and others (2019).",
    ),
)
def saad_solla(m):
    """Two inner products close the dynamics of a student that learns a teacher from a stream of samples."""
    law = Flow.of(rates(R, Q, T, eta, s2), None, time, readings=(half_error(R, Q, T),))
    return {"R": law.at(R), "Q": law.at(Q), "risk": law.reading()}
