"""Simulations alone: means and errors of the simulators, without the theorem."""

import json
import math
import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from typer.testing import CliRunner

import theorem_engine as te
from theorem_engine.base.errors import (
    BadNumber,
    BadRequest,
    MissingParameter,
    NotAvailable,
    OutOfDomain,
    UnknownEntry,
    UnknownOutput,
    UnknownParameter,
)
from theorem_engine.showing.commandline.commands import app
from theorem_engine.validators.simulator import simulator
from theorem_engine.validators.statistics import generator

ERF = {"t": "0.3", "g": "0.7"}
ATTENTION = {"nonlinearity": "tanh", "gamma": 1, "samples": 3}
ORACLE = {"lam": "0.3", "gamma": "0.7", "d": 12, "L": 5}


def test_means_and_errors_are_those_of_the_samples():
    """Few samples are one block of the stream, so that they can be drawn again here."""
    from theorem_engine.validators.gaussian import erf_mean

    found = te.simulate("gaussian.erf-mean", **ERF, samples=8, seed=3)
    drawn = erf_mean({"t": 0.3, "g": 0.7}, generator(3, "gaussian.erf_mean", 0), 8)["value"]
    assert found["value"] == pytest.approx(np.mean(drawn), rel=1e-14)
    assert found.errors["value"] == pytest.approx(np.std(drawn, ddof=1) / math.sqrt(8), rel=1e-12)
    assert (found.samples, found.sizes, found.seed) == ({"value": 8}, {"value": {}}, 3)


def test_a_simulation_covers_the_truth_as_often_as_its_standard_error_says():
    """100 seeds: within two standard errors 95 times; 85 or fewer have a probability below 1e-4."""
    truth = math.erf(0.3 / math.sqrt(1.98))
    found = [te.simulate("gaussian.erf-mean", **ERF, samples=2000, seed=seed) for seed in range(100)]
    assert sum(abs(f.value - truth) <= 2 * f.error for f in found) > 85


def test_equal_seeds_give_equal_simulations_and_other_seeds_others():
    first, again, other = (te.simulate("marion2025.oracle-risk", **ORACLE, samples=500, seed=s) for s in (1, 1, 2))
    assert first.rows == again.rows
    assert first.values != other.values


def test_a_simulation_is_frozen_and_shows_itself_as_text_html_and_json():
    found = te.simulate("gaussian.erf-mean", **ERF, samples=400)
    assert "value = 0.2" in str(found)
    assert "400 samples, gaussian.erf_mean" in repr(found)
    assert "±" in found._repr_html_()
    data = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert data["values"] == {"value": float(found)}
    assert (data["value"], data["error"], data["samples"]) == (found.value, found.error, {"value": 400})
    assert (data["point"], data["seed"]) == ({"t": "0.3", "g": "0.7"}, 0)
    with pytest.raises(FrozenInstanceError):
        found.seed = 1


def test_rows_travel_to_other_processes():
    rows = te.simulate("gaussian.erf-mean", **ERF, samples=8).rows
    assert pickle.loads(pickle.dumps(rows)) == rows


def test_outputs_are_asked_for_by_name():
    found = te.simulate("marion2025.oracle-risk", **ORACLE, samples=100)
    assert found["risk"] == found.values["risk"] == found.value
    with pytest.raises(UnknownOutput, match="nearest: risk"):
        found["risc"]


def test_no_theorem_is_evaluated(monkeypatch):
    def refuse(*_args, **_kwargs):
        raise AssertionError("the theorem was evaluated")

    monkeypatch.setattr("theorem_engine.asking.prediction.predict", refuse)
    monkeypatch.setattr("theorem_engine.asking.evaluation.evaluate_float64", refuse)
    assert te.simulate("gaussian.erf-square", **ERF, samples=10).samples == dict.fromkeys(
        ("value", "dt", "dtt", "dg"), 10
    )


def test_an_exact_cross_check_gives_what_it_computes_and_its_accuracy():
    found = te.simulate("marion2025.fixed-points", lam="0.3", gamma="0.7", d=40, L=5)
    truth = te.predict("marion2025.fixed-points", lam="0.3", gamma="0.7", d=40, L=5)
    assert abs(found["rate_k"] - truth.outputs["rate_k"]) <= found.errors["rate_k"]
    assert found["points.4.kind"] == "saddle"
    assert found.errors["points.4.kind"] is None
    assert "2 runs of a computation" in str(found)


# Sizes


@pytest.mark.parametrize(
    ("words", "sizes"),
    [
        ({"c": 4}, {"size": 160}),
        ({"c": 4, "size": 40}, {"size": 40}),
        ({"p": 64, "n": 32}, {"p": 64, "n": 32}),
        ({"p": 6400, "n": 1600, "size": 40}, {"p": 80, "n": 20}),
    ],
    ids=str,
)
def test_a_limit_is_simulated_at_the_sizes_asked_for(words, sizes):
    found = te.simulate("liao2026.interpolation-error", **ATTENTION, **words)
    assert found.sizes["error"] == sizes
    assert all(taken == sizes for taken in found.sizes.values())
    assert 0 < found["error"] < 1


