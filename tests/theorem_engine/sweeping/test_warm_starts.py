"""Sweeps that start a solver between the solutions of neighbouring points: the same numbers in fewer evaluations."""

import re
from contextlib import suppress

import numpy as np
import pytest
import sympy
from scipy.optimize import brentq

import theorem_engine as te
from theorem_engine import POSITIVE, REAL, Source, Start, notation
from theorem_engine.base.reports import listening
from theorem_engine.language import catalogue
from theorem_engine.language.declaration import result
from theorem_engine.numerics.solvers.neighbours import Between
from theorem_engine.registry.marion2025 import risk as _somewhere
from theorem_engine.sweeping import neighbours, rows, store
from theorem_engine.sweeping.executors import Processes, Serial

var = notation("warmtest")
J = var("J", "J", "coupling", POSITIVE)
h = var("h", "h", "field", REAL)
m = var("m", "m", "magnetisation")
ID = "warmtest.magnet"


@pytest.fixture(autouse=True)
def magnet():
    """m = tanh(J m + h) from a positive start: beyond a field that is negative enough m jumps below zero."""

    def body(J, h):
        """A magnet."""
        return {m: sympy.tanh(J * m + h), "m": m}

    body.__module__ = _somewhere.__name__
    recipe = {m: Start(sympy.Rational(9, 10), method="anderson", continued=(J, h))}
    entry = result(ID, title=ID, source=Source("2410.01537"), given=(J, h), outputs={"m": "m"}, recipe=recipe)(body)
    yield
    catalogue.forget(entry)


def swept(**query):
    """A sweep without errors, and how often the map was evaluated."""
    with listening() as notes:
        data = te.sweep(ID, errors=False, **{"executor": Serial(), **query})
    counts = [re.match(r"(\d+) evaluations", note.detail) for note in notes]
    return data["m"].values, sum(int(count[1]) for count in counts if count)


def cold(monkeypatch, **query):
    with monkeypatch.context() as patch:
        patch.setattr(neighbours, "STEP", 1)
        return swept(**query)


def test_fewer_evaluations_lead_to_the_same_numbers(monkeypatch):
    query = {"J": "1.2", "h": te.grid("0.05", "0.8", 25)}
    alone, many = cold(monkeypatch, **query)
    found, few = swept(**query)
    assert few < 0.85 * many
    truth = [brentq(lambda x, h=h: x - np.tanh(1.2 * x + h), 1e-3, 1) for h in np.linspace(0.05, 0.8, 25)]
    for values in (alone, found):
        assert np.max(np.abs(values - truth)) < 1e-7


def test_a_jump_is_not_smoothed_over(monkeypatch):
    """On both sides of it, and there, each point is on the branch that its own start leads to."""
    # beside the jump Anderson's method may fail: these are gaps
    query = {"J": "1.6", "h": te.grid("-1.5", "0.3", 61), "mask": True}
    alone, many = cold(monkeypatch, **query)
    found, few = swept(**query)
    assert np.nanmin(alone) < -0.5 < 0.5 < np.nanmax(alone)
    assert np.isfinite(alone).sum() > 50
    assert few < many
    np.testing.assert_allclose(found, alone, rtol=0, atol=1e-7)


def test_a_point_that_is_not_between_its_neighbours_is_solved_from_its_own_start():
    between = Between(0.5, {"m": [0.8]}, {"m": [0.9]})
    assert between.start("m", [False]) == pytest.approx(np.sqrt(0.72))
    assert between.holds("m", np.array([0.85]))
    assert not between.holds("m", np.array([0.5]))
    assert not between.holds("m", np.array([-0.85]))
    for left, right in (([0.2], [0.9]), ([-0.8], [0.9]), ([0.0], [0.0]), ([], [0.9]), ([0.8, 1.0], [0.9])):
        assert Between(0.5, {"m": left}, {"m": right}).start("m", [False]) is None
    # widths may follow a power of a letter
    assert Between(0.5, {"V": [1.0]}, {"V": [4.0]}).start("V", [True]) == pytest.approx(2.0)


def test_where_points_are_evaluated_and_in_which_order_makes_no_difference():
    query = {"J": ["0.5", "1.2"], "h": te.grid("0.05", "0.8", 13), "errors": False}
    here = te.sweep(ID, executor=Serial(), **query)
    assert te.sweep(ID, executor=Backwards(), **query).identical(here)
    # the letter need not rise along its axis
    turned = te.sweep(ID, executor=Serial(), **{**query, "h": list(te.grid("0.05", "0.8", 13))[::-1]})
    assert np.array_equal(turned["m"].values[:, ::-1], here["m"].values)


class Backwards(Serial):
    """Evaluates the last point first."""

    def map(self, function, items):
        return [function(item) for item in reversed(items)][::-1]


def test_a_stopped_sweep_goes_on_with_the_solutions_that_were_kept(tmp_path, monkeypatch):
    query = {"J": "1.2", "h": te.grid("0.05", "0.8", 13), "executor": Serial(), "errors": False}
    whole = te.sweep(ID, store=tmp_path / "whole", **query)
    plain, computed, stops = rows.predict, [], [13, 7, 2]

    def stopping(id, **parameters):
        if len(computed) == stops[-1]:
            stops.pop()
            raise KeyboardInterrupt
        computed.append(float(parameters["h"]))
        return plain(id, **parameters)

    monkeypatch.setattr(rows, "predict", stopping)
    # among the points that are solved first, and among those between them
    for _ in range(3):
        with suppress(KeyboardInterrupt):
            te.sweep(ID, store=tmp_path / "parts", **query)
    assert len(set(computed)) == len(computed) == 13
    (one,), (other,) = (store.runs_of(tmp_path / name)[0] for name in ("whole", "parts"))
    assert one.name == other.name
    assert (one.folder / "result.nc").read_bytes() == (other.folder / "result.nc").read_bytes()
    assert te.sweep(ID, store=tmp_path / "parts", **query).identical(whole)


def test_a_gap_beside_a_point_leaves_it_its_own_start():
    found = te.sweep(ID, J=["-1", "0.5", "0.6", "0.7", "0.8", "0.9"], h="0.3", mask=True, executor=Serial())
    assert np.isnan(found["m"].values[0])
    assert np.all(np.isfinite(found["m"].values[1:]))


def test_entries_that_do_not_say_so_start_everywhere_from_their_own():
    entry = te.entry("marion2025.optimal-lambda")
    points = [{"gamma": k} for k in range(1, 9)]
    read = rows.Rows(entry, {"d": 50, "L": 4}, False, None, False).read(points)
    assert neighbours.neighbours(entry, points, dict(read)) == {}


@pytest.mark.campaign
def test_order_parameters_of_minimisers_are_the_same_from_their_neighbours(monkeypatch):
    """In two processes, errors included: what is found differs by less than a hundredth of what is claimed."""
    query = {"task": "spiked", "nu": 2, "L": 2, "delta": "0.1", "alpha": te.grid("1.5", 4, 13), "r_k": "0.1",
             "activation": "softmax", "r_v": "0.1", "draws": 512}  # fmt: skip
    found = te.sweep("duranthon2026.erm-risk", executor=Processes(2), **query)
    monkeypatch.setattr(neighbours, "STEP", 1)
    alone = te.sweep("duranthon2026.erm-risk", executor=Serial(), **query)
    for name in ("risk", "m_k", "q_k", "V_k", "m_v", "q_v", "V_v"):
        assert np.all(np.abs(found[name] - alone[name]) < 0.01 * alone[f"{name}_error"]), name
