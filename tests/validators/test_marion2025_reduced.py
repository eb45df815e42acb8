"""Reduced simulators of single-location regression agree with those that draw whole tokens."""

import numpy as np
import pytest

import theorem_engine as te
from theorem_engine.validators.marion2025 import attention_gradient, attention_risk, make_vectors
from theorem_engine.validators.marion2025_descent import population_risk
from theorem_engine.validators.marion2025_reduced import conditional_risk

POINTS = (
    {"lam": 0.2, "gamma": 0.7, "d": 30, "L": 5, "eps": 0.3},
    {"lam": 0.4, "gamma": 1.2, "d": 12, "L": 3, "kappa": 0.6, "nu": 0.5, "theta": 0.2, "eta": -0.1, "rho": 0.15},
    {"lam": 0.3, "gamma": 0.8, "d": 5, "L": 1, "kappa": 0.5, "nu": -0.4},
)


def _mean(samples):
    return samples.mean(), samples.std(ddof=1) / np.sqrt(samples.size)


@pytest.mark.parametrize("point", POINTS, ids=("oracle", "general", "alone"))
def test_the_mean_given_the_scores_is_the_mean_over_whole_tokens(point):
    whole, error = _mean(attention_risk(point, np.random.default_rng(1), 40_000)["risk"])
    reduced, own = _mean(conditional_risk(point, np.random.default_rng(2), 40_000)["risk"])
    assert abs(whole - reduced) < 4 * np.hypot(error, own)
    assert own < 0.7 * error


@pytest.mark.parametrize("point", POINTS, ids=("oracle", "general", "alone"))
def test_the_mean_given_the_scores_is_what_quadrature_over_whole_vectors_gives(point):
    exact = population_risk(*make_vectors(point), point["lam"], point["gamma"], point["L"], point.get("eps", 0.0))
    found, error = _mean(conditional_risk(point, np.random.default_rng(3), 200_000)["risk"])
    assert abs(found - exact) < 4 * error


def test_gradients_from_four_coordinates_are_those_of_whole_tokens():
    point = POINTS[1]
    four = attention_gradient(point, np.random.default_rng(4), 40_000)
    whole = attention_gradient({**point, "whole": True}, np.random.default_rng(5), 40_000)
    for name in four:
        (a, error_a), (b, error_b) = _mean(four[name]), _mean(whole[name])
        assert abs(a - b) < 4 * np.hypot(error_a, error_b), name


def test_a_third_of_a_percent_of_the_oracles_risk_is_seen():
    verdict = te.check("marion2025.oracle-risk", lam="0.1", gamma="sqrt(1/2)", d=400, L=10, samples=100_000)
    assert verdict.verdict == "agrees"
    assert all(row.visible < 0.003 for row in verdict.rows)


def test_a_risk_made_of_rare_events_is_not_refuted():
    """The error comes from scores that no sample meets: its law is not known, and nothing follows."""
    verdict = te.check("marion2025.oracle-risk", lam="2.58", gamma="0.395", d=26, L=1, samples=30_000)
    assert verdict.verdict == "cannot tell"
    assert "a few of" in verdict.reason


def test_whole_tokens_are_drawn_where_another_law_is_asked_for():
    asked = {"lam": "0.3", "gamma": "0.7", "d": 12, "L": 5, "samples": 2000}
    names = [{row.simulator for row in te.check("marion2025.oracle-risk", **asked, **law).rows}
             for law in ({}, {"tokens": "laplace"})]  # fmt: skip
    assert names == [{"marion2025_reduced.conditional_risk"}, {"marion2025.attention_risk"}]
