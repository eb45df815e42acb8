"""Operators: values, errors, derivatives, on both backends."""

import math

import numpy as np
import pytest
import sympy
from mpmath import mp
from scipy import integrate, special, stats

from theorem_engine.backends import get_backend
from theorem_engine.backends.float64 import gaussian_mean
from theorem_engine.base.errors import NotConverged
from theorem_engine.base.reports import listening
from theorem_engine.language.operators import Component, Flow, GaussianMean, Minimum, Recurrence, Root
from theorem_engine.numerics.panels import graded_edges
from theorem_engine.numerics.quadrature import trapezoid_line

x, y, t, a, b = sympy.symbols("x y t a b", real=True)
QUICK, SLOW = get_backend("float64"), get_backend("multiprecision")


def both(inputs, expression, values, digits=30):
    """The value in double precision, and at many digits."""
    quick = QUICK.function(inputs, [expression])(*[float(v) for v in values])[0]
    with mp.workdps(digits):
        slow = SLOW.function(inputs, [expression])(*[mp.mpf(v) for v in values])[0]
        return float(quick), +slow


def test_means_at_many_points_are_taken_some_at_a_time(monkeypatch):
    """E erf(a + 3 x) = erf(a/sqrt(19)), whatever the room; a mean that is the same for all points is repeated."""
    places = np.linspace(-2, 2, 60).reshape(3, 20)
    means = [GaussianMean(sympy.erf(a + 3 * x), x), GaussianMean(x**2 + 0 * a, x)]
    monkeypatch.setattr(gaussian_mean, "HELD", 3000)
    asked = []
    monkeypatch.setattr(
        gaussian_mean, "trapezoid_line",
        lambda body, *rest: asked.append(np.shape(body(np.zeros(1))[0])[0]) or trapezoid_line(body, *rest),
    )  # fmt: skip
    first, second = QUICK.function([a], means)(places)
    assert first == pytest.approx(special.erf(places / np.sqrt(19)), abs=1e-14)
    assert np.broadcast_to(second, places.shape) == pytest.approx(np.ones((3, 20)), abs=1e-14)
    assert max(asked) < places.size
    assert sum(asked) == places.size


def test_panels_towards_a_jump_end_at_it():
    """A scale of zero is no reason to halve for ever."""
    edges = graded_edges(-1.0, 1.0, 0.5, [(0.25, 0.0), (0.5, np.inf)])
    assert {0.25, 0.5} <= set(edges.tolist())
    assert len(edges) < 20


@pytest.mark.parametrize("slope", [1, 50, 200])
def test_a_steep_sigmoid_is_averaged_right(slope):
    """Gauss-Hermite of order 80 is wrong in the second digit at slope 50; this is not."""
    body = 1 / (1 + sympy.exp(-slope * (x - sympy.Rational(3, 10))))
    quick, _ = float(QUICK.function([], [GaussianMean(body, x)])()[0]), None
    reference = integrate.quad(
        lambda u: stats.norm.pdf(u) / (1 + np.exp(np.clip(-slope * (u - 0.3), -700, 700))),
        -12, 12, points=[0.3], epsabs=1e-14, epsrel=1e-13, limit=400,
    )[0]  # fmt: skip
    assert quick == pytest.approx(reference, rel=1e-12)


def test_a_gaussian_mean_has_as_many_digits_as_asked():
    quick, slow = both([t], GaussianMean(sympy.exp(t * x), x), ["1.5"], 40)
    with mp.workdps(45):
        exact = mp.exp(mp.mpf("1.125"))
        assert abs(slow - exact) < mp.mpf(10) ** -38
    assert quick == pytest.approx(float(exact), rel=1e-14)


def test_a_mean_far_in_the_tail_keeps_relative_accuracy():
    """P(G > 30) = 4.9e-198 as the mean of a steep logistic step's tail would be lost by an absolute rule."""
    quick, slow = both([], GaussianMean(sympy.exp(-((x - 30) ** 2)), x), [], 60)
    with mp.workdps(30):
        exact = mp.exp(-mp.mpf(300)) / mp.sqrt(3)
    assert quick == pytest.approx(float(exact), rel=1e-12)
    assert float(slow) == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize("frequency", [1, 44, 50, 100, 129])
@pytest.mark.parametrize("power", [1, 2])
def test_fast_waves_are_not_taken_for_slow_ones(frequency, power):
    """E cos(a x) = exp(-a^2/2), E cos^2 = (1 + exp(-2 a^2))/2; a rule with even steps sees other waves."""
    mean = GaussianMean(sympy.cos(frequency * x) ** power + x * sympy.sin(frequency * x), x)
    slow = math.exp(-(frequency**2) / 2)
    exact = slow if power == 1 else (1 + math.exp(-2 * frequency**2)) / 2
    exact += frequency * slow
    assert QUICK.function([], [mean])()[0] == pytest.approx(exact, abs=1e-14)
    with mp.workdps(20):
        assert float(SLOW.function([], [mean])()[0]) == pytest.approx(exact, abs=1e-16)


