"""Token means with two weights at once: against plain quadrature, and one way of cutting the score against another."""

import numpy as np
import pytest
import sympy

from theorem_engine.backends import get_backend
from theorem_engine.backends.float64 import token_pair
from theorem_engine.language.functions import log_softplus
from theorem_engine.language.lengths import Distribution
from theorem_engine.language.operators.token_mean import Tokens
from theorem_engine.numerics.laplace import double_sums as laplace_sweep
from theorem_engine.numerics.laplace import tiles as laplace_tiles

L = sympy.Symbol("L", positive=True)
x, z, w, p, s, m, r = sympy.symbols("x z w p s m r", positive=True)
FLOAT = get_backend("float64")
RIVALS = Tokens(L, (x,), {p: s * x, w: log_softplus(m * x)})
SMEARED = Tokens(L, (x, z), {p: s * x, w: log_softplus(m * x + r * z)})


def fixed(n):
    return Distribution(((n, 1),))


def value(mean, n, **letters):
    symbols = sorted(mean.free_symbols - {L}, key=str)
    return float(FLOAT.function([L, *symbols], [mean])(fixed(n), *[letters[str(q)] for q in symbols])[0])


def both_tokens(slope, rate, count=6001):
    """E of the sum of p w over two tokens, by the trapezoid rule in both scores."""
    grid, step = np.linspace(-9, 9, count, retstep=True)
    weights = np.exp(-(grid**2) / 2) / np.sqrt(2 * np.pi) * step
    heights = np.logaddexp(0, rate * grid)
    total = 0.0
    for i in range(count):
        first = np.exp(-np.logaddexp(0, slope * (grid - grid[i])))
        total += 2 * weights[i] * np.sum(weights * first * heights[i] / (heights[i] + heights))
    return total


@pytest.mark.parametrize(("slope", "rate"), [(0.3, 0.4), (5, 6.6), (50, 20), (50, 52), (5, 60), (30, 62)])
def test_two_tokens_agree_with_plain_quadrature(slope, rate):
    found = value(RIVALS.mean(each=(p * w,)), 2, s=slope, m=rate)
    assert found == pytest.approx(both_tokens(slope, rate), rel=1e-13)


@pytest.mark.parametrize("n", [2, 3, 10, 100, 10**6])
@pytest.mark.parametrize(("slope", "rate"), [(5, 25), (20, 90), (1, 12)])
def test_nodes_that_follow_a_steep_kernel_change_nothing(slope, rate, n, monkeypatch):
    """Tiles with few nodes for the first kernel and many for the second, and tiles with as many for both."""
    means = [RIVALS.mean(each=(p * w,)), RIVALS.mean(each=(p * w * x, w))]
    found = []
    for threshold in (0.0, 1e9):
        monkeypatch.setattr(token_pair, "STEEP", threshold)
        found.append([value(mean, n, s=slope, m=rate) for mean in means])
    assert found[0] == pytest.approx(found[1], rel=2e-13)


@pytest.mark.parametrize(("slope", "rate", "n"), [(5, 12, 10), (50, 52, 2), (5, 476, 100)])
def test_the_cutting_of_the_score_changes_nothing(slope, rate, n, monkeypatch):
    whole = value(RIVALS.mean(each=(p * w,)), n, s=slope, m=rate)
    monkeypatch.setattr(laplace_tiles, "COUNT", 40)
    monkeypatch.setattr(laplace_tiles, "SPAN", 7.0)
    monkeypatch.setattr(laplace_sweep, "TOGETHER", 3.0)
    monkeypatch.setattr(laplace_sweep, "STEP", 0.125)
    assert value(RIVALS.mean(each=(p * w,)), n, s=slope, m=rate) == pytest.approx(whole, rel=1e-13)


@pytest.mark.parametrize(("rate", "width"), [(3, 1), (5, 0.1), (20, 0.1), (0.5, 2)])
def test_a_score_of_two_letters_is_one_letter_to_the_kernel(rate, width):
    """The kernel at nodes of its score, shared by neighbouring x, and at nodes of the second letter for every x."""
    found = []
    for is_shared in (True, False):
        mean = SMEARED.mean(each=(p * w * z,))
        pair = token_pair._Pair((mean,), (L, m, r, s), FLOAT)
        if not is_shared:
            pair.ratio = None
        found.append(pair(fixed(4), rate, width, 2.0)[0][0])
    assert found[0] == pytest.approx(found[1], rel=1e-12)


def test_a_narrow_second_letter_is_none():
    """The mean is even in the width r of the second letter, and its change of second order."""
    exact = value(RIVALS.mean(each=(p * w,)), 5, s=4, m=6)
    changes = [value(SMEARED.mean(each=(p * w,)), 5, s=4, m=6, r=width) - exact for width in (0.02, 0.01)]
    assert changes[0] / changes[1] == pytest.approx(4, rel=1e-3)


def test_stated_errors_cover_the_difference_to_a_finer_lattice(monkeypatch):
    """A bend of the second kernel converges later than the rest: halving once more must stay within the error."""
    mean = RIVALS.mean(each=(p * w,))
    pair = token_pair._Pair((mean,), (L, m, s), FLOAT)
    for slope, rate, n in [(50.0, 90.0, 30), (100.0, 100.0, 2), (20.0, 89.0, 30), (5.0, 30.0, 3)]:
        ((found, error),) = pair(fixed(n), rate, slope)
        with monkeypatch.context() as patch:
            coarse = laplace_sweep._Sweep.first_step
            patch.setattr(laplace_sweep._Sweep, "first_step", lambda *a, coarse=coarse: coarse(*a) / 4)
            ((finer, _),) = pair(fixed(n), rate, slope)
        assert abs(found - finer) <= error + 2e-15 * finer
