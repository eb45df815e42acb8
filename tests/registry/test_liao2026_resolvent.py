"""The fixed point of the noise resolvent, the forms of the spectrum, and the symmetries of the error."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import theorem_engine as te
from tests.registry.liao2026_points import error, gram, moments, penalties, ratios, rests, slopes, vectors
from theorem_engine.asking.evaluation import evaluate_float64
from theorem_engine.asking.point import read_point
from theorem_engine.base.reports import listening


def _resolvent_on_arrays(count, seed):
    rng = np.random.default_rng(seed)
    entry = te.entry("liao2026.noise-resolvent")
    options = read_point(entry, {"c": 1, "gamma": 1, "a1": "0.5", "second_moment": 1}).options
    c, gamma = 10 ** rng.uniform(np.log10(0.02), np.log10(50), count), 10 ** rng.uniform(-6, 3, count)
    a1 = rng.uniform(0, 1.5, count)
    rest = np.where(rng.random(count) < 0.5, rng.uniform(0, 3, count), 10 ** rng.uniform(-4, 0.5, count))
    point = {"c": c, "gamma": gamma, "a1": a1, "second_moment": a1**2 + rest, "diagonal": np.zeros(count)}
    with listening() as notes:
        found = evaluate_float64(entry, options, [point[x.name] for x in entry.letters if x.name in point])
    newton = [note.error for note in notes if note.method.startswith("Newton")]
    return point, rest, {symbol.name: value for symbol, value in found.items()}, max(newton)


@pytest.mark.parametrize("count", [200, pytest.param(2000, marks=pytest.mark.campaign)])
def test_random_cases_converge(count):
    """c in [0.02, 50], gamma in [1e-6, 1e3], b^2 in (0, 3]: the residual, the signs and the defining equations."""
    point, rest, out, residual = _resolvent_on_arrays(count, 20260117)
    assert residual < 1e-12
    assert np.all(out["g"] > 0)
    assert np.all(out["e"] >= 0)
    assert np.allclose(out["e"], rest * out["alpha"], rtol=1e-9)
    assert np.allclose(out["g"], point["gamma"] + rest * out["delta"], rtol=1e-9)
    null = -(point["gamma"] ** 2) * out["d_alpha"]
    assert np.all((null > 0) & (null < 1))


def test_one_point_and_many_are_solved_alike():
    """The solver of a single point and that of arrays meet at the same solution, in a few steps."""
    point, _, out, _ = _resolvent_on_arrays(60, 7)
    entry = te.entry("liao2026.noise-resolvent")
    options = read_point(entry, {"c": 1, "gamma": 1, "a1": "0.5", "second_moment": 1}).options
    for k in range(60):
        values = [float(point[x.name][k]) for x in entry.letters if x.name in point]
        with listening() as notes:
            found = {symbol.name: value for symbol, value in evaluate_float64(entry, options, values).items()}
        (steps,) = (int(note.detail.split()[0]) for note in notes if note.method.startswith("Newton"))
        assert steps <= 12
        for name in ("g", "e", "eta", "d_alpha"):
            assert found[name] == pytest.approx(out[name][k], rel=1e-8), name


@pytest.mark.parametrize("c", [0.3, 1.0, 2.5])
@pytest.mark.parametrize("gamma", [0.05, 1.0, 20.0])
def test_the_scalars_solve_their_equations_by_plain_quadrature(c, gamma):
    """I0, I1 and I2 by midpoints over the Marchenko-Pastur density; g alpha plus the mean of s B^2/P is one."""
    a1, rest = 0.6, 0.5
    out = te.predict("liao2026.noise-resolvent", c=c, gamma=gamma, **moments(a1, rest)).outputs
    lam, count = 1 / c, 40_000
    angle = (np.arange(count) + 0.5) * np.pi / count
    s = 1 + lam + 2 * np.sqrt(lam) * np.cos(angle)
    weight = 2 / count * np.sin(angle) ** 2 / s
    s, weight = np.append(s, 0.0), np.append(weight, max(0.0, 1 - c))
    g, e, eta, kap = out["g"], out["e"], out["eta"], np.sqrt(c) * a1
    line = kap * s + eta
    cubic = g * (1 + e * s) + s * line**2
    first, second, third = (weight @ (top / cubic) for top in (1 + e * s, s, s * line))
    assert out["alpha"] == pytest.approx(first, rel=1e-7)
    assert out["delta"] == pytest.approx(g * second, rel=1e-7)
    assert out["beta"] == pytest.approx(-third, rel=1e-7)
    assert (g, e, eta) == pytest.approx((gamma + rest * g * second, rest * first, -kap - rest * third), rel=1e-7)
    assert g * first + weight @ (s * line**2 / cubic) == pytest.approx(1, rel=1e-7)


@pytest.mark.parametrize("rest", ["0", "1e-12", "0.4"])
def test_small_penalties_converge_one_by_one(rest):
    """The float64 error stays small where alpha is huge or the spectrum is nearly reached."""
    for c, gamma in itertools.product(("0.05", "0.999", "1", "3", "50"), ("1e-6", "1e-3")):
        point = {"c": c, "gamma": gamma, **moments("0.7", rest)}
        quick = te.predict("liao2026.null-error", **point)
        exact = te.predict("liao2026.null-error", digits=16, **point)
        assert abs(quick.value - float(exact.value)) <= 1e-11 * abs(quick.value)
        assert 0 < quick.value < 1


@given(c=ratios, gamma=penalties, a1=slopes, rest=rests)
def test_derivatives_in_gamma_are_those_of_the_fixed_point(c, gamma, a1, rest):
    out = te.predict("liao2026.noise-resolvent", c=c, gamma=gamma, **moments(a1, rest)).outputs
    # derivative of alpha by a difference of the fixed point itself
    step = 1e-4
    up, down = (
        te.predict("liao2026.noise-resolvent", c=c, gamma=gamma * (1 + sign * step), **moments(a1, rest)).outputs
        for sign in (1, -1)
    )
    for name in ("alpha", "beta", "delta", "g", "e", "eta"):
        slope = (up[name] - down[name]) / (2 * step * gamma)
        scale = abs(out[name] / gamma) + abs(out[f"d_{name}"])
        assert abs(slope - out[f"d_{name}"]) <= 1e-6 * scale, name


def test_errors_are_claimed_truthfully():
    rng = np.random.default_rng(3)
    for _ in range(12):
        point = {"c": float(f"{10 ** rng.uniform(-1, 1):.4g}"), "gamma": float(f"{10 ** rng.uniform(-5, 2):.4g}"),
                 "nonlinearity": "tanh", **gram(*rng.normal(size=(3, 3)))}  # fmt: skip
        quick = te.predict("liao2026.interpolation-error", **point)
        exact = te.predict("liao2026.interpolation-error", digits=18, **point)
        assert abs(quick.value - float(exact.value)) <= quick.error
        assert quick.error <= 1e-8 * quick.value


@given(c=ratios, gamma=penalties, a1=slopes, rest=rests, mu=vectors, key=vectors, query=vectors)
def test_the_error_has_its_symmetries(c, gamma, a1, rest, mu, key, query):
    """Scaling of K, sign of a1, opposite scaling of the weights, sign of mu."""
    point = {"c": c, "gamma": gamma, **moments(a1, rest), **gram(mu, key, query)}
    value = error(**point)
    assert 0 < value < 1
    t = 2
    scaled = {
        "gamma": Fraction(str(gamma)) * t**2,
        "a1": Fraction(str(a1)) * t,
        "second_moment": point["second_moment"] * t**2,
    }
    twins = [
        {**point, **scaled},
        {**point, "a1": -Fraction(str(a1))},
        {**point, **gram(mu, 2 * np.array(key), np.array(query) / 2)},
        {**point, **gram(-np.array(mu), key, query)},
    ]
    for twin in twins:
        assert error(**twin) == pytest.approx(value, rel=1e-10)


def test_a_diagonal_scales_and_flips_with_a1():
    base = {"c": "0.7", "gamma": "0.3", "a1": "0.5", "second_moment": 1, "diagonal": "0.2", "snr": 1}
    value = error(**base)
    assert error(**{**base, "gamma": "1.2", "a1": 1, "second_moment": 4, "diagonal": "0.4"}) == pytest.approx(
        value, rel=1e-12
    )
    assert error(**{**base, "a1": "-0.5", "diagonal": "-0.2"}) == pytest.approx(value, rel=1e-12)


def test_keys_and_queries_are_not_exchangeable():
    one = error(c=1, gamma=1, nonlinearity="tanh", **gram([1, 0, 0], [1, 0, 0], [0, 1, 0]))
    other = error(c=1, gamma=1, nonlinearity="tanh", **gram([1, 0, 0], [0, 1, 0], [1, 0, 0]))
    assert abs(one - other) > 1e-3


@given(c=ratios, snr=st.integers(0, 50).map(lambda k: k / 10), re=st.integers(-50, 50), im=st.integers(1, 30))
def test_the_forms_of_the_spectrum_obey_their_identities(c, snr, re, im):
    """ym = t mm, yy = n/(1 + |mu|^2) + t^2 mm, pp = lam (1 + z n)."""
    z = complex(re / 10, im / 10)
    out = te.predict("liao2026.spiked-resolvent", c=c, snr=snr, z=z).outputs
    theta, lam = np.sqrt(snr / c), 1 / c
    t = theta / (theta**2 + lam)
    assert abs(out["ym"] - t * out["mm"]) < 1e-10 * (1 + abs(out["mm"]))
    assert abs(out["yy"] - out["n"] / (1 + snr) - t**2 * out["mm"]) < 1e-10 * (1 + abs(out["yy"]))
    assert abs(out["pp"] - lam * (1 + z * out["n"])) < 1e-10 * (1 + lam)
    assert (out["outlier"] == "none") == (snr**2 <= c)
