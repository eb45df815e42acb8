"""Risk off the manifold where the hidden token is the largest one, against quadratures written here.

For two tokens everything is in sums and differences of their fields: with the first the larger, the label is half the
sum plus half the difference of the z*, and the predictor half the sum of the z plus tanh(d/2)/2 times their difference,
d the difference of the scores. Sums are independent of differences, and the differences of chi* and of the scores
make an integral over a half-plane.
"""

import math

import numpy as np
import pytest
from scipy.special import log_ndtr

from tests.registry.duranthon2026_points import ORDER, POINT, predict

NODES, WEIGHTS = np.polynomial.legendre.leggauss(120)
NORMAL, SHARES = np.polynomial.hermite_e.hermegauss(80)
SHARES = SHARES / SHARES.sum()


def risk_of_two(point):
    """Softmax weights; the difference of chi* is twice a half-normal, the rest is Gaussian given it."""
    m_kk, m_kv, m_vk, m_vv, q_kk, q_vv, q_kv = (float(point[name]) for name in ORDER)
    covariance = np.array([[1, 0, m_kk, m_vk], [0, 1, m_kv, m_vv], [m_kk, m_kv, q_kk, q_kv], [m_vk, m_vv, q_kv, q_vv]])
    first = 9 * (NODES + 1) / 2
    weight = 9 * WEIGHTS / 2 * np.exp(-(first**2) / 2) * math.sqrt(2 / math.pi)
    ahead = math.sqrt(2) * first
    width = math.sqrt(2 * (q_kk - m_kk**2))
    d = m_kk * ahead[:, None] + width * NORMAL[None, :]
    seen = covariance[np.ix_([0, 2], [0, 2])]
    if width == 0:
        gain = np.array([[0.0, m_vk], [0.0, 0.0]]).T
    else:
        gain = covariance[np.ix_([1, 3], [0, 2])] @ np.linalg.inv(seen)
    means = np.einsum("ij,jab->iab", gain, np.stack([np.broadcast_to(ahead[:, None], d.shape), d]))
    left = 2 * (covariance[np.ix_([1, 3], [1, 3])] - gain @ covariance[np.ix_([0, 2], [1, 3])])
    t = np.tanh(d / 2)
    square = (means[0] - t * means[1]) ** 2 + left[0, 0] - 2 * t * left[0, 1] + t**2 * left[1, 1]
    return (2 * (1 - 2 * m_vv + q_vv) + weight @ (square @ SHARES)) / 4


def test_the_risk_of_two_tokens_is_an_integral_over_a_half_plane():
    found = predict("population-risk", task="max", nu="inf", L=2, activation="softmax", **POINT)
    assert found["risk"] == pytest.approx(risk_of_two(POINT), abs=1e-11)


@pytest.mark.parametrize("name", ORDER)
def test_its_slopes_are_those_of_that_integral(name):
    found = predict("population-risk", task="max", nu="inf", L=2, activation="softmax", **POINT)
    high, low = (risk_of_two({**POINT, name: float(POINT[name]) + h}) for h in (1e-5, -1e-5))
    assert found[f"d_{name}"] == pytest.approx((high - low) / 2e-5, abs=1e-7)


def test_a_strong_finite_signal_comes_close_to_the_infinite_one():
    """erf weights, five tokens: where the position is not the argmax the two nearly tie, of order 1/nu^2."""
    point = {"task": "max", "L": 5, "activation": "erf", "shift": -1, **POINT}
    limit = predict("population-risk", "risk", nu="inf", **point)
    gaps = [predict("population-risk", "risk", nu=nu, **point) - limit for nu in (20, 40, 80)]
    assert abs(gaps[2]) < 0.01
    assert [gaps[0] / gaps[1], gaps[1] / gaps[2]] == pytest.approx([4, 4], abs=0.1)


def test_a_key_of_zero_has_the_slopes_of_a_small_one():
    """Weights 1/L, and the slope in m_kk is -2 m_vv mu_L/L with mu_L the mean of the largest of L normals."""
    zero = {"m_kk": 0, "m_kv": 0, "m_vk": "0.3", "m_vv": "0.8", "q_kk": 0, "q_vv": "0.9", "q_kv": 0}
    found = predict("population-risk", task="max", nu="inf", L=4, activation="softmax", **zero)
    x = 9 * NODES
    largest = 9 * WEIGHTS @ (x * 4 * np.exp(-(x**2) / 2 + 3 * log_ndtr(x)) / math.sqrt(2 * math.pi))
    assert found["risk"] == pytest.approx(1 - 0.8 * 2 / 4 + 0.9 / 4, abs=1e-14)
    assert found["d_m_kk"] == pytest.approx(-2 * 0.8 * largest / 4, abs=1e-12)
    assert found["d_m_kv"] == pytest.approx(-2 * 0.3 * largest / 4, abs=1e-12)
