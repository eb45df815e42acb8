"""Figures of the classics on small settings: what everybody knows about them is in their data."""

import numpy as np
import pytest

import theorem_engine as te
from theorem_engine.base.errors import BadRequest


def test_the_risk_descends_twice_with_little_penalty_and_never_with_the_best():
    drawn = te.figure("classics.double-descent", points=21, runs=2)
    data = drawn.data
    little, best = data["0.001"].values, data["best"].values
    peak = int(np.argmax(little))
    assert data["g"].values[peak] == 1
    assert little[peak] > 1 > little[-1]
    assert little[peak + 1 :].min() < little[-1]
    assert np.all(np.diff(best) > 0)
    assert all(np.all(best <= data[lam].values + 1e-12) for lam in ("0.001", "0.05", "0.5"))
    assert np.all(np.abs(data["mean_0.05"] - np.interp(data["dot"], data["g"], data["0.05"])) < 0.2)
    assert len(drawn.plot().axes) == 1


def test_a_spike_is_seen_beyond_its_threshold_alone():
    drawn = te.figure("classics.bbp-transition", points=13, runs=2)
    data = drawn.data
    spike = data["spike"].values
    for g in ("0.1", "0.5", "1"):
        is_seen = spike > 1 + float(g) ** 0.5
        assert np.all((data[f"overlap_{g}"].values > 0) == is_seen)
        assert np.all((data[f"eigenvalue_{g}"].values > (1 + float(g) ** 0.5) ** 2 + 1e-12) == is_seen)
    assert np.all(data["q"] >= data["spectral"] - 1e-12)
    assert len(drawn.plot().axes) == 3


def test_the_error_of_the_lasso_explodes_where_recovery_ends():
    drawn = te.figure("classics.sparse-recovery", points=13, runs=2)
    data = drawn.data
    assert np.all(np.diff(data["rho"]) > 0)
    for delta in ("0.2", "0.5", "0.8"):
        noise, shares, end = (data[name].values for name in (f"noise_{delta}", "share", f"end_{delta}"))
        assert noise[shares < 0.7 * end].max() < 30
        assert noise[shares > 1.2 * end].min() > 1000
    assert len(drawn.plot().axes) == 2


def test_nothing_learns_faster_than_the_posterior():
    drawn = te.figure("classics.learning-curves", points=4, runs=2)
    data = drawn.data
    for name in ("logistic", "square"):
        assert np.all(data["posterior"] <= data[name])
    assert data["posterior"].values[-1] * data["alpha"].values[-1] == pytest.approx(0.4417, rel=0.02)
    drawn.plot()


def test_options_that_cannot_be_are_refused():
    with pytest.raises(BadRequest, match="points"):
        te.figure("classics.double-descent", points=1)
