"""The Bayes risk of single-location regression: identities, limits, orderings."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.registry.duranthon2026_points import TASKS, predict, risk


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("L", [1, 2, 7, 1000])
def test_without_signal_the_bayes_risk_is_that_of_guessing(task, L):
    assert risk("bayes-risk", task=task, nu=0, L=L) == pytest.approx(1 - 1 / L, abs=1e-14)


@settings(max_examples=25)
@given(task=st.sampled_from(TASKS), nu=st.floats(0.05, 40), L=st.integers(2, 10**6), more=st.floats(1.01, 2))
def test_the_bayes_risk_falls_with_the_signal_and_rises_with_the_length(task, nu, L, more):
    here = risk("bayes-risk", task=task, nu=nu, L=L)
    assert 0 < here < 1 - 1 / L
    assert risk("bayes-risk", task=task, nu=nu * more, L=L) < here
    assert risk("bayes-risk", task=task, nu=nu, L=2 * L) > here


@settings(max_examples=20)
@given(task=st.sampled_from(TASKS), nu=st.floats(0.1, 20), L=st.integers(2, 10**4))
def test_nishimori_the_weight_of_the_truth_is_the_sum_of_squares(task, nu, L):
    """S = Q for softmax at the posterior, so the best v is v* itself."""
    slope = math.sqrt(nu) if task == "spiked" else nu
    if task == "max":
        nu = slope = min(nu, 6.0)
    found = predict("manifold-risk", task=task, nu=nu, L=L, activation="softmax", m_kk=slope, m_vv=1)
    assert found["S"] == pytest.approx(found["Q"], rel=1e-11)


@pytest.mark.parametrize(("L", "limit"), [(2, 1e-12), (50, 1e-12), ("uniform(1,3)", 1e-12)])
def test_the_bayes_risk_integrates_to_twice_the_entropy(L, limit):
    found = predict("information-sum-rule", L=L)
    assert found["integral"] == pytest.approx(found["two_log_L"], rel=limit)


def test_the_signal_derivative_is_minus_the_posterior_covariance():
    """1d: dE/dnu = -E[sum p^2 - 2 sum p^3 + (sum p^2)^2], sampled; false alarm 6e-7."""
    rng = np.random.default_rng(11)
    nu, L, step = 2.0, 4, 1e-4
    scores = rng.standard_normal((400_000, L))
    scores[:, 0] += math.sqrt(nu)
    p = np.exp(math.sqrt(nu) * scores)
    p /= p.sum(axis=1, keepdims=True)
    values = (p**2).sum(1) - 2 * (p**3).sum(1) + (p**2).sum(1) ** 2
    up, down = (risk("bayes-risk", task="spiked", nu=nu + k * step, L=L) for k in (1, -1))
    assert abs(values.mean() + (up - down) / (2 * step)) < 5 * values.std() / math.sqrt(len(values)) + 1e-6


def test_stein_the_hidden_score_is_nu_times_the_bayes_risk():
    """1e, sampled; false alarm 6e-7."""
    rng = np.random.default_rng(12)
    scores = rng.standard_normal((400_000, 5))
    p = np.exp(1.5 * scores)
    p /= p.sum(axis=1, keepdims=True)
    values = (p * scores).sum(axis=1)
    exact = 1.5 * risk("bayes-risk", task="max", nu=1.5, L=5)
    assert abs(values.mean() - exact) < 5 * values.std() / math.sqrt(len(values))


def test_tiny_risks_keep_their_digits():
    """L = 2 has an integral of its own; the risk at nu = 400 is 1.6e-45."""
    grid = np.arange(-4000, 4001) * 0.05
    nu = 400.0
    factor = math.exp(-nu / 4) / math.sqrt(4 * math.pi * nu)
    direct = factor * np.sum(np.exp(-(grid**2) / (4 * nu)) / (2 * np.cosh(grid / 2))) * 0.05
    assert risk("bayes-risk", task="spiked", nu=400, L=2) == pytest.approx(direct, rel=1e-12)


@pytest.mark.parametrize(("task", "square"), [("spiked", 1), ("max", 2)])
def test_long_sequences_leave_one_over_L(task, square):
    """1g: L (1 - risk) tends to exp(c_nu^2)."""
    L = 10**9
    missing = L * (1 - risk("bayes-risk", task=task, nu=1, L=L))
    assert missing == pytest.approx(math.exp(1**square), rel=1e-5)


def test_the_transition_in_long_sequences_is_at_twice_the_logarithm():
    values = [risk("bayes-risk", task="spiked", nu=k * 2 * math.log(1e12), L=10**12) for k in (0.5, 1, 2)]
    assert values[0] > 0.98
    assert 0.4 < values[1] < 0.5
    assert values[2] < 0.05


@pytest.mark.parametrize("nu", [0.3, 2.0, 9.0])
def test_doubling_without_normalisation_one_pays_a_factor_two(nu):
    """8f: at L = 2 the Bayes risk at nu is the best element-wise risk at 2 nu."""
    here = risk("bayes-risk", task="spiked", nu=nu, L=2)
    assert here == pytest.approx(risk("element-wise-bound", task="spiked", nu=2 * nu, L=2), rel=1e-12)
