"""Where the squared error of attention is least, and the moments of its weights: measured, not searched for.

A fit to sequences of its own finds a place near the minimum. From there every sequence takes one step of Newton's
method, with the Hessian of the fitted sequences: the mean of such steps is the minimiser up to the square of what the
fit is off by, which is about one over the number of fitted sequences.
"""

from functools import lru_cache

import numpy as np

from .duranthon2026_fits import FEW, SLOPES, fitted_count, search
from .duranthon2026_model import batches, lengths, make_vectors, sequences, weights_of
from .simulator import simulator

#: Steps of differences, relative to the size of a parameter.
STEP = 1e-3
#: Activations whose weights do not depend on the scale of the scores, or are the posterior itself.
WITHOUT_SCALE = ("relu", "element-wise-optimal")


def _free(point):
    """Names of the parameters that are fitted: the norm always, the slope unless it is given, the shift of erf too."""
    has_shift = point["activation"] == "erf" and "shift" not in point and "m_kk" not in point
    return ("m_vv", *(() if "m_kk" in point else ("m_kk",)), *(("shift",) if has_shift else ()))


def _losses(point, batch, place):
    """Squared errors of the weights with the parameters of a place, one for each sequence."""
    here = {**point, **dict(zip(_free(point), place, strict=True))}
    return batch.losses(here["m_vv"] * weights_of(here, batch.scores, float(here["m_kk"])))


def _gradients(point, batch, place):
    """Derivatives of the squared errors in the parameters, one row for each, by differences."""
    rows = []
    for axis in np.eye(len(place)):
        step = STEP * (abs(place @ axis) + 0.1) * axis
        high, low = (_losses(point, batch, place + sign * step) for sign in (1, -1))
        rows.append((high - low) / (2 * step.sum()))
    return np.array(rows)


@lru_cache(maxsize=64)
def _near_minimum(few, pairs, items):
    """Parameters of a fit, and the Hessian of the fitted squared error there."""
    point = {**dict(items), "L": dict(pairs)}
    count = fitted_count(pairs, few)
    drawn = list(batches(point, np.random.default_rng([2509, 21937]), count))
    slope, shift, norm = search(point, drawn)
    if "m_kk" not in point and not 3 * SLOPES[0] < slope < SLOPES[1] / 3:
        raise ValueError("the best slope is not at a finite place: there is nowhere to take a step from")
    found = {"m_kk": slope, "m_vv": norm, "shift": shift}
    place = np.array([found[name] for name in _free(point)])
    rows = []
    for axis in np.eye(len(place)):
        step = 10 * STEP * (abs(place @ axis) + 0.1) * axis
        high, low = (
            sum(_gradients(point, batch, place + sign * step).sum(axis=1) for batch in drawn) for sign in (1, -1)
        )
        rows.append((high - low) / (2 * step.sum() * count))
    hessian = np.array(rows)
    return place, (hessian + hessian.T) / 2


@simulator(exact=True, covers=("m_kk", "m_vv", "shift", "m_k", "m_v", "temperature"))
def best_place(point, rng, count):
    """Slope of the scores, norm of the values and shift at which the squared error is least."""
    point = {"activation": "softmax", **point}
    if point["activation"] in WITHOUT_SCALE:
        raise ValueError(f"the scale of the scores of {point['activation']} weights is a convention")
    numbers, shares = lengths(point)
    names = ("task", "nu", "activation", "shift", "delta", "m_kk")
    items = tuple((name, point[name]) for name in names if name in point)
    pairs = tuple(zip(numbers.tolist(), shares.tolist(), strict=True))
    place, hessian = _near_minimum(count <= FEW, pairs, items)
    found = [
        place[:, None] - np.linalg.solve(hessian, _gradients(point, batch, place))
        for batch in batches(point, rng, count)
    ]
    results = dict(zip(_free(point), np.concatenate(found, axis=1), strict=True))
    aliases = {"m_k": "m_kk", "m_v": "m_vv"} | ({"temperature": "m_kk"} if point["activation"] == "softmax" else {})
    return {**results, **{alias: results[name] for alias, name in aliases.items() if name in results}}


@simulator(exact=True, covers=("m_kk", "m_vv"))
def best_linear_place(point, rng, count):
    """The same for weights 1 + chi."""
    return best_place({**point, "activation": "linear"}, rng, count)


@simulator(exact=True, covers=("m_kk", "m_vv", "shift"))
def best_erf_place(point, rng, count):
    """The same for weights 1 + erf(shift + chi)."""
    return best_place({**point, "activation": "erf"}, rng, count)


@simulator(exact=True, covers=("m_kk", "m_vv"))
def best_softplus_place(point, rng, count):
    """The same for normalised softplus weights."""
    return best_place({**point, "activation": "softplus"}, rng, count)


@simulator(covers=("S", "Q", "risk"))
def weight_moments(point, rng, count):
    """Weight of the hidden token, the sum of all squared weights, and the squared error averaged over the values.

    With k orthogonal to v and v*, products with these are independent of the scores: given them and the position the
    label has covariance m_vv with the value of its own token and none with others, whose variance is q_vv.
    """
    key, value = make_vectors(point)
    if value[0] or key[1] or value[2]:
        raise ValueError("off the manifold scores and values depend on each other")
    own, squares = [], []
    for tokens, hidden in sequences(point, rng, count, 2):
        weights = weights_of(point, tokens @ key[[0, 2]])
        own.append(weights[np.arange(len(hidden)), hidden])
        squares.append(np.einsum("nl,nl->n", weights, weights))
    first, second = np.concatenate(own), np.concatenate(squares)
    noise = float(point.get("delta", 0.0)) ** 2
    return {"S": first, "Q": second, "risk": 1 + noise - 2 * value[1] * first + (value @ value) * second}
