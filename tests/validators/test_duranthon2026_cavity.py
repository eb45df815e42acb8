"""Cross-checks of order parameters by plain random draws: they confirm what is right and refute what is not."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import softmax

import theorem_engine as te
from theorem_engine.validators import duranthon2026_cavity as cavity

ERM, LEARNER = "duranthon2026.erm-risk", "duranthon2026.bayes-learner"
POINTS = [
    {"task": "spiked", "nu": 1, "L": 3, "delta": "0.2", "alpha": 3, "activation": "softmax", "r_k": "0.8", "r_v": 1},
    {"task": "max", "nu": "inf", "L": 2, "delta": 0, "alpha": 2, "activation": "linear", "r_k": 1, "r_v": 6},
    {"task": "max", "nu": 3, "L": 3, "delta": 0, "alpha": 4, "activation": "softmax", "r_k": 1, "r_v": 1},
]


def numbers(point):
    return {name: v if name in ("task", "activation") else float(v) for name, v in point.items()}


def z_scores(function, told, count, wanted, seed=0):
    """Distance of each mean from what it must be, in standard errors."""
    found = function(told, np.random.default_rng(seed), count)
    return {
        name: (np.mean(x) - wanted[name]) / np.std(x) * np.sqrt(count) for name, x in found.items() if name in wanted
    }


@pytest.mark.parametrize("name", ["softmax", "linear"])
def test_the_proximal_point_is_a_minimum(name):
    rng = np.random.default_rng(0)
    omega, w, y = rng.normal(size=(8, 3)), rng.normal(size=(8, 3)), rng.normal(size=8)
    chi, z, miss = cavity._proximal(name, omega, w, y, (0.7, 0.5))

    def height(x, i):
        weights = 1 + x[:3] if name == "linear" else softmax(x[:3])
        near = np.sum((x[:3] - omega[i]) ** 2) / 1.4 + np.sum((x[3:] - w[i]) ** 2) / 1.0
        return near + (y[i] - weights @ x[3:]) ** 2 / 2

    for i in range(8):
        here = np.concatenate([chi[i], z[i]])
        assert height(here, i) <= minimize(height, here, args=(i,), method="BFGS").fun + 1e-10
    weights = 1 + chi if name == "linear" else softmax(chi, axis=1)
    assert miss == pytest.approx(y - np.sum(weights * z, axis=1), abs=1e-12)


@pytest.mark.parametrize("point", POINTS, ids=lambda p: f"{p['task']}-{p['activation']}")
def test_predicted_order_parameters_reproduce_themselves(point):
    """Six z-scores, predictions known six times better than the draws: |z| > 5 has probability 4e-6."""
    predicted = te.predict(ERM, draws=2**16, **point).outputs
    scores = z_scores(cavity.minimiser_of_one, {**numbers(point), **predicted}, 60_000, predicted)
    assert len(scores) == 6
    assert max(abs(z) for z in scores.values()) < 5, scores


@pytest.mark.parametrize("off", ["m_k", "q_k", "V_k", "m_v", "q_v", "V_v"])
def test_order_parameters_that_are_off_are_refuted(off):
    """Fifteen per cent on one of them, and at least one mean is off by eight standard errors."""
    point = POINTS[1]
    predicted = {**te.predict(ERM, draws=2**15, **point).outputs}
    predicted[off] *= 1.15
    scores = z_scores(cavity.minimiser_of_one, {**numbers(point), **predicted}, 60_000, predicted)
    assert max(abs(z) for z in scores.values()) > 8, scores


@pytest.mark.parametrize("activation", ["softmax", "linear"])
def test_ridge_regression_reproduces_itself(activation):
    """Four z-scores of 200000 draws: |z| > 5 has probability 2e-6."""
    point = {"L": 3, "delta": "0.3", "alpha": 2, "activation": activation, "r_v": 2}
    predicted = te.predict("duranthon2026.ridge-limit", **point).outputs
    scores = z_scores(cavity.ridge_of_one, {**numbers(point), **predicted}, 200_000, predicted)
    assert len(scores) == 4
    assert max(abs(z) for z in scores.values()) < 5, scores


@pytest.mark.parametrize(("task", "nu"), [("spiked", 2), ("max", 3), ("max", "inf")])
def test_two_answers_lie_apart_as_the_least_error_says(task, nu):
    """One z-score of draws and of a prediction known three times better: |z| > 5 has probability 1e-6."""
    point = {"task": task, "nu": nu, "L": 3, "delta": "0.5", "alpha": 3}
    predicted = te.predict(LEARNER, draws=2**13, **point).outputs
    scores = z_scores(cavity.two_answers, {**numbers(point), **predicted}, 100_000, predicted)
    assert abs(scores["risk"]) < 5
    wrong = {**numbers(point), **predicted, "q_v": predicted["q_v"] - 0.05}
    assert abs(z_scores(cavity.two_answers, wrong, 100_000, predicted)["risk"]) > 5


def test_overlaps_of_the_posterior_reproduce_themselves():
    point = {"task": "spiked", "nu": 2, "L": 3, "delta": "0.5", "alpha": 3}
    predicted = te.predict(LEARNER, **point).outputs
    scores = z_scores(cavity.posterior_of_one, {**numbers(point), **predicted}, 100_000, predicted)
    assert set(scores) == {"q_k", "q_v"}
    assert max(abs(z) for z in scores.values()) < 5, scores
    wrong = {**numbers(point), **predicted, "q_k": predicted["q_k"] - 0.02}
    assert abs(z_scores(cavity.posterior_of_one, wrong, 100_000, {"q_k": wrong["q_k"]})["q_k"]) > 5


def test_the_threshold_found_by_halving_is_the_end_of_the_learning_curve():
    """Runs of 4096 draws scatter by about half a per cent."""
    point = {"task": "spiked", "nu": 2, "L": 3}
    found = cavity.recovery_threshold(point, np.random.default_rng(0), 4)["alpha_alg"]
    predicted = te.predict("duranthon2026.hard-phase", **point).outputs["alpha_alg"]
    assert np.mean(found) == pytest.approx(predicted, rel=0.015)


def test_what_is_not_written_down_is_told():
    told = {"task": "max", "nu": 1.0, "L": 3, "alpha": 1.0, "q_k": 0.5, "q_v": 0.5}
    with pytest.raises(ValueError, match="spiked task only"):
        cavity.posterior_of_one(told, np.random.default_rng(0), 10)
    with pytest.raises(ValueError, match="certainty"):
        cavity.posterior_of_one({**told, "task": "spiked", "q_v": 1.0}, np.random.default_rng(0), 10)


@pytest.mark.parametrize(
    ("id", "point"),
    [
        ("duranthon2026.learning-curve", {"task": "spiked", "nu": 2, "L": 3, "delta": "0.4", "q_v": "0.5"}),
        (LEARNER, {"task": "max", "nu": 3, "L": 2, "delta": "0.5", "alpha": 2}),
    ],
)
def test_checks_of_the_entries_agree(id, point):
    verdict = te.check(id, samples=1_000_000, **point)
    assert verdict.verdict == "agrees", verdict
