"""Standard normals that are functions of a seed and of a place, so that a path hangs on nothing else.

The random bits are those of Threefry-2x64 with twenty rounds (Salmon, Moraes, Dror and Shaw, SC 2011): a key and a
counter, two words each, are mixed into two words. The key comes from the seed, the counter is a place: (pair, step).
Two words make two normals (Box and Muller):

    r = sqrt(-2 log u), a = 2 pi w:   (r cos a, r sin a),   u in (0, 1], w in [0, 1), 52 random bits in each.

The same functions for vector registers are in ``lane_functions``; both give the same numbers up to rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]

ROTATIONS = (16, 42, 12, 31, 16, 32, 24, 21)
ROUNDS = 20
#: The constant that makes the third word of the key.
PARITY = np.uint64(0x1BD11BDAA9FC1A22)


#: Pairs made at once: so many words stay in the cache.
TOGETHER = 2**14


def key_of(seed: int) -> Words:
    """Two words for one path, apart from those of NumPy's generators with the same seed."""
    words: Any = np.random.SeedSequence(seed, spawn_key=(0,)).generate_state(2, np.uint64)
    return np.asarray(words, dtype=np.uint64)


def threefry(key: Any, first: Any, second: Any) -> tuple[Words, Words]:
    """Two random words at each counter of two words."""
    shape = np.broadcast_shapes(np.shape(first), np.shape(second))
    keys = np.array([key[0], key[1], PARITY ^ key[0] ^ key[1]])
    x, y = np.empty(shape, dtype=np.uint64), np.empty(shape, dtype=np.uint64)
    np.add(first, keys[0], out=x)
    np.add(second, keys[1], out=y)
    high = np.empty_like(y)
    for number in range(ROUNDS):
        turn = ROTATIONS[number % len(ROTATIONS)]
        x += y
        np.right_shift(y, np.uint64(64 - turn), out=high)
        y <<= np.uint64(turn)
        y |= high
        y ^= x
        if number % 4 == 3:
            block = number // 4 + 1
            x += keys[block % 3]
            # whole arrays wrap around without a word
            y += keys[(block + 1) % 3 : (block + 1) % 3 + 1] + np.array([block], dtype=np.uint64)
    return x, y


def _from_one_to_two(words: Words) -> NDArray[np.float64]:
    """A number in [1, 2) of the upper 52 bits."""
    return ((words >> np.uint64(12)) | np.uint64(0x3FF0000000000000)).view(np.float64)


def normals(key: Any, begin: int, steps: int, count: int) -> NDArray[np.float64]:
    """The first ``count`` normals of some steps, (steps, count)."""
    pairs = -(-count // 2)
    found = np.empty((steps, pairs, 2))
    for start in range(0, steps, max(1, TOGETHER // max(pairs, 1))):
        part = found[start : start + max(1, TOGETHER // max(pairs, 1))]
        step = np.arange(begin + start, begin + start + len(part), dtype=np.uint64)
        for first in range(0, pairs, TOGETHER):
            place = np.arange(first, min(pairs, first + TOGETHER), dtype=np.uint64)
            x, y = threefry(key, place, step[:, None])
            radius = np.sqrt(-2 * np.log(2 - _from_one_to_two(x)))
            angle = 2 * np.pi * (_from_one_to_two(y) - 1)
            np.multiply(radius, np.cos(angle), out=part[:, first : first + TOGETHER, 0])
            np.multiply(radius, np.sin(angle), out=part[:, first : first + TOGETHER, 1])
    return found.reshape(steps, 2 * pairs)[:, :count]
