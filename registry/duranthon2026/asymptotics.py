"""Strong signals and long sequences: leading orders, series, thresholds."""

from sympy import Eq, Ge, Integral, Le, Max, Min, Ne, Piecewise, Rational, exp, log, oo, pi, sqrt

from theorem_engine import (
    REAL,
    Activation,
    GaussianMean,
    Holds,
    Interval,
    LengthMean,
    Minimum,
    Output,
    Root,
    Source,
    corollary,
    limit,
    normal_cdf,
    normal_pdf,
    softplus,
)
from theorem_engine.errors import NotAvailable, OutOfDomain
from theorem_engine.registry.duranthon2026.notation import (
    ACTIVATIONS,
    IS_ARGMAX,
    MODEL,
    NONNEGATIVE,
    ON_MANIFOLD,
    L,
    length,
    m,
    mu,
    nu,
    task,
    var,
    x,
)
from theorem_engine.registry.duranthon2026.weights import hidden_score, refuse_infinite_spike

KNOWN = ("softmax", "linear", "centred-linear", "erf", "softplus", "element-wise-optimal")
activation = var(
    "activation", r"\sigma", "how scores become weights", Activation.of({name: ACTIVATIONS[name] for name in KNOWN})
)
strong = var("nu", r"\nu", "strength of the signal", nu.domain, typical=(Rational(1, 2), 40))
many = var("L", "L", "tokens in a sequence, a number or a distribution", L.domain, typical=(10, 2000))
weak = var("nu", r"\nu", "strength of the signal", nu.domain, typical=(0, 2))

inverse = var("inverse", r"\overline{1/L}", "mean inverse length", NONNEGATIVE)
inverse_square = var("inverse_square", r"\overline{1/L^2}", "mean inverse squared length", NONNEGATIVE)
variance = var("variance", r"\mathrm{Var}(L)", "variance of the length", NONNEGATIVE)
b = var("b", "b", "inverse slope of softplus weights, searched over", NONNEGATIVE)
t = var("t", "t", "share of the range of a score, integrated over", NONNEGATIVE)
w = var("w", "w", "width of the best erf over four, in units of the posterior's", NONNEGATIVE)

OUTPUTS = {
    "leading": Output("first term of the risk", REAL),
    "series": Output("the risk to the order known (see notes)", REAL),
    "exponent": Output("rate of the exponential, 0 for a power law", REAL),
    "threshold": Output(
        "signal at which the risk turns; infinite where it never does", Interval(0, oo, right_open=False)
    ),
}
#: Slopes beyond which softplus cannot be told from its positive part, and below which it is flat.
FLATTEST = Rational(1, 10**6)


def _terms(leading, series, exponent, threshold):
    return {"leading": leading, "series": series, "exponent": exponent, "threshold": threshold}


def _beyond_positive_part(power, s=0):
    """What E softplus(u)^power at u = (x + s)/b has beyond that of its positive part, over b^(power + 1).

    With y = |u| it is an integral over the narrow range in which the two differ, finite at b = 0:
    softplus(u) = u_+ + softplus(-|u|).
    """
    y = t / (1 - t)
    tail = softplus(-y)
    density = normal_pdf(b * y - s) + normal_pdf(b * y + s)
    body = density * tail if power == 1 else density * tail**2 + 2 * normal_pdf(b * y - s) * y * tail
    ends = (0, Rational(1, 4), Rational(1, 2), Rational(3, 4), 1)
    return sum(Integral(body / (1 - t) ** 2, (t, *pair)) for pair in zip(ends[:-1], ends[1:], strict=True))


def _steep_means(s=0):
    """E softplus((x + s)/b) b and E softplus(x/b)^2 b^2: those of the positive part at b = 0, and what is beyond."""
    first = s * normal_cdf(s) + normal_pdf(s)
    return first + b**2 * _beyond_positive_part(1, s), Rational(1, 2) + b**3 * _beyond_positive_part(2)


def _softplus_coefficient():
    """Least variance of the weight that the other tokens take, in units of 1/nu, over the slope 1/b.

    Their total is T = sum softplus(x_l/b) against sqrt(nu)/b of the hidden one; the risk is
    E[T^2 + sum softplus^2] - (E T)^2 over nu/b^2, and the length itself varies in T.
    """
    first, square = _steep_means()

    def height(first, square):
        return (length - 1) * (2 * square - first**2) + variance * first**2

    interior = Minimum(height(first, square), over={b: (FLATTEST, 2)}, scan=33)
    return Min(interior, height(1 / sqrt(2 * pi), Rational(1, 2)))


def _softplus_gain():
    """Largest (E softplus(m (x + s)))^2 / E softplus(m x)^2 over all slopes m, s being the mean of the hidden score.

    Steep and flat slopes are searched by themselves, and both limits are looked at: 1 at m = 0, the positive
    part at m = oo.
    """
    s = sqrt(nu)
    first, square = GaussianMean(softplus(m * (x + s)), x), GaussianMean(softplus(m * x) ** 2, x)
    flat = -Minimum(-(first**2) / square, over={m: (FLATTEST**2, 1)}, scan=33)
    first, square = _steep_means(s)
    steep = -Minimum(-(first**2) / square, over={b: (FLATTEST, 1)}, scan=33)
    return Max(1, flat, steep, 2 * (s * normal_cdf(s) + normal_pdf(s)) ** 2)


