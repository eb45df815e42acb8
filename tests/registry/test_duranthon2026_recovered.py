"""The Bayes-optimal learner that knows v, against state evolution written here from the model.

omega ~ N(0, q) for each token, and the position is hidden where omega + sqrt(1-q) xi is largest (nu = oo) or drawn from
softmax(nu (omega + sqrt(1-q) xi)). With P_e(omega) its probability, 1/(1-q) = 1 + alpha L E[|grad P_1|^2/P_1] and the
risk is 1 - L E P_1^2. Here P is a bivariate normal probability by Owen's T (three tokens) or an error function (two),
and means are trapezoidal sums on a plain grid: nothing is shared with the engine.
"""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import ndtr, owens_t

import theorem_engine as te

LEARNER = "duranthon2026.bayes-learner"
NODES = np.linspace(-9, 9, 361) + 1e-7
WEIGHT = np.exp(-(NODES**2) / 2) * (NODES[1] - NODES[0]) / np.sqrt(2 * np.pi)


def density(x):
    return np.exp(-x * x / 2) / np.sqrt(2 * np.pi)


def both_below(h, k):
    """P(X < h, Y < k) for standard normals of correlation 1/2 (Owen 1956)."""
    root = np.sqrt(3) / 2
    tail = owens_t(h, (k / h - 0.5) / root) + owens_t(k, (h / k - 0.5) / root)
    return (ndtr(h) + ndtr(k)) / 2 - tail - np.where(h * k < 0, 0.5, 0.0)


def three_tokens(q):
    """Information about k and mean posterior probability of the hidden position."""
    s = np.sqrt(1 - q)
    a = np.sqrt(2 * q) * NODES[:, None] / s
    b = np.sqrt(2 * q) * (NODES[:, None] / 2 + np.sqrt(3) / 2 * NODES) / s
    p = both_below(a / np.sqrt(2), b / np.sqrt(2))
    along_a = density(a / np.sqrt(2)) / np.sqrt(2) * ndtr((b - a / 2) / np.sqrt(1.5)) / s
    along_b = density(b / np.sqrt(2)) / np.sqrt(2) * ndtr((a - b / 2) / np.sqrt(1.5)) / s
    square = along_a**2 + along_b**2 + (along_a + along_b) ** 2
    # below that the formula of P has no digits left, and no weight
    ratio = np.where(p > 1e-13, square / np.maximum(p, 1e-13), 0.0)
    return 3 * WEIGHT @ ratio @ WEIGHT, 3 * WEIGHT @ p**2 @ WEIGHT


def two_tokens(q, nu):
    """The same for two tokens; for a finite nu P is a mean of logistic functions over the noise."""
    s, gap = np.sqrt(1 - q), np.sqrt(2 * q) * NODES
    if nu == np.inf:
        p, slope = ndtr(gap / (np.sqrt(2) * s)), density(gap / (np.sqrt(2) * s)) / (np.sqrt(2) * s)
    else:
        logistic = 1 / (1 + np.exp(-nu * (gap[:, None] + np.sqrt(2) * s * NODES)))
        p, slope = logistic @ WEIGHT, nu * (logistic * (1 - logistic)) @ WEIGHT
    return 2 * WEIGHT @ (2 * slope**2 / np.maximum(p, 1e-300)), 2 * WEIGHT @ p**2


def solved(means, alpha):
    """q_k and the risk."""
    d = brentq(lambda d: d * (1 + alpha * means(1 - d)[0]) - 1, 1e-3, 0.999, xtol=1e-13)
    return 1 - d, 1 - means(1 - d)[1]


def recovered(**point):
    return te.predict(LEARNER, task="max", branch="informed", delta=0, **point)


@pytest.mark.parametrize(
    ("alpha", "digits"), [("1.05", 0.3782194), ("1.2", 0.3524388), ("2", 0.2537616), ("4", 0.1439419)]
)
def test_three_tokens_have_the_risk_of_a_plain_sum(alpha, digits):
    found = recovered(nu="inf", L=3, alpha=alpha)
    q, risk = solved(three_tokens, float(alpha))
    assert found.error_kind == "estimated"
    assert abs(found.value - risk) <= found.error < 1e-7
    assert found.value == pytest.approx(digits, abs=5e-8)
    assert found.outputs["q_k"] == pytest.approx(q, abs=1e-8)


def test_many_samples_make_the_posterior_sharp_and_the_sum_still_agrees():
    """alpha = 8: the probability of a position varies over a ninth of the spread of the scores."""
    found = recovered(nu="inf", L=3, alpha=8)
    q, risk = solved(three_tokens, 8.0)
    assert abs(found.value - risk) <= found.error < 1e-7
    assert found.value == pytest.approx(0.07558564, abs=5e-9)
    assert found.outputs["q_k"] == pytest.approx(q, abs=1e-8)


@pytest.mark.parametrize("nu", [np.inf, 0.5, 3.0, 20.0])
@pytest.mark.parametrize("alpha", [1.5, 6])
def test_two_tokens_have_the_risk_of_a_plain_sum(nu, alpha):
    found = recovered(nu=nu if nu < np.inf else "inf", L=2, alpha=alpha)
    q, risk = solved(lambda q: two_tokens(q, nu), alpha)
    assert abs(found.value - risk) <= found.error < 1e-7
    assert found.outputs["q_k"] == pytest.approx(q, abs=1e-7)


def test_three_tokens_at_a_finite_signal_agree_with_draws_of_the_model():
    """A hidden position drawn from softmax(nu chi*), its posterior by averaging over fresh noise; five errors."""
    nu, found = 2.0, recovered(nu=2, L=3, alpha=3)
    q = found.outputs["q_k"]
    source = np.random.default_rng(5)
    truth = source.normal(size=(20_000, 3))
    hidden = np.argmax(nu * truth + source.gumbel(size=truth.shape), axis=1)
    omega = q * truth + np.sqrt(q * (1 - q)) * source.normal(size=truth.shape)
    scores = nu * (omega[:, None] + np.sqrt(1 - q) * source.normal(size=(1, 400, 3)))
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    posterior = np.mean(weights / weights.sum(axis=-1, keepdims=True), axis=1)
    right = posterior[np.arange(len(hidden)), hidden]
    assert abs(1 - right.mean() - found.value) < 5 * right.std() / np.sqrt(len(right)) + 3e-3


@pytest.mark.parametrize(("nu", "alpha"), [(1, 2), (6, 1.3)])
def test_in_the_spiked_task_one_integral_gives_the_risk(nu, alpha):
    """Two tokens: the posterior of the hidden one is logistic in their difference, which is N(S, 2 S), S = nu q_k."""
    found = te.predict(LEARNER, task="spiked", nu=nu, L=2, alpha=alpha, branch="informed")
    signal = nu * alpha * nu / (1 + alpha * nu)
    assert found.error_kind == "estimated"
    risk = quad(lambda x: density(x) / (1 + np.exp(signal + np.sqrt(2 * signal) * x)), -12, 12, epsabs=1e-13)[0]
    assert found.value == pytest.approx(risk, abs=1e-12)


@pytest.mark.parametrize(("task", "nu"), [("max", "inf"), ("spiked", 1)])
def test_where_the_iteration_recovers_v_it_has_the_numbers_of_the_informed_branch(task, nu):
    point = {"task": task, "nu": nu, "L": 3, "alpha": 2}
    far, near = (te.predict(LEARNER, draws=2**9, branch=b, **point) for b in ("uninformed", "informed"))
    assert far.outputs == near.outputs
    assert far.error_kind == "statistical"
    assert far.error > 0
