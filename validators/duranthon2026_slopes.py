"""Slopes of the Bayes risk, noise of gradients where it is attained, and the valley of mismatched linear weights."""

from functools import lru_cache

import numpy as np

from .duranthon2026_model import labels, lengths, posterior, sequences
from .simulator import simulator

#: Change of the signal over which differences are taken, relative to it, and the least.
STEP = 1e-3
#: Sequences that ratios are formed on first; the square of what these are off by remains.
PILOT = 200_000
#: Sequences whose noise of gradients is averaged before it is multiplied with that of others.
GROUP = 64


@simulator(covers=("slope",), systematic=1e-5)
def bayes_slope(point, rng, count):
    """Differences of the posterior's variance, one minus its sum of squares, at two signals and the same noise."""
    nu = float(point["nu"])
    step = STEP * max(nu, 0.1)
    if np.isinf(nu):
        raise ValueError("an infinite signal is not changed by a step")
    # at the end of the range the difference is one-sided, and linear in the step
    low, high = max(nu - step, 0.0), nu + step
    found = []
    numbers, shares = lengths(point)
    for length, share in zip(numbers, rng.multinomial(count, shares), strict=True):
        if share == 0:
            continue
        noise, spread = rng.standard_normal((share, length)), []
        for signal in (low, high):
            scores = noise.copy()
            if point["task"] == "spiked":
                # the place of the hidden token does not matter
                scores[:, 0] += np.sqrt(signal)
            chances = posterior({**point, "nu": signal}, scores)
            spread.append(1 - np.einsum("nl,nl->n", chances, chances))
        found.append((spread[1] - spread[0]) / (high - low))
    return {"slope": np.concatenate(found)}


@simulator(covers=("bayes", "element_wise"))
def doubled(point, rng, count):
    """Squared errors of the posterior mean of two tokens, and of the best weights of each alone at twice the signal."""
    pair = {"task": "spiked", "L": 2, "nu": float(point["nu"])}
    results = []
    for task in (pair, {**pair, "nu": 2 * pair["nu"]}):
        ((tokens, hidden),) = sequences(task, rng, count, 2)
        scores, shift = tokens[:, :, 0], np.sqrt(task["nu"])
        if task is pair:
            weights = posterior(task, scores)
        else:
            # Bayes' rule for one token, shifted or not with equal chance
            weights = 1 / (1 + np.exp((scores - shift) ** 2 / 2 - scores**2 / 2))
        results.append((labels(task, rng, tokens, hidden) - np.einsum("nl,nl->n", weights, tokens[:, :, 1])) ** 2)
    return dict(zip(("bayes", "element_wise"), results, strict=True))


def _gradients(point, rng, count):
    """Squared errors of the posterior mean, and the squared norms of its slopes in the scores and in the values."""
    for tokens, hidden in sequences(point, rng, count, 2):
        chances, values = posterior(point, tokens[:, :, 0]), tokens[:, :, 1]
        answer = np.einsum("nl,nl->n", chances, values)
        error = labels(point, rng, tokens, hidden) - answer
        slopes = chances * (values - answer[:, None])
        yield error**2, np.einsum("nl,nl->n", slopes, slopes), np.einsum("nl,nl->n", chances, chances)


def _key_of(point):
    """What a pilot depends on, as something that can be kept by."""
    numbers, shares = lengths(point)
    names = ("task", "nu", "delta", "tokens")
    pairs = tuple(zip(numbers.tolist(), shares.tolist(), strict=True))
    return pairs, tuple((name, point[name]) for name in names if name in point)


@lru_cache(maxsize=64)
def _first_ratios(pairs, items):
    """Curvatures and ratios on sequences of their own, drawn once for a point."""
    point = {**dict(items), "L": dict(pairs)}
    drawn = _gradients(point, np.random.default_rng([2509, 21938]), PILOT)
    error, *norms = [np.concatenate(x) for x in zip(*drawn, strict=True)]
    bends = [norm.mean() for norm in norms]
    return bends, [(error * norm).mean() / max(bend, 1e-300) for norm, bend in zip(norms, bends, strict=True)]


