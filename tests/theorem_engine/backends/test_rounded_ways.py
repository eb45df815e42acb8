"""Errors of recurrences and flows: what every step makes, as the steps after it amplify it."""

from fractions import Fraction

import numpy as np
import pytest
import sympy
from mpmath import mp

from theorem_engine import Flow, Recurrence
from theorem_engine.backends import get_backend
from theorem_engine.backends.rounded import Rounded, judged

x, y, a, t = sympy.symbols("x y a t", real=True)


def ends(law, letters, *values):
    """The final state with its errors, from exact values of the letters."""
    backend = get_backend("rounded")
    return backend.function(letters, [law.at(s) for s in law.state])(*[backend.number(Fraction(v)) for v in values])


@pytest.mark.parametrize(("steps", "growing"), [(1, False), (7, False), (40, False), (300, False), (30, True)])
def test_a_map_is_as_near_to_its_exact_orbit_as_claimed(steps, growing):
    """x <- a x (1 - x), which settles at a = 2.7 and loses a bit of every step at a = 3.9, at 200 digits of mpmath."""
    rate = "3.9" if growing else "2.7"
    (found,) = ends(Recurrence.of({x: a * x * (1 - x)}, {x: y}, steps), [a, y], rate, "0.3")
    with mp.workdps(200):
        truth = mp.mpf("0.3")
        for _ in range(steps):
            truth = mp.mpf(rate) * truth * (1 - truth)
        distance = float(abs(truth - mp.mpf(float(found.value))))
    assert distance <= found.error < (1e-6 if growing else 1e-14)


def test_an_orbit_lost_in_chaos_has_no_error():
    (found,) = ends(Recurrence.of({x: a * x * (1 - x)}, {x: y}, 200), [a, y], "3.9", "0.3")
    assert np.isinf(found.error)


def test_a_map_at_the_end_of_its_domain_is_moved_inwards():
    """sqrt(1 - x^2) has nothing beyond x = 1: there its slope is infinite, and an error of the start is not known."""
    rule = {x: sympy.sqrt(1 - x**2) / 2}
    (exact,) = ends(Recurrence.of(rule, {x: y}, 3), [y], 1)
    with mp.workdps(30):
        truth = mp.mpf(0)
        for _ in range(2):
            truth = mp.sqrt(1 - truth**2) / 2
    assert abs(float(exact.value) - float(truth)) <= exact.error < 1e-15


def test_two_letters_amplify_each_other():
    """A rotation by one radian and a stretch of 1.1, in closed form."""
    c, s = (sympy.Rational(11, 10) * f(1) for f in (sympy.cos, sympy.sin))
    found = ends(Recurrence.of({x: c * x - s * y, y: s * x + c * y}, {x: 1, y: a}, 60), [a], "0.1")
    with mp.workdps(40):
        whole = (1 + mp.mpf("0.1") * 1j) * (mp.mpf("1.1") * mp.expj(1)) ** 60
        for number, truth in zip(found, (whole.real, whole.imag), strict=True):
            assert abs(mp.mpf(float(number.value)) - truth) <= number.error < 1e-10


@pytest.mark.parametrize("time", ["0.5", "6"])
def test_a_flow_is_as_near_to_its_closed_form_as_claimed(time):
    """y' = y (1 - y) is the logistic function; moved starts are followed in the same steps."""
    (found,) = ends(Flow.of({x: x * (1 - x)}, {x: a}, t), [a, t], "0.1", time)
    with mp.workdps(30):
        truth = 1 / (1 + 9 * mp.exp(-mp.mpf(time)))
        assert abs(mp.mpf(float(found.value)) - truth) <= found.error < 1e-11


def test_a_stiff_flow_is_as_near_to_its_closed_form_as_claimed():
    """y' = -10^5 (y - z), z' = -z: too stiff for all starts at once."""
    law = Flow.of({x: -(10**5) * (x - y), y: -y}, {x: 2, y: a}, t)
    found = ends(law, [a, t], 1, 1)
    with mp.workdps(30):
        truths = (mp.exp(-1) * mp.mpf(10**5) / (10**5 - 1), mp.exp(-1))
        for number, truth in zip(found, truths, strict=True):
            assert abs(mp.mpf(float(number.value)) - truth) <= number.error < 1e-9


@pytest.mark.parametrize("bad", [False, True])
def test_parameters_moved_together_are_judged_as_they_are_one_by_one(bad):
    """Against the operator judged one parameter after the other; where one of the points has no value that is done."""
    calls = []

    def plain(x, y, n):
        calls.append(np.ndim(x))
        z = np.sqrt(1.0 - np.asarray(x, dtype=float)) * np.exp(y) + n
        if bad and np.any(np.asarray(x) > 0.25):
            raise ArithmeticError("no value there")
        return [z, z * z][: 2 - int(bad)]

    letters = sympy.Symbol("x"), sympy.Symbol("y"), sympy.Symbol("n", integer=True)
    values = Rounded(0.25, 1e-9), Rounded(1.5, 1e-12), Rounded(3.0)
    alone = judged(plain, letters)(*values)
    calls.clear()
    both = judged(plain, letters, together=True)(*values)
    assert [r.value for r in both] == [r.value for r in alone]
    for one, other in zip(both, alone, strict=True):
        assert one.error == pytest.approx(other.error, rel=1e-6)
    assert calls.count(1) == 1
    assert len(calls) == (2 if not bad else 5)


CLOSED = {
    "oscillator": ({x: -a * y, y: a * x}, {x: t, y: 0}, lambda s, r, T: (s * mp.cos(r * T), s * mp.sin(r * T))),
    "tanh": ({x: a * (1 - x**2)}, {x: 0 * t}, lambda s, r, T: (mp.tanh(r * T),)),
    "square": ({x: -a * x**2}, {x: t}, lambda s, r, T: (s / (1 + s * r * T),)),
    "logistic": ({x: a * x * (1 - x)}, {x: t}, lambda s, r, T: (1 / (1 + (1 / s - 1) * mp.exp(-r * T)),)),
}


@pytest.mark.parametrize("name", CLOSED)
def test_flows_of_few_steps_and_of_many_are_as_near_to_their_closed_forms_as_claimed(name):
    """Starts, rates and times of three sizes; a start at zero is rounded where it moves, not where it is."""
    bodies, start, truth = CLOSED[name]
    duration, rng = sympy.Symbol("duration"), np.random.default_rng(4)
    law = Flow.of(bodies, start, duration)
    for _ in range(25):
        values = [
            f"{rng.uniform(0.1, 0.95):.3f}",
            f"{10 ** rng.uniform(-1, 1):.3f}",
            f"{10 ** rng.uniform(-1.5, 0.8):.3f}",
        ]
        found = ends(law, [t, a, duration], *values)
        with mp.workdps(40):
            for number, exact in zip(found, truth(*map(mp.mpf, values)), strict=True):
                distance = abs(mp.mpf(float(number.value)) - exact)
                assert distance <= number.error, values
