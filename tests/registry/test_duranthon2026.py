"""Population theory of attention on single-location regression: identities, orderings, limits, bad input."""

import math
import warnings

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

import theorem_engine as te
from theorem_engine.errors import (
    BadNumber,
    Infeasible,
    MissingParameter,
    NotAvailable,
    OutOfDomain,
    UnknownParameter,
)
from theorem_engine.validators import duranthon2026 as simulators

ORDER = ("m_kk", "m_kv", "m_vk", "m_vv", "q_kk", "q_vv", "q_kv")
POINT = {"m_kk": 0.9, "m_kv": -0.3, "m_vk": 0.25, "m_vv": 0.8, "q_kk": 1.07, "q_vv": 0.8325, "q_kv": -0.065}
TASKS = ("spiked", "max")


def predict(name, output=None, **point):
    outputs = te.predict(f"duranthon2026.{name}", **point).outputs
    return outputs if output is None else outputs[output]


def risk(name, **point):
    return predict(name, "risk", **point)


# The Bayes risk


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("L", [1, 2, 7, 1000])
def test_without_signal_the_bayes_risk_is_that_of_guessing(task, L):
    assert risk("bayes-risk", task=task, nu=0, L=L) == pytest.approx(1 - 1 / L, abs=1e-14)


@settings(max_examples=25)
@given(task=st.sampled_from(TASKS), nu=st.floats(0.05, 40), L=st.integers(2, 10**6), more=st.floats(1.01, 2))
def test_the_bayes_risk_falls_with_the_signal_and_rises_with_the_length(task, nu, L, more):
    here = risk("bayes-risk", task=task, nu=nu, L=L)
    assert 0 < here < 1 - 1 / L
    assert risk("bayes-risk", task=task, nu=nu * more, L=L) < here
    assert risk("bayes-risk", task=task, nu=nu, L=2 * L) > here


@settings(max_examples=20)
@given(task=st.sampled_from(TASKS), nu=st.floats(0.1, 20), L=st.integers(2, 10**4))
def test_nishimori_the_weight_of_the_truth_is_the_sum_of_squares(task, nu, L):
    """S = Q for softmax at the posterior, so the best v is v* itself."""
    slope = math.sqrt(nu) if task == "spiked" else nu
    if task == "max":
        nu = slope = min(nu, 6.0)
    found = predict("manifold-risk", task=task, nu=nu, L=L, activation="softmax", m_kk=slope, m_vv=1)
    assert found["S"] == pytest.approx(found["Q"], rel=1e-11)


@pytest.mark.parametrize(("L", "limit"), [(2, 1e-12), (50, 1e-12), ("uniform(1,3)", 1e-12)])
def test_the_bayes_risk_integrates_to_twice_the_entropy(L, limit):
    found = predict("information-sum-rule", L=L)
    assert found["integral"] == pytest.approx(found["two_log_L"], rel=limit)


def test_the_signal_derivative_is_minus_the_posterior_covariance():
    """1d: dE/dnu = -E[sum p^2 - 2 sum p^3 + (sum p^2)^2], sampled; false alarm 6e-7."""
    rng = np.random.default_rng(11)
    nu, L, step = 2.0, 4, 1e-4
    scores = rng.standard_normal((400_000, L))
    scores[:, 0] += math.sqrt(nu)
    p = np.exp(math.sqrt(nu) * scores)
    p /= p.sum(axis=1, keepdims=True)
    values = (p**2).sum(1) - 2 * (p**3).sum(1) + (p**2).sum(1) ** 2
    up, down = (risk("bayes-risk", task="spiked", nu=nu + k * step, L=L) for k in (1, -1))
    assert abs(values.mean() + (up - down) / (2 * step)) < 5 * values.std() / math.sqrt(len(values)) + 1e-6


