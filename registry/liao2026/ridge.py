"""Ridge regression on the tokens themselves: the rival of attention."""

from dataclasses import replace

from sympy import Abs, Piecewise, Rational, sqrt

from theorem_engine import Source, proposition
from theorem_engine.language.identity import Equation, Ordering, own
from theorem_engine.registry.liao2026.model import ASSUMED, LIMIT, MODEL
from theorem_engine.registry.liao2026.notation import WORK, Delta, gamma, lam, lin, penalised, root, unseen, w
from theorem_engine.registry.liao2026.resolvent import ERROR

#: Where a limit in gamma is tried.
ENDS = tuple({"gamma": f"1e-{n}"} for n in (2, 4, 8, 16))


def ridge_quadratic(m):
    """The letters of the ridge quadratic gamma A^2 + (gamma + c - 1) A - 1 = 0."""
    return {
        lam: 1 / m.c,
        w: m.gamma + 1 / lam - 1,
        # each in the form whose powers stay in double precision
        Delta: Piecewise((Abs(w) * sqrt(1 + 4 * m.gamma / w**2), Abs(w) > 1), (sqrt(w**2 + 4 * m.gamma), True)),
        penalised: Piecewise((2 * m.gamma / (w + Delta), w > 0), ((Delta - w) / 2, True)),
        root: penalised / m.gamma,
    }


@proposition(
    "liao2026.ridge-error",
    title="Interpolation error of ridge regression",
    source=Source(WORK, "Proposition 2", version="v2"),
    model=MODEL.only("ratio", "signal"),
    given=(gamma,),
    outputs={"error": ERROR},
    assumes=ASSUMED[:1],
    regime=replace(LIMIT, orders=(1,), words="n, p -> oo with p/n -> c; |mu| of order one", correction="of order 1/p"),
    checks=("liao2026.raw_ridge_error",),
    identities=lambda: (
        Equation(own("error", c=1, snr=0), 1 / sqrt(1 + 4 / gamma), box={"gamma": ("0.5", 2)}),
        Ordering(own("error"), 1, box={"c": ("0.48", "0.52"), "snr": ("0.9", "1.1"), "gamma": ("0.4", "0.5")}),
        Ordering(own("error", snr=1), own("error", snr=0), box={"c": ("0.48", "0.52"), "gamma": ("0.4", "0.5")}),
        # as gamma falls to zero the error falls to (1 - c)/(1 + |mu|^2) = 1/4, and what is above it like gamma^2
        Ordering(own("error", c=Rational(1, 2), snr=1) - Rational(1, 4), 3 * gamma**2, points=ENDS),
        Ordering(Rational(1, 4), own("error", c=Rational(1, 2), snr=1), points=ENDS),
    ),
    marks="DV",
    aliases=("liao2026.definition-5",),
    notes=(
        "Definition 5, linear regression: w = (X X^T + n gamma)^(-1) X y on the tokens themselves, its error "
        "|y - X^T w|^2/n.",
        "y^T Q y/n -> A (1 + A)/(1 + m A) with m = 1 + |mu|^2 and A the positive root of "
        "gamma A^2 + (gamma + c - 1) A = 1.",
        "gamma -> 0: (1 - c)/m for c < 1, sqrt(gamma)/(2 m) at c = 1, of order gamma^2 for c > 1; gamma -> oo: "
        "1 - 2 (c + |mu|^2)/gamma. At c = 1 without signal (1 + 4/gamma)^(-1/2).",
    ),
)
def ridge_error(m):
    """Training error of ridge regression of the labels on the raw tokens, in closed form."""
    return {
        **ridge_quadratic(m),
        # on pure noise: gamma^2 A (1 + A)/Delta
        lin: penalised * (m.gamma + penalised) / Delta,
        unseen: 1 / (1 + (1 + m.snr) * root),
        # (1 + 2 A + m A^2)/(1 + m A)^2 of the error on noise, m = 1 + |mu|^2
        "error": lin * unseen * (root + (1 + root) * unseen),
    }
