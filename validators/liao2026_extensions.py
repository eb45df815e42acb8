"""Errors of attention with weights of any rank, unbalanced labels and tokens of any law, on drawn matrices: no theory.

W_K^T W_Q = s I + sum k_r q_r^T with vectors given in orthonormal coordinates, the first along mu. Tokens of third and
fourth moments k3 and k4 are drawn from a law that has exactly these, or from a named one that must have them.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from .liao2026 import LABELS
from .liao2026_controls import FITTED, Run, controlled, token_controls
from .liao2026_model import (
    SIZE,
    Array,
    Generator,
    Point,
    draw_labels,
    function_of,
    make_attention,
    make_function,
    make_vectors,
    repeat,
    ridge_residual,
    sizes,
)
from .simulator import simulator

#: Named laws of the noise with their third and fourth moments; "matched" has those of the point.
LAWS: dict[str, tuple[float, float] | None] = {
    "matched": None,
    "gaussian": (0.0, 3.0),
    "rademacher": (0.0, 1.0),
    "uniform": (0.0, 1.8),
    "laplace": (0.0, 6.0),
    "student-9": (0.0, 4.2),
    "student-5": (0.0, 9.0),
    "two-point": (1.5, 3.25),
    "gamma-2": (float(np.sqrt(2)), 6.0),
}
#: Fresh tokens of one run.
FRESH = 800


def moments_of(point: Point) -> tuple[float, float]:
    """Third and fourth moments of the tokens' noise."""
    return float(point.get("third", 0.0)), float(point.get("fourth", 3.0))


def draw_noise(rng: Generator, shape: tuple[int, int], point: Point) -> Array:
    """Z with independent entries of mean zero, variance one and the point's third and fourth moments."""
    law, (third, fourth) = str(point.get("tokens", "matched")), moments_of(point)
    if law not in LAWS:
        raise ValueError(f"the simulator knows tokens of the laws {', '.join(LAWS)}, not {law!r}")
    known = LAWS[law]
    if known is not None and not np.allclose(known, (third, fourth), rtol=1e-6, atol=1e-6):
        raise ValueError(f"tokens of the law {law} have the moments {known}, not {third:g} and {fourth:g}")
    if law == "gaussian" or (law == "matched" and (third, fourth) == (0.0, 3.0)):
        return rng.standard_normal(shape)
    if law == "uniform":
        return rng.uniform(-np.sqrt(3), np.sqrt(3), shape)
    if law == "laplace":
        return rng.laplace(0.0, np.sqrt(0.5), shape)
    if law.startswith("student"):
        degrees = int(law.rpartition("-")[2])
        return rng.standard_t(degrees, shape) * np.sqrt((degrees - 2) / degrees)
    if law == "gamma-2":
        return (rng.gamma(2.0, 1.0, shape) - 2.0) / np.sqrt(2)
    # zero, or with the rest of the probability one of two points: three points have any two moments
    share = 1 / (fourth - third**2)
    skew = third * np.sqrt(share)
    # of a two-point law of variance one: its values have the product -1 and the sum of its skewness
    high = (skew + np.sqrt(skew**2 + 4)) / 2
    chance = 1 / (1 + high**2)
    drawn = rng.random(shape)
    found: Array = np.where(drawn < share * chance, high, np.where(drawn < share, -1 / high, 0.0)) / np.sqrt(share)
    return found


def rows_of(text: Any) -> Array:
    """Vectors written as "1, 1/2; 0, 1"."""
    return np.array([[float(Fraction(x)) for x in row.split(",")] for row in str(text).split(";")])


def weights_of(point: Point) -> tuple[float, Array, Array]:
    """The multiple of the identity, keys and queries in coordinates."""
    file = point.get("weights_file")
    if file is not None:
        nothing = np.zeros((0, 1))
        return float(file.scale), *((np.array(x) if x else nothing) for x in (file.keys, file.queries))
    keys, queries = ((rows_of(point[x]) if x in point else np.zeros((0, 1))) for x in ("keys", "queries"))
    return float(Fraction(str(point.get("scale", 1)))), keys, queries


