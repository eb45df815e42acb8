"""Sweeps carry errors, numeric labels and the reasons of their gaps, in memory and in every file."""

import csv
import io
import math

import numpy as np
import pytest
import xarray

import theorem_engine as te
from tests.theorem_engine.command_line import data_of, error_of, output_of
from theorem_engine.base.errors import BadRequest, OutOfDomain
from theorem_engine.sweeping.errors import coarse_places
from theorem_engine.sweeping.executors import Serial, pace_text

LINEAR = {"task": "spiked", "nu": 2}


def test_lengths_are_numeric_labels():
    data = te.sweep("duranthon2026.linear-risk", L=te.grid(2, 10**6, 13, log=True, whole=True), **LINEAR)
    assert data["L"].dtype.kind == "i"
    assert data["L"].values[0] == 2
    assert data["L"].values[-1] == 10**6
    one = te.sweep("duranthon2026.linear-risk", L=[2, 100, 10**4], **LINEAR)
    assert float(one["risk"].sel(L=100)) == te.predict("duranthon2026.linear-risk", L=100, **LINEAR).value


def test_labels_are_text_only_where_a_value_is_no_number():
    data = te.sweep("duranthon2026.linear-risk", L=[2, "uniform(1,3)"], **LINEAR)
    assert data["L"].dtype.kind in "UO"
    roots = te.sweep("marion2025.linear-risk", gamma=["sqrt(1/2)", "1/3", 1], L=3)
    assert roots["gamma"].values == pytest.approx([math.sqrt(0.5), 1 / 3, 1])


def test_grids_of_whole_numbers():
    assert list(te.grid(2, 10**6, 3, log=True, whole=True)) == [2, 1414, 10**6]
    assert list(te.grid(1, 5, 17, whole=True)) == [1, 2, 3, 4, 5]
    assert list(te.grid(1, 4, 7, whole=True)) == [1, 2, 3, 4]
    assert data_of("sweep", "marion2025.linear-risk", "gamma=1", "L=1:100:3:log:whole")["coordinates"]["L"][
        "values"
    ] == [1, 10, 100]
    with pytest.raises(BadRequest, match="not a whole number"):
        te.grid(1, "2.5", 3, whole=True)


@pytest.mark.parametrize(
    ("id", "axis", "fixed"),
    [
        ("gaussian.erf-mean", {"t": [0.1, 1.7, -3]}, {"g": "0.7"}),
        ("marion2025.oracle-risk", {"lam": ["0.1", "1"]}, {"gamma": "1/3", "d": 400, "L": 10}),
        ("duranthon2026.linear-risk", {"nu": ["1/3", 2, 9]}, {"task": "spiked", "L": 3}),
        ("marion2025.optimal-lambda", {"gamma": [1, 2]}, {"d": 50, "L": 4}),
    ],
)
def test_errors_of_a_sweep_are_those_of_its_predictions(id, axis, fixed):
    data = te.sweep(id, **axis, **fixed)
    (name, values), *_ = axis.items()
    for i, value in enumerate(values):
        there = te.predict(id, **{name: value}, **fixed)
        for output, error in there.errors.items():
            if isinstance(there.outputs[output], float):
                assert float(data[f"{output}_error"][i]) == pytest.approx(error, rel=0.05)
                assert data[f"{output}_error"].attrs["error_kind"] == there.error_kind
    assert data.attrs["errors"] == "worked out at every point"


def test_errors_cover_the_truth_over_a_whole_sweep():
    import mpmath

    data = te.sweep("gaussian.erf-mean", t=te.grid(-4, 4, 33), g=["1/7", 3])
    for t in data["t"].values:
        for g, exact in zip(data["g"].values, (mpmath.mpf(1) / 7, mpmath.mpf(3)), strict=True):
            with mpmath.workdps(30):
                truth = mpmath.erf(mpmath.mpf(float(t)) / mpmath.sqrt(1 + 2 * exact**2))
                cell = data.sel(t=t, g=g)
                assert abs(mpmath.mpf(float(cell["value"])) - truth) <= float(cell["value_error"])


def test_random_numbers_are_said_to_be_random():
    data = te.sweep("duranthon2026.bayes-learner", task="spiked", nu=1, L=3, alpha=[1, 2], draws=256)
    name = te.entry("duranthon2026.bayes-learner").main_output
    assert data[f"{name}_error"].attrs["error_kind"] == "statistical"
    assert data[f"{name}_error"].attrs["error_level"] == 0.95
    assert (data[f"{name}_error"] > 0).all()


def test_errors_may_be_left_out_or_looked_at_here_and_there():
    given = {"t": te.grid(-2, 2, 101), "g": 1}
    none = te.sweep("gaussian.erf-mean", errors=False, **given)
    assert "value_error" not in none
    assert none.attrs["errors"] == "not worked out"
    some = te.sweep("gaussian.erf-mean", errors="coarse", **given)
    assert some.attrs["errors"] == "worked out at some points; elsewhere the largest of them"
    every = te.sweep("gaussian.erf-mean", **given)
    assert float(some["value_error"].max()) <= float(every["value_error"].max())
    assert (some["value_error"].values > 0).sum() >= 100 - 1
    assert coarse_places(1) == [0]
    assert coarse_places(3) == [0, 1, 2]
    assert len(coarse_places(10**6)) == 33
    with pytest.raises(BadRequest, match="neither True, False nor 'coarse'"):
        te.sweep("gaussian.erf-mean", errors="some", **given)


