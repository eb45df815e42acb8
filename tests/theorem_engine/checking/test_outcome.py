"""Outcomes by output: what a verdict covers, what it leaves out, and that no large z ends in an agreement."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import theorem_engine as te
from theorem_engine.checking.comparison import AGREES, CANNOT_TELL, DISAGREES, judge
from theorem_engine.checking.evidence import Effort, Row
from theorem_engine.checking.outcome import GIVEN, NOT_TESTED, outcomes, overall
from theorem_engine.checking.verdict import check_point
from theorem_engine.showing.commandline.commands import app
from theorem_engine.validators.simulator import simulator

MANY = {"samples": 10**6, "spread": 0.1}


def _good(output, **words):
    return Row(output, "stub", 1.0, 1e-4, **{**MANY, **words})


def _wide(output, **words):
    return Row(output, "stub", 1.0, 0.1, **{**MANY, "samples": 10, **words})


def _off(output, gap=0.1, **words):
    return Row(output, "stub", 1.0 + gap, 1e-4, **{**MANY, **words})


def _judged(*rows, leaves=None):
    predicted = dict.fromkeys(leaves or [row.output for row in rows], 1.0)
    found = outcomes(judge(rows, predicted, 1e-3), list(predicted))
    return overall(found), {outcome.output: outcome.verdict for outcome in found}


def test_one_output_measured_too_badly_keeps_a_check_from_agreeing():
    (verdict, reason), each = _judged(_good("a"), _good("b"), _wide("c"))
    assert verdict == CANNOT_TELL
    assert each == {"a": AGREES, "b": AGREES, "c": CANNOT_TELL}
    assert reason.startswith("c: ")
    assert "agrees: a, b" in reason


def test_outputs_that_nothing_measures_are_named_beside_an_agreement():
    assert _judged(_good("risk"), _good("m_k"), leaves=["risk", "m_k", "replicon"]) == (
        (AGREES, "agrees: risk, m_k; not tested: replicon"),
        {"risk": AGREES, "m_k": AGREES, "replicon": NOT_TESTED},
    )


def test_an_output_is_resolved_if_one_of_its_simulators_sees_enough():
    assert _judged(_good("a"), _wide("a"), _wide("a"))[0] == (AGREES, "agrees: a")
    assert _judged(_good("a"), _wide("a"), _off("a"))[0][0] == DISAGREES


@pytest.mark.parametrize(
    "reason",
    [
        {"systematic": 0.2, "systematic_of": "the extrapolation"},
        {"one_size": True},
        {"degrees": 3},
        {"dominance": 0.5},
    ],
)
def test_a_large_z_is_never_part_of_an_agreement_whatever_explains_it(reason):
    """Not even where another simulator of the same output agrees."""
    (verdict, text), each = _judged(_good("a"), _off("a", **reason), _good("b"))
    assert (verdict, each["a"]) == (CANNOT_TELL, CANNOT_TELL)
    assert text.startswith("a: ")


def test_a_systematic_error_that_explains_a_gap_is_named():
    row = _off("a", systematic=0.2, systematic_of="the extrapolation")
    assert "within the systematic error 0.2 of the extrapolation" in judge([row], {"a": 1.0}, 1e-3)[0].reason


def test_a_small_systematic_error_that_explains_nothing_leaves_an_agreement():
    assert _judged(_good("a", systematic=0.001))[0][0] == AGREES


def test_what_the_prediction_gave_is_no_measurement_but_can_be_refuted():
    (verdict, reason), each = _judged(_good("a"), _good("q", given=True))
    assert (verdict, each["q"]) == (AGREES, GIVEN)
    assert reason == "agrees: a; given by the prediction and consistent: q"
    assert _judged(_good("q", given=True))[0][0] == CANNOT_TELL
    assert _judged(_good("a"), _off("q", given=True))[0][0] == DISAGREES


def test_an_output_of_several_parts_is_as_good_as_the_worst_of_them():
    assert _judged(_good("e.0"), _wide("e.1"))[1] == {"e": CANNOT_TELL}
    (verdict, reason), _ = _judged(_good("e.0"), leaves=["e.0", "e.1", "e.2"])
    assert (verdict, reason) == (AGREES, "agrees: e (1 of its 3 parts)")


def test_a_row_says_that_it_was_given_by_the_prediction(monkeypatch):
    @simulator(takes=("value",))
    def told(point, rng, count):
        return {"value": point["value"] + 0.01 * rng.standard_normal(count)}

    entry = te.entry("gaussian.erf-mean")
    monkeypatch.setitem(entry.__dict__, "checks", (told,))
    verdict = check_point(entry, {"t": "0.3", "g": "0.7"}, Effort(None, 10_000), 1e-3)
    assert verdict.verdict == CANNOT_TELL
    assert verdict.rows[0].given
    assert "given by the prediction" in str(verdict)
    assert verdict.to_json()["outputs"]["value"]["verdict"] == GIVEN


def test_an_identity_that_is_told_the_prediction_refutes_a_wrong_one():
    """The overlaps of posterior means are told; a tenth off, they no longer meet the equation of their fixed point."""
    from theorem_engine.validators.duranthon2026_cavity import posterior_of_one

    point = {"task": "spiked", "nu": 2.0, "L": 3, "alpha": 4.0, "delta": 0.5}
    rng, q_k, q_v = np.random.default_rng(0), 0.5, 0.5
    for _ in range(60):
        # the fixed point by its own iteration: q = (1 - q) g has g/(1 + g)
        found = posterior_of_one({**point, "q_k": q_k, "q_v": q_v}, rng, 40_000)
        g_k, g_v = found["q_k"].mean() / (1 - q_k), found["q_v"].mean() / (1 - q_v)
        q_k, q_v = g_k / (1 + g_k), g_v / (1 + g_v)
    right = posterior_of_one({**point, "q_k": q_k, "q_v": q_v}, rng, 200_000)["q_v"]
    wrong = posterior_of_one({**point, "q_k": q_k, "q_v": 0.9 * q_v}, rng, 200_000)["q_v"]
    error = right.std() / np.sqrt(right.size)
    assert abs(right.mean() - q_v) < 8 * error
    assert abs(wrong.mean() - 0.9 * q_v) > 20 * error


def test_the_exit_status_tells_the_three_verdicts_apart(tmp_path):
    def status(*words):
        return CliRunner().invoke(app, ["check", *words]).exit_code

    point = ("gaussian.erf-mean", "t=0.3", "g=0.7")
    assert status(*point, "--samples", "400000") == 0
    assert status(*point, "--samples", "1000") == 3
    assert status(*point, "--samples", "1000", "--tolerate-undecided") == 0
    off = ("marion2025.oracle-risk", "lam=0.3", "gamma=0.7", "d=12", "L=5", "--variant", "tokens=correlated")
    assert status(*off, "--samples", "50000", "--tolerate-undecided") == 1
    campaign = ("gaussian.erf-mean", "--samples", "100", "--jobs", "1", "--out", str(tmp_path))
    assert status(*campaign) == 3
    assert status(*campaign, "--tolerate-undecided") == 0


def test_json_has_the_outcome_of_every_output():
    words = ["check", "duranthon2026.linear-risk", "task=spiked", "nu=2", "L=3", "--samples", "300000", "--json"]
    (found,) = json.loads(CliRunner().invoke(app, words).stdout)
    assert set(found["outputs"]) == {"risk", "m_kk", "m_vv"}
