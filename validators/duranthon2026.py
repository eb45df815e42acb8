"""Estimators of single-location regression on sequences drawn as the model defines them.

Simulators return one squared error per sequence under the name of the output they check. What has to be fitted
is fitted on sequences of its own.
"""

import numpy as np

from .duranthon2026_fits import FEW, fitted, fitted_weights
from .duranthon2026_model import (
    BLOCK,
    DIMENSION,
    ORDER,
    batches,
    draw_hidden,
    draw_products,
    label_noise,
    lengths,
    make_vectors,
    posterior,
    sequences,
    weights_of,
)
from .marion2025 import TOKEN_LAWS
from .simulator import simulator


@simulator(variants={"tokens": TOKEN_LAWS}, covers=("risk", "bayes"))
def bayes_estimator(point, rng, count):
    """Squared error of the posterior mean of the label."""
    losses = [batch.losses(posterior(point, batch.scores)) for batch in batches(point, rng, count)]
    loss = np.concatenate(losses)
    return {"risk": loss, "bayes": loss}


@simulator(variants={"tokens": TOKEN_LAWS}, covers=("risk",), whole=True)
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
    for batch in batches({**point, "delta": 0.0}, rng, count):
        weights = value * weights_of(point, batch.scores, key)
        best = posterior(point, batch.scores)
        excesses.append(batch.losses(weights) - batch.losses(best))
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


@simulator(exact=True, variants={"tokens": TOKEN_LAWS}, covers=("risk",))
def best_attention(point, rng, count):
    """Squared error of attention whose key norm, shift and value norm are fitted; at a given ``m_kk`` the last only.

    The best element-wise activation is a fitted piecewise linear function of the score.
    """
    found = fitted(point, count <= FEW)
    losses = [batch.losses(fitted_weights(point, found, batch.scores)) for batch in batches(point, rng, count)]
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
    together = fitted(point, count <= FEW)
    costs = []
    for batch in batches({**point, "delta": 0.0}, rng, count):
        alone = fitted({**point, "L": batch.scores.shape[1]}, count <= FEW)
        first, second = (batch.losses(fitted_weights(point, found, batch.scores)) for found in (together, alone))
        costs.append(first - second)
    return {"excess": np.concatenate(costs)}
