"""Gradients and descents of erf attention on whole vectors, against finer quadrature, differences and samples."""

import mpmath as mp
import numpy as np
import pytest
from scipy.special import erf

from theorem_engine.validators import marion2025, marion2025_descent
from theorem_engine.validators.marion2025 import PRODUCTS, make_vectors
from theorem_engine.validators.marion2025_descent import (
    batch_gradient,
    descend,
    gradient_descent,
    population_gradient,
    population_risk,
    project_step,
    sampled_gradient,
    stochastic_descent,
    uniform_start,
)

GENERIC = {"kappa": 0.3, "nu": 0.4, "theta": 0.2, "eta": -0.1, "rho": 0.15}


def z_score(samples, value):
    return (np.mean(samples) - value) / (np.std(samples, ddof=1) / np.sqrt(len(samples)))


def random_vectors(rng, d):
    """Unit k, v and orthonormal k*, v* in general position."""
    k, v = rng.standard_normal((2, d))
    k_star, v_star = np.linalg.qr(rng.standard_normal((d, 2)))[0].T
    return k / np.linalg.norm(k), v / np.linalg.norm(v), k_star, v_star


# Gradients


def mean_over_grid(k, v, target, mean, sigma, lam):
    """E e, E e^2 and E of (A, B, eA, eB) over one token in R^3, by the trapezoidal rule in all three coordinates."""
    nodes = 0.25 * np.arange(-38, 39)
    weights = 0.25 / np.sqrt(2 * np.pi) * np.exp(-(nodes**2) / 2)
    X = mean + sigma * np.stack(np.meshgrid(nodes, nodes, nodes, indexing="ij"), axis=-1).reshape(-1, 3)
    W = np.einsum("i,j,k->ijk", weights, weights, weights).ravel()
    f, answer = erf(lam * X @ k), X @ v
    e = f * answer - X @ target
    slope = lam * 2 / np.sqrt(np.pi) * np.exp(-((lam * X @ k) ** 2)) * answer
    return (W @ e, W @ e**2), [(W * c) @ X for c in (slope, f, e * slope, e * f)]


@pytest.mark.parametrize("norm", [1.0, 1.3])
def test_the_quadrature_along_k_agrees_with_one_over_whole_tokens(norm):
    rng = np.random.default_rng(7)
    k, v, k_star, v_star = random_vectors(rng, 3)
    k, v = norm * k, v / norm
    for target, mean, sigma in ((v_star, 1.5**0.5 * k_star, 0.7), (0 * v_star, 0 * v_star, 1.0)):
        numbers, rows = marion2025_descent._token_means(k, v, target, mean, sigma, 0.6)
        whole_numbers, whole_rows = mean_over_grid(k, v, target, mean, sigma, 0.6)
        assert numbers == pytest.approx(np.array(whole_numbers), abs=1e-13)
        assert rows == pytest.approx(np.array(whole_rows), abs=1e-13)


def mpmath_risk(k, v, shift, lam, gamma, L):
    """The risk to the digits mpmath carries; vectors by their coordinates along k*, v* and two more axes."""

    def dot(x, y):
        return mp.fsum(a * b for a, b in zip(x, y, strict=True))

    def moments(target, mean, sigma):
        norm = mp.sqrt(dot(k, k))

        def residual(z):
            # e = X.h with h = erf(lam X.k) v - target: Gaussian once X.k is known
            f = mp.erf(lam * (dot(mean, k) + sigma * norm * z))
            h = [f * a - b for a, b in zip(v, target, strict=True)]
            centre = dot(mean, h) + sigma * z * dot(k, h) / norm
            spread = sigma**2 * (dot(h, h) - (dot(k, h) / norm) ** 2)
            return mp.npdf(z) * mp.mpc(centre, centre**2 + spread)

        both = mp.quad(residual, range(-12, 13, 4), method="gauss-legendre")
        return both.real, both.imag

    m1, q1 = moments([0, 1, 0, 0], [shift, 0, 0, 0], gamma)
    m0, q0 = moments([0] * 4, [0] * 4, mp.mpf(1))
    return q1 + (L - 1) * (q0 + 2 * m1 * m0 + (L - 2) * m0**2)