def test_stein_the_hidden_score_is_nu_times_the_bayes_risk():
    """1e, sampled; false alarm 6e-7."""
    rng = np.random.default_rng(12)
    scores = rng.standard_normal((400_000, 5))
    p = np.exp(1.5 * scores)
    p /= p.sum(axis=1, keepdims=True)
    values = (p * scores).sum(axis=1)
    exact = 1.5 * risk("bayes-risk", task="max", nu=1.5, L=5)
    assert abs(values.mean() - exact) < 5 * values.std() / math.sqrt(len(values))


def test_tiny_risks_keep_their_digits():
    """L = 2 has an integral of its own; the risk at nu = 400 is 1.6e-45."""
    grid = np.arange(-4000, 4001) * 0.05
    nu = 400.0
    factor = math.exp(-nu / 4) / math.sqrt(4 * math.pi * nu)
    direct = factor * np.sum(np.exp(-(grid**2) / (4 * nu)) / (2 * np.cosh(grid / 2))) * 0.05
    assert risk("bayes-risk", task="spiked", nu=400, L=2) == pytest.approx(direct, rel=1e-12)


@pytest.mark.parametrize(("task", "square"), [("spiked", 1), ("max", 2)])
def test_long_sequences_leave_one_over_L(task, square):
    """1g: L (1 - risk) tends to exp(c_nu^2)."""
    L = 10**9
    missing = L * (1 - risk("bayes-risk", task=task, nu=1, L=L))
    assert missing == pytest.approx(math.exp(1**square), rel=1e-5)


def test_the_transition_in_long_sequences_is_at_twice_the_logarithm():
    values = [risk("bayes-risk", task="spiked", nu=k * 2 * math.log(1e12), L=10**12) for k in (0.5, 1, 2)]
    assert values[0] > 0.98
    assert 0.4 < values[1] < 0.5
    assert values[2] < 0.05


@pytest.mark.parametrize("nu", [0.3, 2.0, 9.0])
def test_doubling_without_normalisation_one_pays_a_factor_two(nu):
    """8f: at L = 2 the Bayes risk at nu is the best element-wise risk at 2 nu."""
    here = risk("bayes-risk", task="spiked", nu=nu, L=2)
    assert here == pytest.approx(risk("element-wise-bound", task="spiked", nu=2 * nu, L=2), rel=1e-12)


# Rivals


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(("nu", "L"), [(1, 2), (4, 10), (2, "uniform(1,4)")])
def test_bayes_is_below_the_element_wise_bound_and_that_below_linear_and_erf(task, nu, L):
    bayes, bound = (risk(name, task=task, nu=nu, L=L) for name in ("bayes-risk", "element-wise-bound"))
    linear = risk("linear-risk", task=task, nu=nu, L=L)
    erf = risk("minimal-risk", task=task, nu=nu, L=L, activation="erf")
    assert bayes < bound < min(linear, erf)


@pytest.mark.parametrize("task", TASKS)
def test_softmax_attains_the_bayes_risk(task):
    found = predict("softmax-optimality", task=task, nu=3, L=6)
    assert found["risk"] == pytest.approx(found["bayes"], rel=1e-12)


@pytest.mark.parametrize(
    "activation", ["softmax", "softplus", "linear", "erf", "tanh", "relu", "sigmoid", "centred-linear"]
)
@pytest.mark.parametrize("task", TASKS)
def test_the_excess_is_a_squared_distance(task, activation):
    found = predict("excess-identity", task=task, nu=2, L=4, m_kk=0.9, m_vv=0.7, activation=activation)
    assert found["excess"] == pytest.approx(found["distance"], rel=1e-11)
    assert found["excess"] > 0


@pytest.mark.parametrize("activation", ["softplus", "tanh", "sigmoid", "softmax-plus-one"])
def test_a_minimum_is_a_minimum(activation):
    """No other slope with its best v does better."""
    best = predict("minimal-risk", task="spiked", nu=3, L=4, activation=activation)
    for factor in (0.3, 0.9, 1.1, 3):
        here = predict(
            "manifold-risk", task="spiked", nu=3, L=4, activation=activation, m_kk=factor * best["m_kk"], m_vv=1
        )
        assert 1 - here["S"] ** 2 / here["Q"] > best["risk"]


