"""Stated errors of liao2026 cover the truth, and the ends of its letters give numbers or documented errors."""

import math
import random

import pytest
from mpmath import mp

import theorem_engine as te
from theorem_engine.asking.error import float64_errors
from theorem_engine.asking.evaluation import plan_of
from theorem_engine.asking.point import read_point
from theorem_engine.base.errors import Infeasible, ValidityWarning
from theorem_engine.language.catalogue import find_entry


def ratio_to_error(id, point, truth):
    """How many stated errors each output is off what it should be."""
    entry = find_entry(id)
    read = read_point(entry, point)
    errors, outputs = float64_errors(entry, read), te.predict(id, **point).outputs
    statement, _ = plan_of(entry, read.options)
    with mp.workdps(40):
        return {
            name: float(abs(mp.mpf(outputs[name]) - value) / errors[statement.outputs[name]])
            for name, value in truth.items()
            if errors[statement.outputs[name]] or outputs[name] != value
        }


def slope_by_hand(c, a1, second, snr):
    """M1 without weights, from the moments of the spiked law, in 40 digits."""
    with mp.workdps(40):
        c, a1, second, snr = (mp.mpf(x) for x in (c, a1, second, snr))
        ratio = 1 / c
        t = snr * ratio
        third = ratio**2 + 2 * ratio * t + 3 * ratio + t**2 + 2 * t + 1
        return second - a1**2 + c * a1**2 * (1 + t) * (third - 2 * (1 + ratio + t) + 1)


def test_the_slope_at_large_penalties_states_its_rounding():
    """M1 by the moments of the spiked Marchenko-Pastur law, written out: 300 points and the one it was worst at."""
    rng = random.Random(0)
    points = [("78.44", "-0.924", "2.13", "0.356")]
    for _ in range(300):
        a1 = round(rng.uniform(-1.5, 1.5), 3)
        numbers = (10 ** rng.uniform(-3, 3), a1, a1**2 + rng.random() + 1e-3, 10 ** rng.uniform(-3, 2))
        points.append(tuple(f"{x:.6g}" for x in numbers))
    worst = 0.0
    for c, a1, second, snr in points:
        point = {"c": c, "a1": a1, "second_moment": second, "snr": snr}
        found = te.predict("liao2026.limits", **point)
        gap = abs(mp.mpf(found.value) - slope_by_hand(c, a1, second, snr))
        worst = max(worst, float(gap / found.error))
    assert worst < 1


def test_strong_poles_far_from_the_bulk_are_integrated_to_their_stated_error():
    """alpha and delta by mpmath's quadrature over the Marchenko-Pastur density, at the scalars the engine found.

    At these scalars (1 + e s)/P has a pole next to zero that is ten thousand times stronger than its mean.
    """
    point = {"c": "10.44", "gamma": "0.00044", "nonlinearity": "relu", "diagonal": "0.797"}
    entry = find_entry("liao2026.noise-resolvent")
    found = te.predict(entry.id, **point).outputs
    errors = float64_errors(entry, read_point(entry, point))
    with mp.workdps(30):
        ratio = 1 / mp.mpf("10.44")
        low, high = (1 - mp.sqrt(ratio)) ** 2, (1 + mp.sqrt(ratio)) ** 2
        kap = mp.sqrt(1 / ratio) / 2
        b2 = mp.mpf(1) / 4 - 1 / (2 * mp.pi)

        def fixed_point(g, e, eta):
            def integral(top):
                def body(angle):
                    s = 1 + ratio + 2 * mp.sqrt(ratio) * mp.cos(angle)
                    weight = 2 * mp.sin(angle) ** 2 / (mp.pi * s)
                    line = kap * s + eta
                    return weight * top(s, line) / (g * (1 + e * s) + s * line**2)

                return mp.quad(body, [0, mp.pi / 2, mp.pi])

            assert low > 0
            assert high > low
            return [
                mp.mpf("0.00044") + b2 * g * integral(lambda s, _: s) - g,
                b2 * integral(lambda s, _: 1 + e * s) - e,
                (mp.mpf("0.797") - mp.mpf(1) / 2) * mp.sqrt(1 / ratio) - b2 * integral(lambda s, line: s * line) - eta,
            ]

        start = [mp.mpf(found[name]) for name in ("g", "e", "eta")]
        solved = mp.findroot(lambda g, e, eta: fixed_point(g, e, eta), start, tol=1e-40, verify=False)
    for name, value in zip(("g", "e", "eta"), solved, strict=True):
        symbol = next(s for s in errors if str(s) == name or getattr(s, "name", "") == name)
        assert abs(found[name] - value) <= errors[symbol], name


@pytest.mark.parametrize("level", ["1e-20", "0.3", "0.999", "1.001", "3", "40", "1e300"])
def test_moments_of_clip_at_every_level(level):
    """Second moment and rest by mpmath's quadrature of the clipped function."""
    with mp.workdps(30):
        edge = mp.mpf(level)
        near = min(edge, mp.mpf(60))
        inside = 2 * mp.quad(lambda t: t**2 * mp.npdf(t), [0, min(near, 1), near])
        second = inside + (edge**2 * mp.erfc(edge / mp.sqrt(2)) if edge < 1000 else 0)
        rest = second - mp.erf(edge / mp.sqrt(2)) ** 2
        found = te.predict("liao2026.hermite", nonlinearity="clip", level=level).outputs["second_moment"]
        spread = te.predict("liao2026.gaussian-equivalent", nonlinearity="clip", level=level)
        assert found == pytest.approx(float(second), rel=1e-12)
        assert abs(spread.value - mp.sqrt(abs(rest))) <= max(spread.error, mp.mpf("1e-14"))


