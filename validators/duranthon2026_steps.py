"""Steps down the squared error of attention on whole tokens: its mean gradient, or that of a small batch."""

from functools import lru_cache

import numpy as np

from .duranthon2026_descent import _answers, _gradient, _losses
from .duranthon2026_model import ORDER, draw_hidden, labels, lengths, make_vectors, overlaps, posterior, sequences
from .marion2025 import TOKEN_LAWS
from .simulator import simulator

#: Tokens that all gradients of a run see together, and sequences of a pilot.
TOKENS, PILOT = 300_000, 100_000
#: Numbers of the tokens that are held at once.
BLOCK = 2**21


@simulator(variants={"tokens": TOKEN_LAWS}, covers=(*ORDER, "risk"))
def vector_descent(point, rng, count):
    """The seven overlaps after steps of k and v down the mean gradient, and the squared error there, a run per sample.

    Every gradient is a mean over sequences of its own: a run differs from descent on the risk itself by noise whose
    mean effect is of the order of one over all sequences seen.
    """
    steps, size = int(point["steps"]), float(point["eta"])
    batch = max(200, int(TOKENS / (max(1, steps) * np.dot(*lengths(point)))))
    results = {name: np.empty(count) for name in (*ORDER, "risk")}
    for run in range(count):
        state = np.stack(make_vectors(point))
        for _ in range(steps):
            state = state - size * np.stack(_gradient(point, rng, *state, batch))
        for name, value in zip(ORDER, overlaps(*state), strict=True):
            results[name][run] = value
        results["risk"][run] = np.mean(_losses(point, rng, *state, batch))
    return results


@simulator(random_letter="seed", scale=1.0, covers=ORDER)
def vector_stochastic_descent(point, rng, count):
    """The seven overlaps after steps of whole vectors in D dimensions, a fresh batch of sequences each, per run."""
    dimension, batch, length = int(point["D"]), int(point["batch"]), int(point["L"])
    size = float(point["eta"])
    results = {name: np.empty(count) for name in ORDER}
    together = max(1, BLOCK // (batch * length * dimension))
    for begin in range(0, count, together):
        runs = min(together, count - begin)
        state = np.tile(np.stack(make_vectors(point, dimension)), (runs, 1, 1))
        for _ in range(int(point["steps"])):
            tokens = rng.standard_normal((runs * batch, length, dimension))
            hidden = draw_hidden(point, rng, tokens[:, :, 0])
            every = np.arange(runs * batch)
            if point["task"] == "spiked":
                tokens[every, hidden, 0] += np.sqrt(float(point["nu"]))
            own = np.repeat(np.arange(runs), batch)
            seen = np.einsum("nld,ned->enl", tokens, state[own], optimize=True)
            answer, weights, slopes = _answers(point, seen[0], seen[1])
            error = answer - labels(point, rng, tokens, hidden)
            factors = 2 / batch * error[:, None, None] * np.stack([slopes, weights], axis=1)
            moves = np.einsum("nel,nld->ned", factors, tokens, optimize=True)
            state = state - size * moves.reshape(runs, batch, 2, dimension).sum(axis=1)
        key, value = state[:, 0], state[:, 1]
        norms = ((key**2).sum(axis=1), (value**2).sum(axis=1), (key * value).sum(axis=1))
        found = (key[:, 0], key[:, 1], value[:, 0], value[:, 1], *norms)
        for name, column in zip(ORDER, found, strict=True):
            results[name][begin : begin + runs] = column
    return results


def _slopes(point, rng, count):
    """Squared errors of the posterior mean, and its slopes in k and v along k*, v* and one direction beside."""
    errors, moves = [], []
    for tokens, hidden in sequences(point, rng, count, 3):
        chances, values = posterior(point, tokens[:, :, 0]), tokens[:, :, 1]
        answer = np.einsum("nl,nl->n", chances, values)
        errors.append((labels(point, rng, tokens, hidden) - answer) ** 2)
        bent = chances * (values - answer[:, None])
        moves.append(np.concatenate([np.einsum("nl,nld->nd", c, tokens) for c in (bent, chances)], axis=1))
    return np.concatenate(errors), np.concatenate(moves)


@lru_cache(maxsize=64)
def _first_axes(pairs, items):
    """Directions of the largest and of the least curvature, and the largest, on sequences of their own."""
    point = {**dict(items), "L": dict(pairs)}
    _, moves = _slopes(point, np.random.default_rng([2509, 21941]), PILOT)
    curvatures, axes = np.linalg.eigh(2 * moves.T @ moves / len(moves))
    return curvatures[-1], axes[:, -1], axes[:, 0]


# curvatures along axes of a pilot are off by the square of what these are turned by
@simulator(covers=("step_bound", "rate", "floor", "bayes"), systematic=1e-3)
def curvatures_at_best(point, rng, count):
    """Curvatures of the squared error in k and v at the best weights, and what the noise of their gradients costs.

    A component of a token beside k* and v* is standard normal and independent of the rest: with one such direction
    the squared slopes along it are those of any.
    """
    numbers, shares = lengths(point)
    items = tuple((name, point[name]) for name in ("task", "nu", "delta") if name in point)
    largest, top, bottom = _first_axes(tuple(zip(numbers.tolist(), shares.tolist(), strict=True)), items)
    errors, moves = _slopes(point, rng, count)
    steep = 2 * (moves @ top) ** 2
    return {
        # 2/lambda to first order around the pilot's
        "step_bound": (2 - (steep - largest) * 2 / largest) / largest,
        "rate": 2 * (moves @ bottom) ** 2,
        "floor": errors * (moves[:, 2] ** 2 + moves[:, 5] ** 2),
        "bayes": errors,
    }
