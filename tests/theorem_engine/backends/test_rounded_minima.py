"""Errors of minima that are found from values alone: beside an end of the range, at it, and in the middle."""

import numpy as np
import pytest

from theorem_engine.backends.rounded.minimum import _by_values


def noisy(function, noise=1e-15):
    """A function as a value and its noise; outside its range it has none."""

    def height(u):
        value = function(u)
        return (value, noise) if np.isfinite(value) else (np.nan, np.inf)

    return height


@pytest.mark.parametrize("miss", [0.0, 1e-7, -3e-6, 2e-5])
@pytest.mark.parametrize("bottom", [0.3, 0.9, 0.9995])
def test_a_bottom_beside_the_place_of_the_search_is_within_the_errors(miss, bottom):
    def function(u):
        return 0.3 + 0.7 * (u - bottom) ** 2 + (u - bottom) ** 3 if 0 <= u <= 1 else np.nan

    place = bottom + miss
    below, within = _by_values(noisy(function), place, [1e-3, 1.0])
    assert abs(miss) <= within < max(1e-4, 32 * abs(miss))
    # the first width of the four-fold ones that shows both sides higher is at most eight times the miss
    assert function(place) - function(bottom) <= below < max(1e-10, 0.7 * (9 * miss) ** 2 * 1.1)


@pytest.mark.parametrize("gap", [0.0, 1e-9, 3e-6])
@pytest.mark.parametrize("turned", [False, True])
def test_a_function_that_falls_to_an_end_has_its_bottom_there(gap, turned):
    """The bottom of the range is the end; what lies beyond it has no value."""

    def function(u):
        u = 1.5 - u if turned else u
        return np.exp(u) if 0.5 <= u <= 1 else np.nan

    end = 1.0 if turned else 0.5
    place = end - gap if turned else end + gap
    below, within = _by_values(noisy(function), place, [0.5, 1.0])
    assert abs(place - end) <= within < 1e-4
    assert function(place) - function(end) <= below < 1e-3
    assert below < 1e-7 or gap > 1e-7


def test_a_place_beside_an_end_from_which_the_function_falls_is_not_known():
    assert _by_values(noisy(lambda u: -u), 0.5 + 1e-9, [0.5, 1.0]) == (np.inf, np.inf)


def test_a_flat_function_is_known_by_how_far_it_varies_only_where_all_of_it_was_looked_at():
    below, within = _by_values(noisy(lambda u: 1.0), 2.0, [0.1, 10.0])
    assert below <= 1e-14
    assert within == np.inf
    assert _by_values(noisy(lambda u: 1.0), 2.0, [0.1, 2.01])[0] == np.inf