def frame_of(point: Point, p: int, size: int) -> Array:
    """Orthonormal rows in R^p, spread over all coordinates, with the point's components along (1, .., 1)/sqrt(p)."""
    along = np.zeros(size)
    if "ones" in point:
        given = rows_of(point["ones"])[0]
        along[: given.size] = given
    waves = np.cos(np.outer(np.arange(size + 1), np.arange(p) + 0.5) * np.pi / p)
    waves /= np.linalg.norm(waves, axis=1, keepdims=True)
    length2 = float(along @ along)
    rest = 1 / (1 + np.sqrt(max(0.0, 1 - length2)))
    # rows (along, sqrt(1 - along along^T)) are orthonormal
    frame: Array = np.outer(along, waves[0]) + (np.eye(size) - rest * np.outer(along, along)) @ waves[1:]
    return frame


Kernel = Callable[[Array, Array], Array]


def centred(point: Point) -> Callable[[Array], Array]:
    """The nonlinearity less its mean over the logits of noise, which have the standard deviation |s|."""
    if "nonlinearity" not in point:
        return function_of(point)
    f = make_function(point["nonlinearity"], float(point.get("level", 0.0)), float(point.get("r", 0.0)))
    x = np.linspace(-10.0, 10.0, 200_001)
    density = np.exp(-x * x / 2)
    mean = float(f(weights_of(point)[0] * x) @ density / density.sum())
    return lambda t: f(t) - mean


def make_model(point: Point, p: int) -> tuple[Array, tuple[Array, ...], Kernel]:
    """The signal, all vectors of the weights in R^p, and logits between two sets of tokens."""
    scale, keys, queries = weights_of(point)
    size = max(1, keys.shape[1] if keys.size else 1)
    frame = frame_of(point, p, size)
    mu = np.sqrt(float(point.get("snr", 0.0))) * frame[0]
    key, query = ((rows @ frame if rows.size else np.zeros((0, p))) for rows in (keys, queries))

    def logits(left: Array, right: Array) -> Array:
        found: Array = scale * (left.T @ right)
        if key.size:
            found += (left.T @ key.T) @ (query @ right)
        return found / np.sqrt(p)

    return mu, (mu, *key, *query), logits


def correction_orders(point: Point) -> tuple[float, ...]:
    """Power of the size in the leading correction: a half where an even part of f or a third moment is seen."""
    has_even_part = point.get("nonlinearity") in ("cos", "exp-clip", "relu", "softmax")
    return (0.5, 1.0) if has_even_part or float(point.get("third", 0.0)) else (1.0,)


def is_gaussian(point: Point) -> bool:
    """Whether the controls have the means that they are known to have."""
    return str(point.get("tokens", "matched")) in ("matched", "gaussian") and moments_of(point) == (0.0, 3.0)