@pytest.mark.parametrize(
    ("lam", "products"),
    [
        (0.1, (0.3, 0.4, 0.2, -0.1, 0.15)),
        (1.0, (0.05, -0.04, 0.03, 0.06, -0.02)),
        (1.0, (-0.9, 0.2, -0.3, 0.1, 0.2)),
    ],
)
def test_risk_and_gradient_in_four_hundred_dimensions_agree_with_mpmath(lam, products):
    d, gamma, L = 400, float(np.sqrt(0.5)), 10
    k, v, k_star, v_star = make_vectors({**dict(zip(PRODUCTS, products, strict=True)), "d": d})
    axes = marion2025.make_frame(d)
    direction = np.array([0.7, -0.4, 0.5, 0.3])
    with mp.workdps(30):
        here = [[mp.mpf(float(x)) for x in axes.T @ vector] for vector in (k, v)]

        def moved_risk(side, step):
            there = [list(vector) for vector in here]
            there[side] = [x + step * mp.mpf(float(y)) for x, y in zip(here[side], direction, strict=True)]
            return mpmath_risk(*there, mp.sqrt(mp.mpf(d) / 2), mp.mpf(lam), mp.mpf(gamma), L)

        risk = float(moved_risk(0, 0))
        # 30 digits leave room for a step whose own error, of order h^2, is below the digits of a double
        h = mp.mpf("1e-10")
        slopes = [float((moved_risk(side, h) - moved_risk(side, -h)) / (2 * h)) for side in (0, 1)]
    assert population_risk(k, v, k_star, v_star, lam, gamma, L) == pytest.approx(risk, rel=1e-14)
    found = [gradient @ axes @ direction for gradient in population_gradient(k, v, k_star, v_star, lam, gamma, L)]
    # measured: 3e-14, the rounding of products in R^400 times the slope of the erf
    assert found == pytest.approx(slopes, abs=1e-13)


def test_the_gradient_lies_in_the_span_of_the_four_vectors():
    vectors = random_vectors(np.random.default_rng(8), 50)
    basis = np.linalg.qr(np.stack(vectors, axis=1))[0]
    for gradient in population_gradient(*vectors, 0.7, 0.6, 4):
        assert np.abs(gradient - basis @ (basis.T @ gradient)).max() < 1e-13


def test_turning_all_vectors_turns_the_gradient():
    rng = np.random.default_rng(9)
    vectors = random_vectors(rng, 30)
    turn = np.linalg.qr(rng.standard_normal((30, 30)))[0]
    turned = [turn @ vector for vector in vectors]
    assert population_risk(*turned, 0.4, 0.9, 6) == pytest.approx(population_risk(*vectors, 0.4, 0.9, 6), rel=1e-13)
    for before, after in zip(
        population_gradient(*vectors, 0.4, 0.9, 6), population_gradient(*turned, 0.4, 0.9, 6), strict=True
    ):
        assert after == pytest.approx(turn @ before, abs=1e-13)


def test_the_gradient_of_a_batch_is_the_slope_of_its_loss():
    """Finite differences of the sampled risk with the same tokens on both sides."""
    rng = np.random.default_rng(10)
    k, v, k_star, v_star = random_vectors(rng, 6)
    tokens, labels = marion2025_descent._draw_batch(rng, 300, 4, 0.8, 0.3, k_star, v_star)

    def loss(pair):
        return np.mean((labels - np.sum(erf(0.7 * tokens @ pair[0]) * (tokens @ pair[1]), axis=1)) ** 2)

    pair = np.stack([k, v])
    gradient = batch_gradient(tokens, labels, pair, 0.7)
    for place in np.ndindex(2, 6):
        step = np.zeros((2, 6))
        step[place] = 1e-5
        slope = (loss(pair + step) - loss(pair - step)) / 2e-5
        assert gradient[place] == pytest.approx(slope, abs=1e-8)


def test_runs_of_a_batch_do_not_mix():
    rng = np.random.default_rng(11)
    tokens, labels, pairs = (
        rng.standard_normal((3, 2, 4, 5)),
        rng.standard_normal((3, 2)),
        rng.standard_normal((3, 2, 5)),
    )
    together = batch_gradient(tokens, labels, pairs, 0.5)
    for run in range(3):
        assert together[run] == pytest.approx(batch_gradient(tokens[run], labels[run], pairs[run], 0.5), abs=1e-14)


@pytest.mark.parametrize(("lam", "L"), [(0.3, 5), (1.5, 1), (0.8, 3)])
def test_sampled_and_population_gradients_agree(lam, L):
    rng = np.random.default_rng(12)
    vectors = random_vectors(rng, 12)
    mean, error = sampled_gradient(*vectors, lam, 0.7, L, rng, 60_000)
    assert np.abs((mean - np.stack(population_gradient(*vectors, lam, 0.7, L))) / error).max() < 4


# Descent

SETTING = {"lam": 0.1, "gamma": np.sqrt(0.5), "d": 400, "L": 10, "alpha": 4e-3}
START = {"kappa": -0.08, "nu": 0.035, "theta": 0.0033, "eta": 0.088, "rho": -0.0145}


def test_a_step_along_the_vector_itself_is_no_step_and_one_across_turns_by_its_arctangent():
    x, across = np.eye(5)[:2]
    assert project_step(x, 7 * x, 3.0) == pytest.approx(x, abs=1e-15)
    angle = np.arctan(3.0 * 0.4)
    assert project_step(x, 7 * x - 0.4 * across, 3.0) == pytest.approx(
        np.cos(angle) * x + np.sin(angle) * across, abs=1e-15
    )


