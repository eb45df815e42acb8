"""Errors of means over random numbers: what they cover, what they say."""

import numpy as np
import pytest

import theorem_engine as te
from theorem_engine.asking.error import is_statistical
from theorem_engine.asking.point import read_point
from theorem_engine.backends.float64 import channel
from theorem_engine.base.random_sets import COUNT, LEVEL, statistical_error

ERM = "duranthon2026.erm-risk"
LEARNER = "duranthon2026.bayes-learner"


def test_an_error_covers_as_often_as_it_says():
    """The square of a mean of normals, known exactly: 4000 trials, four standard deviations of a binomial law."""
    numbers = np.random.default_rng(7).normal(1.0, 1.0, (4000, COUNT, 50)).mean(axis=-1)
    errors = np.array([statistical_error(row[:, None] ** 2, [np.mean(row) ** 2])[0] for row in numbers])
    covered = np.mean(np.abs(np.mean(numbers, axis=1) ** 2 - 1.0) <= errors)
    assert abs(covered - LEVEL) < 4 * np.sqrt(LEVEL * (1 - LEVEL) / 4000) + 0.005


def test_what_few_draws_shift_is_part_of_the_error():
    """All sets give the same, and together something else: the distance is what is not known."""
    assert statistical_error([[1.0]] * COUNT, [1.5])[0] == pytest.approx(0.5)


@pytest.mark.filterwarnings("error")
def test_large_numbers_have_errors_as_large():
    """Their squares overflow."""
    plain = statistical_error([[1.0], [2.0], [3.0], [4.0]], [2.5])
    assert statistical_error([[1e300], [2e300], [3e300], [4e300]], [2.5e300]) / 1e300 == pytest.approx(plain)


@pytest.fixture
def draw_with(monkeypatch):
    """Take other random numbers; those of the engine itself are back after the test."""

    def forget():
        channel._kept.cache_clear()
        channel._together.cache_clear()

    def choose(seed):
        monkeypatch.setattr(channel, "SEED", seed)
        forget()

    yield choose
    forget()


def test_errors_of_all_outputs_cover_a_closed_form(draw_with):
    """A strong ridge on k leaves ridge regression, whose closed form is exact: 40 seeds, four outputs.

    Of 160 intervals 95 % should cover. Those of one seed go together: 40 independent ones give 3.4 % at one standard
    deviation, and less than 85 % would be three of them.
    """
    given = {"L": 3, "delta": "0.3", "alpha": 2, "activation": "linear", "r_v": 6}
    exact = te.predict("duranthon2026.ridge-limit", **given).outputs
    hits = dict.fromkeys(("risk", "train_error", "m_v", "q_v"), 0)
    for seed in range(40):
        draw_with(seed)
        found = te.predict(ERM, task="spiked", nu=1, r_k=1e8, draws=2**8, **given)
        for name in hits:
            hits[name] += abs(found.outputs[name] - exact[name]) <= found.errors[name]
    assert all(count >= 33 for count in hits.values()), hits
    assert sum(hits.values()) >= 0.85 * 160


def test_errors_of_all_outputs_are_told_with_their_level():
    found = te.predict(ERM, task="spiked", nu=1, L=3, alpha=2, activation="linear", r_k=1, r_v=8, draws=512)
    assert found.error == found.errors["risk"]
    assert set(found.errors) == set(found.outputs)
    assert all(error > 0 for error in found.errors.values())
    assert "statistical at 95 %" in str(found)
    plain = found.to_json()
    assert plain["error_level"] == 0.95
    assert plain["errors"].keys() == found.outputs.keys()


def test_what_was_never_seen_is_not_known_to_be_absent():
    """No jump in n draws: with 95 % their share is below 3/n."""
    found = te.predict(ERM, task="spiked", nu=1, L=3, alpha=2, activation="softmax", r_k=1, r_v=1, draws=1024)
    assert found.outputs["jump_fraction"] == 0
    assert found.errors["jump_fraction"] == pytest.approx(3 / 1024)


def test_a_stated_number_is_exact_and_computed_ones_beside_it_are_not():
    found = te.predict("duranthon2026.hard-phase", task="spiked", nu=2, L=2, draws=2**9)
    assert (found.value, found.error, found.error_kind) == (1.0, 0.0, "exact")
    assert all(found.errors[name] > 0 for name in ("alpha_alg", "risk_before", "risk_after"))
    first, *others = str(found).splitlines()[1:]
    assert "exact" in first
    assert all("+-" in line and "statistical at 95 %" in line for line in others)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, False),
        ({"task": "spiked", "nu": 1, "L": 40}, False),
        ({"L": 4}, True),
        ({"branch": "uninformed"}, True),
        ({"delta": "0.1"}, True),
        ({"alpha": "0.9"}, True),
    ],
)
def test_the_kind_of_error_is_that_of_the_method_used(changed, expected):
    point = {"task": "max", "nu": "inf", "L": 3, "alpha": 2, "branch": "informed", **changed}
    entry = te.entry(LEARNER)
    assert is_statistical(entry, read_point(entry, point).options) is expected
