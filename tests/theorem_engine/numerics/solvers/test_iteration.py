"""Self-consistent groups solved by iterating their map, and minima found from values alone."""

import numpy as np
import pytest
import sympy

from theorem_engine.backends import get_backend
from theorem_engine.backends.float64 import iterated
from theorem_engine.base.errors import NotAvailable, NotConverged, UnsolvableCycle
from theorem_engine.base.reports import listening
from theorem_engine.language.operators import Minimum
from theorem_engine.language.operators.channel import ChannelMean
from theorem_engine.language.statement import Unknown
from theorem_engine.numerics.solvers.iteration import following, iterate, nearest_solution, remember
from theorem_engine.planning.plan import make_plan

QUICK = get_backend("float64")
g, h, e, a, b, n = sympy.symbols("g h e a b n", real=True)


@pytest.mark.parametrize("method", ["anderson", "iteration"])
def test_a_group_without_jacobian_is_solved_by_iterating_its_map(method):
    equations = {
        a: Unknown(sympy.cos(b) + n, 1, method=method),
        b: Unknown(sympy.exp(-a) / 2, 1, positive=True, method=method),
    }
    with listening() as notes:
        found = QUICK.compile(make_plan([n], equations, [a, b]))(0.1)
    assert found[0] == pytest.approx(np.cos(found[1]) + 0.1, abs=1e-8)
    assert found[1] == pytest.approx(np.exp(-found[0]) / 2, abs=1e-8)
    assert method in notes[-1].method


def test_without_convergence_the_residual_is_told_and_no_number_returned():
    run = QUICK.compile(make_plan([n], {a: Unknown(n - a, 0, method="iteration")}, [a]))
    with pytest.raises(NotConverged, match=r"residual 1\.0e\+00 after 4000 evaluations"):
        run(1.0)


def test_one_group_takes_one_method():
    equations = {a: Unknown(b + 1, 1, method="anderson"), b: Unknown(a / 2, 1)}
    with pytest.raises(UnsolvableCycle, match="anderson, newton"):
        make_plan([], equations, [a])


def test_iterated_groups_have_no_more_digits():
    plan = make_plan([], {a: Unknown(sympy.cos(a), 1, method="anderson")}, [a])
    with pytest.raises(NotAvailable, match="double precision only"):
        get_backend("multiprecision").compile(plan)


def test_acceleration_beats_plain_damping_and_lands_on_the_same_point():
    matrix = np.array([[0.9, 0.3], [-0.2, 0.85]])

    def function(x):
        return matrix @ x + np.array([0.1, 0.2])

    exact = np.linalg.solve(np.eye(2) - matrix, [0.1, 0.2])
    start, signs = np.zeros(2), [False, False]
    quick = iterate(function, start, signs, memory=6, damping=0.7, steps=500, tolerance=1e-10)
    slow = iterate(function, start, signs, memory=0, damping=0.7, steps=2000, tolerance=1e-10)
    assert quick[0] == pytest.approx(exact, abs=1e-8)
    assert slow[0] == pytest.approx(exact, abs=1e-7)
    assert quick[2] < slow[2] / 5


def test_a_positive_unknown_far_below_its_start_is_reached():
    found, residual, _ = iterate(
        lambda x: 1e-12 * np.exp(-x), np.ones(1), [True], memory=6, damping=0.7, steps=100, tolerance=1e-10
    )
    assert found[0] == pytest.approx(1e-12, rel=1e-9)
    assert residual <= 1e-10


def test_a_minimum_is_found_from_values_alone():
    bowl = (sympy.log(a) - 1) ** 2 + (sympy.log(b) + sympy.log(a)) ** 2 + 3
    lowest = Minimum(bowl, over={a: (sympy.Rational(1, 100), 100), b: (sympy.Rational(1, 100), 100)}, slopes=False)
    value, first, second = QUICK.function([], [lowest, lowest.at(a), lowest.at(b)])()
    assert value == pytest.approx(3, abs=1e-3)
    assert (first, second) == (pytest.approx(np.e, rel=0.05), pytest.approx(1 / np.e, rel=0.05))
    line = Minimum((a - sympy.Rational(1, 3)) ** 2, over={a: (-1, 1)}, slopes=False)
    assert QUICK.function([], [line.at(a)])()[0] == pytest.approx(1 / 3, abs=1e-4)
    with pytest.raises(NotAvailable, match="values alone"):
        get_backend("multiprecision").function([], [line])


def test_a_stuck_iteration_is_no_solution_unless_the_map_is_known_no_better():
    """A step that the iteration cannot get below; only a map with statistical error may leave a residual."""

    def stairs(x):
        return 0.5 * x + 1 - 1e-4 * np.sign(x - 2)

    found = iterate(stairs, np.ones(1), [False], memory=6, damping=0.7, steps=150, tolerance=1e-9)
    assert found[1] > 1e-6
    enough = iterate(
        stairs, np.ones(1), [False], memory=6, damping=0.7, steps=150, tolerance=1e-9,
        is_enough=lambda x, value: bool(np.abs(value - x) < 1e-3),
    )  # fmt: skip
    assert enough[2] < found[2]
    equations = {a: Unknown(a / 2 + 1 - sympy.sign(a - n) / 10**4, 1, method="anderson")}
    with pytest.raises(NotConverged, match="residual"):
        QUICK.compile(make_plan([n], equations, [a]))(2.0)


def test_steps_below_the_statistical_error_are_accepted():
    made = ChannelMean.of({"one": sympy.Piecewise((1, h < a), (0, True))}, token_normals=(), normals=(h,), first=e,
                          tokens=1, samples=256)  # fmt: skip
    equations = {a: Unknown(made.mean("one"), sympy.Rational(1, 2), method="anderson")}
    found = QUICK.compile(make_plan([], equations, [a]))()[0]
    # a = Phi(a)
    assert found == pytest.approx(0.7517915, abs=0.03)


def test_a_letter_that_eases_the_equations_is_followed_back(monkeypatch):
    """The map has no value at the start; at larger n it has, and the solution there is near enough."""
    rule = (a + sympy.sqrt(10 * n - a)) / 8
    plan = make_plan([n], {a: Unknown(rule, 5, along=n, method="anderson")}, [a])
    found = QUICK.compile(plan)(0.2)[0]
    assert 7 * found == pytest.approx(np.sqrt(2 - found), abs=1e-8)
    monkeypatch.setattr(iterated, "EASINGS", 0)
    with pytest.raises(NotConverged, match="residual"):
        QUICK.compile(plan)(0.2)


def test_a_search_starts_each_point_from_the_nearest_solution():
    assert nearest_solution("system", np.ones(2)) is None
    with following():
        remember("system", np.array([1.0, 5.0]), np.array([10.0]))
        remember("system", np.array([4.0, 5.0]), np.array([40.0]))
        assert nearest_solution("system", np.array([3.5, 5.0]))[0] == 40
        assert nearest_solution("system", np.array([1.1, np.inf]))[0] == 10
        assert nearest_solution("other", np.ones(2)) is None
    assert nearest_solution("system", np.ones(2)) is None


def test_what_was_searched_before_does_not_change_a_search():
    body = a**2 + (b - 1) ** 2 + ChannelMean.of({"one": h * 0 + b}, token_normals=(), normals=(h,), first=e, tokens=1,
                                               samples=64).mean("one")  # fmt: skip
    lowest = Minimum(body, over={a: (-1, 2), b: (-1, 2)}, slopes=False)
    run = QUICK.function([], [lowest])
    assert run() == run()
