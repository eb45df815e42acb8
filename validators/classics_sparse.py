"""Sparse signals and random equations, solved as they are posed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.optimize import brentq

from .classics_controls import Array, Draw, controlled, in_blocks
from .classics_spectra import columns, sizes
from .simulator import simulator

Point = Mapping[str, Any]
SIZE = 14
#: Proximal steps after which a minimiser that still moves is given up, those before supports are guessed from it, and
#: guesses; what the conditions of a minimum may be off by, relative to the penalty.
MOST, STEPS, GUESSES, STILL = 20_000, 60, 12, 1e-9
#: Entries of a block of matrices.
BLOCK = 200_000


def minimise(gram: Any, pull: Any, penalty: float) -> Any:
    """The minimisers of x^T G x/2 - p^T x + penalty |x|_1 of many problems at once.

    Accelerated proximal steps come near; then the signs are guessed from what they leave, and the equations that hold
    for these signs solved. Problems whose conditions are not met then go on with steps alone.
    """
    found = descend(gram, pull, penalty, STEPS)
    eye = np.eye(pull.shape[1])
    for _ in range(GUESSES):
        ahead = found + pull - np.einsum("sij,sj->si", gram, found)
        signs = np.sign(ahead) * (np.abs(ahead) > penalty)
        is_active = signs != 0
        system = np.where(is_active[:, :, None] & is_active[:, None, :], gram, eye)
        found = np.linalg.solve(system, np.where(is_active, pull - penalty * signs, 0.0)[:, :, None])[:, :, 0]
        if np.all(is_minimum(gram, pull, penalty, found)):
            return found
    left = ~is_minimum(gram, pull, penalty, found)
    found[left] = descend(gram[left], pull[left], penalty, MOST)
    if not np.all(is_minimum(gram, pull, penalty, found, 1e-5)):
        raise ValueError("the lasso was not minimised in the iterations allowed")
    return found


def is_minimum(gram: Any, pull: Any, penalty: float, found: Any, accuracy: float = STILL) -> Any:
    """Whether slopes are the penalty where an entry is active, with its sign, and no larger elsewhere."""
    slope = pull - np.einsum("sij,sj->si", gram, found)
    off = np.where(found != 0, np.abs(slope - penalty * np.sign(found)), np.abs(slope) - penalty)
    return np.max(off, axis=1) <= accuracy * penalty


def descend(gram: Any, pull: Any, penalty: float, steps: int) -> Any:
    """Accelerated proximal steps, restarted whenever they overshoot."""
    step = 1 / np.linalg.norm(gram, ord=2, axis=(1, 2))[:, None]
    here = ahead = np.zeros_like(pull)
    inertia = np.ones((len(pull), 1))
    for number in range(steps):
        slope = ahead - step * (np.einsum("sij,sj->si", gram, ahead) - pull)
        new = np.sign(slope) * np.maximum(np.abs(slope) - step * penalty, 0)
        inertia = np.where(np.sum((ahead - new) * (new - here), axis=1, keepdims=True) > 0, 1.0, inertia)
        larger = (1 + np.sqrt(1 + 4 * inertia**2)) / 2
        ahead = new + (inertia - 1) / larger * (new - here)
        here, inertia = new, larger
        if number % 100 == 99 and np.all(is_minimum(gram, pull, penalty, here, 1e-6)):
            break
    return here


@simulator(size=SIZE, orders=(1.0,), series_from=10, cost=2.5, covers=("tau", "lam", "mse", "active"), takes=("lam",))
def lasso(point: Point, rng: Generator, count: int) -> dict[str, Any]:
    """The lasso at the penalty predicted: error, active share, and the residual, which has tau and lam in it.

    The residual is tau (1 - active/delta) on the average, and theta times it the penalty.
    """
    delta, share, noise2, theta, penalty = (float(point[n]) for n in ("delta", "rho", "s2", "theta", "lam"))
    if penalty <= 0:
        raise ValueError("no lasso has a negative penalty")

    def draw_at(size: int) -> Draw:
        unknowns, equations = sizes(delta, size)
        most = max(1, BLOCK // (equations * unknowns))
        return in_blocks(lambda rng, count: draw(rng, count, unknowns, equations), most)

    def draw(rng: Generator, count: int, unknowns: int, equations: int) -> tuple[dict[str, Array], Array]:
        matrix = rng.standard_normal((count, equations, unknowns)) / np.sqrt(equations)
        # the number of nonzeros is right on the average whatever the size; their signs do not matter
        nonzeros = (share * unknowns + rng.random(count)).astype(int)
        signal = (np.arange(unknowns) < nonzeros[:, None]).astype(float)
        noise = np.sqrt(noise2) * rng.standard_normal((count, equations))
        labels = np.einsum("sij,sj->si", matrix, signal) + noise
        pull = np.einsum("sij,si->sj", matrix, labels)
        found = minimise(np.swapaxes(matrix, 1, 2) @ matrix, pull, penalty)
        active = np.mean(found != 0, axis=1)
        residual = np.linalg.norm(labels - np.einsum("sij,sj->si", matrix, found), axis=1) / np.sqrt(equations)
        return {
            "mse": np.sum((found - signal) ** 2, axis=1) / unknowns,
            "active": active,
            "tau": residual / np.maximum(1 - active * unknowns / equations, 1 / equations),
            "lam": theta * residual,
        }, equation_controls(matrix, signal, noise, pull, share, noise2)

    return controlled(draw_at, ("lasso", int(point.get("size", SIZE)), point), rng, count)


def equation_controls(matrix: Array, signal: Array, noise: Array, pull: Array, share: float, power: float) -> Array:
    """Statistics of the equations less their means, given how many entries of the signal are not zero."""
    n, unknowns = matrix.shape[1:]
    count = signal.sum(axis=1)
    noise2 = np.mean(noise**2, axis=1)
    variance = count / n + noise2
    columns2 = np.sum(matrix**2, axis=1)
    zeros = 1 - signal
    length2 = np.mean((np.einsum("sij,sj->si", matrix, signal) + noise) ** 2, axis=1)
    rest = np.maximum(unknowns - count, 1)
    some = np.maximum(count, 1)
    # a column of a zero is independent of the labels, one of a nonzero is part of them
    seen = np.sum(signal * pull, axis=1) / some
    return np.stack(
        [
            count / unknowns - share,
            noise2 - power,
            length2 - variance,
            seen - np.where(count > 0, 1.0, 0.0),
            np.sum(signal * pull**2, axis=1) / some - np.where(count > 0, 1 + 2 / n + (count - 1) / n + noise2, 0.0),
            np.sum(zeros * pull**2, axis=1) / rest - length2,
            np.sum(zeros * pull**4, axis=1) / rest - 3 * length2**2,
            np.sum(signal * columns2, axis=1) / some - np.where(count > 0, 1.0, 0.0),
            np.sum(zeros * columns2, axis=1) / rest - 1,
        ],
        axis=1,
    )


#: Length of the vectors whose distance from a cone is taken.
LENGTH = 2000


@simulator(size=LENGTH, orders=(1.0,), cost=1.0, covers=("rho", "z"))
def statistical_dimension(point: Point, rng: Generator, count: int) -> dict[str, Any]:
    """The number of nonzeros at which a Gaussian vector lies as far from the subgradients as there are equations.

    Recovery changes from likely to unlikely where that squared distance passes the number of equations.
    """
    delta = float(point["delta"])
    length = int(point.get("size", LENGTH))
    equations = delta * length

    def one() -> dict[str, Any]:
        normal = rng.standard_normal(length)
        sizes_of = np.abs(normal)

        def nearest(nonzeros: float) -> tuple[float, float]:
            """Squared distance and the multiple of the subgradient that is nearest; one entry counts in part."""
            whole = int(nonzeros)
            weight = np.zeros(length)
            weight[:whole] = 1
            if whole < length:
                weight[whole] = nonzeros - whole

            def slope(t: float) -> float:
                return float(np.sum(weight * (t - normal) - (1 - weight) * np.maximum(sizes_of - t, 0)))

            t = 0.0 if slope(0) >= 0 else float(brentq(slope, 0, 20))
            far = weight * (normal - t) ** 2 + (1 - weight) * np.maximum(sizes_of - t, 0) ** 2
            return float(np.sum(far)), t

        nonzeros = float(brentq(lambda k: nearest(k)[0] - equations, 0, length - 1, xtol=1e-3))
        return {"rho": nonzeros / equations, "z": nearest(nonzeros)[1]}

    return columns([one() for _ in range(count)])
