"""Flows and their ways at many digits, against laws that have closed solutions."""

import pytest
import sympy
from mpmath import mp

from theorem_engine.backends import get_backend
from theorem_engine.backends.multiprecision import flow as lowered
from theorem_engine.language.operators import Component, Flow
from theorem_engine.language.operators.dynamics import Trajectory

x, y, t, a = sympy.symbols("x y t a", real=True)
clock = sympy.Symbol("clock", real=True)


def evaluate(expressions, inputs, values, digits):
    with mp.workdps(digits):
        run = get_backend("multiprecision").function(inputs, expressions)
        return run(*[mp.mpf(v) for v in values])


def near(found, truth, digits):
    return abs(found - truth) <= mp.mpf(10) ** (4 - digits) * (1 + abs(truth))


@pytest.mark.parametrize("digits", [20, 60])
def test_a_nonlinear_law_has_the_digits_asked_for(digits):
    """The logistic law, x/(1 - x) = exp(a t)/9, over the middle of its rise."""
    law = Flow.of({x: a * x * (1 - x)}, {x: sympy.Rational(1, 10)}, t)
    (found,) = evaluate([law], [t, a], ["3", "1.5"], digits)
    with mp.workdps(digits + 5):
        odds = mp.exp(mp.mpf("4.5")) / 9
        assert near(found, odds / (1 + odds), digits)


def test_a_stiff_law_has_the_digits_asked_for():
    """y falls a thousand times faster than x, which feeds it: x = exp(-t), y = (exp(-t) - exp(-1000 t))/999."""
    law = Flow.of({x: -x, y: x - 1000 * y}, {x: 1, y: 0}, t)
    _, found = evaluate([law, Component(law, 1)], [t], ["0.125"], 30)
    with mp.workdps(40):
        s = mp.mpf(1) / 8
        assert near(found, (mp.exp(-s) - mp.exp(-1000 * s)) / 999, 30)


def test_a_law_that_sees_the_clock_has_the_digits_asked_for():
    (found,) = evaluate([Flow.of({x: 2 * clock * x}, {x: 1}, t, clock=clock)], [t], ["1.5"], 40)
    with mp.workdps(50):
        assert near(found, mp.exp(mp.mpf("2.25")), 40)


def test_extrapolation_serves_where_polynomials_do_not(monkeypatch):
    """The other method gives the same digits."""

    def refuse(*_):
        raise lowered.NotConverged("no panels")

    monkeypatch.setattr(lowered, "collocate", refuse)
    (found,) = evaluate([Flow.of({x: 2 * clock * x}, {x: 1}, t, clock=clock)], [t], ["1.5"], 25)
    with mp.workdps(35):
        assert near(found, mp.exp(mp.mpf("2.25")), 25)


def test_the_way_of_a_flow_has_the_digits_asked_for():
    """A circle at four times beside the first, and its end again as numbers."""
    way = Trajectory(Flow.of({x: y, y: -x}, {x: 1, y: 0}, t), 4)
    times, cosines, end = evaluate([Component(way, 0), Component(way, 1), Component(way, 3)], [t], ["2"], 30)
    with mp.workdps(40):
        assert [near(v, mp.mpf(k) / 2, 30) for k, v in enumerate(times)] == [True] * 5
        assert [near(v, mp.cos(mp.mpf(k) / 2), 30) for k, v in enumerate(cosines)] == [True] * 5
        assert near(end, mp.cos(mp.mpf(2)), 30)
