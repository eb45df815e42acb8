"""Continuation: which solution it leads to, where its way ends, and that nobody else sees it."""

import math

import pytest
import sympy
from mpmath import mp
from scipy.integrate import solve_ivp
from sympy import cosh, exp, sin, sqrt

from theorem_engine import GaussianMean, Unknown, homotopy, notation
from theorem_engine.backends.base import get_backend
from theorem_engine.base.errors import NotConverged, UnsolvableCycle
from theorem_engine.language.statement import Total, make_statement
from theorem_engine.planning.plan import make_plan

var = notation("test.homotopy")
a, x, y, Z = (var(n, n, "a number") for n in "axyZ")


def solved(equation, start, value, backend="float64", **how):
    number = mp.mpf(value) if backend == "multiprecision" else float(value)
    run = get_backend(backend).function([a], [x], {x: Unknown(equation, start, **how)})
    return run(number)[0]


@pytest.mark.parametrize("value", [0.1, -0.1, 0.6])
def test_the_solution_is_the_one_connected_with_that_of_the_easy_equation(value):
    """x = a + 3 sin(x) has three solutions; x(t) = a + t 3 sin(x(t)) leads from a to one of them."""
    found = solved(homotopy(a + 3 * sin(x), a), 0, value)

    def slope(t, state):
        return 3 * math.sin(state[0]) / (1 - 3 * t * math.cos(state[0]))

    way = solve_ivp(slope, (0, 1), [value], rtol=1e-10, atol=1e-12)
    assert found == pytest.approx(float(way.y[0, -1]), rel=1e-7)
    assert found == pytest.approx(value + 3 * math.sin(found), rel=1e-13)


def test_digits_polish_the_same_solution():
    with mp.workdps(30):
        found = solved(homotopy(a + 3 * sin(x), a), 0, "0.1", "multiprecision")
        assert abs(found - mp.mpf("0.1") - 3 * mp.sin(found)) < mp.mpf(10) ** -28
    assert float(found) == pytest.approx(solved(homotopy(a + 3 * sin(x), a), 0, "0.1"), rel=1e-14)


def test_a_way_that_ends_says_where():
    """x = t (x^2 + 1) has no solution beyond t = 1/2."""
    with pytest.raises(NotConverged, match=r"ends on the way from the easy equations, at 0\.(49999|5)"):
        solved(homotopy(a * (x**2 + 1), 0), 0, 1)


def test_an_easy_form_inside_a_mean_is_followed_too():
    """x = E cosh(a x Z)^(-2) with the mean begun without its letter."""
    found = solved(GaussianMean(1 / cosh(homotopy(a * x, a) * Z) ** 2, Z), 1, 2)
    truth = solved(GaussianMean(1 / cosh(a * x * Z) ** 2, Z), 0.5, 2)
    assert found == pytest.approx(truth, rel=1e-13)


def test_outside_of_self_consistent_equations_it_is_what_is_meant():
    node = homotopy(exp(-a), 1)
    assert get_backend("float64").function([a], [node, sqrt(node)])(2.0) == pytest.approx([math.exp(-2), math.exp(-1)])
    assert str(node) == "exp(-a)"
    assert sympy.latex(node) == sympy.latex(exp(-a))
    assert homotopy(a, a) is a
    assert node.diff(a) == -exp(-a)


def test_derivatives_go_through_the_solution_as_if_the_word_were_not_there():
    def slope(equation):
        written = make_statement("test.homotopy", (a,), {x: Unknown(equation, 0), "slope": Total(x, a)})
        plan = make_plan([a], written.equations, written.targets())
        return get_backend("float64").compile(plan)(0.6)[0]

    place = solved(homotopy(a + 3 * sin(x), a), 0, 0.6)
    assert slope(homotopy(a + 3 * sin(x), a)) == pytest.approx(1 / (1 - 3 * math.cos(place)), rel=1e-12)


def test_many_points_are_followed_one_by_one():
    import numpy as np

    run = get_backend("float64").function([a], [x], {x: Unknown(homotopy(a + 3 * sin(x), a), 0)})
    many = run(np.array([0.1, -0.1, 0.6]))[0]
    assert list(many) == pytest.approx([solved(homotopy(a + 3 * sin(x), a), 0, v) for v in (0.1, -0.1, 0.6)])


def test_an_iteration_has_no_way_to_follow():
    with pytest.raises(UnsolvableCycle, match="Newton"):
        solved(homotopy(a * sin(x), a), 0, 1, method="iteration")
