"""The model of attention regressed on its own labels: tokens, kernels, ridge regression, as they are defined.

Labels y in {-1, 1}^n, tokens X = mu y^T + Z (p x n), attention matrix K = f(X^T (I + w_K w_Q^T) X/sqrt(p))/sqrt(p)
entry by entry, features X K, ridge with penalty n gamma, error |y - K^T X^T w|^2/n. A point without p and n is
simulated at sizes of geometric mean ``SIZE`` whose ratio is c as nearly as whole numbers allow.
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
SIZE = 160
#: Tokens and dimensions from which on corrections to the limit are taken for a series.
FEWEST = 24
#: Sizes at which that series is begun lie below this: it needs eight times as large ones too.
MOST = 64
#: By how much the ratio of such small numbers may be off, relative to it.
OFF = 5e-4
#: Laws of the entries of Z, the theorem's own first: all of variance one, with other fourth moments.
TOKEN_LAWS = ("gaussian", "rademacher", "student-5")


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
    slope = float(point.get("a1", 0.0))
    rest = np.sqrt(max(0.0, float(point["second_moment"]) - slope**2))
    # a bounded odd function orthogonal to the line: sin(2 t) less its projection, normalised
    lift, power = 2 * np.exp(-2.0), (1 - np.exp(-8.0)) / 2
    scale = rest / np.sqrt(power - lift**2)
    return lambda t: (slope - scale * lift) * t + scale * np.sin(2 * t)


def sizes(point: Point) -> tuple[int, int]:
    """Dimension and number of tokens: those given, or the pair within 15 % of the size whose ratio is closest to c.

    >>> sizes({"c": 0.189, "size": 100})
    (48, 254)
    """
    if "p" in point and "n" in point:
        return int(point["p"]), int(point["n"])
    c = float(point["c"])
    wanted = float(point.get("size", SIZE)) / np.sqrt(c)
    tokens = np.arange(max(2, round(0.85 * wanted)), max(2, round(1.15 * wanted)) + 1)
    dimensions = np.maximum(1, np.round(c * tokens))
    # among equally good ones the nearest to the size
    off = np.abs(dimensions / (c * tokens) - 1) + 1e-6 * np.abs(tokens / wanted - 1)
    best = int(np.argmin(off))
    return int(dimensions[best]), int(tokens[best])


def series_from(point: Point) -> int:
    """The size from which on corrections fall like a series in 1/p, up to ``MOST``; zero if there is none.

    Both numbers are at least ``FEWEST`` there, and whole numbers of this size and of twice it have the ratio asked for
    up to ``OFF``: a ratio that is rounded moves the limit, and that is no term of a series.
    """
    c = float(point["p"]) / float(point["n"]) if "p" in point and "n" in point else float(point["c"])
    least = int(np.ceil(FEWEST * np.sqrt(max(c, 1 / c))))
    return next((size for size in range(least, MOST) if max(_off(c, size), _off(c, 2 * size)) < OFF), 0)


def _off(c: float, size: int) -> float:
    p, n = sizes({"c": c, "size": size})
    return abs(p / (c * n) - 1)


def make_vectors(point: Point, p: int) -> Array:
    """Rows mu, w_K, w_Q in R^p with the Gram matrix of the point, spread over all coordinates.

    Of a file of weights the rank-one part is drawn, not what else the file holds.
    """
    snr = float(point.get("snr", 0.0))
    shorthand, file = point.get("weights"), point.get("weights_file")
    if file is not None:
        kk = qq = float(file.strength)
        mk, mq = (np.sqrt(snr) * float(along) for along in (file.key_along, file.query_along))
        kq = float(file.key_query)
    elif shorthand is None:
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


def draw_noise(rng: Generator, shape: tuple[int, int], law: str = TOKEN_LAWS[0]) -> Array:
    """Z with independent entries of mean zero and variance one, Gaussian as the theorem has them or of another law."""
    if law == "rademacher":
        return 2.0 * rng.integers(0, 2, shape) - 1.0
    if law == "student-5":
        # variance 5/3
        return rng.standard_t(5, shape) * np.sqrt(0.6)
    if law != TOKEN_LAWS[0]:
        raise ValueError(f"the simulator knows tokens of the laws {', '.join(TOKEN_LAWS)}, not {law!r}")
    return rng.standard_normal(shape)


def draw_tokens(rng: Generator, mu: Array, labels: Array, law: str = TOKEN_LAWS[0]) -> Array:
    """X = mu y^T + Z; the only place where tokens are drawn."""
    tokens = draw_noise(rng, (mu.size, labels.shape[0]), law)
    if np.any(mu):
        tokens += np.outer(mu, labels)
    return tokens


def draw_labels(rng: Generator, n: int, mean: float = 0.0, columns: int | None = None) -> Array:
    """Labels of the given mean in random order; a share that n does not allow is right on average."""
    below = n * (1 - mean) / 2
    labels = np.ones((n, columns or 1))
    for column in labels.T:
        column[: int(below + rng.random())] = -1
    drawn: Array = rng.permuted(labels, axis=0)
    return drawn if columns else drawn[:, 0]


def identity_part(point: Point) -> float:
    """The multiple s of W_K^T W_Q = s (I + w_K w_Q^T): that of a file of weights, else one."""
    file = point.get("weights_file")
    return 1.0 if file is None else float(file.scale)


def make_logits(tokens: Array, key: Array, query: Array, scale: float = 1.0) -> Array:
    """s X^T (I + w_K w_Q^T) X/sqrt(p)."""
    logits: Array = tokens.T @ tokens
    if np.any(key) and np.any(query):
        logits += np.outer(tokens.T @ key, query @ tokens)
    logits *= scale / np.sqrt(tokens.shape[0])
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
    # the product of a matrix with itself: half the work, and only one triangle is read; rows that lie together are
    # the columns of a transpose, which is read as it lies
    gram = blas.dsyrk(1.0, features.T, trans=0 if wide else 1)
    gram[np.diag_indices_from(gram)] += n * gamma
    right = labels if wide else features @ labels
    solution = linalg.cho_solve(
        linalg.cho_factor(gram, lower=False, overwrite_a=True, check_finite=False), right, check_finite=False
    )
    coefficients = features @ solution if wide else solution
    residual: Array = labels - features.T @ coefficients
    return residual


def ridge_loss(features: Array, labels: Array, gamma: float) -> float:
    """The interpolation error |y - F^T w|^2/n of Definition 3; for several columns of labels, their mean."""
    residual = ridge_residual(features, labels, gamma)
    return float(np.sum(residual * residual)) / labels.size


def repeat(one: Callable[[], Mapping[str, Any]], count: int) -> dict[str, Array]:
    """Results of independent runs, one array each."""
    rows = [one() for _ in range(count)]
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}