def test_waves_in_two_variables_and_of_a_parameter():
    a = sympy.Symbol("a", positive=True)
    mean = GaussianMean(sympy.cos(a * x + 3 * y) * sympy.tanh(y) ** 2, x, y)
    plain = GaussianMean(sympy.cos(3 * y) * sympy.tanh(y) ** 2, y)
    single = QUICK.function([], [plain])()[0]
    found = QUICK.function([a], [mean])(np.array([1.0, 5.0]))[0]
    assert found == pytest.approx([math.exp(-0.5) * single, math.exp(-12.5) * single], abs=1e-14)


def test_breaks_make_jumps_and_kinks_harmless():
    relu = sympy.Max(x - a, 0)
    quick, slow = both([a], GaussianMean(relu, x, breaks=(a,)), ["0.4"])
    exact = stats.norm.pdf(0.4) - 0.4 * stats.norm.sf(0.4)
    assert quick == pytest.approx(exact, rel=1e-13)
    assert float(slow) == pytest.approx(exact, rel=1e-13)


def test_an_undeclared_kink_is_not_answered_with_a_wrong_number():
    """The formula names the place where its sign changes; a kink that no formula names still does not settle."""
    found = QUICK.function([], [GaussianMean(sympy.sign(x - sympy.Rational(1, 3)), x)])()[0]
    assert found == pytest.approx(1 - 2 * stats.norm.cdf(1 / 3), abs=1e-15)
    with pytest.raises(NotConverged):
        trapezoid_line(lambda t: [np.sign(t - 1 / 3) * np.exp(-t * t / 2)], -9.0, 9.0)


def test_two_gaussian_variables():
    body = sympy.tanh(x + y / 2) ** 2
    quick, slow = both([], GaussianMean(body, x, y), [], 16)
    reference = GaussianMean(sympy.tanh(sympy.sqrt(5) / 2 * x) ** 2, x)
    one, _ = both([], reference, [], 16)
    assert quick == pytest.approx(one, rel=1e-13)
    assert float(slow) == pytest.approx(one, rel=1e-13)


def test_a_gaussian_mean_is_vectorised_over_points():
    values = np.linspace(-1, 1, 5)
    mean = QUICK.function([t], [GaussianMean(sympy.exp(t * x), x)])(values)[0]
    assert mean == pytest.approx(np.exp(values**2 / 2), rel=1e-13)


def test_a_gaussian_mean_differentiates_under_the_mean():
    quick, _ = both([t], GaussianMean(sympy.exp(t * x), x).diff(t), ["0.8"])
    assert quick == pytest.approx(0.8 * np.exp(0.32), rel=1e-13)


def test_error_estimates_are_reported_to_whoever_listens():
    function = QUICK.function([t], [GaussianMean(sympy.tanh(t * x) ** 2, x)])
    with listening() as notes:
        value = float(function(7.0)[0])
    (report,) = notes
    with mp.workdps(25):
        exact = SLOW.function([t], [GaussianMean(sympy.tanh(t * x) ** 2, x)])(mp.mpf(7))[0]
    assert abs(value - float(exact)) <= 2 * float(report.error[0]) + 1e-16


def test_integrals_over_an_interval():
    quick, slow = both([t], sympy.Integral(sympy.exp(-t * x) / (1 + x**2), (x, 0, 2)), ["0.5"], 35)
    with mp.workdps(40):
        exact = mp.quad(lambda u: mp.exp(-u / 2) / (1 + u**2), [0, 2])
        assert abs(slow - exact) < mp.mpf(10) ** -33
    assert quick == pytest.approx(float(exact), rel=1e-14)


def test_tiny_integrals_keep_their_digits():
    quick, slow = both([t], sympy.Integral(sympy.exp(-t * (1 + x**2)), (x, 0, 1)), ["400"], 35)
    with mp.workdps(60):
        exact = mp.exp(-400) * mp.sqrt(mp.pi / 400) / 2 * mp.erf(20)
        assert abs(slow - exact) < mp.mpf(10) ** -30 * exact
    assert quick == pytest.approx(float(exact), rel=1e-12)


def test_the_minimum_over_a_letter_and_its_place():
    minimum = Minimum(a * sympy.cosh(t - b) + t, over={t: (-20, 20)})
    at = minimum.at(t)
    quick, slow = both([a, b], minimum, ["2", "0.5"], 30)
    place, place_slow = both([a, b], at, ["2", "0.5"], 30)
    with mp.workdps(35):
        exact = mp.mpf("0.5") - mp.asinh(mp.mpf("0.5"))
        assert abs(place_slow - exact) < mp.mpf(10) ** -27
        assert abs(slow - (2 * mp.cosh(exact - mp.mpf("0.5")) + exact)) < mp.mpf(10) ** -27
    assert place == pytest.approx(float(exact), rel=1e-14)
    assert quick == pytest.approx(float(slow), rel=1e-14)


def test_a_minimum_differentiates_by_the_envelope_theorem():
    minimum = Minimum((t - a) ** 2 + a**3, over={t: (-10, 10)})
    quick, _ = both([a], minimum.diff(a), ["1.5"])
    assert quick == pytest.approx(3 * 1.5**2, rel=1e-12)


