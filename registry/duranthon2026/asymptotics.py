"""Strong signals and long sequences: leading orders, series, thresholds."""

from sympy import (
    And,
    Eq,
    Ge,
    Le,
    Ne,
    Or,
    Piecewise,
    Rational,
    euler,
    exp,
    factorial,
    log,
    oo,
    pi,
    sqrt,
    sympify,
)

from theorem_engine import (
    REAL,
    Activation,
    Holds,
    Interval,
    LengthMean,
    Limit,
    Output,
    Root,
    Search,
    Source,
    corollary,
    normal_cdf,
    normal_pdf,
)
from theorem_engine.base.errors import NotAvailable, OutOfDomain
from theorem_engine.registry.duranthon2026.notation import (
    ACTIVATIONS,
    MODEL,
    NONNEGATIVE,
    ON_MANIFOLD,
    L,
    length,
    mu,
    nu,
    slope,
    task,
    var,
)
from theorem_engine.registry.duranthon2026.softplus_limits import FLATTEST, b, largest_gain, least_coefficient, variance
from theorem_engine.registry.duranthon2026.tasks import ARGMAX, FINITE_SPIKE, MAX, SPIKED, task_of

KNOWN = ("softmax", "linear", "centred-linear", "erf", "softplus", "element-wise-optimal")
activation = var(
    "activation", r"\sigma", "how scores become weights", Activation.of({name: ACTIVATIONS[name] for name in KNOWN})
)
strong = var("nu", r"\nu", "strength of the signal", nu.domain, typical=(10, 200))
many = var("L", "L", "tokens in a sequence, a number or a distribution", L.domain, typical=(10, 2000))
weak = var("nu", r"\nu", "strength of the signal", nu.domain, typical=(0, 2))

inverse = var("inverse", r"\overline{1/L}", "mean inverse length", NONNEGATIVE)
inverse_square = var("inverse_square", r"\overline{1/L^2}", "mean inverse squared length", NONNEGATIVE)
w = var("w", "w", "width of the best erf over four, in units of the posterior's", NONNEGATIVE)
#: What statements need of the lengths; each takes what it uses.
OF_LENGTHS = {
    length: LengthMean(L, L),
    inverse: LengthMean(1 / L, L),
    inverse_square: LengthMean(1 / L**2, L),
    variance: LengthMean((L - length) ** 2, L),
}

OUTPUTS = {
    "leading": Output("first term of the risk", Interval(0, 1)),
    "series": Output("the risk to the order known (see notes)", Interval(0, 1)),
    "exponent": Output("rate of the exponential, 0 for a power law", REAL),
    "threshold": Output(
        "signal at which the risk turns; infinite where it never does", Interval(0, oo, right_open=False)
    ),
}


def _is_risk(options):
    """The expansion in the inverse signal is a risk, in the letters of a query; where it is one at any signal, None."""
    if options["task"] == "max":
        if options["activation"] != "softmax":
            return None
        return And(Le(ARGMAX.lead() / nu, 1), Ge(12 * nu**2, pi**2))
    leading, series, *_, known = _strong_spike(options["activation"])
    # the variance in its own letters; what rounding takes of it is far below the mean length
    of_lengths = {**OF_LENGTHS, variance: LengthMean(L**2, L) - LengthMean(L, L) ** 2, **known}
    within = And(*(relation.xreplace(of_lengths) for relation in (Le(leading, 1), Ge(series, 0))))
    # of a single token the statement itself says that nothing is left to expand
    return Or(Le(LengthMean(L, L), 1), within)


def _stated(leading, series, exponent, threshold, known=None):
    """The four outputs, after what they use of the lengths and what else is known."""
    known = known or {}
    outputs = {"leading": leading, "series": series, "exponent": exponent, "threshold": threshold}
    used = {
        x for expression in (*outputs.values(), *known.values()) for x in sympify(expression, strict=True).free_symbols
    }
    if variance in used:
        used.add(length)
    of_lengths = {letter: mean for letter, mean in OF_LENGTHS.items() if letter in used}
    return {**of_lengths, **known, **outputs}


