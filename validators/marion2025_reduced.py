"""The risk of erf attention from the scores of the tokens alone: exact, and as cheap at d = 400 as at d = 4.

A Gaussian token enters the squared error through its products with k, v, k* and v*. Given its product with k, the
score, the others are Gaussian with known means and covariances and enter the error linearly, so that the mean of the
squared error given all scores is written down and only the scores are drawn. Each sample is a mean over both signs of
the normal numbers; their squares, whose mean is one, serve as controls.
"""

from __future__ import annotations

import numpy as np
from scipy.special import erf, erfc

from .marion2025 import Array, Point, make_vectors
from .simulator import simulator

#: Numbers drawn at once, and samples that the coefficients of the controls are fitted to, before those proper.
BLOCK, PILOT = 2**16, 2000


@simulator(covers=("risk", "excess"))
def conditional_risk(point: Point, rng: np.random.Generator, count: int) -> dict[str, Array]:
    """Mean of the squared error given the scores, and the same less the variance of the label noise.

    >>> point = {"lam": 0.2, "gamma": 1.0, "d": 50, "L": 4}
    >>> conditional_risk(point, np.random.default_rng(0), 1000)["risk"].shape
    (1000,)
    """
    L, eps = int(point["L"]), point.get("eps", 0.0)
    # random numbers of their own: the samples proper do not depend on the coefficients
    values, controls = _given_scores(point, np.random.default_rng(241001537).standard_normal((PILOT, L)))
    values, controls = values - values.mean(), controls - controls.mean(axis=0)
    slopes = np.linalg.lstsq(controls, values, rcond=1e-9)[0]
    if np.var(values - controls @ slopes) > 0.5 * np.var(values):
        # controls that follow nothing would only hide how rare the values are that the mean is made of
        slopes = 0 * slopes
    found = np.empty(count)
    rows = max(1, BLOCK // L)
    for first in range(0, count, rows):
        values, controls = _given_scores(point, rng.standard_normal((min(rows, count - first), L)))
        found[first : first + rows] = values - controls @ slopes
    return {"risk": found + eps**2, "excess": found}


def _given_scores(point: Point, normals: Array) -> tuple[Array, Array]:
    """Squared mean plus variance of the error for given scores, over both signs of these, and controls of mean zero.

    The hidden token is the first one: a sum over tokens does not know their places.
    """
    lam, gamma = point["lam"], point["gamma"]
    k, v, k_star, v_star = make_vectors(point)
    length = np.sqrt(len(k) / 2)
    shift_k, shift_v = length * (k_star @ k), length * (k_star @ v)
    kv, kt = float(k @ v), float(k @ v_star)
    apart, across = (v - v_star) - (kv - kt) * k, v - kv * k
    others = normals[:, 1:]
    weights = erf(lam * others)
    # even functions of the scores: the same for both signs
    pull, power = np.einsum("nl,nl->n", weights, others), np.einsum("nl,nl->n", weights, weights)
    found = (1 - kv**2) * power
    for own in (normals[:, 0], -normals[:, 0]):
        score = lam * (shift_k + gamma * own)
        weight, lack = erf(score), erfc(score)
        mean = weight * (shift_v + gamma * kv * own) - gamma * kt * own + kv * pull
        # the squared length across k of weight v - v*, written by what the weight lacks to one so that nothing cancels
        spread = apart @ apart - 2 * lack * (apart @ across) + lack**2 * (across @ across)
        found += (mean**2 + gamma**2 * spread) / 2
    squares = normals**2
    # higher powers would follow the weights better still, and leave a rest of rare large values
    controls = squares[:, 1:].sum(axis=1) - (normals.shape[1] - 1), squares[:, 0] - 1
    return found, np.stack(controls, axis=1)
