"""Sweeps: labels, values, masks, workers, provenance."""

import numpy as np
import pytest

import theorem_engine as te
from theorem_engine.base.errors import BadNumber, BadRequest, Infeasible, OutOfDomain, UnknownParameter
from theorem_engine.sweeping.executors import Processes, Serial

POINT = {"gamma": "sqrt(1/2)", "d": 400, "L": 10}


def test_a_sweep_is_the_table_of_its_predictions():
    data = te.sweep("marion2025.oracle-risk", lam=te.grid("0.05", "0.2", 4), d=[40, 400], gamma=1, L=3)
    assert data["excess"].dims == ("lam", "d")
    for lam in data["lam"].values:
        for d in data["d"].values:
            there = te.predict("marion2025.oracle-risk", lam=float(lam), d=int(d), gamma=1, L=3)
            assert float(data["excess"].sel(lam=lam, d=d)) == pytest.approx(there.outputs["excess"], rel=1e-14)


def test_grids_are_exact_where_their_ends_are():
    assert [float(v) for v in te.grid(0, "0.3", 4)] == [0.0, 0.1, 0.2, 0.3]
    assert [float(v) for v in te.grid(1, 100, 3, log=True)] == pytest.approx([1, 10, 100])
    assert len(te.grid(2, 5, 1)) == 1


@pytest.mark.parametrize(
    "arguments", [(0, 1, 0), (0, 1, -1), (0, 1, 2.5), (0, 1, True), ("x", 1, 3), (0, "inf", 3), (-1, 1, 3, True)]
)
def test_odd_grids_are_refused(arguments):
    with pytest.raises(BadRequest):
        te.grid(*arguments)


def test_numpy_arrays_and_ranges_are_axes():
    data = te.sweep("marion2025.linear-risk", gamma=np.array([0.5, 1.0]), L=range(1, 4))
    assert data["risk"].shape == (2, 3)


def test_an_empty_axis_is_refused():
    with pytest.raises(BadRequest, match="no values"):
        te.sweep("marion2025.linear-risk", gamma=[], L=3)


def test_a_bad_value_on_an_axis_is_refused_before_anything_is_computed():
    with pytest.raises(OutOfDomain, match="gamma=-1"):
        te.sweep("marion2025.linear-risk", gamma=[1, -1], L=3)


def test_unknown_letters_are_refused():
    with pytest.raises(UnknownParameter, match="lamda"):
        te.sweep("marion2025.oracle-risk", lamda=[1], **POINT)


def test_infeasible_points_are_refused_or_masked():
    square = {
        "kappa": te.grid(-1, 1, 5),
        "eta": te.grid(-1, 1, 5),
        "nu": 0,
        "theta": 0,
        "rho": 0,
        "lam": "0.1",
        **POINT,
    }
    with pytest.raises(Infeasible):
        te.sweep("marion2025.risk", **square)
    data = te.sweep("marion2025.risk", errors="mask", **square)
    outside = data["kappa"] ** 2 + data["eta"] ** 2 > 1
    assert bool((data["excess"].isnull() == outside).all())
    assert "positive semidefinite" in str(data["status"].values[0, 0])


def test_a_batch_is_one_dimension_of_points_that_go_together():
    runs = te.batch("run", kappa=[0.1, 0.5], nu=[-0.2, 0.3])
    data = te.sweep("marion2025.manifold-risk", along=runs, lam=["0.1", "0.2"],
                    **POINT)  # fmt: skip
    assert data["risk"].dims == ("lam", "run")
    there = te.predict("marion2025.manifold-risk", kappa=0.5, nu=0.3, lam="0.2", **POINT)
    assert float(data["risk"].sel(lam=0.2, run=1)) == pytest.approx(there.value, rel=1e-14)
    assert data["start_nu"].values.tolist() == [-0.2, 0.3]


def test_columns_of_a_batch_have_one_length():
    with pytest.raises(BadRequest, match="same length"):
        te.batch("run", kappa=[0.1], nu=[1, 2])


def test_a_letter_is_swept_once():
    with pytest.raises(BadRequest, match="gamma stands in the batch 'run' and beside it"):
        te.sweep("marion2025.linear-risk", gamma=[1, 2], along=te.batch("run", gamma=[1, 2]), L=3)
    with pytest.raises(BadRequest, match="as a letter is"):
        te.sweep("marion2025.linear-risk", along=te.batch("L", gamma=[1, 2]), L=3)
    with pytest.raises(BadRequest, match="has no points"):
        te.sweep("marion2025.linear-risk", along=te.batch("run", gamma=[]), L=3)


def test_many_digits_are_kept_as_text():
    data = te.sweep("marion2025.linear-risk", gamma=[1], L=[3, 10], digits=30)
    assert str(data["excess_text"].values[0, 0]).startswith("0.66666666666666666666666666666")
    assert float(data["excess"][0, 1]) == 0.9


def test_the_origin_of_the_numbers_travels_with_them():
    attrs = te.sweep("marion2025.linear-risk", gamma=[1], L=3).attrs
    assert attrs["entry"] == "marion2025.linear-risk"
    assert "Proposition 3" in attrs["source"]
    assert "eps=0" in attrs["fixed"]
    assert attrs["engine"].startswith("theorem-engine ")


@pytest.mark.parametrize("executor", [Serial(), Processes(2)], ids=["here", "processes"])
def test_points_that_need_a_search_each_can_be_spread_over_processes(executor):
    data = te.sweep("marion2025.optimal-lambda", gamma=[1, 2], d=[50, 500], L=4, executor=executor)
    there = te.predict("marion2025.optimal-lambda", gamma=2, d=500, L=4)
    assert float(data["lam_star"][1, 1]) == pytest.approx(there.value, rel=1e-14)


def test_tables_and_words_become_variables():
    data = te.sweep("marion2025.transverse-stability", kappa=[0, 1], nu=0, lam="0.1", **POINT)
    assert data["eigenvalues"].shape[0] == 2
    stable = te.sweep("marion2025.swapped-minimum", lam=["0.1", "0.95"], **POINT)["stable"]
    assert stable.values.tolist() == [True, False]


def test_decades_of_a_geometric_grid_are_whole_numbers():
    assert list(map(float, te.grid(10, 10**6, 6, log=True))) == [10.0, 100.0, 1e3, 1e4, 1e5, 1e6]
    assert list(map(float, te.grid("0.001", 1, 4, log=True))) == [0.001, 0.01, 0.1, 1.0]
    # what is no short decimal stays as it is
    assert float(list(te.grid(1, 2, 3, log=True))[1]) == 2**0.5
    data = te.sweep("duranthon2026.linear-risk", task="spiked", nu=1, L=te.grid(10, 1000, 3, log=True), delta=0)
    assert data["L"].values.tolist() == [10, 100, 1000]


def test_an_array_of_two_dimensions_is_no_axis():
    with pytest.raises(BadNumber, match="array of 2 dimensions"):
        te.sweep("gaussian.erf-mean", t=np.zeros((2, 2)), g=1)
