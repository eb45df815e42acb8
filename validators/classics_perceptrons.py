"""Perceptrons trained on drawn samples of a teacher, and sampled from their posterior."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.special import expit, gammaln

from .classics_controls import Array, Draw, controlled, in_blocks, teacher_controls
from .classics_spectra import sizes
from .simulator import simulator

Point = Mapping[str, Any]
SIZE = 64
#: Newton's steps are over when none is longer than this.
STILL = 1e-10
#: Numbers of a block of runs.
BLOCK = 400_000


def draw_teacher(rng: Generator, count: int, n: int, d: int) -> tuple[Array, Array]:
    """Unit teachers, and samples whose labels are absorbed: the scores of the teacher are positive."""
    teacher = rng.standard_normal((count, d))
    teacher /= np.linalg.norm(teacher, axis=1, keepdims=True)
    data = rng.standard_normal((count, n, d))
    data *= np.sign(np.einsum("snd,sd->sn", data, teacher))[:, :, None]
    return data, teacher


@simulator(size=SIZE, orders=(1.0,), series_from=10, cost=2.5, covers=("m", "q", "V", "test_error"))
def penalised_fit(point: Point, rng: Generator, count: int) -> dict[str, Any]:
    """The minimiser of the penalised loss by Newton's method, and the trace of the inverse Hessian there."""
    alpha, penalty = float(point["alpha"]), float(point["lam"])
    is_square = point.get("loss", "logistic") == "square"

    def draw_at(size: int) -> Draw:
        d, n = sizes(alpha, size)
        return in_blocks(lambda rng, count: draw(rng, count, n, d), max(1, BLOCK // (n * d)))

    def draw(rng: Generator, count: int, n: int, d: int) -> tuple[dict[str, Array], Array]:
        data, teacher = draw_teacher(rng, count, n, d)
        controls = teacher_controls(data, teacher)
        data /= np.sqrt(d)
        weights = np.zeros((count, d))
        ridge = penalty * np.eye(d)
        for _ in range(100):
            score = np.einsum("snd,sd->sn", data, weights)
            miss = 1 - score if is_square else expit(-score)
            bend = np.ones_like(miss) if is_square else miss * (1 - miss)
            hessian = np.swapaxes(data * bend[:, :, None], 1, 2) @ data + ridge
            pull = np.einsum("snd,sn->sd", data, miss) - penalty * weights
            move = np.linalg.solve(hessian, pull[:, :, None])[:, :, 0]
            weights += move
            if np.all(np.linalg.norm(move, axis=1) <= STILL * np.sqrt(d)):
                break
        along, norm2 = np.einsum("sd,sd->s", weights, teacher) / np.sqrt(d), np.sum(weights**2, axis=1) / d
        inverse = np.linalg.inv(hessian)
        found = {
            "m": along,
            "q": norm2,
            "V": np.trace(inverse, axis1=1, axis2=2) / d,
            "test_error": np.arccos(along / np.sqrt(norm2)) / np.pi,
        }
        return found, controls

    return controlled(draw_at, ("penalised_fit", int(point.get("size", SIZE)), point), rng, count)


#: Dimension of sampled posteriors, flights before they are read, and flights read.
CHAINS, BURN, READ = 14, 4, 16


@simulator(size=CHAINS, orders=(1.0,), series_from=10, cost=2.0, covers=("q", "test_error"))
def posterior_overlap(point: Point, rng: Generator, count: int) -> dict[str, Any]:
    """Overlap of the teacher with posterior samples, by exact flights that start at the teacher.

    The teacher is a posterior sample itself, and so are two chains: each pair of the three measures the same overlap.
    Labels say nothing about lengths, so that these are independent of directions and have the mean of a chi variable:
    overlaps of directions times its square are those of the weights.
    """

    def draw_at(size: int) -> Draw:
        d, n = sizes(float(point["alpha"]), size)
        return in_blocks(lambda rng, count: draw(rng, count, n, d), max(1, BLOCK // (n * d)))

    def draw(rng: Generator, count: int, n: int, d: int) -> tuple[dict[str, Array], Array]:
        data, teacher = draw_teacher(rng, count, n, d)
        lengths = np.sqrt(rng.chisquare(d, (2 * count, 1)))
        weights = np.concatenate([teacher, teacher]) * lengths
        chains = _directions(np.concatenate([data, data]), weights, rng)
        one, other = chains[:, :count], chains[:, count:]
        means = one.mean(axis=0), other.mean(axis=0)
        both, seen = np.sum(means[0] * means[1], axis=1), np.sum((means[0] + means[1]) / 2 * teacher, axis=1)
        norm = np.sqrt(np.maximum(both, 1e-12))
        # a sample of either chain is as good a teacher as the one that made the labels
        cosines = [np.einsum("rsd,sd->rs", one, means[1]), np.einsum("rsd,sd->rs", other, means[0])]
        angle = np.mean(np.arccos(np.clip(np.concatenate(cosines) / norm, -1, 1)), axis=0)
        length2 = 2 * np.exp(2 * (gammaln((d + 1) / 2) - gammaln(d / 2))) / d
        found = {"q": length2 * both, "test_error": angle / np.pi}
        controls = teacher_controls(data, teacher)
        return found, np.concatenate([controls, (seen - both)[:, None]], axis=1)

    return controlled(draw_at, ("posterior_overlap", int(point.get("size", CHAINS)), point), rng, count)


def _directions(data: Array, weights: Array, rng: Generator) -> Array:
    """Directions, by flight, chain and coordinate, of weights that fly over a quarter of a turn again and again.

    A flight w cos(t) + v sin(t) with a normal v keeps the normal law, and bounces off the walls x.w = 0: it is exact,
    and goes as far as the samples allow, while coordinates drawn one after the other go a step of 1/sqrt(d).
    """
    chains, each = len(weights), np.arange(len(weights))
    gram = data @ np.swapaxes(data, 1, 2)
    norm2 = np.einsum("sii->si", gram).copy()
    read = np.empty((READ, *weights.shape))
    for flight in range(BURN + READ):
        speed = rng.standard_normal(weights.shape)
        scores, drift = (np.einsum("snd,sd->sn", data, x) for x in (weights, speed))
        left = np.full(chains, np.pi / 2)
        while True:
            # a score becomes zero at pi/2 + arctan(drift/score)
            ratio = drift / np.maximum(scores, 1e-300)
            wall = np.argmin(ratio, axis=1)
            time = np.minimum(np.pi / 2 + np.arctan(ratio[each, wall]), left)
            left = left - time
            cos, sin = np.cos(time)[:, None], np.sin(time)[:, None]
            weights, speed = weights * cos + speed * sin, speed * cos - weights * sin
            if not np.any(left > 0):
                break
            scores, drift = scores * cos + drift * sin, drift * cos - scores * sin
            bounce = np.where(left > 0, 2 * drift[each, wall] / norm2[each, wall], 0.0)[:, None]
            drift -= bounce * gram[each, wall]
            speed -= bounce * data[each, wall]
            # rounding leaves nobody behind a wall
            np.maximum(scores, 0.0, out=scores)
        if flight >= BURN:
            read[flight - BURN] = weights / np.linalg.norm(weights, axis=1, keepdims=True)
    return read
