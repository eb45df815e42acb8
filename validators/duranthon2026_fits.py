"""Fits of attention weights to sequences of their own: the best linear combination, or slope, shift and norm.

A fit sees several times as many sequences as decide a check, drawn once for a point: its risk exceeds the smallest one
by a share of about its number of parameters over that number of sequences.
"""

from functools import lru_cache

import numpy as np
from scipy.optimize import minimize, minimize_scalar

from .duranthon2026_model import batches, lengths, weights_of

#: Tokens of the sequences that a fit sees, at least and at most so many sequences, and those of a fit for few samples.
FITTED, FEWEST, MOST, SMALL = 1_500_000, 40_000, 250_000, 200
#: Samples up to which a small fit is good enough.
FEW = 16
#: Slopes between which the best one is searched; where none is best, the limit of infinite slope is tried too.
SLOPES = (1e-3, 3e3)
#: Activations with a limit at infinite slope.
HARD = ("softmax", "softplus")
#: Weights that are linear in what is fitted.
LINEAR = ("linear", "centred-linear", "element-wise-optimal")


def fitted(point, few):
    """The best linear combination of weights, or the slope, shift and norm of the best attention.

    The noise of the labels is left out, which moves no minimum.
    """
    numbers, shares = lengths(point)
    names = ("task", "nu", "activation", "shift", "m_kk", "tokens", "values")
    pairs = tuple(zip(numbers.tolist(), shares.tolist(), strict=True))
    return _fit(few, pairs, tuple((name, point[name]) for name in names if name in point))


@lru_cache(maxsize=64)
def _fit(few, pairs, items):
    point = {**dict(items), "L": dict(pairs)}
    drawn = list(batches(point, np.random.default_rng([2509, 21936]), fitted_count(pairs, few)))
    return _solve(point, drawn) if point["activation"] in LINEAR else search(point, drawn)


def fitted_count(pairs, few):
    """How many sequences a fit sees."""
    return SMALL if few else int(np.clip(FITTED / sum(n * w for n, w in pairs), FEWEST, MOST))


def fitted_weights(point, found, scores):
    """Weights of a fit."""
    if isinstance(found, tuple):
        slope, shift, norm = found
        return norm * _weights(point if "shift" in point else {**point, "shift": shift}, scores, slope)
    if point["activation"] in ("linear", "centred-linear"):
        return sum(x * weights for x, weights in zip(found, _terms(point, scores), strict=True))
    grid = _knots(point["task"], float(point["nu"]))
    inside = np.clip(scores, grid[0], grid[0] + (len(grid) - 1.001) * (grid[1] - grid[0]))
    return np.interp(inside, grid, found)


def _terms(point, scores):
    """The two weights that linear ones combine."""
    if point["activation"] == "linear":
        return np.ones_like(scores), scores
    return np.full_like(scores, 1 / scores.shape[1]), scores - scores.mean(axis=1, keepdims=True)


def _hard_weights(name, scores):
    """Weights at infinite slope of the activations that have a limit there."""
    top = (scores == scores.max(axis=1, keepdims=True)).astype(float)
    if name == "softmax":
        return top
    ramp = np.maximum(scores, 0)
    total = ramp.sum(axis=1, keepdims=True)
    # where all scores are negative, the largest kernel exceeds the others by an exponential
    return np.where(total > 0, ramp / np.where(total > 0, total, 1.0), top)


def _weights(point, scores, slope):
    name = point["activation"]
    return _hard_weights(name, scores) if np.isinf(slope) and name in HARD else weights_of(point, scores, slope)


# Linear fits


def _knots(task, nu):
    """Nodes of a piecewise linear function of chi*, close enough for the posterior of this signal."""
    slope = 1.0 if np.isinf(nu) else np.sqrt(nu) if task == "spiked" else nu
    low, high = -5.0, 5.0 + (np.sqrt(nu) if task == "spiked" else 0.0)
    return np.linspace(low, high, 1 + round((high - low) * min(12.0, 3 + slope)))