@corollary(
    "duranthon2026.signal-asymptotics",
    title="Risks as the signal grows",
    source=Source("2509.21936", "Corollary 4.3"),
    given=(task, strong, L, activation),
    outputs=OUTPUTS,
    assumes=(*MODEL, ON_MANIFOLD, "P(L >= 2) > 0"),
    regime=limit("nu -> oo at fixed L", "relative order of the first term left out; the series is asymptotic"),
    needs={"minimal": "duranthon2026.minimal-risk"},
    requires=(Holds(Ge(nu, Rational(1, 1000)), "the signal is no smaller than any expansion in its inverse can bear"),),
    cases={"is_argmax": IS_ARGMAX, "has_one_token": Eq(L, 1)},
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
def signal_asymptotics(task, nu, L, activation, *, minimal, is_argmax, has_one_token):
    """Softmax wins an exponent: exp(-nu/4) against exp(-nu/8) without normalisation and 1/nu for linear growth."""
    refuse_infinite_spike(task, is_argmax)
    if has_one_token:
        raise OutOfDomain("L=1 is outside the statement: a single token is the hidden one, no risk is left to expand")
    known = {length: LengthMean(L, L)}
    if task == "max":
        turn = _threshold(task, activation, known) if activation == "softmax" else oo
        if activation == "softmax":
            known[mu] = hidden_score(True)
            return {**known, **_terms(mu / nu, mu / nu * (1 - pi**2 / (12 * nu**2)), 0, turn)}
        final = minimal(oo, L, task=task, activation=activation)
        return {**known, **_terms(final, final, 0, turn)}
    turn = _threshold(task, activation, known)
    others = length - 1
    if activation == "softmax":
        z = pi**2 / (4 * nu)
        first = others / 2 * sqrt(pi / nu) * exp(-nu / 4)
        series = first * (1 - z + Rational(5, 2) * z**2 - Rational(61, 6) * z**3)
        return {**known, **_terms(first, series, Rational(1, 4), turn)}
    if activation == "linear":
        return {**known, **_terms(length / nu, length / nu - length**3 / (others * nu**2), 0, turn)}
    if activation == "centred-linear":
        known[inverse] = LengthMean(1 / L, L)
        return {**known, **_terms(others / nu, others / nu - others**2 / ((1 - inverse) * nu**2), 0, turn)}
    if activation == "softplus":
        known[variance] = LengthMean((L - length) ** 2, L)
        first = _softplus_coefficient() / nu
        return {**known, **_terms(first, first, 0, turn)}
    first = sqrt(others) * sqrt(pi / (2 * nu)) * exp(-nu / 8)
    bend = pi**2
    if activation == "erf":
        # where the two densities cross they fall and rise as exp(-r/2) and exp(r/2), and an erf of width 4 w is off
        # by (8/pi) exp(w^2) Phi(-w); the next order is its second moment in r at the best w
        known[w] = Root(2 * w * normal_cdf(-w) - normal_pdf(w), w, Rational(1, 4), 1)
        first *= 8 / pi * exp(w**2) * normal_cdf(-w)
        bend = 8 + 8 * w**2 * (1 - w**2)
    return {**known, **_terms(first, first * (1 - (bend + log(others) ** 2) / (2 * nu)), Rational(1, 8), turn)}


def _threshold(task, activation, known):
    """The signal at which the risk turns in long sequences; what it needs of the lengths is put into ``known``.

    Softmax turns for each length by itself. Softplus at its best, steep, has the risk 1 - nu a^2/(nu b + a/2)
    with a = E[1/L] and b = E[1/L^2], which may stay above one half if lengths differ.
    """
    if activation == "softmax":
        return LengthMean(2 * log(L) if task == "spiked" else sqrt(2 * log(L)), L)
    if activation in ("erf", "element-wise-optimal"):
        return 2 * log(length) if task == "spiked" else sqrt(2 * log(length))
    if task == "max":
        return oo
    if activation == "softplus":
        known.update({inverse: LengthMean(1 / L, L), inverse_square: LengthMean(1 / L**2, L)})
        gap = 2 * inverse**2 - inverse_square
        return Piecewise((inverse / (2 * gap), gap > 0), (oo, True))
    return length


def _gain(task, activation):
    """What an activation gains over no attention at all, to first order in inverse lengths; its c at a fixed length.

    Weights that sum to one gain length by length, others see the mean length; centred linear weights do both.
    """
    signal = nu if task == "spiked" else nu**2
    per_length, per_mean = LengthMean(1 / L, L), 1 / LengthMean(L, L)
    if activation == "softmax":
        return exp(signal) * per_length, exp(signal)
    if activation in ("erf", "element-wise-optimal"):
        return exp(signal) * per_mean, exp(signal)
    if activation == "linear":
        return (1 + signal) * per_mean, 1 + signal
    if activation == "centred-linear":
        return per_length + signal * per_mean, 1 + signal
    if activation == "softplus" and task == "spiked":
        constant = _softplus_gain()
        return constant * per_length, constant
    return None


FIXED = Holds(Ne(nu, oo), "the signal is finite: it stays fixed while the sequences grow")
VALID = tuple(
    Holds(Le(gain[0], 1), "the lengths are large against what the signal makes of them (the gain is at most one)",
          only=(("task", name), ("activation", weights)))
    for name in ("spiked", "max")
    for weights in KNOWN
    if (gain := _gain(name, weights)) is not None
)  # fmt: skip


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
    regime=limit("L -> oo at fixed nu", "O(1/L^2)"),
    requires=(FIXED, *VALID),
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
def length_asymptotics(task, nu, L, activation):
    """All activations go to risk one; what differs is the constant of 1/L and the signal that prevents it."""
    found = _gain(task, activation)
    if found is None:
        raise NotAvailable(f"duranthon2026.length-asymptotics: not known for {activation} in the {task} task")
    gain, constant = found
    known = {length: LengthMean(L, L)}
    turn = _threshold(task, activation, known)
    more = (nu**2 + 2 * nu) / length**2 if (task, activation) == ("spiked", "linear") else 0
    return {**known, **_terms(1 - gain, 1 - gain + more, log(constant), turn)}
