"""Slopes of the Bayes risk, what samples cost, and mismatched minima, against quadratures written here."""

import math

import mpmath
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import erf

import theorem_engine as te
from tests.registry.duranthon2026_points import predict


def over_difference(task, nu, body):
    """Mean over two tokens of a function of p p' = 1/(4 cosh^2(t/2)), t the difference of their log kernels."""
    context = mpmath.mp.clone()
    context.dps = 25
    centre, width = (nu, math.sqrt(2 * nu)) if task == "spiked" else (0, math.sqrt(2) * nu)

    def weighted(u):
        t = centre + width * u
        return body(1 / (2 * context.cosh(t / 2)) ** 2) * context.exp(-u * u / 2) / context.sqrt(2 * context.pi)

    ends = sorted({-12, -centre / width - 2, -centre / width, -centre / width + 2, 0, 12})
    return context.quad(weighted, ends)


@pytest.mark.parametrize(("task", "nu"), [("spiked", 0.3), ("spiked", 4), ("spiked", 60), ("max", 0.3), ("max", 4)])
def test_the_slope_is_that_of_a_quadrature_over_two_tokens(task, nu):
    """The Bayes risk of two tokens is twice E p p'; its derivative is taken by differences at 25 digits."""
    step = mpmath.mpf(nu) * mpmath.mpf("1e-6")
    high, low = (over_difference(task, mpmath.mpf(nu) + s * step, lambda a: 2 * a) for s in (1, -1))
    found = te.predict("duranthon2026.bayes-slope", task=task, nu=nu, L=2)
    assert found.value == pytest.approx(float((high - low) / (2 * step)), rel=1e-9)


@pytest.mark.parametrize(("task", "nu"), [("spiked", 1), ("spiked", 9), ("spiked", 80), ("max", 2)])
def test_the_cost_of_samples_is_that_of_a_quadrature_over_two_tokens(task, nu):
    """Two tokens: J is p p' times a matrix with the eigenvalues 2 and 0."""
    bend, noise, square, cross = (
        over_difference(task, nu, body)
        for body in (lambda a: 4 * a**2, lambda a: 24 * a**3, lambda a: 1 - 2 * a, lambda a: 2 * a * (1 - 2 * a))
    )
    found = te.predict("duranthon2026.learning-coefficient", task=task, nu=nu, L=2)
    for name, value in (("key", noise / bend), ("value", cross / square)):
        assert abs(found.outputs[name] - float(value)) <= found.errors[name] + 1e-12 * float(value)
    assert found.value == pytest.approx(float(noise / bend + cross / square), rel=1e-12)


def test_the_cost_of_samples_is_that_of_the_replica_equations():
    """Sampled with the fixed point at alpha = 1600: 1.698(2) and 1.512(2) for three tokens."""
    for nu, value in ((1, 1.698), (2, 1.512)):
        here = te.predict("duranthon2026.learning-coefficient", task="spiked", nu=nu, L=3)
        assert here.value == pytest.approx(value, abs=0.004)


def test_two_tokens_without_normalisation_need_twice_the_signal():
    for nu in (0.1, 3, 40):
        found = te.predict("duranthon2026.doubling", nu=nu)
        assert found.outputs["bayes"] == pytest.approx(found.outputs["element_wise"], rel=1e-12)
        assert found.value == pytest.approx(float(over_difference("spiked", nu, lambda a: 2 * a)), rel=1e-11)


NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(60)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


def spiked_risk(place, nu, L, weight):
    """k and v in the span of k* and v*, element-wise weights: products of means over one token's chi* and z*."""
    m_kk, m_kv, m_vk, m_vv = place
    share = WEIGHTS[:, None] * WEIGHTS[None, :]
    parts = []
    for shift in (math.sqrt(nu), 0.0):
        mark, value = NODES[:, None] + shift, NODES[None, :]
        answer = weight(m_kk * mark + m_kv * value) * (m_vk * mark + m_vv * value)
        parts.append([np.sum(share * x) for x in (answer, answer**2, answer * value)])
    (hidden, hidden_square, label), (other, other_square, _) = parts
    squares = hidden_square + (L - 1) * other_square
    return 1 - 2 * label + squares + 2 * (L - 1) * hidden * other + (L - 1) * (L - 2) * other**2


def test_erf_weights_have_a_mismatched_minimum():
    """.916124 at L = 10, nu = 2, shift = -1."""
    found = predict("mismatched-minimum", task="spiked", nu=2, L=10, activation="erf", shift=-1)
    names = ("m_kk", "m_kv", "m_vk", "m_vv")
    descent = minimize(
        spiked_risk, [0.0, 1.0, 0.1, 0.0], (2, 10, lambda chi: 1 + erf(chi - 1)), method="BFGS", options={"gtol": 1e-7}
    )
    assert found["risk"] == pytest.approx(0.916124, abs=5e-7)
    assert found["risk"] == pytest.approx(descent.fun, abs=1e-9)
    assert [found[n] for n in names] == pytest.approx(descent.x, abs=1e-5)
    assert found["exists"]


def test_erf_weights_have_a_mismatched_minimum_in_the_max_task():
    found = predict("mismatched-minimum", task="max", nu=2, L=10, activation="erf", shift=-1)
    assert found["risk"] == pytest.approx(0.910268, abs=5e-7)
    assert found["exists"]


@pytest.mark.parametrize(("nu", "L"), [(2, 10), (5, 10), (3, 2)])
def test_linear_weights_descend_along_v_star_without_end(nu, L):
    """Along a valley of ever longer k the risk falls to the limit from above."""
    found = predict("mismatched-minimum", task="spiked", nu=nu, L=L, activation="linear")
    assert not found["exists"]
    heights = []
    for length in (3, 30, 300):
        scale = math.sqrt(nu) / ((L + nu) * length)
        best = minimize(
            lambda rest, k=length: spiked_risk([rest[0], k, rest[1], rest[2]], nu, L, lambda chi: 1 + chi),
            [0.0, scale, 0.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13},
        )  # fmt: skip
        heights.append(best.fun)
    assert heights[0] > heights[1] > heights[2] > found["risk"] - 1e-9
    assert heights[2] == pytest.approx(found["risk"], abs=2e-4)
    assert found["risk"] == pytest.approx(L / (L + nu), rel=1e-14)


def test_linear_weights_of_the_max_task_fall_to_what_the_largest_score_explains():
    found = predict("mismatched-minimum", task="max", nu=2, L=10, activation="linear")
    assert found["risk"] == pytest.approx(0.85122, abs=5e-6)
