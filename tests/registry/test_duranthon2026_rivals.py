"""Minimal risks of attention with each activation, named or a user's, and what bounds them."""

import math

import pytest
import sympy

import theorem_engine as te
from tests.registry.duranthon2026_points import POINT, TASKS, predict, risk
from theorem_engine.base.errors import NotAvailable


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


#: Both ways are taken at this point.
BENT = {"task": "max", "nu": 2, "activation": "softplus", "m_kk": 40, "m_vv": 1}


@pytest.fixture
def evenly(monkeypatch):
    """Predictions by one even grid, however steep the kernel is."""
    from theorem_engine.backends.float64 import token_pair

    def found(*names, **point):
        with monkeypatch.context() as patch:
            patch.setattr(token_pair, "STEEP", math.inf)
            return predict(*names, **point)

    return found


@pytest.mark.parametrize("L", [3, pytest.param(30, marks=pytest.mark.campaign)])
def test_steep_kernels_take_another_way_to_the_same_mean(L, evenly):
    """Nodes that follow the kernel and panels for the posterior, against one even grid for both."""
    steep, even = predict("manifold-risk", L=L, **BENT), evenly("manifold-risk", L=L, **BENT)
    assert [steep[k] for k in ("risk", "S", "Q")] == pytest.approx([even[k] for k in ("risk", "S", "Q")], rel=1e-13)


@pytest.mark.campaign
@pytest.mark.parametrize("L", [3, 30])
def test_steep_kernels_take_another_way_to_the_same_gradient(L, evenly):
    point = {**BENT, "L": L, "m_kv": 0, "m_vk": 0, "q_kk": 1600, "q_vv": 1, "q_kv": 0}
    names = ("risk", "d_m_kv", "d_m_vv")
    gradient, other = predict("population-risk", **point), evenly("population-risk", **point)
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


@pytest.mark.parametrize("sign", [1, -1])
def test_an_infimum_at_vanishing_scores_has_a_value_vector_without_bound(sign):
    """Here sinh is best where it is straight: as m -> 0 its weights are those of m chi, whose risk is L/(L + nu)."""
    activation = te.ElementWise(sign * sympy.sinh(sympy.Symbol("t")))
    prediction = te.predict("duranthon2026.minimal-risk", task="spiked", nu=1, L=2, activation=activation)
    assert abs(prediction.value - 2 / 3) <= prediction.error < 1e-12
    assert (prediction.outputs["m_kk"], prediction.outputs["m_vv"]) == (0, sign * math.inf)
    assert prediction.outputs["attained"] is False


@pytest.mark.parametrize(
    ("name", "output", "point"),
    [
        ("softmax-optimality", "temperature", {}),
        ("large-sample-limit", "m_k", {"activation": "softmax"}),
        ("minimal-risk", "m_kk", {"activation": "softmax"}),
    ],
)
def test_what_may_be_infinite_is_declared_so(name, output, point):
    prediction = te.predict(f"duranthon2026.{name}", task="max", nu="inf", L=3, **point)
    assert prediction.outputs[output] == math.inf
    assert prediction.entry.outputs[output].range.describe().endswith("oo]")


def test_a_faint_signal_is_as_good_to_softplus_as_to_softmax():
    """To second order in nu any rising kernel is an exponential: 1 - 1/L - nu^2 (L-1)/L^2, next terms below 1e-16."""
    nu = 1e-4
    prediction = te.predict("duranthon2026.minimal-risk", task="max", nu=nu, L=3, activation="softplus")
    assert abs(prediction.value - (2 / 3 - nu**2 * 2 / 9)) <= prediction.error < 1e-13
    # log softplus has the slope 1/(2 log 2) at zero
    assert abs(prediction.outputs["m_kk"] - 2 * math.log(2) * nu) <= prediction.errors["m_kk"] + nu**3


@pytest.mark.parametrize("activation", ["softplus", "tanh", "softmax-plus-one"])
@pytest.mark.parametrize("nu", [1e-300, 1e-16])
def test_a_signal_below_rounding_is_not_searched_for(activation, nu):
    with pytest.raises(NotAvailable, match="nu below 1e-6 is not searched"):
        te.predict("duranthon2026.minimal-risk", task="max", nu=nu, L=3, activation=activation)


@pytest.mark.parametrize("point", [{"nu": 23.86, "L": 1}, {"nu": "inf", "L": 1}, {"nu": 0, "L": 3}])
@pytest.mark.parametrize("m", [0.7, 120])
def test_one_token_or_no_signal_at_any_slope(point, m):
    """Normalised weights of equal tokens are 1/L each in the mean, however steep the kernel."""
    for activation in ("softmax", "softplus", "tanh"):
        found = te.predict("duranthon2026.manifold-risk", task="max", m_kk=m, m_vv=1, activation=activation, **point)
        assert abs(found.outputs["S"] - 1 / point["L"]) <= found.errors["S"] < 1e-11


def test_erf_weights_of_very_long_sequences_have_a_least_risk():
    """Between the best element-wise weights and linear ones; the search meets places where erf has no value."""
    point = {"task": "spiked", "nu": 5, "L": 100_000}
    best = te.predict("duranthon2026.element-wise-bound", **point).value
    erf, linear = (te.predict("duranthon2026.minimal-risk", activation=a, **point).value for a in ("erf", "linear"))
    assert 1 - linear < 1 - erf <= (1 - best) * (1 + 1e-9)