# a ratio of means over the pilot is off by its noise, whose square over the pilot is far below this
@simulator(covers=("coefficient", "key", "value", "bayes"), systematic=1e-4)
def gradient_noise(point, rng, count):
    """Noise over curvature of gradients in k and v at the best weights: per component, what a sample costs.

    A component of a token beside k* and v* is standard normal, whatever the rest, so that of a gradient in k has the
    square |slope in the scores|^2 error^2, and the curvature is the mean of |slope|^2.
    """
    bends, ratios = _first_ratios(*_key_of(point))
    if min(bends) == 0:
        raise ValueError("a single token leaves nothing to choose: the risk does not depend on k")
    error, *norms = [np.concatenate(x) for x in zip(*_gradients(point, rng, count), strict=True)]
    key, value = (ratio + (error - ratio) * norm / bend for ratio, norm, bend in zip(ratios, norms, bends, strict=True))
    return {"coefficient": key + value, "key": key, "value": value, "bayes": error}


@simulator(covers=("risk",), systematic=1e-4)
def mismatched_valley(point, rng, count):
    """Least squared error of multiples of sum_l z*_l chi*_l: linear weights of a long k along v*, v along k*."""
    if point["activation"] != "linear":
        raise ValueError("only linear weights of a long key are its score alone")

    features, answers = _features(point, rng, count)
    return {"risk": (answers - _valley_slope(*_key_of(point)) * features) ** 2}


def _features(point, rng, count):
    """sum_l z*_l chi*_l of sequences, and their labels."""
    features, answers = [], []
    for tokens, hidden in sequences(point, rng, count, 2):
        features.append(np.einsum("nl,nl->n", tokens[:, :, 0], tokens[:, :, 1]))
        answers.append(labels(point, rng, tokens, hidden))
    return np.concatenate(features), np.concatenate(answers)


@lru_cache(maxsize=64)
def _valley_slope(pairs, items):
    """The best multiple, on sequences of its own."""
    point = {**dict(items), "L": dict(pairs)}
    features, answers = _features(point, np.random.default_rng([2509, 21939]), PILOT)
    return (features * answers).mean() / (features**2).mean()


@lru_cache(maxsize=64)
def _first_spread(pairs, items):
    """The trace of the squared noise of gradients over curvatures, on sequences of their own."""
    point = {**dict(items), "L": dict(pairs)}
    key, value, cross = _costs(point, np.random.default_rng([2509, 21944]), PILOT)
    return np.mean(key) ** 2 + np.mean(value) ** 2 + 2 * np.mean(cross) ** 2


def _costs(point, rng, count):
    """What a sequence adds to noise over curvature: of a component of k, of one of v, and of the two together."""
    bends, ratios = _first_ratios(*_key_of(point))
    if min(bends) == 0:
        raise ValueError("a single token leaves nothing to choose: the risk does not depend on k")
    found, label_noise = [], float(point.get("delta", 0.0)) ** 2
    for tokens, _ in sequences(point, rng, count, 2):
        chances, values = posterior(point, tokens[:, :, 0]), tokens[:, :, 1]
        answer = np.einsum("nl,nl->n", chances, values)
        # the squared error averaged over the positions that the tokens leave open, and over the label's noise
        error = np.einsum("nl,nl,nl->n", chances, values, values) - answer**2 + label_noise
        slopes = chances * (values - answer[:, None])
        norms = np.einsum("nl,nl->n", slopes, slopes), np.einsum("nl,nl->n", chances, chances)
        own = [ratio + (error - ratio) * norm / bend for ratio, norm, bend in zip(ratios, norms, bends, strict=True)]
        both = error * np.einsum("nl,nl->n", slopes, chances) / np.sqrt(bends[0] * bends[1])
        found.append(np.stack([*own, both]))
    mixed = np.concatenate(found, axis=1)
    return mixed if len(found) == 1 else rng.permutation(mixed, axis=1)


# the root of the variance is taken to first order around the pilot's, whose noise is squared
@simulator(exact=True, covers=("spread", "excess"), systematic=1e-4)
def spread_of_sets(point, rng, count):
    """Mean and spread of what training costs, for normal errors of k and v in each of D directions.

    Beside k* and v* tokens are independent of all else, so that the sums which move k and v are normal in each
    direction and independent: a squared error has the mean tr S and the variance 2 tr S^2, S being noise over
    curvature. Two groups of sequences each give one S, and tr S S' of independent ones is right in the mean.
    """
    share, dimension = float(point["D"]) / float(point["N"]), float(point["D"])
    one, two = (_costs(point, rng, count * GROUP).reshape(3, count, GROUP).mean(axis=2) for _ in range(2))
    square = one[0] * two[0] + one[1] * two[1] + 2 * one[2] * two[2]
    first = _first_spread(*_key_of(point))
    root = np.sqrt(first) * (1 + (square / first - 1) / 2)
    return {
        "spread": share * np.sqrt(2 / dimension) * root,
        "excess": share * (one[0] + one[1] + two[0] + two[1]) / 2,
    }
