"""The spectrum of the tokens: Marchenko-Pastur with one spike."""

from dataclasses import replace
from functools import partial

from sympy import Abs, Gt, Ne, Or, Rational, oo, sqrt

from theorem_engine import ComplexPlane, Holds, Interval, MarchenkoPastur, Output, Source, SpectralMean, lemma
from theorem_engine.registry.liao2026.model import ASSUMED, LIMIT, MODEL
from theorem_engine.registry.liao2026.notation import WORK, lam, s, snr, theta, var

z = var("z", "z", "point off the spectrum", ComplexPlane())
rho = var("rho", r"\rho", "strength of the spike, |mu|^2/sqrt(c); an outlier leaves the bulk above one")
#: Powers of an eigenvalue can be too large for a double.
LARGE = Interval(0, oo, right_open=False)
MEANINGS = {
    "n": "limit of tr (S - z)^(-1)/n without signal",
    "yy": "limit of yh^T (S - z)^(-1) yh, yh = y/sqrt(n)",
    "ym": "limit of yh^T (S - z)^(-1) Xs^T mh, Xs = X/sqrt(p), mh = mu/|mu|",
    "mm": "limit of mh^T Xs (S - z)^(-1) Xs^T mh",
    "pp": "limit of w^T Xs (S - z)^(-1) Xs^T w for a unit w orthogonal to mu",
}
#: The law of the tokens in the directions of the labels (y), of the signal (m), and of one orthogonal to it (p).
LAWS = {
    "n": MarchenkoPastur(lam),
    "yy": MarchenkoPastur(lam, theta, "right-right"),
    "ym": MarchenkoPastur(lam, theta, "right-left"),
    "mm": MarchenkoPastur(lam, theta, "left-left"),
    "pp": MarchenkoPastur(lam, theta, "across"),
}


def mean(law, body):
    """The mean of a function of the spectrum."""
    return SpectralMean(body, s, LAWS[law])


yy, ym, mm, pp = (partial(mean, law) for law in ("yy", "ym", "mm", "pp"))


def _outer(m):
    """What z must keep away from the spectrum in: large off the bulk, and apart from the outlier's."""
    return MarchenkoPastur(1 / m.c).uniformised(z)


#: How near to the spectrum is on it.
NEAR = Rational(1, 10**12)
OFF_THE_SPECTRUM = (
    Holds(lambda m: Gt(Abs(_outer(m)), 2 * (1 + NEAR) / sqrt(m.c)), "z lies off the bulk"),
    Holds(lambda m: Or(Ne(z, 0), m.c > 1), "z is not the atom at zero"),
    Holds(lambda m: Gt(Abs(_outer(m) - 2 * snr / m.c), NEAR * Abs(_outer(m))), "z is not the outlier"),
)


@lemma(
    "liao2026.spiked-resolvent",
    title="Resolvent forms of the tokens' sample covariance",
    source=Source(WORK, "behind Theorem 1", version="v2", guessed=True),
    model=MODEL.only("ratio", "signal"),
    given=(z,),
    outputs={
        **MEANINGS,
        "outlier": "eigenvalue of S outside the bulk, or none",
        "outlier_mass": Output("squared overlap of yh with its eigenvector", Interval(0, 1)),
        **{f"moment_yy_{k}": Output(f"limit of yh^T S^{k} yh; oo beyond double precision", LARGE) for k in (1, 2, 3)},
    },
    requires=OFF_THE_SPECTRUM,
    assumes=ASSUMED[:1],
    regime=replace(
        LIMIT,
        orders=(Rational(1, 2),),
        words="n, p -> oo with p/n -> c; |mu| of order one",
        correction="of order 1/sqrt(p) for the forms of single vectors",
    ),
    checks=("liao2026_matrices.spectral_forms",),
    marks="DV",
    aliases=("liao2026.definition-2",),
    notes=(
        "Definition 2, signal plus noise: X = mu y^T + Z with labels y_i = +-1 and Z standard normal; of the tokens "
        "the limit sees these forms.",
        "S = X^T X/p. With u the root of sqrt(lambda) (u + 1/u) = z - 1 - lambda inside the unit circle, lambda = n/p "
        "and theta = |mu|/sqrt(c): n = -u/(sqrt(lambda)(1 + sqrt(lambda) u)), yy = n/(1 - rho u), "
        "ym = -theta u/(sqrt(lambda)(1 - rho u)), mm = -(rho + sqrt(lambda)) u/(1 - rho u), pp = -sqrt(lambda) u.",
        "Forms between other orthogonal directions vanish. ym = t mm and yy = n/(1 + |mu|^2) + t^2 mm with "
        "t = theta/(theta^2 + lambda).",
        "Atom at zero for c < 1: 1 - c in n, (1 - c)/(1 + |mu|^2) in yy, none in the others.",
    ),
)
def spiked_resolvent(m):
    """Quadratic forms of (S - z)^(-1) in the directions of the labels and of the signal, in closed form."""
    width = sqrt(lam)
    if m.when(Gt(m.snr**2, m.c)):
        outlier = {
            "outlier": (1 + width / rho) * (1 + width * rho),
            # rho > 1: in this form no power of it leaves double precision
            "outlier_mass": (1 - 1 / rho) * (1 + 1 / rho) / (1 + width / rho),
        }
    else:
        outlier = {"outlier": "none", "outlier_mass": 0}
    return {
        lam: 1 / m.c,
        theta: sqrt(m.snr * lam),
        rho: m.snr * width,
        **{form: law.resolvent(m.z) for form, law in LAWS.items()},
        **outlier,
        **{f"moment_yy_{k}": LAWS["yy"].moment(k) for k in (1, 2, 3)},
    }
