"""Lengths drawn at random, against quadratures written here from the weights themselves.

Sums over tokens of a normalised kernel h are taken apart by 1/S = int e^(-t S) dt and 1/S^2 = int t e^(-t S) dt, on a
plain grid of log t; linear weights are least squares on two features with moments by hand.
"""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.special import ndtr

import theorem_engine as te
from tests.registry.duranthon2026_points import predict
from theorem_engine.base.errors import Infeasible, NotAvailable, OutOfDomain

LAWS = {"uniform(1,3)": {1: 1 / 3, 2: 1 / 3, 3: 1 / 3}, "two": {1: 0.5, 5: 0.5}, "other": {2: 0.25, 7: 0.75}}
LONG = {100: 0.5, 10000: 0.5}


def mean(law, function):
    return sum(w * function(n) for n, w in law.items())


def moments(kernel, nu, m, law):
    """S and Q of weights h(m chi*_l)/sum h in the spiked task, averaged over the lengths."""
    x = np.arange(-9, 9, min(0.05, 0.3 / m))
    density = np.exp(-x * x / 2) / math.sqrt(2 * math.pi) * (x[1] - x[0])
    scores = [m * (x + math.sqrt(nu)), m * x]
    top = math.log(max(law) * kernel(np.array([scores[0][-1]]))[0] + 1)
    u = np.arange(-top - 40, 45 - math.log(min(law)), 0.1)
    first, others = ([], [])
    for target, score in ((first, scores[0]), (others, scores[1])):
        v = np.exp(u)[:, None] * kernel(score)
        decay = np.exp(-v)
        target += [decay @ density, (v * decay) @ density, (v * v * decay) @ density]
    s = q = 0.0
    for n, w in law.items():
        if n == 1:
            s, q = s + w, q + w
            continue
        s += 0.1 * w * np.sum(first[1] * others[0] ** (n - 1))
        q += 0.1 * w * np.sum(first[2] * others[0] ** (n - 1))
        q += 0.1 * w * (n - 1) * np.sum(first[0] * others[2] * others[0] ** (n - 2))
    return s, q


def softplus(score):
    return np.logaddexp(0, score)


def best_softplus(nu, law):
    """The least risk over the slope."""

    def risk(log_slope):
        s, q = moments(softplus, nu, math.exp(log_slope), law)
        return 1 - s * s / q

    return minimize_scalar(risk, bounds=(0, 5), method="bounded", options={"xatol": 1e-5}).fun


def centred_linear(nu, law, task="spiked", score=None):
    """Least squares of the label on mean z and sum (chi - mean chi) z, whose product has mean zero."""
    first, size = mean(law, lambda n: 1 / n), mean(law, lambda n: n - 1)
    if task == "max":
        return 1 - first - score**2 / size
    second = math.sqrt(nu) * (1 - first)
    return 1 - first - second**2 / (size + nu * (1 - first))


@pytest.mark.parametrize("task", ["spiked", "max"])
def test_softmax_gains_length_by_length(task):
    """Half 100, half 10000 at nu = 1: the risk is .98682, to first order 1 - e E[1/L]; 1 - e/E[L] is .99946."""
    found = predict("length-asymptotics", task=task, nu=1, L=LONG, activation="softmax")
    assert found["leading"] == pytest.approx(1 - math.e * (1 / 100 + 1 / 10000) / 2, abs=1e-14)
    if task == "spiked":
        s, q = moments(np.exp, 1.0, 1.0, {100: 0.5, 10000: 0.5})
        assert 1 - s * s / q == pytest.approx(0.98682, abs=5e-6)
        # O(1/L^2), that is (e^3 - e^2) E[1/L^2], is what is left
        assert found["leading"] == pytest.approx(1 - s * s / q, abs=1.1 * (math.e**3 - math.e**2) * 0.5e-4)


@pytest.mark.parametrize("law", [LONG, {50: 0.2, 300: 0.8}, {1000: 1.0}])
def test_softplus_gains_length_by_length(law):
    """At 10^5 times these lengths the quadrature's L (1 - risk) has settled to 4e-7."""
    leading = predict("length-asymptotics", "leading", task="spiked", nu=1.5, L=law, activation="softplus")
    longer = {10**5 * n: w for n, w in law.items()}

    def lost(log_slope):
        s, q = moments(softplus, 1.5, math.exp(log_slope), longer)
        return -(10**5) * s * s / q

    best = minimize_scalar(lost, bounds=(-1, 4), method="bounded", options={"xatol": 1e-6})
    assert 1 - leading == pytest.approx(-best.fun, rel=2e-6)


