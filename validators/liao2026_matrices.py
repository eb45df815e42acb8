"""Matrices behind the interpolation error: resolvents, spectra, the kernel's low-rank part, moments of f.

Each is sampled from the model of ``liao2026`` as it is defined.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import integrate

from .liao2026 import (
    Array,
    Generator,
    Point,
    draw_labels,
    draw_tokens,
    function_of,
    gaussian_mean,
    make_attention,
    make_logits,
    make_vectors,
    repeat,
    ridge_loss,
    sizes,
)


def error_identity(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """The error as defined less (gamma^2/n) y^T Q^2 y, Q = (K^T X^T X K/n + gamma)^(-1), on drawn matrices."""
    p, n = sizes(point)
    gamma = float(point["gamma"])
    f = function_of(point)

    def one() -> dict[str, float]:
        labels = draw_labels(rng, n)
        tokens = draw_tokens(rng, np.zeros(p), labels)
        features = tokens @ make_attention(make_logits(tokens, np.zeros(p), np.zeros(p)), f, p, None)
        resolvent = np.linalg.inv(features.T @ features / n + gamma * np.eye(n))
        image = resolvent @ labels
        return {"gap": ridge_loss(features, labels, gamma) - gamma**2 * float(image @ image) / n}

    return repeat(one, count)


def noise_traces(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """Normalised traces of the resolvent of the null model: alpha, beta and delta."""
    p, n = sizes(point)
    gamma, f = float(point["gamma"]), function_of(point)

    def one() -> dict[str, float]:
        tokens = rng.standard_normal((p, n))
        attention = make_attention(
            make_logits(tokens, np.zeros(p), np.zeros(p)), f, p, float(point.get("diagonal", 0.0))
        )
        spectrum = tokens.T @ tokens / p
        moved = attention @ spectrum
        resolvent = np.linalg.inv(p / n * moved @ attention.T + gamma * np.eye(n))
        return {
            "alpha": float(np.trace(resolvent)) / n,
            "beta": -np.sqrt(p / n) * float(np.sum(resolvent * moved.T)) / n,
            "delta": (float(np.trace(spectrum)) - p / n * float(np.sum(moved * (resolvent @ moved)))) / n,
        }

    return repeat(one, count)


def spectral_forms(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """Quadratic forms of (S - z)^(-1), S = X^T X/p, and moments of S in the direction of the labels."""
    p, n = sizes(point)
    z = complex(point["z"])
    mu = make_vectors({"snr": point.get("snr", 0.0)}, p)[0]
    length = np.linalg.norm(mu)
    along = mu / length if length else np.eye(p)[0]
    side = np.zeros(p)
    side[:2] = along[1], -along[0]
    side /= np.linalg.norm(side)

    def one() -> dict[str, float]:
        labels = draw_labels(rng, n)
        unit = labels / np.sqrt(n)
        tokens = draw_tokens(rng, mu, labels) / np.sqrt(p)
        noise = rng.standard_normal((p, n)) / np.sqrt(p)
        spectrum = tokens.T @ tokens
        resolvent = np.linalg.inv(spectrum - z * np.eye(n))
        forms: dict[str, Any] = {
            "n": np.trace(np.linalg.inv(noise.T @ noise - z * np.eye(n))) / n,
            "yy": unit @ resolvent @ unit,
            "ym": unit @ resolvent @ (tokens.T @ along) if length else 0.0,
            "mm": along @ tokens @ resolvent @ (tokens.T @ along),
            "pp": side @ tokens @ resolvent @ (tokens.T @ side),
        }
        power = unit
        for k in (1, 2, 3):
            power = spectrum @ power
            forms[f"moment_yy_{k}"] = float(unit @ power)
        return {name: value if z.imag else float(np.real(value)) for name, value in forms.items()}

    return repeat(one, count)


def kernel_remainder(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """Operator norms of the kept low-rank part of the attention matrix and of what is left, and the kept rank."""
    p, n = sizes(point)
    mu, key, query = make_vectors(point, p)
    f = function_of(point)
    slope = float(point["a1"]) if "a1" in point else _slope(point)

    def one() -> dict[str, float]:
        labels = draw_labels(rng, n)
        noise = rng.standard_normal((p, n))
        tokens = noise + np.outer(mu, labels)
        whole = make_attention(make_logits(tokens, key, query), f, p, None)
        null = make_attention(make_logits(noise, 0 * key, 0 * query), f, p, None)
        image = noise.T @ mu
        kept = float(mu @ mu) * np.outer(labels, labels) + np.outer(labels, image) + np.outer(image, labels)
        kept = slope / p * (kept + np.outer(tokens.T @ key, query @ tokens))
        return {
            "rank": float(np.linalg.matrix_rank(kept, tol=1e-9)),
            "strength": float(np.linalg.norm(kept, 2)),
            "remainder": float(np.linalg.norm(whole - null - kept, 2)),
        }

    return repeat(one, count)


def _slope(point: Point) -> float:
    """E[xi f(xi)] by Gauss-Hermite with very many nodes, or adaptively where f bends."""
    f = function_of(point)

    def density(t: float) -> float:
        return t * float(f(np.asarray(t))) * float(np.exp(-t * t / 2)) / float(np.sqrt(2 * np.pi))

    return float(sum(integrate.quad(density, k, k + 1, epsabs=1e-12)[0] for k in range(-12, 12)))


def sampled_moments(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """Samples whose means are the mean, the first two Hermite coefficients and the second moment."""
    key = (point["nonlinearity"], float(point.get("level", 0.0)), float(point.get("r", 0.0)))
    centred, mean = function_of(point), gaussian_mean(*key)
    xi = rng.standard_normal(count)
    value = centred(xi)
    return {
        "mean": value + mean,
        "a1": xi * value,
        "second_moment": value**2,
        "a2": value * (xi**2 - 1) / np.sqrt(2),
    }


def nonlinear_part(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """Spread of the entries of sqrt(p) K that their own logits do not explain, off the diagonal."""
    f = function_of(point)
    p = n = int(point.get("size", 200))

    def one() -> dict[str, float]:
        tokens = rng.standard_normal((p, n))
        logits = make_logits(tokens, np.zeros(p), np.zeros(p))[np.triu_indices(n, 1)]
        values = f(logits)
        left = values - logits * (logits @ values) / (logits @ logits)
        return {"b": float(np.sqrt(np.mean(left**2)))}

    return repeat(one, count)
