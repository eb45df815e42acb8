"""Properties of the Gaussian lemmas, at points of their own domain."""

import math

import pytest
import sympy
from hypothesis import given
from mpmath import mp

import theorem_engine as te
from tests.strategies import points_of
from theorem_engine.backends import get_backend
from theorem_engine.language.functions import OwenT
from theorem_engine.language.operators import GaussianMean


def value(name, output="value", **point):
    return te.predict(f"gaussian.{name}", **point).outputs[output]


@given(points_of("gaussian.erf-square"))
def test_the_mean_square_lies_between_the_squared_mean_and_one(point):
    square, mean = value("erf-square", **point), value("erf-mean", **point)
    assert mean**2 - 1e-15 <= square <= 1 + 1e-15


@given(points_of("gaussian.erf-square"))
def test_the_mean_square_is_even_in_t(point):
    assert value("erf-square", **point) == value("erf-square", **{**point, "t": -point["t"]})


@given(points_of("gaussian.erf-square"))
def test_the_mean_square_grows_away_from_zero(point):
    further = {**point, "t": point["t"] * 1.1}
    assert value("erf-square", **further) >= value("erf-square", **point) - 1e-15


@given(points_of("gaussian.erf-square"))
def test_without_noise_the_means_are_the_functions_themselves(point):
    t = point["t"]
    assert value("erf-square", t=t, g=0) == pytest.approx(math.erf(t) ** 2, rel=1e-14)
    assert value("erf-miss", t=t, g=0) == pytest.approx(math.erfc(t) ** 2, rel=1e-13)
    assert value("erf-mean", t=t, g=0) == pytest.approx(math.erf(t), rel=1e-14)


@given(points_of("gaussian.erf-square"))
def test_miss_is_one_minus_two_means_plus_the_square(point):
    left = value("erf-miss", **point)
    assert left == pytest.approx(1 - 2 * value("erf-mean", **point) + value("erf-square", **point), abs=1e-14)


@given(points_of("gaussian.erf-square"))
def test_the_heat_equation_holds(point):
    assert value("erf-square", "dg", **point) == pytest.approx(
        float(point["g"]) * value("erf-square", "dtt", **point), rel=1e-14
    )


@given(points_of("gaussian.erf-square"))
def test_owens_t_gives_the_same_mean_square(point):
    """The textbook form, good to absolute rounding."""
    t, g = sympy.symbols("t g")
    form = 1 - 8 * OwenT(sympy.sqrt(2) * t / sympy.sqrt(1 + 2 * g**2), 1 / sympy.sqrt(1 + 4 * g**2))
    textbook = float(get_backend("float64").function([t, g], [form])(float(point["t"]), float(point["g"]))[0])
    assert value("erf-square", **point) == pytest.approx(textbook, abs=4e-15)


@given(points_of("gaussian.erf-moments"))
def test_all_four_lemmas_are_the_gaussian_means_they_claim_to_be(point):
    """The definition, averaged by the engine's own quadrature, knows nothing of the closed forms."""
    t, g, x = sympy.symbols("t g x")
    response = sympy.erf(t + g * x)
    means = [response, response**2, (1 - response) ** 2, x * response, x**2 * response, x**3 * response]
    defined = get_backend("float64").function([t, g], [GaussianMean(m, x) for m in means])
    wanted = [float(v) for v in defined(float(point["t"]), float(point["g"]))]
    moments = te.predict("gaussian.erf-moments", **point).outputs
    stated = [value("erf-mean", **point), value("erf-square", **point), value("erf-miss", **point), *moments.values()]
    assert stated == pytest.approx(wanted, rel=1e-12, abs=1e-14)


def test_the_mean_square_at_zero_has_its_three_closed_forms():
    for text in ("0.001", "0.3", "5"):
        with mp.workdps(30):
            g = mp.mpf(text)
            zero = te.predict("gaussian.erf-square", t=0, g=text, digits=25).value
            assert abs(zero - 2 / mp.pi * mp.asin(2 * g**2 / (1 + 2 * g**2))) < mp.mpf(10) ** -24
            assert abs(zero - (4 / mp.pi * mp.atan(mp.sqrt(1 + 4 * g**2)) - 1)) < mp.mpf(10) ** -24


def test_far_misses_follow_their_asymptotic_form():
    """t = 20: relative accuracy where the value is 1e-330 below anything a subtraction could reach."""
    miss = te.predict("gaussian.erf-miss", t=20, g="0.1", digits=20).value
    quick = te.predict("gaussian.erf-miss", t=20, g="0.1").value
    with mp.workdps(25):
        r, h2 = mp.mpf("0.02") / mp.mpf("1.02"), 2 * mp.mpf(400) / mp.mpf("1.02")
        leading = 4 * (1 + r) ** 2 / (2 * mp.pi * h2 * mp.sqrt(1 - r**2)) * mp.exp(-h2 / (1 + r))
        assert abs(miss / leading - 1) < 0.02
    # 3.6e-335 is below the smallest double of full precision; there float64 keeps what it can
    assert quick == pytest.approx(float(miss), rel=1e-10) or float(miss) < 2.3e-308


@pytest.mark.parametrize("t", [30, 10**9, pytest.param(10**15, marks=pytest.mark.campaign)])
def test_digits_of_tiny_numbers_are_those_asked_for(t):
    """4 Phi2 as an integral over a ray, its exponential taken out, by mpmath; a number of 1e-10^28 is not zero."""
    found = te.predict("gaussian.erf-miss", t=t, g="3/2", digits=20)
    with mp.workdps(100):
        g = mp.mpf(3) / 2
        h, a = mp.sqrt(2) * t / mp.sqrt(1 + 2 * g**2), 1 / mp.sqrt(1 + 4 * g**2)
        rate = h**2 * a

        def inside(s):
            return mp.exp(-s - s * s / (2 * h**2 * a**2)) / (1 + (a + s / rate) ** 2)

        with mp.workdps(40):
            rest = mp.quad(inside, [0, 1, 5, 20, 60, 150])
        expected = 4 / mp.pi * mp.exp(-(h**2) * (1 + a**2) / 2) * rest / rate
        assert abs(found.value - expected) <= found.error <= mp.mpf("2e-20") * expected
