"""Where a finite p leaves the limit: eps2 from its definition, and the warning against simulations on both sides."""

import re
import warnings

import numpy as np
import pytest
import sympy

import theorem_engine as te
from tests.registry.liao2026_points import gram
from theorem_engine.base.errors import NotConverged, ValidityWarning
from theorem_engine.validators.liao2026 import attention_error

ID = "liao2026.interpolation-error"
TANH = {"nonlinearity": "tanh"}


def asked(id, **point):
    """The main output, and what was warned about."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        value = te.predict(id, **point).value
    return value, [str(w.message) for w in caught if issubclass(w.category, ValidityWarning)]


def eps2_said(messages):
    found = [re.search(r"eps2 = ([0-9.e+inf-]+),", message) for message in messages]
    return next((float(match[1]) for match in found if match), None)


def eps2_defined(p, mu, key, query):
    """tr(N Sigma N^T Sigma)/p on the span of the three vectors, by NumPy."""
    span = np.linalg.svd(np.array([mu, key, query]))
    basis = span[2][: np.sum(span[1] > 1e-9)]
    mu, key, query = basis @ mu, basis @ key, basis @ query
    weights = np.eye(len(basis)) + np.outer(key, query)
    signal = np.eye(len(basis)) + np.outer(mu, mu)
    return np.trace(weights @ signal @ weights.T @ signal) / p


@pytest.mark.parametrize("seed", range(6))
def test_the_number_warned_about_is_the_mean_square_shift(seed):
    rng = np.random.default_rng(seed)
    mu, key, query = (np.round(v, 3) for v in rng.standard_normal((3, 3)) * 2)
    if seed == 1:
        key = query = mu
    elif seed == 2:
        query = 2 * key
    elif seed == 3:
        mu = 0 * mu
    elif seed == 4:
        query = mu
    wanted = eps2_defined(30, mu, key, query)
    assert wanted > 0.05
    said = eps2_said(asked(ID, p=30, n=30, gamma=1, diagonal="0.1", **TANH, **gram(mu, key, query))[1])
    assert said == pytest.approx(wanted, rel=6e-3)


@pytest.mark.parametrize(
    ("point", "wanted"),
    [
        ({"weights": "aligned", "snr": 2}, 3**4),
        ({"weights": "unit-aligned", "snr": 2}, 4 * 3**2),
        ({"weights": "orthogonal", "snr": 4}, 5**2 + 2 + 1),
        ({"weights": "none", "snr": 5}, 6**2),
        ({"snr": 5}, 6**2),
    ],
)
def test_shorthands_have_their_shift(point, wanted):
    assert eps2_said(asked(ID, p=250, n=250, gamma=1, **TANH, **point)[1]) == pytest.approx(wanted / 250, rel=6e-3)


FAR = {
    "no weights, strong signal": ({**TANH, "p": 256, "n": 256, "gamma": 0.1, "snr": 10.0}, 60),
    "aligned": ({**TANH, "p": 128, "n": 512, "gamma": 0.01, "snr": 2.0, "weights": "aligned"}, 20),
    "aligned sine": ({"nonlinearity": "sin", "p": 300, "n": 300, "gamma": 0.2, "snr": 3.0, "weights": "aligned"}, 20),
}
NEAR = {
    "no weights": ({**TANH, "p": 300, "n": 300, "gamma": 0.3, "snr": 2.0}, 60),
    "aligned": ({**TANH, "p": 400, "n": 200, "gamma": 0.5, "snr": 1.0, "weights": "aligned"}, 60),
    "even part": ({"nonlinearity": "relu", "p": 300, "n": 300, "gamma": 0.5, "snr": 1.0}, 60),
    "noise": ({**TANH, "p": 100, "n": 100, "gamma": 0.3}, 60),
}


def simulated(point, runs):
    """Mean and standard error of the reference simulator, its seed fixed."""
    found = attention_error(point, np.random.default_rng(1), runs)["error"]
    return found.mean(), found.std(ddof=1) / np.sqrt(runs)


@pytest.mark.parametrize("name", FAR)
def test_where_it_warns_simulations_are_off_by_more_than_it_says(name):
    """Below the limit by eps2/8 at least, four standard errors below that: a false alarm in 30,000."""
    point, runs = FAR[name]
    limit, said = asked(ID, **point)
    mean, spread = simulated(point, runs)
    assert mean + 4 * spread < limit * (1 - eps2_said(said) / 8)


@pytest.mark.parametrize("name", NEAR)
def test_where_it_is_silent_simulations_are_within_what_the_regime_says(name):
    """Within 3 %, four standard errors beside it."""
    point, runs = NEAR[name]
    limit, said = asked(ID, **point)
    assert said == []
    mean, spread = simulated(point, runs)
    assert abs(mean - limit) < 0.03 * limit + 4 * spread
    assert spread < 0.01 * limit


def test_off_alignment_simulations_lie_on_the_other_side():
    point = {**TANH, "p": 200, "n": 200, "gamma": 0.5, "snr": 2.0, "key_norm2": 16.0, "query_norm2": 16.0}
    limit, said = asked(ID, **point)
    mean, spread = simulated(point, 60)
    assert eps2_said(said) == pytest.approx((3**2 + 2 + 16**2) / 200, rel=6e-3)
    assert mean - 4 * spread > 1.02 * limit


def test_an_even_part_is_warned_about_earlier():
    """Between 0.02 and 0.05 odd functions are not; a function of the user's own is told by its second coefficient."""
    point = {"p": 300, "n": 300, "gamma": "0.5", "snr": 2}
    t = sympy.Symbol("t")
    assert not asked(ID, **point, nonlinearity="tanh")[1]
    assert not asked(ID, **point, nonlinearity=sympy.atan(t))[1]
    for f in ("relu", "cos", sympy.atan(t) + sympy.exp(-(t**2))):
        assert "eps2 = 0.03, " in asked(ID, **point, nonlinearity=f)[1][0]
        assert "exceeds 0.02" in asked(ID, **point, nonlinearity=f)[1][0]


