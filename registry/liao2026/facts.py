"""What holds of the interpolation error: strong alignment, invariances, the linear part's share, the signal's effect.

Ours: derived from the statements of the paper, or seen on grids of them.
"""

from sympy import Integer, Rational, sqrt

from theorem_engine import (
    NONNEGATIVE,
    POSITIVE,
    Choice,
    Interval,
    Minimum,
    Output,
    Search,
    Source,
    Total,
    corollary,
    remark,
)
from theorem_engine.language.identity import Equation, own
from theorem_engine.language.unchecked import Unchecked
from theorem_engine.registry.liao2026.finite_size import FAR, FAR_WORD, STIFF_FIXED
from theorem_engine.registry.liao2026.model import ALIGNED, ASSUMED, LIMIT, MODEL, both
from theorem_engine.registry.liao2026.notation import WORK, a1, gamma, var
from theorem_engine.registry.liao2026.resolvent import ERROR

REDUCED = "a statement about the limit's own formula, whose error is measured where it is stated"
NOISE = MODEL.only("ratio", "moments")
#: Where identities are tried.
PLACE = {"c": 1, "a1": "0.6", "b2": "0.04", "snr": 1, "key_norm2": 1, "query_norm2": 1, "key_query": 0,
         "key_along": "0.5", "query_along": 0, "gamma": 1, "t": 2}  # fmt: skip
factor = var("t", "t", "factor of the scaling", POSITIVE, default=2, typical=(0.5, 2))


@corollary(
    "liao2026.strong-alignment-error",
    title="Interpolation error where the weights see the signal perfectly",
    source=Source(WORK, "Theorem 1 at |w_Q||w_K| -> oo", version="v2", guessed=True),
    model=MODEL.only("ratio", "moments", "signal"),
    given=(gamma,),
    outputs={"error": ERROR, "gain": Output("error less that of w_K = w_Q = mu", Interval(-1, 1))},
    needs={"null": "liao2026.null-error", "attention": "liao2026.interpolation-error"},
    zeros=(a1,),
    assumes=(*ASSUMED, "w_Q is along mu, and |w_Q||w_K| -> oo after n and p; E[xi f(xi)] is not zero"),
    regime=LIMIT,
    warns=(STIFF_FIXED,),
    checks=(
        "liao2026_extensions.aligned_share",
        Unchecked("gain", because="the difference to interpolation-error, which is measured"),
    ),
    marks="AVN",
    notes=(
        "Attention regresses y off X^T mu exactly, and the rest of y, a share 1/(1 + |mu|^2), sees pure noise: the "
        "error on noise over 1 + |mu|^2, whatever the direction of w_K.",
        "No finite p follows this limit; with a1 = 0 attention does not see the signal, and the share is one.",
    ),
)
def strong_alignment_error(m, *, null, attention):
    """The error on pure noise, for the share of the labels that the signal does not tell."""
    share = 1 / (1 + m.snr) if m.a1 else Integer(1)
    error = share * null.at(m)
    return {"error": error, "gain": error - attention.at(m, ALIGNED)}


@corollary(
    "liao2026.invariances",
    title="Transformations that leave the interpolation error as it is",
    source=Source(WORK, "Theorem 1, invariances", version="v2", guessed=True),
    model=MODEL,
    given=(gamma, factor),
    outputs={
        "scaled": "error at (t^2 gamma, t f) less the error: nothing",
        "flipped": "error at -f less the error: nothing",
        "balanced": "error at (t w_K, w_Q/t) less the error: nothing",
        "exchanged": "error with w_K and w_Q exchanged less the error: in general not zero",
    },
    needs={"attention": "liao2026.interpolation-error"},
    assumes=ASSUMED,
    regime=LIMIT,
    warns=(FAR, STIFF_FIXED),
    checks=("liao2026_facts.changes", "liao2026_facts.exchange"),
    identities=lambda: tuple(Equation(own(name), 0, points=(PLACE,)) for name in ("scaled", "flipped", "balanced")),
    marks="AVN",
    notes=("mu -> -mu is one more; a diagonal d scales with t and flips with f.",),
)
def invariances(m, *, attention):
    """The error knows f up to a factor that the penalty follows, and the weights up to a factor between them."""
    error, t = attention.at(m), m.t
    swapped = {"key_norm2": m.query_norm2, "query_norm2": m.key_norm2, "key_along": m.query_along,
               "query_along": m.key_along}  # fmt: skip
    rescaled = {"key_norm2": t**2 * m.key_norm2, "query_norm2": m.query_norm2 / t**2, "key_along": t * m.key_along,
                "query_along": m.query_along / t}  # fmt: skip
    return {
        "scaled": attention.at(m, gamma=t**2 * m.gamma, a1=t * m.a1, b2=t**2 * m.b2) - error,
        "flipped": attention.at(m, a1=-m.a1) - error,
        "balanced": attention.at(m, **rescaled) - error,
        "exchanged": attention.at(m, **swapped) - error,
    }


