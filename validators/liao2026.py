"""Attention features regressed on their own labels, as the model is defined: whole matrices, no theory.

Labels y in {-1, 1}^n, tokens X = mu y^T + Z (p x n), attention matrix K = f(X^T (I + w_K w_Q^T) X/sqrt(p))/sqrt(p)
entry by entry, features X K, ridge with penalty n gamma, error |y - K^T X^T w|^2/n. A point without p and n is
simulated at the sizes nearest to its c whose larger one is ``SIZE``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import integrate, linalg
from scipy.linalg import blas

Array = NDArray[np.float64]
Point = Mapping[str, Any]
Generator = np.random.Generator
SIZE = 400


def make_function(name: Any, level: float = 0.0, r: float = 0.0) -> Callable[[Array], Array]:
    """A nonlinearity by name, not centred."""
    share = np.sqrt(max(0.0, 1 - r * r))
    functions: dict[str, Callable[[Array], Array]] = {
        "tanh": np.tanh,
        "clip": lambda t: np.clip(t, -level, level),
        "cos": np.cos,
        "sin": np.sin,
        "exp-clip": lambda t: np.exp(np.minimum(t, np.log(level))),
        "cubic-clip": lambda t: np.clip(r * t + share * (t**3 - 3 * t) / np.sqrt(6), -level, level),
        "sign": np.sign,
        "relu": lambda t: np.maximum(t, 0),
        "softmax": lambda t: np.exp(t - 0.5),
        "linear": lambda t: t,
    }
    if name not in functions:
        raise ValueError(f"the simulator knows {', '.join(functions)}, not {name!r}")
    return functions[name]


@cache
def gaussian_mean(name: str, level: float = 0.0, r: float = 0.0) -> float:
    """E f(xi) by adaptive quadrature."""
    f = make_function(name, level, r)
    marks = [-level, 0.0, level] if level < 8 else [0.0]
    ends = [-12.0, *sorted({*marks, float(np.log(level)) if 1e-5 < level < 1e5 else 0.0}), 12.0]

    def density(t: float) -> float:
        return float(f(np.asarray(t))) * float(np.exp(-t * t / 2)) / float(np.sqrt(2 * np.pi))

    return sum(
        integrate.quad(density, a, b, epsabs=1e-13, epsrel=1e-12, limit=200)[0]
        for a, b in zip(ends[:-1], ends[1:], strict=True)
    )


def function_of(point: Point) -> Callable[[Array], Array]:
    """The centred nonlinearity of a point; one given only by its moments is a line plus a cubic Hermite part."""
    if "nonlinearity" in point:
        key = (point["nonlinearity"], float(point.get("level", 0.0)), float(point.get("r", 0.0)))
        f, mean = make_function(*key), gaussian_mean(*key)
        return lambda t: f(t) - mean
    slope = float(point["a1"])
    rest = np.sqrt(max(0.0, float(point["second_moment"]) - slope**2))
    # a bounded odd function orthogonal to the line: sin(2 t) less its projection, normalised
    lift, power = 2 * np.exp(-2.0), (1 - np.exp(-8.0)) / 2
    scale = rest / np.sqrt(power - lift**2)
    return lambda t: (slope - scale * lift) * t + scale * np.sin(2 * t)


def sizes(point: Point) -> tuple[int, int]:
    """Dimension and number of tokens."""
    if "p" in point and "n" in point:
        return int(point["p"]), int(point["n"])
    c = float(point["c"])
    size = int(point.get("size", SIZE))
    return (size, max(1, round(size / c))) if c >= 1 else (max(1, round(size * c)), size)


def make_vectors(point: Point, p: int) -> Array:
    """Rows mu, w_K, w_Q in R^p with the Gram matrix of the point, spread over all coordinates."""
    snr = float(point.get("snr", 0.0))
    shorthand = point.get("weights")
    if shorthand is None:
        kk, qq, mk, mq, kq = (
            float(point.get(x, 0.0)) for x in ("key_norm2", "query_norm2", "mu_key", "mu_query", "key_query")
        )
    else:
        root = np.sqrt(snr)
        kk, qq, mk, mq, kq = {
            "aligned": (snr,) * 5,
            "unit-aligned": (1.0, 1.0, root, root, 1.0),
            "orthogonal": (1.0, 1.0, 0.0, 0.0, 0.0),
            "none": (0.0,) * 5,
        }[shorthand]
    gram = np.array([[snr, mk, mq], [mk, kk, kq], [mq, kq, qq]])
    values, vectors = np.linalg.eigh(gram)
    if values[0] < -1e-9 * max(1.0, values[-1]):
        raise ValueError("the Gram matrix of (mu, w_K, w_Q) is not positive semidefinite")
    half = vectors * np.sqrt(np.maximum(values, 0.0))
    rank = min(3, p)
    frame = np.cos(np.outer(np.arange(rank), np.arange(p) + 0.5) * np.pi / p)
    frame /= np.linalg.norm(frame, axis=1, keepdims=True)
    # eigenvalues are sorted upwards: the last ones carry the vectors where p is below three
    rows: Array = half[:, 3 - rank :] @ frame
    if not np.allclose(rows @ rows.T, gram, atol=1e-8 * max(1.0, values[-1])):
        raise ValueError(f"these inner products need more than p = {p} dimensions")
    return rows


def draw_tokens(rng: Generator, mu: Array, labels: Array) -> Array:
    """X = mu y^T + Z; the only place where tokens are drawn."""
    tokens = rng.standard_normal((mu.size, labels.size))
    if np.any(mu):
        tokens += np.outer(mu, labels)
    return tokens


def draw_labels(rng: Generator, n: int, mean: float = 0.0) -> Array:
    """Labels with the given mean, as nearly as n allows, in random order."""
    labels = np.ones(n)
    labels[: round(n * (1 - mean) / 2)] = -1
    return rng.permutation(labels)


def make_logits(tokens: Array, key: Array, query: Array) -> Array:
    """X^T (I + w_K w_Q^T) X/sqrt(p)."""
    logits: Array = tokens.T @ tokens
    if np.any(key) and np.any(query):
        logits += np.outer(tokens.T @ key, query @ tokens)
    logits /= np.sqrt(tokens.shape[0])
    return logits


def make_attention(logits: Array, f: Callable[[Array], Array], p: int, diagonal: float | None) -> Array:
    """Entry-wise attention; ``diagonal`` replaces the diagonal, None keeps it as it comes."""
    attention: Array = f(logits)
    attention /= np.sqrt(p)
    if diagonal is not None:
        np.fill_diagonal(attention, diagonal)
    return attention


def softmax_attention(logits: Array, *, masked: bool) -> Array:
    """Row-wise softmax, the token itself left out if masked."""
    logits = logits.copy()
    if masked:
        np.fill_diagonal(logits, -np.inf)
    logits -= logits.max(axis=1, keepdims=True)
    np.exp(logits, out=logits)
    logits /= logits.sum(axis=1, keepdims=True)
    return logits


def ridge_residual(features: Array, labels: Array, gamma: float) -> Array:
    """y - F^T w with w = (F F^T + n gamma)^(-1) F y, by the smaller of the two systems."""
    p, n = features.shape
    wide = p > n
    # the product of a matrix with itself: half the work, and only one triangle is read
    gram = blas.dsyrk(1.0, features, trans=1) if wide else blas.dsyrk(1.0, features)
    gram[np.diag_indices_from(gram)] += n * gamma
    right = labels if wide else features @ labels
    solution = linalg.cho_solve(
        linalg.cho_factor(gram, lower=False, overwrite_a=True, check_finite=False), right, check_finite=False
    )
    coefficients = features @ solution if wide else solution
    residual: Array = labels - features.T @ coefficients
    return residual


def ridge_loss(features: Array, labels: Array, gamma: float) -> float:
    """The interpolation error |y - F^T w|^2/n of Definition 3."""
    residual = ridge_residual(features, labels, gamma)
    return float(residual @ residual) / labels.size


def repeat(one: Callable[[], Mapping[str, float]], count: int) -> dict[str, Array]:
    """Results of independent runs, one array each."""
    rows = [one() for _ in range(count)]
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def _one_error(point: Point, rng: Generator, diagonal: float | None) -> float:
    p, n = sizes(point)
    mu, key, query = make_vectors(point, p)
    labels = draw_labels(rng, n, float(point.get("imbalance", 0.0)))
    tokens = draw_tokens(rng, mu, labels)
    attention = make_attention(make_logits(tokens, key, query), function_of(point), p, diagonal)
    return ridge_loss(tokens @ attention, labels, float(point["gamma"]))


def attention_error(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """The error with the diagonal of K set to ``diagonal`` (zero unless given), as the limit has it."""
    return repeat(lambda: {"error": _one_error(point, rng, float(point.get("diagonal", 0.0)))}, count)


def attention_error_as_defined(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """The error with the diagonal of K left as it comes, of order 1/sqrt(p)."""
    return repeat(lambda: {"error": _one_error(point, rng, None)}, count)


def softmax_error(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """The error of row-wise softmax attention, masked or plain; masked and scaled is n/sqrt(p) times it, centred."""
    p, n = sizes(point)
    masked, scaled = (point.get(name, True) not in (False, "false") for name in ("masked", "scaled"))
    mu, key, query = make_vectors(point, p)

    def one() -> dict[str, float]:
        labels = draw_labels(rng, n)
        tokens = draw_tokens(rng, mu, labels)
        attention = softmax_attention(make_logits(tokens, key, query), masked=masked)
        if masked and scaled:
            attention = (attention * n - n / (n - 1)) / np.sqrt(p)
            np.fill_diagonal(attention, 0.0)
        return {"error": ridge_loss(tokens @ attention, labels, float(point["gamma"]))}

    return repeat(one, count)


def given_weights_error(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """The error on noise with the matrix ``product`` = W_K^T W_Q itself inside the logits, entry-wise or softmax."""
    product = np.asarray(point["product"], dtype=float)
    p, n = sizes(point)
    is_softmax = point.get("nonlinearity") == "softmax"

    def one() -> dict[str, float]:
        labels = draw_labels(rng, n)
        tokens = rng.standard_normal((p, n))
        logits = tokens.T @ (product @ tokens) / np.sqrt(p)
        if is_softmax:
            attention = (softmax_attention(logits, masked=True) * n - n / (n - 1)) / np.sqrt(p)
            np.fill_diagonal(attention, 0.0)
        else:
            attention = make_attention(logits, function_of(point), p, None)
        return {"error": ridge_loss(tokens @ attention, labels, float(point["gamma"]))}

    return repeat(one, count)


def surrogate_error(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """The error with K replaced by a1 (X^T (I + w_K w_Q^T) X/p - I) + d I + b W, W symmetric Gaussian, variance 1/p."""
    p, n = sizes(point)
    mu, key, query = make_vectors(point, p)
    slope = float(point["a1"])
    rest = np.sqrt(max(0.0, float(point["second_moment"]) - slope**2))
    shift = float(point.get("diagonal", 0.0)) - slope

    def one() -> dict[str, float]:
        labels = draw_labels(rng, n)
        tokens = draw_tokens(rng, mu, labels)
        noise = rng.standard_normal((n, n))
        noise = (noise + noise.T) * (rest / np.sqrt(2 * p))
        attention = make_logits(tokens, key, query) * (slope / np.sqrt(p)) + noise
        attention[np.diag_indices(n)] += shift
        return {"error": ridge_loss(tokens @ attention, labels, float(point["gamma"]))}

    return repeat(one, count)


def raw_ridge_error(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """The error of ridge regression on the tokens themselves."""
    p, n = sizes(point)
    mu = make_vectors({"snr": point.get("snr", 0.0)}, p)[0]

    def one() -> dict[str, float]:
        labels = draw_labels(rng, n)
        return {"error": ridge_loss(draw_tokens(rng, mu, labels), labels, float(point["gamma"]))}

    return repeat(one, count)
