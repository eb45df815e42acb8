"""Pictures of sweeps from the command line, and long work that speaks."""

import time

import numpy as np
import pytest
from scipy import integrate

import theorem_engine as te
from tests.theorem_engine.command_line import error_of, run
from theorem_engine.showing.commandline import verbose

QUERY = ("sweep", "marion2025.linear-risk", "gamma=0.2:1:5", "L=10")


def test_a_sweep_is_drawn_and_written_at_once(tmp_path):
    picture, table = tmp_path / "a.png", tmp_path / "a.csv"
    done = run(*QUERY, "--plot", str(picture), "--out", str(table))
    assert done.exit_code == 0, done.output
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert len(table.read_text().splitlines()) == 6
    before = picture.read_bytes(), table.read_bytes()
    assert "is there already" in error_of(*QUERY, "--plot", str(picture))
    assert (picture.read_bytes(), table.read_bytes()) == before
    assert run(*QUERY, "--plot", str(picture), "--overwrite").exit_code == 0


def test_a_picture_that_cannot_be_drawn_is_refused_before_anything_is_computed(tmp_path):
    assert "the ending of the name" in error_of(*QUERY, "--plot", str(tmp_path / "a.xyz"))
    assert "folder that exists" in error_of(*QUERY, "--plot", str(tmp_path / "no" / "a.png"))
    assert list(tmp_path.iterdir()) == []


def test_verbose_work_says_what_it_does_and_that_it_goes_on(capsys, monkeypatch):
    done = run("predict", "marion2025.linear-risk", "gamma=1", "L=10", "--verbose")
    assert done.stdout.splitlines()[0].startswith("marion2025.linear-risk at gamma=1")
    first, last = done.stderr.splitlines()
    assert first == "evaluating marion2025.linear-risk at gamma=1, L=10"
    assert last.startswith("took ")
    monkeypatch.setattr(verbose, "INTERVAL", 0.01)
    with verbose.told("something", True):
        time.sleep(0.1)
    assert "still at it" in capsys.readouterr().err
    with verbose.told("something", False):
        pass
    assert capsys.readouterr().err == ""


def test_a_verbose_sweep_shows_its_points():
    done = run(*QUERY, "--verbose")
    assert "evaluating marion2025.linear-risk over 5 points (gamma 5)" in done.stderr
    assert done.stdout.startswith("gamma,")


def test_a_maximum_of_a_bounded_function_is_a_nonlinearity():
    point = {"c": "0.5", "gamma": 1, "snr": 2, "weights": "aligned"}
    found = te.predict("liao2026.interpolation-error", nonlinearity="max(0, tanh(x))", **point).point.canonical

    def moment(power, times):
        def body(x):
            return np.tanh(x) ** power * x**times * np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)

        return integrate.quad(body, 0, 12, epsabs=1e-13)[0]

    rest = moment(2, 0) - moment(1, 0) ** 2 - moment(1, 1) ** 2
    assert found["a1"] == pytest.approx(moment(1, 1), rel=1e-10)
    assert found["b2"] == pytest.approx(rest, rel=1e-9)
