"""Population entries of duranthon2026 against simulators of the model as defined."""

import math

import numpy as np
import pytest

from tests.registry.duranthon2026_points import POINT, TASKS, risk
from theorem_engine.validators import duranthon2026 as simulators


@pytest.mark.parametrize(
    ("name", "simulator", "point"),
    [
        ("bayes-risk", simulators.bayes_estimator, {"task": "spiked", "nu": 2, "L": 4}),
        ("bayes-risk", simulators.bayes_estimator, {"task": "max", "nu": 3, "L": {2: 0.5, 5: 0.5}, "delta": 0.3}),
        ("linear-risk", simulators.best_linear_estimator, {"task": "max", "nu": "inf", "L": 3}),
        ("element-wise-bound", simulators.element_wise_estimator, {"task": "spiked", "nu": 3, "L": 4}),
        *[
            ("population-risk", simulators.attention_risk, {"task": task, "nu": 1.5, "L": 3, "activation": a, **POINT})
            for task in TASKS
            for a in ("softmax", "softplus", "tanh", "softmax-plus-one", "sigmoid")
        ],
        ("manifold-risk", simulators.attention_risk,
         {"task": "spiked", "nu": 2, "L": 3, "activation": "relu", "m_kk": 0.8, "m_vv": 0.9}),
        ("manifold-risk", simulators.attention_risk,
         {"task": "max", "nu": "inf", "L": 4, "activation": "tanh", "m_kk": 1.1, "m_vv": 0.9}),
    ],
)  # fmt: skip
def test_entries_agree_with_their_simulators(name, simulator, point):
    """Sixteen cases at five standard errors: 1e-5 false alarms in all. Fits cost up to 41/100000 of the risk."""
    numbers = {k: float(v) if v == "inf" else v for k, v in point.items()}
    values = simulator(numbers, np.random.default_rng(2026), 100_000)["risk"]
    exact = risk(name, **point)
    assert abs(values.mean() - exact) < 5 * values.std() / math.sqrt(len(values)) + 5e-4 * exact
