"""The error bar of one training set, against sums of squares drawn here and against whole training sets."""

import math

import numpy as np
import pytest
from scipy.special import softmax

import theorem_engine as te
from theorem_engine.validators.duranthon2026_finite import _attend, fresh_risk, train

ENTRY = "duranthon2026.training-spread"
POINT = {"task": "spiked", "nu": 2.0, "L": 3, "delta": 0.3}


def noise(count, rng):
    """Pulls of sequences on a component of k and on one of v, and their curvatures, at k = sqrt(nu) k* and v = v*."""
    chi = rng.standard_normal((count, 3))
    chi[:, 0] += math.sqrt(2)
    z, p = rng.standard_normal((count, 3)), softmax(math.sqrt(2) * chi, axis=1)
    answer = (p * z).sum(axis=1, keepdims=True)
    slope = p * (z - answer)
    miss = z[:, :1] + 0.3 * rng.standard_normal((count, 1)) - answer
    beside = rng.standard_normal((count, 3))
    pulls = (miss * slope * beside).sum(axis=1), (miss * p * beside).sum(axis=1)
    return pulls, ((slope**2).sum(axis=1).mean(), (p**2).sum(axis=1).mean())


def test_one_step_of_newton_in_each_direction_costs_as_much_and_scatters_as_much():
    """Directions are alike and independent: 40,000 of them with 100 sequences each; five standard errors."""
    rng, sequences, directions = np.random.default_rng(1), 100, 40_000
    pulls, bends = noise(sequences * directions, rng)
    steps = [pull.reshape(directions, sequences).mean(axis=1) / bend for pull, bend in zip(pulls, bends, strict=True)]
    costs = sum(bend * step**2 for bend, step in zip(bends, steps, strict=True))
    found = te.predict(ENTRY, N=sequences, D=2, **POINT)
    assert abs(costs.mean() - found["excess"] / 2) < 5 * costs.std() / math.sqrt(directions)
    squares = (costs - costs.mean()) ** 2
    # with so many sequences a mean of theirs is normal but for its fourth cumulant, one hundredth of a sequence's
    excess = sum(np.mean((p / p.std()) ** 4) for p in pulls) / sequences
    assert (
        abs(squares.mean() - found["spread"] ** 2 / 2)
        < 5 * squares.std() / math.sqrt(directions) + squares.mean() * excess
    )


@pytest.mark.campaign
def test_whole_training_sets_scatter_so():
    """120 sets of forty samples per dimension: five standard errors, and corrections of order D/N and 1/D."""
    dimension, alpha, count = 40, 40, 120
    point = {**POINT, "activation": "softmax", "r_k": 0.3, "r_v": 0.3, "alpha": alpha}
    point["size"] = math.sqrt(alpha) * dimension
    risks = []
    for seed in range(count):
        vectors, _, _ = train(point, np.random.default_rng([7, seed]))
        # the same fresh sequences for all: their noise is common
        fresh = {**point, "size": 300}, np.random.default_rng(99)
        risks.append(fresh_risk(*fresh, *vectors.T, lambda s, z: _attend("softmax", s, z)[1]))
    found = te.predict(ENTRY, N=alpha * dimension, D=dimension, **POINT)
    share = np.std(risks, ddof=1) / found["spread"]
    assert abs(share - 1) < 5 / math.sqrt(2 * count) + 2 / alpha + 2 / dimension


def test_four_times_the_samples_make_a_fourth_of_it_and_four_times_the_size_a_half():
    one, more, larger = (
        te.predict(ENTRY, N=n, D=d, **POINT)["spread"] for n, d in ((1000, 50), (4000, 50), (4000, 200))
    )
    assert (float(one / more), float(one / larger)) == pytest.approx((4, 2), rel=1e-12)
