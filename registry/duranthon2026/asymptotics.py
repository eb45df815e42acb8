"""Strong signals and long sequences: leading orders, series, thresholds."""

from sympy import Rational, exp, log, oo, pi, sqrt

from theorem_engine import (
    REAL,
    Activation,
    GaussianMean,
    LengthMean,
    Minimum,
    Output,
    Source,
    corollary,
    limit,
    softplus,
)
from theorem_engine.errors import NotAvailable
from theorem_engine.registry.duranthon2026.notation import (
    ACTIVATIONS,
    MODEL,
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
from theorem_engine.registry.duranthon2026.weights import hidden_score

KNOWN = ("softmax", "linear", "centred-linear", "erf", "softplus", "element-wise-optimal")
activation = var(
    "activation", r"\sigma", "how scores become weights", Activation.of({name: ACTIVATIONS[name] for name in KNOWN})
)

OUTPUTS = {
    "leading": Output("first term of the risk", REAL),
    "series": Output("the risk to the order known (see notes)", REAL),
    "exponent": Output("rate of the exponential, 0 for a power law", REAL),
    "threshold": Output("signal at which the risk turns", REAL),
}

#: min over a of (2 E softplus(a z)^2 - (E softplus(a z))^2)/a^2, at a = 4.828; known to the digits given.
SOFTPLUS_CONSTANT = Rational(83415972, 10**8)
#: Probit against logistic at the best width; known to the digits given.
ERF_RATIO = Rational(1000918, 10**6)
#: What the next coefficient of erf exceeds that of the best element-wise weights by; fitted at L = 2 and 7.
ERF_BEND = Rational(224, 10**5)


@corollary(
    "duranthon2026.signal-asymptotics",
    title="Risks as the signal grows",
    source=Source("2509.21936", "Corollary 4.3"),
    given=(task, nu, L, activation),
    outputs=OUTPUTS,
    assumes=(*MODEL, ON_MANIFOLD, "P(L >= 2) > 0"),
    regime=limit("nu -> oo at fixed L", "relative order of the first term left out; the series is asymptotic"),
    needs={"minimal": "duranthon2026.minimal-risk"},
    checks=("duranthon2026_limits.strong_signal", "duranthon2026_limits.risk_threshold"),
    marks="DVG",
    notes=(
        "Spiked, softmax: (E[L]-1)/2 sqrt(pi/nu) exp(-nu/4) (1 - x + 5x^2/2 - 61x^3/6), x = pi^2/(4 nu); the "
        "coefficients are |E_2n|/n!. Exact in form for L = 2; for L > 2 ties of several tokens cost exp(-nu/3). "
        "The rate is 1/4 for every L.",
        "Spiked, linear: E[L]/nu, next order -E[L]^3/((E[L]-1) nu^2); not L/(L-1)/nu nor (L-1)/nu, which circulate.",
        "Spiked, best element-wise: sqrt(E[L]-1) sqrt(pi/(2 nu)) exp(-nu/8) (1 - (pi^2 + log(E[L]-1)^2)/(2 nu)); erf "
        "1.000918 times as much with 0.00224 more in the coefficient of 1/nu, both numerical. Softplus: 0.83415972 "
        "(E[L]-1)/nu, approached slowly.",
        "Max, softmax: (M/nu)(1 - pi^2/(12 nu^2)) with M the mean maximum of L normals: a power law. The other "
        "activations do not vanish: their value at nu = oo.",
        "Thresholds: 2 log E[L] (spiked) and sqrt(2 log E[L]) (max) for softmax and the best element-wise weights, "
        "E[L] for linear, E[L]/2 for softplus: at nu = kappa L its risk tends to 1/(1 + 2 kappa), the best that steep "
        "weights can do.",
    ),
)
def signal_asymptotics(task, nu, L, activation, *, minimal):
    """Softmax wins an exponent: exp(-nu/4) against exp(-nu/8) without normalisation and 1/nu for linear growth."""
    known = {length: LengthMean(L, L), mu: hidden_score(True)}
    if task == "max":
        threshold = sqrt(2 * log(length))
        if activation == "softmax":
            return {**known, **_terms(mu / nu, mu / nu * (1 - pi**2 / (12 * nu**2)), 0, threshold)}
        final = minimal(oo, L, task=task, activation=activation, is_argmax=True)
        return {**known, **_terms(final, final, 0, oo)}
    others = length - 1
    if activation == "softmax":
        t = pi**2 / (4 * nu)
        first = others / 2 * sqrt(pi / nu) * exp(-nu / 4)
        series = first * (1 - t + Rational(5, 2) * t**2 - Rational(61, 6) * t**3)
        return {**known, **_terms(first, series, Rational(1, 4), 2 * log(length))}
    if activation == "linear":
        return {**known, **_terms(length / nu, length / nu - length**3 / (others * nu**2), 0, length)}
    if activation == "centred-linear":
        return {**known, **_terms(others / nu, others / nu - others * length / nu**2, 0, length)}
    if activation == "softplus":
        first = SOFTPLUS_CONSTANT * others / nu
        return {**known, **_terms(first, first, 0, length / 2)}
    if activation in ("erf", "element-wise-optimal"):
        scale, bend = (ERF_RATIO, ERF_BEND) if activation == "erf" else (1, 0)
        first = scale * sqrt(others) * sqrt(pi / (2 * nu)) * exp(-nu / 8)
        series = first * (1 - ((pi**2 + log(others) ** 2) / 2 + bend) / nu)
        return {**known, **_terms(first, series, Rational(1, 8), 2 * log(length))}
    raise NotAvailable(f"duranthon2026.signal-asymptotics: no series is known for {activation}")


def _terms(leading, series, exponent, threshold):
    return {"leading": leading, "series": series, "exponent": exponent, "threshold": threshold}


@corollary(
    "duranthon2026.length-asymptotics",
    title="Risks as sequences grow at fixed signal",
    source=Source("2509.21936", "Corollary 4.3", guessed=True),
    given=(task, nu, L, activation),
    outputs=OUTPUTS,
    assumes=(*MODEL, ON_MANIFOLD),
    regime=limit("L -> oo at fixed nu", "O(1/L^2)"),
    checks=("duranthon2026_limits.long_sequences", "duranthon2026_limits.risk_threshold"),
    marks="DVG",
    notes=(
        "leading is 1 - c/L: c = exp(c_nu^2) for softmax, the best element-wise weights and erf (with shift -> -oo); "
        "c = 1 + c_nu^2 for linear, its first-order Taylor polynomial; c_nu^2 is nu (spiked) or nu^2 (max).",
        "exponent is log c. The series of linear attention (spiked) has the order 1/L^2 too.",
        "threshold: the signal needed at this length. Spiked: softmax 2 log L (where the risk jumps from 1 to 0 in the "
        "limit), linear L, softplus L/2. Max: softmax sqrt(2 log L), where the limit is min(1, sqrt(2 log L)/nu); "
        "linear never.",
        "Max, nu = oo, L -> oo: softmax 0, best element-wise 1/2, erf 0.50127, softplus 1, linear 1.",
    ),
)
def length_asymptotics(task, nu, L, activation):
    """All activations go to risk one; what differs is the constant of 1/L and the signal that prevents it."""
    known = {length: LengthMean(L, L)}
    signal = nu if task == "spiked" else nu**2
    soft = 2 * log(length) if task == "spiked" else sqrt(2 * log(length))
    if activation in ("softmax", "erf", "element-wise-optimal"):
        first = 1 - exp(signal) / length
        return {**known, **_terms(first, first, signal, soft)}
    if activation in ("linear", "centred-linear"):
        first = 1 - (1 + signal) / length
        more = (signal**2 + 2 * signal) / length**2 if (task, activation) == ("spiked", "linear") else 0
        return {**known, **_terms(first, first + more, log(1 + signal), length if task == "spiked" else oo)}
    if activation == "softplus" and task == "spiked":
        mean = GaussianMean(softplus(m * (x + sqrt(nu))), x)
        square = GaussianMean(softplus(m * x) ** 2, x)
        constant = -Minimum(-(mean**2) / square, over={m: (Rational(1, 100), 200)}, scan=33)
        first = 1 - constant / length
        return {**known, **_terms(first, first, log(constant), length / 2)}
    raise NotAvailable(f"duranthon2026.length-asymptotics: not known for {activation} in the {task} task")
