"""The risk in seven order parameters, its gradient, its flow and its mismatched minimum."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.registry.duranthon2026_points import ORDER, POINT, TASKS, predict, risk
from theorem_engine.base.errors import NotAvailable


@pytest.mark.parametrize("activation", ["softmax", "softplus", "linear", "centred-linear", "relu"])
@pytest.mark.parametrize("name", ["m_vv", "m_kv", "q_vv"])
def test_the_risk_is_affine_in_three_of_its_parameters(activation, name):
    base = {**POINT, "q_kk": 3.0, "q_vv": 3.0}
    values = [
        risk("population-risk", task="spiked", nu=2, L=3, activation=activation, **{**base, name: base[name] + k * 0.2})
        for k in (-1, 0, 1)
    ]
    assert values[0] + values[2] == pytest.approx(2 * values[1], rel=1e-12)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("activation", ["softmax", "linear", "centred-linear"])
def test_the_risk_is_even_in_the_cross_overlaps_so_the_manifold_is_invariant(task, activation):
    options = {"task": task, "nu": 1.5, "L": 3, "activation": activation}
    flipped = {**POINT, **{name: -POINT[name] for name in ("m_kv", "m_vk", "q_kv")}}
    assert risk("population-risk", **options, **POINT) == pytest.approx(
        risk("population-risk", **options, **flipped), rel=1e-11
    )
    on_it = {**POINT, "m_kv": 0, "m_vk": 0, "q_kv": 0}
    found = predict("population-risk", **options, **on_it)
    assert max(abs(found[f"d_{name}"]) for name in ("m_kv", "m_vk", "q_kv")) < 1e-12
    reduced = {name: on_it[name] for name in ("m_kk", "m_vv", "q_kk", "q_vv")}
    assert found["risk"] == pytest.approx(risk("manifold-risk", **options, **reduced), rel=1e-11)


@settings(max_examples=10)
@given(seed=st.integers(0, 10**6))
def test_the_gradient_is_the_gradient_and_the_risk_above_bayes(seed):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((2, 4))
    key, value = root
    point = dict(
        zip(ORDER, map(float, (key[0], key[1], value[0], value[1], key @ key, value @ value, key @ value)), strict=True)
    )
    options = {"task": "spiked", "nu": 1.5, "L": 4, "activation": "softmax"}
    found = predict("population-risk", **options, **point)
    assert found["risk"] >= risk("bayes-risk", task="spiked", nu=1.5, L=4) - 1e-12
    # norms may grow and overlaps with a fresh direction may move without leaving the feasible set
    for name in ("q_kk", "q_vv"):
        up = risk("population-risk", **options, **{**point, name: point[name] + 1e-5})
        far = risk("population-risk", **options, **{**point, name: point[name] + 2e-5})
        slope = (4 * up - far - 3 * found["risk"]) / 2e-5
        assert slope == pytest.approx(found[f"d_{name}"], abs=1e-5 * (1 + abs(slope)))


@pytest.mark.parametrize("activation", ["softmax", "linear", "softplus", "centred-linear"])
@pytest.mark.parametrize("task", TASKS)
def test_gradients_where_k_is_aligned_or_zero_are_limits(task, activation):
    """The first-order terms stated there equal the gradient of the general form close by."""
    options = {"task": task, "nu": 1.5, "L": 3, "activation": activation}
    zero = {"m_kk": 0, "m_kv": 0, "m_vk": 0.4, "m_vv": 0.7, "q_kk": 0, "q_vv": 0.9, "q_kv": 0}
    aligned = {**zero, "m_kk": 0.8, "q_kk": 0.64, "q_kv": 0.32}
    for point in (zero, aligned):
        exact = predict("population-risk", **options, **point)
        near = predict("population-risk", **options, **{**point, "q_kk": point["q_kk"] + 1e-4})
        for name in ORDER:
            assert near[f"d_{name}"] == pytest.approx(exact[f"d_{name}"], abs=2e-3 * (1 + abs(exact[f"d_{name}"]))), (
                name
            )


def test_a_matched_point_is_stationary():
    found = predict(
        "population-risk", task="spiked", nu=2, L=5, activation="softmax", m_kk=math.sqrt(2), m_kv=0, m_vk=0, m_vv=1,
        q_kk=2, q_vv=1, q_kv=0,
    )  # fmt: skip
    # stationary in k and v, not in the seven: the norms follow
    key = found["d_m_kk"] + 2 * math.sqrt(2) * found["d_q_kk"]
    value = found["d_m_vv"] + 2 * found["d_q_vv"]
    assert abs(key) + abs(value) < 1e-12


def test_the_flow_descends_and_stays_on_the_manifold():
    options = {"task": "spiked", "nu": 2, "L": 3, "activation": "softmax"}
    risks = [predict("gradient-flow", **options, **POINT, time=t)["risk"] for t in (0, 0.5, 1.5)]
    assert risks[0] == pytest.approx(risk("population-risk", **options, **POINT), rel=1e-14)
    assert risks[0] > risks[1] > risks[2] > risk("bayes-risk", task="spiked", nu=2, L=3)
    on_it = {**POINT, "m_kv": 0, "m_vk": 0, "q_kv": 0}
    end = predict("gradient-flow", **options, **on_it, time=1)
    assert max(abs(end[name]) for name in ("m_kv", "m_vk", "q_kv")) < 1e-12


def test_the_risk_falls_at_the_rate_of_the_squared_gradient():
    """dE/dt = -|grad_k|^2 - |grad_v|^2, with the gradients written in the four vectors k*, v*, k, v."""
    options = {"task": "spiked", "nu": 2, "L": 3, "activation": "softmax"}
    e = predict("population-risk", **options, **POINT)
    gram = np.array([
        [1, 0, POINT["m_kk"], POINT["m_vk"]],
        [0, 1, POINT["m_kv"], POINT["m_vv"]],
        [POINT["m_kk"], POINT["m_kv"], POINT["q_kk"], POINT["q_kv"]],
        [POINT["m_vk"], POINT["m_vv"], POINT["q_kv"], POINT["q_vv"]],
    ])  # fmt: skip
    key = np.array([e["d_m_kk"], e["d_m_kv"], 2 * e["d_q_kk"], e["d_q_kv"]])
    value = np.array([e["d_m_vk"], e["d_m_vv"], e["d_q_kv"], 2 * e["d_q_vv"]])
    step = 2e-4
    risks = [predict("gradient-flow", **options, **POINT, time=k * step)["risk"] for k in range(3)]
    slope = (4 * risks[1] - risks[2] - 3 * risks[0]) / (2 * step)
    assert slope == pytest.approx(-(key @ gram @ key) - value @ gram @ value, rel=1e-5)


def test_the_mismatched_minimum_of_ten_tokens():
    """Order parameters known to six digits, the risk to twelve."""
    found = predict("mismatched-minimum", task="spiked", nu=2, L=10, activation="softmax")
    assert found["risk"] == pytest.approx(0.930744208217, abs=1e-12)
    known = {"m_kk": 0.283976, "m_vv": -0.020961, "m_kv": 2.068832, "m_vk": 0.351022}
    assert all(found[name] == pytest.approx(value, abs=2e-6) for name, value in known.items())
    assert found["exists"] is True
    assert min(found["eigenvalues"]) > 0


@pytest.mark.parametrize(("nu", "L", "exists"), [(1, 7, True), (1, 6, False), (5, 3, True), (5, 2, False)])
def test_the_mismatched_minimum_is_lost_in_short_sequences(nu, L, exists):
    assert predict("mismatched-minimum", "exists", task="spiked", nu=nu, L=L, activation="softmax") is exists


@pytest.mark.parametrize(("L", "border"), [(3, 2.2242155), (7, 0.9976689)])
def test_the_mismatched_minimum_exists_on_one_side_of_its_border(L, border):
    """The borders are measured on nodes in test_duranthon2026_region."""
    sides = [predict("mismatched-minimum", "exists", task="spiked", nu=nu, L=L, activation="softmax")
             for nu in (border * 0.999, border * 1.001)]  # fmt: skip
    assert sides == [False, True]


def test_long_sequences_keep_the_mismatched_minimum():
    """Its k leans towards k* there: by more than half of what it has along v*."""
    found = predict("mismatched-minimum", task="spiked", nu=8, L=140, activation="softmax")
    assert found["exists"] is True
    assert found["m_kk"] > found["m_kv"] / 2


@pytest.mark.campaign
@pytest.mark.parametrize(("nu", "known"), [(1, None), (2, 0.916023823), (5, 0.866121943)])
def test_the_mismatched_minimum_of_the_max_task(nu, known):
    found = predict("mismatched-minimum", task="max", nu=nu, L=10, activation="softmax")
    assert found["exists"] is (known is not None)
    assert known is None or found["risk"] == pytest.approx(known, abs=1e-9)


@pytest.mark.parametrize("task", TASKS)
def test_relu_off_the_manifold_tends_to_relu_on_it(task):
    """The way there is of order R log R in the residual R = q_kk - m_kk^2."""
    point = {"task": task, "nu": 2, "L": 4, "activation": "relu", "m_kk": 0.5, "m_vv": 0.7, "q_vv": 0.6}
    limit = risk("manifold-risk", q_kk=0.25, **point)
    off = {"m_kv": 0, "m_vk": 0, "q_kv": 0}
    gaps = [risk("population-risk", q_kk=0.25 + rest, **off, **point) - limit for rest in (1e-2, 1e-3, 1e-4)]
    assert risk("population-risk", q_kk=0.25, **off, **point) == pytest.approx(limit, rel=1e-12)
    assert 0 < gaps[2] < gaps[1] / 7 < gaps[0] / 49


def test_weights_that_jump_have_no_gradient():
    point = {"task": "spiked", "nu": 2, "L": 4, "activation": "relu", **POINT}
    assert set(predict("population-risk", **point)) == {"risk"}
    with pytest.raises(NotAvailable, match="kinks"):
        predict("gradient-flow", time=1, **point)


def test_centred_linear_weights_are_exact_by_quadrature():
    """Squared errors are polynomials of degree four in nine normals: three Gauss-Hermite nodes each are exact."""
    nu, length = 1.5, 3
    gram = np.array(
        [[1, POINT["m_kv"], POINT["m_vv"]], [POINT["m_kv"], POINT["q_kk"], POINT["q_kv"]],
         [POINT["m_vv"], POINT["q_kv"], POINT["q_vv"]]]
    )  # fmt: skip
    values, vectors = np.linalg.eigh(gram)
    nodes, weights = np.polynomial.hermite_e.hermegauss(3)
    places = np.stack(np.meshgrid(*[nodes] * 9, indexing="ij"), axis=-1).reshape(-1, length, 3)
    chances = np.prod(np.meshgrid(*[weights / weights.sum()] * 9, indexing="ij"), axis=0).ravel()
    label, score, value = np.moveaxis(places @ (vectors * np.sqrt(np.maximum(values, 0))).T, -1, 0)
    score[:, 0] += math.sqrt(nu) * POINT["m_kk"]
    value[:, 0] += math.sqrt(nu) * POINT["m_vk"]
    attention = 1 / length + score - score.mean(axis=1, keepdims=True)
    exact = chances @ (label[:, 0] - (attention * value).sum(axis=1)) ** 2
    found = risk("population-risk", task="spiked", nu=nu, L=length, activation="centred-linear", **POINT)
    assert found == pytest.approx(exact, rel=1e-12)
