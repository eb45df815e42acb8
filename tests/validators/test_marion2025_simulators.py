"""The simulators of single-location regression against cases known without any theorem."""

import doctest
from pathlib import Path

import numpy as np
import pytest

from theorem_engine.validators import marion2025, marion2025_descent
from theorem_engine.validators.marion2025 import (
    PRODUCTS,
    attention_gradient,
    attention_risk,
    best_linear_risk,
    make_vectors,
)
from theorem_engine.validators.marion2025_descent import inner_products, population_gradient, population_risk

FOLDER = Path(marion2025.__file__).parent
MODULES = sorted(FOLDER.glob("*.py"))
GENERIC = {"kappa": 0.3, "nu": 0.4, "theta": 0.2, "eta": -0.1, "rho": 0.15}


def z_score(samples, value):
    return (np.mean(samples) - value) / (np.std(samples, ddof=1) / np.sqrt(len(samples)))


@pytest.mark.parametrize("module", [marion2025, marion2025_descent], ids=lambda module: module.__name__.split(".")[-1])
def test_the_examples_in_the_docstrings_run(module):
    outcome = doctest.testmod(module)
    assert outcome.attempted > 0
    assert outcome.failed == 0


# Vectors


@pytest.mark.parametrize("d", [4, 5, 400])
def test_the_vectors_have_the_products_asked_for(d):
    k, v, k_star, v_star = make_vectors({**GENERIC, "d": d})
    found = inner_products(k, v, k_star, v_star)
    assert [found[name] for name in PRODUCTS] == pytest.approx([GENERIC[name] for name in PRODUCTS], abs=1e-14)
    assert [k @ k, v @ v, k_star @ k_star, v_star @ v_star] == pytest.approx([1, 1, 1, 1], abs=1e-14)
    assert abs(k_star @ v_star) < 1e-14


@pytest.mark.parametrize(
    ("point", "words"),
    [
        ({"kappa": 0.9, "eta": 0.9, "d": 9}, "positive semidefinite"),
        ({"kappa": 1.0, "nu": 1.0, "rho": 0.5, "d": 9}, "positive semidefinite"),
        ({"kappa": 0.5, "nu": 1.0, "d": 2}, "more than d = 2"),
        ({"kappa": 1.0, "d": 1}, "at least two dimensions"),
    ],
)
def test_products_of_no_vectors_are_refused(point, words):
    with pytest.raises(ValueError, match=words):
        make_vectors({"lam": 1.0, "gamma": 1.0, "L": 2, **point})


def test_the_edge_of_the_feasible_products_is_legal():
    k, v, k_star, v_star = make_vectors({"kappa": 0.6, "eta": 0.8, "nu": 0.6, "theta": -0.8, "rho": 0.0, "d": 2})
    found = inner_products(k, v, k_star, v_star)
    assert [found[name] for name in PRODUCTS] == pytest.approx([0.6, 0.6, -0.8, 0.8, 0], abs=1e-8)


# Risk


def test_the_hidden_place_is_uniform():
    frame = marion2025.make_frame(400)
    point = {"gamma": 0.5, "L": 4}
    counts = np.zeros(4)
    for _, products, hidden in marion2025.draw_sequences(point, np.random.default_rng(0), 4000, frame[:, 0], frame):
        # The shift is 14 standard deviations: the token furthest along k* is the informative one.
        counts += np.bincount(products[:, :, 0].argmax(axis=1), minlength=4)
        assert np.array_equal(products[:, :, 0].max(axis=1), hidden[:, 0])
    assert np.abs(counts - 1000).max() < 4 * np.sqrt(4000 * 0.25 * 0.75)


def test_a_flat_erf_answers_nothing_and_its_risk_is_the_variance_of_the_label():
    point = {"lam": 1e-12, "gamma": 1.5, "d": 30, "L": 4, "eps": 0.5}
    sample = attention_risk(point, np.random.default_rng(1), 40_000)
    assert abs(z_score(sample["risk"], 1.5**2 + 0.5**2)) < 4
    assert abs(z_score(sample["excess"], 1.5**2)) < 4


def test_one_token_and_a_saturated_erf_leave_only_the_label_noise():
    point = {"lam": 1.0, "gamma": 0.5, "d": 400, "L": 1}
    assert attention_risk(point, np.random.default_rng(2), 500)["risk"].max() < 1e-25
    noisy = attention_risk({**point, "eps": 0.3}, np.random.default_rng(2), 20_000)
    assert abs(z_score(noisy["risk"], 0.09)) < 4


def test_a_hard_oracle_adds_the_variance_of_every_other_token():
    # lam -> oo turns erf into a sign: each noise token contributes the square of a standard normal.
    sample = attention_risk({"lam": 1e9, "gamma": 0.7, "d": 300, "L": 5}, np.random.default_rng(3), 10_000)
    assert abs(z_score(sample["risk"], 4)) < 4


