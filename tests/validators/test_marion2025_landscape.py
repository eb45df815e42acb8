"""Cross-checks of the landscape against what is known without any theorem."""

import doctest

import numpy as np
import pytest

from theorem_engine.validators import marion2025_landscape as landscape
from theorem_engine.validators.marion2025 import make_vectors
from theorem_engine.validators.marion2025_descent import population_risk

POINT = {"lam": 0.3, "gamma": 0.8, "d": 12, "L": 4}
RNG = np.random.default_rng(0)


def test_the_examples_in_the_docstrings_run():
    outcome = doctest.testmod(landscape)
    assert outcome.attempted > 0
    assert outcome.failed == 0


def test_curvatures_are_second_differences_of_the_risk():
    """The Hessian comes from gradients; here from three values of the risk along a great circle."""
    k_star, v_star, third, _ = landscape._frame(POINT)
    step = 1e-3

    def risk(angle):
        k = np.cos(angle) * k_star + np.sin(angle) * third
        return population_risk(k, v_star, k_star, v_star, POINT["lam"], POINT["gamma"], POINT["L"])

    curvature = (risk(step) - 2 * risk(0) + risk(-step)) / step**2
    assert landscape.fixed_points(POINT, RNG)["rate_k"][0] == pytest.approx(curvature, rel=1e-4)


def test_runs_with_other_steps_agree_up_to_the_stated_accuracy():
    found = landscape.fixed_points(POINT, RNG, 3)
    for name in ("rate_k", "rate_v", "saddle_low", "saddle_high"):
        assert np.ptp(found[name]) < 1e-6 * abs(found[name][0])


def test_the_flow_goes_downhill_and_needs_no_time_to_stand_still():
    start = {**POINT, "kappa": 0.3, "nu": 0.4, "theta": 0.2, "eta": -0.1, "rho": 0.15}
    vectors = make_vectors(start)
    before = population_risk(*vectors, POINT["lam"], POINT["gamma"], POINT["L"])
    still, moved = (landscape.gradient_flow({**start, "time": t}, RNG) for t in (0.0, 0.05))
    assert still["risk"][0] == pytest.approx(before, rel=1e-12)
    assert still["kappa"][0] == pytest.approx(0.3, abs=1e-12)
    assert moved["risk"][0] < before


def test_the_searched_inverse_temperature_is_a_minimum():
    found = landscape.optimal_lambda(POINT, RNG)
    k_star, v_star = landscape._frame(POINT)[:2]
    near = [population_risk(k_star, v_star, k_star, v_star, found["lam_star"][0] * f, POINT["gamma"], POINT["L"])
            for f in (0.99, 1.01)]  # fmt: skip
    assert found["excess"][0] < min(near)


def test_too_few_dimensions_are_refused():
    with pytest.raises(ValueError, match="four dimensions"):
        landscape.fixed_points({**POINT, "d": 3}, RNG)
