"""Descent in steps and on fresh samples, and what it reaches, against integrals and vectors of this file."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

import theorem_engine as te
from tests.registry.duranthon2026_points import ORDER, POINT, predict
from theorem_engine.validators.duranthon2026_steps import vector_stochastic_descent

ON_IT = {"m_kv": 0, "m_vk": 0, "q_kv": 0}
STEP = 0.002
NODES = np.arange(-14, 14, STEP) + STEP / 2


def risk_of_two(nu, m, v):
    """k = m k*, v = v v*, two tokens of the spiked task: the difference of their scores is normal."""
    density = np.exp(-((NODES - math.sqrt(nu)) ** 2) / 4) * STEP / math.sqrt(4 * math.pi)
    weight = expit(m * NODES)
    return float(1 - 2 * v * (density @ weight) + v**2 * (density @ (weight**2 + (1 - weight) ** 2)))


def test_steps_are_those_of_descent_on_an_integral():
    """Slopes by central differences; both overlaps after five steps, on the manifold."""
    m, v, eta, h = 0.5, 0.4, 0.3, 1e-4
    found = predict(
        "gradient-descent", task="spiked", nu=2, L=2, activation="softmax", m_kk="0.5", q_kk="0.25", m_vv="0.4",
        q_vv="0.16", eta="0.3", steps=5, **ON_IT,
    )  # fmt: skip
    for _ in range(5):
        of_m = (risk_of_two(2, m + h, v) - risk_of_two(2, m - h, v)) / (2 * h)
        of_v = (risk_of_two(2, m, v + h) - risk_of_two(2, m, v - h)) / (2 * h)
        m, v = m - eta * of_m, v - eta * of_v
    assert (found["m_kk"], found["m_vv"]) == pytest.approx((m, v), abs=1e-7)
    assert (found["q_kk"], found["q_vv"]) == pytest.approx((m * m, v * v), abs=1e-7)
    assert found["risk"] == pytest.approx(risk_of_two(2, m, v), abs=1e-7)
    assert [found[name] for name in ON_IT] == [0, 0, 0]


def test_small_steps_are_the_flow():
    """Half the steps' size, half the distance from the flow: Euler's method is of first order."""
    point = {"task": "spiked", "nu": 2, "L": 3, "activation": "linear", **POINT}
    flow = predict("gradient-flow", time="0.02", **point)
    one, two = (predict("gradient-descent", eta=eta, steps=n, **point) for eta, n in (("0.002", 10), ("0.001", 20)))
    for name in ORDER:
        assert (one[name] - flow[name]) / (two[name] - flow[name]) == pytest.approx(2, abs=0.1)


@pytest.mark.parametrize(("task", "nu", "L"), [("spiked", 1.5, 2), ("max", 2, 2)])
def test_the_limits_of_descent_on_two_tokens_are_integrals_over_a_difference(task, nu, L):
    """With t the difference of chi and a = p p', J is a times [[1, -1], [-1, 1]]; the sum of chi is independent."""
    density = np.exp(-(NODES**2) / 4) * STEP / math.sqrt(4 * math.pi)
    shift, c = (math.sqrt(nu), math.sqrt(nu)) if task == "spiked" else (0.0, nu)
    t = NODES + shift
    p = expit(c * t)
    a = p * (1 - p)
    both = p**2 + (1 - p) ** 2
    # chi_p is half the sum, of mean shift/2 and variance 1/2, plus (p - 1/2) t
    half = shift / 2 + (p - 0.5) * t
    lean, tied = density @ (a * t * (2 * p - 1)), density @ (2 * a * half)
    outer = np.array([[density @ (2 * a**2 * t**2), lean], [lean, density @ both]])
    cross = np.array([[density @ (12 * a**2), tied], [tied, density @ (half**2 + 0.5)]])
    beside = [2 * (density @ (4 * a**2)), 2 * (density @ both)]
    curvatures = [*(2 * np.linalg.eigvalsh(outer)), *(2 * np.linalg.eigvalsh(cross)), *beside]
    found = predict("descent-limits", task=task, nu=nu, L=L)
    assert found["step_bound"] == pytest.approx(2 / max(curvatures), rel=1e-9)
    assert found["rate"] == pytest.approx(min(curvatures), rel=1e-9)
    assert found["floor"] == pytest.approx(float(density @ (24 * a**3 + 2 * a * both)), rel=1e-9)


