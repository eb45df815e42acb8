"""Corners where a method could be wrong without notice: each claim against another method."""

import pytest
from mpmath import mp

import theorem_engine as te

#: Double precision, and twenty digits, which take many seconds in some corners.
BOTH = [None, pytest.param(20, marks=pytest.mark.campaign)]
SIGMOID = "1/(1+exp(-10000*(t-1/3)))"
BUMP = "exp(-10**8*(t-12345/100000)**2)"


def holds(found, name, truth, useful):
    """The truth lies within the error claimed, which is of use."""
    with mp.workdps(40):
        assert abs(mp.mpmathify(found.outputs[name]) - truth) <= found.errors[name], name
    assert found.errors[name] <= useful


def sigmoid_moments():
    """The mean, and the mean times t, of a sigmoid of slope 10^4: a step and what is odd around it."""
    centre = mp.mpf(1) / 3
    places = [mp.mpf(k) / 10**4 for k in (0, 2, 5, 10, 20, 50, 90)]

    def rest(factor):
        return mp.quad(
            lambda s: (factor(centre - s) * mp.npdf(centre - s) - factor(centre + s) * mp.npdf(centre + s))
            / (1 + mp.exp(10**4 * s)),
            places,
        )  # fmt: skip

    return mp.ncdf(-centre) + rest(lambda t: 1), mp.npdf(centre) + rest(lambda t: t)


@pytest.mark.parametrize("digits", BOTH)
def test_a_sigmoid_of_slope_ten_thousand_in_a_gaussian_mean(digits):
    """Written so that its exponential overflows: the reciprocal is zero all the same."""
    found = te.predict("liao2026.hermite", nonlinearity=SIGMOID, digits=digits)
    with mp.workdps(30):
        mean, slope = sigmoid_moments()
    for name, truth in (("mean", mean), ("a1", slope)):
        holds(found, name, truth, 1e-13)


@pytest.mark.parametrize("digits", [None, 20])
def test_a_fast_wave_in_a_gaussian_mean(digits):
    """E sin(50 Z) Z = 50 exp(-1250), which is zero to any error; E sin^2 = (1 - exp(-5000))/2."""
    found = te.predict("liao2026.hermite", nonlinearity="sin(50*t)", digits=digits)
    with mp.workdps(40):
        truths = {"mean": mp.zero, "a1": 50 * mp.exp(-1250), "second_moment": (1 - mp.exp(-5000)) / 2}
    for name, truth in truths.items():
        holds(found, name, truth, 1e-13)


def test_noise_around_zero_is_shown_without_a_digit():
    found = te.predict("liao2026.hermite", nonlinearity="sin(50*t)", digits=20)
    assert found.outputs["a1"] == 0 < found.errors["a1"] < 1e-19
    (line,) = (line for line in str(found).splitlines() if line.split()[0] == "a1")
    assert line.split()[2:4] == ["0", "+-"]


@pytest.mark.parametrize("digits", BOTH)
def test_a_narrow_bump_between_nodes_in_a_gaussian_mean(digits):
    """A Gaussian of width 7e-5: closed forms of Gaussian integrals."""
    found = te.predict("liao2026.hermite", nonlinearity=BUMP, digits=digits)
    with mp.workdps(40):
        centre = mp.mpf("0.12345")
        mean, square = (
            mp.exp(-width * centre**2 / (1 + 2 * width)) / mp.sqrt(1 + 2 * width) for width in (10**8, 2 * 10**8)
        )
        # the second moment is that around the mean
        truths = {"mean": mean, "second_moment": square - mean**2}
    for name, truth in truths.items():
        holds(found, name, truth, 1e-14)


def test_the_oracle_forty_widths_away_keeps_its_digits_in_double_precision():
    """lam sqrt(d) = 40: the noise of the other tokens is all that is left, (L - 1) E erf(lam G)^2."""
    found = te.predict("marion2025.oracle-risk", lam=2, gamma=1, d=400, L=10)
    with mp.workdps(40):
        u, b = mp.mpf(2) * mp.sqrt(200) / 3, 1 / mp.sqrt(17)
        own = mp.erfc(u) ** 2 + 4 / mp.pi * mp.quad(lambda z: mp.exp(-u * u * (1 + z * z)) / (1 + z * z), [b, 1])
        truth = own + 9 * (4 / mp.pi * mp.atan(mp.sqrt(17)) - 1)
    holds(found, found.entry.main_output, truth, 1e-13)


@pytest.mark.parametrize("c", ["0.999", "1", "1.001"])
def test_interpolation_at_a_tiny_penalty_near_the_peak_is_enclosed(c):
    """gamma = 1e-6: residues and Krawczyk's test in balls, against the solver of double precision."""
    point = {"c": c, "gamma": "1e-6", "nonlinearity": "tanh", "snr": 2, "weights": "aligned"}
    found = te.predict("liao2026.interpolation-error", **point)
    proved = te.predict("liao2026.interpolation-error", certified=True, digits=20, **point)
    assert proved.certificate.status == "unique"
    with mp.workdps(40):
        assert abs(mp.mpf(found.value) - proved.value) <= found.error + proved.error
    assert found.error <= 1e-8 * found.value
