"""State evolution of message passing, against draws of this file and the algorithm itself."""

import numpy as np
import pytest

import theorem_engine as te
from theorem_engine.validators.duranthon2026_passing import passed_messages

ENTRY = "duranthon2026.message-passing"
POINT = {"task": "spiked", "nu": 2, "L": 3, "delta": 0.5, "alpha": 2, "overlap": 0.2}


def evolved(q_k, q_v, rng, nu=2.0, length=3, delta=0.5, alpha=2.0, count=100_000):
    """One step by plain draws: fields of a sample, posterior of its position, squares of its pulls over all tokens."""
    mark = np.zeros(length)
    mark[0] = np.sqrt(nu)
    omega = q_k * (mark + rng.standard_normal((count, length)))
    omega += np.sqrt(q_k * (1 - q_k)) * rng.standard_normal((count, length))
    values = rng.standard_normal((count, length))
    w = q_v * values + np.sqrt(q_v * (1 - q_v)) * rng.standard_normal((count, length))
    tau = delta**2 + 1 - q_v
    miss = values[:, :1] + delta * rng.standard_normal((count, 1)) - w
    odds = np.exp(np.sqrt(nu) * omega - miss**2 / (2 * tau))
    chances = odds / odds.sum(axis=1, keepdims=True)
    pulls = nu * (chances**2).sum(axis=1).mean(), ((chances * miss / tau) ** 2).sum(axis=1).mean()
    return tuple(alpha * pull / (1 + alpha * pull) for pull in pulls)


def test_no_steps_leave_the_overlap_and_three_are_those_of_plain_draws():
    begin = te.predict(ENTRY, steps=0, draws=256, **POINT).outputs
    assert (begin["q_k"], begin["q_v"]) == (pytest.approx(0.2, abs=1e-15), pytest.approx(0.2, abs=1e-15))
    rng, place = np.random.default_rng(4), (0.2, 0.2)
    for _ in range(3):
        place = evolved(*place, rng)
    found = te.predict(ENTRY, steps=3, draws=2**14, **POINT)
    for name, value in zip(("q_k", "q_v"), place, strict=True):
        assert abs(found.outputs[name] - value) < 2 * found.errors[name] + 0.006


def test_many_steps_end_where_the_learner_is():
    there = te.predict("duranthon2026.bayes-learner", task="spiked", nu=2, L=3, delta=0.5, alpha=2, draws=4096).outputs
    found = te.predict(ENTRY, steps=60, draws=4096, **POINT).outputs
    assert [found[n] for n in ("q_k", "q_v", "risk")] == pytest.approx(
        [there[n] for n in ("q_k", "q_v", "risk")], abs=2e-3
    )


def test_the_algorithm_follows_its_state_evolution_for_two_steps():
    """Twelve training sets of sqrt(N D) = 300, four standard errors and a correction of order one over the size."""
    found = te.predict(ENTRY, steps=2, draws=2**13, **POINT)
    drawn = passed_messages({**POINT, "steps": 2, "size": 300}, np.random.default_rng(2), 12)
    for name in ("q_k", "q_v", "risk"):
        error = drawn[name].std(ddof=1) / np.sqrt(12)
        assert abs(drawn[name].mean() - found.outputs[name]) < 4 * error + 0.02
