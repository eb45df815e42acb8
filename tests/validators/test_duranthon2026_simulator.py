"""The simulators of attention on single-location regression against cases known without any theorem."""

import math

import numpy as np
import pytest

from theorem_engine.validators import duranthon2026 as simulators
from theorem_engine.validators import duranthon2026_descent as descent
from theorem_engine.validators import duranthon2026_model as model
from theorem_engine.validators import duranthon2026_steps as steps

POINT = {"m_kk": 0.9, "m_kv": -0.3, "m_vk": 0.25, "m_vv": 0.8, "q_kk": 1.07, "q_vv": 0.8325, "q_kv": -0.065}
COUNT = 60_000


def z_score(samples, value):
    """Standard errors from a value; samples that are all equal are known to rounding."""
    error = np.std(samples, ddof=1) / math.sqrt(len(samples))
    return (np.mean(samples) - value) / max(error, 1e-12)


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
    weights = model.attention_weights(name, scores)
    if name in ("softmax", "softplus", "tanh"):
        assert np.allclose(weights.sum(axis=1), 1)
    if name == "relu":
        assert np.allclose(weights, [[0.3 / 2.3, 0, 2 / 2.3], [0, 0, 0]])
    if name == "softmax-plus-one":
        assert np.allclose(weights, np.exp(scores) / (1 + np.exp(scores).sum(axis=1, keepdims=True)))
    assert np.all(np.argmax(weights, axis=1) == [2, 1]) or name == "relu"


def test_an_unknown_activation_is_refused():
    with pytest.raises(ValueError, match="cube"):
        model.attention_weights("cube", np.zeros((1, 2)))


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


@pytest.mark.parametrize("name", ["softmax", "linear", "centred-linear", "erf", "softplus", "element-wise-optimal"])
def test_a_single_token_is_always_right_after_a_fit(name):
    """All weight on the one token, which every activation can give; rounding is all that is left."""
    point = {"task": "spiked", "nu": 2, "L": 1, "activation": name}
    assert np.mean(simulators.best_attention(point, np.random.default_rng(15), 5000)["risk"]) < 1e-12


def test_at_a_given_slope_only_the_norm_is_fitted():
    """Slope zero gives equal weights, whose best norm leaves 1 - 1/L; false alarm 6e-7."""
    for simulator in (simulators.best_erf, simulators.best_softplus):
        point = {"task": "max", "nu": 2, "L": 4, "m_kk": 0.0}
        losses = simulator(point, np.random.default_rng(16), COUNT)["risk"]
        assert abs(z_score(losses, 0.75)) < 5


def test_fitted_weights_are_no_worse_than_the_average_and_no_better_than_bayes():
    point = {"task": "max", "nu": 2, "L": {2: 0.5, 6: 0.5}}
    bayes = simulators.bayes_estimator(point, np.random.default_rng(17), COUNT)["risk"]
    for name in ("linear", "centred-linear", "erf", "softplus", "sigmoid", "element-wise-optimal"):
        losses = simulators.best_attention({**point, "activation": name}, np.random.default_rng(18), COUNT)["risk"]
        spread = 5 * math.sqrt((losses.var() + bayes.var()) / COUNT)
        assert bayes.mean() - spread < losses.mean() < 1 - 1 / 4 + spread, name


def test_at_the_argmax_steep_softmax_makes_no_error():
    point = {"task": "max", "nu": math.inf, "L": 4, "activation": "softmax"}
    assert np.max(simulators.best_attention(point, np.random.default_rng(19), 5000)["risk"]) < 1e-20


def test_one_length_costs_nothing():
    point = {"task": "spiked", "nu": 2, "L": 3, "activation": "softplus"}
    assert np.all(simulators.length_cost(point, np.random.default_rng(20), 5000)["excess"] == 0)


def test_the_cost_of_random_lengths_without_signal():
    """Equal weights b: 1 - 1/E[L] for one b, E[1 - 1/L] for one each; false alarm 6e-7."""
    point = {"task": "spiked", "nu": 0, "L": {1: 0.5, 4: 0.5}, "activation": "linear"}
    found = simulators.length_cost(point, np.random.default_rng(21), COUNT)["excess"]
    assert abs(z_score(found, (1 - 1 / 2.5) - (1 - 1 / 4) / 2)) < 5


@pytest.mark.parametrize("law", simulators.TOKEN_LAWS[1:])
def test_tokens_of_other_laws_have_mean_zero_and_variance_one_in_every_direction(law):
    """Five standard errors of a mean and of a variance whose fourth moment is at most nine."""
    point = {"task": "max", "nu": 1, "L": 3, "tokens": law}
    (tokens, _), *_ = model.sequences(point, np.random.default_rng(22), 20_000)
    assert tokens.shape == (20_000, 3, simulators.DIMENSION)
    flat = tokens[:, 0]
    assert np.max(np.abs(flat.mean(axis=0))) < 5 / math.sqrt(20_000)
    assert np.max(np.abs(flat.T @ flat / 20_000 - np.eye(simulators.DIMENSION))) < 5 * math.sqrt(8 / 20_000)
    shared = np.mean(tokens[:, 0] * tokens[:, 1])
    assert shared == pytest.approx(0.5 if law == "correlated" else 0.0, abs=0.02)


def test_an_unknown_law_is_refused():
    with pytest.raises(ValueError, match="cauchy"):
        simulators.bayes_estimator({"task": "max", "nu": 1, "L": 3, "tokens": "cauchy"}, np.random.default_rng(0), 10)


