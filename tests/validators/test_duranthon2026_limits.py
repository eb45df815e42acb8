"""Limits of strong signals and long sequences, by quadrature, against cases known without any theorem."""

import math

import numpy as np
import pytest

from theorem_engine.validators import duranthon2026_limits as limits
from theorem_engine.validators import duranthon2026_quadrature as quadrature
from theorem_engine.validators.duranthon2026 import bayes_estimator, best_attention

RNG = np.random.default_rng(0)


def sampled(simulator, count=200_000, **point):
    losses = simulator(point, np.random.default_rng(1), count)["risk"]
    return losses.mean(), 5 * losses.std() / math.sqrt(count)


def test_two_tokens_need_one_integral():
    """For L = 2 the posterior depends on the difference of two scores only."""
    nu = 30.0
    x = np.arange(-14, 14, 0.001)
    w = nu + math.sqrt(2 * nu) * x
    direct = 2 * np.sum(np.exp(-(x**2) / 2) / (1 + np.exp(w)) ** 2) * 0.001 / math.sqrt(2 * math.pi)
    assert quadrature.spiked_softmax(nu, 2) == pytest.approx(direct, rel=1e-11)


@pytest.mark.parametrize("length", [2, 3, 9])
def test_lattice_risks_agree_with_the_sampled_estimator(length):
    """False alarm 6e-7 for each comparison."""
    value, margin = sampled(bayes_estimator, task="spiked", nu=4.0, L=length)
    assert abs(quadrature.spiked_softmax(4.0, length) - value) < margin
    assert 1 - quadrature.spiked_softmax_gain(4.0, length) == pytest.approx(
        quadrature.spiked_softmax(4.0, length), rel=1e-9
    )
    value, margin = sampled(bayes_estimator, task="max", nu=2.0, L=length)
    assert abs(quadrature.max_softmax(2.0, length) - value) < margin
    assert 1 - quadrature.max_softmax_gain(2.0, length) == pytest.approx(quadrature.max_softmax(2.0, length), rel=1e-9)


@pytest.mark.parametrize("name", ["linear", "centred-linear", "element-wise-optimal", "erf", "softplus"])
def test_risks_of_the_other_weights_agree_with_fitted_attention(name):
    """False alarm 6e-7; the fits themselves cost less than a tenth of the margin."""
    value, margin = sampled(best_attention, task="spiked", nu=6.0, L=4, activation=name)
    computed = {
        "element-wise-optimal": lambda: quadrature.spiked_element_wise(6.0, 3.0),
        "erf": lambda: quadrature.spiked_erf(6.0, 3.0),
        "softplus": lambda: 1 - quadrature.softplus_gain(6.0, 4),
    }.get(name, lambda: quadrature.spiked_linear(name, 6.0, [(4, 1.0)]))()
    assert abs(computed - value) < 1.1 * margin


@pytest.mark.parametrize("name", ["linear", "centred-linear", "element-wise-optimal", "erf", "softplus"])
def test_risks_at_the_argmax_agree_with_fitted_attention(name):
    value, margin = sampled(best_attention, task="max", nu=math.inf, L=3, activation=name)
    assert abs(quadrature.argmax_risk(name, [(3, 1.0)], 0) - value) < 1.1 * margin


def test_a_known_series_is_recovered():
    signals = limits._nodes(50, 900, 9)
    risks = np.exp(-signals / 8) / np.sqrt(signals) * (3 - 7 / signals + 20 / signals**2)
    rate, power, coefficients = limits._fit_signal(signals, risks, 4)
    assert (rate, power) == (0.125, 0.5)
    assert np.allclose(coefficients[:3], [3, -7, 20], rtol=1e-7)


@pytest.mark.parametrize("name", ["softmax", "linear", "erf", "softplus"])
def test_runs_of_a_limit_lie_close_together(name):
    found = limits.strong_signal({"task": "spiked", "nu": 6.0, "L": 3, "activation": name}, RNG, 2)
    assert found["leading"][0] == pytest.approx(found["leading"][1], rel=1e-5)
    found = limits.long_sequences({"task": "spiked", "nu": 1.5, "L": 30, "activation": name}, RNG, 2)
    assert found["exponent"][0] == pytest.approx(found["exponent"][1], rel=1e-7)


def test_what_is_not_computed_is_refused():
    with pytest.raises(ValueError, match="single token"):
        limits.strong_signal({"task": "spiked", "nu": 2.0, "L": 1, "activation": "softmax"}, RNG, 2)
    with pytest.raises(ValueError, match="max task"):
        limits.long_sequences({"task": "max", "nu": 2.0, "L": 4, "activation": "softplus"}, RNG, 2)
    with pytest.raises(ValueError, match="erf"):
        limits.risk_threshold({"task": "spiked", "nu": 2.0, "L": 4, "activation": "erf"}, RNG, 2)


def test_normalised_softplus_turns_at_half_the_length():
    """Its risk is one half at nu = L/2 in long sequences, that of linear attention at nu = L."""
    assert quadrature.softplus_gain(1000.0, 2000.0) == pytest.approx(0.5, abs=1e-3)
    assert quadrature.spiked_linear("linear", 2000.0, [(2000, 1.0)]) == pytest.approx(0.5, abs=1e-3)
