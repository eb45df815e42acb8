"""The simulators of attention on single-location regression against cases known without any theorem."""

import math

import numpy as np
import pytest

from theorem_engine.validators import duranthon2026 as simulators

POINT = {"m_kk": 0.9, "m_kv": -0.3, "m_vk": 0.25, "m_vv": 0.8, "q_kk": 1.07, "q_vv": 0.8325, "q_kv": -0.065}
COUNT = 60_000


def z_score(samples, value):
    return (np.mean(samples) - value) / (np.std(samples, ddof=1) / math.sqrt(len(samples)))


def test_without_signal_the_bayes_estimator_averages():
    """Risk 1 - 1/L; false alarm 6e-7."""
    losses = simulators.bayes_estimator({"task": "spiked", "nu": 0, "L": 5}, np.random.default_rng(1), COUNT)["risk"]
    assert abs(z_score(losses, 0.8)) < 5


def test_at_the_argmax_the_bayes_estimator_is_right():
    losses = simulators.bayes_estimator({"task": "max", "nu": math.inf, "L": 5}, np.random.default_rng(2), 1000)["risk"]
    assert np.max(losses) == 0


def test_label_noise_is_added():
    point = {"task": "max", "nu": math.inf, "L": 3, "delta": 0.5}
    losses = simulators.bayes_estimator(point, np.random.default_rng(3), COUNT)["risk"]
    assert abs(z_score(losses, 0.25)) < 5


def test_lengths_are_drawn_from_their_distribution():
    """A single token is always right, so the risk without signal is half of 1 - 1/4."""
    point = {"task": "spiked", "nu": 0, "L": {1: 0.5, 4: 0.5}}
    losses = simulators.bayes_estimator(point, np.random.default_rng(4), COUNT)["risk"]
    assert len(losses) == COUNT
    assert abs(z_score(losses, 0.375)) < 5


def test_vectors_have_the_overlaps_asked_for():
    key, value = simulators.make_vectors(POINT)
    found = [key[0], key[1], value[0], value[1], key @ key, value @ value, key @ value]
    assert np.allclose(found, [POINT[name] for name in simulators.ORDER], rtol=1e-12)


@pytest.mark.parametrize("task", ["spiked", "max"])
def test_whole_tokens_and_four_projections_agree(task):
    """Two samples of the same law; false alarm 6e-7 each."""
    point = {"task": task, "nu": 1.5, "L": 4, "activation": "softmax", **POINT}
    a = simulators.attention_risk(point, np.random.default_rng(5), COUNT)["risk"]
    b = simulators.reduced_attention_risk(point, np.random.default_rng(6), COUNT)["risk"]
    assert abs(a.mean() - b.mean()) < 5 * math.sqrt(a.var() / len(a) + b.var() / len(b))


def test_uniform_attention_with_the_true_value_vector():
    """k = 0 and v = v*: the mean of all z*, risk 1 - 1/L."""
    point = {"task": "spiked", "nu": 3, "L": 4, "activation": "softmax", "m_kk": 0, "m_vv": 1}
    losses = simulators.attention_risk(point, np.random.default_rng(7), COUNT)["risk"]
    assert abs(z_score(losses, 0.75)) < 5


@pytest.mark.parametrize(
    "name", ["softmax", "softplus", "relu", "tanh", "softmax-plus-one", "sigmoid", "erf", "linear"]
)
def test_weights_follow_their_definition(name):
    scores = np.array([[0.3, -1.2, 2.0], [-0.5, -0.1, -3.0]])
    weights = simulators.attention_weights(name, scores)
    if name in ("softmax", "softplus", "tanh"):
        assert np.allclose(weights.sum(axis=1), 1)
    if name == "relu":
        assert np.allclose(weights, [[0.3 / 2.3, 0, 2 / 2.3], [0, 0, 0]])
    if name == "softmax-plus-one":
        assert np.allclose(weights, np.exp(scores) / (1 + np.exp(scores).sum(axis=1, keepdims=True)))
    assert np.all(np.argmax(weights, axis=1) == [2, 1]) or name == "relu"


def test_an_unknown_activation_is_refused():
    with pytest.raises(ValueError, match="cube"):
        simulators.attention_weights("cube", np.zeros((1, 2)))


def test_the_linear_fit_finds_the_known_risk_without_signal():
    losses = simulators.best_linear_estimator({"task": "spiked", "nu": 0, "L": 4}, np.random.default_rng(8), COUNT)[
        "risk"
    ]
    assert abs(z_score(losses, 0.75)) < 5


def test_one_token_carries_two_bits_of_nothing():
    """The information about the position among L is log L nats when the spike is huge."""
    values = simulators.bayes_information({"L": 8}, np.random.default_rng(9), 2000)["integral"]
    assert np.allclose(values.mean(), 2 * math.log(8), rtol=1e-6)


def test_the_excess_has_the_mean_of_the_distance():
    """Both are samples of the same mean; false alarm 6e-7."""
    point = {"task": "max", "nu": 2, "L": 3, "activation": "softmax", "m_kk": 0.7, "m_vv": 0.8}
    found = simulators.attention_excess(point, np.random.default_rng(10), COUNT)
    difference = found["excess"] - found["distance"]
    assert abs(z_score(difference, 0)) < 5


def test_the_best_slope_of_softmax_is_near_the_posterior():
    point = {"task": "spiked", "nu": 2, "L": 3, "activation": "softmax"}
    losses = simulators.best_attention(point, np.random.default_rng(11), COUNT)["risk"]
    bayes = simulators.bayes_estimator(point, np.random.default_rng(12), COUNT)["risk"]
    assert abs(losses.mean() - bayes.mean()) < 5 * math.sqrt(losses.var() / COUNT + bayes.var() / COUNT)


def test_descent_lowers_the_risk():
    point = {"task": "spiked", "nu": 2, "L": 3, "activation": "softmax", "time": 0.5, **POINT}
    before = simulators.attention_risk(point, np.random.default_rng(13), 20_000)["risk"]
    after = simulators.descent(point, np.random.default_rng(14), 5_000, step=0.05)["risk"]
    assert after.mean() < before.mean() - 0.03
