"""Functions for the lanes of vector registers, against mpmath at forty digits."""

import mpmath
import numpy as np
import pytest

numba = pytest.importorskip("numba")

from theorem_engine.numerics import lane_functions  # noqa: E402

UNIT = 2.0**-52


@pytest.fixture(scope="module")
def compiled():
    """Each function applied to an array."""

    def over(function):
        @numba.njit(error_model="numpy")
        def loop(x):
            found = np.empty_like(x)
            for i in range(x.size):
                found[i] = function(x[i])
            return found

        return loop

    return {name: over(getattr(lane_functions, f"lane_{name}")) for name in ("exp", "erf", "erfc")}


PLACES = {
    "exp": (np.linspace(-707.9, 709.3, 300), 2),
    "erf": (np.concatenate([np.linspace(-6, 6, 301), [0.5, -0.5, 0.4999999999999999, 1e-300, 3e-9]]), 8),
    "erfc": (np.concatenate([np.linspace(-6, 26.4, 301), [0.5, -0.5, 0.4999999999999999]]), 8),
}


@pytest.mark.parametrize("name", PLACES)
def test_every_digit_is_right_up_to_the_units_stated(name, compiled):
    places, units = PLACES[name]
    found = compiled[name](places)
    with mpmath.workdps(40):
        for place, value in zip(places, found, strict=True):
            truth = getattr(mpmath, name)(mpmath.mpf(float(place)))
            assert abs(mpmath.mpf(float(value)) - truth) <= units * UNIT * abs(truth), place


def test_ends_and_what_is_no_number(compiled):
    ends = np.array([-np.inf, -800.0, 0.0, 800.0, np.inf, np.nan])
    assert np.array_equal(compiled["exp"](ends), [0, 0, 1, np.inf, np.inf, np.nan], equal_nan=True)
    assert np.array_equal(compiled["erf"](ends), [-1, -1, 0, 1, 1, np.nan], equal_nan=True)
    assert np.array_equal(compiled["erfc"](ends), [2, 2, 1, 0, 0, np.nan], equal_nan=True)
    assert np.signbit(compiled["erf"](np.array([-0.0]))[0])
