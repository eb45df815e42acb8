"""Deep and wide networks: linear modes in time, signals in depth."""

from sympy import Eq, Integral, Or, Rational, exp, pi, sqrt, tanh

from theorem_engine import (
    NONNEGATIVE,
    POSITIVE,
    Choice,
    GaussianMean,
    Holds,
    Interval,
    Limit,
    Output,
    Root,
    Search,
    Source,
    expm1,
    notation,
    result,
)

var = notation("classics.networks")
s = var("s", "s", "singular value of the target", NONNEGATIVE, typical=(0.1, 3))
u0 = var("u0", "u_0", "strength of the mode at the start", POSITIVE, typical=(0.001, 1))
time = var("time", "t", "time of the flow", NONNEGATIVE, typical=(0, 3))
nonlinearity = var("nonlinearity", "f", "nonlinearity of a layer", Choice(("tanh", "erf")))
sb2 = var("sb2", r"\sigma_b^2", "variance of a bias", Interval(0, 10**4), typical=(0.001, 2))
q = var("q", "q", "variance of a neuron's input", NONNEGATIVE)
sw2 = var("sw2", r"\sigma_w^2", "variance of a weight times the width", POSITIVE)
Z = var("Z", "Z", "a standard normal variable")
y = var("y", "y", "share of q, integrated over")


@result(
    "classics.deep-linear-mode",
    title="Learning of one mode by a two-layer linear network",
    source=Source("saxe2014"),
    given=(s, u0, time),
    outputs={"u": Output("strength of the mode, the product of both layers", POSITIVE)},
    assumes=(
        "inputs are white; gradient flow on |S - W2 W1|^2/2 with unit rates",
        "both layers start aligned with the mode and equally strong",
    ),
    checks=("classics_dynamics.linear_network",),
    marks="AV",
    notes=(
        "u' = 2 u (s - u): a plateau of length log(s/u0)/(2 s), then a sigmoid to the stable point s; u0 > s decays "
        "to s. At s = 0 the decay is algebraic, u0/(1 + 2 u0 t).",
        "The paper has a time constant in place of the unit rate.",
    ),
)
def deep_linear_mode(m):
    """The logistic growth of a singular mode: depth makes linear learning nonlinear."""
    if m.when(Eq(s, 0)):
        return {"u": 1 / (1 / u0 + 2 * time)}
    # the harmonic form: neither growing exponentials nor differences of equal numbers at small s
    return {"u": 1 / (exp(-2 * s * time) / u0 - expm1(-2 * s * time) / s)}


def tanh_edge(q):
    """Bias variance times the mean square slope at the edge, and that slope, for tanh.

    q E f'^2 - E f^2 is of order q^3. With r = x - tanh(x), whose slope is tanh^2, E x r = q E tanh(x)^2 takes off the
    terms of lower order, which cancel.
    """
    x = sqrt(q) * Z
    lifted = q * GaussianMean(tanh(x) ** 4, Z) - GaussianMean((x - tanh(x)) ** 2, Z)
    return lifted, GaussianMean((1 - tanh(x) ** 2) ** 2, Z)


def erf_edge(q):
    """The same for erf, whose means are elementary; their difference is an integral without cancellation."""
    rest = Integral(8 * y**2 / ((1 + 2 * q * y) * (1 + 4 * q * y) ** Rational(3, 2)), (y, 0, 1))
    return 2 / pi * q**3 * rest, 4 / (pi * sqrt(1 + 4 * q))


#: Both edges rise like q^3 and then like q.
SCALE = sb2 + sb2 ** Rational(1, 3)


@result(
    "classics.edge-of-chaos",
    title="Edge of chaos of a wide random network",
    source=Source("schoenholz2017"),
    given=(nonlinearity, sb2),
    outputs={
        "sw2": Output("variance of a weight times the width at which correlations neither grow nor fade", POSITIVE),
        "q": Output("variance of a neuron's input deep in the network", NONNEGATIVE),
    },
    requires=(
        Holds(Or(Eq(sb2, 0), sb2 >= Rational(1, 10**24)), "sb2 is zero, or not so small that q is lost in rounding"),
    ),
    recipe={q: Search(SCALE / 4, 4 * SCALE)},
    assumes=("weights and biases of all layers are independent and Gaussian", "every layer has the same width"),
    regime=Limit(grows=("width",), orders=(1,), correction="of order 1/width, growing with depth"),
    checks=("classics_dynamics.deep_signals",),
    marks="DV",
    notes=(
        "With A = E f(sqrt(q) Z)^2 and B = E f'(sqrt(q) Z)^2: sw2 = 1/B and sb2 = q - A/B. Larger sw2: chaos, "
        "smaller: order.",
        "sb2 -> 0: sb2 ~ 4 q^3/3 for both. For erf, sw2 = pi sqrt(1 + 4 q)/4.",
    ),
)
def edge_of_chaos(m):
    """The weights at which a deep random network neither forgets nor magnifies differences of its inputs."""
    edge = erf_edge if m.nonlinearity == "erf" else tanh_edge
    if m.when(Eq(sb2, 0)):
        return {"sw2": pi / 4 if m.nonlinearity == "erf" else 1, "q": 0}
    lifted, slope = edge(q)
    return {q: Root(lifted / (slope * sb2) - 1, q), "sw2": 1 / slope, "q": q}