def test_a_minimum_can_lie_far_out():
    found = predict("minimal-risk", task="spiked", nu=5, L=100, activation="softplus")
    assert found["m_kk"] == pytest.approx(42.8, abs=0.05)
    assert found["attained"] is True


def test_far_minima_are_found_below_the_limit_of_steep_slopes():
    """As m grows softplus becomes its positive part; the minimum is 1e-9 below that limit at m = 476."""
    found = predict("minimal-risk", task="max", nu=5, L=100, activation="softplus")
    limit = risk("minimal-risk", task="max", nu=5, L=100, activation="relu")
    assert 450 < found["m_kk"] < 500
    assert 0 < limit - found["risk"] < 2e-9


@pytest.mark.parametrize("L", [3, 30])
def test_steep_kernels_take_another_way_to_the_same_mean(L):
    """Nodes that follow the kernel and panels for the posterior, against one even grid for both."""
    from theorem_engine.backends.float64 import token_pair

    point = {"task": "max", "nu": 2, "L": L, "activation": "softplus", "m_kk": 40, "m_vv": 1}
    on_it = {"m_kv": 0, "m_vk": 0, "q_kk": 1600, "q_vv": 1, "q_kv": 0}
    names = ("risk", "d_m_kv", "d_m_vv")
    steep, gradient = predict("manifold-risk", **point), predict("population-risk", **point, **on_it)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(token_pair, "STEEP", math.inf)
        even, other = predict("manifold-risk", **point), predict("population-risk", **point, **on_it)
    assert [steep[k] for k in ("risk", "S", "Q")] == pytest.approx([even[k] for k in ("risk", "S", "Q")], rel=1e-13)
    assert [gradient[k] for k in names] == pytest.approx([other[k] for k in names], rel=1e-11, abs=1e-12)
    assert gradient["d_m_kk"] == pytest.approx(other["d_m_kk"], rel=1e-9)


def test_an_infimum_that_is_a_limit_is_not_attained():
    softmax = predict("minimal-risk", task="max", nu="inf", L=4, activation="softmax")
    assert (softmax["risk"], softmax["attained"], softmax["m_kk"]) == (0, False, math.inf)
    softplus = predict("minimal-risk", task="max", nu="inf", L=2, activation="softplus")
    exact = 1 - (7 / 8 + math.log(2) / (4 * math.pi)) ** 2 / (3 / 4 + 1 / (2 * math.pi))
    assert softplus["risk"] == pytest.approx(exact, rel=1e-11)
    assert (softplus["attained"], softplus["m_kk"]) == (False, math.inf)


def test_erf_at_the_argmax_of_two_tokens_is_exact():
    found = predict("minimal-risk", task="max", nu="inf", L=2, activation="erf")
    assert found["risk"] == pytest.approx(1 / 3, rel=1e-12)
    assert found["m_kk"] == pytest.approx(math.sqrt(0.5), abs=1e-6)
    assert found["shift"] == pytest.approx(0, abs=1e-6)


def test_the_best_element_wise_risk_at_the_argmax_is_rational():
    assert risk("element-wise-bound", task="max", nu="inf", L=7) == pytest.approx(6 / 13, rel=1e-14)
    assert risk("element-wise-bound", task="max", nu="inf", L="uniform(1,3)") == pytest.approx(103 / 270, rel=1e-13)


def test_the_centred_linear_estimator_has_the_risk_of_linear_regression():
    found = predict("minimal-risk", task="spiked", nu=3, L=5, activation="centred-linear")
    assert found["risk"] == pytest.approx(4 / 8, rel=1e-13)


@pytest.mark.parametrize("activation", ["softmax", "linear", "erf", "element-wise-optimal", "centred-linear"])
def test_a_random_length_costs_nothing_to_softmax_only(activation):
    excess = predict("variable-length", "excess", task="spiked", nu=2, L="uniform(1,3)", activation=activation)
    assert excess == pytest.approx(0, abs=1e-14) if activation == "softmax" else excess > 1e-4


