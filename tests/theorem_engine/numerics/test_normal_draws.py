"""Normals that are functions of a seed and a place: known words, the normal law, no relation between paths."""

import numpy as np
import pytest
from scipy import stats

from theorem_engine.numerics.normal_draws import key_of, normals, threefry

#: Published with the generator (Random123, kat_vectors): key, counter, words.
KNOWN = [
    ((0, 0), (0, 0), (0xC2B6E3A8C2C69865, 0x6F81ED42F350084D)),
    ((2**64 - 1, 2**64 - 1), (2**64 - 1, 2**64 - 1), (0xE02CB7C4D95D277A, 0xD06633D0893B8B68)),
    (
        (0xA4093822299F31D0, 0x082EFA98EC4E6C89),
        (0x243F6A8885A308D3, 0x13198A2E03707344),
        (0x263C7D30BB0F0AF1, 0x56BE8361D3311526),
    ),
]


@pytest.mark.parametrize(("key", "counter", "words"), KNOWN)
def test_the_generator_gives_the_published_words(key, counter, words):
    found = threefry(np.array(key, dtype=np.uint64), *(np.array([c], dtype=np.uint64) for c in counter))
    assert [int(word[0]) for word in found] == list(words)


def test_numbers_hang_on_seed_and_place_alone():
    key = key_of(5)
    whole = normals(key, 0, 40, 33)
    assert np.array_equal(whole[17:29], normals(key, 17, 12, 33))
    assert np.array_equal(whole[:, :7], normals(key, 0, 40, 7))
    # as many as are made at once, and more
    long = normals(key, 3, 2, 70_001)
    assert np.array_equal(long[:, :33], whole[3:5])
    assert normals(key, 0, 3, 0).shape == (3, 0)
    assert not np.array_equal(whole, normals(key_of(6), 0, 40, 33))


def test_they_are_normal():
    """Beside the law and beside NumPy's own; each test alone is failed by one seed in 10,000, and the seed is fixed."""
    drawn = normals(key_of(11), 0, 1000, 400).ravel()
    numpy = np.random.default_rng(11).standard_normal(drawn.size)
    assert stats.kstest(drawn, "norm").pvalue > 1e-4
    assert stats.ks_2samp(drawn, numpy).pvalue > 1e-4
    # moments 1 to 8, against four standard errors of each
    for power in range(1, 9):
        expected = 0 if power % 2 else np.prod(np.arange(power - 1, 0, -2))
        spread = np.sqrt((np.prod(np.arange(2 * power - 1, 0, -2)) - expected**2) / drawn.size)
        assert abs(np.mean(drawn**power) - expected) < 4 * spread, power
    # far out, where a table would be cut
    tail = np.mean(np.abs(drawn) > 3.5) / (2 * stats.norm.sf(3.5))
    assert abs(tail - 1) < 4 / np.sqrt(drawn.size * 2 * stats.norm.sf(3.5))


def test_squares_of_the_radius_and_angles_are_uniform_together():
    """The two numbers of a pair are independent: their sum of squares is exponential, their angle uniform."""
    pair = normals(key_of(2), 7, 500, 400).reshape(-1, 2)
    radius, angle = np.exp(-np.sum(pair**2, axis=1) / 2), np.arctan2(*pair.T) / (2 * np.pi) + 0.5
    counts = np.histogram2d(radius, angle, bins=16, range=[[0, 1], [0, 1]])[0]
    assert stats.chisquare(counts.ravel()).pvalue > 1e-4


@pytest.mark.parametrize("power", [1, 2])
def test_steps_places_and_seeds_are_unrelated(power):
    """Correlations of neighbours, of numbers and of squares, within 4.5 standard errors: 42 of them, 3 in 10,000."""
    drawn = np.array([normals(key_of(seed), 0, 300, 300) for seed in range(8)]) ** power
    drawn -= drawn.mean()
    variance = drawn.var()
    for axis in range(3):
        for apart in (1, 2, 3, 4, 5, 6, 7):
            first = np.take(drawn, range(drawn.shape[axis] - apart), axis)
            second = np.take(drawn, range(apart, drawn.shape[axis]), axis)
            assert abs(np.mean(first * second)) < 4.5 * variance / np.sqrt(first.size), (axis, apart)


def test_vector_registers_make_the_same_numbers():
    numba = pytest.importorskip("numba")
    from theorem_engine.numerics.lane_functions import lane_normals

    @numba.njit
    def fill(keys, begin, out):
        for p in range(out.shape[1] // 2):
            for lane in range(4):
                place = np.uint64(begin + p // 100), np.uint64(p % 100)
                out[lane, 2 * p], out[lane, 2 * p + 1] = lane_normals(keys[0, lane], keys[1, lane], place[1], place[0])

    keys = [key_of(seed) for seed in (0, 1, 2**53, 12345)]
    found = np.empty((4, 40_000))
    fill(np.stack(keys, axis=1), 90, found)
    expected = np.array([normals(key, 90, 200, 200).ravel() for key in keys])
    assert np.max(np.abs(found - expected) / (1 + np.abs(expected))) < 4e-15
