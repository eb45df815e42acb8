"""Single-location regression with attention as it is defined: whole tokens, a hidden position, a label.

Points are mappings from the letters of the entries to numbers and names. ``L`` is a number, or a
distribution given as a mapping from lengths to probabilities or as pairs in an attribute ``weights``.
Simulators return one squared error per sequence under the name of the output they check.
"""

import numpy as np
from scipy.special import erf, expit, softmax

#: Dimension of a token; every statement is exact at any dimension that holds k*, v*, k and v.
DIMENSION = 6
ORDER = ("m_kk", "m_kv", "m_vk", "m_vv", "q_kk", "q_vv", "q_kv")


def _lengths(point):
    """Lengths and their probabilities."""
    given = point["L"]
    pairs = getattr(given, "weights", None) or (given.items() if hasattr(given, "items") else [(given, 1.0)])
    numbers, weights = zip(*((int(n), float(w)) for n, w in pairs), strict=True)
    return np.array(numbers), np.array(weights) / np.sum(weights)


def _sequences(point, rng, count, dimension=DIMENSION):
    """Batches of equal length: tokens (n, L, D) and hidden positions; k* and v* are the first two axes.

    Squared norms are D in the model and tokens have unit variance; here both are divided by sqrt(D), so
    chi* and z* are plain coordinates.
    """
    numbers, weights = _lengths(point)
    nu = float(point["nu"])
    for length, share in zip(numbers, rng.multinomial(count, weights), strict=True):
        if share == 0:
            continue
        tokens = rng.standard_normal((share, length, dimension))
        if point["task"] == "spiked":
            hidden = rng.integers(0, length, share)
            tokens[np.arange(share), hidden, 0] += np.sqrt(nu)
        elif np.isinf(nu):
            hidden = np.argmax(tokens[:, :, 0], axis=1)
        else:
            # a softmax draw: the largest of scores with independent Gumbel noise
            hidden = np.argmax(nu * tokens[:, :, 0] + rng.gumbel(size=(share, length)), axis=1)
        yield tokens, hidden


def _labels(point, rng, tokens, hidden):
    own = tokens[np.arange(len(hidden)), hidden, 1]
    return own + float(point.get("delta", 0.0)) * rng.standard_normal(len(hidden))


def attention_weights(name, scores, shift=0.0):
    """Weights of a named activation from scores (n, L)."""
    if name == "softmax":
        return softmax(scores, axis=1)
    if name == "linear":
        return 1 + scores
    if name == "centred-linear":
        return 1 / scores.shape[1] + scores - scores.mean(axis=1, keepdims=True)
    if name == "erf":
        return 1 + erf(shift + scores)
    if name == "sigmoid":
        return expit(scores)
    if name == "softmax-plus-one":
        top = np.maximum(scores.max(axis=1, keepdims=True), 0)
        kernel = np.exp(scores - top)
        return kernel / (np.exp(-top) + kernel.sum(axis=1, keepdims=True))
    kernels = {
        "softplus": lambda s: np.logaddexp(0, s),
        "relu": lambda s: np.maximum(s, 0),
        "tanh": lambda s: 2 * expit(2 * s),
    }
    if name not in kernels:
        raise ValueError(f"no activation {name!r} is sampled here")
    kernel = kernels[name](scores)
    total = kernel.sum(axis=1, keepdims=True)
    return np.divide(kernel, total, out=np.zeros_like(kernel), where=total > 0)


def _posterior(point, scores):
    """Posterior of the hidden position given chi*, from the definition of each task."""
    nu = float(point["nu"])
    if point["task"] == "spiked":
        # likelihood ratio of a token with mean sqrt(nu) against one with mean zero
        return softmax(-((scores - np.sqrt(nu)) ** 2) / 2 + scores**2 / 2, axis=1)
    if np.isinf(nu):
        return (scores == scores.max(axis=1, keepdims=True)).astype(float)
    return softmax(nu * scores, axis=1)


def bayes_estimator(point, rng, count):
    """Squared error of the posterior mean of the label."""
    losses = []
    for tokens, hidden in _sequences(point, rng, count, 2):
        answer = np.sum(_posterior(point, tokens[:, :, 0]) * tokens[:, :, 1], axis=1)
        losses.append((_labels(point, rng, tokens, hidden) - answer) ** 2)
    loss = np.concatenate(losses)
    return {"risk": loss, "bayes": loss}


