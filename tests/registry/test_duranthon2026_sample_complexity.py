"""Samples needed for a risk, against ridge regression solved here, the cost of samples, and trained minimisers."""

import numpy as np
import pytest
from scipy.optimize import brentq

import theorem_engine as te
from theorem_engine.base.errors import Infeasible, NotConverged
from theorem_engine.validators.duranthon2026_samples import samples_needed

ENTRY = "duranthon2026.sample-complexity"


def ridge_risk(alpha, length, ridge):
    """Ridge regression on the sum of the tokens, v alone: the resolvent of a Wishart matrix of ratio alpha."""
    # features are sums of L tokens: variance L each, correlated 1 with the label
    h = (ridge + (alpha - 1) * length) / 2
    response = 1 / (h + np.sqrt(h**2 + ridge * length))
    gain = 1 + response * length
    overlap = response * alpha / gain
    noise = response**2 * alpha * length / gain**2
    square = (overlap**2 + noise * (1 - 2 * overlap)) / (1 - noise * length)
    return 1 - 2 * overlap + square * length


def test_a_key_held_at_zero_needs_the_samples_of_ridge_regression():
    """r_k = 10^5 leaves v alone; the number of samples is found here by bisection."""
    expected = brentq(lambda a: ridge_risk(a, 3, 1.0) - 0.8, 1.0, 50)
    found = te.predict(
        ENTRY, task="spiked", nu=1, L=3, activation="linear", r_k=10**5, r_v=1, target="0.8", draws=2**14
    )
    assert abs(found.value - expected) < 3 * found.error + 0.01 * expected
    assert found.error < 0.02 * expected


def test_a_risk_near_the_limit_costs_what_the_coefficient_says():
    """Excess 0.004 of softmax weights: the first order in one over alpha is good to a few per cent."""
    cost = te.predict("duranthon2026.learning-coefficient", task="spiked", nu=1, L=3)
    target = cost.outputs["bayes"] + 0.004
    found = te.predict(ENTRY, task="spiked", nu=1, L=3, activation="softmax", r_k=1, r_v=1, target=target, draws=2**13)
    assert found.value == pytest.approx(cost.value / 0.004, rel=0.06)


def test_risks_that_need_no_samples_or_are_never_reached_are_refused():
    point = {"task": "spiked", "nu": 2, "L": 3, "activation": "linear", "r_k": 1, "r_v": 1, "draws": 1024}
    with pytest.raises(Infeasible, match="without any sample"):
        te.predict(ENTRY, target="1.5", **point)
    with pytest.raises(NotConverged):
        te.predict(ENTRY, target="0.4", **point)


@pytest.mark.campaign
def test_tuned_linear_weights_need_four_samples_per_dimension_for_the_tuned_risk_at_four():
    point = {"task": "spiked", "nu": 2, "L": 3, "activation": "linear", "r_k": "tuned", "r_v": "tuned"}
    found = te.predict(ENTRY, target="0.6386", draws=4096, **point)
    assert abs(found.value - 4) < 2 * found.error + 0.02


@pytest.mark.campaign
def test_trained_minimisers_need_as_many():
    point = {"task": "spiked", "nu": 2, "L": 3, "activation": "softmax", "r_k": 1.0, "r_v": 1.0, "target": 0.6}
    drawn = samples_needed({**point, "size": 400}, np.random.default_rng(3), 24)["alpha"]
    found = te.predict(ENTRY, draws=2**15, **point)
    error = drawn.std(ddof=1) / np.sqrt(24)
    assert abs(found.value - drawn.mean()) < 4 * error + found.error + 0.02 * found.value