@pytest.mark.parametrize(
    ("activation", "margin"), [("softmax", 1e-3), ("linear", 1e-2), ("element-wise-optimal", 1e-2)]
)
def test_series_approach_the_risk_as_the_signal_grows(activation, margin):
    gaps = []
    for nu in (200, 400):
        series = predict("signal-asymptotics", "series", task="spiked", nu=nu, L=3, activation=activation)
        exact = risk("minimal-risk", task="spiked", nu=nu, L=3, activation=activation)
        gaps.append(abs(series / exact - 1))
    assert gaps[1] < gaps[0] < margin


def test_label_noise_adds_its_variance():
    plain, noisy = (risk("minimal-risk", task="max", nu=2, L=3, activation="linear", delta=d) for d in (0, 0.5))
    assert noisy - plain == pytest.approx(0.25, abs=1e-15)


# Seven order parameters


@pytest.mark.parametrize("activation", ["softmax", "softplus", "linear"])
@pytest.mark.parametrize("name", ["m_vv", "m_kv", "q_vv"])
def test_the_risk_is_affine_in_three_of_its_parameters(activation, name):
    base = {**POINT, "q_kk": 3.0, "q_vv": 3.0}
    values = [
        risk("population-risk", task="spiked", nu=2, L=3, activation=activation, **{**base, name: base[name] + k * 0.2})
        for k in (-1, 0, 1)
    ]
    assert values[0] + values[2] == pytest.approx(2 * values[1], rel=1e-12)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("activation", ["softmax", "linear"])
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


@pytest.mark.parametrize("activation", ["softmax", "linear", "softplus"])
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


@pytest.mark.campaign
@pytest.mark.parametrize(("nu", "known"), [(1, None), (2, 0.916023823), (5, 0.866121943)])
def test_the_mismatched_minimum_of_the_max_task(nu, known):
    found = predict("mismatched-minimum", task="max", nu=nu, L=10, activation="softmax")
    assert found["exists"] is (known is not None)
    assert known is None or found["risk"] == pytest.approx(known, abs=1e-9)


# Activations of users


def test_a_users_kernel_works_in_every_entry():
    t = sympy.Symbol("t")
    mine = te.Normalised(sympy.exp(2 * t))
    found = predict("minimal-risk", task="spiked", nu=2, L=3, activation=mine)
    assert found["risk"] == pytest.approx(risk("bayes-risk", task="spiked", nu=2, L=3), rel=1e-12)
    assert found["m_kk"] == pytest.approx(math.sqrt(2) / 2, rel=1e-6)
    elementwise = te.ElementWise(1 + t)
    named, own = (
        risk("population-risk", task="spiked", nu=2, L=3, activation=a, **POINT) for a in ("linear", elementwise)
    )
    assert own == named


# Bad input


@pytest.mark.parametrize(
    ("point", "error"),
    [
        ({"nu": -1}, OutOfDomain),
        ({"nu": "inf"}, OutOfDomain),
        ({"L": {}}, OutOfDomain),
        ({"L": {2: "0.5"}}, OutOfDomain),
        ({"L": {2: "1.5", 3: "-0.5"}}, OutOfDomain),
        ({"L": 0}, OutOfDomain),
        ({"L": 10**12 + 1}, OutOfDomain),
        ({"L": "uniform(3,1)"}, OutOfDomain),
        ({"L": 2.5}, OutOfDomain),
        ({"task": "both"}, OutOfDomain),
        ({"nu": "much"}, BadNumber),
        ({"speed": 1}, UnknownParameter),
    ],
)
def test_bad_points_are_refused_with_a_reason(point, error):
    with pytest.raises(error) as caught:
        risk("bayes-risk", **{"task": "spiked", "nu": 1, "L": 3, **point})
    assert len(str(caught.value)) > 20


