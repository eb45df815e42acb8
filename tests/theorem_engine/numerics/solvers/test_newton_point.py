"""Newton's method at one point: a step that arrives is taken without another look, and arrives."""

import math

import pytest

from theorem_engine.numerics.solvers.newton import solve_point


def asked_at(system):
    """A system and the places it was asked at."""
    asked = []

    def run(x):
        asked.append(tuple(x))
        return system(x)

    return run, asked


@pytest.mark.parametrize("start", [0.1, 0.7, 1.0])
def test_the_last_step_is_not_looked_at_and_is_right_to_rounding(start):
    """x = cos x: the solution by bisection, which shares nothing with Newton's method."""
    low, high = 0.0, 1.0
    while high - low > 2e-16:
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if math.cos(middle) > middle else (low, middle)
    system, asked = asked_at(lambda x: [math.cos(x[0]), -math.sin(x[0])])
    (found,), residual, _ = solve_point(system, [start], (False,))
    assert abs(found - low) <= 4e-16
    assert residual <= 4e-15
    assert (found,) not in asked or abs(found - math.cos(found)) <= 4e-15


def test_a_map_with_a_double_root_is_followed_to_the_end():
    """x = x - (x - 1)^2: Newton halves the distance each time, which is no step of its own kind."""
    system, asked = asked_at(lambda x: [x[0] - (x[0] - 1) ** 2, 1 - 2 * (x[0] - 1)])
    (found,), residual, _ = solve_point(system, [2.0], (False,))
    assert residual <= 1e-9
    assert any(abs(place - found) == 0 for (place,) in asked)
