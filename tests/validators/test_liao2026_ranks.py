"""Controls of contexts have the means they are said to have, and fresh tokens the errors of their definition."""

import numpy as np
import pytest

from theorem_engine.registry.liao2026.methods import split_rank_parts
from theorem_engine.validators import liao2026_extensions, liao2026_fresh, liao2026_ranks
from theorem_engine.validators.liao2026_class_controls import ClassControls
from theorem_engine.validators.liao2026_kernel_controls import KernelControls
from theorem_engine.validators.simulator import Simulator

#: A joint test of about thirty statistics: five standard errors are a false alarm in a hundred thousand.
FAR = 5.0


@pytest.mark.parametrize(
    "point",
    [
        {"nonlinearity": "tanh", "snr": 1, "scale": "-1.5", "keys": "0.8,0.3", "queries": "0.6,0.5", "imbalance": 0.5},
        {"nonlinearity": "cos", "snr": 0.7, "imbalance": 0.6},
        {
            "nonlinearity": "relu",
            "snr": 0.5,
            "keys": "0.5,0.4",
            "queries": "0.8,0.1",
            "imbalance": 0.9,
            "diagonal": 0.4,
        },
        {"nonlinearity": "exp-clip", "level": 3, "snr": 1.2, "scale": "0.7"},
    ],
)
def test_controls_of_a_context_have_mean_zero(point):
    rng, p, n = np.random.default_rng(0), 14, 12
    mu, vectors, _ = liao2026_ranks.make_model(point, p)
    controls = liao2026_ranks.ContextControls(point, n, mu, vectors)
    drawn = np.array([controls(*liao2026_ranks.draw_context(point, rng, n, mu, point.get("imbalance", 0.0)))
                      for _ in range(3000)])  # fmt: skip
    assert isinstance(controls.kernel, KernelControls if point["nonlinearity"] == "tanh" else ClassControls)
    assert np.all(np.abs(drawn.mean(axis=0)) < FAR * drawn.std(axis=0) / np.sqrt(len(drawn)))


def test_what_a_line_says_of_fresh_tokens_has_mean_zero():
    rng, mu = np.random.default_rng(1), np.array([1.2, 0.3, 0.0, 0.0])
    theirs = np.repeat([1.0, -1.0], 50)
    line = np.array([0.5, -1.0, 2.0, 0.1])
    drawn = np.array([
        liao2026_fresh._line_controls(line, rng.standard_normal((4, 100)) + np.outer(mu, theirs), theirs, mu)
        for _ in range(5000)
    ])  # fmt: skip
    assert np.all(np.abs(drawn.mean(axis=0)) < FAR * drawn.std(axis=0) / np.sqrt(len(drawn)))


def test_a_step_from_a_penalty_that_is_too_small_leads_up():
    """The least error of these contexts is near 1.5; a step from a third or from thrice of it goes towards it."""
    point = {"p": 40, "n": 40, "nonlinearity": "tanh", "snr": 2}
    ends = {
        gamma: np.mean(liao2026_fresh.best_penalty({**point, "gamma": gamma}, np.random.default_rng(2), 30)["gamma"])
        for gamma in (0.5, 5.0)
    }
    assert ends[0.5] > 0.7
    assert ends[5.0] < 4.0


def test_a_drawn_rest_has_the_traces_and_the_span_of_the_file():
    p, rng = 60, np.random.default_rng(6)
    rest = 0.05 * rng.standard_normal((p, p))
    file = split_rank_parts("", np.eye(p) + rest - np.trace(rest) / p * np.eye(p), np.eye(p)[0])
    frame = liao2026_ranks.frame_of({}, 400, 1)
    drawn = liao2026_ranks.draw_rest(rng, file, frame)
    beside = drawn - frame.T @ (frame @ drawn @ frame.T) @ frame
    assert np.sum(drawn * drawn) / 400 == pytest.approx(file.spread**2, rel=0.02)
    assert np.sum(drawn * drawn.T) / 400 == pytest.approx(file.square, abs=0.02 * file.spread**2)
    for name, value in {
        "within": frame @ drawn @ frame.T,
        "onto": frame @ beside @ beside.T @ frame.T,
        "into": frame @ beside.T @ beside @ frame.T,
        "twice": frame @ beside @ beside @ frame.T,
    }.items():
        assert value[0, 0] == pytest.approx(getattr(file, name)[0][0], abs=1e-12), name