@simulator(size=SIZE, orders=correction_orders, cost=3.0, covers=("error", "A"), variants={"tokens": tuple(LAWS)})
def extended_error(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """The interpolation error and y^T Q y/n, the kernel's diagonal set to ``diagonal`` (zero unless given)."""
    p, n = sizes(point)
    gamma, mean = float(point["gamma"]), float(point.get("imbalance", 0.0))
    f, diagonal = centred(point), float(point.get("diagonal", 0.0))
    mu, _, logits = make_model(point, p)

    def measure(tokens: Array, labels: Array, kernel: Kernel) -> dict[str, float]:
        features = tokens @ make_attention(kernel(tokens, tokens), f, tokens.shape[0], diagonal)
        return _forms(features, labels, gamma)

    if not np.any(mu):

        def averaged() -> dict[str, float]:
            # tokens that do not know the labels: the mean over many labels has less spread
            return measure(draw_noise(rng, (p, n), point), draw_labels(rng, n, mean, LABELS), logits)

        return repeat(averaged, count)
    if not is_gaussian(point):

        def plain() -> dict[str, float]:
            return measure(*_tokens(point, rng, n, mu, mean), logits)

        return repeat(plain, count)

    def make_run(p: int, n: int) -> Run:
        mu, vectors, logits = make_model(point, p)

        def run(source: Generator) -> tuple[dict[str, float], Array]:
            tokens, labels = _tokens(point, source, n, mu, mean)
            return measure(tokens, labels, logits), token_controls(tokens, labels, mu, vectors)

        return run

    return controlled(make_run, ("extended_error", p, n, point), rng, count)


def _forms(features: Array, labels: Array, gamma: float) -> dict[str, float]:
    """|y - F^T w|^2/n and y^T (y - F^T w)/(n gamma), for several columns of labels their means."""
    left = ridge_residual(features, labels, gamma)
    return {"error": float(np.sum(left * left)) / labels.size, "A": float(np.sum(left * labels)) / labels.size / gamma}


@simulator(size=SIZE, orders=correction_orders, cost=3.0, covers=("error", "misclassified", "M", "M0", "V"))
def fresh_tokens(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """Predictions for fresh tokens by what was fitted on a context: their error, signs, means and variance."""
    p, n = sizes(point)
    gamma, mean, f = float(point["gamma"]), float(point.get("imbalance", 0.0)), centred(point)

    def make_run(p: int, n: int) -> Run:
        mu, vectors, logits = make_model(point, p)

        def run(source: Generator) -> tuple[dict[str, float], Array]:
            tokens, labels = _tokens(point, source, n, mu, mean)
            features = tokens @ make_attention(logits(tokens, tokens), f, p, 0.0)
            fresh, theirs = _fresh(point, source, mu)
            others = tokens @ (f(logits(tokens, fresh)) / np.sqrt(p))
            gram = features @ features.T
            gram[np.diag_indices(p)] += n * gamma
            said = np.linalg.solve(gram, features @ labels) @ others
            return _judged(said, theirs, mean), token_controls(tokens, labels, mu, vectors)

        return run

    return controlled(make_run, ("fresh_tokens", p, n, point), rng, count)


def _judged(said: Array, theirs: Array, mean: float) -> dict[str, float]:
    """Half of the fresh tokens have each label; the shares are those of the labels' mean."""
    up, down = said[theirs > 0], said[theirs < 0]
    chance = (1 + mean) / 2, (1 - mean) / 2
    centre = float(np.mean(up)), float(np.mean(down))
    return {
        "error": float(chance[0] * np.mean((up - 1) ** 2) + chance[1] * np.mean((down + 1) ** 2)),
        "misclassified": float(chance[0] * np.mean(up < 0) + chance[1] * np.mean(down > 0)),
        "M": (centre[0] - centre[1]) / 2,
        "M0": (centre[0] + centre[1]) / 2,
        "V": float(np.var(up, ddof=1) + np.var(down, ddof=1)) / 2,
    }


def _tokens(point: Point, rng: Generator, n: int, mu: Array, mean: float) -> tuple[Array, Array]:
    """A context and its labels."""
    labels = draw_labels(rng, n, mean)
    return draw_noise(rng, (mu.size, n), point) + np.outer(mu, labels), labels


def _fresh(point: Point, rng: Generator, mu: Array) -> tuple[Array, Array]:
    """Tokens that no context holds, half of each label."""
    theirs = np.repeat([1.0, -1.0], FRESH // 2)
    return draw_noise(rng, (mu.size, FRESH), point) + np.outer(mu, theirs), theirs


#: Contexts averaged for one curve of errors over penalties.
CONTEXTS = 24


@simulator(size=SIZE, orders=correction_orders, cost=3.0, covers=("gamma", "error"))
def best_penalty(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """Where the error on fresh tokens, averaged over contexts, is least among penalties, and how large it is there."""
    p, n = sizes(point)
    mean, f = float(point.get("imbalance", 0.0)), centred(point)
    mu, _, logits = make_model(point, p)
    penalties = np.geomspace(0.02, 200.0, 121)
    shares = np.where(np.repeat([1.0, -1.0], FRESH // 2) > 0, 1 + mean, 1 - mean) / FRESH

    def one() -> dict[str, float]:
        curve = np.zeros(penalties.size)
        for _ in range(CONTEXTS):
            tokens, labels = _tokens(point, rng, n, mu, mean)
            features = tokens @ make_attention(logits(tokens, tokens), f, p, 0.0)
            fresh, theirs = _fresh(point, rng, mu)
            others = tokens @ (f(logits(tokens, fresh)) / np.sqrt(p))
            values, vectors = np.linalg.eigh(features @ features.T / n)
            image, seen = vectors.T @ (features @ labels) / n, vectors.T @ others
            said = (image / (np.maximum(values, 0.0) + penalties[:, None])) @ seen
            curve += (said - theirs) ** 2 @ shares / CONTEXTS
        least = int(np.argmin(curve))
        inside = slice(max(0, least - 8), least + 9)
        bend = np.polyfit(np.log(penalties[inside]), curve[inside], 3)
        fine = np.linspace(np.log(penalties[inside][0]), np.log(penalties[inside][-1]), 2001)
        place = int(np.argmin(np.polyval(bend, fine)))
        return {"gamma": float(np.exp(fine[place])), "error": float(np.polyval(bend, fine)[place])}

    return repeat(one, count)


@simulator(size=SIZE, orders=correction_orders, cost=3.0, covers=("error",))
def file_error(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """The error with the identity and rank parts of a file's weights, without what else the file holds."""
    return {"error": extended_error(point, rng, count)["error"]}


# what the equation leaves out at some hundred dimensions is within two percent
@simulator(exact=True, systematic=0.02, covers=("error", "A"))
def sized_error(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """The interpolation error and y^T Q y/n at exactly p and n, the kernel's diagonal zeroed or kept as it comes."""
    p, n = sizes(point)
    gamma, mean, f = float(point["gamma"]), float(point.get("imbalance", 0.0)), centred(point)
    diagonal = None if point.get("kernel_diagonal", "zeroed") == "kept" else 0.0
    if "keys" in point:
        mu, vectors, logits = make_model(point, p)
    else:
        mu, key, query = make_vectors(point, p)
        vectors, scale = (mu, key, query), weights_of(point)[0]

        def logits(left: Array, right: Array) -> Array:
            found: Array = scale * (left.T @ right) + np.outer(left.T @ key, query @ right)
            return found / np.sqrt(p)

    is_normal = is_gaussian(point)

    def make_run(p: int, n: int) -> Run:
        def run(source: Generator) -> tuple[dict[str, float], Array]:
            tokens, labels = _tokens(point, source, n, mu, mean)
            found = _forms(tokens @ make_attention(logits(tokens, tokens), f, p, diagonal), labels, gamma)
            # controls of other laws have other means
            controls = token_controls(tokens, labels, mu, vectors) if is_normal else np.zeros(1)
            return found, controls

        return run

    if p * n > FITTED**2 or not is_normal:
        return repeat(lambda: make_run(p, n)(rng)[0], count)
    return controlled(make_run, ("sized_error", p, n, point), rng, count)


@simulator(size=SIZE, orders=(1.0,), cost=3.0, covers=("error",))
def aligned_share(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """The error on noise of the part of the labels that regression on X^T mu leaves, mu along one direction.

    X^T mu/|mu| = |mu| y + noise leaves of y the share 1/(1 + |mu|^2) in the mean; what is left is orthogonal to it.
    """
    p, n = sizes(point)
    gamma, f, length = float(point["gamma"]), centred(point), np.sqrt(float(point.get("snr", 0.0)))
    is_seen = point.get("nonlinearity") != "cos" and float(point.get("a1", 1.0)) != 0

    def one() -> dict[str, float]:
        labels = draw_labels(rng, n, 0.0, LABELS)
        tokens = rng.standard_normal((p, n))
        left = labels
        if is_seen:
            seen = length * labels + rng.standard_normal(labels.shape)
            left = labels - seen * (np.sum(seen * labels, axis=0) / np.sum(seen * seen, axis=0))
        features = tokens @ make_attention(tokens.T @ tokens / np.sqrt(p), f, p, 0.0)
        return {"error": _forms(features, left, gamma)["error"]}

    return repeat(one, count)


@simulator(size=SIZE, orders=(1.0,), cost=3.0, covers=("attention", "ridge", "gap"))
def equal_strength(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """Errors on noise of attention and of ridge, each at gamma times the mean eigenvalue of its own matrix."""
    p, n = sizes(point)
    gamma, f = float(point["gamma"]), centred(point)

    def one() -> dict[str, float]:
        labels = draw_labels(rng, n, 0.0, LABELS)
        tokens = rng.standard_normal((p, n))
        found = {}
        attention = tokens @ make_attention(tokens.T @ tokens / np.sqrt(p), f, p, 0.0)
        for name, features in (("attention", attention), ("ridge", tokens)):
            strength = float(np.sum(features**2)) / n**2
            found[name] = _forms(features, labels, gamma * strength)["error"]
        return {**found, "gap": found["attention"] - found["ridge"]}

    return repeat(one, count)