@corollary(
    "duranthon2026.signal-asymptotics",
    title="Risks as the signal grows",
    source=Source("2509.21936", "Corollary 4.3"),
    given=(task, strong, L, activation),
    outputs=OUTPUTS,
    assumes=(*MODEL, ON_MANIFOLD, "P(L >= 2) > 0"),
    regime=Limit(
        grows=(nu,), fixed=(L,), correction="relative order of the first term left out; the series is asymptotic"
    ),
    needs={"minimal": "duranthon2026.minimal-risk"},
    requires=(
        FINITE_SPIKE,
        Holds(Ge(nu, Rational(1, 1000)), "the signal is no smaller than any expansion in its inverse can bear"),
        Holds(
            _is_risk, "the signal is so strong that the expansion is a risk (first term at most 1, series not below 0)"
        ),
    ),
    recipe={b: Search(FLATTEST, 2, scan=33), w: Search(Rational(1, 4), 1)},
    checks=("duranthon2026_limits.strong_signal", "duranthon2026_limits.risk_threshold"),
    marks="DVG",
    notes=(
        "Spiked, softmax: (E[L]-1)/2 sqrt(pi/nu) exp(-nu/4) (1 - x + 5x^2/2 - 61x^3/6), x = pi^2/(4 nu); the "
        "coefficients are |E_2n|/n!. Exact in form for L = 2; for L > 2 ties of several tokens cost exp(-nu/3). "
        "The rate is 1/4 for every L.",
        "Spiked, linear: E[L]/nu, next order -E[L]^3/((E[L]-1) nu^2); not L/(L-1)/nu nor (L-1)/nu, which circulate. "
        "Centred linear: (E[L]-1)/nu, next order -(E[L]-1)^2/((1-E[1/L]) nu^2).",
        "Spiked, best element-wise: sqrt(E[L]-1) sqrt(pi/(2 nu)) exp(-nu/8) (1 - (pi^2 + log(E[L]-1)^2)/(2 nu)); erf "
        "1.000918 times as much, with 9.874 in place of pi^2: (8/pi) min_w exp(w^2) Phi(-w) and 8 + 8 w^2 (1 - w^2) "
        "at that w.",
        "Spiked, softplus: min_a [(E[L]-1) (2 E sp^2 - (E sp)^2) + Var(L) (E sp)^2]/(a^2 nu) with sp = softplus(a z); "
        "0.83415972 (L-1)/nu at a fixed length, approached slowly. From Var(L) = E[L]-1 on the best slope is infinite.",
        "Max, softmax: (M/nu)(1 - pi^2/(12 nu^2)) with M the mean maximum of L normals: a power law. The other "
        "activations do not vanish: their value at nu = oo.",
        "Thresholds are those of long sequences: see length-asymptotics.",
    ),
)
def signal_asymptotics(m, *, minimal):
    """Softmax wins an exponent: exp(-nu/4) against exp(-nu/8) without normalisation and 1/nu for linear growth."""
    if m.when(Eq(L, 1)):
        raise OutOfDomain("L=1 is outside the statement: a single token is the hidden one, no risk is left to expand")
    if m.task == "spiked":
        return _stated(*_strong_spike(m.activation))
    if m.activation == "softmax":
        # the mean largest of the scores is that of the argmax
        series = mu / nu * (1 - pi**2 / (12 * nu**2))
        return _stated(mu / nu, series, 0, _threshold(MAX, m.activation), {mu: ARGMAX.lead()})
    final = minimal.at(m, nu=oo)
    return _stated(final, final, 0, oo)


def _strong_spike(activation):
    """The spiked task as the signal grows: first term, those known beyond it, rate, threshold, and what they use."""
    turn, others = _threshold(SPIKED, activation), length - 1
    if activation == "softmax":
        first = others / 2 * sqrt(pi / nu) * exp(-nu / 4)
        series = sum(euler(2 * n) / factorial(n) * (pi**2 / (4 * nu)) ** n for n in range(4))
        return first, first * series, Rational(1, 4), turn, {}
    if activation == "linear":
        return length / nu, length / nu - length**3 / (others * nu**2), 0, turn, {}
    if activation == "centred-linear":
        return others / nu, others / nu - others**2 / ((1 - inverse) * nu**2), 0, turn, {}
    if activation == "softplus":
        first = least_coefficient() / nu
        return first, first, 0, turn, {}
    first, bend, known = sqrt(others) * sqrt(pi / (2 * nu)) * exp(-nu / 8), pi**2, {}
    if activation == "erf":
        # where the two densities cross they fall and rise as exp(-r/2) and exp(r/2), and an erf of width 4 w is off
        # by (8/pi) exp(w^2) Phi(-w); the next order is its second moment in r at the best w
        known = {w: Root(2 * w * normal_cdf(-w) - normal_pdf(w), w)}
        first *= 8 / pi * exp(w**2) * normal_cdf(-w)
        bend = 8 + 8 * w**2 * (1 - w**2)
    return first, first * (1 - (bend + log(others) ** 2) / (2 * nu)), Rational(1, 8), turn, known


