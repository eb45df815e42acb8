"""Single-location regression with attention as it is defined: tokens, a hidden position, a label, weights.

Points are mappings from the letters of the entries to numbers and names. ``L`` is a number, or a
distribution given as a mapping from lengths to probabilities or as pairs in an attribute ``weights``.
"""

from functools import lru_cache

import numpy as np
from scipy.special import erfc, expit, ndtr, ndtri, softmax
from scipy.stats import qmc

from .marion2025 import draw_noise

#: Dimension of a Gaussian token; every statement is exact at any dimension that holds k*, v*, k and v.
DIMENSION = 6
#: Dimension of a token of another law, whose projections are those of many independent coordinates.
WHOLE = 64
ORDER = ("m_kk", "m_kv", "m_vk", "m_vv", "q_kk", "q_vv", "q_kv")
#: Numbers drawn at once: half a megabyte, which is still in the processor's cache when it is used.
BLOCK = 2**16


def lengths(point):
    """Lengths and their probabilities."""
    given = point["L"]
    pairs = getattr(given, "weights", None) or (given.items() if hasattr(given, "items") else [(given, 1.0)])
    numbers, weights = zip(*((int(n), float(w)) for n, w in pairs), strict=True)
    return np.array(numbers), np.array(weights) / np.sum(weights)


@lru_cache(maxsize=8)
def _frame(dimension):
    """Orthonormal columns in general position, so that every projection reads all coordinates."""
    return np.linalg.qr(np.random.default_rng(dimension).standard_normal((WHOLE, dimension)))[0]