STRONG = {"snr": 20, "weights": "aligned"}


@pytest.mark.parametrize(
    ("id", "point"),
    [
        (ID, {**TANH, "gamma": 1, **STRONG}),
        ("liao2026.limits", {**TANH, **STRONG}),
        ("liao2026.softmax", {"gamma": 1, **STRONG}),
        ("liao2026.kernel-linearization", {**TANH, **STRONG}),
        ("liao2026.reversal", {**TANH, "gamma": 3}),
    ],
)
def test_every_entry_with_a_kernel_and_signal_warns(id, point):
    assert eps2_said(asked(id, **point, p=400, n=400)[1]) > 1
    # a ratio has no size, and nothing to be far from
    assert asked(id, **point, c=1)[1] == []


def test_plain_softmax_has_no_kernel_to_shift():
    assert asked("liao2026.softmax", gamma=1, **STRONG, p=400, n=400, masked=False)[1] == []


@pytest.mark.parametrize(
    ("id", "more"),
    [
        (ID, {"snr": 1}), ("liao2026.null-error", {}), ("liao2026.noise-resolvent", {}), ("liao2026.limits", {}),
        ("liao2026.class-imbalance", {"imbalance": "0.5"}), ("liao2026.reversal", {}),
    ],
)  # fmt: skip
def test_a_large_diagonal_is_warned_about_by_every_entry_that_ignores_it(id, more):
    point = {"p": 500, "n": 500, "nonlinearity": "clip", "level": 5, **more}
    if id != "liao2026.limits":
        point["gamma"] = 1
    assert any("diagonal, up to 0.224" in message for message in asked(id, **point)[1])
    if id in (ID, "liao2026.null-error", "liao2026.noise-resolvent"):
        assert asked(id, **point, diagonal="0.22")[1] == []


def test_the_window_of_aligned_weights_is_warned_about_by_its_ends():
    point = {**TANH, "gamma": 3, "weights": "aligned"}
    value, said = asked("liao2026.reversal", **point, p=400, n=400)
    assert value is True
    high = te.predict("liao2026.reversal", **point, c=1).outputs["snr_high"]
    assert eps2_said(said) == pytest.approx((1 + high) ** 4 / 400, rel=6e-3)


def test_numbers_beyond_double_precision_are_warned_about_as_infinite():
    assert eps2_said(asked(ID, **TANH, gamma=1, p=400, n=400, snr=1e200)[1]) == np.inf
    with pytest.raises(NotConverged, match="no finite value"), pytest.warns(ValidityWarning, match="eps2 = inf"):
        te.predict("liao2026.kernel-linearization", **TANH, p=400, n=400, snr=1e200)