def test_a_size_of_a_simulator_is_no_letter():
    point = {"task": "spiked", "nu": 1, "L": 3, "activation": "softmax", "alpha": 2, "r_k": 1, "r_v": 2}
    found = te.simulate("duranthon2026.erm-risk", **point, size=40, samples=2)
    assert found.sizes["risk"] == {"size": 40}
    assert found.notes == (
        "duranthon2026_cavity.minimiser_of_one has to be told m_k, q_k, V_k, m_v, q_v, V_v by the theorem",
    )


# Choices, and a random prediction


def test_choices_of_the_simulators_are_taken_by_name():
    kept = te.simulate("liao2026.interpolation-error", **ATTENTION, p=64, n=32, kernel_diagonal="kept")
    plain = te.simulate("liao2026.interpolation-error", **ATTENTION, p=64, n=32, kernel_diagonal="set")
    assert (kept.variants, plain.variants) == ({"kernel_diagonal": "kept"}, {})
    assert kept.value != plain.value
    assert "kernel_diagonal=kept" in str(kept)


def test_the_letter_that_draws_a_random_prediction_need_not_be_given():
    start = {"kappa": 0.3, "nu": 0.4, "theta": 0.2, "eta": -0.1, "rho": 0.15}
    found = te.simulate(
        "marion2025.stochastic-pgd", **start, lam="0.3", gamma="0.7", d=12, L=3, alpha="0.01", batch=2, steps=4,
        samples=50,
    )  # fmt: skip
    assert found.samples["kappa"] == 50


# Bad input


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ({"g": -1}, OutOfDomain),
        ({"g": "one"}, BadNumber),
        ({"h": 1}, UnknownParameter),
        ({"samples": 1}, BadRequest),
        ({"seconds": 0}, BadRequest),
        ({"seed": -1}, BadRequest),
        ({"size": 0}, BadRequest),
        ({"size": 100}, BadRequest),
    ],
    ids=str,
)
def test_bad_requests_are_the_errors_of_predict(words, error):
    with pytest.raises(error):
        te.simulate("gaussian.erf-mean", **{**ERF, **words})


def test_an_unknown_entry_and_a_missing_letter_are_errors():
    with pytest.raises(UnknownEntry):
        te.simulate("gaussian.erf-maen", **ERF)
    with pytest.raises(MissingParameter):
        te.simulate("gaussian.erf-mean", t=1)


def test_what_only_the_theorem_can_tell_is_not_simulated():
    with pytest.raises(NotAvailable, match="has to be told q_k by the theorem"):
        te.simulate("duranthon2026.learning-curve", task="spiked", nu=1, L=3, q_v="0.5", samples=10)


def _erf_mean_by(monkeypatch, *functions):
    monkeypatch.setitem(te.entry("gaussian.erf-mean").__dict__, "checks", functions)


def test_a_simulator_that_fails_is_named_and_another_serves(monkeypatch):
    def broken(point, rng, count):
        raise ValueError("no such model")

    def endless(point, rng, count):
        return {"value": np.full(count, math.inf)}

    def steady(point, rng, count):
        return {"value": np.ones(count), "other": np.zeros(count)}

    _erf_mean_by(monkeypatch, broken, endless, steady)
    found = te.simulate("gaussian.erf-mean", **ERF, samples=5)
    assert found.values == {"value": 1.0}
    assert [note.partition(": ")[2] for note in found.notes] == ["no such model", "value is not finite"]
    _erf_mean_by(monkeypatch, broken, endless)
    with pytest.raises(NotAvailable, match=r"no such model; .*value is not finite at t=0\.3, g=0.7"):
        te.simulate("gaussian.erf-mean", **ERF, samples=5)


def test_the_first_of_several_simulators_of_an_output_counts(monkeypatch):
    makers = [simulator()(lambda point, rng, count, v=v: {"value": np.full(count, v)}) for v in (1.0, 2.0)]
    _erf_mean_by(monkeypatch, *makers)
    found = te.simulate("gaussian.erf-mean", **ERF, samples=5)
    assert found.values == {"value": 1.0}
    assert [row.value for row in found.rows] == [1.0, 2.0]


# The command


def test_the_command_prints_text_or_data():
    words = ["simulate", "gaussian.erf-mean", "t=0.3", "g=0.7", "--samples", "400", "--seed", "2"]
    text, data = (CliRunner().invoke(app, [*words, *more]) for more in ([], ["--json"]))
    assert text.exit_code == data.exit_code == 0
    assert "400 samples" in text.stdout
    assert json.loads(data.stdout)["values"] == te.simulate("gaussian.erf-mean", **ERF, samples=400, seed=2).values


@pytest.mark.parametrize(
    "words", [["t=0.3"], ["t=0.3", "g=0:1:5"], ["t=0", "g=1", "--samples", "few"], ["t=0", "g=1", "--variant", "x"]]
)
def test_errors_of_the_command_exit_with_two(words):
    assert CliRunner().invoke(app, ["simulate", "gaussian.erf-mean", *words]).exit_code == 2
