"""Cases in which the interpolation error has a simpler form, and its limits."""

from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import given

import theorem_engine as te
from tests.registry.liao2026_points import GRAM, error, gram, moments, penalties, ratios, rests, slopes, vectors


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
