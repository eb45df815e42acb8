"""The choice of a position by scores: probabilities and their derivatives against drawing and quadrature."""

import numpy as np
import pytest
import sympy
from scipy.integrate import quad
from scipy.special import ndtr, owens_t

import theorem_engine as te
from theorem_engine.backends import get_backend
from theorem_engine.registry.duranthon2026 import methods as largest
from theorem_engine.registry.duranthon2026.choice import TokenFront

g, h, e = sympy.symbols("g h e", real=True)


def test_a_token_is_drawn_with_its_softmax_probability():
    """The mean score of the drawn token is slope times one minus the mean sum of squared weights (Stein)."""
    drawn = te.TokenSum(e * TokenFront(g, 2, te.normal_cdf(h)))
    weights = te.TokenSum(sympy.exp(4 * g - 2 * te.TokenLogSum(2 * g)))
    made = te.ChannelMean.of(
        {"score": drawn, "squares": weights}, token_normals=(g,), normals=(h,), first=e, tokens=4, samples=2**15
    )
    score, squares = get_backend("float64").function([], [made.mean("score"), made.mean("squares")])()
    assert score == pytest.approx(2 * (1 - squares), abs=5e-3)


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