@pytest.mark.parametrize(("nu", "rate"), [(1, 0.0932), (2, 0.0623), (5, 0.0257), (10, 0.0056)])
def test_the_slowest_curvatures_at_ten_tokens(nu, rate):
    assert predict("descent-limits", "rate", task="spiked", nu=nu, L=10) == pytest.approx(rate, abs=6e-5)


def test_steps_beyond_the_bound_leave_the_matched_point():
    """From 1e-6 beside it: shorter steps come closer along the steepest direction, longer ones move away."""
    bound = predict("descent-limits", "step_bound", task="spiked", nu=2, L=3)
    c = math.sqrt(2)
    gaps = []
    for eta in (0.97 * bound, 1.03 * bound):
        # k and v turned by a little, in the plane of k* and v*
        small = 1e-6
        start = {"m_kk": c, "m_kv": small, "m_vk": small, "m_vv": 1, "q_kk": c**2 + small**2, "q_vv": 1 + small**2,
                 "q_kv": small * (1 + c)}  # fmt: skip
        found = predict("gradient-descent", task="spiked", nu=2, L=3, activation="softmax", eta=eta, steps=30, **start)
        gaps.append(math.hypot(found["m_kv"], found["m_vk"]) / math.hypot(small, small))
    assert gaps[0] < 0.6
    assert gaps[1] > 1.5


CHAIN = {"nu": 2, "L": 3, "delta": 0.3, "m_kk": 0.6, "m_kv": 0.1, "m_vk": -0.2, "m_vv": 0.7, "q_kk": 0.9, "q_vv": 0.8,
         "q_kv": 0.05, "D": 12, "eta": 0.02, "batch": 2, "steps": 3}  # fmt: skip


@pytest.mark.parametrize(("task", "activation"), [("spiked", "softmax"), ("max", "softplus"), ("max", "erf")])
def test_the_chain_has_the_law_of_the_vectors(task, activation):
    """Seven Kolmogorov-Smirnov tests of three steps, 2,000 paths each: a false alarm in 1e-4 of seeds each."""
    point = {**CHAIN, "task": task, "activation": activation}
    chain = te.sweep("duranthon2026.stochastic-descent", errors=False, seed=range(2000), **point)
    reference = vector_stochastic_descent(point, np.random.default_rng(11), 2000)
    for name in ORDER:
        assert stats.ks_2samp(chain[name].values, reference[name]).pvalue > 1e-4


@pytest.mark.campaign
def test_stochastic_descent_ends_at_the_floor():
    """Forty paths of 400 dimensions from the matched point, steps with eta D = 0.04: within three standard errors."""
    limits = predict("descent-limits", task="spiked", nu=2, L=3)
    c = math.sqrt(2)
    start = {"m_kk": c, "m_kv": 0, "m_vk": 0, "m_vv": 1, "q_kk": 2, "q_vv": 1, "q_kv": 0}
    point = {"task": "spiked", "nu": 2, "L": 3, "activation": "softmax", "D": 400, "eta": "0.0001", "batch": 1}
    ends = te.sweep("duranthon2026.stochastic-descent", errors=False, steps=100_000, seed=range(40), **point, **start)
    places = te.batch("run", **{name: ends[name].values for name in ORDER})
    model = {"task": "spiked", "nu": 2, "L": 3, "activation": "softmax"}
    risk = te.sweep("duranthon2026.population-risk", errors=False, along=places, **model)["risk"].values
    excess = (risk - limits["bayes"]) / 0.04
    error = excess.std(ddof=1) / math.sqrt(40)
    assert abs(excess.mean() - limits["floor"]) < 3 * error + 0.05 * limits["floor"]


def test_the_mismatched_minimum_of_three_tokens_lasts_to_where_two_stationary_points_meet():
    """Near such a border the square of the smallest curvature is a line in the signal; it ends at about 2.2242."""
    point = {"task": "spiked", "L": 3, "activation": "softmax"}
    signals = (2.2265, 2.2255, 2.2248)
    squares = []
    for nu in signals:
        found = te.predict("duranthon2026.mismatched-minimum", nu=str(nu), **point).outputs
        assert found["exists"]
        squares.append(found["weakest"] ** 2)
    slope = (squares[1] - squares[2]) / (signals[1] - signals[2])
    border = signals[2] - squares[2] / slope
    before = (squares[0] - squares[1]) / (signals[0] - signals[1])
    assert abs(before / slope - 1) < 0.15
    assert 2.2235 < border < 2.2245
    gone = te.predict("duranthon2026.mismatched-minimum", nu=str(border - 2e-4), **point).outputs
    assert not gone["exists"]