def test_a_function_that_vanishes_leaves_the_labels_as_they_are():
    nothing = {"c": "0.2655", "gamma": "0.01", "a1": 0, "second_moment": 0}
    assert te.predict("liao2026.null-error", **nothing).value == 1
    assert te.predict("liao2026.class-imbalance", **nothing, a2=0, imbalance="0.2").value == pytest.approx(1, abs=1e-13)
    traces = te.predict("liao2026.noise-resolvent", **nothing).outputs
    assert (traces["alpha"], traces["delta"]) == (pytest.approx(100), pytest.approx(1))


def test_moments_of_a_line_leave_no_spread():
    """0.536^2 = 0.287296 exactly, but not in double precision."""
    assert te.predict("liao2026.gaussian-equivalent", a1="0.536", second_moment="0.287296").value == 0


@pytest.mark.parametrize("r", ["0.999999999", "1", "0.9999999999999", "0"])
def test_a_nearly_linear_cubic_has_a_strength_and_an_error(r):
    point = {"c": 1, "nonlinearity": "cubic-clip", "level": 5, "r": r}
    (ratio,) = ratio_to_error(
        "liao2026.kernel-linearization", {**point, "snr": 1}, _digits("liao2026.kernel-linearization", point)
    ).values()
    assert ratio <= 1
    assert math.isfinite(te.predict("liao2026.null-error", **point, gamma=1).error)


def _digits(id, point):
    return {"strength": mp.mpf(te.predict(id, **point, snr=1, digits=30).outputs["strength"])}


def test_the_outlier_carries_at_most_all_of_the_labels():
    """Its mass is a share; for signals of any strength it tends to 1 - width/rho from below."""
    for snr in ("1e20", "1e150", "1e300"):
        found = te.predict("liao2026.spiked-resolvent", c="0.4857", snr=snr, z=-1)
        assert 0 <= found.outputs["outlier_mass"] <= 1
    near = te.predict("liao2026.spiked-resolvent", c=1, snr=100, z=-1).outputs["outlier_mass"]
    assert near == pytest.approx((100**2 - 1) / (100 * 101), rel=1e-14)


@pytest.mark.parametrize("id", ["liao2026.null-error", "liao2026.interpolation-error", "liao2026.gaussian-equivalent"])
def test_moments_beyond_double_precision_are_refused_in_words(id):
    point = {"a1": -1e300, "second_moment": "1.803"} | ({"c": 1, "gamma": 1} if "error" in id else {})
    with pytest.raises(Infeasible, match="square of a1"):
        te.predict(id, **point)


@pytest.mark.parametrize("c", ["0.5", 1, 2])
def test_many_digits_at_next_to_no_penalty(c):
    """gamma -> 0 on noise: 1 - c below c = 1, the powers 1/3 and 1/2 of gamma at and above it."""
    small, smaller = (
        te.predict("liao2026.null-error", c=c, gamma=gamma, nonlinearity="tanh", digits=20).value
        for gamma in ("1e-12", "1e-15")
    )
    if c == "0.5":
        assert small == pytest.approx(0.5, abs=1e-12)
    else:
        assert float(small / smaller) == pytest.approx(10 if c == 1 else 1000**0.5, rel=1e-3)


@pytest.mark.parametrize(("gamma", "value"), [("1e-20", 8 / 9), ("1e20", 1)])
def test_many_digits_where_the_unknowns_differ_by_forty_powers_of_ten(gamma, value):
    """1 - c as gamma -> 0, one as gamma -> oo; mpmath took the equations of g, e and eta for singular."""
    point = {"p": 100, "n": 900, "gamma": gamma, "nonlinearity": "exp-clip", "level": "10.9", "digits": 20}
    with pytest.warns(ValidityWarning, match="diagonal"):
        assert te.predict("liao2026.null-error", **point).value == pytest.approx(value, abs=1e-15)


def test_the_ridge_error_at_strengths_and_penalties_beyond_all_measure():
    """Its limits: sqrt(gamma)/(2 m) at c = 1, (1 - c)/m below, E_0/snr at strong signals, one at strong penalties."""
    ridge = "liao2026.ridge-error"
    assert te.predict(ridge, c=1, gamma=1e-300, snr=1).value == pytest.approx(2.5e-151)
    assert te.predict(ridge, c="0.25", gamma=1e-300, snr=1).value == pytest.approx(0.375)
    # A (1 + A)/Delta A/(A^2 m) at gamma = c = 1 with A = (sqrt(5) - 1)/2
    assert te.predict(ridge, c=1, gamma=1, snr=1e300).value == pytest.approx(1e-300 / math.sqrt(5))
    assert te.predict(ridge, c=2, gamma=1e300, snr=1).value == 1
