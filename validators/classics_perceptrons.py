"""Perceptrons trained on drawn samples, sampled from their posterior, and filled with patterns to their capacity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.optimize import nnls
from scipy.special import expit, ndtr, ndtri

from .classics_spectra import columns, sizes
from .simulator import simulator

Point = Mapping[str, Any]
SIZE = 100
#: Newton's steps are over when none is longer than this.
STILL = 1e-10


@simulator(size=SIZE, orders=(1.0,), cost=3.0, covers=("m", "q", "V", "test_error"))
def penalised_fit(point: Point, rng: Generator, count: int) -> dict[str, Any]:
    """The minimiser of the penalised loss by Newton's method, and the trace of the inverse Hessian there."""
    alpha, penalty = float(point["alpha"]), float(point["lam"])
    is_square = point.get("loss", "logistic") == "square"
    d, n = sizes(alpha, int(point.get("size", SIZE)))

    def one() -> dict[str, Any]:
        teacher = rng.standard_normal(d)
        teacher *= np.sqrt(d) / np.linalg.norm(teacher)
        data = rng.standard_normal((n, d)) / np.sqrt(d)
        labels = np.sign(data @ teacher)
        weights = np.zeros(d)
        for _ in range(100):
            score = data @ weights
            if is_square:
                pull, bend = labels - score, np.ones(n)
            else:
                miss = expit(-labels * score)
                pull, bend = labels * miss, miss * (1 - miss)
            hessian = (data.T * bend) @ data + penalty * np.eye(d)
            move = np.linalg.solve(hessian, data.T @ pull - penalty * weights)
            weights = weights + move
            if np.linalg.norm(move) <= STILL * np.sqrt(d):
                break
        along, norm2 = weights @ teacher / d, weights @ weights / d
        return {
            "m": along,
            "q": norm2,
            "V": np.trace(np.linalg.inv(hessian)) / d,
            "test_error": np.arccos(along / np.sqrt(norm2)) / np.pi,
        }

    return columns([one() for _ in range(count)])


#: Dimension of sampled posteriors, sweeps before they are read, sweeps read, and data sets that make up one sample.
CHAINS, BURN, READ, TOGETHER = 32, 40, 40, 20


@simulator(size=CHAINS, orders=(1.0,), cost=2.0, covers=("q", "test_error"))
def posterior_overlap(point: Point, rng: Generator, count: int) -> dict[str, Any]:
    """Overlap of the teacher with posterior samples, by coordinate-wise Gibbs sampling that starts at the teacher.

    The teacher is a posterior sample itself. Two chains for each data set give the norm of the posterior mean without
    the noise of averages.
    """
    d, n = sizes(float(point["alpha"]), int(point.get("size", CHAINS)))
    found: list[dict[str, Any]] = []
    sets = TOGETHER
    while len(found) < count:
        teacher = rng.standard_normal((sets, d))
        data = rng.standard_normal((sets, n, d))
        # labels are absorbed: every sample asks for a positive score
        data *= np.sign(np.einsum("snd,sd->sn", data, teacher))[:, :, None]
        data = np.concatenate([data, data])
        weights = np.concatenate([teacher, teacher])
        scores = np.einsum("snd,sd->sn", data, weights)
        total, overlap = np.zeros_like(weights), np.zeros(2 * sets)
        for sweep in range(BURN + READ):
            chances = rng.random((d, 2 * sets))
            for i in range(d):
                column = data[:, :, i]
                bounds = weights[:, i, None] - scores / column
                low = np.max(np.where(column > 0, bounds, -np.inf), axis=1)
                high = np.min(np.where(column < 0, bounds, np.inf), axis=1)
                # the mirror image keeps distribution functions away from one
                flip = np.where(low > 0, -1.0, 1.0)
                first, last = np.where(flip < 0, -high, low), np.where(flip < 0, -low, high)
                inside = ndtr(first) + chances[i] * (ndtr(last) - ndtr(first))
                drawn = np.clip(ndtri(inside), first, last)
                new = flip * np.where(np.isfinite(drawn), drawn, first)
                scores += column * (new - weights[:, i])[:, None]
                weights[:, i] = new
            if sweep >= BURN:
                total += weights
                overlap += np.sum(weights * np.concatenate([teacher, teacher]), axis=1) / d
            if sweep % 20 == 0:
                scores = np.einsum("snd,sd->sn", data, weights)
        mean = total / READ
        norm2 = np.sum(mean[:sets] * mean[sets:], axis=1)
        along = np.sum((mean[:sets] + mean[sets:]) / 2 * teacher, axis=1) / np.linalg.norm(teacher, axis=1)
        cosine = np.clip(along / np.sqrt(np.maximum(norm2, 1e-12)), -1, 1)
        q = (overlap[:sets] + overlap[sets:]) / (2 * READ)
        found.append({"q": np.mean(q), "test_error": np.mean(np.arccos(cosine)) / np.pi})
    return columns(found)


