"""Approximate message passing on whole training sets, a given number of undamped steps from a given overlap."""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from .duranthon2026_finite import SIZE, Array, Generator, Point, draw_blocks, fresh_risk, sizes
from .simulator import simulator


def pass_messages(point: Point, rng: Generator) -> tuple[Array, Array]:
    """k and v over sqrt(D) after the steps, k* and v* being the first two axes."""
    n, dimension = sizes(point)
    length, nu, delta = int(point["L"]), float(point["nu"]), float(point.get("delta", 0.0))
    blocks = list(draw_blocks(point, rng, n, dimension))
    tokens = np.concatenate([x for x, _ in blocks]).reshape(-1, dimension)
    labels = np.concatenate([y for _, y in blocks])
    alpha, known = n / dimension, float(point["overlap"])
    # overlap and norm are those asked for, not only in the mean: their noise would pass through every step
    vectors = rng.standard_normal((2, dimension))
    vectors[:, :2] = 0.0
    vectors *= np.sqrt(known * (1 - known)) / np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors[0, 0], vectors[1, 1] = known, known
    # precisions that belong to posterior means of this overlap
    precision = np.full(2, known / (1 - known))
    pull = np.zeros((2, n, length))
    for _ in range(int(point["steps"])):
        seen = np.moveaxis((tokens @ vectors.T).reshape(n, length, 2), 2, 0)
        # what a sample has put into the vectors itself is taken out again
        omega, w = seen - pull / (1 + precision)[:, None, None]
        tau = delta**2 + 1 / (1 + precision[1])
        miss = labels[:, None] - w
        chances = softmax(np.sqrt(nu) * omega - miss**2 / (2 * tau), axis=1)
        pull = np.stack([np.sqrt(nu) * chances, chances * miss / tau])
        precision = alpha * np.mean(np.sum(pull**2, axis=2), axis=1)
        gathered = pull.reshape(2, -1) @ tokens / dimension
        # the likelihood of a spiked token carries |k|^2, whence the term in alpha nu
        kept = precision - np.array([alpha * nu, 0.0])
        vectors = (gathered + kept[:, None] * vectors) / (1 + precision)[:, None]
    return vectors[0], vectors[1]


@simulator(size=SIZE, own_size=True, orders=(1.0,), cost=2.0, covers=("risk", "q_k", "q_v"))
def passed_messages(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """Overlaps with k* and v* after the steps, and the risk of the posterior mean they give, one training set each."""
    nu = float(point["nu"])

    def answer(scores: Array, values: Array) -> Array:
        result: Array = np.sum(softmax(np.sqrt(nu) * scores, axis=1) * values, axis=1)
        return result

    found = {name: np.empty(count) for name in ("risk", "q_k", "q_v")}
    for run in range(count):
        key, value = pass_messages(point, rng)
        found["risk"][run] = fresh_risk(point, rng, key, value, answer)
        found["q_k"][run], found["q_v"][run] = key[0], value[1]
    return found
