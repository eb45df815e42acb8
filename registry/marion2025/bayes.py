"""The Bayes risk, and how far erf attention stays above it."""

from typing import ClassVar

from sympy import Eq, cosh, exp, log, sqrt

from theorem_engine import (
    ABSENT,
    NONNEGATIVE,
    POSITIVE,
    ChannelMean,
    Holds,
    Integers,
    Limit,
    OpenFunction,
    Output,
    Source,
    TokenSum,
    corollary,
)
from theorem_engine.registry.marion2025.notation import D, d, eps, gamma, var
from theorem_engine.registry.marion2025.risk import MODEL, RISK

#: Most tokens of a sequence, whose random numbers are kept in memory, and draws where none are asked for.
LONGEST, DRAWS = 1000, 2**15

L = var("L", "L", "tokens in a sequence", Integers(1, LONGEST), typical=(1, 20))
draws = var("draws", "n", "random draws for the average, rounded up to a power of two; 2^15 if left out",
            Integers(2**8, 2**20), default=ABSENT, typical=(2**14, 2**15))  # fmt: skip
overlap = var("overlap", r"\beta", "squared overlap of the laws of an informative and of a noise token", NONNEGATIVE)
spread = var("spread", "v", "variance of a token whose law is the geometric mean of the two", POSITIVE)
along, rest = (var(n, x, m) for n, x, m in (("G", "G", "standard normal, for the component along k*"),
                                            ("H", "H", "standard normal, for the length of the rest")))  # fmt: skip
pair = tuple(var(f"{n}{i}", f"{n}_{i}", f"standard normal, of token {i} of the pair") for n in "GH" for i in (1, 2))
first = var("first", r"1_{\ell = 1}", "one on the first token, which stands for the pair and is left out of the sum")
one, two, other = (var(f"score_{n}", rf"s_{{{n}}}", m) for n, m in (
    ("1", "log odds of the first token of the pair to be the informative one"),
    ("2", "log odds of the second"), ("l", "log odds of another token")))  # fmt: skip


class ChiSquare(OpenFunction):
    """``ChiSquare(x, k)``: the chi-square number of k degrees of freedom at the quantile of a standard normal x."""

    nargs = 2
    meanings: ClassVar = {"float64": "theorem_engine.registry.marion2025.methods:chi_square"}
    sign: ClassVar = (r"\chi^2", "χ²")
    words: ClassVar = "of (x, k): the chi-square number of k degrees of freedom at the quantile of a standard normal x"


def log_odds(component, length):
    """Log ratio of the two laws at a token with this component along k* and this squared length beside it."""
    return (
        (1 - 1 / gamma**2) * (component**2 + length) / 2 + D * component / gamma**2 - D**2 / (2 * gamma**2)
    ) - d * log(gamma)


#: What two tokens share: the squared integral of the root of the product of the two laws, and the variance of the law
#: whose density is that root.
SHARED = (2 * gamma / (1 + gamma**2)) ** d * exp(-d / (4 * (1 + gamma**2)))
SPREAD = 2 * gamma**2 / (1 + gamma**2)


def between(component, length, freedom):
    """Log odds of a token drawn from the geometric mean of the two laws."""
    centre = D / (1 + gamma**2)
    return log_odds(centre + sqrt(spread) * component, spread * ChiSquare(length, freedom))


@corollary(
    "marion2025.bayes-risk",
    title="Bayes risk of single-location regression",
    source=Source("2410.01537", "behind Corollary 2", guessed=True),
    given=(gamma, d, L, eps, draws),
    outputs={
        "risk": RISK,
        "excess": Output("risk above that of the label noise", NONNEGATIVE),
        "bound": Output("what the excess is at most, by the overlap of the two laws of a token", NONNEGATIVE),
    },
    assumes=(*MODEL, "k*, v* and the noise levels are known; the place is not"),
    error_kind="statistical",
    checks=("marion2025_bayes.posterior_mean", "marion2025_bayes.overlap"),
    marks="DVN",
    notes=(
        "The estimate is sum_l p_l X_l.v*, p the posterior of the place given all coordinates: where gamma is not one "
        "the lengths of the tokens tell of the place too. Its excess is E (1 - p_J) (X_J.v*)^2.",
        "Drawn from the laws themselves the excess is an average of rare events, which sampling misses (at d = 80, "
        "gamma^2 = 1/2, L = 10 it is 9.2e-9). Here two tokens are drawn from the geometric mean of the two laws, "
        "where either may be the informative one; every draw then counts.",
        "Exponentially small in d: the bound falls like ((2 gamma/(1 + gamma^2)) exp(-1/(4 (1 + gamma^2))))^d.",
    ),
)  # fmt: skip
def bayes_risk(m):
    """Even the best estimate sometimes mistakes the place, exponentially rarely as the dimension grows.

    beta is the square of the overlap of the two laws of a token, the integral of the root of their product. The
    factor (X_J.v*)^2 is a multiple v of a law with two more degrees of freedom.
    """
    if m.when(Eq(L, 1)):
        return {"risk": eps**2, "excess": 0, "bound": 0}
    fields = {
        one: between(pair[0], pair[2], d + 1),
        two: between(pair[1], pair[3], d - 1),
        other: log_odds(along, ChiSquare(rest, d - 1)),
    }
    wrong = TokenSum((1 - first) * exp(other - (one + two) / 2))
    mean = ChannelMean.of(
        {"shared": 1 / (2 * cosh((one - two) / 2) + wrong)},
        token_normals=(along, rest),
        normals=pair,
        first=first,
        tokens=L - 1,
        samples=DRAWS if m.draws is None else m.draws,
        where=fields,
    )
    excess = (L - 1) * overlap * spread * mean.mean("shared")
    return {
        D: sqrt(d / 2),
        spread: SPREAD,
        overlap: SHARED,
        "risk": eps**2 + excess,
        "excess": excess,
        "bound": (L - 1) * overlap * spread,
    }


@corollary(
    "marion2025.asymptotic-optimality",
    title="How fast the oracle's risk comes down to the Bayes risk",
    source=Source("2410.01537", "Corollary 2, the limit"),
    given=(gamma, d, L),
    outputs={
        "gap": Output("risk of the oracle at its best lam above the noise: the gap to Bayes, at most", NONNEGATIVE),
        "least": "the gap to Bayes, at least",
        "rate": Output("leading order of the gap", NONNEGATIVE),
    },
    needs={"optimum": "marion2025.optimal-lambda", "leading": "marion2025.optimal-rate"},
    requires=(
        Holds(L >= 2, "there are at least two tokens"),
        Holds(gamma**2 * d > 6 * L, "the signal gamma^2 d is above three times 2 L, where the logarithm exceeds one"),
    ),
    assumes=MODEL,
    regime=Limit(grows=(d / L,), words="d / L -> oo", correction="relative log log(d/L) / log(d/L)"),
    checks=("marion2025_bayes.gap",),
    marks="DVN",
    notes=(
        "The paper's corollary says that the gap vanishes; that the Bayes risk itself is exponentially close to the "
        "noise, so that the gap is the oracle's excess and closes like (L/d) log(d/L), is derived here.",
    ),
)
def asymptotic_optimality(m, *, optimum, leading):
    """The Bayes risk is exponentially close to the label noise, so the gap is the excess of the oracle.

    It closes like (4/pi) (L/d) log(d/L).
    """
    best = optimum.excess.at(m)
    return {"gap": best, "least": best - (L - 1) * SHARED * SPREAD, "rate": leading.excess.at(m)}