#: Weights of perceptrons that are filled with patterns.
WEIGHTS = 40


def margin(patterns: Any) -> float:
    """The largest margin of a perceptron on patterns whose labels are absorbed; below zero where there is none.

    The shortest w with every pattern's score at least one is a least-distance problem, solved by non-negative least
    squares; one over its length is the margin.
    """
    p, n = patterns.shape
    system = np.vstack([patterns.T, np.ones(p)])
    wanted = np.zeros(n + 1)
    wanted[-1] = 1
    solution, length = nnls(system, wanted)
    if length < 1e-8:
        return -1.0
    residual = wanted - system @ solution
    return float(residual[-1] / np.linalg.norm(residual[:-1]))


@simulator(size=WEIGHTS, orders=(1.0,), cost=3.0, covers=("alpha",))
def largest_load(point: Point, rng: Generator, count: int) -> dict[str, Any]:
    """Patterns that a perceptron stores with its margin, one after the other, until the first that it cannot."""
    wanted, n = float(point["kappa"]), int(point.get("size", WEIGHTS))

    def one() -> dict[str, Any]:
        patterns = rng.standard_normal((5 * n + 20, n))
        # the margin falls with every pattern: the last number that fits is found by halving
        low, high = 0, len(patterns)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if margin(patterns[:middle]) >= wanted else (low, middle)
        # between the last load that fits and the first that does not
        return {"alpha": (low + 0.5) / n}

    return columns([one() for _ in range(count)])


#: Binary weights that are enumerated.
BITS = 12


def all_signs(bits: int) -> Any:
    """Every vector of signs, one to a row."""
    return 1.0 - 2.0 * ((np.arange(2**bits)[:, None] >> np.arange(bits)) & 1)


@simulator(exact=True, systematic=0.004, covers=("entropy",))
def binary_solutions(point: Point, rng: Generator, count: int) -> dict[str, Any]:
    """Logarithm of the number of binary perceptrons that store random patterns, all of them enumerated.

    At this size no shift from the limit was seen. A data set without solution counts as half a one.
    """
    load = float(point["alpha"]) * BITS
    signs = all_signs(BITS)

    def one() -> dict[str, Any]:
        # a whole number of patterns, right on the average
        patterns = rng.standard_normal((BITS, int(load + rng.random())))
        solutions = np.count_nonzero(np.all(signs @ patterns > 0, axis=1))
        return {"entropy": np.log(max(solutions, 0.5)) / BITS}

    return columns([one() for _ in range(count)])


@simulator(size=12, orders=((1.0, 2.0),), cost=8.0, covers=("alpha",))
def binary_threshold(point: Point, rng: Generator, count: int) -> dict[str, Any]:
    """The load at which the last binary perceptron is ruled out, patterns being added one at a time."""
    bits = min(20, int(point.get("size", 12)))
    everyone = all_signs(bits)

    def one() -> dict[str, Any]:
        left, stored = everyone, 0
        while len(left):
            left = left[left @ rng.standard_normal(bits) > 0]
            stored += 1
        return {"alpha": (stored - 1) / bits}

    return columns([one() for _ in range(count)])