def test_the_best_element_wise_weight_is_the_posterior_of_a_token_by_itself():
    """At the argmax of two tokens that is the probability that the other is smaller."""
    point = {"task": "max", "nu": math.inf, "L": 2, "activation": "element-wise-optimal"}
    scores = np.array([[-1.0, 0.5]])
    exact = [0.5 * math.erfc(1 / math.sqrt(2)), 0.5 * math.erfc(-0.5 / math.sqrt(2))]
    assert np.allclose(model.weights_of(point, scores), [exact], atol=2e-4)
    steep = model.weights_of({**point, "nu": 400.0}, scores)
    assert np.allclose(steep, [exact], atol=5e-3)


# Descent


@pytest.mark.parametrize(
    "name", ["softmax", "linear", "centred-linear", "erf", "softplus", "sigmoid", "relu", "tanh", "softmax-plus-one",
             "element-wise-optimal"],
)  # fmt: skip
def test_slopes_are_derivatives_of_the_answer(name):
    rng = np.random.default_rng(23)
    point = {"activation": name, "shift": -0.2, "task": "spiked", "nu": 2, "L": 3}
    scores, values, move = rng.standard_normal((3, 5, 3))
    step = 1e-5
    up, down = (descent._answers(point, scores + sign * step * move, values)[0] for sign in (1, -1))
    slopes = descent._answers(point, scores, values)[2]
    assert np.allclose((up - down) / (2 * step), np.sum(slopes * move, axis=1), atol=1e-6)


def test_the_flow_of_a_single_token_is_known():
    """The weight of one token is one whatever k is, so f = z and dv/dt = 2 (v* - v)."""
    point = {"task": "max", "nu": 1, "L": 1, "activation": "softmax", "m_vv": 0.2, "m_kk": 0.5, "time": 0.3}
    found = descent.vector_flow(point, np.random.default_rng(24), 4)
    assert np.allclose(found["m_vv"], 1 - 0.8 * math.exp(-0.6), atol=5e-3)
    assert np.allclose(found["m_kk"], 0.5)
    assert np.allclose(found["risk"], 0.64 * math.exp(-1.2), atol=5e-3)


def test_the_bayes_predictor_is_stationary():
    """False alarm 6e-7 for each of the eight."""
    point = {"task": "spiked", "nu": 2.0, "L": 3, "activation": "softmax", "m_kk": math.sqrt(2), "m_vv": 1.0}
    found = descent.stationary_point(point, np.random.default_rng(25), COUNT)
    bayes = simulators.bayes_estimator(point, np.random.default_rng(26), COUNT)["risk"]
    expected = {"m_kk": math.sqrt(2), "m_kv": 0, "m_vk": 0, "m_vv": 1, "q_kk": 2, "q_vv": 1, "q_kv": 0}
    assert all(abs(z_score(found[name], value)) < 5 for name, value in expected.items())
    assert abs(found["risk"].mean() - bayes.mean()) < 5 * math.sqrt((bayes.var() + found["risk"].var()) / COUNT)


def test_where_no_minimum_is_predicted_nothing_is_compared():
    with pytest.raises(ValueError, match="no minimum"):
        descent.stationary_point({"exists": False}, np.random.default_rng(0), 10)


def test_one_token_has_no_mismatched_minimum():
    """Nothing depends on k there, so no curvature in it is positive."""
    point = {"task": "spiked", "nu": 2.0, "L": 1, "activation": "softmax"}
    assert descent.mismatched_basin(point, np.random.default_rng(27), 2) == {"exists": [False, False]}


def test_a_minimum_as_shallow_as_the_noise_is_left_open():
    point = {"task": "max", "nu": 5.0, "L": 10, "activation": "softmax"}
    with pytest.raises(ValueError, match="noise"):
        descent.mismatched_basin(point, np.random.default_rng(28), 2)


@pytest.mark.parametrize("task", ["spiked", "max"])
def test_curvatures_averaged_over_values_are_those_of_drawn_slopes(task):
    """Mean squares of slopes along a direction, and the cost of noise, with values drawn: four standard errors."""
    point = {"task": task, "nu": 1.5, "L": 3, "delta": 0.4}
    axis = np.array([0.5, -0.7, 0.3, 0.6, 0.4, -0.2])
    errors, moves = [], []
    rng = np.random.default_rng(41)
    for tokens, hidden in model.sequences(point, rng, COUNT, 3):
        chances, values = model.posterior(point, tokens[:, :, 0]), tokens[:, :, 1]
        answer = np.einsum("nl,nl->n", chances, values)
        errors.append((model.labels(point, rng, tokens, hidden) - answer) ** 2)
        bent = chances * (values - answer[:, None])
        moves.append(np.concatenate([np.einsum("nl,nld->nd", c, tokens) for c in (bent, chances)], axis=1))
    error, move = np.concatenate(errors), np.concatenate(moves)
    seen = list(steps._seen(point, np.random.default_rng(42), COUNT))
    pairs = [
        ((move @ axis) ** 2, np.concatenate([one.squares(axis) for one in seen])),
        (error * (move[:, 2] ** 2 + move[:, 5] ** 2), np.concatenate([one.costs for one in seen])),
        (error, np.concatenate([one.error for one in seen])),
    ]
    for drawn, averaged in pairs:
        assert averaged.std() < drawn.std()
        assert abs(drawn.mean() - averaged.mean()) < 4 * np.sqrt((drawn.var() + averaged.var()) / COUNT)