def test_outputs_of_several_numbers_have_errors_of_their_shape():
    data = te.sweep("marion2025.transverse-stability", kappa=[0, 1], nu=0, lam="0.1", gamma=1, d=400, L=10)
    assert data["eigenvalues_error"].shape == data["eigenvalues"].shape
    assert (data["eigenvalues_error"] >= 0).all()


def test_a_bad_point_is_a_gap_with_its_reason():
    data = te.sweep("marion2025.oracle-risk", lam=[-1, "0.1"], gamma=1, d=400, L=10, mask=True)
    assert data["lam"].values.tolist() == [-1, 0.1]
    assert np.isnan(data["excess"].values).tolist() == [True, False]
    assert np.isnan(data["excess_error"].values).tolist() == [True, False]
    assert "lam=-1 is outside (0, oo)" in str(data["status"].values[0])
    assert data["status"].values[1] == ""
    with pytest.raises(OutOfDomain):
        te.sweep("marion2025.oracle-risk", lam=[-1, "0.1"], gamma=1, d=400, L=10)
    printed = output_of("sweep", "marion2025.oracle-risk", "lam=-1,0.1", "gamma=1", "d=400", "L=10", "--mask")
    first, second = csv.DictReader(io.StringIO(printed))
    assert "outside" in first["status"]
    assert float(second["excess_error"]) < 1e-14


def test_errors_are_in_every_file(tmp_path):
    query = ("sweep", "gaussian.erf-mean", "t=0.1:1:3", "g=1")
    expected = te.sweep("gaussian.erf-mean", t=te.grid("0.1", 1, 3), g=1)["value_error"].values.tolist()
    output_of(*query, "--out", str(tmp_path / "a.nc"))
    output_of(*query, "--out", str(tmp_path / "a.csv"))
    with xarray.open_dataset(tmp_path / "a.nc") as data:
        assert data["value_error"].values.tolist() == expected
        assert data["value_error"].attrs["error_kind"] == "estimated"
    rows = list(csv.DictReader(io.StringIO((tmp_path / "a.csv").read_text())))
    assert [float(row["value_error"]) for row in rows] == expected
    assert data_of(*query)["outputs"]["value_error"]["error_kind"] == "estimated"


def test_truth_values_with_gaps_can_be_written(tmp_path):
    data = te.sweep("marion2025.swapped-minimum", lam=[-1, "0.1"], gamma="sqrt(1/2)", d=400, L=10, mask=True)
    assert np.isnan(data["stable"].values[0])
    assert data["stable"].values[1] == 1
    data.to_netcdf(tmp_path / "b.nc")


def test_the_command_line_says_where_errors_are_worked_out():
    query = ("sweep", "gaussian.erf-mean", "t=0.1:1:3", "g=1", "--errors")
    assert output_of(*query, "none").splitlines()[0] == "t,value"
    assert data_of(*query, "coarse")["attributes"]["errors"].startswith("worked out at some points")
    assert error_of(*query, "all") == "BadRequest: --errors 'all' is not every, coarse or none"


def test_a_bar_tells_pace_and_time_left(capsys):
    assert list(Serial("label", True).map(abs, [-1, 2])) == [1, 2]
    shown = capsys.readouterr().err
    assert "2/2" in shown
    assert "left" in shown
    assert pace_text(10, 10010, 1.0) == "10 a second, 17 min left"
    assert pace_text(0, 10, 1.0) == ""


def test_errors_of_swept_integrals_need_few_nodes_and_cover_the_truth():
    """At many points the noise is summed on a few nodes; at one point on many, and mpmath knows the truth."""
    import mpmath

    swept = te.sweep("gaussian.erf-square", t=te.grid("0.01", 6, 20), g=te.grid("0.001", 3, 20))
    with mpmath.workdps(40):
        for i, j in [(0, 0), (0, 19), (19, 0), (19, 19), (7, 3), (3, 11), (12, 16)]:
            t, g = float(swept["t"].values[i]), float(swept["g"].values[j])
            single = te.predict("gaussian.erf-square", t=t, g=g)
            value, error = float(swept["value"].values[i, j]), float(swept["value_error"].values[i, j])
            assert 0.9 * single.error < error < 2 * single.error, (t, g, single.error, error)
            u, angle = mpmath.mpf(t) / mpmath.sqrt(1 + 2 * mpmath.mpf(g) ** 2), mpmath.mpf(g)
            b = mpmath.atan(1 / mpmath.sqrt(1 + 4 * angle**2))
            variance = mpmath.quad(lambda x, u=u: mpmath.exp(-((u / mpmath.cos(x)) ** 2)), [b, mpmath.pi / 4])
            truth = mpmath.erf(u) ** 2 + 4 / mpmath.pi * variance
            assert abs(value - truth) <= error


def test_a_sweep_with_errors_evaluates_no_more_nodes_than_one_without(monkeypatch):
    from theorem_engine.backends.rounded import integral

    asked = []
    plain = integral._rule
    monkeypatch.setattr(integral, "_rule", lambda panels: asked.append(plain(panels)[0].size) or plain(panels))
    te.sweep("gaussian.erf-square", t=te.grid("0.1", 2, 20), g=te.grid("0.1", 1, 20))
    # the rule of the values has 48 nodes on each panel
    assert asked
    assert max(asked) <= 8
