"""Approximate message passing, some undamped steps from a given overlap: on whole training sets, and in law.

In law: k and v stay in a span that grows by two directions a step, X^T g of the pulls g. Tokens are Gaussian, so what
they have along a new direction follows from what was seen of them before: U^T X of the pulls seen so far, U being an
orthonormal basis of these, is known, and the rest is drawn when it is needed. The law is that of whole tokens at every
D, and no vector of D components is drawn.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import softmax

from .duranthon2026_finite import SIZE, Array, Generator, Point, draw_blocks, fresh_risk, sizes
from .simulator import simulator

#: Root of N D of runs in law, whose cost grows with N alone, and the size that fresh sequences are counted by there.
LARGE, FEW = 3000, 50


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
        pull = pulls(seen - pull / (1 + precision)[:, None, None], labels, delta**2 + 1 / (1 + precision[1]), nu)
        precision = alpha * np.mean(np.sum(pull**2, axis=2), axis=1)
        gathered = pull.reshape(2, -1) @ tokens / dimension
        # the likelihood of a spiked token carries |k|^2, whence the term in alpha nu
        kept = precision - np.array([alpha * nu, 0.0])
        vectors = (gathered + kept[:, None] * vectors) / (1 + precision)[:, None]
    return vectors[0], vectors[1]


def pulls(fields: Array, labels: Array, width: Any, nu: float) -> Array:
    """What each token pulls k and v with, given the cavity's scores and values and the variance of a label."""
    omega, w = fields
    miss = labels[:, None] - w
    chances = softmax(np.sqrt(nu) * omega - miss**2 / (2 * width), axis=1)
    return np.stack([np.sqrt(nu) * chances, chances * miss / width])


def start_in_law(known: float, dimension: int, rng: Generator) -> Array:
    """k and v over sqrt(D) along k*, v* and two directions beside: their parts there have the angle of random ones."""
    beside = np.sqrt(known * (1 - known))
    one, rest = rng.standard_normal(), np.sqrt(rng.chisquare(dimension - 3))
    angle = np.arctan2(rest, one)
    return np.array([[known, 0.0, beside, 0.0], [0.0, known, beside * np.cos(angle), beside * np.sin(angle)]])


def new_directions(dimension: int, rng: Generator) -> Array:
    """Two columns of normals in so many dimensions, by their components along an orthonormal basis of their span."""
    first, second = np.sqrt(rng.chisquare(dimension)), np.sqrt(rng.chisquare(dimension - 1))
    return np.array([[first, rng.standard_normal()], [0.0, second]])


def pass_messages_in_law(point: Point, rng: Generator) -> tuple[Array, Array]:
    """Components of k and v over sqrt(D) along k*, v* and the directions met on the way."""
    n, dimension = sizes(point)
    length, nu, delta = int(point["L"]), float(point["nu"]), float(point.get("delta", 0.0))
    alpha, known = n / dimension, float(point["overlap"])
    vectors = start_in_law(known, dimension, rng)
    # tokens along the directions known so far; those of one place are spiked, whichever it is
    along = rng.standard_normal((n * length, 4))
    along[::length, 0] += np.sqrt(nu)
    labels = along[::length, 1] + delta * rng.standard_normal(n)
    basis = np.zeros((n * length, 0))
    precision, pull = np.full(2, known / (1 - known)), np.zeros((2, n, length))
    for step in range(int(point["steps"])):
        seen = np.moveaxis((along @ vectors.T).reshape(n, length, 2), 2, 0)
        pull = pulls(seen - pull / (1 + precision)[:, None, None], labels, delta**2 + 1 / (1 + precision[1]), nu)
        precision = alpha * np.mean(np.sum(pull**2, axis=2), axis=1)
        flat = pull.reshape(2, -1).T
        # the pulls beside those seen before, and what the tokens beside all directions put together with them
        new, corner = np.linalg.qr(flat - basis @ (basis.T @ flat))
        columns = new_directions(dimension - along.shape[1], rng)
        gathered = np.concatenate([along.T @ flat, columns @ corner]) / dimension
        basis = np.concatenate([basis, new], axis=1)
        kept = precision - np.array([alpha * nu, 0.0])
        vectors = np.pad(vectors, ((0, 0), (0, 2)))
        vectors = (gathered.T + kept[:, None] * vectors) / (1 + precision)[:, None]
        if step + 1 < int(point["steps"]):
            fresh = rng.standard_normal((n * length, 2))
            fresh += new @ columns.T - basis @ (basis.T @ fresh)
            along = np.concatenate([along, fresh], axis=1)
    return vectors[0], vectors[1]


def _measured(point: Point, rng: Generator, count: int, run: Any, fresh: Point) -> dict[str, Array]:
    """Overlaps with k* and v*, and the risk on fresh sequences, after so many runs."""
    nu = float(point["nu"])

    def answer(scores: Array, values: Array) -> Array:
        result: Array = np.sum(softmax(np.sqrt(nu) * scores, axis=1) * values, axis=1)
        return result

    found = {name: np.empty(count) for name in ("risk", "q_k", "q_v")}
    for i in range(count):
        key, value = run(point, rng)
        found["risk"][i] = fresh_risk(fresh, rng, key, value, answer)
        found["q_k"][i], found["q_v"][i] = key[0], value[1]
    return found


@simulator(size=SIZE, own_size=True, orders=(1.0,), cost=2.0, covers=("risk", "q_k", "q_v"), whole=True,
           variants={"tokens": ("law", "whole")})  # fmt: skip
def passed_messages(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """Overlaps with k* and v* after the steps, and the risk of the posterior mean they give, one training set each."""
    return _measured(point, rng, count, pass_messages, point)


@simulator(size=LARGE, own_size=True, orders=(1.0,), cost=1.0, series_from=300, covers=("risk", "q_k", "q_v"))
def passed_in_law(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """The same without whole tokens, with the law that they have; few fresh sequences, as there are many runs."""
    return _measured(point, rng, count, pass_messages_in_law, {**point, "size": FEW})
