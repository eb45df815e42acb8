"""Empirical risk minimisation with erf and softplus weights: proximal points and training sets of their own."""

import numpy as np
import pytest

import theorem_engine as te
from theorem_engine.base.errors import TheoremEngineError
from theorem_engine.validators.duranthon2026_cavity import minimiser_of_one
from theorem_engine.validators.duranthon2026_finite import _attend

POINT = {"task": "spiked", "nu": 2, "L": 2, "alpha": 2, "r_k": 1, "r_v": 1, "delta": "0.3"}
WEIGHTS = [{"activation": "erf", "shift": "-0.5"}, {"activation": "softplus"}]
NAMES = ("risk", "train_error", "m_k", "q_k", "m_v", "q_v")


def told(found):
    """A prediction as numbers that a simulator is told."""
    return {name: float(found[name]) for name in ("m_k", "q_k", "V_k", "m_v", "q_v", "V_v")}


@pytest.mark.parametrize("weights", WEIGHTS)
def test_order_parameters_are_those_of_proximal_points_found_otherwise(weights):
    """Gauss and Newton's steps in all unknowns at once; five standard errors, and the error of the prediction."""
    found = te.predict("duranthon2026.erm-risk", **POINT, **weights, draws=2048)
    given = {**POINT, **weights, **told(found)}
    drawn = minimiser_of_one({**given, "nu": 2.0, "delta": 0.3}, np.random.default_rng(7), 20_000)
    for name in NAMES:
        values = drawn[name]
        allowed = 5 * values.std() / np.sqrt(len(values)) + 2 * found.errors[name]
        assert abs(values.mean() - float(found[name])) < allowed, name


@pytest.mark.campaign
@pytest.mark.parametrize("weights", WEIGHTS)
def test_minimisers_of_training_sets_have_these_order_parameters(weights):
    """Forty sets of root N D = 300: five standard errors, the error of the prediction, and a term of order 1/D."""
    found = te.predict("duranthon2026.erm-risk", **POINT, **weights, draws=4096)
    seen = te.simulate("duranthon2026.erm-risk", **POINT, **weights, samples=40, seed=3, size=300)
    for name in (*NAMES, "V_k", "V_v"):
        allowed = 5 * seen.errors[name] + found.errors[name] + 2 / 300
        assert abs(float(seen[name]) - float(found[name])) < allowed, name


@pytest.mark.parametrize(("name", "shift"), [("erf", -0.7), ("softplus", 0.0), ("softmax", 0.0), ("linear", 0.0)])
def test_slopes_of_trained_weights_are_their_differences(name, shift):
    rng = np.random.default_rng(8)
    scores, values, small = rng.standard_normal((5, 3)), rng.standard_normal((5, 3)), 1e-6
    slope = _attend(name, scores, values, shift)[2]
    for i in range(3):
        step = small * np.eye(3)[i]
        high, low = (_attend(name, scores + sign * step, values, shift)[1] for sign in (1, -1))
        assert slope[:, i] == pytest.approx((high - low) / (2 * small), abs=1e-8)


def test_long_sequences_of_weights_without_a_bound_are_refused():
    with pytest.raises(TheoremEngineError, match="at most 16"):
        te.predict("duranthon2026.erm-risk", **{**POINT, "L": 17}, activation="softplus")
