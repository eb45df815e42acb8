"""Points that the entries of liao2026 refuse or warn about."""

import numpy as np
import pytest
import sympy
from typer.testing import CliRunner

import theorem_engine as te
from tests.registry.liao2026_points import error
from theorem_engine.base.errors import (
    BadNumber,
    Infeasible,
    MissingParameter,
    NotConverged,
    OutOfDomain,
    UnknownParameter,
    ValidityWarning,
)
from theorem_engine.showing.commandline import commands as cli

GOOD = {"c": 1, "gamma": 1, "nonlinearity": "tanh"}


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"gamma": 0}, OutOfDomain), ({"gamma": -1}, OutOfDomain), ({"c": 0}, OutOfDomain), ({"c": "-2"}, OutOfDomain),
        ({"c": "x"}, BadNumber), ({"snr": 1, "mu_key": 2, "key_norm2": 1}, Infeasible),
        ({"key_query": "0.1"}, Infeasible), ({"temperature": 1}, UnknownParameter),
        ({"nonlinearity": "gelu"}, OutOfDomain), ({"level": 3}, UnknownParameter), ({"p": 3, "n": 4}, UnknownParameter),
        ({"a1": 1, "second_moment": 2}, UnknownParameter), ({"weights": "aligned", "mu_key": 0}, UnknownParameter),
        ({"weights": "parallel"}, OutOfDomain), ({"nonlinearity": "clip"}, MissingParameter),
        ({"nonlinearity": "cubic-clip", "r": "0.5"}, MissingParameter),
        ({"nonlinearity": "cubic-clip", "r": "1.5", "level": 5}, OutOfDomain),
        ({"nonlinearity": "cubic-clip", "r": "0.5", "level": "0.5"}, Infeasible),
    ],
)  # fmt: skip
def test_bad_input_gives_a_clear_error(change, kind):
    with pytest.raises(kind, match=r"liao2026\.interpolation-error"):
        te.predict("liao2026.interpolation-error", **{**GOOD, **change})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"gamma": "0"}, "OutOfDomain"), ({"gamma": "-1"}, "OutOfDomain"), ({"c": "0"}, "OutOfDomain"),
        ({"snr": "1", "mu_key": "2", "key_norm2": "1"}, "Infeasible"),
        ({"nonlinearity": None, "a1": "1", "second_moment": "0.99"}, "Infeasible"),
        ({"nonlinearity": "exp(t**2)"}, "OutOfDomain"), ({"nonlinearity": "clip"}, "MissingParameter"),
        ({"weights_file": "nowhere.npz"}, "OutOfDomain"), ({"weights_file": "broken.npz"}, "OutOfDomain"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_on_the_command_line_and_writes_nothing(change, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.npz").write_bytes(b"PK\x03\x04 cut off")
    point = {name: value for name, value in {**GOOD, **change}.items() if value is not None}
    query = ["liao2026.interpolation-error", *(f"{name}={value}" for name, value in point.items())]
    for command in (["predict", *query], ["sweep", *query, "--out", "table.csv"]):
        done = CliRunner().invoke(cli.app, command)
        assert done.exit_code == 2
        assert done.stdout == ""
        (line,) = done.stderr.splitlines()
        assert line.startswith(said), line
    assert [path.name for path in tmp_path.iterdir()] == ["broken.npz"]


def test_moments_must_be_possible():
    with pytest.raises(Infeasible, match="square of a1"):
        te.predict("liao2026.null-error", c=1, gamma=1, a1=1, second_moment="0.99")
    with pytest.raises(MissingParameter):
        te.predict("liao2026.null-error", c=1, gamma=1, a1=1)
    assert te.predict("liao2026.null-error", c=1, gamma=1, a1="0.1", second_moment="0.01").value < 1


@pytest.mark.parametrize(
    "make",
    [
        lambda t: sympy.exp(t**2 / 4),
        lambda t: 1 / t,
        lambda t: sympy.tan(t),
        lambda t: sympy.log(t),
        lambda t: sympy.floor(t),
    ],
)
def test_a_nonlinearity_without_moments_is_refused(make):
    with pytest.raises((OutOfDomain, NotConverged)):
        te.predict("liao2026.hermite", nonlinearity=make(sympy.Symbol("t")))


t = sympy.Symbol("t")


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (sympy.I * t, "not a finite real number"),
        (sympy.oo * t, "is infinite"),
        (sympy.sqrt(t + 5), "not a finite real number at -1000"),
        (sympy.asin(t / 4), "not a finite real number"),
        (sympy.Function("h")(t), "unknown function h"),
        (sympy.Piecewise((t, t > 0)), "not a finite real number at -3"),
        (sympy.Max(sympy.sin(t), 0), "changes sign could not all be found"),
        (1 / sympy.Abs(t), "not finite at 0"),
    ],
    ids=str,
)
def test_a_nonlinearity_is_refused_in_its_own_letter_and_for_its_own_reason(function, says):
    with pytest.raises(OutOfDomain, match=says) as caught:
        te.predict("liao2026.interpolation-error", c=1, gamma=1, nonlinearity=function)
    assert str(caught.value).startswith(f"liao2026.interpolation-error: nonlinearity {function}: ")


