"""Letters of single-location regression with softmax attention and its rivals (arXiv 2509.21936).

L tokens x_l in R^D, a hidden position eps, a label y = x_eps.v*/sqrt(D) plus noise. Each token is seen
through chi*_l = x_l.k*/sqrt(D) and z*_l = x_l.v*/sqrt(D), and, by the predictor sum_l sigma_l z_l, through
chi_l = x_l.k/sqrt(D) and z_l = x_l.v/sqrt(D). In the spiked task the hidden token is shifted so that
chi*_eps has mean sqrt(nu); in the max task all tokens are standard normal and eps is drawn from
softmax(nu chi*), from the argmax if nu is infinite.
"""

import math

from sympy import Matrix, Piecewise, Rational, Symbol, exp

from theorem_engine import (
    ABSENT,
    NONNEGATIVE,
    REAL,
    Activation,
    Choice,
    ElementWise,
    Interval,
    Lengths,
    Normalised,
    OnlyWith,
    Output,
    PositiveSemidefinite,
    notation,
    softplus,
)

var = notation(
    "duranthon2026",
    conventions=(
        "nu is the strength of the signal; Delta is the standard deviation of the label noise, Delta^2 its variance.",
        "k* and v* have squared norm D, the dimension; overlaps are inner products over D.",
        "epsilon is the position of the hidden token, not a noise.",
    ),
)

task = var("task", r"\mathrm{task}", "how the hidden position is tied to the tokens", Choice(("spiked", "max")))
nu = var("nu", r"\nu", "strength of the signal", Interval(0, math.inf, right_open=False), typical=(0, 8))
L = var("L", "L", "tokens in a sequence, a number or a distribution", Lengths(), typical=(1, 20))
delta = var("delta", r"\Delta", "standard deviation of the label noise", NONNEGATIVE, default=0, typical=(0, 1))

chi = Symbol("chi", real=True)

#: Activations known by name; None where the weights are not one function of the score.
ACTIVATIONS = {
    "softmax": Normalised(exp(chi)),
    "linear": ElementWise(1 + chi),
    "centred-linear": None,
    "erf": None,
    "softplus": Normalised(softplus(chi)),
    "element-wise-optimal": None,
    "sigmoid": ElementWise(exp(-softplus(-chi))),
    "relu": Normalised(Piecewise((chi, chi > 0), (0, True)), breaks=(0,)),
    "tanh": Normalised(exp(2 * chi - softplus(2 * chi))),
    "softmax-plus-one": Normalised(exp(chi), extra=1),
}
activation = var("activation", r"\sigma", "how scores become weights", Activation.of(ACTIVATIONS))
shift = var("shift", "c", "shift inside 1 + erf(shift + chi)", REAL, default=ABSENT, typical=(-2, 1))
SHIFT_RULES = (OnlyWith("shift", "activation", ("erf",), required=False),)
drop = var("drop", "b", "how far the shift lies below the largest of use, searched over", NONNEGATIVE)
c = var("c", "c", "shift inside 1 + erf(c + chi), searched over", REAL)

m_kk = var("m_kk", "m_{kk}", "overlap k.k*/D", REAL, typical=(-2, 2))
m_kv = var("m_kv", "m_{kv}", "overlap k.v*/D", REAL, typical=(-1, 1))
m_vk = var("m_vk", "m_{vk}", "overlap v.k*/D", REAL, typical=(-1, 1))
m_vv = var("m_vv", "m_{vv}", "overlap v.v*/D", REAL, typical=(-2, 2))
q_kk = var("q_kk", "q_{kk}", "squared norm k.k/D", NONNEGATIVE, typical=(0, 6))
q_vv = var("q_vv", "q_{vv}", "squared norm v.v/D", NONNEGATIVE, typical=(0, 6))
q_kv = var("q_kv", "q_{kv}", "overlap k.v/D", REAL, typical=(-1, 1))
ORDER = (m_kk, m_kv, m_vk, m_vv, q_kk, q_vv, q_kv)

GRAM = PositiveSemidefinite(
    Matrix([[1, 0, m_kk, m_vk], [0, 1, m_kv, m_vv], [m_kk, m_kv, q_kk, q_kv], [m_vk, m_vv, q_kv, q_vv]]),
    "the Gram matrix of (k*, v*, k, v)",
)

#: A letter of its own: a small difference of large numbers is rounded once.
rest = var("rest", r"\bar R_{kk}", "what k* does not see of k.k/D, q_kk - m_kk^2", NONNEGATIVE)
#: A rest of k that is a difference of equal numbers to rounding.
ROUNDED = q_kk * (1 - Rational(1, 10**15)) <= m_kk**2


def is_near(steepness):
    """A rest of k so small that its square is rounding, in the unit in which scores move the weights."""
    return q_kk * (1 - Rational(1, 10**14)) - m_kk**2 <= Rational(1, 10**10 * steepness)


# quantities of a token and of its weights
x = var("x", "x", "a token's standard normal score", REAL)
z = var("z", r"\zeta", "the part of a token's score that k* does not see, standardised", REAL)
y = var("y", "y", "a score that is held fixed", REAL)
n = var("n", "n", "a length drawn from the distribution of L", Lengths())
n_2 = var("n_2", "n'", "another one, independent of the first", Lengths())
p = var("p", "p", "posterior probability that this token is the hidden one", Interval(0, 1))
p_2 = var("p_2", "p'", "posterior probability given the score of one token", Interval(0, 1))
sigma = var("sigma", r"\sigma", "weight the predictor gives this token", REAL)
S = var("S", "S", "mean weight of the hidden token", REAL)
U = var("U", "U", "mean weight of all other tokens together", REAL)
Q = var("Q", "Q", "mean sum of squared weights", NONNEGATIVE)
N = var("N", "N", "mean squared distance of the weights from the hidden position", NONNEGATIVE)
V = var("V", "V", "variance of the hidden token's weight plus the mean square of all others", NONNEGATIVE)
length = var("length", r"\bar L", "mean length", NONNEGATIVE)
mu = var("mu", r"\bar\mu", "mean of chi* at the hidden position in the max task", REAL)
slope = var("m", "m", "slope of the scores, searched over", REAL)
reached = var("reached", "r", "one where the search ends at a minimum, zero where it follows a limit", Interval(0, 1))

lowest = var("lowest", r"\underline{\mathcal{E}}", "lowest risk at slopes that were looked at", NONNEGATIVE)
hard = var("hard", r"\mathcal{E}_\infty", "limit of the risk as the slope grows without bound", NONNEGATIVE)
weak = var("weak", "c_0", "best shift of erf in the limit of a weak signal, or the nearest that is looked at", REAL)
gentle = var("gentle", "m_0", "best slope of erf to first order in a weak signal", REAL)
faint = var("faint", "N", "square of the best slope's order, which the weights of a weak signal expand in", NONNEGATIVE)
#: Overlaps and thresholds that may be infinite.
UP_TO_INFINITY = Interval(0, math.inf, right_open=False)
RISK = Output("mean squared error, label noise included", NONNEGATIVE)
MODEL = (
    "tokens are standard Gaussian but for the shift of the hidden one in the spiked task",
    "k* and v* are orthogonal with squared norm D; the label noise is independent",
)
ON_MANIFOLD = "k.v* = v.k* = k.v = 0"
