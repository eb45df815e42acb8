"""Channel averages and the functions of tokens they use, free of any paper."""

import numpy as np
import pytest
import sympy
from scipy.integrate import quad
from scipy.special import ndtr, owens_t

from theorem_engine.backends import get_backend
from theorem_engine.base.errors import NotAvailable
from theorem_engine.base.random_sets import COUNT, only, standard_error
from theorem_engine.base.reports import listening
from theorem_engine.language.operators.channel import ChannelMean, TokenFront, TokenLogSum, TokenMax, TokenSort
from theorem_engine.language.operators.proximal import Proximal
from theorem_engine.language.operators.stochastic import TokenSum
from theorem_engine.numerics.laplace import largest

QUICK = get_backend("float64")
g, h, e, a, b = sympy.symbols("g h e a b", real=True)


# means


def channel(body, tokens=3, count=2**12):
    made = ChannelMean.of({"one": body}, token_normals=(g,), normals=(h,), first=e, tokens=tokens, samples=count)
    return made.mean("one")


def test_moments_of_the_normal_letters_are_right_within_the_reported_error():
    """Five numbers at six standard errors from four scrambles: one seed in twenty fails; this one is fixed."""
    bodies = {TokenSum(g**2): 3, h**4: 3, TokenSum(e * g * h): 0, TokenSum(g**2) * h**2: 3, TokenSum(e): 1}
    for body, exact in bodies.items():
        with listening() as notes:
            value = QUICK.function([], [channel(body)])()[0]
        error = notes[-1].error[0]
        assert abs(value - exact) <= 6 * error + 1e-12
        assert error < 0.2


def test_a_mean_is_the_same_at_every_call_and_smooth_in_its_parameters():
    mean = QUICK.function([a], [channel(sympy.exp(a * h))])
    assert mean(0.3) == mean(0.3)
    step = 1e-4
    second = (mean(0.3 + step)[0] - 2 * mean(0.3)[0] + mean(0.3 - step)[0]) / step**2
    assert second == pytest.approx((1 + 0.09) * np.exp(0.045), rel=0.05)


def test_all_scrambles_together_are_the_mean_of_each_alone():
    mean = QUICK.function([], [channel(sympy.cos(h) * TokenSum(g**2))])
    each = []
    for index in range(COUNT):
        with only(index):
            each.append(mean()[0])
    assert len(set(each)) == COUNT
    assert mean()[0] == pytest.approx(np.mean(each), abs=1e-13)


def test_arrays_of_parameters_give_arrays_of_means():
    mean = QUICK.function([a], [channel(a * h**2)])
    both = mean(np.array([1.0, 2.0]))[0]
    assert both == pytest.approx([mean(1.0)[0], mean(2.0)[0]], abs=1e-15)


def test_the_largest_of_three_normals_comes_first_after_sorting():
    mean = QUICK.function([], [channel(TokenSum(e * TokenSort(g)), count=2**14)])
    assert mean()[0] == pytest.approx(3 / (2 * np.sqrt(np.pi)), abs=3e-3)


def test_a_token_is_drawn_with_its_softmax_probability():
    """The mean score of the drawn token is slope times one minus the mean sum of squared weights (Stein)."""
    from theorem_engine.language.functions import normal_cdf

    drawn = TokenSum(e * TokenFront(g, 2, normal_cdf(h)))
    weights = TokenSum(sympy.exp(4 * g - 2 * TokenLogSum(2 * g)))
    made = ChannelMean.of(
        {"score": drawn, "squares": weights}, token_normals=(g,), normals=(h,), first=e, tokens=4, samples=2**15
    )
    score, squares = QUICK.function([], [made.mean("score"), made.mean("squares")])()
    assert score == pytest.approx(2 * (1 - squares), abs=5e-3)


def test_the_outer_letter_of_the_same_name_stays_free():
    made = ChannelMean.of({"one": g + h}, token_normals=(), normals=(h,), first=e, tokens=1, samples=256)
    assert made.free_symbols == {g}


def test_more_digits_are_refused():
    with pytest.raises(NotAvailable):
        get_backend("multiprecision").function([], [channel(h)])


def test_a_channel_averages_functions_of_a_proximal_point():
    """Half a squared distance of their sum from h: two tokens of width one go a third of the way each."""
    x = sympy.Symbol("x", real=True)
    point = Proximal(TokenSum((x - b * g) ** 2) / 2 + (h - TokenSum(x)) ** 2 / 2, over=(x,))
    found = {a: point.at(x)}
    exact = b * g + (h - b * TokenSum(g)) / 3
    made = ChannelMean.of(
        {"gap": TokenSum((a - exact) ** 2), "jumps": point.jumps, "moved": TokenSum((a - b * g) ** 2)},
        token_normals=(g,), normals=(h,), first=e, tokens=2, samples=2**12, where=found,
    )  # fmt: skip
    gap, jumps, moved = QUICK.function([b], [made.mean(name) for name in ("gap", "jumps", "moved")])(0.5)
    assert gap < 1e-25
    assert jumps == 0
    # two tokens, each moved by a third of h - (g_1 + g_2)/2
    assert moved == pytest.approx(2 * 1.5 / 9, rel=0.02)


