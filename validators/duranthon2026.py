"""Estimators of single-location regression on sequences drawn as the model defines them.

Simulators return one squared error per sequence under the name of the output they check. What has to be fitted
is fitted on sequences of its own, several times as many as decide a check, and drawn once for a point: the risk of
a fit exceeds the smallest one by a share of about its number of parameters over that number of sequences.
"""

from functools import lru_cache

import numpy as np
from scipy.optimize import minimize, minimize_scalar

from .duranthon2026_model import (
    BLOCK,
    DIMENSION,
    ORDER,
    draw_hidden,
    draw_products,
    label_noise,
    labels,
    lengths,
    make_vectors,
    posterior,
    sequences,
    weights_of,
)
from .marion2025 import TOKEN_LAWS
from .simulator import simulator

#: Tokens of the sequences that a fit sees, at least and at most so many sequences, and those of a fit for few samples.
FITTED, FEWEST, MOST, SMALL = 3_000_000, 60_000, 400_000, 200
#: Samples up to which a small fit is good enough.
FEW = 16
#: Slopes between which the best one is searched; where none is best, the limit of infinite slope is tried too.
SLOPES = (1e-3, 3e3)
#: Activations with a limit at infinite slope.
HARD = ("softmax", "softplus")


@simulator(variants={"tokens": TOKEN_LAWS}, covers=("risk", "bayes"))
def bayes_estimator(point, rng, count):
    """Squared error of the posterior mean of the label."""
    losses = []
    for tokens, hidden in sequences(point, rng, count, 2):
        answer = np.sum(posterior(point, tokens[:, :, 0]) * tokens[:, :, 1], axis=1)
        losses.append((labels(point, rng, tokens, hidden) - answer) ** 2)
    loss = np.concatenate(losses)
    return {"risk": loss, "bayes": loss}


