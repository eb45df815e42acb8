"""Simulators of minimisers, slopes, curvatures, responses and forms against brute force that shares no code."""

import numpy as np
import pytest

from theorem_engine.validators.duranthon2026_cavity import recovery_stability
from theorem_engine.validators.duranthon2026_descent import attention_slopes, mismatched_curvatures
from theorem_engine.validators.duranthon2026_finite import TrainingSet, responses, ridge_regression, train
from theorem_engine.validators.duranthon2026_places import best_place, weight_moments
from theorem_engine.validators.liao2026 import attention_error
from theorem_engine.validators.liao2026_forms import weight_forms
from theorem_engine.validators.liao2026_matrices import noise_traces, spectral_forms

SPIKED = {"task": "spiked", "nu": 2.0, "L": 3, "activation": "softmax"}


def _mean(samples):
    return samples.mean(), samples.std(ddof=1) / np.sqrt(samples.size)


def test_the_best_place_of_softmax_is_where_its_weights_are_the_posterior():
    """Bayes' rule: the slope is the root of the signal, and the norm is one."""
    found = best_place(SPIKED, np.random.default_rng(0), 100_000)
    for name, exact in (("m_kk", np.sqrt(2.0)), ("m_vv", 1.0), ("temperature", np.sqrt(2.0))):
        value, error = _mean(found[name])
        assert abs(value - exact) < 4 * error
        assert error < 0.03 * exact


def test_an_infinite_best_slope_has_no_place():
    with pytest.raises(ValueError, match="not at a finite place"):
        best_place({"task": "max", "nu": np.inf, "L": 3, "activation": "softmax"}, np.random.default_rng(0), 8)


def test_at_a_given_slope_only_the_norm_is_fitted():
    """Equal weights 1/L: the best norm is one, by E y z/L over E (sum z/L)^2."""
    found = best_place({**SPIKED, "m_kk": 0.0}, np.random.default_rng(10), 20_000)
    assert "m_kk" not in found
    # given the scores there is nothing left to be random
    assert found["m_vv"] == pytest.approx(1)


def test_equal_weights_have_known_moments():
    found = weight_moments({**SPIKED, "m_kk": 0.0}, np.random.default_rng(1), 100)
    assert found["S"] == pytest.approx(1 / 3)
    assert found["Q"] == pytest.approx(1 / 3)


def test_slopes_of_linear_weights_are_those_of_a_polynomial():
    """Weights 1 + chi, no signal: f has the mean square L (q_vv (1 + q_kk) + 2 q_kv^2) + L (L - 1) q_kv^2."""
    point = {"task": "spiked", "nu": 0.0, "L": 2, "activation": "linear", "m_kk": 0.3, "m_kv": 0.1, "m_vk": 0.2,
             "m_vv": 0.4, "q_kk": 0.5, "q_vv": 0.6, "q_kv": 0.2}  # fmt: skip
    found = attention_slopes(point, np.random.default_rng(2), 200_000)
    exact = {"d_q_vv": 2 * 1.5, "d_q_kk": 2 * 0.6, "d_q_kv": 12 * 0.2, "d_m_vv": -2.0}
    for name, slope in exact.items():
        value, error = _mean(found[name])
        assert abs(value - slope) < 4 * error, name


def test_curvatures_of_linear_weights_off_the_span_are_those_of_a_polynomial():
    """Off the span the risk changes by its slopes in q_kk, q_vv and q_kv alone."""
    point = {"task": "spiked", "nu": 0.0, "L": 2, "activation": "linear", "m_kk": 0.3, "m_kv": 0.1, "m_vk": 0.2,
             "m_vv": 0.4, "q_kk": 0.1, "q_vv": 0.2, "q_kv": 0.1}  # fmt: skip
    block = np.array([[2 * 2 * 0.2, 12 * 0.1], [12 * 0.1, 2 * 2 * 1.1]])
    found = mismatched_curvatures(point, np.random.default_rng(3), 4)
    for i, exact in zip((4, 6), np.linalg.eigvalsh(block)[::-1], strict=True):
        assert found[f"eigenvalues.{i}"].mean() == pytest.approx(exact, abs=0.05)


