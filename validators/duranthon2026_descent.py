"""Gradients of the squared error of attention on whole tokens: their flow, and where they vanish in the mean."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from .duranthon2026_model import ORDER, labels, lengths, make_vectors, overlaps, posterior, sequences, weights_of
from .marion2025 import TOKEN_LAWS
from .simulator import simulator

#: Tokens that all gradients of a run see together.
TOKENS = 1_500_000
#: Tokens of the sample on which a minimum is searched, and curvatures that it cannot tell from zero.
SEARCHED, BLUR = 60_000, 0.03
#: Least part of k along v*, over that along k*, at a mismatched minimum.
KEPT = 0.5
#: Largest step of the flow, and largest step times curvature.
STEP, STIFF = 0.06, 0.35


def _answers(point, scores, values):
    """The predictor sum_l sigma_l z_l, its weights, and its derivatives in the scores."""
    name, shift = point["activation"], float(point.get("shift", 0.0))
    weights = weights_of(point, scores)
    answer = np.einsum("nl,nl->n", weights, values)
    away = values - answer[:, None]
    if name in ("softmax", "softmax-plus-one"):
        return answer, weights, weights * away
    if name == "centred-linear":
        return answer, weights, values - values.mean(axis=1, keepdims=True)
    kernels = {
        "softplus": (lambda s: np.logaddexp(0, s), expit),
        "relu": (lambda s: np.maximum(s, 0), lambda s: (s > 0).astype(float)),
        "tanh": (lambda s: 2 * expit(2 * s), lambda s: 4 * expit(2 * s) * expit(-2 * s)),
    }
    if name in kernels:
        kernel, slope = kernels[name]
        total = kernel(scores).sum(axis=1, keepdims=True)
        return answer, weights, np.where(total > 0, slope(scores) / np.where(total > 0, total, 1.0), 0.0) * away
    if name == "linear":
        slopes = np.ones_like(scores)
    elif name == "erf":
        slopes = 2 / np.sqrt(np.pi) * np.exp(-((shift + scores) ** 2))
    elif name == "sigmoid":
        slopes = weights * (1 - weights)
    else:
        small = 1e-5
        slopes = (weights_of(point, scores + small) - weights_of(point, scores - small)) / (2 * small)
    return answer, weights, slopes * values


def _sums(coefficients, tokens):
    """Sums over the tokens of a sequence, each with its coefficient."""
    return np.einsum("nl,nld->nd", coefficients, tokens, optimize=False)


def _gradient(point, rng, key, value, count):
    """Means of the gradients of the squared error in k and v, over new sequences."""
    return _mean_gradient(point, sequences(point, rng, count, len(key)), key, value, count)


def _mean_gradient(point, batches, key, value, count, is_averaged=False):
    """Mean gradients over sequences; where asked for, averaged over which of the tokens is the hidden one.

    A gradient is linear in the label, so that the label's mean given the tokens stands in its place.
    """
    of_key, of_value = np.zeros_like(key), np.zeros_like(value)
    for tokens, hidden in batches:
        answer, weights, slopes = _answers(point, tokens @ key, tokens @ value)
        if is_averaged:
            label = np.einsum("nl,nl->n", posterior(point, tokens[:, :, 0]), tokens[:, :, 1])
        else:
            label = tokens[np.arange(len(hidden)), hidden, 1]
        error = answer - label
        flat = tokens.reshape(-1, len(key))
        of_value += 2 * ((error[:, None] * weights).ravel() @ flat) / count
        of_key += 2 * ((error[:, None] * slopes).ravel() @ flat) / count
    return of_key, of_value


def _curvature(point, key, value, count=2000):
    """The largest eigenvalue of the Hessian without the second derivatives of the predictor."""
    matrix = 0.0
    for tokens, _ in sequences(point, np.random.default_rng(0), count, len(key)):
        _, weights, slopes = _answers(point, tokens @ key, tokens @ value)
        moves = np.concatenate([_sums(weights, tokens), _sums(slopes, tokens)], axis=1)
        matrix = matrix + 2 * moves.T @ moves / count
    return float(np.linalg.eigvalsh(matrix)[-1])


@simulator(variants={"tokens": TOKEN_LAWS}, covers=("m_kk", "m_kv", "m_vk", "m_vv", "q_kk", "q_vv", "q_kv", "risk"))
def vector_flow(point, rng, count):
    """The seven overlaps at the end of the gradient flow of k and v, and the squared error there, one run per sample.

    Every gradient is a mean over sequences of its own, so a run differs from the flow by noise whose mean effect
    is of the order of one over all sequences seen. Steps are of fourth order.
    """
    start = make_vectors(point)
    time = float(point["time"])
    steps = int(np.ceil(time / min(STEP, STIFF / max(_curvature(point, *start), 1e-9)))) if time > 0 else 0
    batch = max(200, int(TOKENS / (max(1, 4 * steps) * np.dot(*lengths(point)))))
    results = {name: np.empty(count) for name in (*ORDER, "risk")}
    for run in range(count):
        state = np.stack(start)
        for _ in range(steps):
            step, total, near = time / steps, np.zeros_like(state), state
            for share, weight in ((0.5, 1), (0.5, 2), (1.0, 2), (0.0, 1)):
                slope = -np.stack(_gradient(point, rng, *near, batch))
                total, near = total + weight * slope, state + share * step * slope
            state = state + step / 6 * total
        for name, value in zip(ORDER, overlaps(*state), strict=True):
            results[name][run] = value
        results["risk"][run] = np.mean(_losses(point, rng, *state, batch))
    return results


def _losses(point, rng, key, value, count):
    return np.concatenate(
        [
            (labels(point, rng, tokens, hidden) - _answers(point, tokens @ key, tokens @ value)[0]) ** 2
            for tokens, hidden in sequences(point, rng, count, len(key))
        ]
    )


@simulator(
    takes=(*ORDER, "exists"),
    variants={"tokens": TOKEN_LAWS},
    covers=("m_kk", "m_kv", "m_vk", "m_vv", "q_kk", "q_vv", "q_kv", "risk"),
)
def stationary_point(point, rng, count):
    """Squared errors at the overlaps that are predicted, and these overlaps after one step down a single gradient.

    At a minimum the gradient vanishes in the mean, so such steps of unit length leave the mean overlaps where they
    are; the squared norms are those to first order in the step.
    """
    if not point.get("exists", True):
        raise ValueError("no minimum is predicted here: there is no place at which a gradient should vanish")
    key, value = make_vectors(point)
    results = {name: [] for name in (*ORDER, "risk")}
    for tokens, hidden in sequences(point, rng, count):
        answer, weights, slopes = _answers(point, tokens @ key, tokens @ value)
        error = answer - labels(point, rng, tokens, hidden)
        of_key, of_value = (2 * error[:, None] * _sums(c, tokens) for c in (slopes, weights))
        moves = (of_key[:, 0], of_key[:, 1], of_value[:, 0], of_value[:, 1], 2 * of_key @ key, 2 * of_value @ value,
                 of_key @ value + of_value @ key)  # fmt: skip
        for name, before, move in zip(ORDER, overlaps(key, value), moves, strict=True):
            results[name].append(before - move)
        results["risk"].append(error**2)
    return {name: np.concatenate(found) for name, found in results.items()}


@simulator(covers=tuple(f"d_{name}" for name in ORDER), variants={"tokens": TOKEN_LAWS})
def attention_slopes(point, rng, count):
    """Derivatives of the squared error in the seven overlaps, from its gradients in k and v on whole tokens.

    In the mean a gradient lies in the span of k*, v*, k and v; its coordinates there are the derivatives, twice those
    in a squared norm. They are read off with the inverse Gram matrix: the four vectors must be independent.
    """
    key, value = make_vectors(point)
    axes = np.eye(len(key))
    vectors = np.stack([axes[0], axes[1], key, value], axis=1)
    gram = vectors.T @ vectors
    if np.linalg.cond(gram) > 1e6:
        raise ValueError("k*, v*, k and v are linearly dependent: the derivatives in their products are not defined")
    slopes = []
    for tokens, hidden in sequences(point, rng, count):
        answer, weights, bends = _answers(point, tokens @ key, tokens @ value)
        error = answer - labels(point, rng, tokens, hidden)
        slopes.append([2 * error[:, None] * (_sums(c, tokens) @ vectors) for c in (bends, weights)])
    of_key, of_value = np.concatenate(slopes, axis=1) @ np.linalg.inv(gram)
    return {
        "d_m_kk": of_key[:, 0],
        "d_m_kv": of_key[:, 1],
        "d_m_vk": of_value[:, 0],
        "d_m_vv": of_value[:, 1],
        "d_q_kk": of_key[:, 2] / 2,
        "d_q_vv": of_value[:, 3] / 2,
        "d_q_kv": (of_key[:, 3] + of_value[:, 2]) / 2,
    }


#: Tokens of the sample that one Hessian is formed on.
BENT = 200_000


# systematic: eigenvalues of a noisy matrix lie a little further apart than those of its mean
@simulator(takes=ORDER, covers=("eigenvalues", "weakest"), systematic=0.003)
def mismatched_curvatures(point, rng, count):
    """Eigenvalues of the Hessian at the overlaps that are predicted: within the span of k* and v*, and off it."""
    key, value = (vector[:4] for vector in make_vectors(point))
    begin, size = np.concatenate([key, value]), max(2000, int(BENT / np.dot(*lengths(point))))
    results = {f"eigenvalues.{i}": np.empty(count) for i in range(8)}
    for run in range(count):
        batches = list(sequences(point, rng, size, 4))

        def gradient(state, fixed=batches):
            return np.concatenate(_mean_gradient(point, fixed, state[:4], state[4:], size))

        step = 1e-4
        rows = np.array([gradient(begin + step * axis) - gradient(begin - step * axis) for axis in np.eye(8)])
        hessian = (rows + rows.T) / (4 * step)
        inner = np.linalg.eigvalsh(hessian[np.ix_([0, 1, 4, 5], [0, 1, 4, 5])])[::-1]
        # both directions off the span are alike: the mean of their two blocks
        outer = np.linalg.eigvalsh(sum(hessian[np.ix_([i, i + 4], [i, i + 4])] for i in (2, 3)) / 2)
        for i, found in enumerate([*inner, outer[1], outer[1], outer[0], outer[0]]):
            results[f"eigenvalues.{i}"][run] = found
    # the one that is lower in the mean: the lower one of each run would be biased
    lowest = min((results["eigenvalues.3"], results["eigenvalues.6"]), key=np.mean)
    return {**results, "weakest": lowest.copy()}


@simulator(deterministic=True, takes=(*ORDER, "exists"), covers=("exists",))
def mismatched_basin(point, rng, count=2):
    """Whether descent from where k is along v* and v along k* ends in a minimum there; one fixed sample for each run.

    The mean squared error over the sample is lowered by steps of bounded length, so that no basin is jumped over,
    and its Hessian in R^4 is formed by differences of gradients. What the sample itself blurs is left open.
    """
    is_predicted, start = bool(point.get("exists", False)), [0.3, 2.0, 0.35, 0.0]
    if is_predicted:
        start = [float(point[name]) for name in ORDER[:4]]
    found = []
    for _ in range(count):
        size = max(2000, int(SEARCHED / np.dot(*lengths(point))))
        batches = list(sequences(point, rng, size, 4))

        def gradient(state, fixed=batches, n=size):
            return np.concatenate(_mean_gradient(point, fixed, state[:4], state[4:], n))

        def error(state, fixed=batches, n=size):
            return sum(
                np.sum((t[np.arange(len(h)), h, 1] - _answers(point, t @ state[:4], t @ state[4:])[0]) ** 2)
                for t, h in fixed
            ) / n  # fmt: skip

        def hessian(state, slope=gradient, step=1e-4):
            rows = np.array([slope(state + step * axis) - slope(state - step * axis) for axis in np.eye(8)])
            return (rows + rows.T) / (4 * step)

        begin = np.array([start[0], start[1], 0, 0, start[2], start[3], 0, 0])
        if is_predicted and np.linalg.eigvalsh(hessian(begin))[0] < BLUR:
            raise ValueError("the predicted minimum is so shallow that the sample blurs it")
        options = {"initial_trust_radius": 0.1, "max_trust_radius": 0.4, "gtol": 1e-5, "maxiter": 30}
        end = minimize(error, begin, jac=gradient, hess=hessian, method="trust-exact", options=options).x
        lowest = float(np.linalg.eigvalsh(hessian(end))[0])
        is_there = abs(end[1]) > KEPT * abs(end[0])
        if is_there and 1e-7 < abs(lowest) < BLUR:
            raise ValueError(f"the smallest curvature, {lowest:.1g}, is within the noise of the sample")
        if np.max(np.abs(gradient(end))) > 1e-3 and is_there:
            raise ValueError("the descent has not settled")
        found.append(bool(is_there and lowest > BLUR))
    if len(set(found)) > 1:
        raise ValueError("two samples lead to different ends")
    return {"exists": found}