def test_a_minimum_over_two_letters():
    minimum = Minimum((t - a) ** 2 + (x * t - 1) ** 2, over={t: (0, 5), x: (0, 5)})
    quick, slow = both([a], minimum.at(x), ["2"])
    assert quick == pytest.approx(0.5, rel=1e-6)
    assert float(slow) == pytest.approx(0.5, rel=1e-12)


def test_a_minimum_at_the_end_of_its_range():
    quick, slow = both([a], Minimum(t + a, over={t: (1, 4)}), ["1"])
    assert quick == pytest.approx(2.0)
    assert float(slow) == pytest.approx(2.0)


def test_roots_at_any_precision_and_infinity_where_there_is_none():
    root = Root(sympy.exp(t) - a, t, -50, 50)
    quick, slow = both([a], root, ["3"], 40)
    with mp.workdps(45):
        assert abs(slow - mp.ln(3)) < mp.mpf(10) ** -37
    assert quick == pytest.approx(np.log(3), rel=1e-14)
    assert both([a], root, ["-1"])[0] == np.inf


def test_a_root_differentiates_by_the_implicit_function_theorem():
    quick, _ = both([a], Root(sympy.exp(t) - a, t, -50, 50).diff(a), ["3"])
    assert quick == pytest.approx(1 / 3, rel=1e-12)


def test_a_recurrence_with_a_clock():
    """x <- x/2 + 1/(1 + step): both backends, different step counts in one call."""
    n = sympy.Symbol("n", integer=True)
    step = sympy.Symbol("step")
    law = Recurrence.of({x: x / 2 + 1 / (1 + step)}, {x: a}, n, clock=step)
    value = 1.0
    for k in range(7):
        value = value / 2 + 1 / (1 + k)
    quick, slow = both([a, n], law, ["1", "7"])
    assert quick == pytest.approx(value, rel=1e-14)
    assert float(slow) == pytest.approx(value, rel=1e-14)
    together = QUICK.function([a, n], [law])(np.array([1.0, 1.0]), np.array([0.0, 7.0]))[0]
    assert together == pytest.approx([1.0, value], rel=1e-14)


def test_letters_of_a_recurrence_are_bound():
    """The state letter outside and inside are different things."""
    n = sympy.Symbol("n", integer=True)
    law = Recurrence.of({x: x + 1}, {x: 2 * x}, n)
    assert both([x, n], law, ["5", "3"])[0] == 13.0


def test_all_letters_of_a_recurrence_step_at_once():
    n = sympy.Symbol("n", integer=True)
    law = Recurrence.of({x: y, y: x + y}, {x: 0, y: 1}, n)
    assert both([n], law, ["10"])[0] == 55
    assert both([n], Component(law, 1), ["10"])[0] == 89


def test_a_recurrence_that_explodes_is_an_error():
    n = sympy.Symbol("n", integer=True)
    with pytest.raises(NotConverged, match="left the finite numbers"):
        QUICK.function([n], [Recurrence.of({x: sympy.exp(x)}, {x: 1}, n)])(20.0)


def test_a_flow_follows_its_law():
    law = Flow.of({x: y, y: -x}, {x: 1, y: 0}, t)
    quick, slow = both([t], law, ["2"], 20)
    assert quick == pytest.approx(np.cos(2.0), rel=1e-12)
    assert float(slow) == pytest.approx(np.cos(2.0), rel=1e-14)


def test_a_flow_with_a_clock():
    time = sympy.Symbol("time")
    quick, _ = both([t], Flow.of({x: 2 * time * x}, {x: 1}, t, clock=time), ["1.5"], 16)
    assert quick == pytest.approx(np.exp(2.25), rel=1e-11)


def test_operators_print_as_mathematics():
    n = sympy.Symbol("n", integer=True)
    assert r"\mathbb{E}_{x}" in sympy.latex(GaussianMean(x * t, x))
    assert r"\min_{t}" in sympy.latex(Minimum(t**2, over={t: (0, 1)}))
    assert r"\leftarrow" in sympy.latex(Recurrence.of({x: x + 1}, {x: 0}, n))
    assert r"\dot{x}" in sympy.latex(Flow.of({x: -x}, {x: 1}, t))


@pytest.mark.parametrize(("growth", "digits"), [("1/5", 30), ("9/20", 30)])
def test_means_of_bodies_that_grow_like_a_gaussian_are_not_cut_off(growth, digits):
    """E exp(b Z^2) is (1 - 2 b)^(-1/2): the density alone falls long before the product does."""
    rate = sympy.Rational(growth)
    quick, slow = both([], GaussianMean(sympy.exp(rate * x**2), x), [], digits)
    with mp.workdps(digits + 10):
        exact = 1 / mp.sqrt(1 - 2 * mp.mpf(rate.p) / rate.q)
        assert abs(slow - exact) < mp.mpf(10) ** (3 - digits)
    assert quick == pytest.approx(float(exact), rel=1e-10)


def test_a_body_that_outgrows_the_density_has_no_mean_at_many_digits():
    with mp.workdps(20), pytest.raises(NotConverged):
        SLOW.function([], [GaussianMean(sympy.exp(x**2), x)])()
