"""A prediction is a number with an error: arithmetic, outputs, format, comparison, travel."""

import copy
import math
import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp

import theorem_engine as te
from theorem_engine.asking.prediction import Prediction
from theorem_engine.asking.quantity import Origin, Quantity
from theorem_engine.base.errors import BadRequest, Infeasible, OutOfDomain, UnknownOutput

POINT = {"lam": "0.1", "gamma": "sqrt(1/2)", "d": 400, "L": 10}


@pytest.fixture(scope="module")
def risk():
    return te.predict("marion2025.oracle-risk", **POINT)


@pytest.fixture(scope="module")
def mean():
    return te.predict("gaussian.erf-mean", t="0.3", g="0.7")


def number(value, error, name="x"):
    return Quantity(value, {Origin(name, error, "estimated"): 1.0})


def test_a_number_less_itself_is_nothing_without_error(risk):
    again = te.predict("marion2025.oracle-risk", **POINT)
    for difference in (risk - risk, risk - again, 2 * risk - risk - risk, +risk - risk):
        assert difference.value == 0
        assert difference.error == 0


def test_a_square_has_twice_the_relative_error(risk):
    for square in (risk * risk, risk**2, np.square(risk)):
        assert square.error == pytest.approx(2 * risk.value * risk.error, rel=1e-9)
    assert (risk / risk).error <= 2e-16


def test_errors_of_different_numbers_are_added_and_that_is_said(risk, mean):
    assert (risk + mean).error == pytest.approx(risk.error + mean.error)
    assert (risk - mean).error == pytest.approx(risk.error + mean.error)
    assert "not known" in (risk + mean).remark
    assert "first order" in (risk * 2).remark


def test_carried_errors_are_the_slopes_of_the_formula():
    """Against differences of the formula itself, over operations in one."""
    x, y = number(1.3, 1e-9), number(0.4, 3e-9, "y")

    def formula(a, b):
        return (a * b - 3) / (a + 2 * b) + a**2.5 - 2**b + abs(-a)

    found = formula(x, y)
    h = 1e-6
    by_x = (formula(1.3 + h, 0.4) - formula(1.3 - h, 0.4)) / (2 * h)
    by_y = (formula(1.3, 0.4 + h) - formula(1.3, 0.4 - h)) / (2 * h)
    assert found.value == pytest.approx(formula(1.3, 0.4), rel=1e-15)
    assert found.error == pytest.approx(abs(by_x) * 1e-9 + abs(by_y) * 3e-9, rel=1e-6)


@pytest.mark.parametrize("name", ["exp", "expm1", "log", "log1p", "log10", "log2", "sqrt", "sin", "cos", "tanh"])
def test_functions_of_numpy_carry_errors_by_their_slopes(name):
    function = getattr(np, name)
    x, h = number(0.8, 1e-7), 1e-5
    slope = (function(0.8 + h) - function(0.8 - h)) / (2 * h)
    assert function(x).value == pytest.approx(function(0.8))
    assert function(x).error == pytest.approx(abs(slope) * 1e-7, rel=1e-6)


@pytest.mark.parametrize("spread", [1e-3, 0.05, 0.3])
def test_no_place_within_the_errors_leads_beyond_the_carried_one(spread):
    """Every operation and function at all ends of the errors of its numbers, whatever they are to each other."""
    formulas = [
        lambda a, b, f: a * b - a / b, lambda a, b, f: a**b, lambda a, b, f: b**-2 + a**0.5 * a**3,
        lambda a, b, f: a * a - 2 * a * b, lambda a, b, f: f.exp(a) - f.tanh(3 * b) * f.log(a),
        lambda a, b, f: f.sin(5 * a) / f.cos(b), lambda a, b, f: f.sqrt(a) + f.log1p(b) * f.expm1(-a),
        lambda a, b, f: abs(a - 1) - (a - 1), lambda a, b, f: f.log2(a) * f.log10(b) - f.square(a),
    ]  # fmt: skip
    for formula in formulas:
        for x, y in [(1.0, 0.7), (0.9, 2.1), (1.6, 1.1)]:
            found = formula(number(x, spread), number(y, spread, "y"), np)
            for i, j in np.ndindex(9, 9):
                there = formula(x + spread * (i / 4 - 1), y + spread * (j / 4 - 1), np)
                assert abs(there - found.value) <= found.error * (1 + 1e-9)