def test_unknown_or_unclear_activations_are_refused():
    here = {"task": "spiked", "nu": 1, "L": 3}
    with pytest.raises(OutOfDomain, match="nearest: softmax"):
        risk("minimal-risk", **here, activation="softmx")
    with pytest.raises(BadNumber, match="ElementWise"):
        risk("minimal-risk", **here, activation=sympy.Symbol("t") ** 3)
    with pytest.raises(MissingParameter):
        risk("minimal-risk", **here)
    with pytest.raises(UnknownParameter, match="shift"):
        risk("minimal-risk", **here, activation="softplus", shift=1)


def test_a_kernel_that_turns_negative_is_refused():
    with pytest.raises(OutOfDomain, match="not positive"):
        risk("manifold-risk", task="spiked", nu=1, L=3, activation=te.Normalised(sympy.Symbol("t") + 3), m_kk=2, m_vv=1)


def test_a_kernel_that_falls_is_refused():
    t = sympy.Symbol("t")
    with pytest.raises(OutOfDomain, match="does not increase"):
        te.Normalised(sympy.exp(-t))
    for task in TASKS:
        with pytest.raises(OutOfDomain, match="not monotone"):
            risk("manifold-risk", task=task, nu=1, L=3, activation=te.Normalised(2 + sympy.sin(t)), m_kk=2, m_vv=1)


def test_overlaps_that_no_vectors_have_are_refused():
    with pytest.raises(Infeasible, match="Gram matrix"):
        risk("population-risk", task="spiked", nu=1, L=3, activation="softmax", **{**POINT, "q_kk": 0.5})
    with pytest.raises(Infeasible):
        risk("manifold-risk", task="spiked", nu=1, L=3, activation="softmax", m_kk=1, q_kk=0.5, m_vv=1)


def test_off_the_manifold_an_infinite_signal_is_refused():
    with pytest.raises(NotAvailable, match="nu=inf"):
        risk("population-risk", task="max", nu="inf", L=3, activation="softmax", **POINT)


def test_no_warning_leaves_an_ordinary_prediction():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        risk("minimal-risk", task="max", nu=2, L=3, activation="softplus")


# Simulators against entries


@pytest.mark.parametrize(
    ("name", "simulator", "point"),
    [
        ("bayes-risk", simulators.bayes_estimator, {"task": "spiked", "nu": 2, "L": 4}),
        ("bayes-risk", simulators.bayes_estimator, {"task": "max", "nu": 3, "L": {2: 0.5, 5: 0.5}, "delta": 0.3}),
        ("linear-risk", simulators.best_linear_estimator, {"task": "max", "nu": "inf", "L": 3}),
        ("element-wise-bound", simulators.element_wise_estimator, {"task": "spiked", "nu": 3, "L": 4}),
        *[
            ("population-risk", simulators.attention_risk, {"task": task, "nu": 1.5, "L": 3, "activation": a, **POINT})
            for task in TASKS
            for a in ("softmax", "softplus", "tanh", "softmax-plus-one", "sigmoid")
        ],
        ("manifold-risk", simulators.attention_risk,
         {"task": "spiked", "nu": 2, "L": 3, "activation": "relu", "m_kk": 0.8, "m_vv": 0.9}),
        ("manifold-risk", simulators.attention_risk,
         {"task": "max", "nu": "inf", "L": 4, "activation": "tanh", "m_kk": 1.1, "m_vv": 0.9}),
    ],
)  # fmt: skip
def test_entries_agree_with_their_simulators(name, simulator, point):
    """Sixteen cases at five standard errors: 1e-5 false alarms in all. Fits cost up to 41/100000 of the risk."""
    numbers = {k: float(v) if v == "inf" else v for k, v in point.items()}
    values = simulator(numbers, np.random.default_rng(2026), 100_000)["risk"]
    exact = risk(name, **point)
    assert abs(values.mean() - exact) < 5 * values.std() / math.sqrt(len(values)) + 5e-4 * exact
