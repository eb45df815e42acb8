"""Eigenvalues of sample covariance matrices: the bulk, and one that leaves it."""

from sympy import Abs, Gt, Lt, Max, Ne, Or, Rational, oo, sqrt

from theorem_engine import (
    NONNEGATIVE,
    ComplexPlane,
    Holds,
    Interval,
    Limit,
    MarchenkoPastur,
    Output,
    Source,
    Total,
    notation,
    theorem,
)
from theorem_engine.language.identity import Equation, own
from theorem_engine.registry.classics.notation import g

var = notation("classics.spectrum")
z = var("z", "z", "point off the spectrum", ComplexPlane())
spike = var("spike", r"\ell", "the one population eigenvalue that is not one", Interval(1, oo), typical=(1, 6))
away = var("away", "t", "threshold over distance of the spike from one, sqrt(g)/(spike - 1)", NONNEGATIVE)
LAW = MarchenkoPastur(g)
#: How near to the spectrum is on it.
NEAR = Rational(1, 10**12)
SAMPLES = Limit(grows=("n", "p"), fixed=("p/n",), orders=(1,))
#: Where identities are tried.
PLACES = tuple({"g": x, "z": y} for x, y in (("0.5", -1), ("0.25", "0.1"), ("1/2", 4), (4, "-0.1")))


@theorem(
    "classics.marchenko-pastur",
    title="Spectrum of a sample covariance matrix",
    source=Source("marchenko1967"),
    given=(g, z),
    outputs={
        "m": "Stieltjes transform, limit of tr (S - z)^(-1)/p",
        "edge_low": Output("lower edge of the bulk", NONNEGATIVE),
        "edge_high": Output("upper edge of the bulk", NONNEGATIVE),
        "atom": Output("share of eigenvalues that are zero", Interval(0, 1)),
        "slope": "derivative of m in z, limit of tr (S - z)^(-2)/p",
    },
    requires=(
        Holds(Gt(Abs(LAW.uniformised(z)), 2 * (1 + NEAR) * sqrt(g)), "z lies off the bulk"),
        Holds(Or(Ne(z, 0), Lt(g, 1)), "z is not the atom at zero"),
    ),
    assumes=("X is n by p with independent entries of mean zero and variance one, S = X^T X/n",),
    regime=SAMPLES,
    checks=("classics_spectra.resolvent_traces", "classics_spectra.edges"),
    identities=lambda: (Equation(g * z * own("m") ** 2 + (z + g - 1) * own("m") + 1, 0, points=PLACES),),
    marks="DV",
    notes=(
        "g z m^2 + (z + g - 1) m + 1 = 0; of its roots the one that falls like -1/z at infinity. For z < 0 it is the "
        "only positive one.",
        "m(g, z) = -(1 - 1/g)/z + m(1/g, z/g)/g^2; m(g, 0) = 1/(1 - g) for g < 1; at g = 1, m grows like "
        "(-z)^(-1/2) towards zero.",
        "Standard normal entries and z < 0: E tr (S - z)^(-1)/p - m is 1/p times "
        "(1/(edge_low - z) + 1/(edge_high - z))/4 - 1/(2 r), r^2 = (z - edge_low)(z - edge_high), plus O(n^-2).",
    ),
)
def marchenko_pastur(g, z):
    """Eigenvalues of a sample covariance matrix spread over a bulk although all of the population's are one."""
    width = sqrt(g)
    return {
        "m": LAW.resolvent(z),
        "edge_low": (1 - width) ** 2,
        "edge_high": (1 + width) ** 2,
        "atom": Max(0, 1 - 1 / g),
        "slope": Total("m", z),
    }


@theorem(
    "classics.bbp",
    title="Transition of the largest eigenvalue of a spiked covariance matrix",
    source=Source("baik2005"),
    given=(g, spike),
    outputs={
        "eigenvalue": Output("limit of the largest eigenvalue", NONNEGATIVE),
        "overlap": Output("squared cosine between its eigenvector and that of the spike", Interval(0, 1)),
    },
    assumes=("rows of X are Gaussian with covariance diag(spike, 1, ..., 1), S = X^T X/n",),
    regime=SAMPLES,
    checks=("classics_spectra.top_eigenpair",),
    identities=lambda: (
        Equation(
            own("overlap") * own("eigenvalue") * (spike - 1) ** 2,
            spike * ((spike - 1) ** 2 - g),
            points=({"g": "0.5", "spike": 3}, {"g": "1.5", "spike": 3}, {"g": "0.09", "spike": "1.4"}),
        ),
    ),
    marks="DV",
    notes=(
        "Up to spike = 1 + sqrt(g) the eigenvalue is the upper edge of the bulk and its eigenvector knows nothing of "
        "the spike. Both outputs are continuous there, the overlap with a kink.",
        "The transition was shown for complex matrices in the paper named; the eigenvalue by Baik and Silverstein "
        "(2006), the overlap by Paul (2007).",
        "Above, the eigenvalue fluctuates with variance 2 spike^2 (1 - g/(spike - 1)^2)/n; below, like n^(-2/3).",
    ),
)
def bbp(m):
    """A population eigenvalue is seen in the sample only if it exceeds 1 + sqrt(g), and then too large."""
    if m.when(Gt((spike - 1) ** 2, g)):
        gain = 1 + g / (spike - 1)
        return {away: sqrt(g) / (spike - 1), "eigenvalue": spike * gain, "overlap": (1 - away) * (1 + away) / gain}
    return {"eigenvalue": (1 + sqrt(g)) ** 2, "overlap": 0}
