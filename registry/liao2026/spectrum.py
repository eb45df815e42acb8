"""The spectrum of the tokens: Marchenko-Pastur with one spike."""

from sympy import Abs, Gt, Ne, Or, Rational, oo, sqrt

from theorem_engine import ComplexPlane, Holds, Interval, MarchenkoPastur, Output, Source, lemma, limit
from theorem_engine.registry.liao2026.notation import RATIO, RATIO_RULE, WORK, c, lam, n, p, snr, theta, var
from theorem_engine.registry.liao2026.setting import MODEL, columns_over_rows

z = var("z", "z", "point off the spectrum", ComplexPlane())
rho = var("rho", r"\rho", "strength of the spike, |mu|^2/sqrt(c); an outlier leaves the bulk above one")
#: Powers of an eigenvalue can be too large for a double.
LARGE = Interval(0, oo, right_open=False)
FORMS = {
    "n": "limit of tr (S - z)^(-1)/n without signal",
    "yy": "limit of yh^T (S - z)^(-1) yh, yh = y/sqrt(n)",
    "ym": "limit of yh^T (S - z)^(-1) Xs^T mh, Xs = X/sqrt(p), mh = mu/|mu|",
    "mm": "limit of mh^T Xs (S - z)^(-1) Xs^T mh",
    "pp": "limit of w^T Xs (S - z)^(-1) Xs^T w for a unit w orthogonal to mu",
}


def _off_the_spectrum(ratio):
    """What z must keep away from: the bulk, zero where it carries mass, the outlier."""
    place, near = MarchenkoPastur(ratio).uniformised(z), Rational(1, 10**12)
    size, apart = (Abs(x, evaluate=False) for x in (place, place - 2 * snr * ratio))
    # not evaluated: SymPy would look for signs it cannot find, at every import
    return (
        Holds(Gt(size, 2 * sqrt(ratio) * (1 + near), evaluate=False), "z lies off the bulk"),
        Holds(Or(Ne(z, 0), ratio < 1), "z is not the atom at zero"),
        Holds(Gt(apart, near * size, evaluate=False), "z is not the outlier"),
    )


@lemma(
    "liao2026.spiked-resolvent",
    title="Resolvent forms of the tokens' sample covariance",
    source=Source(WORK, "behind Theorem 1", version="v2", guessed=True),
    given=(*RATIO, snr, z),
    outputs={
        **FORMS,
        "outlier": "eigenvalue of S outside the bulk, or none",
        "outlier_mass": Output("squared overlap of yh with its eigenvector", Interval(0, 1)),
        **{f"moment_yy_{k}": Output(f"limit of yh^T S^{k} yh; oo beyond double precision", LARGE) for k in (1, 2, 3)},
    },
    given_rules=(RATIO_RULE,),
    requires=(*_off_the_spectrum(1 / c), *_off_the_spectrum(n / p)),
    cases={"has_outlier": Gt(snr**2, c), "has_outlier_by_sizes": Gt(snr**2 * n, p)},
    assumes=MODEL[:1],
    regime=limit("n, p -> oo with p/n -> c; |mu| of order one", "of order 1/sqrt(p) for the forms of single vectors"),
    checks=("liao2026_matrices.spectral_forms",),
    marks="DV",
    notes=(
        "S = X^T X/p. With u the root of sqrt(lambda) (u + 1/u) = z - 1 - lambda inside the unit circle, lambda = n/p "
        "and theta = |mu|/sqrt(c): n = -u/(sqrt(lambda)(1 + sqrt(lambda) u)), yy = n/(1 - rho u), "
        "ym = -theta u/(sqrt(lambda)(1 - rho u)), mm = -(rho + sqrt(lambda)) u/(1 - rho u), pp = -sqrt(lambda) u.",
        "Forms between other orthogonal directions vanish. ym = t mm and yy = n/(1 + |mu|^2) + t^2 mm with "
        "t = theta/(theta^2 + lambda).",
        "Atom at zero for c < 1: 1 - c in n, (1 - c)/(1 + |mu|^2) in yy, none in the others.",
    ),
)
def spiked_resolvent(c, p, n, snr, z, *, has_outlier, has_outlier_by_sizes):
    """Quadratic forms of (S - z)^(-1) in the directions of the labels and of the signal, in closed form."""
    width = sqrt(lam)
    forms = {form: MarchenkoPastur(lam, theta, form).resolvent(z) for form in FORMS}
    moments = {f"moment_yy_{k}": MarchenkoPastur(lam, theta, "yy").moment(k) for k in (1, 2, 3)}
    quantities = {lam: columns_over_rows(c, p, n), theta: sqrt(snr * lam), rho: snr * width}
    if has_outlier or has_outlier_by_sizes:
        outlier = {
            "outlier": (1 + width / rho) * (1 + width * rho),
            # rho > 1: in this form no power of it leaves double precision
            "outlier_mass": (1 - 1 / rho) * (1 + 1 / rho) / (1 + width / rho),
        }
    else:
        outlier = {"outlier": "none", "outlier_mass": 0}
    return {**quantities, **forms, **outlier, **moments}