def test_the_response_of_a_trained_set_is_how_far_its_minimiser_follows_a_force():
    point = {**SPIKED, "alpha": 2.0, "r_k": 1.0, "r_v": 1.0, "size": 40}
    rng = np.random.default_rng(4)
    vectors, data, _ = train(point, rng)
    assert isinstance(data, TrainingSet)
    flat, size = vectors.T.ravel(), data.dimension
    columns = [(data.loss(flat + 1e-5 * e)[1] - data.loss(flat - 1e-5 * e)[1]) / 2e-5 for e in np.eye(2 * size)]
    inverse = np.linalg.inv(np.array(columns))
    exact = np.trace(inverse[:size, :size]) / size, np.trace(inverse[size:, size:]) / size
    found = np.array([responses(data, vectors, rng) for _ in range(40)])
    for mean, spread, value in zip(found.mean(axis=0), found.std(axis=0), exact, strict=True):
        assert abs(mean - value) < 5 * spread / np.sqrt(40) + 1e-6


def test_without_data_a_response_is_one_over_the_penalty():
    point = {"L": 2, "alpha": 1e-3, "activation": "softmax", "r_v": 0.5, "size": 30}
    found = ridge_regression(point, np.random.default_rng(5), 1)
    assert found["V_v"][0] == pytest.approx(2.0, rel=0.01)


def test_recovery_is_stable_from_one_sample_per_dimension_on():
    value, error = _mean(
        recovery_stability({"task": "spiked", "nu": 2.0, "L": 3}, np.random.default_rng(6), 100_000)["alpha_it"]
    )
    assert abs(value - 1) < 4 * error + 1e-3


def test_forms_of_linear_attention_obey_woodburys_identity():
    """With f(t) = t the change by weights is of rank one exactly, so the forms give back y^T Q y at any size."""
    point = {"c": 0.5, "nonlinearity": "linear", "gamma": 0.7, "snr": 1.0, "weights": "unit-aligned", "p": 20, "n": 40}
    from theorem_engine.validators import liao2026_forms

    def plain(make_run, name, rng, count):
        found, _ = make_run(name[1], name[2])(rng)
        return {key: np.array([value]) for key, value in found.items()}

    original = liao2026_forms.controlled
    liao2026_forms.controlled = plain
    try:
        # the diagonal of K must change with the weights too, which a set one does not: both are close at this size
        found = {key: float(value[0]) for key, value in weight_forms(point, np.random.default_rng(7), 1).items()}
    finally:
        liao2026_forms.controlled = original
    matrix = np.array([[found["M11"], found["M12"]], [found["M12"], found["M22"]]])
    vector = np.array([found["v1"], found["v2"]])
    assert found["A"] == pytest.approx(found["A0"] - vector @ np.linalg.solve(matrix, vector), abs=0.05)
    assert np.linalg.det(matrix) < 0


def test_slopes_of_traces_are_their_differences_in_the_penalty():
    point = {"c": 0.5, "nonlinearity": "tanh", "gamma": 1.0, "size": 30}
    here, low, high = (
        noise_traces({**point, "gamma": g}, np.random.default_rng(8), 2) for g in (1.0, 1.0 - 1e-4, 1.0 + 1e-4)
    )
    for name in ("alpha", "beta", "delta", "g", "e", "eta"):
        assert here[f"d_{name}"] == pytest.approx((high[name] - low[name]) / 2e-4, rel=1e-5)


def test_a_strong_spike_has_an_outlier_that_holds_the_labels():
    """|mu|^2 far above sqrt(c): the largest eigenvalue is near |mu|^2/c, and its vector near that of the labels."""
    found = spectral_forms({"c": 0.5, "snr": 400.0, "z": -1.0, "size": 60}, np.random.default_rng(9), 8)
    assert found["outlier_mass"].mean() > 0.99
    assert found["outlier"].mean() == pytest.approx(400 * 2, rel=0.05)
    assert "outlier" not in spectral_forms({"c": 0.5, "snr": 0.5, "z": -1.0, "size": 60}, np.random.default_rng(9), 2)


def test_forms_and_the_error_itself_are_drawn_from_one_model():
    """Two samples of one mean; false alarm 6e-7."""
    point = {"c": 0.5, "nonlinearity": "tanh", "gamma": 1.0, "snr": 1.0, "weights": "aligned", "size": 40}
    (first, error), (second, other) = (
        _mean(simulate(point, np.random.default_rng(seed), 300)["error"])
        for seed, simulate in ((11, weight_forms), (12, attention_error))
    )
    assert abs(first - second) < 5 * np.hypot(error, other)