def test_a_derivative_is_taken_before_its_moments():
    held = te.predict("liao2026.hermite", nonlinearity=sympy.Derivative(sympy.tanh(t), t)).outputs
    assert held == te.predict("liao2026.hermite", nonlinearity=1 - sympy.tanh(t) ** 2).outputs


@pytest.mark.parametrize(("c", "z"), [("0.5", 0), ("0.5", 2), (1, 0), ("0.5", "7.5")])
def test_points_on_the_spectrum_are_refused(c, z):
    with pytest.raises(Infeasible, match="z "):
        te.predict("liao2026.spiked-resolvent", c=c, snr=2, z=z)


def test_finite_sizes_outside_the_theory_are_warned_about():
    with pytest.warns(ValidityWarning, match="eps2 = 1.25, .* exceeds 0.05"):
        error(p=500, n=2000, gamma="0.01", nonlinearity="tanh", snr=4, weights="aligned")
    with pytest.warns(ValidityWarning, match="diagonal"):
        error(p=500, n=2000, gamma="0.01", nonlinearity="clip", level=5)
    error(p=500, n=2000, gamma="0.01", nonlinearity="tanh", snr=1)


def test_text_that_is_no_complex_number_is_told_how_one_is_written():
    with pytest.raises(BadNumber, match=r'neither a real number nor one such as "1/2\+3j"'):
        te.predict("liao2026.spiked-resolvent", c=1, snr=1, z="1+2i")


@pytest.mark.parametrize("point", [{"snr": 1}, {"snr": 0}])
def test_a_check_with_a_file_of_weights_draws_its_weights(point, tmp_path):
    """Weights along the signal change the error by a fifth: a simulator without them would disagree."""
    mu = np.ones(100)
    np.savez(tmp_path / "layer.npz", W_K=np.eye(100), W_Q=np.eye(100) + np.outer(mu, mu) / 50, mu=mu)
    verdict = te.check(
        "liao2026.interpolation-error", **GOOD, **point, weights_file=tmp_path / "layer.npz", samples=600
    )
    assert verdict.verdict != "disagrees"
    (row,) = verdict.rows
    assert row.estimate == pytest.approx(row.prediction, abs=0.03)


@pytest.mark.parametrize("given", [np.ma.masked, np.array(0.5), 7, None, "1; 2, 3", "1, two"])
def test_what_is_no_list_of_vectors_is_refused_in_the_letter_it_was_given_for(given):
    point = {"c": 1, "gamma": 1, "a1": "0.5", "second_moment": 1, "queries": "1"}
    with pytest.raises((BadNumber, OutOfDomain), match=r"liao2026\.finite-rank-error: keys="):
        te.predict("liao2026.finite-rank-error", keys=given, **point)


def test_a_caution_that_knows_nothing_better_is_silent_about_it(recwarn):
    """At so small a p the refinement has no number: the prediction warns of the size and of nothing else."""
    te.predict("liao2026.interpolation-error", p=3, n=202, nonlinearity="sin", snr=1.22, gamma=3.06)
    assert {type(w.message) for w in recwarn.list} == {ValidityWarning}
