"""The inverse temperature that is best for the oracle, and the rate it gives."""

from sympy import Eq, LambertW, Rational, log, oo, pi, sqrt

from theorem_engine import NONNEGATIVE, Holds, Limit, Minimum, Output, Root, Search, Source, mills, result
from theorem_engine.language.domains import Interval
from theorem_engine.registry.marion2025.notation import L, d, gamma, lam, var
from theorem_engine.registry.marion2025.risk import EXCESS, MODEL

ANY = Interval(0, oo, right_open=False)
HERE = Source("2410.01537", "behind Corollary 2", guessed=True)

A = var("A", "A", "signal against noise tokens, gamma^2 d / (2 (L - 1))")
x = var("x", "x", "lam^2 d")


def where_to_look(m):
    """A factor thousand around the leading order; for one token, around its own noise."""
    centre = 1 / gamma if m.when(Eq(L, 1)) else sqrt(LambertW(gamma**2 * d / (2 * (L - 1))) / d)
    return {lam: Search(centre / 1000, centre * 1000), x: Search(Rational(1, 10**300), 10**4)}


@result(
    "marion2025.optimal-lambda",
    title="The inverse temperature that minimises the oracle's risk",
    source=HERE,
    given=(gamma, d, L),
    outputs={
        "lam_star": Output("minimiser of the oracle's risk", ANY),
        "excess": EXCESS,
        "lam_first_order": Output("minimiser to first order in lam", ANY),
        "excess_first_order": Output("excess to first order in lam", NONNEGATIVE),
        "lam_lambert": Output("minimiser to leading order, by Lambert's function", ANY),
    },
    needs={"oracle": "marion2025.oracle-risk"},
    recipe=where_to_look,
    assumes=MODEL,
    checks=("marion2025_landscape.optimal_lambda",),
    marks="DVN",
    notes=(
        "One token alone has nothing to silence, and to first order its best lam is infinite; yet a hard threshold is "
        "never best: softening it on the scale 1/lam turns errors of 4 and 0 into two of 1 + erf^2 < 2, so the "
        "excess lies below its limit 2 gamma^2 erfc(sqrt(d)/(2 gamma)) for all large lam, and the minimiser is finite.",
        "First order: x e^x = A sqrt(x) m(sqrt(x)) with Mills' ratio m; leading order x = W(A).",
        "Exactly one critical point was met in 400 random draws.",
    ),
)
def optimal_lambda(m, *, oracle):
    """A sharper erf misses less of its own token and lets in more of the others; one lam balances the two."""
    best = Minimum(oracle.excess.at(m, lam=lam, eps=0), over=lam)
    if m.when(Eq(L, 1)):
        found = {"lam_first_order": oo, "excess_first_order": 0, "lam_lambert": oo}
        return {"lam_star": best.at(lam), "excess": best, **found}
    balance = x + log(x) / 2 - log(A) - log(mills(sqrt(x)))
    return {
        A: gamma**2 * d / (2 * (L - 1)),
        x: Root(balance, x),
        "lam_star": best.at(lam),
        "excess": best,
        "lam_first_order": sqrt(x / d),
        "excess_first_order": 4 * (L - 1) / (pi * d) * (x + sqrt(x) * mills(sqrt(x))),
        "lam_lambert": sqrt(LambertW(A) / d),
    }


@result(
    "marion2025.optimal-rate",
    title="The best oracle risk falls like (L/d) log(d/L)",
    source=HERE,
    given=(gamma, d, L),
    outputs={
        "excess": Output("leading order of the smallest excess", NONNEGATIVE),
        "ratio": Output("smallest excess over its leading order; tends to one", NONNEGATIVE),
    },
    needs={"optimum": "marion2025.optimal-lambda"},
    requires=(
        Holds(L >= 2, "there are at least two tokens"),
        Holds(
            gamma**2 * d > 2 * 3 * L, "the signal gamma^2 d is above three times 2 L, where the logarithm exceeds one"
        ),
    ),
    assumes=MODEL,
    regime=Limit(grows=(d / L,), words="d / L -> oo", correction="relative log log(d/L) / log(d/L)"),
    checks=("marion2025_landscape.optimal_rate",),
    marks="DVN",
)
def optimal_rate(gamma, d, L, *, optimum):
    """(4/pi) ((L - 1)/d) log(gamma^2 d/(2 L)): the price of not knowing which token to read."""
    leading = 4 * (L - 1) / (pi * d) * log(gamma**2 * d / (2 * L))
    return {"excess": leading, "ratio": optimum.excess(gamma, d, L) / leading}