@pytest.mark.parametrize("name", ["tanh", "relu"])
def test_what_is_said_of_fresh_tokens_has_the_law_that_is_averaged(name):
    """One context, many drawn tokens: the mean and the variance of what is said, by a series and by drawing."""
    point, p, rng = {"nonlinearity": name, "snr": 1, "keys": "1,1/2", "queries": "1/2,1"}, 60, np.random.default_rng(7)
    mu, _, logits = liao2026_ranks.make_model(point, p)
    f = liao2026_ranks.centred(point)
    tokens, labels = liao2026_ranks.draw_context(point, rng, 70, mu, 0.0)
    fitted, line = liao2026_fresh._fit(tokens, labels, logits, f, 0.5), logits(tokens, np.eye(p))
    for sign in (1, -1):
        mean, variance = liao2026_fresh.LawOfLogits(line, sign * (line @ mu), f).of_said(fitted)
        said = fitted @ f(logits(tokens, rng.standard_normal((p, 40_000)) + sign * mu[:, None]))
        assert abs(said.mean() - mean) < FAR * said.std() / 200
        # the law of what is said is near a Gaussian's
        assert abs(said.var() / variance - 1) < FAR * np.sqrt(2.5 / 40_000)


def test_corrections_have_the_power_of_what_is_seen():
    orders = liao2026_ranks.correction_orders
    assert orders({"nonlinearity": "relu"}) == orders({"nonlinearity": "cos", "imbalance": 0.5}) == (1.0,)
    assert orders({"nonlinearity": "relu", "imbalance": 0.5}) == (0.5,)
    assert orders({"nonlinearity": "tanh", "third": 1.0}) == (0.5, 1.0)


def test_a_finite_size_is_simulated_at_itself_with_controls_that_leave_its_mean():
    point = {"p": 100, "n": 110, "nonlinearity": "tanh", "gamma": 0.3, "snr": 3, "weights": "unit-aligned"}
    with_controls = liao2026_extensions.sized_error(point, np.random.default_rng(3), 300)["error"]
    tokens = {**point, "tokens": "gaussian"}
    rng = np.random.default_rng(4)
    mu, key, query = liao2026_extensions.make_vectors(point, 100)
    plain = []
    for _ in range(300):
        context, labels = liao2026_ranks.draw_context(tokens, rng, 110, mu, 0.0)
        logits = (context.T @ context + np.outer(context.T @ key, query @ context)) / 10
        kernel = np.tanh(logits) / 10
        np.fill_diagonal(kernel, 0.0)
        features = context @ kernel
        inverse = np.linalg.inv(features.T @ features / 110 + 0.3 * np.eye(110))
        plain.append(0.09 * np.sum((inverse @ labels) ** 2) / 110)
    bar = np.hypot(np.std(plain), np.std(with_controls)) / np.sqrt(300)
    assert abs(np.mean(plain) - np.mean(with_controls)) < FAR * bar
    assert np.std(with_controls) < 0.7 * np.std(plain)


def test_scales_and_bounds_may_hang_on_the_output_and_on_the_point():
    found = Simulator(len, scale={"M": 1.0}, systematic=lambda point: 1 / point["p"])
    assert (found.scale_of("M"), found.scale_of("V"), found.systematic_at({"p": 200})) == (1.0, 0.0, 0.005)
    plain = Simulator(len, scale=2.0, systematic=0.1)
    assert (plain.scale_of("anything"), plain.systematic_at({})) == (2.0, 0.1)


def test_what_a_finite_size_leaves_out_is_less_where_the_shift_is_small():
    bound = liao2026_extensions.left_out
    assert bound({"p": 200, "n": 250, "snr": 4, "weights": "unit-aligned"}) == pytest.approx(1 / 200)
    assert bound({"p": 200, "n": 200, "snr": 1, "keys": "1", "queries": "1", "scale": "0.8"}) == pytest.approx(1 / 200)
    # |s| (1 + |mu|^2) is above the width of the logits, or p is small
    assert bound({"p": 512, "n": 512, "snr": 30}) == bound({"p": 100, "n": 100, "snr": 1}) == 0.02
