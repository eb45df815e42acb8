"""The Bayes risk of single-location regression, against integrals and samples of its own definition."""

import math

import numpy as np
import pytest
from mpmath import mp
from scipy import integrate, stats

import theorem_engine as te
from theorem_engine.validators import marion2025_bayes

BAYES = "marion2025.bayes-risk"


def two_tokens(d):
    """gamma = 1, L = 2: the log odds of two tokens differ by a Gaussian of mean d/2 and variance d."""
    wrong = integrate.quad(
        lambda t: stats.norm.pdf(t, d / 2, math.sqrt(d)) / (1 + math.exp(min(t, 700))), -40 * d, 40 * d,
        points=(0, d / 2),
        limit=400, epsabs=0,
    )[0]  # fmt: skip
    return wrong


@pytest.mark.parametrize("d", [2, 10, 60])
def test_two_equally_noisy_tokens_are_told_apart_by_one_gaussian(d):
    found = te.predict(BAYES, gamma=1, d=d, L=2)
    assert found.error_kind == "statistical"
    assert abs(found.excess.value - two_tokens(d)) <= 3 * found.excess.error
    assert found.excess.error < 0.02 * found.excess.value


def test_equally_noisy_tokens_are_the_spiked_task():
    """gamma = 1: only the component along k* tells of the place, and its signal is d/2; no draws on that side."""
    for d, L in ((6, 3), (20, 12)):
        found = te.predict(BAYES, gamma=1, d=d, L=L)
        exact = te.predict("duranthon2026.bayes-risk", task="spiked", nu=d / 2, L=L).value
        assert abs(found.excess.value - exact) <= 3 * found.excess.error


@pytest.mark.parametrize(("gamma", "d", "L"), [("sqrt(1/2)", 10, 10), ("3", 4, 5), ("0.4", 3, 2)])
def test_the_excess_is_the_posterior_variance_of_sampled_sequences(gamma, d, L):
    """Five standard errors of both sides: a false alarm in a million."""
    found = te.predict(BAYES, gamma=gamma, d=d, L=L, eps="0.3")
    point = {"gamma": {"sqrt(1/2)": math.sqrt(0.5)}.get(gamma) or float(gamma), "d": d, "L": L, "eps": 0.3}
    sample = marion2025_bayes.posterior_mean(point, np.random.default_rng(1), 100_000)["excess"]
    bar = math.hypot(sample.std() / math.sqrt(len(sample)), found.excess.error / 3)
    assert abs(found.excess.value - sample.mean()) < 5 * bar
    assert found.value == pytest.approx(found.excess.value + 0.09, abs=1e-12)


def test_rare_events_are_not_missed():
    """d = 80: one in 10^8 sequences is mistaken; a sample of fewer sees none of them."""
    found = te.predict(BAYES, gamma="sqrt(1/2)", d=80, L=10)
    assert found.excess.value == pytest.approx(9.23e-9, rel=0.03)
    assert found.outputs["bound"] == pytest.approx(8.74e-8, rel=1e-3)


def test_the_gap_of_the_oracle_closes_like_log_d_over_d():
    """The ratio to the leading order comes back to one as slowly as log log d over log d vanishes."""
    ratios = []
    for d in (10**8, 10**20, 10**40):
        found = te.predict("marion2025.asymptotic-optimality", gamma="sqrt(1/2)", d=d, L=10)
        assert found.outputs["least"] <= found.value
        ratios.append(found.value / found.outputs["rate"])
    assert 0.85 < ratios[0] < ratios[1] < ratios[2] < 1
    # the smallest risk at 10^8 is known to eight digits from an expansion
    found = te.predict("marion2025.asymptotic-optimality", gamma="sqrt(1/2)", d=10**8, L=10)
    assert found.value == pytest.approx(1.5119711e-6, rel=1e-7)


def test_a_single_token_is_no_choice():
    assert te.predict(BAYES, gamma=2, d=5, L=1).outputs == {"risk": 0.0, "excess": 0.0, "bound": 0.0}


@pytest.mark.parametrize(("gamma", "d", "L"), [("sqrt(1/2)", 80, 10), ("3", 4, 5), ("0.4", 300, 2)])
def test_what_hangs_on_no_draw_has_the_error_of_its_rounding(gamma, d, L):
    """The bound is a closed form, here in forty digits; what is averaged has a bar of its own size, and no floor."""
    found = te.predict(BAYES, gamma=gamma, d=d, L=L, draws=2048)
    with mp.workdps(40):
        g = mp.sqrt(mp.mpf(1) / 2) if gamma == "sqrt(1/2)" else mp.mpf(gamma)
        exact = (L - 1) * 2 * g**2 / (1 + g**2) * (2 * g / (1 + g**2)) ** d * mp.exp(-d / (4 * (1 + g**2)))
        bound = found.outputs["bound"]
        assert abs(bound - exact) <= found.errors["bound"] <= 1e-12 * bound
    assert found.excess.error < 0.3 * found.excess.value