def test_a_number_that_is_not_told_from_zero_has_no_exact_square_nor_size():
    small = number(0.0, 1e-3)
    assert (small * small).error == (small**2).error == np.square(small).error == pytest.approx(1e-6)
    assert (small**2).error_kind == "rounded"
    assert (abs(small) - small).error >= 2e-3
    assert (small**0.5).error == np.sqrt(number(1e-4, 1e-3)).error == np.log(number(1e-4, 1e-3)).error == math.inf


def test_what_is_too_small_for_a_double_is_not_nothing():
    tiny = number(1e-200, 1e-216)
    for lost in (tiny * tiny, tiny**2, np.exp(-1e203 * tiny), 1e-160 * tiny, 1e-150 * tiny / 1e10):
        assert lost.value < 1e-300
        assert lost.error > 0


def test_functions_of_many_digits_know_that_they_are_taken_of_a_double():
    many = te.predict("gaussian.erf-square", t=1, g="0.5", digits=30)
    with mp.workdps(40):
        exact = mp.mpf("0.63405777706451098946368125559620420881885936")
        true = {"exp": mp.exp(1000 * exact), "sin": mp.sin(10**6 * exact), "log": mp.log(exact / float(exact))}
    for name, found in {
        "exp": np.exp(1000 * many), "sin": np.sin(1e6 * many), "log": np.log(many / float(exact))
    }.items():  # fmt: skip
        with mp.workdps(40):
            assert abs(found.value - true[name]) <= found.error
    with mp.workdps(5):
        coarse = te.predict("gaussian.erf-square", t=1, g="0.5") * mp.mpf("0.5")
    with mp.workdps(40):
        assert abs(coarse.value - exact / 2) <= coarse.error < 1e-15


def test_rounding_counts_where_nothing_else_does():
    exact = number(1.0, 0.0)
    assert abs(Fraction((exact / 3).value) - Fraction(1, 3)) <= Fraction((exact / 3).error) < Fraction(1, 10**15)
    assert (exact * 2).error == 0


def test_unknown_errors_stay_unknown_and_a_divisor_that_may_vanish_bounds_nothing():
    unknown = number(1.0, math.inf)
    assert (2 * unknown + 1).error == math.inf
    assert (0 * unknown).error == 0
    assert (1 / number(1e-9, 1e-8)).error == math.inf
    assert number(1.0, None).error == math.inf
    assert number(1.0, math.nan).error == math.inf


@pytest.mark.parametrize("bad", [lambda x: x / 0, lambda x: (0 * x - 1) ** 0.5, lambda x: np.log(0 * x)])
def test_what_has_no_value_is_refused(bad, risk):
    with pytest.raises(OutOfDomain):
        bad(risk)


def test_functions_without_a_slope_are_refused(risk):
    with pytest.raises(BadRequest, match=r"numpy.floor does not carry an error"):
        np.floor(risk)


def test_numpy_scalars_and_arrays_on_either_side(risk):
    assert (np.float64(2) * risk).value == (risk * np.float64(2)).value == 2 * risk.value
    both = np.array([1.0, 2.0]) * risk
    assert [q.value for q in both] == [risk.value, 2 * risk.value]
    assert [q.value for q in risk + np.array([1.0, 2.0])] == [risk.value + 1, risk.value + 2]
    assert np.asarray(risk) == risk.value
    assert np.asarray([risk, risk], dtype=float).tolist() == [risk.value] * 2
    assert np.float64(risk.value) == risk


def test_outputs_are_items_and_attributes_with_their_errors(risk):
    assert float(risk["excess"]) == float(risk.excess) == risk.outputs["excess"]
    assert risk.excess.error == risk.errors["excess"]
    assert (risk.excess - risk["excess"]).error == 0
    with pytest.raises(UnknownOutput, match=r"no output 'exces'; nearest: excess"):
        risk["exces"]
    with pytest.raises(AttributeError, match="its outputs are"):
        _ = risk.exces
    assert "excess" in dir(risk)


def test_formats_are_those_of_numbers(risk):
    assert f"{risk:.3f}" == f"{risk.value:.3f}"
    assert f"{risk:>12.2e}" == f"{risk.value:>12.2e}"
    assert f"{risk * 2:.4g}" == f"{2 * risk.value:.4g}"
    many = te.predict("marion2025.oracle-risk", digits=40, **POINT)
    assert f"{many:.38f}" == "0.11349808296474746136773158170180322807"
    assert f"{many}" == str(many)