def _solve(point, drawn):
    """Coefficients of least squared error, from the normal equations."""
    if point["activation"] != "element-wise-optimal":
        matrix, vector = np.zeros((2, 2)), np.zeros(2)
        for batch in drawn:
            terms = _terms(point, batch.scores)
            matrix += [[np.sum(batch.product(a, b)) for b in terms] for a in terms]
            vector += [np.sum(batch.with_label(a)) for a in terms]
    else:
        grid = _knots(point["task"], float(point["nu"]))
        parts = [_hats(grid, batch) for batch in drawn]
        matrix, vector = (sum(part[k] for part in parts) for k in (0, 1))
        # a little stiffness continues the function in a line beyond the nodes that tokens have come near
        bend = np.diff(np.eye(len(vector)), 2, axis=0)
        matrix = matrix + bend.T @ bend
    return np.linalg.lstsq(matrix, vector, rcond=1e-13)[0]


def _hats(grid, batch, rows=20_000):
    """Normal equations of a piecewise linear function: of products at the nodes, and with the label."""
    place = np.clip((batch.scores - grid[0]) / (grid[1] - grid[0]), 0, len(grid) - 1.001)
    left = place.astype(int)
    share, size = place - left, len(grid)
    if batch.values is None:
        # a token meets itself alone, at the two nodes beside it
        flat, part = left.ravel(), share.ravel()
        at_left, between, at_right = (np.bincount(flat, x, size) for x in ((1 - part) ** 2, part * (1 - part), part**2))
        matrix = np.diag(at_left + np.roll(at_right, 1)) + np.diag(between[:-1], 1) + np.diag(between[:-1], -1)
        own, part = left[batch.own], share[batch.own]
        return matrix, np.bincount(own, 1 - part, size) + np.bincount(own + 1, part, size)
    matrix, vector = np.zeros((size, size)), np.zeros(size)
    for first in range(0, len(batch), rows):
        here = slice(first, first + rows)
        values, part = batch.values[here], share[here]
        start = np.arange(len(values))[:, None] * size + left[here]
        table = np.bincount(start.ravel(), ((1 - part) * values).ravel(), len(values) * size)
        table += np.bincount(start.ravel() + 1, (part * values).ravel(), len(values) * size)
        features = table.reshape(len(values), size)
        matrix, vector = matrix + features.T @ features, vector + features.T @ batch.labels[here]
    return matrix, vector


# Searches


def search(point, drawn):
    """Slope, shift and value norm of least squared error: first on a part of the sequences, then on all."""
    is_free = point["activation"] == "erf" and "shift" not in point and "m_kk" not in point
    part, some = ([batch.first(max(1, len(batch) // share)) for batch in drawn] for share in (20, 6))

    def fit(these, slope, shift):
        here = {**point, "shift": shift} if is_free else point
        square = label = 0.0
        for batch in these:
            weights = _weights(here, batch.scores, slope)
            square += float(np.sum(batch.product(weights, weights)))
            label += float(np.sum(batch.with_label(weights)))
        norm = label / square if square > 0 else 0.0
        # least squares: what the best norm explains, of labels of variance one
        return -norm * label / sum(map(len, these)), slope, shift, norm

    if "m_kk" in point:
        return fit(drawn, float(point["m_kk"]), 0.0)[1:]
    shifts = np.linspace(-8, 2, 11) if is_free else [0.0]
    grid = [fit(part, slope, shift) for slope in np.geomspace(*SLOPES, 27) for shift in shifts]
    ends = [fit(drawn, slope, 0.0) for slope in (0.0, *([np.inf] if point["activation"] in HARD else []))]
    start = min(grid)
    if is_free:
        best = _walk(fit, some, start, 0.5, 120)
        best = _walk(fit, drawn, best, 0.05, 40)
    else:
        near = np.log(start[1])
        walk = minimize_scalar(
            lambda x: fit(drawn, np.exp(x), 0.0)[0], bounds=(near - 0.6, near + 0.6), method="bounded",
            options={"maxiter": 14},
        )  # fmt: skip
        best = fit(drawn, float(np.exp(walk.x)), 0.0)
    return min([best, *ends])[1:]


def _walk(fit, drawn, start, size, calls):
    """Nelder and Mead's search in the logarithm of the slope and in the shift."""
    begin = np.array([np.log(start[1]), start[2]])
    simplex = begin + size * np.array([[0, 0], [1, 0], [0, 2]])
    options = {"initial_simplex": simplex, "maxfev": calls, "xatol": 1e-4, "fatol": 1e-9}
    found = minimize(lambda x: fit(drawn, np.exp(x[0]), x[1])[0], begin, method="Nelder-Mead", options=options)
    return fit(drawn, float(np.exp(found.x[0])), float(found.x[1]))
