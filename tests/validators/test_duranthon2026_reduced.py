"""Squared errors averaged over the values agree with those of drawn values, and need fewer sequences."""

import math

import numpy as np
import pytest

from theorem_engine.validators import duranthon2026 as simulators
from theorem_engine.validators import duranthon2026_places as places

COUNT = 20_000
DRAWN = {"values": "drawn"}
CASES = (
    (simulators.bayes_estimator, "risk", {"task": "max", "nu": 2.0, "L": 3, "delta": 0.4}),
    (simulators.bayes_estimator, "risk", {"task": "spiked", "nu": 3.0, "L": {2: 0.5, 5: 0.5}}),
    (simulators.best_linear_estimator, "risk", {"task": "spiked", "nu": 2.0, "L": 4}),
    (simulators.best_softplus, "risk", {"task": "max", "nu": 1.5, "L": 3, "delta": 0.3}),
    (simulators.element_wise_estimator, "risk", {"task": "spiked", "nu": 2.0, "L": 3}),
    (simulators.attention_excess, "excess",
     {"task": "spiked", "nu": 2.0, "L": 3, "activation": "softmax", "m_kk": 0.7, "m_vv": 0.8}),
    (places.best_linear_place, "m_vv", {"task": "spiked", "nu": 2.0, "L": 4}),
    (places.best_place, "m_kk", {"task": "max", "nu": 1.5, "L": 3, "activation": "softplus"}),
)  # fmt: skip


@pytest.mark.parametrize(("simulator", "output", "point"), CASES)
def test_means_over_the_values_are_those_of_drawn_values(simulator, output, point):
    """Two samples of one mean; false alarm 6e-7 each."""
    averaged = simulator(point, np.random.default_rng(1), COUNT)[output]
    drawn = simulator({**point, **DRAWN}, np.random.default_rng(2), COUNT)[output]
    assert abs(averaged.mean() - drawn.mean()) < 5 * math.sqrt((averaged.var() + drawn.var()) / COUNT)
    assert averaged.var() < drawn.var()


@pytest.mark.parametrize("task", ["spiked", "max"])
def test_the_manifold_is_simulated_alike_with_whole_tokens(task):
    point = {"task": task, "nu": 2.0, "L": 4, "activation": "softplus", "m_kk": 1.2, "q_kk": 2.0, "m_vv": 0.7,
             "q_vv": 0.9, "delta": 0.3}  # fmt: skip
    averaged = places.weight_moments(point, np.random.default_rng(3), COUNT)["risk"]
    whole = simulators.attention_risk(point, np.random.default_rng(4), COUNT)["risk"]
    assert abs(averaged.mean() - whole.mean()) < 5 * math.sqrt((averaged.var() + whole.var()) / COUNT)
    assert 10 * averaged.var() < whole.var()


def test_off_the_manifold_the_mean_over_the_values_is_refused():
    point = {"task": "max", "nu": 2.0, "L": 4, "activation": "softplus", "m_kk": 1.0, "m_vk": 0.5, "m_vv": 1.0}
    with pytest.raises(ValueError, match="off the manifold"):
        places.weight_moments(point, np.random.default_rng(5), 10)