@simulator(variants={"tokens": TOKEN_LAWS}, covers=("risk",))
def attention_risk(point, rng, count):
    """Squared error of sum_l sigma_l(chi) z_l with whole tokens."""
    key, value = make_vectors(point)
    spike = np.sqrt(float(point["nu"])) if point["task"] == "spiked" else 0.0
    # of a token only what the predictor, the label and the hidden position read is kept
    axes = np.eye(DIMENSION)
    directions = np.stack([key, value, axes[1], *([] if point["task"] == "spiked" else [axes[0]])], axis=1)
    losses = []
    numbers, shares = lengths(point)
    for length, share in zip(numbers, rng.multinomial(count, shares), strict=True):
        if share == 0:
            continue
        fields = draw_products(point, rng, share, length, directions)
        hidden = draw_hidden(point, rng, fields[-1])
        own = np.arange(share), hidden
        error = fields[2][own] + label_noise(point, rng, share)
        if spike:
            fields[0][own] += spike * key[0]
            fields[1][own] += spike * value[0]
        rows = max(1, BLOCK // length)
        for first in range(0, share, rows):
            here = slice(first, first + rows)
            error[here] -= np.einsum("nl,nl->n", weights_of(point, fields[0, here]), fields[1, here])
        losses.append(error**2)
    return {"risk": np.concatenate(losses)}


@simulator(covers=("risk",))
def reduced_attention_risk(point, rng, count):
    """The same from the four projections (chi*, z*, chi, z) of each token: exact, and cheaper in the length."""
    m_kk, m_kv, m_vk, m_vv, q_kk, q_vv, q_kv = (float(point[name]) for name in ORDER)
    matrix = np.array([[1, 0, m_kk, m_vk], [0, 1, m_kv, m_vv], [m_kk, m_kv, q_kk, q_kv], [m_vk, m_vv, q_kv, q_vv]])
    values, vectors = np.linalg.eigh(matrix)
    root = vectors * np.sqrt(np.maximum(values, 0))
    losses = []
    for tokens, hidden in sequences({**point, "nu": 0.0, "task": "spiked"}, rng, count, 4):
        fields = tokens @ root.T
        own = np.arange(len(hidden))
        if point["task"] == "spiked":
            fields[own, hidden] += np.sqrt(float(point["nu"])) * matrix[0]
        else:
            hidden = draw_hidden(point, rng, fields[:, :, 0])
        label = fields[own, hidden, 1] + label_noise(point, rng, len(hidden))
        losses.append((label - np.sum(weights_of(point, fields[:, :, 2]) * fields[:, :, 3], axis=1)) ** 2)
    return {"risk": np.concatenate(losses)}


@simulator(variants={"tokens": TOKEN_LAWS}, covers=("excess", "distance"))
def attention_excess(point, rng, count):
    """Squared error minus that of the Bayes estimator on the same sequences, and the distance of the weights."""
    key, value = float(point["m_kk"]), float(point["m_vv"])
    excesses, distances = [], []
    for tokens, hidden in sequences(point, rng, count, 2):
        scores, values = tokens[:, :, 0], tokens[:, :, 1]
        weights = value * weights_of(point, scores, key)
        best = posterior(point, scores)
        label = values[np.arange(len(hidden)), hidden]
        least = (label - np.sum(best * values, axis=1)) ** 2
        excesses.append((label - np.sum(weights * values, axis=1)) ** 2 - least)
        distances.append(np.sum((weights - best) ** 2, axis=1))
    return {"excess": np.concatenate(excesses), "distance": np.concatenate(distances)}


@simulator(variants={"tokens": TOKEN_LAWS}, covers=("integral", "two_log_L"))
def bayes_information(point, rng, count, largest=200.0):
    """Twice the information the scores of a strongly spiked sequence carry about the hidden position.

    At nu = ``largest`` the posterior entropy is far below any sampling error for lengths up to a
    thousand, so the information is the entropy of the position.
    """
    values = []
    for tokens, hidden in sequences({**point, "nu": largest, "task": "spiked"}, rng, count, 1):
        found = posterior({"nu": largest, "task": "spiked"}, tokens[:, :, 0])
        own = found[np.arange(len(hidden)), hidden]
        values.append(2 * np.log(np.maximum(own, 1e-300) * found.shape[1]))
    return {"integral": np.concatenate(values), "two_log_L": np.concatenate(values)}


# Fits


def _knots(task, nu):
    """Nodes of a piecewise linear function of chi*, close enough for the posterior of this signal."""
    slope = 1.0 if np.isinf(nu) else np.sqrt(nu) if task == "spiked" else nu
    low, high = -5.0, 5.0 + (np.sqrt(nu) if task == "spiked" else 0.0)
    return np.linspace(low, high, 1 + round((high - low) * min(12.0, 3 + slope)))


def _hats(grid, scores, values):
    """Sums of the values at the nodes of a piecewise linear function, one row for each sequence."""
    place = np.clip((scores - grid[0]) / (grid[1] - grid[0]), 0, len(grid) - 1.001)
    left = place.astype(int)
    share = place - left
    rows = np.arange(len(scores))[:, None] * len(grid)
    size = len(scores) * len(grid)
    table = np.bincount((rows + left).ravel(), ((1 - share) * values).ravel(), size)
    table += np.bincount((rows + left + 1).ravel(), (share * values).ravel(), size)
    return table.reshape(len(scores), len(grid))


def _features(point, scores, values):
    """What a linear fit combines: the weights of each term times the values, summed over the tokens."""
    name = point["activation"]
    if name == "linear":
        return np.stack([values.sum(axis=1), (scores * values).sum(axis=1)], axis=1)
    if name == "centred-linear":
        centred = scores - scores.mean(axis=1, keepdims=True)
        return np.stack([values.mean(axis=1), (centred * values).sum(axis=1)], axis=1)
    return _hats(_knots(point["task"], float(point["nu"])), scores, values)


def _hard_weights(name, scores):
    """Weights at infinite slope of the activations that have a limit there."""
    top = (scores == scores.max(axis=1, keepdims=True)).astype(float)
    if name == "softmax":
        return top
    ramp = np.maximum(scores, 0)
    total = ramp.sum(axis=1, keepdims=True)
    # where all scores are negative, the largest kernel exceeds the others by an exponential
    return np.where(total > 0, ramp / np.where(total > 0, total, 1.0), top)


def _answers(point, scores, values, slope):
    name = point["activation"]
    hard = np.isinf(slope) and name in HARD
    weights = _hard_weights(name, scores) if hard else weights_of(point, scores, slope)
    return np.einsum("nl,nl->n", weights, values)


def _fixed(point, few):
    """All that a fit depends on, as a key: the noise of the labels is left out, which moves no minimum."""
    numbers, shares = lengths(point)
    names = ("task", "nu", "activation", "shift", "m_kk", "tokens")
    return few, tuple(zip(numbers.tolist(), shares.tolist(), strict=True)), tuple(
        (name, point[name]) for name in names if name in point
    )  # fmt: skip


@lru_cache(maxsize=64)
def _fit(few, pairs, items):
    """The best linear combination of features, or the slope, shift and norm of the best attention."""
    point = {**dict(items), "L": dict(pairs)}
    mean = sum(n * w for n, w in pairs)
    count = SMALL if few else int(np.clip(FITTED / mean, FEWEST, MOST))
    batches = [
        (tokens[:, :, 0].copy(), tokens[:, :, 1].copy(), labels(point, np.random.default_rng(0), tokens, hidden))
        for tokens, hidden in sequences(point, np.random.default_rng([2509, 21936]), count, 2)
    ]
    if point["activation"] in ("linear", "centred-linear", "element-wise-optimal"):
        return _solve(point, batches)
    return _search(point, batches)


def _solve(point, batches, rows=20_000):
    matrix, vector = 0.0, 0.0
    for scores, values, label in batches:
        for first in range(0, len(label), rows):
            here = slice(first, first + rows)
            features = _features(point, scores[here], values[here])
            matrix, vector = matrix + features.T @ features, vector + features.T @ label[here]
    if len(vector) > 2:
        # a little stiffness continues the function in a line beyond the nodes that tokens have come near
        bend = np.diff(np.eye(len(vector)), 2, axis=0)
        matrix = matrix + bend.T @ bend
    return np.linalg.lstsq(matrix, vector, rcond=1e-13)[0]


def _search(point, batches):
    """Slope, shift and value norm of least squared error: first on a part of the sequences, then on all."""
    is_free = point["activation"] == "erf" and "shift" not in point and "m_kk" not in point
    part, some = ([tuple(x[: max(1, len(x) // share)] for x in batch) for batch in batches] for share in (20, 6))

    def fit(some, slope, shift):
        here = {**point, "shift": shift} if is_free else point
        found = np.concatenate([_answers(here, *batch[:2], slope) for batch in some])
        label = np.concatenate([batch[2] for batch in some])
        square = found @ found
        norm = found @ label / square if square > 0 else 0.0
        return float(np.mean((label - norm * found) ** 2)), slope, shift, float(norm)

    if "m_kk" in point:
        return fit(batches, float(point["m_kk"]), 0.0)[1:]
    shifts = np.linspace(-8, 2, 11) if is_free else [0.0]
    grid = [fit(part, slope, shift) for slope in np.geomspace(*SLOPES, 27) for shift in shifts]
    ends = [fit(batches, slope, 0.0) for slope in (0.0, *([np.inf] if point["activation"] in HARD else []))]
    start = min(grid)
    if is_free:
        best = _walk(fit, some, start, 0.5, 120)
        best = _walk(fit, batches, best, 0.05, 40)
    else:
        near = np.log(start[1])
        walk = minimize_scalar(
            lambda x: fit(batches, np.exp(x), 0.0)[0], bounds=(near - 0.6, near + 0.6), method="bounded",
            options={"maxiter": 14},
        )  # fmt: skip
        best = fit(batches, float(np.exp(walk.x)), 0.0)
    return min([best, *ends])[1:]


def _walk(fit, batches, start, size, calls):
    """Nelder and Mead's search in the logarithm of the slope and in the shift."""
    begin = np.array([np.log(start[1]), start[2]])
    simplex = begin + size * np.array([[0, 0], [1, 0], [0, 2]])
    options = {"initial_simplex": simplex, "maxfev": calls, "xatol": 1e-4, "fatol": 1e-9}
    found = minimize(lambda x: fit(batches, np.exp(x[0]), x[1])[0], begin, method="Nelder-Mead", options=options)
    return fit(batches, float(np.exp(found.x[0])), float(found.x[1]))


def _fitted(point, found, scores, values):
    """Answers of a fit."""
    if isinstance(found, tuple):
        slope, shift, norm = found
        return norm * _answers(point if "shift" in point else {**point, "shift": shift}, scores, values, slope)
    if point["activation"] in ("linear", "centred-linear"):
        return _features(point, scores, values) @ found
    grid = _knots(point["task"], float(point["nu"]))
    inside = np.clip(scores, grid[0], grid[0] + (len(grid) - 1.001) * (grid[1] - grid[0]))
    return np.einsum("nl,nl->n", np.interp(inside, grid, found), values)


@simulator(exact=True, variants={"tokens": TOKEN_LAWS}, covers=("risk",))
def best_attention(point, rng, count):
    """Squared error of attention whose key norm, shift and value norm are fitted; at a given ``m_kk`` the last only.

    The best element-wise activation is a fitted piecewise linear function of the score.
    """
    found = _fit(*_fixed(point, count <= FEW))
    losses = []
    for tokens, hidden in sequences(point, rng, count, 2):
        answer = _fitted(point, found, tokens[:, :, 0], tokens[:, :, 1])
        losses.append((labels(point, rng, tokens, hidden) - answer) ** 2)
    return {"risk": np.concatenate(losses)}


@simulator(variants={"tokens": TOKEN_LAWS}, covers=("risk",))
def best_linear_estimator(point, rng, count):
    """Squared error of b sum_l z*_l + c sum_l chi*_l z*_l with fitted b and c."""
    return best_attention({**point, "activation": "linear"}, rng, count)


@simulator(variants={"tokens": TOKEN_LAWS}, covers=("risk",))
def element_wise_estimator(point, rng, count):
    """Squared error of sum_l g(chi*_l) z*_l with g a fitted piecewise linear function."""
    return best_attention({**point, "activation": "element-wise-optimal"}, rng, count)


@simulator(variants={"tokens": TOKEN_LAWS}, covers=("risk",))
def best_erf(point, rng, count):
    """Squared error of attention with fitted weights 1 + erf(shift + chi); with a slope a shift not given is zero."""
    return best_attention({**point, "activation": "erf"}, rng, count)


@simulator(variants={"tokens": TOKEN_LAWS}, covers=("risk",))
def best_softplus(point, rng, count):
    """Squared error of attention with fitted normalised softplus weights."""
    return best_attention({**point, "activation": "softplus"}, rng, count)


@simulator(variants={"tokens": TOKEN_LAWS}, covers=("excess",))
def length_cost(point, rng, count):
    """Squared error with one fit for all lengths minus that with a fit for each, on the same sequences."""
    together = _fit(*_fixed(point, count <= FEW))
    costs = []
    for tokens, hidden in sequences(point, rng, count, 2):
        scores, values = tokens[:, :, 0], tokens[:, :, 1]
        alone = _fit(*_fixed({**point, "L": scores.shape[1]}, count <= FEW))
        label = labels(point, rng, tokens, hidden)
        first, second = (label - _fitted(point, found, scores, values) for found in (together, alone))
        costs.append(first**2 - second**2)
    return {"excess": np.concatenate(costs)}
