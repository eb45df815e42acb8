"""Message passing without whole tokens has the law of message passing on whole ones."""

import numpy as np
import pytest

from theorem_engine.validators.duranthon2026_passing import pass_messages_in_law, passed_in_law, passed_messages

POINT = {"task": "spiked", "nu": 2.0, "L": 3, "delta": 0.5, "alpha": 2.0, "overlap": 0.3}
COUNT = 150


@pytest.mark.parametrize("steps", [0, 3])
def test_overlaps_and_risk_have_the_law_of_whole_tokens(steps):
    """Means and spreads of 150 runs in some forty dimensions, where nothing is a limit yet; four standard errors."""
    point = {**POINT, "steps": steps, "size": 60}
    law = passed_in_law(point, np.random.default_rng(1), COUNT)
    whole = passed_messages(point, np.random.default_rng(2), COUNT)
    for name in ("q_k", "q_v", "risk"):
        a, b = law[name], whole[name]
        assert abs(a.mean() - b.mean()) <= 4 * np.sqrt((a.var() + b.var()) / COUNT) + 1e-12
        # the variance of a variance, from fourth moments
        noise = sum(np.var((x - x.mean()) ** 2) for x in (a, b)) / COUNT
        assert abs(a.var() - b.var()) <= 4 * np.sqrt(noise) + 1e-12


def test_the_start_has_the_overlap_and_the_norm_asked_for():
    key, value = pass_messages_in_law({**POINT, "steps": 0, "size": 60}, np.random.default_rng(3))
    assert (key[0], value[1]) == (0.3, 0.3)
    assert (key @ key, value @ value) == pytest.approx((0.3, 0.3), rel=1e-14)


def test_norms_after_a_step_are_those_of_whole_tokens():
    """The part of k beside k* comes from directions that were never drawn."""
    from theorem_engine.validators.duranthon2026_passing import pass_messages

    point, norms = {**POINT, "steps": 2, "size": 60}, []
    for seed, run in ((4, pass_messages_in_law), (5, pass_messages)):
        rng = np.random.default_rng(seed)
        drawn = [run(point, rng) for _ in range(COUNT)]
        norms.append(np.array([[key @ key, value @ value, key @ value] for key, value in drawn]))
    a, b = norms
    assert np.all(abs(a.mean(axis=0) - b.mean(axis=0)) < 4 * np.sqrt((a.var(axis=0) + b.var(axis=0)) / COUNT))
