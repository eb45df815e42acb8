"""Changes of sign where a function jumps, and memories of one search and of searches, against closed forms."""

import math

import pytest

from theorem_engine.numerics.remembering import handed_on, remembered, remembering
from theorem_engine.numerics.solvers.following import been_to, one_search
from theorem_engine.numerics.solvers.search import find_root
from theorem_engine.numerics.solvers.torn import crossing


@pytest.mark.parametrize("bend", [0.0, 0.3, -0.2])
@pytest.mark.parametrize("last", [True, False])
def test_the_end_of_a_fold_is_found_in_few_looks(bend, last):
    """A square root with a bend on one side of 1.2345, and minus one beyond."""
    end, looks = 1.2345, []

    def function(x):
        looks.append(x)
        gap = (x - end) if last else (end - x)
        return math.sqrt(gap) * (1 + bend * math.sqrt(gap)) if gap >= 0 else -1.0

    found = find_root(function, 0.5, 4.0, last=last, count=5)
    assert abs(found - end) < 2e-11 * end
    assert len(looks) < 30


def test_a_jump_between_two_levels_is_found_by_halves():
    found = find_root(lambda x: 0.01 if x > math.pi else -1.0, 1.0, 8.0, last=True, count=6)
    assert abs(found - math.pi) < 2e-11 * math.pi


def test_a_smooth_change_of_sign_beside_a_jump_is_found_to_rounding():
    found = find_root(lambda x: math.log(x / 2) if x > 1.7 else -1.0, 1.0, 8.0, last=True, count=4)
    assert abs(found - 2) < 1e-15 * 4


def test_a_search_knows_its_own_places_only():
    with one_search():
        been_to("a").append(((1.0,), 2.0))
        assert been_to("a") == [((1.0,), 2.0)]
        with one_search():
            assert been_to("a") == []
    assert been_to("a") == []


def test_what_was_searched_for_is_handed_on_from_among_many_values():
    with remembering() as memory:
        for i in range(1000):
            remembered(("value", i), lambda i=i: i)
        remembered(("root",), lambda: 7.0, is_search=True)
    known = handed_on(memory)()
    with remembering(known):
        assert remembered(("root",), lambda: 8.0, is_search=True) == 7.0


def _crossing(function, low, high):
    return crossing(function, {low: function(low), high: function(high)}, low, high)


@pytest.mark.parametrize("root", [0.3, 1e-3, 7.0])
@pytest.mark.parametrize("steep", [5, 300, 1e5])
def test_a_plateau_beside_a_steep_place_is_no_jump(root, steep):
    """Known to the last digit, as any root of a smooth function."""
    found = _crossing(lambda x: math.tanh(steep * (x - root) / root) + 1e-3 * (x - root), root / 50, root * 9)
    assert abs(found - root) <= 4e-16 * root


def test_lopsided_steps_are_no_jumps():
    """Small on one side from afar, and still smooth: the place is where the logarithm says."""
    found = _crossing(lambda x: 1 - 2 * math.exp(-9 * math.log1p(math.exp(400 * (x - 0.7)))), 0.1, 2.0)
    truth = 0.7 + math.log(2 ** (1 / 9) - 1) / 400
    assert abs(found - truth) <= 1e-15