def test_no_digit_is_shown_that_the_error_does_not_cover():
    assert str(number(0.123456789, 1e-4)) == "0.1235 +- 1e-4"
    assert str(number(1234.5678, 3.0)) == "1235 +- 3e0"
    assert str(number(2.0, math.inf)) == "2 +- inf"


def test_digits_are_kept_in_arithmetic():
    many = te.predict("marion2025.linear-risk", gamma=1, L=3, digits=40)
    third = many / 2
    assert str(third).startswith("0.3333333333333333333333333333333333333333")
    assert third.error < 1e-39


def test_rounding_whole_numbers_and_truth_are_those_of_the_value(risk):
    assert round(risk, 3) == round(risk.value, 3)
    assert round(risk) == 0
    assert int(10 * risk) == 1
    assert risk
    assert not risk - risk


def test_comparisons_are_those_of_the_values(risk, mean):
    assert risk == te.predict("marion2025.oracle-risk", **POINT) == risk.value
    assert hash(risk) == hash(risk.value)
    assert risk != mean
    assert risk < mean <= 1
    assert max(risk, mean) is mean
    assert {risk: 1}[te.predict("marion2025.oracle-risk", **POINT)] == 1
    assert risk != "risk"


@pytest.mark.parametrize("travel", [lambda p: pickle.loads(pickle.dumps(p)), copy.copy, copy.deepcopy])
def test_a_prediction_travels_as_its_id_point_and_numbers(risk, travel):
    there = travel(risk)
    assert isinstance(there, Prediction)
    assert there.entry is risk.entry
    assert there.to_json() == risk.to_json()
    assert str(there) == str(risk)
    assert (there - risk).error == 0
    assert pickle.loads(pickle.dumps(risk * 2)).error == (risk * 2).error


def test_models_and_distributions_travel_too():
    """Letters that follow from others are worked out again where they are asked for."""
    found = te.predict("duranthon2026.linear-risk", task="spiked", nu=2, L={2: "1/2", 4: "1/2"})
    assert str(pickle.loads(pickle.dumps(found))) == str(found)
    ratio = te.predict("liao2026.ridge-error", p=100, n=200, gamma="1/3")
    there = pickle.loads(pickle.dumps(ratio))
    assert there.point.canonical == ratio.point.canonical
    assert there.point == ratio.point


def test_entries_and_predictions_stand_where_ids_do(risk):
    entry = te.entry("marion2025.oracle-risk")
    assert te.predict(entry, **POINT) == te.predict(risk, **POINT) == risk
    assert te.cite(entry) == te.cite(risk) == te.cite("marion2025.oracle-risk")
    assert te.entry(risk) is entry
    assert te.explain(entry).entry is entry
    assert te.sweep(te.entry("gaussian.erf-mean"), t=[0, 1], g=1)["value"].shape == (2,)
    gaussian = te.entry("gaussian.erf-mean")
    assert te.check(gaussian, t="0.3", g="0.7", samples=20_000).entry == "gaussian.erf-mean"
    assert float(te.simulate(gaussian, t="0.3", g="0.7", samples=1000)["value"]) == pytest.approx(0.24, abs=0.1)


def test_outputs_that_are_no_number_are_refused_in_arithmetic():
    like = te.predict("gaussian.erf-mean", t=0, g=1)
    table = replace(like, value=[1.0, 2.0], outputs={"value": [1.0, 2.0]})
    with pytest.raises(BadRequest, match=r"value is no single number, but a list of 2"):
        table + 1
    assert table == table
    assert table != 1
    stable = te.predict("marion2025.transverse-stability", kappa=0, nu=0, **POINT)
    assert isinstance(stable["eigenvalues"], list)


def test_a_value_of_something_that_does_not_exist_is_no_number():
    entry = te.entry("duranthon2026.mismatched-minimum")
    at = {"task": "spiked", "nu": 2, "L": 3, "activation": "softmax"}
    outputs = {"risk": 0.72, "exists": False}
    like = te.predict("gaussian.erf-mean", t=0, g=1)
    found = replace(like, entry=entry, point=at, value=0.72, outputs=outputs, _errors={"risk": 2.0, "exists": None})
    with pytest.raises(Infeasible, match=r"there is none at this point \(exists = False: whether"):
        float(found)
    with pytest.raises(Infeasible):
        found * 2
    assert str(found).splitlines()[1].startswith("  there is none at this point")
    assert "there is none at this point" in found._repr_html_()
    assert found.to_json()["missing"] == found.missing
    there = replace(found, outputs={**outputs, "exists": True})
    assert float(there) == 0.72
    assert "missing" not in there.to_json()