def _threshold(here, activation):
    """The signal at which the risk turns in long sequences, c_nu^2 = 2 log L for weights that grow exponentially.

    Softmax turns for each length by itself. Softplus at its best, steep, has the risk 1 - nu a^2/(nu b + a/2)
    with a = E[1/L] and b = E[1/L^2], which may stay above one half if lengths differ.
    """
    if activation == "softmax":
        return LengthMean(here.signal_at(2 * log(L)), L)
    if activation in ("erf", "element-wise-optimal"):
        return here.signal_at(2 * log(length))
    if here is MAX:
        return oo
    if activation == "softplus":
        gap = 2 * inverse**2 - inverse_square
        return Piecewise((inverse / (2 * gap), gap > 0), (oo, True))
    return length


def _gain(here, activation):
    """What an activation gains over no attention at all, to first order in inverse lengths; its c at a fixed length.

    Weights that sum to one gain length by length, others see the mean length; centred linear weights do both.
    """
    signal = here.c_nu**2
    per_length, per_mean = LengthMean(1 / L, L), 1 / LengthMean(L, L)
    if activation == "softmax":
        return exp(signal) * per_length, exp(signal)
    if activation in ("erf", "element-wise-optimal"):
        return exp(signal) * per_mean, exp(signal)
    if activation == "linear":
        return (1 + signal) * per_mean, 1 + signal
    if activation == "centred-linear":
        return per_length + signal * per_mean, 1 + signal
    if activation == "softplus" and here is SPIKED:
        constant = largest_gain()
        return constant * per_length, constant
    return None


def _gains_little(options):
    """The gain is at most one, where it is known."""
    gain = _gain(SPIKED if options["task"] == "spiked" else MAX, options["activation"])
    return None if gain is None else Le(gain[0], 1)


FIXED = Holds(Ne(nu, oo), "the signal is finite: it stays fixed while the sequences grow")
VALID = Holds(_gains_little, "the lengths are large against what the signal makes of them (the gain is at most one)")


@corollary(
    "duranthon2026.length-asymptotics",
    title="Risks as sequences grow at fixed signal",
    source=Source("2509.21936", "Corollary 4.3", guessed=True),
    given=(task, weak, many, activation),
    outputs={
        **OUTPUTS,
        "leading": Output("first term of the risk", Interval(0, 1)),
        "exponent": Output("log c, the gain at a fixed length being c/L", NONNEGATIVE),
    },
    assumes=(*MODEL, ON_MANIFOLD),
    regime=Limit(grows=(many,), fixed=(weak,), orders=(2,), correction="O(1/L^2)"),
    requires=(FIXED, VALID),
    recipe={slope: Search(FLATTEST**2, 1, scan=33), b: Search(FLATTEST, 1, scan=33)},
    checks=("duranthon2026_limits.long_sequences", "duranthon2026_limits.risk_threshold"),
    marks="DVG",
    notes=(
        "leading is 1 - c/L at a fixed length: c = exp(c_nu^2) for softmax, the best element-wise weights and erf "
        "(with shift -> -oo); c = 1 + c_nu^2 for linear, its first-order Taylor polynomial; c_nu^2 is nu (spiked) or "
        "nu^2 (max).",
        "Random lengths: 1/L stands for E[1/L] with softmax and softplus, for 1/E[L] with weights that see one token; "
        "centred linear weights gain E[1/L] + c_nu^2/E[L].",
        "exponent is log c. The series of linear attention (spiked) has the order 1/L^2 too.",
        "threshold: the signal needed at this length. Spiked: softmax 2 log L (where the risk jumps from 1 to 0 in the "
        "limit), linear L, softplus L/2: at nu = kappa L its risk tends to 1/(1 + 2 kappa). Max: softmax "
        "sqrt(2 log L), where the limit is min(1, sqrt(2 log L)/nu); linear never.",
        "Thresholds at random lengths: softmax turns for each length by itself, the mean of these is given (spiked: "
        "the integral of its risk over nu); element-wise weights see E[L]; softplus (for nu small against L^2) turns "
        "at a/(2 (2 a^2 - b)) with a = E[1/L], b = E[1/L^2], or not at all.",
        "Max, nu = oo, L -> oo: softmax 0, best element-wise 1/2, erf 0.50127, softplus 1, linear 1.",
    ),
)
def length_asymptotics(m):
    """All activations go to risk one; what differs is the constant of 1/L and the signal that prevents it."""
    here = task_of(m)
    found = _gain(here, m.activation)
    if found is None:
        raise NotAvailable(f"{m.owner}: not known for {m.activation} in the {m.task} task")
    gain, constant = found
    more = (nu**2 + 2 * nu) / length**2 if here is SPIKED and m.activation == "linear" else 0
    return _stated(1 - gain, 1 - gain + more, log(constant), _threshold(here, m.activation))
