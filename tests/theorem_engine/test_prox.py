"""Proximal points of attention's squared error: minimality, derivatives, machine code against NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from theorem_engine.methods import prox, prox_softmax

WIDTHS = st.tuples(st.floats(0.05, 8), st.floats(0.05, 4))


def samples(length, count=300, seed=3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(count, length)), 0.8 * rng.normal(size=(count, length)), rng.normal(size=(count, 1))


def objective(name, chi, z, omega, w, y, width_k, width_v):
    weights = 1 + chi if name == "linear" else prox_softmax.softmax(chi)
    miss = y - np.sum(weights * z, axis=-1, keepdims=True)
    gaps = [np.sum((p - c) ** 2, axis=-1, keepdims=True) for p, c in ((chi, omega), (z, w))]
    return gaps[0] / (2 * width_k) + gaps[1] / (2 * width_v) + miss**2 / 2


@pytest.mark.parametrize("length", [2, 3, 6])
@given(widths=WIDTHS)
def test_the_linear_proximal_point_is_below_every_other_point(length, widths):
    omega, w, y = samples(length, 40)
    found = prox.linear_point(omega, w, y, *widths)
    here = objective("linear", found.chi, found.z, omega, w, y, *widths)
    rng = np.random.default_rng(1)
    for size in (1e-3, 0.1, 1.0, 5.0):
        chi, z = (p + size * rng.normal(size=p.shape) for p in (found.chi, found.z))
        assert np.all(here <= objective("linear", chi, z, omega, w, y, *widths) + 1e-12)
    assert np.all(np.abs(found.rho) < 1 / np.sqrt(widths[0] * widths[1]))
    residual = y - np.sum((1 + found.chi) * found.z, axis=-1, keepdims=True)
    assert residual == pytest.approx(found.rho, abs=1e-9 * (1 + np.max(np.abs(found.z)) ** 2))


@pytest.mark.parametrize("length", [2, 3, 5])
def test_the_softmax_proximal_point_is_the_best_of_many_searches(length):
    omega, w, y = samples(length, 25, seed=8)
    widths = 4.0, 1.5
    found = prox_softmax.softmax_point(omega, w, y, *widths)
    here = objective("softmax", found.chi, found.z, omega, w, y, *widths)
    rng = np.random.default_rng(2)
    for i in range(len(omega)):

        def height(x, i=i):
            one = (p[i : i + 1] for p in (omega, w, y))
            return float(objective("softmax", x[None, :length], x[None, length:], *one, *widths)[0, 0])

        for _ in range(6):
            start = np.concatenate([omega[i] + 4 * rng.normal(size=length), w[i]])
            assert here[i, 0] <= minimize(height, start, method="BFGS").fun + 1e-7
    assert np.sum(found.chi, axis=1) == pytest.approx(np.sum(omega, axis=1), abs=1e-10)


@pytest.mark.parametrize("widths", [(0.5, 1.0), (5.0, 2.0)])
@pytest.mark.parametrize("length", [2, 4])
def test_machine_code_and_numpy_find_the_same_point(length, widths):
    pytest.importorskip("numba")
    omega, w, y = samples(length, 2000)
    quick, plain = (
        prox_softmax.compiled_minimiser(omega, w, y, *widths),
        prox_softmax.batched_minimiser(omega, w, y, *widths),
    )
    assert np.max(np.abs(quick[0] - plain[0])) <= 1e-10
    assert np.array_equal(quick[1], plain[1])


@pytest.mark.parametrize("name", ["linear", "softmax"])
def test_responses_are_the_derivatives_of_the_point(name):
    length, widths, step = 4, (0.9, 0.7), 1e-5
    omega, w, y = samples(length, 6)

    def f(omega, w):
        found = prox.points(name)(omega, w, y, *widths)
        return (found.chi - omega) / widths[0], (found.z - w) / widths[1]

    blocks = np.zeros((2, 2, 6, length, length))
    for j in range(length):
        move = step * np.eye(length)[j]
        moves = [((omega + move, w), (omega - move, w)), ((omega, w + move), (omega, w - move))]
        for column, (up, down) in enumerate(moves):
            for row, (plus, minus) in enumerate(zip(f(*up), f(*down), strict=True)):
                blocks[row, column, :, :, j] = (plus - minus) / (2 * step)
    found = prox.points(name)(omega, w, y, *widths)
    response = prox.responses(name)(found, w, *widths)
    kk, kv, vk, vv = blocks.reshape(4, 6, length, length)
    # differences of a root known to 1e-12 or so
    assert kv == pytest.approx(np.swapaxes(vk, 1, 2), abs=2e-6)
    for block, stated in ((kk, response.kk), (kv, response.kv), (vv, response.vv)):
        assert np.sum(block**2, axis=(1, 2)) == pytest.approx(stated[:, 0], abs=2e-6)
    assert np.sum(kk * vv + kv * vk, axis=(1, 2)) == pytest.approx(response.cross[:, 0], abs=2e-6)


@pytest.mark.parametrize("widths", [(0.5, 1.0), (5.0, 2.0), (80.0, 0.4)])
def test_machine_code_and_numpy_find_the_same_root(widths):
    pytest.importorskip("numba")
    omega, w, y = samples(3, 2000)
    base = 1 + omega
    product, size = prox.dot(base, w), widths[1] * prox.dot(base, base) + widths[0] * prox.dot(w, w)
    given = product[:, 0], size[:, 0], y[:, 0], widths[0] * widths[1], prox.STEPS, prox.LAST_STEP
    quick, plain = prox.machine_code().linear_roots(*given), prox.linear_roots(*given)
    assert np.max(np.abs(quick - plain)) <= 1e-10


def test_the_comparison_of_both_codes_can_fail():
    """A width off by 1e-6 moves the points by more than the tolerance of the comparisons."""
    omega, w, y = samples(3, 200)
    for find in (prox.linear_point, prox_softmax.softmax_point):
        assert np.max(np.abs(find(omega, w, y, 1.0, 1.0).chi - find(omega, w, y, 1.000001, 1.0).chi)) > 1e-9


@given(widths=WIDTHS, scale=st.floats(0.2, 5))
def test_a_point_that_is_certain_to_be_the_lowest_is(widths, scale):
    """Newton's method from far starts finds nothing lower where the bound of the curvature excludes it."""
    omega, w, y = samples(3, 60)
    omega = scale * omega
    first = prox_softmax._newton(omega, omega, w, y, *widths)
    height = prox_softmax._objective(first, omega, w, y, *widths)
    certain = prox_softmax.is_lowest(height, omega, w, y, *widths)
    for start in prox_softmax._starts(omega):
        other = prox_softmax._newton(start, omega, w, y, *widths)
        lower = prox_softmax._objective(other, omega, w, y, *widths) < height - prox_softmax.JUMP
        assert not np.any(lower & certain)


def test_the_bound_of_the_curvature_spares_most_searches_where_the_width_is_small():
    omega, w, y = samples(3, 500)
    shares = []
    for width in (0.3, 1.0, 30.0):
        first = prox_softmax._newton(omega, omega, w, y, width, 0.7)
        height = prox_softmax._objective(first, omega, w, y, width, 0.7)
        shares.append(np.mean(prox_softmax.is_lowest(height, omega, w, y, width, 0.7)))
    assert shares[0] > 0.97
    assert shares[0] > shares[1] > shares[2]