@pytest.mark.parametrize("law", [LONG, {50: 0.2, 300: 0.8}])
@pytest.mark.parametrize("task", ["spiked", "max"])
def test_centred_linear_weights_see_both_means_of_the_length(task, law):
    """Their constant part gains E[1/L], the other nu/E[L] (nu^2/E[L] in the max task, where mu_L tends to nu)."""
    leading = predict("length-asymptotics", "leading", task=task, nu=2, L=law, activation="centred-linear")
    factor = 10**7
    exact = 1 - centred_linear(2.0, {factor * n: w for n, w in law.items()}, task, 2.0)
    assert 1 - leading == pytest.approx(factor * exact, rel=1e-5)


@pytest.mark.parametrize("activation", ["linear", "erf", "element-wise-optimal"])
def test_weights_of_one_token_see_the_mean_length(activation):
    """Their squares are summed over E[L] tokens; the best ones, proportional to exp(chi*), by hand."""
    leading = predict("length-asymptotics", "leading", task="spiked", nu=1, L=LONG, activation=activation)
    gain = {"linear": 2.0}.get(activation, math.e)
    assert leading == pytest.approx(1 - gain / 5050, abs=1e-15)


@pytest.mark.parametrize("name", LAWS)
def test_the_length_itself_varies_in_what_softplus_leaves_to_others(name):
    """min_a [E(L-1) (2 E sp^2 - (E sp)^2) + Var(L) (E sp)^2]/a^2 by adaptive quadrature and search."""
    law = LAWS[name]
    size = mean(law, lambda n: n - 1)
    spread = mean(law, lambda n: n * n) - mean(law, lambda n: n) ** 2

    def power(a, k):
        def density(z):
            return math.exp(-z * z / 2) / math.sqrt(2 * math.pi) * np.logaddexp(0, a * z) ** k

        parts = ((-12, -1), (-1, 0), (0, 1), (1, 12))
        return sum(quad(density, *ends, epsabs=0, epsrel=1e-13, limit=400)[0] for ends in parts)

    def height(log_slope):
        a = math.exp(log_slope)
        first, square = power(a, 1) / a, power(a, 2) / a**2
        return size * (2 * square - first**2) + spread * first**2

    steep = size * (1 - 1 / (2 * math.pi)) + spread / (2 * math.pi)
    best = min(steep, minimize_scalar(height, bounds=(0, 8), method="bounded", options={"xatol": 1e-8}).fun)
    found = predict("signal-asymptotics", "leading", task="spiked", nu=1000, L=law, activation="softplus")
    assert 1000 * found == pytest.approx(best, rel=1e-11)
    if name == "uniform(1,3)":
        assert best == pytest.approx(0.94673107, abs=1e-8)


def test_softplus_tends_to_its_leading_term():
    """nu times the risk by quadrature, below the limit by a multiple of 1/sqrt(nu): .94373 at nu = 10^6."""
    law = LAWS["uniform(1,3)"]
    leading = 100 * predict("signal-asymptotics", "leading", task="spiked", nu=100, L=law, activation="softplus")
    near, far = (nu * best_softplus(nu, law) for nu in (1e4, 1e6))
    assert far == pytest.approx(0.94373, abs=2e-5)
    # one step of extrapolation in 1/sqrt(nu)
    assert far + (far - near) / 9 == pytest.approx(leading, rel=2e-3)


@pytest.mark.parametrize("law", [*LAWS.values(), {3: 1.0}])
def test_the_second_order_of_centred_linear_weights(law):
    """From least squares at a strong signal."""
    nu = 1e5
    first = mean(law, lambda n: n) - 1
    second = (centred_linear(nu, law) - first / nu) * nu**2
    series = predict("signal-asymptotics", "series", task="spiked", nu=1000, L=law, activation="centred-linear")
    assert (1000 * series - first) * 1000 == pytest.approx(second, rel=1e-3)


def test_the_erf_of_strong_signals_is_computed_not_fitted():
    """The width at which an erf is nearest to a logistic under exp(r/2) and exp(-r/2), by quadrature."""

    def off(width, power=0):
        def body(r):
            return 2 * r**power * math.exp(r / 2) * ndtr(-math.sqrt(2) * r / width) ** 2 / math.pi

        return quad(body, -80, 40, epsabs=1e-14, limit=400)[0]

    best = minimize_scalar(off, bounds=(1, 4), method="bounded", options={"xatol": 1e-9})
    found = predict("signal-asymptotics", task="spiked", nu=50, L=2, activation="erf")
    bound = predict("signal-asymptotics", task="spiked", nu=50, L=2, activation="element-wise-optimal")
    assert found["leading"] / bound["leading"] == pytest.approx(best.fun, rel=1e-12)
    bend = off(best.x, 2) / best.fun
    assert found["series"] / found["leading"] == pytest.approx(1 - bend / 100, rel=1e-9)