def test_the_largest_and_the_sum_of_exponentials_over_tokens():
    run = QUICK.function([g], [TokenMax(g), TokenLogSum(g)])
    numbers = np.array([[1.0, -2.0, 0.5], [-800.0, 900.0, 899.0]])
    top, total = run(numbers)
    assert np.array_equal(top, [[1.0], [900.0]])
    assert total == pytest.approx(
        np.array([[np.log(np.exp(1) + np.exp(-2) + np.exp(0.5))], [900 + np.log1p(np.exp(-1))]])
    )
    assert run(np.full((1, 2), -np.inf))[1][0, 0] == -np.inf


# the largest of several


@pytest.mark.parametrize("length", [2, 3, 12])
def test_probabilities_of_being_largest_match_drawing(length):
    rng = np.random.default_rng(0)
    omega, spread = rng.normal(size=(1, length)), 0.7
    drawn = np.argmax(omega + spread * rng.normal(size=(400_000, length)), axis=1)
    share = np.bincount(drawn, minlength=length) / len(drawn)
    assert np.exp(largest.log_probability(omega, spread))[0] == pytest.approx(share, abs=4e-3)


def test_probabilities_for_three_tokens_are_owens():
    """P(token 1 is largest) is a bivariate normal probability with correlation 1/2."""
    omega, spread = np.array([[0.4, -0.3, 0.9]]), 1.3
    u, v = (omega[0, 0] - omega[0, 1:]) / (spread * np.sqrt(2))

    root = np.sqrt(3) / 2
    both = (ndtr(u) + ndtr(v)) / 2 - owens_t(u, (v - u / 2) / (u * root)) - owens_t(v, (u - v / 2) / (v * root))
    both -= 0.5 if u * v < 0 else 0.0
    assert np.exp(largest.log_probability(omega, spread))[0, 0] == pytest.approx(both, abs=1e-8)


def test_the_score_is_the_derivative_of_the_log_of_the_weighted_sum():
    rng = np.random.default_rng(4)
    omega, weight, spread, step = rng.normal(size=(5, 4)), rng.normal(size=(5, 4)), 0.6, 1e-5

    def level(omega):
        return np.log(np.sum(np.exp(weight + largest.log_probability(omega, spread)), axis=1))

    numeric = [(level(omega + step * unit) - level(omega - step * unit)) / (2 * step) for unit in np.eye(4)]
    assert largest.score(omega, weight, spread) == pytest.approx(np.array(numeric).T, abs=1e-7)


@pytest.mark.parametrize(("spread", "slope", "ahead"), [(0.9, 40, 0.3), (0.3, 2, 1), (1, 1.001, -2), (1, 0.999, 0.5)])
def test_probabilities_of_being_drawn_are_means_of_softmax(spread, slope, ahead):
    """Of two tokens: an integral over the difference of their noises."""

    def weighted(x):
        return np.exp(-x * x / 2) / np.sqrt(2 * np.pi) / (1 + np.exp(-slope * (ahead + np.sqrt(2) * spread * x)))

    exact = quad(weighted, -12, 12, points=[-ahead / np.sqrt(2) / spread], epsabs=1e-12, limit=400)[0]
    found = np.exp(largest.log_probability(np.array([[ahead, 0.0]]), spread, slope))
    assert found[0] == pytest.approx([exact, 1 - exact], abs=1e-7)


def test_a_steep_softmax_draws_the_largest():
    omega = np.random.default_rng(1).normal(size=(50, 4))
    drawn, largest_one = (largest.log_probability(omega, 0.8, slope) for slope in (1e6, np.inf))
    assert np.exp(drawn) == pytest.approx(np.exp(largest_one), abs=1e-6)


@pytest.mark.parametrize(("spread", "slope"), [(0.6, 3.0), (0.1, 2.0), (1.0, 20.0)])
def test_the_score_of_a_drawn_token_is_the_derivative_too(spread, slope):
    rng = np.random.default_rng(4)
    omega, weight, step = rng.normal(size=(5, 4)), rng.normal(size=(5, 4)), 1e-4

    def level(omega):
        return np.log(np.sum(np.exp(weight + largest.log_probability(omega, spread, slope)), axis=1))

    numeric = [(level(omega + step * unit) - level(omega - step * unit)) / (2 * step) for unit in np.eye(4)]
    assert largest.score(omega, weight, spread, slope) == pytest.approx(np.array(numeric).T, abs=1e-5)


def test_the_error_of_a_computation_is_that_of_its_mean_over_the_sets():
    mean = QUICK.function([], [channel(sympy.cos(h) * TokenSum(g**2))])
    with listening() as notes:
        mean()
    assert standard_error(mean)[0] == pytest.approx(notes[-1].error[0], rel=1e-9)
    assert standard_error(lambda: [3.0])[0] == 0