@remark(
    "liao2026.equal-strength-gap",
    title="Attention against ridge on noise at equal mean eigenvalues",
    source=Source(WORK, "Theorem 1 against Proposition 2", version="v2", guessed=True),
    model=NOISE,
    given=(gamma,),
    outputs={
        "gap": Output("error of attention at gamma M1 less that of ridge at gamma c", Interval(-1, 1)),
        "attention": ERROR,
        "ridge": ERROR,
    },
    needs={"null": "liao2026.null-error", "raw": "liao2026.ridge-error"},
    assumes=ASSUMED,
    regime=LIMIT,
    warns=(STIFF_FIXED,),
    checks=("liao2026_extensions.equal_strength",),
    marks="NE",
    notes=(
        "Conjecture: the gap is never negative. M1 = nu + a1^2/c is the mean eigenvalue of K^T X^T X K/n on noise, c "
        "that of X^T X/n; no violation on a grid of 4 pairs (a1, nu), 12 ratios c and 13 penalties.",
        "At equal penalties the order depends on them: attention is the better one at large gamma where "
        "nu + a1^2/c > c.",
    ),
)
def equal_strength_gap(m, *, null, raw):
    """On pure noise attention never fits better than ridge once both have eigenvalues of one mean: a conjecture."""
    mean = m.b2 + m.a1**2 + m.a1**2 / m.c
    attention, ridge = null.at(m, gamma=m.gamma * mean), raw.at(m, gamma=m.gamma * m.c, snr=0)
    return {"gap": attention - ridge, "attention": attention, "ridge": ridge}


slope = var("slope", "a_1", "first Hermite coefficient, varied at a fixed second moment", NONNEGATIVE)
way = var(
    "weights", "W", "none, or w_K = w_Q = mu", Choice(("none", "aligned")), default="none",
)  # fmt: skip
power = var("second_moment", r"\nu", "second moment of the centred nonlinearity", POSITIVE, default=1, typical=(0.5, 2))


def vectors_of(m):
    """The weights that a word stands for."""
    return ALIGNED if m.weights == "aligned" else both(0, 0)


@remark(
    "liao2026.best-linear-share",
    costly=True,
    title="Linear part of f with the least interpolation error",
    source=Source(WORK, "Figure 3", version="v2", guessed=True),
    model=MODEL.only("ratio", "signal"),
    given=(gamma, power, way),
    outputs={
        "a1": Output("the best first Hermite coefficient at this second moment", NONNEGATIVE),
        "error": ERROR,
        "linear": Output("the error of the linear f of this second moment", Interval(0, 1)),
    },
    needs={"attention": "liao2026.interpolation-error"},
    recipe={slope: Search(Rational(1, 1000), sqrt(power) * (1 - Rational(1, 10**6)), scan=25, slopes=False)},
    assumes=ASSUMED,
    regime=LIMIT,
    warns=(FAR_WORD,),
    checks=(
        "liao2026_facts.at_linear_part",
        Unchecked("a1", because="the minimum is flat, so that simulated errors cannot tell its place"),
    ),
    marks="NE",
    notes=(
        "At nu = c = gamma = |mu|^2 = 1 the error falls from 0.5498 at a1 = 0 to 0.387 near a1 = 0.9 and is 0.390 for "
        "a linear f; with w_K = w_Q = mu it is least near 0.75, 0.325 against 0.344: a little nonlinearity helps. On "
        "noise it rises with a1.",
    ),
)
def best_linear_share(m, *, attention):
    """The share of the linear part at which attention fits the labels best."""
    moment = m.second_moment
    vectors = vectors_of(m)
    least = Minimum(attention.at(m, vectors, a1=slope, b2=moment - slope**2), slope)
    return {
        "a1": least.at(slope),
        "error": least,
        "linear": attention.at(m, vectors, a1=sqrt(moment), b2=0),
    }


@remark(
    "liao2026.signal-slope",
    costly=True,
    title="How the interpolation error changes with the signal",
    source=Source(WORK, "Figures 1 and 2", version="v2", guessed=True),
    model=MODEL.only("ratio", "moments", "signal"),
    given=(gamma, way),
    outputs={"slope": "derivative of the error in |mu|^2", "error": ERROR},
    needs={"attention": "liao2026.interpolation-error"},
    assumes=(*ASSUMED, "there is a signal"),
    regime=LIMIT,
    warns=(FAR_WORD, STIFF_FIXED),
    checks=(
        "liao2026.attention_error",
        Unchecked("slope", because="the derivative of the error, which is measured"),
    ),
    marks="NE",
    notes=(
        "Without weights and with w_K = w_Q = mu the error does not rise with the signal on any grid tried. It does "
        "for weights against it: w_Q = -w_K along mu has a larger error than none.",
    ),
)
def signal_slope(m, *, attention):
    """The derivative of the error in |mu|^2, never positive as far as is known."""
    error = attention.at(m, vectors_of(m))
    return {"slope": Total(error, m.snr), "error": error}
