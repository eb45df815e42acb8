"""Brackets of a token beside sums over all its nodes in higher precision, and panels beside an even finer rule."""

import numpy as np
import pytest

from theorem_engine.numerics.laplace.nodes import normal_weights
from theorem_engine.numerics.laplace.sums import ROUGH_SPAN, SPAN, DenseToken
from theorem_engine.numerics.panels import graded_edges, nodes_of, resolve
from theorem_engine.numerics.roughly import roughly


def log_softplus(t):
    """The same in the precision of its argument."""
    return np.where(t > 30, np.log(np.maximum(t, 1)), np.log(np.log1p(np.exp(np.minimum(t, 30)))))


def token(slope, span):
    edges = resolve(
        lambda x: [log_softplus(slope * x), 1 + x], graded_edges(-9.5, 9.5, 0.5, []), 800_000, rises=1, span=span
    ).edges
    x, weights = nodes_of(edges)
    weights = weights * normal_weights(x, 1.0)
    return DenseToken(x, weights, log_softplus(slope * x), [(1, None), (2, None), (1, 1 + x)])


def by_trapezoid(slope, u):
    """E of exp(-v), 1 - exp(-v), v exp(-v), v^2 exp(-v) and (1 + x) v exp(-v), by many even steps, in long doubles."""
    step = np.longdouble(2) ** -13
    x = np.arange(-12 * 2**13, 12 * 2**13 + 1) * step
    weights = np.exp(-x * x / 2) * step / np.sqrt(8 * np.arctan(np.longdouble(1)))
    v = np.exp(u + log_softplus(slope * x))
    decay = np.exp(-v)
    parts = decay, -np.expm1(-v), v * decay, v * v * decay, (1 + x) * v * decay
    return [float(np.sum(weights * part)) for part in parts]


U = np.array([-60.0, -40.0, -25.0, -12.0, -6.0, -3.0, -1.0, 0.0, 2.0, 5.0, 9.0, 30.0, 80.0])


@pytest.mark.parametrize(("slope", "span"), [(20.0, SPAN), (60.0, SPAN), (60.0, ROUGH_SPAN)])
def test_brackets_are_sums_over_all_nodes(slope, span):
    """Exactly to rounding; roughly to six digits and more of the largest bracket of its kind."""
    made = token(slope, span)
    if span == SPAN:
        found = made(U)
        tolerance = 2e-14
    else:
        with roughly():
            found = made(U)
        tolerance = 1e-7
    table = np.array([found.survival, found.complement, *found.values])
    expected = np.array([by_trapezoid(slope, u) for u in U]).T
    seen = expected > 1e-18
    assert seen.sum() > 40
    assert np.max(np.abs(table - expected)[seen] / expected[seen]) <= tolerance
