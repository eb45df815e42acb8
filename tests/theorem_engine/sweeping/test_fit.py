"""Letters fitted to data drawn from formulas of our own."""

import json

import numpy as np
import pytest
from scipy.stats import binomtest, kstest

import theorem_engine as te
from tests.theorem_engine.sweeping.measured_models import linear_attention_risk, oracle_risk, ridge_error
from theorem_engine.base.errors import BadRequest, OutOfDomain, TheoremEngineError
from theorem_engine.sweeping import free_letters
from theorem_engine.sweeping.determined import Undetermined

#: Probability that two standard errors cover the truth.
TWO_SIGMA = 0.9545

LAM = np.linspace(0.1, 0.8, 8)
GAMMA = np.geomspace(0.05, 5, 8)
LENGTHS = np.arange(2, 10)
#: Entry, column that varies, its values, output, the free letter and its truth, letters that are fixed, exact values.
CASES = {
    "marion2025.oracle-risk": (
        "lam", LAM, "risk", ("gamma", 0.8), {"d": 6, "L": 3}, [oracle_risk(x, 0.8, 6, 3) for x in LAM],
    ),
    "liao2026.ridge-error": (
        "gamma", GAMMA, "error", ("snr", 2.0), {"c": "0.6"}, [ridge_error(0.6, 2.0, x) for x in GAMMA],
    ),
    "duranthon2026.linear-risk": (
        "L", LENGTHS, "risk", ("nu", 1.5), {"task": "spiked"}, [linear_attention_risk(1.5, x) for x in LENGTHS],
    ),
}  # fmt: skip
NOISE = 0.01


def trials(id, count):
    """Distances of the fitted letter from the truth in standard errors, and p-values, on independent noise."""
    column, places, output, (letter, truth), fixed, exact = CASES[id]
    found = []
    for seed in range(count):
        noise = NOISE * np.random.default_rng([20260117, seed]).standard_normal(len(places))
        data = {column: places, output: np.array(exact) + noise, f"{output}_error": NOISE}
        fit = te.fit(id, data, free=[letter], start={letter: 1.1 * truth}, **fixed)
        assert fit.gradient == "exact"
        found.append(((fit.values[letter] - truth) / fit.errors[letter], fit.p_value))
    return np.array(found).T


def check_coverage(id, count):
    distances, p_values = trials(id, count)
    covered = int(np.sum(np.abs(distances) < 2))
    assert binomtest(covered, count, TWO_SIGMA).pvalue > 1e-3, covered
    assert kstest(p_values, "uniform").pvalue > 1e-3
    assert abs(np.mean(distances)) < 4 / np.sqrt(count)


@pytest.mark.parametrize("id", CASES)
def test_two_standard_errors_cover_the_truth_as_often_as_they_should(id):
    check_coverage(id, 40)


@pytest.mark.campaign
@pytest.mark.parametrize("id", CASES)
def test_two_standard_errors_cover_the_truth_in_two_hundred_trials(id):
    check_coverage(id, 200)


def ridge_data(noise=0.01, seed=7, snr=2.0, gamma=0.3):
    c = np.linspace(0.2, 2, 12)
    exact = np.array([ridge_error(x, snr, gamma) for x in c])
    return {"c": c, "error": exact + noise * np.random.default_rng(seed).standard_normal(12), "error_error": noise}


def test_two_letters_are_found_without_a_start_and_their_correlation_is_that_of_the_curvature():
    fit = te.fit("liao2026.ridge-error", ridge_data(), free=["gamma", "snr"])
    assert abs(fit.values["gamma"] - 0.3) < 3 * fit.errors["gamma"]
    assert abs(fit.values["snr"] - 2) < 3 * fit.errors["snr"]
    # the curvature of chi^2 by differences of our own formula
    data = ridge_data()
    best = np.array([fit.values["gamma"], fit.values["snr"]])
    columns = []
    for k in range(2):
        step = np.eye(2)[k] * 1e-5
        up, down = ([ridge_error(c, *(best + s * step)[::-1]) for c in data["c"]] for s in (1, -1))
        columns.append((np.array(up) - np.array(down)) / 2e-5 / 0.01)
    covariance = np.linalg.inv(np.array(columns) @ np.array(columns).T)
    assert fit.errors["gamma"] == pytest.approx(np.sqrt(covariance[0, 0]), rel=1e-4)
    assert fit.errors["snr"] == pytest.approx(np.sqrt(covariance[1, 1]), rel=1e-4)
    expected = covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1])
    assert fit.correlations[0, 1] == pytest.approx(expected, rel=1e-4)
    assert fit.fits
    assert fit.degrees_of_freedom == 10


def test_data_sets_of_different_outputs_and_letters_are_fitted_at_once():
    first = {**ridge_data(seed=5), "snr": 2}
    second = {**ridge_data(seed=6, snr=0.5), "snr": "0.5"}
    fit = te.fit("liao2026.ridge-error", [first, second], free="gamma")
    alone = te.fit("liao2026.ridge-error", first, free="gamma")
    assert abs(fit.values["gamma"] - 0.3) < 3 * fit.errors["gamma"]
    assert fit.errors["gamma"] < alone.errors["gamma"]
    assert fit.degrees_of_freedom == 23
    named = te.fit("liao2026.ridge-error", {"a": first, "b": second}, free="gamma")
    assert named.values == fit.values
    assert {row["set"] for row in named.to_json()["points"]} == {"a", "b"}


