"""Errors of attention with weights of any rank, unbalanced labels and tokens of any law, on drawn matrices."""

from __future__ import annotations

import numpy as np

from .liao2026 import LABELS
from .liao2026_controls import Run, controlled
from .liao2026_model import (
    SIZE,
    Array,
    Generator,
    Point,
    draw_labels,
    make_attention,
    make_vectors,
    repeat,
    ridge_residual,
    sizes,
)
from .liao2026_ranks import (
    LAWS,
    ContextControls,
    Kernel,
    centred,
    correction_orders,
    draw_context,
    draw_noise,
    draw_rest,
    frame_of,
    is_gaussian,
    make_model,
    series_begin,
    weights_of,
)
from .simulator import simulator


@simulator(
    size=SIZE, orders=correction_orders, cost=3.0, series_from=series_begin, covers=("error", "A"),
    variants={"tokens": tuple(LAWS)},
)  # fmt: skip
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
            return measure(*draw_context(point, rng, n, mu, mean), logits)

        return repeat(plain, count)

    def make_run(p: int, n: int) -> Run:
        mu, vectors, logits = make_model(point, p)
        controls_of = ContextControls(point, n, mu, vectors)

        def run(source: Generator) -> tuple[dict[str, float], Array]:
            tokens, labels = draw_context(point, source, n, mu, mean)
            return measure(tokens, labels, logits), controls_of(tokens, labels)

        return run

    return controlled(make_run, ("extended_error", p, n, point), rng, count)


def _forms(features: Array, labels: Array, gamma: float) -> dict[str, float]:
    """|y - F^T w|^2/n and y^T (y - F^T w)/(n gamma), for several columns of labels their means."""
    left = ridge_residual(features, labels, gamma)
    return {"error": float(np.sum(left * left)) / labels.size, "A": float(np.sum(left * labels)) / labels.size / gamma}


#: A rest of this root mean square is rounding.
ROUNDED = 1e-10


@simulator(size=SIZE, orders=correction_orders, cost=3.0, series_from=series_begin, covers=("error", "with_rest"))
def file_error(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """The error with the identity and rank parts of a file's weights, and with a drawn rest like that of the file.

    The rest is Gaussian, mirrored pairs of its entries independent, with the file's traces of R R^T and R^2; on the
    span of signal and parts it is the file's own, and so are the products of what it takes out of that.
    """
    error = extended_error(point, rng, count)["error"]
    file = point.get("weights_file")
    if file is None or not file.spread > ROUNDED:
        return {"error": error, "with_rest": error}
    p, n = sizes(point)
    gamma, f = float(point["gamma"]), centred(point, float(np.sqrt(1 + file.spread**2)))
    diagonal = float(point.get("diagonal", 0.0))

    def make_run(p: int, n: int) -> Run:
        mu, vectors, plain = make_model(point, p)
        controls_of, frame = ContextControls(point, n, mu, vectors), frame_of(point, p, len(file.within))

        def run(source: Generator) -> tuple[dict[str, float], Array]:
            columns = None if np.any(mu) else LABELS
            labels = draw_labels(source, n, 0.0, columns)
            tokens = source.standard_normal((p, n)) + (0.0 if columns else np.outer(mu, labels))
            logits = plain(tokens, tokens) + file.scale * (tokens.T @ draw_rest(source, file, frame) @ tokens) / p**0.5
            found = _forms(tokens @ make_attention(logits, f, p, diagonal), labels, gamma)["error"]
            return {"with_rest": found}, np.zeros(1) if columns else controls_of(tokens, labels)

        return run

    if not np.any(make_model(point, p)[0]):
        run = make_run(p, n)
        return {"error": error, **repeat(lambda: run(rng)[0], count)}
    return {"error": error, **controlled(make_run, ("file_error", p, n, point), rng, count)}


#: What the equation of a finite size leaves out, relatively: this over p, and this where the logits' shift is as large
#: as their width or p is small. At p = 200 to 240 its distance from simulations is 0.1 % and less, with standard errors
#: of 0.2 %.
LEFT_OUT, LEFT_OUT_FAR, SMALL = 1.0, 0.02, 150


def left_out(point: Point) -> float:
    """A relative bound on what the equation of a finite size leaves out."""
    p, _ = sizes(point)
    mu, *vectors = make_model(point, p)[1] if "keys" in point else make_vectors(point, p)
    keys, queries = np.array(vectors[: len(vectors) // 2]), np.array(vectors[len(vectors) // 2 :])
    frame = np.linalg.qr(np.array([mu, *keys, *queries]).T)[0]
    weights = weights_of(point)[0] * np.eye(frame.shape[1])
    if len(keys):
        weights = weights + (keys @ frame).T @ (queries @ frame)
    spread = np.eye(frame.shape[1]) + np.outer(mu @ frame, mu @ frame)
    # mean square of the shift of the logits on the span of signal and weights
    shift = float(np.trace(weights @ spread @ weights.T @ spread)) / p
    return LEFT_OUT / p if p >= SMALL and shift <= 1 else LEFT_OUT_FAR


@simulator(exact=True, systematic=left_out, covers=("error", "A"))
def sized_error(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """The interpolation error and y^T Q y/n at exactly p and n, the kernel's diagonal zeroed or kept as it comes."""
    p, n = sizes(point)
    gamma, mean, f = float(point["gamma"]), float(point.get("imbalance", 0.0)), centred(point)
    diagonal = None if point.get("kernel_diagonal", "zeroed") == "kept" else 0.0

    def make_run(p: int, n: int) -> Run:
        if "keys" in point:
            mu, vectors, logits = make_model(point, p)
        else:
            mu, key, query = make_vectors(point, p)
            vectors, scale = (mu, key, query), weights_of(point)[0]

            def logits(left: Array, right: Array) -> Array:
                found: Array = scale * (left.T @ right) + np.outer(left.T @ key, query @ right)
                return found / np.sqrt(p)

        # controls of other laws have other means
        controls_of = ContextControls(point, n, mu, vectors) if is_gaussian(point) else None

        def run(source: Generator) -> tuple[dict[str, float], Array]:
            tokens, labels = draw_context(point, source, n, mu, mean)
            found = _forms(tokens @ make_attention(logits(tokens, tokens), f, p, diagonal), labels, gamma)
            return found, np.zeros(1) if controls_of is None else controls_of(tokens, labels)

        return run

    if not is_gaussian(point):
        run = make_run(p, n)
        return repeat(lambda: run(rng)[0], count)
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
