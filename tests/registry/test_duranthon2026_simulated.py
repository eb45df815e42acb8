"""Population entries of duranthon2026 against simulators of the model as defined."""

import math

import numpy as np
import pytest
import sympy

import theorem_engine as te
from tests.registry.duranthon2026_points import POINT, TASKS, predict, risk
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
            for a in ("softmax", "softplus", "tanh", "softmax-plus-one", "sigmoid", "relu", "centred-linear")
        ],
        ("manifold-risk", simulators.attention_risk,
         {"task": "spiked", "nu": 2, "L": 3, "activation": "relu", "m_kk": 0.8, "m_vv": 0.9}),
        ("manifold-risk", simulators.attention_risk,
         {"task": "max", "nu": "inf", "L": 4, "activation": "tanh", "m_kk": 1.1, "m_vv": 0.9}),
    ],
)  # fmt: skip
def test_entries_agree_with_their_simulators(name, simulator, point):
    """Twenty cases at five standard errors: 1.2e-5 false alarms in all. Fits cost up to 41/100000 of the risk."""
    numbers = {k: float(v) if v == "inf" else v for k, v in point.items()}
    values = simulator(numbers, np.random.default_rng(2026), 100_000)["risk"]
    exact = risk(name, **point)
    assert abs(values.mean() - exact) < 5 * values.std() / math.sqrt(len(values)) + 5e-4 * exact


CHI = sympy.Symbol("chi", real=True)
BENT = te.Normalised(sympy.Piecewise((1 + CHI, CHI > 0), (1 / (1 - CHI), True)), breaks=(0,))
HINGE = te.ElementWise(sympy.Piecewise((CHI, CHI > 0), (0, True)), breaks=(0,))


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("activation", [BENT, HINGE], ids=["normalised", "element-wise"])
def test_a_users_weights_with_a_kink_agree_with_sampling(task, activation):
    """Off the manifold, from the Gram matrix alone. Four cases at five standard errors: 2e-6 false alarms."""
    nu, length, count = 1.5, 3, 200_000
    q = POINT
    gram = [[1, 0, q["m_kk"], q["m_vk"]], [0, 1, q["m_kv"], q["m_vv"]], [q["m_kk"], q["m_kv"], q["q_kk"], q["q_kv"]],
            [q["m_vk"], q["m_vv"], q["q_kv"], q["q_vv"]]]  # fmt: skip
    rng = np.random.default_rng(5)
    values, vectors = np.linalg.eigh(np.array(gram))
    draws = rng.standard_normal((count, length, 4)) @ (vectors * np.sqrt(np.maximum(values, 0))).T
    if task == "spiked":
        hidden = np.zeros(count, dtype=int)
        draws[:, 0] += math.sqrt(nu) * np.array(gram)[0]
    else:
        hidden = np.argmax(nu * draws[..., 0] + rng.gumbel(size=(count, length)), axis=1)
    scores = draws[..., 2]
    if activation is BENT:
        weights = np.where(scores > 0, 1 + scores, 1 / (1 - np.minimum(scores, 0)))
        weights /= weights.sum(axis=1, keepdims=True)
    else:
        weights = np.maximum(scores, 0)
    errors = (draws[np.arange(count), hidden, 1] - (weights * draws[..., 3]).sum(axis=1)) ** 2
    exact = predict("population-risk", task=task, nu=nu, L=length, activation=activation, **POINT)
    assert set(exact) == {"risk"}
    assert abs(errors.mean() - exact["risk"]) < 5 * errors.std() / math.sqrt(count)