def draw_products(point, rng, count, length, directions):
    """Products (m, count, L) of the tokens, before any is shifted, with m directions given in the first axes.

    Squared norms are D in the model and tokens have unit variance; here both are divided by sqrt(D), so
    chi* and z* are plain coordinates. Whole tokens exist a block at a time, of which only the products are kept.
    """
    law = str(point.get("tokens", "gaussian"))
    dimension, m = directions.shape
    if law != "gaussian":
        directions, dimension = _frame(dimension) @ directions, WHOLE
    products = np.empty((m, count * length))
    block = max(1, BLOCK // (dimension * length)) * length
    for begin in range(0, count * length, block):
        end = min(begin + block, count * length)
        np.matmul(directions.T, draw_noise(rng, end - begin, dimension, law, length).T, out=products[:, begin:end])
    return products.reshape(m, count, length)


def draw_hidden(point, rng, scores):
    """Positions of the hidden tokens: uniform in the spiked task, in the max task drawn from the scores chi*."""
    nu, (count, length) = float(point["nu"]), scores.shape
    if point["task"] == "spiked":
        return rng.integers(0, length, count)
    if np.isinf(nu):
        return np.argmax(scores, axis=1)
    # a softmax draw: the largest of scores with independent Gumbel noise
    return np.argmax(nu * scores + rng.gumbel(size=scores.shape), axis=1)


def sequences(point, rng, count, dimension=DIMENSION):
    """Batches of equal length: tokens (n, L, D) and hidden positions; k* and v* are the first two axes."""
    numbers, weights = lengths(point)
    for length, share in zip(numbers, rng.multinomial(count, weights), strict=True):
        if share == 0:
            continue
        if point.get("tokens", "gaussian") == "gaussian":
            tokens = rng.standard_normal((share, length, dimension))
        else:
            tokens = np.moveaxis(draw_products(point, rng, share, length, np.eye(dimension)), 0, 2)
        hidden = draw_hidden(point, rng, tokens[:, :, 0])
        if point["task"] == "spiked":
            tokens[np.arange(share), hidden, 0] += np.sqrt(float(point["nu"]))
        yield tokens, hidden


def net_sequences(point, rng, count, dimension=DIMENSION):
    """The same with Gaussian tokens off a scrambled low-discrepancy set for each length: means have less noise."""
    numbers, weights = lengths(point)
    if point.get("tokens", "gaussian") != "gaussian":
        yield from sequences(point, rng, count, dimension)
        return
    for length, share in zip(numbers, rng.multinomial(count, weights), strict=True):
        if share == 0:
            continue
        net = qmc.Sobol(length * dimension, rng=rng).random_base2(int(np.ceil(np.log2(share))))[:share]
        tokens = ndtri(np.clip(net, 1e-12, 1 - 1e-12)).reshape(share, length, dimension)
        hidden = draw_hidden(point, rng, tokens[:, :, 0])
        if point["task"] == "spiked":
            tokens[np.arange(share), hidden, 0] += np.sqrt(float(point["nu"]))
        yield tokens, hidden


def label_noise(point, rng, count):
    """Noise of the labels."""
    return float(point.get("delta", 0.0)) * rng.standard_normal(count)


def labels(point, rng, tokens, hidden):
    """The hidden token along v*, plus noise."""
    return tokens[np.arange(len(hidden)), hidden, 1] + label_noise(point, rng, len(hidden))


class Batch:
    """Sequences of one length: scores chi*, hidden positions, and what squared errors are made of.

    Values z* of Gaussian tokens are independent of the scores, with mean zero and variance one: squared errors are
    averaged over them, given scores and position, and values are never drawn. Tokens of another law have no such mean,
    and ``values="drawn"`` asks for Gaussian ones as they are.
    """

    def __init__(self, point, rng, tokens, hidden):
        self.scores, self.hidden, self.noise = np.ascontiguousarray(tokens[:, :, 0]), hidden, 0.0
        self.own = np.arange(len(hidden)), hidden
        self.values = self.labels = None
        if is_averaged(point):
            self.noise = float(point.get("delta", 0.0)) ** 2
        else:
            self.values, self.labels = tokens[:, :, 1].copy(), labels(point, rng, tokens, hidden)

    def __len__(self):
        return len(self.hidden)

    def first(self, count):
        """So many of the sequences."""
        part = object.__new__(Batch)
        part.scores, part.hidden, part.noise = self.scores[:count], self.hidden[:count], self.noise
        part.own = np.arange(len(part.hidden)), part.hidden
        part.values, part.labels = (None if x is None else x[:count] for x in (self.values, self.labels))
        return part

    def losses(self, weights):
        """Squared errors of sum_l w_l z_l."""
        if self.values is None:
            # the squared distance of the weights from one at the hidden position and zero elsewhere
            left = np.array(weights)
            left[self.own] -= 1
            return np.einsum("nl,nl->n", left, left) + self.noise
        return (self.labels - np.einsum("nl,nl->n", weights, self.values)) ** 2

    def with_label(self, weights):
        """Products of the predictor with the label."""
        if self.values is None:
            return weights[self.own]
        return self.labels * np.einsum("nl,nl->n", weights, self.values)

    def product(self, first, second):
        """Products of two predictors."""
        if self.values is None:
            return np.einsum("nl,nl->n", first, second)
        return np.einsum("nl,nl->n", first, self.values) * np.einsum("nl,nl->n", second, self.values)


def is_averaged(point):
    """Whether squared errors are averaged over the values."""
    return point.get("tokens", "gaussian") == "gaussian" and point.get("values", "averaged") == "averaged"


def batches(point, rng, count):
    """Sequences as their squared errors read them."""
    for tokens, hidden in sequences(point, rng, count, 1 if is_averaged(point) else 2):
        yield Batch(point, rng, tokens, hidden)


def attention_weights(name, scores, shift=0.0):
    """Weights of a named activation from scores (n, L)."""
    if name == "softmax":
        if np.abs(scores).max(initial=0.0) > 600:
            return softmax(scores, axis=1)
        kernel = np.exp(scores)
        kernel /= np.einsum("nl->n", kernel)[:, None]
        return kernel
    if name == "linear":
        return 1 + scores
    if name == "centred-linear":
        return 1 / scores.shape[1] + scores - scores.mean(axis=1, keepdims=True)
    if name == "erf":
        # 1 + erf, without its cancellation where the shift is far below zero
        return erfc(-(shift + scores))
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


@lru_cache(maxsize=8)
def _own_posterior(nu, numbers, shares, points=2**13):
    """Probability that a token with a given chi* is the hidden one of the max task, at nodes of chi*.

    The mean over the other tokens of a sequence is taken over a low-discrepancy set of them.
    """
    nodes = np.linspace(-7, 7, 281)
    if np.isinf(nu):
        total = sum(w * n * ndtr(nodes) ** (n - 1) for n, w in zip(numbers, shares, strict=True))
        return nodes, total / np.dot(numbers, shares)
    total = np.zeros_like(nodes)
    for n, w in zip(numbers, shares, strict=True):
        if n == 1:
            total += w
            continue
        uniform = qmc.Sobol(n - 1, seed=np.random.default_rng(n)).random(points)
        # inverse of the normal law, without its infinite ends
        others = nu * ndtri(np.clip(uniform, 1e-12, 1 - 1e-12))
        rest = np.logaddexp.reduce(others, axis=1)
        total += w * n * np.array([expit(nu * x - rest).mean() for x in nodes])
    return nodes, total / np.dot(numbers, shares)


def weights_of(point, scores, slope=1.0):
    """Weights of the activation of a point; the best element-wise one is the posterior given a token's own score."""
    name = point["activation"]
    if name != "element-wise-optimal":
        return attention_weights(name, slope * scores if slope != 1.0 else scores, float(point.get("shift", 0.0)))
    numbers, shares = lengths(point)
    nu, mean = float(point["nu"]), float(np.dot(*lengths(point)))
    if point["task"] == "spiked":
        # Bayes' rule with one shifted token among L; for random L the probability is that of a token drawn from all
        odds = ((slope * scores) ** 2 - (slope * scores - np.sqrt(nu)) ** 2) / 2
        return expit(odds - np.log(mean - 1)) if mean > 1 else np.ones_like(scores)
    return np.interp(slope * scores, *_own_posterior(nu, tuple(numbers), tuple(shares)))


def posterior(point, scores):
    """Posterior of the hidden position given chi*, from the definition of each task."""
    nu = float(point["nu"])
    if point["task"] == "spiked":
        # likelihood ratio of a token with mean sqrt(nu) against one with mean zero
        return softmax(-((scores - np.sqrt(nu)) ** 2) / 2 + scores**2 / 2, axis=1)
    if np.isinf(nu):
        return (scores == scores.max(axis=1, keepdims=True)).astype(float)
    return softmax(nu * scores, axis=1)


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


def overlaps(key, value):
    """The seven overlaps of two vectors, in their order."""
    return [key[0], key[1], value[0], value[1], key @ key, value @ value, key @ value]
