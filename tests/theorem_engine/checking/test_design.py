"""Designed points: valid, as good as they say, and what a check without a point runs."""

import json

import pytest
from typer.testing import CliRunner

import theorem_engine as te
from theorem_engine.asking.point import read_point
from theorem_engine.checking.design import FEWEST, MOST, as_toml, design, score
from theorem_engine.checking.designed import find_design
from theorem_engine.checking.mutants import mutants
from theorem_engine.showing.commandline.commands import app

DESIGNED = [entry for entry in te.entries() if find_design(entry) is not None]


def test_some_entries_of_every_paper_have_designed_points():
    assert {entry.paper for entry in DESIGNED} == {entry.paper for entry in te.entries()}


@pytest.mark.parametrize("entry", DESIGNED, ids=str)
def test_designed_points_are_points_and_tell_nearly_all_mutants(entry):
    found = find_design(entry)
    # one point has to do where an evaluation takes long, or where there is one model only
    assert (1 if found.told is None else FEWEST) <= len(found.points) <= MOST
    for point in found.points:
        read_point(entry, point)
    # points chosen by hand may have no score
    assert found.told is None or found.told >= 0.8 * found.mutants


def test_given_points_are_scored_as_they_are():
    entry = te.entry("gaussian.erf-mean")
    found = find_design(entry)
    again = score(entry, found.points)
    assert again.points == found.points
    assert again.told >= 0.8 * again.mutants > 5
    # where t is zero the value is zero, and hardly a mutant moves it
    assert score(entry, [{"t": "0", "g": "1"}]).told < again.told


@pytest.mark.parametrize("id", ["gaussian.erf-mean", "marion2025.linear-risk"])
def test_mutants_that_are_told_differ_by_a_percent_at_some_designed_point(id):
    """Counted anew, by outputs alone: at least as many mutants as the file claims move one by a percent."""
    entry, found = te.entry(id), find_design(te.entry(id))
    points = [read_point(entry, point) for point in found.points]
    told = 0
    for mutant in mutants(entry, dict(points[0].options)):
        pairs = [(te.predict(id, **given).outputs, mutant.evaluate(point))
                 for given, point in zip(found.points, points, strict=True)]  # fmt: skip
        told += any(
            wrong is not None and any(abs(wrong[name] - true[name]) > 0.01 * abs(true[name]) for name in true)
            for true, wrong in pairs
        )
    assert told >= found.told


def test_a_design_takes_three_to_eight_points_and_is_written_as_it_is_read():
    import tomllib

    entry = te.entry("gaussian.erf-mean")
    found = design(entry, candidates=4)
    assert FEWEST <= len(found.points) <= 4
    assert found.told >= 0.8 * found.mutants > 5
    (read,) = tomllib.loads(as_toml(entry.id, found)).values()
    assert read["points"] == list(found.points)


def test_a_check_without_a_point_runs_the_designed_ones(tmp_path):
    words = ["check", "gaussian.erf-mean", "--samples", "2000", "--jobs", "1", "--out", str(tmp_path), "--json"]
    results = json.loads(CliRunner().invoke(app, words).stdout)["results"]
    assert [result["point"] for result in results] == list(find_design(te.entry("gaussian.erf-mean")).points)
