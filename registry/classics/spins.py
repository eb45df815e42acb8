"""Spin systems: a rank-one signal in a noisy matrix, and the associative memory."""

from sympy import Rational, cosh, erf, exp, pi, sqrt, tanh

from theorem_engine import (
    NONNEGATIVE,
    POSITIVE,
    REAL,
    Branches,
    GaussianMean,
    Interval,
    Limit,
    Output,
    Root,
    Search,
    Source,
    notation,
    result,
    theorem,
)
from theorem_engine.language.identity import Ordering, own
from theorem_engine.language.unchecked import Unchecked

var = notation("classics.spins")
UNIT = Interval(0, 1)
snr = var("snr", r"\lambda", "signal-to-noise ratio", NONNEGATIVE, typical=(0.5, 5))
h = var("h", "h", "variance of the effective field, snr q", NONNEGATIVE)
Z = var("Z", "Z", "a standard normal variable")
missed = var("missed", "e", "one minus the overlap", NONNEGATIVE)

alpha = var("alpha", r"\alpha", "patterns over neurons, P/N", POSITIVE, typical=(0.01, 0.2))
y = var("y", "y", "signal over noise of a neuron's field", NONNEGATIVE)
noise = var("noise", "s", "standard deviation of a neuron's field, sqrt(alpha r)", POSITIVE)


@theorem(
    "classics.spiked-wigner",
    title="Recovery of a sign vector from a noisy matrix",
    source=Source("lelarge2019"),
    given=(snr,),
    outputs={
        "q": Output("overlap of a posterior sample with the signal", UNIT),
        "mmse": Output("least mean squared error of the signal's matrix", UNIT),
    },
    recipe={h: Search(snr - 1, snr)},
    assumes=(
        "Y = sqrt(snr/n) x x^T + W, W symmetric Gaussian of unit variance off the diagonal",
        "x is uniform in {1, -1}^n",
    ),
    regime=Limit(grows=("n",), orders=(1,)),
    checks=("classics_spins.posterior_signs",),
    identities=lambda: (Ordering(1 - 1 / snr, own("q"), points=({"snr": "1.5"}, {"snr": 2}, {"snr": 4})),),
    marks="DV",
    notes=(
        "q = E tanh(snr q + sqrt(snr q) Z), which equals the mean of the square used here, and 1 - q = "
        "exp(-h/2) E 1/cosh(sqrt(h) Z). For snr > 1 the positive root; q ~ (snr - 1) - (snr - 1)^2/3 near one.",
        "The top eigenvector reaches the squared cosine 1 - 1/snr, the limit g -> 0 of classics.bbp at "
        "spike = 1 + sqrt(g snr): the same threshold, and below q.",
    ),
)  # fmt: skip
def spiked_wigner(m):
    """Up to snr = 1 nothing is learned of a hidden sign vector; above, the overlap rises continuously."""
    if m.when(snr <= 1):
        return {"q": 0, "mmse": 1}
    seen = GaussianMean(tanh(h + sqrt(h) * Z) ** 2, Z)
    return {
        h: Root(1 - snr * seen / h, h),
        missed: exp(-h / 2) * GaussianMean(1 / cosh(sqrt(h) * Z), Z),
        "q": h / snr,
        "mmse": missed * (2 - missed),
    }


#: States of the memory: the ratio y and the noise that the other patterns make.
STATES = Branches(
    {y: erf(y) / (sqrt(2) * noise), noise: sqrt(alpha) + sqrt(2 / pi) * exp(-(y**2))},
    energy=(alpha - erf(y) ** 2 - noise**2) / 2,
    trivial=[0],
    choose="last",
)


@result(
    "classics.hopfield",
    title="Retrieval in the Hopfield model at zero temperature",
    source=Source("amit1987"),
    given=(alpha,),
    outputs={
        "m": Output("overlap of the retrieval state with its pattern; zero where there is none", UNIT),
        "critical_alpha": Output("load above which there is no retrieval", POSITIVE),
        "m_critical": Output("overlap at that load", UNIT),
        "energy": Output("energy of that state per neuron; of the glass where there is none", REAL),
        "glass_energy": Output("energy per neuron of the glass, which has no overlap with any pattern", REAL),
    },
    # F(y) = erf(y)/y - 2 exp(-y^2)/sqrt(pi) is at most 4 y^2/(3 sqrt(pi)), and at most 1/y
    recipe={
        y: Search(sqrt(3 * sqrt(2 * pi * alpha)) / 4, sqrt(2 / alpha)),
        alpha: Search(Rational(1, 20), Rational(1, 2)),
    },
    assumes=("P = alpha N random patterns of signs, Hebb's couplings without self-couplings, zero temperature",),
    regime=Limit(grows=("N", "P"), fixed=("P/N",), orders=(1,)),
    checks=(
        "classics_spins.retrieval",
        Unchecked("critical_alpha", "m_critical", because="the end of a metastable state, near which the dynamics of "
                  "any size that can be simulated leaves it earlier; m below it is compared"),
        Unchecked("glass_energy", because="no dynamics that can be simulated reaches the lowest states of a glass"),
    ),
    marks="DVE",
    notes=(
        "Approximate: replica symmetry is broken at zero temperature, with a small effect (the literature has 0.138 "
        "for the critical load with and without breaking, to three digits). No proof of the value is known.",
        "m = erf(y), sqrt(2 alpha) = F(y) = erf(y)/y - 2 exp(-y^2)/sqrt(pi), of whose two roots the larger is stable; "
        "y = 0 is the glass. Retrieval is the state of least energy below alpha = 0.05185 only; near the critical load "
        "m - m_critical ~ (critical_alpha - alpha)^(1/2).",
    ),
)  # fmt: skip
def hopfield(alpha):
    """An associative memory retrieves up to a load of 0.138 patterns per neuron, where its overlap jumps to zero."""
    end = STATES.spinodal(alpha)
    return {
        "m": erf(STATES.at(y)),
        "critical_alpha": end,
        "m_critical": erf(end.at(y)),
        "energy": STATES.energy_at(),
        "glass_energy": STATES.energy_at(1),
    }
