"""The gradient flow from starts that lie at an edge, against descent on a risk integrated here.

For two tokens softmax weights depend on the difference of two scores only, so the risk on the manifold is one integral;
its gradient is taken by differences and followed with another solver.
"""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import expit

import theorem_engine as te
from tests.registry.duranthon2026_points import predict
from theorem_engine.base.errors import NotAvailable

ON_IT = {"m_kv": 0, "m_vk": 0, "q_kv": 0}
#: Zero, where the largest token changes, lies between two nodes.
STEP = 0.002
NODES = np.arange(-12, 12, STEP) + STEP / 2


def mean(values, centre=0.0):
    """Over a difference of two scores, of variance 2."""
    return float(np.sum(values * np.exp(-((NODES - centre) ** 2) / 4)) * STEP / math.sqrt(4 * math.pi))


def risk(task, nu, m, v):
    """k = m k*, v = v v*, two tokens; the label is the first in the spiked task."""
    if task == "spiked":
        weight = expit(m * NODES)
        s = mean(weight, math.sqrt(nu))
        q = mean(weight**2 + (1 - weight) ** 2, math.sqrt(nu))
    else:
        weight, chance = expit(m * NODES), (NODES > 0) * 1.0 if math.isinf(nu) else expit(nu * NODES)
        s = mean(chance * weight + (1 - chance) * (1 - weight))
        q = mean(weight**2 + (1 - weight) ** 2)
    return 1 - 2 * v * s + v**2 * q


def descended(task, nu, start, time):
    """Both slopes by central differences."""

    def slope(_, y):
        h = 1e-4
        return [-(risk(task, nu, y[0] + h, y[1]) - risk(task, nu, y[0] - h, y[1])) / (2 * h),
                -(risk(task, nu, y[0], y[1] + h) - risk(task, nu, y[0], y[1] - h)) / (2 * h)]  # fmt: skip

    return solve_ivp(slope, (0, time), start, method="RK45", rtol=1e-9, atol=1e-11).y[:, -1]


@pytest.mark.parametrize(
    ("task", "nu", "m"), [("spiked", 2, 0), ("spiked", 2, 1), ("max", 2, 0), ("max", 2, 2.2), ("max", math.inf, 1)]
)
def test_a_flow_leaves_every_edge(task, nu, m):
    """k = 0, and k along k*: at 2.2 the exact square 4.84 is not that of the nearest double."""
    time = 0.1
    point = {"m_kk": m, "q_kk": f"{round(m * m, 4)}", "m_vv": 0.5, "q_vv": "0.25", "time": time, **ON_IT}
    found = predict("gradient-flow", task=task, nu=nu, L=2, activation="softmax", **point)
    k, v = descended(task, nu, [float(m), 0.5], time)
    assert (found["m_kk"], found["m_vv"]) == pytest.approx((k, v), abs=2e-7)
    assert (found["q_kk"], found["q_vv"]) == pytest.approx((k * k, v * v), abs=5e-7)
    assert found["risk"] == pytest.approx(risk(task, nu, k, v), abs=1e-6)
    assert [found[name] for name in ON_IT] == [0, 0, 0]


def test_a_flow_off_the_manifold_leaves_k_at_zero():
    """To first order in time k moves along its gradient, whose products with k* and v* the risk gives."""
    start = {"m_kk": 0, "m_kv": 0, "m_vk": 0.5, "m_vv": 1, "q_kk": 0, "q_vv": 2, "q_kv": 0}
    here = predict("population-risk", task="spiked", nu=2, L=3, activation="softmax", **start)
    time = 1e-4
    found = predict("gradient-flow", task="spiked", nu=2, L=3, activation="softmax", time=time, **start)
    # k is a combination of k*, v* and v; v.k* = 1/2, v.v* = 1
    first = (here["d_m_kk"] + 0.5 * here["d_q_kv"], here["d_m_kv"] + here["d_q_kv"])
    assert (found["m_kk"], found["m_kv"]) == pytest.approx([-time * g for g in first], rel=1e-3, abs=1e-8)


def test_a_flow_at_an_infinite_signal_leaves_the_manifold_behind():
    """To first order in time m_kv moves along its gradient, which the risk gives."""
    start = {"m_kk": 1, "m_kv": 0.1, "m_vk": 0, "m_vv": 1, "q_kk": 2, "q_vv": 1, "q_kv": 0.1}
    here = predict("population-risk", task="max", nu="inf", L=3, activation="linear", **start)
    time = 1e-6
    found = predict("gradient-flow", task="max", nu="inf", L=3, activation="linear", time=time, **start)
    rate = here["d_m_kv"] + 2 * 0.1 * here["d_q_kk"] + here["d_q_kv"]
    assert found["m_kv"] - 0.1 == pytest.approx(-time * rate, rel=1e-3)


def test_a_minimum_that_is_followed_in_the_signal_is_refused_at_an_infinite_one():
    with pytest.raises(NotAvailable, match="nu=inf"):
        predict("mismatched-minimum", task="max", nu="inf", L=10, activation="softmax")


def test_a_stiff_flow_is_followed_to_a_thousand():
    """marion2025, a point where an explicit method stops at time 6: two parts of the way end in the same place."""
    letters = {"lam": 1, "gamma": 1, "d": 40, "L": 5}
    start = {"kappa": 0.5, "nu": -0.2, "theta": 0.1, "eta": 0.1, "rho": 0.05}
    whole = te.predict("marion2025.gradient-flow", time=1000, **letters, **start).outputs
    part = te.predict("marion2025.gradient-flow", time=3, **letters, **start).outputs
    middle = {name: part[name] for name in start}
    again = te.predict("marion2025.gradient-flow", time=997, **letters, **middle).outputs
    assert [again[n] for n in start] == pytest.approx([whole[n] for n in start], abs=1e-10)
    assert whole["risk"] < part["risk"]
