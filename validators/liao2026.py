"""Interpolation errors of attention, softmax attention and ridge on drawn matrices: no theory.

Two means keep the spread of a run small without touching the model. Without signal the tokens do not know the labels,
and the error is averaged over many labels. With signal, controls of known mean are taken off.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .liao2026_controls import Run, controlled, token_controls
from .liao2026_kernel_controls import kernel_controls
from .liao2026_model import (
    SIZE,
    TOKEN_LAWS,
    Array,
    Generator,
    Point,
    draw_labels,
    draw_noise,
    draw_tokens,
    function_of,
    identity_part,
    make_attention,
    make_logits,
    make_vectors,
    repeat,
    ridge_loss,
    series_from,
    sizes,
    softmax_attention,
)
from .simulator import simulator

__all__ = ["SIZE", "attention_error", "attention_error_as_defined", "error_limits", "given_weights_error",
           "raw_ridge_error", "softmax_error", "surrogate_error"]  # fmt: skip

Features = Callable[[Array, Array, Array, Generator], Array]
Statistics = Callable[[Array, Array], dict[str, float]]
#: Labels that the error on noise is averaged over.
LABELS = 32
#: Ratios p/n from which on a floor has corrections that small sizes do not show.
NEARLY_SQUARE = 0.75


def regression_errors(
    point: Point,
    rng: Generator,
    count: int,
    make_features: Features,
    statistics: Statistics | None = None,
    kernel: Callable[[Array], Array] | None = None,
) -> dict[str, Array]:
    """Interpolation errors of ``make_features(tokens, w_K, w_Q, rng)`` over independent runs, or other statistics.

    With ``kernel``, the function of an entry-wise attention matrix whose logits are inner products of tokens and what
    the weights add, forms of that matrix are controls too, and features are made of it.
    """
    p, n = sizes(point)
    gamma, mean = float(point.get("gamma", 0.0)), float(point.get("imbalance", 0.0))
    law = str(point.get("tokens", TOKEN_LAWS[0]))

    def measure(features: Array, labels: Array) -> dict[str, float]:
        return statistics(features, labels) if statistics else {"error": ridge_loss(features, labels, gamma)}

    mu, key, query = make_vectors(point, p)
    if not np.any(mu):

        def averaged() -> dict[str, float]:
            labels = draw_labels(rng, n, mean, LABELS)
            return measure(make_features(draw_noise(rng, (p, n), law), key, query, rng), labels)

        return repeat(averaged, count)
    if law != TOKEN_LAWS[0]:

        def plain() -> dict[str, float]:
            # means of the controls are those of Gaussian tokens
            labels = draw_labels(rng, n, mean)
            return measure(make_features(draw_tokens(rng, mu, labels, law), key, query, rng), labels)

        return repeat(plain, count)

    def make_run(p: int, n: int) -> Run:
        mu, key, query = make_vectors(point, p)
        of_kernel = None if kernel is None else kernel_controls(point, kernel, p, n)
        diagonal, nothing = float(point.get("diagonal", 0.0)), np.zeros(p)

        def run(source: Generator) -> tuple[dict[str, float], Array]:
            labels = draw_labels(source, n, mean)
            tokens = draw_tokens(source, mu, labels)
            controls = token_controls(tokens, labels, mu, (mu, key, query))
            if of_kernel is None or kernel is None:
                return measure(make_features(tokens, key, query, source), labels), controls
            # the matrix without weights is a control, and without weights it is the one of the features
            logits = make_logits(tokens, nothing, nothing)
            attention = bare = make_attention(logits, kernel, p, diagonal)
            if np.any(key) and np.any(query):
                logits += np.outer(tokens.T @ key, query @ tokens) / np.sqrt(p)
                attention = make_attention(logits, kernel, p, diagonal)
            controls = np.concatenate([controls, of_kernel(tokens, labels, bare)])
            return measure(tokens @ attention, labels), controls

        return run

    return controlled(make_run, (make_features.__qualname__, p, n, point), rng, count)


def entrywise(point: Point) -> Features:
    """Features X K with the diagonal of K set to ``diagonal`` (zero unless given), as the limit has it."""
    f, diagonal, scale = function_of(point), float(point.get("diagonal", 0.0)), identity_part(point)

    def attention(tokens: Array, key: Array, query: Array, rng: Generator) -> Array:
        return tokens @ make_attention(make_logits(tokens, key, query, scale), f, tokens.shape[0], diagonal)

    return attention


def correction_orders(point: Point) -> tuple[float, ...]:
    """Power of the size in the leading correction: perhaps a half where an even part of f meets signal or weights.

    On noise it is one for unbalanced labels too: for cos and relu the gap times the size is the same from 24 to 192.
    """
    has_even_part = point.get("nonlinearity") in ("cos", "exp-clip", "relu", "softmax") or point.get("a2", 0.0)
    shorthand = point.get("weights", "none")
    weighted = (
        shorthand != "none"
        or "weights_file" in point
        or float(point.get("key_norm2", 0)) * float(point.get("query_norm2", 0)) > 0
    )
    is_pure_noise = not float(point.get("snr", 0.0)) and not weighted
    keeps_diagonal = point.get("kernel_diagonal") == "kept"
    is_gaussian = point.get("tokens", TOKEN_LAWS[0]) == TOKEN_LAWS[0]
    return (1.0,) if is_gaussian and not keeps_diagonal and (is_pure_noise or not has_even_part) else (0.5, 1.0)


@simulator(
    size=SIZE, orders=correction_orders, cost=3.0, series_from=series_from, covers=("error",), whole=True,
    variants={"kernel_diagonal": ("set", "kept"), "tokens": TOKEN_LAWS},
)  # fmt: skip
def attention_error(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """The error with the diagonal of K set to ``diagonal`` (zero unless given), as the limit has it, or kept."""
    if point.get("kernel_diagonal", "set") == "kept":
        return attention_error_as_defined(point, rng, count)
    # controls of the matrix are written for logits that are inner products of tokens
    kernel = None if "weights_file" in point else function_of(point)
    return regression_errors(point, rng, count, entrywise(point), kernel=kernel)


def limits_series_from(point: Point) -> int:
    """Where corrections of the ends of the error are a series: those of the floor hang on n - p, not on p alone."""
    p, n = sizes(point)
    return 0 if NEARLY_SQUARE * n < p < n else series_from(point)


@simulator(
    size=SIZE, orders=correction_orders, cost=3.0, series_from=limits_series_from, covers=("M1", "floor", "wide")
)
def error_limits(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """Ends of the error: its slope M1 = |X K y|^2/n^2 at large penalties, its floor at next to none, its wide limit.

    The floor needs p < n. The wide limit, p = n^2 here, needs gamma; with signal it is out of reach, for the signal
    drops out only at ratios p/n far beyond what can be simulated.
    """
    p, n = sizes(point)

    def statistics(features: Array, labels: Array) -> dict[str, float]:
        # sizes of the draw: controls may be fitted at smaller ones
        p, n = features.shape
        if labels.ndim == 1:
            slope = float(np.sum((features @ labels) ** 2)) / n**2
        else:
            # the mean over all balanced labels: E y_i y_j = -1/(n - 1) off the diagonal
            slope = float(n * np.sum(features**2) - np.sum(features.sum(axis=1) ** 2)) / ((n - 1) * n**2)
        return {"M1": slope, "floor": ridge_loss(features, labels, 1e-10)} if p < n else {"M1": slope}

    found = regression_errors(point, rng, count, entrywise(point), statistics, function_of(point))
    if "gamma" in point and not float(point.get("snr", 0.0)):
        tokens = max(4, round(np.sqrt(p * n) / 5))
        found["wide"] = attention_error({**point, "p": tokens**2, "n": tokens}, rng, count)["error"]
    return found


@simulator(size=SIZE, cost=3.0, covers=("error",))
def attention_error_as_defined(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """The error with the diagonal of K left as it comes: of order 1/sqrt(p) for bounded f, for others not small."""
    if float(point.get("diagonal", 0.0)):
        raise ValueError("a diagonal was given, but this simulator keeps the diagonal as it comes")
    f, scale = function_of(point), identity_part(point)

    def attention_with_diagonal(tokens: Array, key: Array, query: Array, rng: Generator) -> Array:
        return tokens @ make_attention(make_logits(tokens, key, query, scale), f, tokens.shape[0], None)

    return regression_errors(point, rng, count, attention_with_diagonal)


def _same_penalty(asked: Point, drawn: Point) -> dict[str, float]:
    """Without its factor n/sqrt(p) softmax is a small matrix, and the penalty counts as so many squares of it more."""
    if drawn.get("scaled", True) not in (False, "false") or drawn.get("masked", True) in (False, "false"):
        return {}
    before, now = (n**2 / p for p, n in map(sizes, (asked, drawn)))
    return {"gamma": float(asked["gamma"]) * before / now}


# the exponential has heavy tails: the second term is not small at sizes of hundreds, nor is the third at sixty
@simulator(size=400, orders=((0.5, 1.0),), cost=3.0, kept=_same_penalty, covers=("error",))
def softmax_error(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """The error of row-wise softmax attention, masked or plain; masked and scaled is n/sqrt(p) times it, centred."""
    masked, scaled = (point.get(name, True) not in (False, "false") for name in ("masked", "scaled"))

    def softmax(tokens: Array, key: Array, query: Array, rng: Generator) -> Array:
        p, n = tokens.shape
        attention = softmax_attention(make_logits(tokens, key, query), masked=masked)
        if masked and scaled:
            attention = (attention * n - n / (n - 1)) / np.sqrt(p)
            np.fill_diagonal(attention, 0.0)
        return tokens @ attention

    return regression_errors(point, rng, count, softmax)


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


@simulator(size=SIZE, cost=3.0, covers=("error",))
def surrogate_error(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """The error with K replaced by a1 (X^T (I + w_K w_Q^T) X/p - I) + d I + b W, W symmetric Gaussian, variance 1/p."""
    slope = float(point["a1"])
    rest = np.sqrt(max(0.0, float(point["second_moment"]) - slope**2))
    shift = float(point.get("diagonal", 0.0)) - slope

    def surrogate(tokens: Array, key: Array, query: Array, rng: Generator) -> Array:
        p, n = tokens.shape
        noise = rng.standard_normal((n, n))
        attention = make_logits(tokens, key, query) * (slope / np.sqrt(p)) + (noise + noise.T) * (rest / np.sqrt(2 * p))
        attention[np.diag_indices(n)] += shift
        return tokens @ attention

    return regression_errors(point, rng, count, surrogate)


@simulator(size=SIZE, orders=(1.0,), cost=3.0, series_from=series_from, covers=("error",))
def raw_ridge_error(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """The error of ridge regression on the tokens themselves."""

    def raw(tokens: Array, key: Array, query: Array, rng: Generator) -> Array:
        return tokens

    return regression_errors(point, rng, count, raw)
