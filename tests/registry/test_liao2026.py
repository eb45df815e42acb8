"""Interpolation error of nonlinear attention: identities, limits, comparisons and the numbers of the figures."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp
from typer.testing import CliRunner

import theorem_engine as te
from theorem_engine import cli
from theorem_engine.apply import EntryFunction
from theorem_engine.backends import get_backend
from theorem_engine.errors import (
    BadNumber,
    Infeasible,
    MissingParameter,
    NotConverged,
    OutOfDomain,
    UnknownParameter,
    ValidityWarning,
)
from theorem_engine.point import read_point
from theorem_engine.predicting import evaluate_float64
from theorem_engine.trace import listening

GRAM = ("snr", "key_norm2", "query_norm2", "mu_key", "mu_query", "key_query")
ALIGNED = dict.fromkeys(GRAM, 1)


def error(**point):
    return te.predict("liao2026.interpolation-error", **point).value


def gram(mu, key, query):
    mu, key, query = (np.asarray(v, dtype=float) for v in (mu, key, query))
    pairs = ((mu, mu), (key, key), (query, query), (mu, key), (mu, query), (key, query))
    return {name: float(a @ b) for name, (a, b) in zip(GRAM, pairs, strict=True)}


ratios = st.floats(-3, 3).map(lambda x: float(f"{np.exp(x):.5g}"))
penalties = st.floats(-7, 6).map(lambda x: float(f"{np.exp(x):.5g}"))
slopes = st.floats(0.05, 1.5).map(lambda x: float(f"{x:.5g}"))
rests = st.integers(0, 3000).map(lambda k: k / 1000)
vectors = st.lists(st.integers(-150, 150).map(lambda k: k / 100), min_size=3, max_size=3)


def moments(a1, rest):
    return {"a1": a1, "second_moment": Fraction(str(a1)) ** 2 + Fraction(str(rest))}


# --- the fixed point -------------------------------------------------------------------------------


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


# --- R8: invariances -------------------------------------------------------------------------------


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


# --- R6a-c, R9, R10: special cases -----------------------------------------------------------------


@given(c=ratios, gamma=penalties, a1=slopes, rest=rests, t=slopes, key=vectors, snr=slopes)
def test_queries_along_the_signal_have_a_scalar_form(c, gamma, a1, rest, t, key, snr):
    """R6a: A = alpha/(1 + |mu|^2) + r^2 Phi/[(1 + kap t k1 I2)^2 + kap^2 t^2 g Phi K1]."""
    mu = [np.sqrt(snr), 0, 0]
    out = te.predict(
        "liao2026.interpolation-error", c=c, gamma=gamma, **moments(a1, rest), **gram(mu, key, [t, 0, 0])
    ).outputs
    noise = te.predict("liao2026.noise-resolvent", c=c, gamma=gamma, **moments(a1, rest)).outputs
    theta, lam = np.sqrt(snr / c), 1 / c
    share = theta / (theta**2 + lam)
    phi = out["M11"] / t**2
    bent = out["M12"] ** 2 - phi * t**2 * out["M22"]
    value = noise["alpha"] / (1 + snr) + share**2 * phi / bent
    assert out["A"] == pytest.approx(value, rel=1e-8)


@pytest.mark.parametrize("c", ["0.3", "1", "2.5"])
def test_orthogonal_weights_and_weights_without_signal_have_no_effect(c):
    plain = error(c=c, gamma="0.5", nonlinearity="tanh", snr=2)
    assert error(c=c, gamma="0.5", nonlinearity="tanh", snr=2, weights="orthogonal") == pytest.approx(plain, rel=1e-13)
    assert error(c=c, gamma="0.5", nonlinearity="tanh", snr=2, weights="none") == pytest.approx(plain, rel=1e-13)
    null = te.predict("liao2026.null-error", c=c, gamma="0.5", nonlinearity="tanh").value
    assert error(c=c, gamma="0.5", nonlinearity="tanh") == pytest.approx(null, rel=1e-13)
    assert error(c=c, gamma="0.5", nonlinearity="tanh", key_norm2=3, query_norm2=2, key_query=1) == pytest.approx(
        null, rel=1e-13
    )


@pytest.mark.parametrize("direction", [[1, 0, 0], [0, 1, 0], [-0.6, 0.8, 0]])
def test_strong_alignment_leaves_the_null_error_of_the_rest(direction):
    """R6c: E -> E_null/(1 + |mu|^2), whatever the direction of w_K."""
    null = te.predict("liao2026.null-error", c="0.8", gamma="0.4", nonlinearity="tanh").value
    strong = error(
        c="0.8", gamma="0.4", nonlinearity="tanh", **gram([1.2, 0, 0], 1e4 * np.array(direction), [1e4, 0, 0])
    )
    assert strong == pytest.approx(null / (1 + 1.44), rel=1e-6)


def test_shorthands_are_their_gram_matrices():
    base = {"c": "0.7", "gamma": "0.3", "nonlinearity": "tanh", "snr": "2.25"}
    assert error(**base, weights="aligned") == pytest.approx(
        error(**{**base, **dict.fromkeys(GRAM, "2.25")}), rel=1e-13
    )
    unit = {"key_norm2": 1, "query_norm2": 1, "key_query": 1, "mu_key": "1.5", "mu_query": "1.5"}
    assert error(**base, weights="unit-aligned") == pytest.approx(error(**base, **unit), rel=1e-13)


@given(c=ratios, gamma=penalties)
def test_without_linear_part_the_cubic_gives_the_fixed_point(c, gamma):
    """R9, and no dependence on signal or weights."""
    cubic = te.predict("liao2026.zero-a1-error", c=c, gamma=gamma, nonlinearity="cos").outputs
    noise = te.predict("liao2026.noise-resolvent", c=c, gamma=gamma, nonlinearity="cos").outputs
    assert cubic["alpha"] == pytest.approx(noise["alpha"], rel=1e-11)
    assert cubic["delta"] == pytest.approx(noise["delta"], rel=1e-9)
    assert error(c=c, gamma=gamma, nonlinearity="cos", snr=2, weights="aligned") == pytest.approx(
        cubic["error"], rel=1e-10
    )


def test_small_linear_parts_join_the_case_without():
    at_zero = error(c="0.6", gamma="0.2", a1=0, second_moment=1, snr=1, weights="aligned")
    assert error(c="0.6", gamma="0.2", a1="1e-9", second_moment=1, snr=1, weights="aligned") == pytest.approx(
        at_zero, rel=1e-8
    )
    diagonal = {"c": "0.6", "gamma": "0.2", "second_moment": 1, "snr": 1, "diagonal": "0.3"}
    assert error(a1="1e-9", **diagonal) == pytest.approx(error(a1=0, **diagonal), rel=1e-8)


@given(c=ratios, gamma=penalties, a1=slopes)
def test_small_nonlinear_parts_join_linear_attention(c, gamma, a1):
    """R10: b = 0 has no fixed point; b^2 = 1e-13 has one and must be close."""
    exact = error(c=c, gamma=gamma, **moments(a1, "0"), snr=1, weights="aligned")
    near = error(c=c, gamma=gamma, **moments(a1, "1e-13"), snr=1, weights="aligned")
    assert near == pytest.approx(exact, rel=1e-5)


def test_a_user_nonlinearity_goes_through_the_same_doors():
    t = sympy.Symbol("t")
    named = {
        "tanh": sympy.tanh(t),
        "sin": sympy.sin(t),
        "cos": sympy.cos(t),
        "linear": 3 * t / 3,
        "relu": sympy.Max(t, 0),
    }
    for name, expression in named.items():
        known = te.predict("liao2026.hermite", nonlinearity=name).outputs
        own = te.predict("liao2026.hermite", nonlinearity=expression).outputs
        for key, value in known.items():
            assert own[key] == pytest.approx(value, abs=1e-13), (name, key)
    clip = sympy.Min(sympy.Max(t, -2), 2)
    assert error(c=1, gamma=1, nonlinearity=clip) == pytest.approx(
        error(c=1, gamma=1, nonlinearity="clip", level=2), rel=1e-11
    )
    hermite = te.predict("liao2026.hermite", nonlinearity=t**3 - 3 * t).outputs
    assert (hermite["a1"], hermite["second_moment"]) == (0, 6)


@pytest.mark.parametrize(
    ("parameters", "mean"),
    [({"nonlinearity": "exp-clip", "level": 5}, True), ({"nonlinearity": "cubic-clip", "r": "0.4", "level": 3}, False),
     ({"nonlinearity": "clip", "level": "0.7"}, False), ({"nonlinearity": "cubic-clip", "r": 1, "level": 2}, False)],
)  # fmt: skip
def test_closed_hermite_data_equal_quadrature(parameters, mean):
    t = sympy.Symbol("t")
    level, r = (sympy.Rational(parameters.get(k, 0)) for k in ("level", "r"))
    cubic = r * t + sympy.sqrt(1 - r**2) * (t**3 - 3 * t) / sympy.sqrt(6)
    expression = {
        "exp-clip": sympy.Min(sympy.exp(t), level),
        "cubic-clip": sympy.Min(sympy.Max(cubic, -level), level),
        "clip": sympy.Min(sympy.Max(t, -level), level),
    }[parameters["nonlinearity"]]
    closed = te.predict("liao2026.hermite", **parameters).outputs
    f = sympy.lambdify(t, expression, "numpy")
    # so many points that the kinks cost 1e-9
    x = (np.arange(2_000_000) + 0.5) * 1.2e-5 - 12
    density = 1.2e-5 * np.exp(-x * x / 2) / np.sqrt(2 * np.pi)
    value = f(x)
    centre = density @ value
    assert closed["mean"] == pytest.approx(centre, abs=1e-8)
    assert closed["a1"] == pytest.approx(density @ (x * value), abs=1e-8)
    assert closed["second_moment"] == pytest.approx(density @ (value - centre) ** 2, abs=1e-8)
    assert closed["a2"] == pytest.approx(density @ ((x**2 - 1) * value) / np.sqrt(2), abs=1e-8)
    b = te.predict("liao2026.gaussian-equivalent", **parameters).value
    assert b**2 == pytest.approx(closed["second_moment"] - closed["a1"] ** 2, abs=1e-13)


# --- R11: limits -----------------------------------------------------------------------------------


@given(c=ratios, gamma=penalties, a1=slopes, rest=rests, mu=vectors, key=vectors, query=vectors)
def test_the_error_never_falls_as_the_penalty_grows(c, gamma, a1, rest, mu, key, query):
    point = {"c": c, **moments(a1, rest), **gram(mu, key, query)}
    assert error(gamma=Fraction(str(gamma)) * Fraction(11, 10), **point) >= error(gamma=gamma, **point) * (1 - 1e-9)


@pytest.mark.parametrize(
    "point", [{}, {"snr": 2, "weights": "aligned"}, gram([1, 0.5, 0], [0.7, 0, 0.3], [-0.5, 0.2, 1])]
)
def test_a_large_penalty_leaves_the_first_moment(point):
    limits = te.predict("liao2026.limits", c="0.5", nonlinearity="tanh", **point).outputs
    gamma = 10**7
    slope = (
        (
            1
            - te.predict(
                "liao2026.interpolation-error", c="0.5", gamma=gamma, nonlinearity="tanh", digits=20, **point
            ).value
        )
        * gamma
        / 2
    )
    assert limits["M1"] == pytest.approx(float(slope), rel=1e-3)
    if not point:
        data = te.predict("liao2026.hermite", nonlinearity="tanh").outputs
        assert limits["M1"] == pytest.approx(data["second_moment"] + data["a1"] ** 2 / 0.5, rel=1e-13)


@pytest.mark.parametrize(
    "point", [{}, {"snr": 2}, {"snr": 2, "weights": "aligned"}, gram([1.3, 0, 0], [0.4, 0.9, 0], [-0.8, 0, 0])]
)
def test_a_small_penalty_leaves_the_floor(point):
    floor = te.predict("liao2026.limits", c="0.4", nonlinearity="tanh", **point).outputs["floor"]
    assert error(c="0.4", gamma="1e-6", nonlinearity="tanh", **point) == pytest.approx(floor, rel=1e-6)
    snr = float(point.get("snr", 0))
    assert floor >= 0.6 / (1 + snr) - 1e-12
    if snr:
        assert floor > 0.6 / (1 + snr) + 1e-4


def test_the_floor_is_refused_in_words_where_it_is_not_known():
    for point in ({"c": 2, "nonlinearity": "tanh"}, {"c": "0.5", "nonlinearity": "linear"},
                  {"c": "0.5", "nonlinearity": "tanh", **gram([1, 0, 0], [0, 1, 0], [0, 1, 0])}):  # fmt: skip
        assert te.predict("liao2026.limits", **point).outputs["floor"].startswith("refused")
    assert te.predict("liao2026.limits", c="0.3", nonlinearity="cos", snr=4).outputs["floor"] == pytest.approx(0.7)


def test_a_wide_model_forgets_all_but_the_second_moment():
    wide = te.predict("liao2026.limits", c=1, gamma="0.5", nonlinearity="tanh").outputs["wide"]
    assert error(c=10**5, gamma="0.5", nonlinearity="tanh") == pytest.approx(wide, rel=1e-3)
    assert error(c=10**5, gamma="0.5", nonlinearity="tanh", snr=3, weights="aligned") == pytest.approx(wide, rel=1e-2)


@pytest.mark.parametrize(("c", "rest", "power"), [(1, "0.3", 1 / 3), (1, "0", 1 / 2), (3, "0.3", 1 / 2)])
def test_small_penalties_have_their_exponents(c, rest, power):
    first, second = (
        te.predict("liao2026.null-error", c=c, gamma=g, **moments("0.6", rest)).value for g in ("1e-8", "1e-7")
    )
    assert np.log10(second / first) == pytest.approx(power, abs=0.02)


# --- R7, R12: ridge and the comparison -------------------------------------------------------------


@given(c=ratios, gamma=penalties, snr=rests)
def test_the_ridge_error_solves_its_quadratic(c, gamma, snr):
    """E = -gamma^2 d/dgamma [A (1 + A)/(1 + m A)] with the slope of A from gamma A^2 + (gamma + c - 1) A - 1 = 0."""
    predicted = te.predict("liao2026.ridge-error", c=c, gamma=gamma, snr=snr).value
    with mp.workdps(40):
        c, gamma, m = mp.mpf(str(c)), mp.mpf(str(gamma)), 1 + mp.mpf(str(snr))
        a = max(mp.polyroots([gamma, gamma + c - 1, -1], extraprec=200))
        slope = -(a**2 + a) / (2 * gamma * a + gamma + c - 1)
        outer = ((1 + 2 * a) * (1 + m * a) - m * a * (1 + a)) / (1 + m * a) ** 2
        expected = float(-(gamma**2) * outer * slope)
    assert predicted == pytest.approx(expected, rel=1e-12)


def test_ridge_limits():
    ridge = {k: te.predict("liao2026.ridge-error", **dict(zip(("c", "gamma", "snr"), k, strict=True))).value for k in [
        ("0.25", "1e-9", 1), (1, "1e-8", 1), (1, 2, 0), (1, "1e7", 3)]}  # fmt: skip
    values = list(ridge.values())
    assert values[0] == pytest.approx(0.375, rel=1e-6)
    assert values[1] == pytest.approx(1e-4 / 4, rel=1e-3)
    assert values[2] == pytest.approx(3**-0.5, rel=1e-13)
    assert (1 - values[3]) * 1e7 / 2 == pytest.approx(4, rel=1e-5)


@given(c=st.floats(-2, 2).map(np.exp), gamma=st.floats(-2, 4).map(np.exp), a1=slopes, rest=rests)
def test_the_window_at_infinite_alignment_ends_where_the_errors_meet(c, gamma, a1, rest):
    point = {"c": float(f"{c:.5g}"), "gamma": float(f"{gamma:.5g}")}
    found = te.predict("liao2026.reversal", **point, **moments(a1, rest)).outputs
    null = te.predict("liao2026.null-error", **point, **moments(a1, rest)).value
    if not found["exists"]:
        assert (found["snr_low"], found["snr_high"]) == (np.inf, 0)
        best = te.predict("liao2026.ridge-error", **point, snr=found["best_ratio_snr"]).value
        assert null / (1 + found["best_ratio_snr"]) >= best * (1 - 1e-12)
    for end in (found["snr_low"], found["snr_high"]):
        if found["exists"] and 0 < end < np.inf:
            ridge = te.predict("liao2026.ridge-error", **point, snr=float(f"{end:.15g}")).value
            assert null / (1 + end) == pytest.approx(ridge, rel=1e-8)


@pytest.mark.parametrize(
    ("c", "gamma", "low", "high"),
    [("0.25", "0.5", 0.245, 22.3), ("0.5", 1, 1.58, 4.35), (1, 3, 0.916, 42.6), (4, 10, 2.09, 235.5)],
)
def test_the_window_at_finite_alignment(c, gamma, low, high):
    found = te.predict("liao2026.reversal", c=c, gamma=gamma, nonlinearity="tanh", weights="aligned").outputs
    assert found["exists"]
    assert found["snr_low"] == pytest.approx(low, rel=5e-3)
    assert found["snr_high"] == pytest.approx(high, rel=5e-3)


def test_no_reversal_is_found_where_there_is_none():
    found = te.predict("liao2026.reversal", c=1, gamma=1, nonlinearity="tanh", weights="aligned").outputs
    assert found == {"exists": False, "snr_low": np.inf, "snr_high": 0.0, "best_ratio_snr": found["best_ratio_snr"]}


def test_attention_is_not_always_worse_on_noise():
    gaps = {}
    for gamma in ("0.1", "0.3", "1", "3"):
        ridge = te.predict("liao2026.ridge-error", c="0.25", gamma=gamma).value
        gaps[gamma] = te.predict("liao2026.null-error", c="0.25", gamma=gamma, nonlinearity="tanh").value - ridge
    assert list(gaps.values()) == pytest.approx([0.0147, 0.0171, -0.0074, -0.0454], abs=6e-5)


@pytest.mark.campaign
def test_the_error_is_differentiated_in_the_letters_of_the_law():
    """d/dc and d/dsnr pass through the self-consistent group and through the law of the spectrum."""
    c, gamma, snr = sympy.symbols("c gamma snr", positive=True)
    attention = EntryFunction("liao2026.interpolation-error")
    value = attention(c=c, gamma=gamma, nonlinearity="tanh", snr=snr, weights="aligned")
    run = get_backend("float64").function([c, gamma, snr], [value, value.diff(c), value.diff(snr)])
    _, by_ratio, by_signal = (float(v) for v in run(0.5, 1.0, 2.0))
    step = Fraction(1, 10**4)
    for letter, slope in (("c", by_ratio), ("snr", by_signal)):
        point = {"c": Fraction(1, 2), "snr": Fraction(2)}
        up, down = (
            error(gamma=1, nonlinearity="tanh", weights="aligned", **{**point, letter: point[letter] + sign * step})
            for sign in (1, -1)
        )
        assert slope == pytest.approx((up - down) / (2 * float(step)), rel=1e-6)


# --- numbers of the figures ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "letter", "places", "values"),
    [
        ({"nonlinearity": "tanh", "c": 4}, "gamma", ["1e-3", "1e-2", "0.1", 1, 10, 100],
         [0.025264, 0.081063, 0.269817, 0.666011, 0.923721, 0.990561]),
        ({"nonlinearity": "tanh", "c": "0.25", "gamma": "0.01", "weights": "aligned"}, "snr", [0, "0.5", 1, 2, 4, 8],
         [0.751396, 0.503512, 0.376763, 0.250720, 0.150317, 0.083492]),
        ({"nonlinearity": "clip", "level": 5, "c": "0.25", "gamma": 1, "weights": "aligned"}, "snr",
         [0, "0.5", 1, 2, 4, 8],
         [0.797456, 0.534481, 0.399759, 0.266039, 0.159521, 0.088609]),
        ({"nonlinearity": "exp-clip", "level": 5, "c": 4}, "gamma", ["1e-2", "0.1", 1, 10],
         [0.039663, 0.127727, 0.396785, 0.781855]),
        ({"nonlinearity": "softmax", "c": 4}, "gamma", ["1e-2", "0.1", 1, 10],
         [0.042654, 0.134668, 0.395054, 0.780167]),
        ({"nonlinearity": "tanh", "c": 1, "gamma": 1, "weights": "unit-aligned"}, "snr", [0, "0.5", 1, 2, 4],
         [0.742659, 0.524521, 0.394232, 0.259603, 0.153229]),
        ({"nonlinearity": "tanh", "c": 1, "gamma": 1, "weights": "orthogonal"}, "snr", [0, "0.5", 1, 2, 4],
         [0.742659, 0.592044, 0.461544, 0.299436, 0.168564]),
    ],
)  # fmt: skip
def test_the_curves_of_the_figures(parameters, letter, places, values):
    assert [error(**parameters, **{letter: place}) for place in places] == pytest.approx(values, abs=6e-7)


def test_sizes_stand_for_their_ratio():
    assert error(p=512, n=4096, gamma="0.01", nonlinearity="tanh") == pytest.approx(0.875001, abs=6e-7)
    assert error(p=512, n=2048, gamma=1, nonlinearity="tanh") == error(c="0.25", gamma=1, nonlinearity="tanh")


def test_softmax_and_imbalance_have_their_numbers():
    assert te.predict("liao2026.softmax", c=1, gamma=1).value == pytest.approx(0.519307330138836, rel=1e-12)
    assert te.predict("liao2026.softmax", c=1, gamma=1, masked=False).value == pytest.approx(5**-0.5, rel=1e-13)
    unscaled = te.predict("liao2026.softmax", p=100, n=200, gamma="0.0025", scaled=False).value
    assert unscaled == pytest.approx(te.predict("liao2026.softmax", c="0.5", gamma=1).value, rel=1e-12)
    cos = te.predict("liao2026.class-imbalance", c=1, gamma=1, nonlinearity="cos", imbalance=1).value
    assert cos == pytest.approx(0.637, abs=5e-4)
    balanced = te.predict("liao2026.class-imbalance", c=1, gamma=1, nonlinearity="cos", imbalance=0).value
    assert balanced == pytest.approx(
        te.predict("liao2026.null-error", c=1, gamma=1, nonlinearity="cos").value, rel=1e-12
    )
    odd = te.predict("liao2026.class-imbalance", c=1, gamma=1, nonlinearity="tanh", imbalance="0.7").value
    assert odd == pytest.approx(te.predict("liao2026.null-error", c=1, gamma=1, nonlinearity="tanh").value, rel=1e-10)


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


# --- what is refused -------------------------------------------------------------------------------

GOOD = {"c": 1, "gamma": 1, "nonlinearity": "tanh"}


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"gamma": 0}, OutOfDomain), ({"gamma": -1}, OutOfDomain), ({"c": 0}, OutOfDomain), ({"c": "-2"}, OutOfDomain),
        ({"c": "x"}, BadNumber), ({"snr": 1, "mu_key": 2, "key_norm2": 1}, Infeasible),
        ({"key_query": "0.1"}, Infeasible), ({"temperature": 1}, UnknownParameter),
        ({"nonlinearity": "gelu"}, OutOfDomain), ({"level": 3}, UnknownParameter), ({"p": 3, "n": 4}, UnknownParameter),
        ({"a1": 1, "second_moment": 2}, UnknownParameter), ({"weights": "aligned", "mu_key": 0}, UnknownParameter),
        ({"weights": "parallel"}, OutOfDomain), ({"nonlinearity": "clip"}, MissingParameter),
        ({"nonlinearity": "cubic-clip", "r": "0.5"}, MissingParameter),
        ({"nonlinearity": "cubic-clip", "r": "1.5", "level": 5}, OutOfDomain),
        ({"nonlinearity": "cubic-clip", "r": "0.5", "level": "0.5"}, Infeasible),
    ],
)  # fmt: skip
def test_bad_input_gives_a_clear_error(change, kind):
    with pytest.raises(kind, match=r"liao2026\.interpolation-error"):
        te.predict("liao2026.interpolation-error", **{**GOOD, **change})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"gamma": "0"}, "OutOfDomain"), ({"gamma": "-1"}, "OutOfDomain"), ({"c": "0"}, "OutOfDomain"),
        ({"snr": "1", "mu_key": "2", "key_norm2": "1"}, "Infeasible"),
        ({"nonlinearity": None, "a1": "1", "second_moment": "0.99"}, "Infeasible"),
        ({"nonlinearity": "exp(t**2)"}, "OutOfDomain"), ({"nonlinearity": "clip"}, "MissingParameter"),
        ({"weights_file": "nowhere.npz"}, "OutOfDomain"), ({"weights_file": "broken.npz"}, "OutOfDomain"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_on_the_command_line_and_writes_nothing(change, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.npz").write_bytes(b"PK\x03\x04 cut off")
    point = {name: value for name, value in {**GOOD, **change}.items() if value is not None}
    query = ["liao2026.interpolation-error", *(f"{name}={value}" for name, value in point.items())]
    for command in (["predict", *query], ["sweep", *query, "--out", "table.csv"]):
        done = CliRunner().invoke(cli.app, command)
        assert done.exit_code == 2
        assert done.stdout == ""
        (line,) = done.stderr.splitlines()
        assert line.startswith(said), line
    assert [path.name for path in tmp_path.iterdir()] == ["broken.npz"]


def test_moments_must_be_possible():
    with pytest.raises(Infeasible, match="square of a1"):
        te.predict("liao2026.null-error", c=1, gamma=1, a1=1, second_moment="0.99")
    with pytest.raises(MissingParameter):
        te.predict("liao2026.null-error", c=1, gamma=1, a1=1)
    assert te.predict("liao2026.null-error", c=1, gamma=1, a1="0.1", second_moment="0.01").value < 1


@pytest.mark.parametrize(
    "make",
    [
        lambda t: sympy.exp(t**2 / 4),
        lambda t: 1 / t,
        lambda t: sympy.tan(t),
        lambda t: sympy.log(t),
        lambda t: sympy.floor(t),
    ],
)
def test_a_nonlinearity_without_moments_is_refused(make):
    with pytest.raises((OutOfDomain, NotConverged)):
        te.predict("liao2026.hermite", nonlinearity=make(sympy.Symbol("t")))


@pytest.mark.parametrize(("c", "z"), [("0.5", 0), ("0.5", 2), (1, 0), ("0.5", "7.5")])
def test_points_on_the_spectrum_are_refused(c, z):
    with pytest.raises(Infeasible, match="z "):
        te.predict("liao2026.spiked-resolvent", c=c, snr=2, z=z)


def test_finite_sizes_outside_the_theory_are_warned_about():
    with pytest.warns(ValidityWarning, match="exceeds 1/4"):
        error(p=500, n=2000, gamma="0.01", nonlinearity="tanh", snr=4, weights="aligned")
    with pytest.warns(ValidityWarning, match="diagonal"):
        error(p=500, n=2000, gamma="0.01", nonlinearity="clip", level=5)
    error(p=500, n=2000, gamma="0.01", nonlinearity="tanh", snr=1)


# --- figures ---------------------------------------------------------------------------------------


def test_the_figures_hold_the_numbers_of_their_entries():
    data = te.figure("liao2026.fig-4").data
    assert data["a_tanh_unit_aligned"].sel(a_snr=1).item() == pytest.approx(0.394232, abs=6e-7)
    assert data["a_tanh_orthogonal"].sel(a_snr=4).item() == pytest.approx(0.168564, abs=6e-7)
    data = te.figure("liao2026.fig-5", ratios=("0.25",)).data
    assert data["a_ridge_0.25"].sel(a_snr=2).item() == pytest.approx(0.316178, abs=6e-7)


def test_the_phase_map_orders_its_regions():
    """Where attention wins on noise a reversal exists too."""
    drawn = te.figure("liao2026.phase", count=7)
    exists, gap = drawn.data["exists"].values.astype(bool), drawn.data["gap"].values
    assert np.all(exists[gap < 0])
    assert 0 < exists.mean() < 1
    assert drawn.plot().axes


def test_simulated_dots_lie_near_their_curve():
    """Small sizes: only the null panel of Figure 1, within five standard errors and the diagonal's shift."""
    data = te.figure("liao2026.fig-2", runs=4).data
    curve = data["b_tanh"].interp(b_gamma=data["b_dots_gamma"].values).values
    gap = np.abs(data["b_tanh_simulated"].values - curve)
    assert np.all(gap <= 5 * data["b_tanh_spread"].values + 0.05)