def make_vectors(point, dimension=DIMENSION):
    """Vectors k and v with the overlaps asked for; absent cross overlaps are zero, absent norms minimal."""
    m_kk, m_kv, m_vk, m_vv = (float(point.get(name, 0.0)) for name in ORDER[:4])
    q_kk = float(point.get("q_kk", m_kk**2 + m_kv**2))
    q_vv = float(point.get("q_vv", m_vk**2 + m_vv**2))
    q_kv = float(point.get("q_kv", m_kk * m_vk + m_kv * m_vv))
    key, value = np.zeros(dimension), np.zeros(dimension)
    key[:2], value[:2] = (m_kk, m_kv), (m_vk, m_vv)
    key[2] = np.sqrt(max(0.0, q_kk - m_kk**2 - m_kv**2))
    cross = q_kv - m_kk * m_vk - m_kv * m_vv
    value[2] = cross / key[2] if key[2] > 0 else 0.0
    value[3] = np.sqrt(max(0.0, q_vv - m_vk**2 - m_vv**2 - value[2] ** 2))
    return key, value


def attention_risk(point, rng, count):
    """Squared error of sum_l sigma_l(chi) z_l with whole tokens."""
    key, value = make_vectors(point)
    losses = []
    for tokens, hidden in _sequences(point, rng, count):
        weights = attention_weights(point["activation"], tokens @ key, float(point.get("shift", 0.0)))
        answer = np.sum(weights * (tokens @ value), axis=1)
        losses.append((_labels(point, rng, tokens, hidden) - answer) ** 2)
    return {"risk": np.concatenate(losses)}


def reduced_attention_risk(point, rng, count):
    """The same from the four projections (chi*, z*, chi, z) of each token: exact, and cheaper in the length."""
    m_kk, m_kv, m_vk, m_vv, q_kk, q_vv, q_kv = (float(point[name]) for name in ORDER)
    matrix = np.array([[1, 0, m_kk, m_vk], [0, 1, m_kv, m_vv], [m_kk, m_kv, q_kk, q_kv], [m_vk, m_vv, q_kv, q_vv]])
    values, vectors = np.linalg.eigh(matrix)
    root = vectors * np.sqrt(np.maximum(values, 0))
    losses = []
    for tokens, hidden in _sequences({**point, "nu": 0.0, "task": "spiked"}, rng, count, 4):
        fields = tokens @ root.T
        nu, own = float(point["nu"]), np.arange(len(hidden))
        if point["task"] == "spiked":
            fields[own, hidden] += np.sqrt(nu) * matrix[0]
        elif np.isinf(nu):
            hidden = np.argmax(fields[:, :, 0], axis=1)
        else:
            hidden = np.argmax(nu * fields[:, :, 0] + rng.gumbel(size=fields.shape[:2]), axis=1)
        label = fields[own, hidden, 1] + float(point.get("delta", 0.0)) * rng.standard_normal(len(hidden))
        weights = attention_weights(point["activation"], fields[:, :, 2], float(point.get("shift", 0.0)))
        losses.append((label - np.sum(weights * fields[:, :, 3], axis=1)) ** 2)
    return {"risk": np.concatenate(losses)}


def _tested_fit(point, rng, count, make_features):
    """Squared errors, on fresh sequences, of least squares fitted on as many others."""
    pairs = []
    for _ in range(2):
        parts = [
            (make_features(tokens[:, :, 0], tokens[:, :, 1]), _labels(point, rng, tokens, hidden))
            for tokens, hidden in _sequences(point, rng, count, 2)
        ]
        pairs.append(tuple(np.concatenate(column) for column in zip(*parts, strict=True)))
    (features, labels), (fresh, answers) = pairs
    coefficients = np.linalg.lstsq(features, labels, rcond=None)[0]
    return (answers - fresh @ coefficients) ** 2


def best_linear_estimator(point, rng, count):
    """Squared error of b sum_l z*_l + c sum_l chi*_l z*_l with fitted b and c."""

    def features(scores, values):
        return np.stack([values.sum(axis=1), (scores * values).sum(axis=1)], axis=1)

    return {"risk": _tested_fit(point, rng, count, features)}


def element_wise_estimator(point, rng, count, knots=41):
    """Squared error of sum_l g(chi*_l) z*_l with g a fitted piecewise linear function.

    The fit is above the best element-wise activation by the squared error of the interpolation and by
    about ``knots / count``.
    """
    low, high = -5.0, 5.0 + (np.sqrt(float(point["nu"])) if point["task"] == "spiked" else 0.0)
    grid = np.linspace(low, high, knots)

    def features(scores, values):
        place = np.clip((scores - low) / (grid[1] - grid[0]), 0, knots - 1.001)
        left = place.astype(int)
        share = place - left
        table = np.zeros((scores.shape[0], knots))
        rows = np.broadcast_to(np.arange(scores.shape[0])[:, None], scores.shape)
        np.add.at(table, (rows, left), (1 - share) * values)
        np.add.at(table, (rows, left + 1), share * values)
        return table

    return {"risk": _tested_fit(point, rng, count, features)}


