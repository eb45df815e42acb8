"""Statistics that the simulators of the classics take off their samples have the mean zero, and flights keep a law."""

import numpy as np
import pytest

from theorem_engine.validators.classics_controls import controlled, teacher_controls
from theorem_engine.validators.classics_patterns import all_signs, kept_by, mean_logarithm, pattern_controls, stored
from theorem_engine.validators.classics_perceptrons import _directions, draw_teacher
from theorem_engine.validators.classics_sparse import equation_controls, is_minimum, minimise
from theorem_engine.validators.classics_spins import chains, energy_controls, noise_controls, posterior_signs


def scores(controls):
    """Means over their standard errors."""
    return controls.mean(axis=0) / (controls.std(axis=0) / np.sqrt(len(controls)))


def of_teachers(rng):
    return teacher_controls(*draw_teacher(rng, 6000, 9, 6))


def of_patterns(rng):
    return np.array([pattern_controls(rng.standard_normal((5, 9))) for _ in range(6000)])


def of_matrices(rng):
    noise = np.triu(rng.standard_normal((12_000, 6, 6)), 1)
    return noise_controls(noise + np.swapaxes(noise, 1, 2), 2.0)


def of_equations(rng):
    matrix = rng.standard_normal((6000, 8, 10)) / np.sqrt(8)
    signal = (np.arange(10) < (2.5 + rng.random(6000)).astype(int)[:, None]).astype(float)
    noise = 0.5 * rng.standard_normal((6000, 8))
    pull = np.einsum("sij,si->sj", matrix, np.einsum("sij,sj->si", matrix, signal) + noise)
    return equation_controls(matrix, signal, noise, pull, 0.25, 0.25)


def hidden_signs(rng, count, n, snr, sweeps):
    """Normal matrices, and posterior samples of the signs hidden by them."""
    noise = rng.standard_normal((count, n, n), dtype=np.float32)
    noise = (noise + np.swapaxes(noise, 1, 2)) * np.float32(np.sqrt(0.5))
    noise[:, np.arange(n), np.arange(n)] = 0
    states = chains(noise, snr, sweeps, rng)
    return noise, states, np.swapaxes(states, 2, 3) @ states / n


def of_samples(rng):
    noise, states, overlaps = hidden_signs(rng, 3000, 9, 0.9, 30)
    return energy_controls(noise, states, overlaps, 0.9)


@pytest.mark.parametrize("draw", [of_teachers, of_patterns, of_matrices, of_samples, of_equations])
def test_controls_have_the_mean_zero(draw):
    assert np.max(np.abs(scores(draw(np.random.default_rng(5))))) < 4


def test_controls_leave_the_mean_and_take_spread():
    def draw_at(size):
        def draw(rng, count):
            shared = rng.standard_normal(count)
            return {"x": 3 + shared + 0.1 * rng.standard_normal(count)}, shared[:, None]

        return draw

    found = controlled(draw_at, ("a test", 10, {}), np.random.default_rng(0), 4000)["x"]
    assert abs(found.mean() - 3) < 4 * 0.1 / np.sqrt(4000)
    assert found.std() < 0.12


def test_chains_sample_the_posterior_of_the_hidden_signs():
    """Means of products of two signs, for one matrix, against those over all 2^9 vectors."""
    n, snr = 9, 0.9
    rng = np.random.default_rng(11)
    signs = all_signs(n).astype(float)
    one, _, _ = hidden_signs(rng, 1, n, snr, 1)
    noise = np.repeat(one, 1500, axis=0)
    states = chains(noise, snr, 60, rng)
    heights = np.einsum("ki,ij,kj->k", signs, snr / n + np.sqrt(snr / n) * noise[0].astype(float), signs) / 2
    weights = np.exp(heights - heights.max())
    pairs = np.einsum("k,ki,kj->ij", weights / weights.sum(), signs, signs)
    last = states[:, -1].transpose(0, 2, 1).reshape(-1, n).astype(float)
    gap = (last.T @ last / len(last) - pairs)[np.triu_indices(n, 1)]
    error = np.sqrt((1 - pairs[np.triu_indices(n, 1)] ** 2) / len(last))
    assert np.max(np.abs(gap / error)) < 4.5


def test_chains_across_groups_of_signs_have_the_energy_that_the_posterior_has():
    """Forty signs are drawn in three groups: E x.Wx/n^1.5 = sqrt(snr) (1 - E q^2) holds at every size."""
    noise, states, overlaps = hidden_signs(np.random.default_rng(8), 800, 40, 0.5, 20)
    energy = energy_controls(noise, states, overlaps, 0.5)[:, 0]
    assert abs(energy.mean()) < 4 * energy.std() / np.sqrt(800)
    assert energy.std() / np.sqrt(800) < 0.005


def test_near_the_transition_hidden_signs_are_not_simulated():
    with pytest.raises(ValueError, match="transition"):
        posterior_signs({"snr": 1.2}, np.random.default_rng(0), 1)


def test_flights_over_a_cone_have_the_mean_direction_of_a_plain_draw():
    """Weights of two coordinates that two samples allow: rejection from the plane is the other method."""
    rng = np.random.default_rng(3)
    data = np.array([[1.0, 0.2], [-0.3, 1.0]])
    plain = rng.standard_normal((200_000, 2))
    plain = plain[np.all(plain @ data.T > 0, axis=1)]
    plain /= np.linalg.norm(plain, axis=1, keepdims=True)
    start = np.tile([1.0, 1.0], (1500, 1))
    flown = _directions(np.tile(data, (1500, 1, 1)), start, rng).mean(axis=0)
    gap = flown.mean(axis=0) - plain.mean(axis=0)
    error = np.hypot(flown.std(axis=0) / np.sqrt(1500), plain.std(axis=0) / np.sqrt(len(plain)))
    assert np.all(np.abs(gap) < 4 * error)
    assert np.all(error < 0.01)


def test_the_lasso_meets_the_conditions_of_its_minimum():
    rng = np.random.default_rng(2)
    matrix = rng.standard_normal((50, 12, 20))
    gram, pull = np.swapaxes(matrix, 1, 2) @ matrix, np.einsum("sij,si->sj", matrix, rng.standard_normal((50, 12)))
    assert np.all(is_minimum(gram, pull, 0.8, minimise(gram, pull, 0.8), 1e-5))


def test_the_load_is_the_same_from_every_guess():
    patterns = np.random.default_rng(1).standard_normal((70, 10))
    assert len({stored(patterns, 0.5, guess) for guess in (1, 4, 10, 40, 69)}) == 1


def test_the_logarithm_of_a_share_has_the_mean_of_plain_draws():
    """Over many patterns on one set of vectors; the plain mean has more spread."""
    rng = np.random.default_rng(4)
    left = kept_by(kept_by(all_signs(6), np.arange(1.0, 7.0)), np.array([1.0, -2.0, 1.0, 0.5, 1.0, 3.0]))
    plain, reduced = [], []
    for _ in range(6000):
        kept = len(kept_by(left, rng.standard_normal(6)))
        plain.append(np.log(max(kept, 0.5) / len(left)))
        reduced.append(mean_logarithm(left, kept, rng))
    gap = np.mean(plain) - np.mean(reduced)
    assert abs(gap) < 4 * np.hypot(np.std(plain), np.std(reduced)) / np.sqrt(6000)
    assert np.std(reduced) < np.std(plain) / 2
