"""Ridge regression, and where attention does better than it."""

from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp

import theorem_engine as te
from tests.registry.liao2026_points import error, moments, penalties, ratios, rests, slopes
from theorem_engine.backends import get_backend
from theorem_engine.language.application import EntryFunction


@given(c=ratios, gamma=penalties, snr=rests)
def test_the_ridge_error_solves_its_quadratic(c, gamma, snr):
    """E = -gamma^2 d/dgamma [A (1 + A)/(1 + m A)] with the slope of A from gamma A^2 + (gamma + c - 1) A - 1 = 0."""
    predicted = te.predict("liao2026.ridge-error", c=c, gamma=gamma, snr=snr).value
    with mp.workdps(40):
        c, gamma, m = mp.mpf(str(c)), mp.mpf(str(gamma)), 1 + mp.mpf(str(snr))
        a = max(mp.polyroots([gamma, gamma + c - 1, -1], extraprec=200))
        slope = -(a**2 + a) / (2 * gamma * a + gamma + c - 1)
        outer = ((1 + 2 * a) * (1 + m * a) - m * a * (1 + a)) / (1 + m * a) ** 2
        expected = float(-(gamma**2) * outer * slope)
    assert predicted == pytest.approx(expected, rel=1e-12)


def test_ridge_limits():
    ridge = {k: te.predict("liao2026.ridge-error", **dict(zip(("c", "gamma", "snr"), k, strict=True))).value for k in [
        ("0.25", "1e-9", 1), (1, "1e-8", 1), (1, 2, 0), (1, "1e7", 3)]}  # fmt: skip
    values = list(ridge.values())
    assert values[0] == pytest.approx(0.375, rel=1e-6)
    assert values[1] == pytest.approx(1e-4 / 4, rel=1e-3)
    assert values[2] == pytest.approx(3**-0.5, rel=1e-13)
    assert (1 - values[3]) * 1e7 / 2 == pytest.approx(4, rel=1e-5)


@given(c=st.floats(-2, 2).map(np.exp), gamma=st.floats(-2, 4).map(np.exp), a1=slopes, rest=rests)
def test_the_window_at_infinite_alignment_ends_where_the_errors_meet(c, gamma, a1, rest):
    point = {"c": float(f"{c:.5g}"), "gamma": float(f"{gamma:.5g}")}
    found = te.predict("liao2026.reversal", **point, **moments(a1, rest)).outputs
    null = te.predict("liao2026.null-error", **point, **moments(a1, rest)).value
    if not found["exists"]:
        assert (found["snr_low"], found["snr_high"]) == (np.inf, 0)
        best = te.predict("liao2026.ridge-error", **point, snr=found["best_ratio_snr"]).value
        assert null / (1 + found["best_ratio_snr"]) >= best * (1 - 1e-12)
    for end in (found["snr_low"], found["snr_high"]):
        if found["exists"] and 0 < end < np.inf:
            ridge = te.predict("liao2026.ridge-error", **point, snr=float(f"{end:.15g}")).value
            assert null / (1 + end) == pytest.approx(ridge, rel=1e-8)


@pytest.mark.parametrize(
    ("c", "gamma", "low", "high"),
    [("0.25", "0.5", 0.245, 22.3), ("0.5", 1, 1.58, 4.35), (1, 3, 0.916, 42.6), (4, 10, 2.09, 235.5)],
)
def test_the_window_at_finite_alignment(c, gamma, low, high):
    found = te.predict("liao2026.reversal", c=c, gamma=gamma, nonlinearity="tanh", weights="aligned").outputs
    assert found["exists"]
    assert found["snr_low"] == pytest.approx(low, rel=5e-3)
    assert found["snr_high"] == pytest.approx(high, rel=5e-3)


@pytest.mark.parametrize(("c", "gamma"), [("0.5", 3), (1, 3), (2, 5)])
def test_the_window_of_unit_weights_is_where_their_error_is_below_that_of_ridge(c, gamma):
    """The two errors themselves, at both ends and a percent to either side of them."""
    found = te.predict("liao2026.reversal", c=c, gamma=gamma, nonlinearity="tanh", weights="unit-aligned").outputs

    def gap(snr):
        point = {"c": c, "gamma": gamma, "snr": float(f"{snr:.15g}")}
        attention = te.predict("liao2026.interpolation-error", nonlinearity="tanh", weights="unit-aligned", **point)
        return attention.value / te.predict("liao2026.ridge-error", **point).value - 1

    assert found["exists"] == (found["snr_high"] > found["snr_low"])
    for end, inside in ((found["snr_low"], 1.01), (found["snr_high"], 0.99)):
        if 0 < end < np.inf:
            assert gap(end) == pytest.approx(0, abs=1e-8)
            assert gap(end * inside) < 0 < gap(end / inside)


def test_no_reversal_is_found_where_there_is_none():
    found = te.predict("liao2026.reversal", c=1, gamma=1, nonlinearity="tanh", weights="aligned").outputs
    assert found == {"exists": False, "snr_low": np.inf, "snr_high": 0.0, "best_ratio_snr": found["best_ratio_snr"]}


def test_attention_is_not_always_worse_on_noise():
    gaps = {}
    for gamma in ("0.1", "0.3", "1", "3"):
        ridge = te.predict("liao2026.ridge-error", c="0.25", gamma=gamma).value
        gaps[gamma] = te.predict("liao2026.null-error", c="0.25", gamma=gamma, nonlinearity="tanh").value - ridge
    assert list(gaps.values()) == pytest.approx([0.0147, 0.0171, -0.0074, -0.0454], abs=6e-5)


@pytest.mark.campaign
def test_the_error_is_differentiated_in_the_letters_of_the_law():
    """d/dc and d/dsnr pass through the self-consistent group and through the law of the spectrum."""
    c, gamma, snr = sympy.symbols("c gamma snr", positive=True)
    attention = EntryFunction("liao2026.interpolation-error")
    moments = te.predict("liao2026.null-error", c=1, gamma=1, nonlinearity="tanh").point.canonical
    along = {x: sympy.sqrt(snr) for x in ("key_along", "query_along")}
    value = attention(c=c, gamma=gamma, snr=snr, **{x: sympy.Rational(moments[x]) for x in ("a1", "b2")}, **along,
                      **dict.fromkeys(("key_norm2", "query_norm2", "key_query"), snr))  # fmt: skip
    run = get_backend("float64").function([c, gamma, snr], [value, value.diff(c), value.diff(snr)])
    _, by_ratio, by_signal = (float(v) for v in run(0.5, 1.0, 2.0))
    step = Fraction(1, 10**4)
    for letter, slope in (("c", by_ratio), ("snr", by_signal)):
        point = {"c": Fraction(1, 2), "snr": Fraction(2)}
        up, down = (
            error(gamma=1, nonlinearity="tanh", weights="aligned", **{**point, letter: point[letter] + sign * step})
            for sign in (1, -1)
        )
        assert slope == pytest.approx((up - down) / (2 * float(step)), rel=1e-6)