def best_attention(point, rng, count, trials=25):
    """Squared error of attention whose key norm, shift and value norm are chosen on a sample of their own.

    Minimising on one sample and testing on another leaves the risk above its minimum by the order of
    one over the sample size.
    """
    name = point["activation"]
    if name in ("centred-linear", "linear"):
        slopes, shifts = np.linspace(0, 4, 4 * trials), [0.0]
    else:
        slopes = np.geomspace(0.05, 60, trials)
        shifts = [float(point["shift"])] if "shift" in point else (np.linspace(-4, 1, 11) if name == "erf" else [0.0])
    pilot = list(_sequences(point, rng, count, 2))
    labels = np.concatenate([_labels(point, rng, *batch) for batch in pilot])

    def feature(batches, slope, shift):
        return np.concatenate(
            [np.sum(attention_weights(name, slope * t[:, :, 0], shift) * t[:, :, 1], axis=1) for t, _ in batches]
        )

    def fit(slope, shift):
        values = feature(pilot, slope, shift)
        norm = values @ labels / max(values @ values, 1e-300)
        return np.mean((labels - norm * values) ** 2), slope, shift, norm

    best = min(fit(slope, shift) for slope in slopes for shift in shifts)
    for scale in (0.3, 0.1, 0.03):
        near = [
            fit(best[1] * (1 + scale * a), best[2] + (scale * b if len(shifts) > 1 else 0.0))
            for a in (-1, -0.5, 0.5, 1)
            for b in ((-1, 0, 1) if len(shifts) > 1 else (0,))
        ]
        best = min([best, *near])
    test = list(_sequences(point, rng, count, 2))
    answers = np.concatenate([_labels(point, rng, *batch) for batch in test])
    return {"risk": (answers - best[3] * feature(test, best[1], best[2])) ** 2}


def attention_excess(point, rng, count):
    """Squared error minus that of the Bayes estimator on the same sequences, and the distance of the weights."""
    key, value = float(point["m_kk"]), float(point["m_vv"])
    excesses, distances = [], []
    for tokens, hidden in _sequences(point, rng, count, 2):
        scores, values = tokens[:, :, 0], tokens[:, :, 1]
        weights = value * attention_weights(point["activation"], key * scores, float(point.get("shift", 0.0)))
        posterior = _posterior(point, scores)
        label = values[np.arange(len(hidden)), hidden]
        best = (label - np.sum(posterior * values, axis=1)) ** 2
        excesses.append((label - np.sum(weights * values, axis=1)) ** 2 - best)
        distances.append(np.sum((weights - posterior) ** 2, axis=1))
    return {"excess": np.concatenate(excesses), "distance": np.concatenate(distances)}


def bayes_information(point, rng, count, largest=200.0):
    """Twice the information the scores of a strongly spiked sequence carry about the hidden position.

    At nu = ``largest`` the posterior entropy is far below any sampling error for lengths up to a
    thousand, so the information is the entropy of the position.
    """
    values = []
    for tokens, hidden in _sequences({**point, "nu": largest, "task": "spiked"}, rng, count, 1):
        posterior = _posterior({"nu": largest, "task": "spiked"}, tokens[:, :, 0])
        own = posterior[np.arange(len(hidden)), hidden]
        values.append(2 * np.log(np.maximum(own, 1e-300) * posterior.shape[1]))
    return {"integral": np.concatenate(values), "two_log_L": np.concatenate(values)}


def descent(point, rng, count, step=0.01):
    """Overlaps after gradient descent on fresh samples, and the squared errors at its end.

    Softmax only; each step uses ``count`` new sequences, so the overlaps carry a sampling error of the
    order of sqrt(step * time / count).
    """
    if point["activation"] != "softmax":
        raise ValueError("descent is sampled for softmax attention")
    key, value = make_vectors(point)
    for _ in range(round(float(point["time"]) / step)):
        for tokens, hidden in _sequences(point, rng, count):
            weights = softmax(tokens @ key, axis=1)
            answer = np.sum(weights * (tokens @ value), axis=1)
            residual = answer - tokens[np.arange(len(hidden)), hidden, 1]
            fields = tokens @ value - answer[:, None]
            share = step * len(hidden) / count
            slope_value = 2 * np.einsum("n,nl,nld->d", residual, weights, tokens) / len(hidden)
            slope_key = 2 * np.einsum("n,nl,nl,nld->d", residual, weights, fields, tokens) / len(hidden)
            key, value = key - share * slope_key, value - share * slope_value
    ends = [key[0], key[1], value[0], value[1], key @ key, value @ value, key @ value]
    losses = []
    for tokens, hidden in _sequences(point, rng, count):
        answer = np.sum(softmax(tokens @ key, axis=1) * (tokens @ value), axis=1)
        losses.append((_labels(point, rng, tokens, hidden) - answer) ** 2)
    return {**{name: np.array([end]) for name, end in zip(ORDER, ends, strict=True)}, "risk": np.concatenate(losses)}
