"""Stiff laws against their exact solutions."""

import math

import numpy as np
import pytest

from theorem_engine.numerics.solvers.stiff import follow


def test_fast_decay_onto_a_known_curve():
    """y' = -1000 (y - cos t) - sin t with t' = 1 tends to cos t within a thousandth."""

    def rates(state):
        t, y = state
        return [1.0, -1000 * (y - math.cos(t)) - math.sin(t)]

    end = follow(rates, [0.0, 3.0], 5.0, 1e-12, 1e-15)
    assert end == pytest.approx([5.0, math.cos(5.0)], abs=1e-11)


def test_a_slow_law_is_as_accurate():
    """The logistic law, solved in closed form."""
    end = follow(lambda y: [y[0] * (1 - y[0])], [0.1], 3.0, 1e-12, 1e-15)
    assert end[0] == pytest.approx(1 / (1 + 9 * math.exp(-3)), rel=1e-11)


def test_two_scales_of_a_linear_law():
    """Eigenvalues -1 and -10^4 of a matrix that is not symmetric."""
    matrix = np.array([[-1.0, 9999.0], [0.0, -10000.0]])
    end = follow(lambda y: matrix @ y, [1.0, 1.0], 1.0, 1e-12, 1e-15)
    # the second letter feeds the first: y1 = 2 exp(-t) - exp(-10^4 t)
    assert end == pytest.approx([2 * math.exp(-1), 0.0], abs=1e-11)