def test_a_theorem_that_does_not_fit_is_said_not_to():
    data = ridge_data(noise=0.002)
    fit = te.fit("liao2026.ridge-error", {**data, "error": data["error"] + 0.1 * data["c"]}, free="gamma", snr=2)
    assert fit.fits is False
    assert fit.p_value < 1e-6
    assert "does not fit" in str(fit)


def test_differences_take_over_where_there_is_no_exact_gradient(monkeypatch):
    exact = te.fit("liao2026.ridge-error", ridge_data(), free=["gamma", "snr"])
    monkeypatch.setattr(free_letters, "_gradient_of", lambda *_: None)
    rough = te.fit("liao2026.ridge-error", ridge_data(), free=["gamma", "snr"])
    assert rough.gradient == "central differences, relative step 6e-06"
    for letter in ("gamma", "snr"):
        assert rough.values[letter] == pytest.approx(exact.values[letter], rel=1e-7)
        assert rough.errors[letter] == pytest.approx(exact.errors[letter], rel=1e-6)


def test_the_exact_gradient_is_the_slope_of_our_own_formula_through_a_fixed_point():
    """noise-resolvent solves three equations; its derivative in a1 comes from the implicit function theorem."""
    points = {"gamma": ["0.2", "0.5", "2"], "alpha": [1, 1, 1], "alpha_error": 1}
    entry = te.entry("liao2026.noise-resolvent")
    (measured,) = curve_data(entry, points)
    fixed = {"c": 0.5, "second_moment": 1.0, "diagonal": 0.2}
    theorem = free_letters.Curve(entry, measured, fixed, ["a1"])
    slope = theorem.gradient({"a1": 0.6})
    assert slope is not None
    up, down = (theorem.values({"a1": 0.6 + s * 1e-5}) for s in (1, -1))
    assert slope[0] == pytest.approx((up - down) / 2e-5, rel=1e-7)


def curve_data(entry, points):
    from theorem_engine.sweeping.data import read_data

    return read_data(entry, points)


def test_the_theorems_own_statistical_error_enters_the_weights(monkeypatch):
    class Noisy:
        error_level = 0.95

        def __init__(self, prediction):
            self.outputs = prediction.outputs
            self.errors = {"error": 0.03}

    plain = te.fit("liao2026.ridge-error", ridge_data(), free="gamma", snr=2)
    true_predict = free_letters.predict
    monkeypatch.setattr(free_letters, "predict", lambda id, **letters: Noisy(true_predict(id, **letters)))
    noisy = te.fit("liao2026.ridge-error", ridge_data(), free="gamma", snr=2)
    sigma = np.hypot(0.01, 0.03 / 1.959964)
    assert noisy.errors["gamma"] == pytest.approx(plain.errors["gamma"] * sigma / 0.01, rel=0.02)
    assert noisy.chi2 < plain.chi2


def test_answers_are_plain_data_and_pages():
    fit = te.fit("liao2026.ridge-error", ridge_data(), free="gamma", snr=2)
    data = json.loads(json.dumps(fit.to_json(), allow_nan=False))
    assert data["values"]["gamma"] == fit.values["gamma"]
    assert data["p_value"] == fit.p_value
    assert "gamma = " in str(fit)
    assert "<table>" in fit._repr_html_()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"free": ["gamma", "snr"], "data": {**ridge_data(), "c": [0.5] * 12}}, "cannot determine gamma and snr"),
        ({"free": ["gamma"], "snr": 2, "data": {"c": 1, "error": 0.1, "error_error": 500}}, "cannot determine gamma"),
        ({"free": ["gamma", "snr"], "data": {"c": 1, "error": 0.1, "error_error": 0.1}}, "1 point cannot determine 2"),
        ({"free": []}, "names no letter"),
        ({"free": ["gamma", "gamma"]}, "names no letter, or one twice"),
        ({"free": ["gama"]}, "has no parameter 'gama'; nearest: gamma"),
        ({"free": ["gamma"], "snr": 2, "gamma": 1}, "left free and also given"),
        ({"free": ["c"], "snr": 2, "gamma": 1}, "has a column and is also left free"),
        ({"free": ["gamma"], "snr": 2, "start": {"snr": 1}}, "a start names each free letter"),
        ({"free": ["gamma"], "snr": 2, "start": {"gamma": -1}}, "outside"),
        ({"free": ["gamma"], "snr": 2, "bounds": {"gamma": (3, 1)}}, "no value of gamma"),
        ({"free": ["gamma"], "snr": 2, "bounds": {"c": (1, 2)}}, "not left free"),
        ({"free": ["gamma"], "snr": -2}, "snr=-2 is outside"),
    ],
)
def test_what_cannot_be_fitted_is_refused_in_a_sentence(asked, said):
    data = asked.pop("data", ridge_data())
    with pytest.raises(TheoremEngineError, match=said.replace("(", r"\(")):
        te.fit("liao2026.ridge-error", data, **asked)


def test_letters_that_are_no_real_numbers_are_not_fitted():
    data = {"gamma": [0.5, 1], "risk": [0.1, 0.2], "risk_error": 0.1}
    with pytest.raises(BadRequest, match="only a letter in an interval"):
        te.fit("marion2025.linear-risk", data, free="L")


def test_a_letter_at_the_end_of_its_domain_is_flagged_or_refused():
    """The risk depends on eps through its square, so that at eps = 0 no data determine it to first order."""
    data = {"gamma": [0.5, 0.7, 1], "risk": [0.2, 0.4, 0.85], "risk_error": 0.01}
    with pytest.raises(Undetermined, match="cannot determine eps"):
        te.fit("marion2025.linear-risk", data, free="eps", L=10)
    assert issubclass(Undetermined, OutOfDomain)