def relu_moments(nu, n):
    """S and Q of relu weights: positive scores on a logarithmic grid, so that the smallest are seen too."""
    y, u = np.arange(-45, 2.6, 0.1), np.arange(-42, 42, 0.1)
    x = np.exp(y)
    v = np.exp(u)[:, None] * x
    means = []
    for centre in (math.sqrt(nu), 0.0):
        density = 0.1 * x * np.exp(-((x - centre) ** 2) / 2) / math.sqrt(2 * math.pi)
        means.append([ndtr(-centre) + np.exp(-v) @ density, (v * np.exp(-v)) @ density, (v**2 * np.exp(-v)) @ density])
    (b1, k1, c1), (b0, _, c0) = means
    s = 0.1 * np.sum(k1 * b0 ** (n - 1))
    q = 0.1 * np.sum(c1 * b0 ** (n - 1) + ((n - 1) * b1 * c0 * b0 ** (n - 2) if n > 1 else 0.0))
    return s, q


def test_one_token_may_be_missed_by_weights_that_vanish():
    """relu at L = 1 is wrong where the score is negative: half 1, half 3, nu = 2 costs .00075, not .0401."""
    pairs = [relu_moments(2.0, n) for n in (1, 3)]
    risks = [1 - s * s / q for s, q in pairs]
    assert risks[0] == pytest.approx(ndtr(-math.sqrt(2)), abs=1e-9)
    s, q = (sum(p[i] for p in pairs) / 2 for i in (0, 1))
    found = predict("variable-length", "excess", task="spiked", nu=2, L={1: 0.5, 3: 0.5}, activation="relu")
    assert found == pytest.approx(1 - s * s / q - sum(risks) / 2, abs=1e-9)
    assert found == pytest.approx(0.00075, abs=5e-6)


def test_what_is_outside_an_expansion_is_refused():
    point = {"task": "spiked", "activation": "linear"}
    for digits in (None, 30):
        with pytest.raises(OutOfDomain, match="single token"):
            te.predict("duranthon2026.signal-asymptotics", nu=5, L=1, digits=digits, **point)
    with pytest.raises(OutOfDomain, match="nu=inf"):
        te.predict("duranthon2026.signal-asymptotics", nu="inf", L=3, **point)
    for nu in (0, "1e-300"):
        with pytest.raises(OutOfDomain, match="expansion"):
            te.predict("duranthon2026.signal-asymptotics", nu=nu, L=3, **point)
    for nu in (7, 1e300, "inf"):
        for task, activation in (("spiked", "softmax"), ("max", "erf"), ("max", "centred-linear")):
            with pytest.raises(OutOfDomain, match=r"the signal"):
                te.predict("duranthon2026.length-asymptotics", task=task, nu=nu, L=40, activation=activation)


@pytest.mark.parametrize(
    ("task", "activation", "weak", "strong"),
    [
        ("spiked", "linear", "0.001", 5),
        ("spiked", "linear", 4, 5),
        ("spiked", "centred-linear", "2.9", "3.1"),
        ("spiked", "softmax", 5, 7),
        ("spiked", "erf", 5, 6),
        ("spiked", "element-wise-optimal", 5, 6),
        ("spiked", "softplus", "1.66", "1.67"),
        ("max", "softmax", "0.9", "0.91"),
    ],
)
def test_an_expansion_that_is_no_risk_is_refused(task, activation, weak, strong):
    """At L = 3 by hand: 9/(2 nu), 3/nu and 1.66832/nu below one, pi^2/(4 nu) below .4, pi^2/(12 nu^2) below one."""
    point = {"task": task, "L": 3, "activation": activation}
    with pytest.raises(Infeasible, match=r"nu=.*so strong that the expansion is a risk.*does not hold"):
        te.predict("duranthon2026.signal-asymptotics", nu=weak, **point)
    found = predict("signal-asymptotics", nu=strong, **point)
    assert 0 <= found["series"] <= found["leading"] <= 1


def test_pairs_of_many_lengths_are_refused_before_they_are_held():
    with pytest.raises(NotAvailable, match="at most 4e"):
        te.predict(
            "duranthon2026.signal-asymptotics", task="max", nu=5, L="uniform(1,99999)",
            activation="element-wise-optimal",
        )  # fmt: skip
