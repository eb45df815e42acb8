"""When attention beats ridge regression on the raw tokens."""

from sympy import And, Integer, Piecewise, Rational, oo, sqrt

from theorem_engine import (
    ABSENT,
    NONNEGATIVE,
    POSITIVE,
    Choice,
    Interval,
    Output,
    Root,
    Search,
    Source,
    corollary,
)
from theorem_engine.language.unchecked import Unchecked
from theorem_engine.registry.liao2026.finite_size import FAR_WINDOW, STIFF_FIXED
from theorem_engine.registry.liao2026.model import ALIGNED, ASSUMED, LIMIT, MODEL, UNIT_ALIGNED
from theorem_engine.registry.liao2026.notation import WORK, Delta, a1, lin, root, snr, var
from theorem_engine.registry.liao2026.ridge import ridge_quadratic

aligned = var(
    "weights",
    "W",
    "w_K = w_Q = mu (aligned) or mu/|mu| (unit-aligned) instead of infinite alignment",
    Choice(("aligned", "unit-aligned")),
    default=ABSENT,
)
# below, with more tokens than dimensions, the ratio of errors is so flat in the signal that no sample shows its top
strong = var("gamma", r"\gamma", "ridge penalty over n", POSITIVE, typical=(0.5, 30))
att = var("att", r"\mathcal E_0", "error of attention on pure noise")
x = var("x", "x", "excess of attention over ridge on noise, relatively")
low = var("low", "|\\mu|^2_-", "lower end of the window")
high = var("high", "|\\mu|^2_+", "upper end of the window")
UP_TO_INFINITY = Interval(0, oo, right_open=False)


@corollary(
    "liao2026.reversal",
    costly=True,
    title="Signals at which aligned attention beats ridge",
    source=Source(WORK, "Theorem 1 against Proposition 2", version="v2", guessed=True),
    model=MODEL.only("ratio", "moments"),
    given=(strong, aligned),
    outputs={
        "exists": "whether some signal strength reverses the order",
        "snr_low": Output("lower end of the window of |mu|^2; oo where there is none", UP_TO_INFINITY),
        "snr_high": Output("upper end of that window; 0 where there is none", UP_TO_INFINITY),
        "best_ratio_snr": Output("signal with the largest ratio of ridge to attention, fully aligned", NONNEGATIVE),
    },
    needs={
        "null": "liao2026.null-error", "ridge": "liao2026.ridge-error", "attention": "liao2026.interpolation-error",
    },
    zeros=(a1,),
    recipe={snr: Search(Rational(1, 10**4), 10**6)},
    assumes=(*ASSUMED, "w_Q is parallel to mu"),
    regime=LIMIT,
    warns=(*FAR_WINDOW, STIFF_FIXED),
    checks=(
        "liao2026_matrices.reversal_window",
        Unchecked("exists", because="says whether snr_high exceeds snr_low; where it does both are measured"),
    ),
    marks="AVN",
    notes=(
        "At infinite alignment attention's error is its null error over 1 + |mu|^2, and ridge's is its own times "
        "1 + |mu|^2/(1 + (1 + |mu|^2) A)^2, largest at |mu|^2 = 1 + 1/A; so a window exists iff the null errors differ "
        "by less than gamma^2/(4 Delta).",
        "Where attention is the better one on pure noise the window is every |mu|^2 > 0 (at infinite alignment).",
        "At finite alignment the ends are sign changes of the difference of the two errors between 1e-4 and 1e6.",
        "Without linear part (a1 = 0) attention does not see the signal: it wins, if at all, from |mu|^2 = 0 on.",
    ),
)  # fmt: skip
def reversal(m, *, null, ridge, attention):
    """The window of signal strengths in which attention with aligned weights has the lower error."""
    best = 1 + 1 / root
    if not m.a1:
        # attention does not see the signal and ridge does: attention can win at weak signals only
        half = att * root - lin * root**2 / 2
        strongest = (sqrt(half**2 - att * root**2 * (att - lin * (1 + 2 * root))) - half) / (att * root**2) - 1
        window = {low: Piecewise((oo, x >= 0), (0, True)), high: Piecewise((0, x >= 0), (strongest, True))}
        exists, best = lin > att, Integer(0)
    elif m.weights is None:
        spread = 4 * x * root * (1 + root)
        inside = sqrt(Piecewise((0, spread >= 1), (1 - spread, True)))
        middle = 1 - 2 * x * root * (1 + root)
        window = {
            # the smaller end as the ratio of the product of the ends to the larger one: no cancellation
            high: Piecewise((oo, x <= 0), (0, spread >= 1), ((middle + inside) / (2 * x * root**2), True)),
            low: Piecewise((0, x <= 0), (oo, spread >= 1), (2 * x * (1 + root) ** 2 / (middle + inside), True)),
        }
        exists = m.gamma**2 / (4 * Delta) > att - lin
    else:
        vectors = ALIGNED if m.weights == "aligned" else UNIT_ALIGNED
        difference = attention.at(m, vectors, snr=snr) - ridge.at(m, snr=snr)
        first, last = (Root(difference, snr, sign_change=which) for which in ("first", "last"))
        window = {
            low: Piecewise((0, x <= 0), (first, True)),
            high: Piecewise((last, x <= 0), (0, And(x > 0, first >= oo)), (last, True)),
        }
        exists = high > 0
    return {
        **ridge_quadratic(m),
        att: null.at(m),
        lin: ridge.at(m, snr=0),
        x: att / lin - 1,
        **window,
        "exists": exists,
        "snr_low": low,
        "snr_high": high,
        "best_ratio_snr": best,
    }