def test_descent_depends_on_the_products_alone():
    runs = gradient_descent({**SETTING, **START, "steps": 300}, np.random.default_rng(13), 3)
    assert max(np.ptp(values) for values in runs.values()) < 1e-13


def test_descent_lowers_the_risk_and_keeps_the_norms():
    vectors = make_vectors({**SETTING, **START})
    point = {name: SETTING[name] for name in ("lam", "gamma", "L")}
    risks = []
    k, v, *stars = vectors
    for _ in range(5):
        risks.append(population_risk(k, v, *stars, **point))
        _, (k, v) = descend(k, v, *stars, **point, alpha=4e-3, steps=50, log_every=50)
    assert risks == sorted(risks, reverse=True)
    assert [k @ k, v @ v] == pytest.approx([1, 1], abs=1e-14)


def test_the_log_of_a_descent_names_its_steps_and_ends_with_the_last():
    vectors = make_vectors({**SETTING, **START})
    point = {name: SETTING[name] for name in ("lam", "gamma", "L", "alpha")}
    log, (k, v) = descend(*vectors, **point, steps=25, log_every=10)
    assert list(log["step"]) == [0, 10, 20, 25]
    assert log["rho"][-1] == pytest.approx(k @ v, abs=1e-15)
    assert {name: log[name][0] for name in PRODUCTS} == pytest.approx(START, abs=1e-14)
    every, _ = descend(*vectors, **point, steps=25)
    assert every["eta"][[0, 10, 20, 25]] == pytest.approx(log["eta"], abs=0)


def test_no_steps_return_the_start():
    point = {**SETTING, **START, "steps": 0, "batch": 2}
    rng = np.random.default_rng(14)
    for results in (gradient_descent(point, rng), stochastic_descent(point, rng, 2)):
        assert {name: results[name][0] for name in PRODUCTS} == pytest.approx(START, abs=1e-14)


def test_the_schedule_starts_after_the_first_step():
    # With so steep a schedule lambda is 0.1 at step 0 and nothing after it: later steps do not move.
    steep = {**SETTING, **START, "schedule": 1e12, "batch": 2, "d": 20}
    plain = {**steep, "schedule": 0}
    for run in (lambda point: gradient_descent(point, np.random.default_rng(15)),
                lambda point: stochastic_descent(point, np.random.default_rng(15), 1)):  # fmt: skip
        after_one, after_four = run({**plain, "steps": 1}), run({**steep, "steps": 4})
        for name in PRODUCTS:
            assert after_four[name] == pytest.approx(after_one[name], abs=1e-9)


def test_the_mean_of_a_small_online_step_follows_the_population_gradient():
    point = {**GENERIC, "lam": 0.8, "gamma": 0.7, "d": 15, "L": 4, "eps": 0.3, "alpha": 1e-7, "batch": 3, "steps": 1}
    k, v, k_star, v_star = vectors = make_vectors(point)
    of_k, of_v = population_gradient(*vectors, 0.8, 0.7, 4)
    towards_k, towards_v = (x @ g * x - g for x, g in ((k, of_k), (v, of_v)))
    wanted = dict(
        zip(PRODUCTS, (towards_k @ k_star, towards_v @ v_star, towards_v @ k_star, towards_k @ v_star,
                       towards_k @ v + towards_v @ k), strict=True)
    )  # fmt: skip
    moved = stochastic_descent(point, np.random.default_rng(16), 40_000)
    # The second order in alpha is below 1e-4 of the drift, a hundredth of its standard error.
    assert max(abs(z_score((moved[name] - point[name]) / 1e-7, wanted[name])) for name in PRODUCTS) < 4


def test_many_online_runs_are_the_runs_of_several_blocks(monkeypatch):
    point = {**GENERIC, "lam": 0.8, "gamma": 0.7, "d": 8, "L": 3, "alpha": 1e-2, "batch": 2, "steps": 5}
    monkeypatch.setattr(marion2025_descent, "BLOCK", 3 * 8 * 3 * 2)
    runs = stochastic_descent(point, np.random.default_rng(17), 8)
    assert all(len(set(values)) == 8 for values in runs.values())
    assert all(np.all(np.abs(values - point[name]) < 0.5) for name, values in runs.items())


# Uniform start


@pytest.mark.parametrize("d", [2, 3, 40])
def test_products_of_uniform_vectors_have_the_moments_of_a_sphere(d):
    start = uniform_start(d, np.random.default_rng(18), 40_000)
    for name in PRODUCTS:
        assert abs(z_score(start[name], 0)) < 4
        assert abs(z_score(start[name] ** 2, 1 / d)) < 4
        assert abs(z_score(start[name] ** 4, 3 / (d * (d + 2)))) < 4
    assert abs(z_score(start["kappa"] * start["theta"] * start["rho"], 1 / d**2)) < 4