def test_the_samples_do_not_depend_on_the_size_of_the_blocks(monkeypatch):
    point = {**GENERIC, "lam": 0.5, "gamma": 0.7, "d": 6, "L": 5, "eps": 0.1}
    whole = attention_risk(point, np.random.default_rng(4), 50)["risk"]
    # 24 numbers hold four tokens: blocks of tokens cut through sequences, blocks of sequences through the sample.
    monkeypatch.setattr(marion2025, "BLOCK", 24)
    assert attention_risk(point, np.random.default_rng(4), 50)["risk"] == pytest.approx(whole, rel=1e-12)


@pytest.mark.parametrize("L", [1, 2, 7])
def test_sampled_and_integrated_risk_and_slopes_agree(L):
    point = {**GENERIC, "lam": 0.6, "gamma": 0.8, "d": 12, "L": L, "eps": 0.2}
    k, v, k_star, v_star = vectors = make_vectors(point)
    rng = np.random.default_rng(50 + L)
    assert abs(z_score(attention_risk(point, rng, 50_000)["risk"], population_risk(*vectors, 0.6, 0.8, L, 0.2))) < 4
    of_k, of_v = population_gradient(*vectors, 0.6, 0.8, L)
    basis = np.stack([k_star, v_star, k, v], axis=1)
    in_k, in_v = (np.linalg.lstsq(basis, g, rcond=None)[0] for g in (of_k, of_v))
    # The derivative in k.v is the same number seen from k and from v.
    assert in_k[3] == pytest.approx(in_v[2], abs=1e-12)
    wanted = dict(zip(PRODUCTS, (in_k[0], in_v[1], in_v[0], in_k[1], in_k[3]), strict=True))
    slopes = attention_gradient(point, rng, 50_000)
    assert max(abs(z_score(slopes[f"d_{name}"], wanted[name])) for name in PRODUCTS) < 4


def test_slopes_are_refused_where_the_products_are_not_coordinates():
    with pytest.raises(ValueError, match="linearly dependent"):
        attention_gradient({"lam": 1.0, "gamma": 1.0, "d": 5, "L": 2}, np.random.default_rng(0), 10)


# The best linear predictor


def test_one_token_is_read_exactly_by_a_linear_predictor():
    sample = best_linear_risk({"gamma": 0.8, "L": 1}, np.random.default_rng(5), 200)
    assert np.abs(sample["risk"]).max() < 1e-24
    assert sample["coefficient"] == pytest.approx(np.ones(200), abs=1e-12)
    noisy = best_linear_risk({"gamma": 0.8, "L": 1, "eps": 0.3}, np.random.default_rng(5), 20_000)
    assert abs(z_score(noisy["excess"], 0)) < 4


def test_a_poor_fit_does_not_raise_the_risk_of_the_best_linear_predictor(monkeypatch):
    # With gamma = 1 the two tokens are equally distributed along v*: the best guess of either is half their sum,
    # and half the variance remains. A fit to 20 draws would lose a tenth of it if it were tested on its own.
    monkeypatch.setattr(marion2025, "PILOT", 20)
    rng = np.random.default_rng(19)
    calls = [best_linear_risk({"gamma": 1.0, "L": 2}, rng, 20) for _ in range(2000)]
    assert abs(z_score([call["risk"].mean() for call in calls], 0.5)) < 4
    assert abs(z_score([call["coefficient"].mean() for call in calls], 0.5)) < 4


def test_a_linear_predictor_free_to_weight_every_coordinate_of_every_token_is_no_better():
    """The symmetries used to shrink the fit, without them: 12 coefficients in R^4 by least squares."""
    gamma, L, d, n = 1.3, 3, 4, 100_000
    rng = np.random.default_rng(6)
    sample = best_linear_risk({"gamma": gamma, "L": L}, rng, n)
    tokens, labels = marion2025_descent._draw_batch(rng, 2 * n, L, gamma, 0.0, *np.eye(d)[:2])
    features = tokens.reshape(2 * n, L * d)
    weights = np.linalg.lstsq(features[:n], labels[:n], rcond=None)[0]
    loss = (labels[n:] - features[n:] @ weights) ** 2
    spread = np.hypot(loss.std(), sample["risk"].std()) / np.sqrt(n)
    assert abs(loss.mean() - sample["risk"].mean()) < 4 * spread + loss.mean() * L * d / n
    wanted = np.tile(sample["coefficient"].mean() * np.eye(d)[1], L)
    error = np.sqrt(loss.mean() * np.diag(np.linalg.inv(features[:n].T @ features[:n])))
    assert np.max(np.abs(weights - wanted) / error) < 4
