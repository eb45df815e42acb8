"""Searches that look roughly and end exactly: the place is that of the exact function, whatever the rough one says."""

import math

import numpy as np
import pytest

from theorem_engine.base.errors import NotConverged
from theorem_engine.numerics.roughly import Graded, is_rough, roughly
from theorem_engine.numerics.solvers.line_search import lowest, valley
from theorem_engine.numerics.solvers.search import graded_sign_change


def noisy(function, size):
    """A function off by a fixed pattern of this size."""
    return lambda x: function(x) + size * math.sin(1e6 * x)


def counted(function):
    """A function and the list of places it was asked at."""
    asked = []

    def run(x):
        asked.append(x)
        return function(x)

    return run, asked


def bowl(x):
    return 1 + math.log(x / 7.5) ** 2 / 10


def rise(x):
    return math.log(x / 7.5) / (5 * x)


@pytest.mark.parametrize("noise", [0, 1e-9, 1e-6, 1e-3])
def test_a_valley_is_where_the_exact_slope_is_zero(noise):
    exact, asked = counted(rise)
    found = valley(bowl, Graded(exact, noisy(rise, noise)), math.inf, 1.0)
    assert found.is_attained
    assert abs(found.place - 7.5) < 1e-6
    if noise < 1e-6:
        # the way there is rough: few exact slopes are asked for
        assert len(set(asked)) <= 6


def test_a_rough_slope_of_the_wrong_sign_does_not_mislead():
    """Roughly there is a minimum at 40; exactly the function falls for ever, or its minimum is at 7.5."""
    lying = Graded(lambda x: -1 / x**2, lambda x: -1 / x**2 + 1 / 1600)
    assert not valley(lambda x: 1 / x, lying, 1e6, 1.0).is_attained
    found = valley(bowl, Graded(rise, lambda x: math.log(x / 40) / (5 * x)), math.inf, 1.0)
    assert found.place == pytest.approx(7.5, rel=1e-6)
    with pytest.raises(NotConverged):
        graded_sign_change(Graded(lambda t: -1.0, lambda t: t - 0.5), 0.0, 1.0, 1.0)


@pytest.mark.parametrize("noise", [0, 1e-8, 3e-7])
def test_of_two_valleys_the_lower_is_found_however_alike(noise):
    """The bottoms differ by 1e-7 of the height, less than some of the noise."""

    def height(x):
        t = math.log(x) if x > 0 else -math.inf
        return 2.0 if x <= 0 else 2 - math.exp(-6 * t**2) - (1 + 1e-7) * math.exp(-6 * (t - 1.5) ** 2)

    def slope(x):
        t = math.log(x)
        return (12 * t * math.exp(-6 * t**2) + 12 * (t - 1.5) * (1 + 1e-7) * math.exp(-6 * (t - 1.5) ** 2)) / x

    rough = Graded(height, noisy(height, noise)), Graded(slope, noisy(slope, noise))
    found = lowest(*rough, 0.0, 1e4, 1.0, 8)
    plain = lowest(height, slope, 0.0, 1e4, 1.0, 8)
    assert found.place == pytest.approx(plain.place, rel=1e-6)
    assert found.place == pytest.approx(math.exp(1.5), rel=1e-3)


def test_secants_end_when_the_next_leaves_nothing():
    """Three looks at the exact slope of a bowl lead to its bottom, by a rough slope good to 1e-6."""
    exact, asked = counted(lambda t: math.expm1(t - 0.4))
    found = graded_sign_change(Graded(exact, lambda t: math.expm1(t - 0.4) + 1e-6), 0.0, 1.0, 1.0)
    assert abs(found - 0.4) < 1e-8
    assert len(asked) <= 3, asked


def test_where_neighbours_are_alike_no_rough_value_is_asked_for_nothing():
    """On a plateau every value has to be exact: after the first two nobody looks at a rough one there."""
    height, slope = (lambda x: bowl(x) if x > 0 else 9.0), rise
    flat = Graded(
        lambda x: 1 + 1e-6 * height(x), lambda x: pytest.fail("asked") if plateau(x) else 1 + 1e-6 * height(x)
    )

    def plateau(x):
        # the way out begins at 1, that inwards below it
        return x > 10 ** (2 / 4) * 1.01 or 0 < x < 10 ** (-2 / 4) * 0.99

    found = lowest(flat, Graded(slope, slope), 0.0, 1e4, 1.0, 4)
    assert found.place == pytest.approx(7.5, rel=1e-6)


def test_a_rough_slope_next_to_nothing_is_asked_exactly():
    """The function falls for ever by 1e-12 of its size; its rough slope says that it rises from 4 on."""
    exact, asked = counted(lambda x: -1e-12 / x**2)
    found = valley(lambda x: 1 + 1e-12 / x, Graded(exact, lambda x: -1e-12 / x**2 + 1e-12 / 16), 100.0, 1.0)
    assert not found.is_attained
    assert found.place == pytest.approx(100, rel=1e-12)
    assert found.below >= 1e-14
    # never back to where it is known to fall
    assert asked == sorted(asked)


def test_rough_is_a_matter_of_the_block():
    assert not is_rough()
    with roughly():
        assert is_rough()
    assert not is_rough()


#: Rough token means are right to so many shares of their size: what the search takes them for is a hundred times more.
ENOUGH = 1e-6


@pytest.mark.parametrize(("task", "activation"), [("spiked", "tanh"), ("spiked", "softplus"), ("max", "tanh"),
                                                  ("max", "softplus")])  # fmt: skip
@pytest.mark.parametrize(("nu", "slope"), [(5, "0.3"), (5, 4), (50, 60)])
def test_rough_risks_have_six_digits(task, activation, nu, slope):
    import theorem_engine as te

    point = {"task": task, "nu": nu, "L": 30, "activation": activation, "m_kk": slope, "m_vv": 1}
    exact = te.predict("duranthon2026.manifold-risk", **point).value
    with roughly():
        rough = te.predict("duranthon2026.manifold-risk", **point).value
    assert np.isfinite(rough)
    assert abs(rough - exact) <= ENOUGH * (1 + abs(exact))
