"""The classics against quadratures of their textbook forms, against each other, and against what they tend to.

Their reference values are in ``tests/data``; the textbook forms here are not those that the entries use.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import norm

import theorem_engine as te
from theorem_engine.base.errors import MissingParameter, OutOfDomain, ValidityWarning

#: What a quadrature of SciPy leaves open.
OPEN = 2e-10


def mean(function, *breaks):
    """E f(Z) by adaptive quadrature."""
    points = sorted({0.0, *breaks})
    return quad(lambda x: function(x) * norm.pdf(x), -12, 12, points=points, epsabs=1e-13, epsrel=1e-13, limit=400)[0]


def predicted(name, **point):
    return te.predict(f"classics.{name}", **point).outputs


@pytest.mark.parametrize(("g", "z"), [(0.5, -1), (4, -0.1), (0.25, 0.1), (0.5, 4), (1, -2)])
def test_the_stieltjes_transform_is_a_mean_over_the_density(g, z):
    low, high = (1 - math.sqrt(g)) ** 2, (1 + math.sqrt(g)) ** 2
    middle, half = (low + high) / 2, (high - low) / 2

    def bulk(power):
        # x = middle + half cos(t) takes the square roots at the ends away
        def body(t):
            x = middle + half * math.cos(t)
            return (half * math.sin(t)) ** 2 / (2 * math.pi * g * x) / (x - z) ** power

        return quad(body, 0, math.pi, epsabs=1e-13)[0]

    found = predicted("marchenko-pastur", g=g, z=z)
    atom = max(0, 1 - 1 / g)
    assert found["m"] == pytest.approx(bulk(1) - atom / z, rel=OPEN)
    assert found["slope"] == pytest.approx(bulk(2) + atom / z**2, rel=OPEN)
    assert (found["edge_low"], found["edge_high"], found["atom"]) == pytest.approx((low, high, atom))


def test_the_stieltjes_transform_refuses_the_spectrum_and_takes_complex_points():
    for z in (1, 0.5):
        with pytest.raises(OutOfDomain, match="z"):
            te.predict("classics.marchenko-pastur", g=1, z=z)
    m = predicted("marchenko-pastur", g=0.5, z="1+0.5j")["m"]
    assert abs(0.5 * (1 + 0.5j) * m**2 + (0.5 + 0.5j) * m + 1) < 1e-14
    assert m.imag > 0


@pytest.mark.parametrize("point", [(1.5, 0.2, 1, 0.3), (0.7, 0.1, 2, 1), (2, 0.01, 1, 0.25), (1, 1, 1, 1)])
def test_ridge_risk_follows_from_the_resolvent(point):
    g, lam, r2, s2 = point
    found = predicted("ridge-risk", g=g, lam=lam, r2=r2, s2=s2)
    law = predicted("marchenko-pastur", g=g, z=-lam)
    expected = lam**2 * r2 * law["slope"] + s2 * g * (law["m"] - lam * law["slope"])
    assert found["risk"] == pytest.approx(expected, rel=1e-12)
    assert found["risk"] == pytest.approx(found["bias"] + found["variance"], rel=1e-14)
    best = predicted("ridge-risk", g=g, lam=found["best_lam"], r2=r2, s2=s2)["risk"]
    around = [predicted("ridge-risk", g=g, lam=found["best_lam"] * f, r2=r2, s2=s2)["risk"] for f in (0.9, 1.1)]
    assert best < min(*around)
    assert best <= found["risk"]


@pytest.mark.parametrize(("n", "lam", "s2"), [(100, "1/5", "0.3"), (300, "1/10", 1)])
def test_kernel_ridge_with_equal_eigenvalues_is_ridge_regression(n, lam, s2):
    flat = {"eigenvalues": [1] * 150, "coefficients": [1] * 150, "n": n, "ridge": n * Fraction(lam), "s2": s2}
    found = predicted("kernel-ridge", **flat)
    risk = predicted("ridge-risk", g=Fraction(150, n), lam=lam, r2=150, s2=s2)["risk"]
    assert found["test_error"] == pytest.approx(risk, rel=1e-12)
    law = predicted("marchenko-pastur", g=Fraction(150, n), z=-Fraction(lam))
    assert float(Fraction(lam)) * law["m"] == pytest.approx(found["kappa"] / (1 + found["kappa"]), rel=1e-12)


def test_kernel_ridge_with_as_many_equal_modes_as_samples_has_the_golden_ratio():
    """1/(1 + kappa) + 1/kappa = 1 at the ridge n."""
    flat = {"eigenvalues": [1] * 40, "coefficients": [1] * 40, "n": 40, "ridge": 40, "s2": 40}
    kappa = te.predict("classics.kernel-ridge", **flat, digits=30).outputs["kappa"]
    with mp.workdps(30):
        assert abs(kappa - mp.phi) < mp.mpf(10) ** -28
    assert predicted("kernel-ridge", **flat)["kappa"] == pytest.approx(1.618033988749895, rel=1e-15)


@pytest.mark.parametrize(("n", "ridge", "s2"), [(20, 0, 0.1), (20, 0.05, 0.1), (1000, 0, 0)])
def test_kernel_ridge_with_inverse_squares_has_a_closed_form(n, ridge, s2):
    """sum 1/(1 + kappa i^2) = (x coth(x) - 1)/2 with x = pi/sqrt(kappa)."""
    found = predicted("kernel-ridge", decay=2, source=2, n=n, ridge=ridge, s2=s2)
    with mp.workdps(30):

        def total(kappa):
            x = mp.pi / mp.sqrt(kappa)
            return (x * mp.coth(x) - 1) / 2

        kappa = mp.findroot(lambda k: total(k) + ridge / k - n, found["kappa"])
        slope = mp.diff(total, kappa)
        modes = (total(kappa) + kappa * slope) / n
        error = (-(kappa**2) * slope + s2) / (1 - modes) - s2
    assert found["kappa"] == pytest.approx(float(kappa), rel=1e-13)
    assert found["test_error"] == pytest.approx(float(error), rel=1e-12)


def test_kernel_ridge_refuses_lists_that_do_not_fit_and_names_them():
    with pytest.raises(OutOfDomain, match="2 eigenvalues and 1 coefficients"):
        te.predict("classics.kernel-ridge", eigenvalues="1, 1/2", coefficients="1", n=3, ridge=1, s2=0)
    with pytest.raises(OutOfDomain, match="eigenvalues"):
        te.predict("classics.kernel-ridge", eigenvalues="1, -2", coefficients="1, 1", n=3, ridge=1, s2=0)
    with pytest.raises(MissingParameter, match="decay"):
        te.predict("classics.kernel-ridge", n=3, ridge=1, s2=0)


def test_ridge_without_penalty_descends_twice():
    assert predicted("ridge-risk", g=0.5, lam=0, r2=1, s2=1)["risk"] == pytest.approx(1, rel=1e-14)
    assert predicted("ridge-risk", g=4, lam=0, r2=1, s2=1)["risk"] == pytest.approx(3 / 4 + 1 / 3, rel=1e-14)
    with pytest.raises(OutOfDomain, match="lam"):
        te.predict("classics.ridge-risk", g=1, lam=0, r2=1, s2=1)


def test_a_sweep_over_one_of_two_letters_of_a_condition_is_what_its_points_are():
    """Without penalty as many coefficients as samples are refused, and only they."""
    swept = te.sweep("classics.ridge-risk", errors=False, g=["0.5", 1, 2], lam=0, r2=1, s2=1, mask=True)["risk"].values
    assert swept[[0, 2]] == pytest.approx([1, 1.5])
    assert math.isnan(swept[1])
    swept = te.sweep("classics.ridge-risk", errors=False, g=["0.5", 1, 2], lam=1, r2=1, s2=1)["risk"].values
    assert list(swept) == [predicted("ridge-risk", g=g, lam=1, r2=1, s2=1)["risk"] for g in ("0.5", 1, 2)]


@pytest.mark.parametrize(("c", "gamma"), [(0.5, 0.3), (2, 1), (1, 0.1)])
def test_the_training_error_of_ridge_on_noise_follows_from_its_resolvent(c, gamma):
    """liao2026.ridge-error without signal is gamma^2 tr (X^T X/n + gamma)^(-2)/n."""
    slope = predicted("marchenko-pastur", g=1 / c, z=-gamma / c)["slope"]
    error = te.predict("liao2026.ridge-error", c=c, gamma=gamma, snr=0).value
    assert error == pytest.approx((gamma / c) ** 2 * slope, rel=1e-12)


def test_the_discriminant_is_never_better_than_the_best_rule():
    for g, delta2 in ((0.01, 3), (0.5, 4), (0.99, 1)):
        assert norm.cdf(-math.sqrt(delta2) / 2) < predicted("lda-error", g=g, delta2=delta2)["error"] < 0.5


@pytest.mark.parametrize("point", [(0.5, 0.1, 0.01, 1.5), (0.3, 0.05, 0.01, 1.8), (1.4, 0.3, 0.2, 1)])
def test_the_lasso_is_a_fixed_point_of_soft_thresholding(point):
    delta, rho, s2, theta = point
    found = predicted("lasso", delta=delta, rho=rho, s2=s2, theta=theta)
    tau = found["tau"]

    def error(entry):
        def body(x):
            seen = entry + tau * x
            return (math.copysign(max(abs(seen) - theta * tau, 0), seen) - entry) ** 2

        return mean(body, theta - entry / tau, -theta - entry / tau)

    mse = (1 - rho) * error(0) + rho * error(1)
    assert found["mse"] == pytest.approx(mse, rel=OPEN)
    assert tau**2 == pytest.approx(s2 + mse / delta, rel=OPEN)
    assert found["lam"] == pytest.approx(theta * tau * (1 - found["active"] / delta), rel=1e-12)


def test_the_lasso_says_where_it_is_none():
    with pytest.raises(OutOfDomain, match="theta"):
        te.predict("classics.lasso", delta=0.5, rho=0.1, s2=0.01, theta=0.4)
    with pytest.warns(ValidityWarning, match="no lasso"):
        te.predict("classics.lasso", delta=0.5, rho=0.1, s2=0.01, theta=0.41)


@pytest.mark.parametrize("delta", [0.1, 0.5, 0.9])
def test_the_l1_transition_is_a_minimax_threshold(delta):
    found = predicted("l1-transition", delta=delta)
    share = found["rho"] * delta

    def height(z):
        return share * (1 + z**2) + 2 * (1 - share) * ((1 + z**2) * norm.cdf(-z) - z * norm.pdf(z))

    assert height(found["z"]) == pytest.approx(delta, rel=1e-12)
    assert min(height(found["z"] + d) for d in (-0.01, 0.01)) > delta


@pytest.mark.parametrize("alpha", [0.25, 1, 5])
def test_the_bayes_perceptron_in_its_usual_form(alpha):
    found = predicted("sign-perceptron-bayes", alpha=alpha)
    q = found["q"]
    width = math.sqrt(q / (1 - q))
    pull = 2 * alpha / (1 - q) * mean(lambda x: math.exp(2 * norm.logpdf(width * x) - norm.logcdf(width * x)))
    assert q == pytest.approx(pull / (1 + pull), rel=OPEN)
    assert found["test_error"] == pytest.approx(math.acos(math.sqrt(q)) / math.pi, rel=1e-10)


@pytest.mark.parametrize(("alpha", "lam"), [(1.5, 0.3), (2, 0.1), (2, 0.01)])
def test_logistic_regression_in_its_proximal_form(alpha, lam):
    """The proximal point is bracketed at every node of a trapezoid rule."""
    found = predicted("logistic-ridge", alpha=alpha, lam=lam)
    m, q, V = (found[name] for name in ("m", "q", "V"))
    nodes = np.arange(-12, 12.001, 0.05)
    omega = math.sqrt(q) * nodes
    x = np.array([brentq(lambda t, w=w: t - w - V / (1 + math.exp(t)), w, w + V, xtol=1e-15) for w in omega])
    f = 1 / (1 + np.exp(x))
    u = m * nodes / math.sqrt(q - m**2)
    weight = 0.05 * norm.pdf(nodes)
    m_hat = 2 * alpha * np.sum(weight * norm.pdf(u) * f) / math.sqrt(1 - m**2 / q)
    q_hat = 2 * alpha * np.sum(weight * norm.cdf(u) * f**2)
    V_hat = 2 * alpha * np.sum(weight * norm.cdf(u) * f * (1 - f) / (1 + V * f * (1 - f)))
    assert lam + V_hat == pytest.approx(1 / V, rel=1e-9)
    assert m == pytest.approx(m_hat * V, rel=1e-9)
    assert q == pytest.approx((m_hat**2 + q_hat) * V**2, rel=1e-9)
    assert found["test_error"] >= predicted("sign-perceptron-bayes", alpha=alpha)["test_error"]


VALUES = {
    (2, 0.1): {"m": 1.72031, "q": 4.14580, "test_error": 0.179662},
    (1.5, 0.3): {"m": 0.8294263605667, "q": 1.156090604205, "V": 2.030848613000, "test_error": 0.2195547965673},
    (4, 1): {"m": 0.8103017895943, "q": 0.8066387998072, "V": 0.5788937045046, "test_error": 0.1419444917307},
    (2, 0.01): {"m": 3.966267758228, "q": 21.62054567439, "V": 25.12329755693, "test_error": 0.1747810538773},
}


@pytest.mark.parametrize(("alpha", "lam"), VALUES)
def test_logistic_regression_meets_its_reference_values(alpha, lam):
    found = predicted("logistic-ridge", alpha=alpha, lam=lam)
    for name, value in VALUES[alpha, lam].items():
        digits = len(str(value).replace(".", "").lstrip("0"))
        assert found[name] == pytest.approx(value, rel=10.0 ** (1 - digits))


@pytest.mark.parametrize(("alpha", "lam"), [(1.5, 0.3), (0.5, 1)])
def test_logistic_ridge_with_the_square_loss_is_ridge_regression(alpha, lam):
    found = predicted("logistic-ridge", alpha=alpha, lam=lam, loss="square")
    risk = found["q"] - 2 * found["m"] * math.sqrt(2 / math.pi) + 2 / math.pi
    r2 = 2 / math.pi
    assert risk == pytest.approx(
        predicted("ridge-risk", g=1 / alpha, lam=lam / alpha, r2=r2, s2=1 - r2)["risk"], rel=1e-11
    )


@pytest.mark.parametrize("snr", [1.05, 1.8, 4])
def test_the_spiked_matrix_in_its_usual_form(snr):
    found = predicted("spiked-wigner", snr=snr)
    h = snr * found["q"]
    assert found["q"] == pytest.approx(mean(lambda x: math.tanh(h + math.sqrt(h) * x)), rel=1e-8)
    assert found["mmse"] == pytest.approx(1 - found["q"] ** 2, rel=1e-10)
    assert found["q"] >= 1 - 1 / snr


@pytest.mark.parametrize("snr", [0.5, 2, 4])
def test_the_spectral_estimate_of_the_spiked_matrix_is_the_limit_of_few_dimensions(snr):
    """spike = 1 + t sqrt(g), g -> 0: eigenvalue and overlap of a Wigner matrix, with the same threshold."""
    g, t = 1e-10, math.sqrt(snr)
    found = predicted("bbp", g=g, spike=1 + t * math.sqrt(g))
    overlap, edge = (1 - 1 / snr, t + 1 / t) if snr > 1 else (0, 2)
    assert found["overlap"] == pytest.approx(overlap, abs=1e-4)
    assert (found["eigenvalue"] - 1) / math.sqrt(g) == pytest.approx(edge, rel=1e-4)
    assert predicted("spiked-wigner", snr=snr)["q"] >= overlap


@pytest.mark.parametrize("kappa", [0, 0.25, 1, 3])
def test_the_capacity_is_a_mean_of_squared_stabilities(kappa):
    expected = 1 / mean(lambda x: max(x + kappa, 0) ** 2, -kappa)
    assert predicted("perceptron-capacity", kappa=kappa)["alpha"] == pytest.approx(expected, rel=OPEN)


def test_binary_weights_store_less_and_their_entropy_ends_there():
    capacity = predicted("binary-capacity")["alpha"]
    assert capacity < predicted("perceptron-capacity", kappa=0)["alpha"]
    near = [predicted("binary-entropy", alpha=a)["entropy"] for a in (0.5, 0.8, 0.83)]
    assert near == sorted(near, reverse=True)
    # the slope of the entropy in the load leads from there to the capacity
    assert 0.83 + near[-1] * 0.03 / (near[-2] - near[-1]) == pytest.approx(capacity, abs=1e-3)
    assert predicted("binary-entropy", alpha=0.5)["entropy"] == pytest.approx(0.31439006685563, abs=1e-13)


@pytest.mark.parametrize("alpha", [0.02, 0.08, 0.137])
def test_the_memory_in_its_usual_form(alpha):
    """m = erf(m/sqrt(2 alpha r)), r = 1/(1 - C)^2, C = sqrt(2/(pi alpha r)) exp(-m^2/(2 alpha r)), by iteration."""
    m, r = 1.0, 1.0
    for _ in range(4000):
        spread = 2 * alpha * r
        m, C = math.erf(m / math.sqrt(spread)), 2 / math.sqrt(math.pi * spread) * math.exp(-(m**2) / spread)
        r = 1 / (1 - C) ** 2
    assert predicted("hopfield", alpha=alpha)["m"] == pytest.approx(m, rel=1e-10)


def test_the_memory_forgets_all_at_once():
    critical = predicted("hopfield", alpha=0.1)
    assert predicted("hopfield", alpha=critical["critical_alpha"] - 1e-9)["m"] > critical["m_critical"]
    assert predicted("hopfield", alpha=critical["critical_alpha"] + 1e-9)["m"] == 0


@pytest.mark.parametrize("sb2", [0.001, 0.1, 1])
@pytest.mark.parametrize("name", ["tanh", "erf"])
def test_the_edge_of_chaos_in_its_usual_form(name, sb2):
    found = predicted("edge-of-chaos", nonlinearity=name, sb2=sb2)
    width = math.sqrt(found["q"])
    f = math.tanh if name == "tanh" else math.erf
    slope = (
        (lambda x: 1 / math.cosh(x) ** 2) if name == "tanh" else lambda x: 2 / math.sqrt(math.pi) * math.exp(-(x**2))
    )
    A, B = mean(lambda x: f(width * x) ** 2), mean(lambda x: slope(width * x) ** 2)
    assert found["sw2"] == pytest.approx(1 / B, rel=1e-10)
    assert found["q"] == pytest.approx(sb2 + A / B, rel=1e-9)


@pytest.mark.parametrize(("rate", "is_stable"), [(3.9, True), (4.2, False)])
def test_online_descent_is_stable_below_its_critical_rate(rate, is_stable):
    found = predicted("saad-solla", R=0.9, Q=0.9, eta=rate, time=300)
    assert (found["risk"] < 1e-6) is is_stable


def test_the_critical_rate_of_online_descent_is_where_a_small_deviation_neither_grows_nor_decays():
    """What the student has beside the teacher, Q - R^2, from a start next to the teacher."""

    def growth(rate):
        found = predicted("saad-solla", R=1, Q="1.0000001", eta=rate, time=1)
        return math.log((found["Q"] - found["R"] ** 2) / 1e-7)

    assert brentq(growth, 3.9, 4.2, xtol=1e-9) == pytest.approx(4.05578, abs=5e-6)


def test_a_point_of_online_descent_that_no_vectors_have_is_refused():
    with pytest.raises(OutOfDomain, match="R"):
        te.predict("classics.saad-solla", R=1, Q=0.5, eta=1, time=1)


def test_no_file_of_the_engine_names_a_classic():
    """They are content: what they needed and the engine lacked became operators for everybody."""
    from pathlib import Path

    engine = Path(te.__file__).parent
    tails = {entry.id.partition(".")[2] for entry in te.entries() if entry.paper == "classics"}
    # a law that has an operator, a word of the search's synonyms and the name of a penalty are no theorems
    tails -= {"marchenko-pastur", "bbp", "lasso"}
    assert len(tails) >= 14
    for path in engine.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "classics" not in text, path
        assert not [tail for tail in tails if tail in text.lower()], path
