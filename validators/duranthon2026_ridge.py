"""Ridge regression on sums of tokens, averaged over all that is Gaussian given the features.

With k = 0 a prediction is f.v with f = w sum_l tokens_l, w the common weight. Tokens are Gaussian, so that the label's
mean given f is a f.v*, a = 1/(w L), and the rest of it has the variance 1 - 1/L + delta^2 whatever the features are.
Rows of features are rotated without change of their law, but for the direction of k* that all of them have in common:
v* is any direction orthogonal to it. Both means are taken exactly; what is drawn is the matrix of features.
"""

from __future__ import annotations

import numpy as np

from .duranthon2026_finite import Array, Generator, Point, sizes
from .simulator import simulator

#: Dimension at which costs are compared, and from which on corrections are a series in its inverse.
SIZE, FIRST = 300, 40


@simulator(
    size=SIZE, own_size=True, orders=(1.0,), cost=2.5, series_from=FIRST,
    covers=("risk", "train_error", "m_v", "q_v", "V_v"),
)  # fmt: skip
def ridge_forms(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """The minimiser over v alone at k = 0: its overlaps, response and errors, given the matrix of features."""
    dimension, alpha = sizes(point)[1], float(point["alpha"])
    length, delta, strength = int(point["L"]), float(point.get("delta", 0.0)), float(point["r_v"])
    weight = 1 / length if point["activation"] == "softmax" else 1.0
    along, rest = 1 / (weight * length), 1 - 1 / length + delta**2
    spread = weight * np.sqrt(length)
    found: dict[str, list[float]] = {name: [] for name in ("risk", "train_error", "m_v", "q_v", "V_v")}
    for _ in range(count):
        # alpha D sequences in the mean: rounded, their number would move the limit
        n = max(1, int(alpha * dimension + rng.random()))
        features = spread * rng.standard_normal((n, dimension))
        # the hidden token of each sequence is shifted along k*, whatever the task; nu = 1 stands for any
        features[:, 0] += weight
        values, vectors = np.linalg.eigh(features.T @ features / dimension)
        values = np.maximum(values, 0.0)
        # v = M v* + (noise of the labels), with M of eigenvalues s/(s + r) and the noise's covariance of s/(s + r)^2/D
        share, noise = values / (values + strength), values / (values + strength) ** 2 / dimension
        of_key = vectors[0] ** 2

        def across(form: Array, key: Array = of_key) -> float:
            """The mean of a form over directions orthogonal to k*."""
            return float(np.sum(form) - key @ form) / (len(form) - 1)

        mean, square = across(share), across(share**2)
        noisy, noisy_key = float(np.sum(noise)), float(of_key @ noise)
        # the part of M v* along k*, squared: what a form's square has beyond the square of the form
        mixed = float(of_key @ share**2 - (of_key @ share) ** 2) / (dimension - 1)
        m_v, q_v = along * mean, along**2 * square + rest * noisy
        missed = along**2 * (1 - 2 * mean + square) + rest * noisy
        key_part = along**2 * mixed + rest * noisy_key
        left = along**2 * across(values * (1 - share) ** 2) * dimension + rest * (n - dimension)
        found["m_v"].append(m_v)
        found["q_v"].append(q_v)
        found["V_v"].append(float(np.mean(1 / (values + strength))))
        found["risk"].append(rest + spread**2 * missed + weight**2 * key_part)
        found["train_error"].append((left + rest * float(np.sum((1 - share) ** 2))) / n)
    return {name: np.array(values) for name, values in found.items()}
