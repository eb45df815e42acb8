"""Regressions and classifiers fitted to drawn data."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.linalg import cho_solve
from scipy.optimize import minimize_scalar
from scipy.special import ndtr, zeta

from .classics_spectra import columns, sizes
from .simulator import simulator

Point = Mapping[str, Any]
SIZE = 200
#: Small rules can be drawn in such numbers that more is gained than by large ones.
RULES = 150
#: Sample means drawn for each sample covariance.
MEANS = 8


@simulator(size=SIZE, orders=(1.0,), cost=3.0, covers=("risk", "bias", "variance"))
def ridge_risk(point: Point, rng: Generator, count: int) -> dict[str, Any]:
    """Squared distance of the ridge estimate from the coefficients, averaged over their directions and the noise."""
    g, penalty, norm2, noise2 = (float(point[name]) for name in ("g", "lam", "r2", "s2"))
    n, p = sizes(g, int(point.get("size", SIZE)))

    def one() -> dict[str, Any]:
        data = rng.standard_normal((n, p))
        # the matrix that makes the estimate of the labels: of least norm where there is no penalty
        if penalty == 0:
            estimate = np.linalg.pinv(data)
        elif p <= n:
            estimate = np.linalg.solve(data.T @ data + n * penalty * np.eye(p), data.T)
        else:
            estimate = np.linalg.solve(data @ data.T + n * penalty * np.eye(n), data).T
        bias = norm2 * float(np.sum((estimate @ data - np.eye(p)) ** 2)) / p
        variance = noise2 * float(np.sum(estimate**2))
        return {"risk": bias + variance, "bias": bias, "variance": variance}

    return columns([one() for _ in range(count)])


@simulator(size=SIZE, orders=(1.0,), cost=3.0, covers=("best_lam",))
def best_penalty(point: Point, rng: Generator, count: int) -> dict[str, Any]:
    """The penalty with the least risk on a drawn matrix, averaged over directions of the coefficients and noises."""
    g, norm2, noise2 = (float(point[name]) for name in ("g", "r2", "s2"))
    n, p = sizes(g, int(point.get("size", SIZE)))
    if noise2 == 0:
        raise ValueError("without noise no penalty is best, and there is nothing to search for")

    def one() -> dict[str, Any]:
        values = np.linalg.svd(rng.standard_normal((n, p)), compute_uv=False) ** 2 / n
        lost = p - len(values)

        def risk(log: float) -> float:
            penalty = np.exp(log)
            kept = 1 / (values + penalty)
            return float(norm2 * (lost + np.sum((penalty * kept) ** 2)) / p + noise2 * np.sum(values * kept**2) / n)

        return {
            "best_lam": np.exp(minimize_scalar(risk, bounds=(-14, 14), method="bounded", options={"xatol": 1e-9}).x)
        }

    return columns([one() for _ in range(count)])


@simulator(size=RULES, orders=(1.0,), cost=2.0, covers=("error",))
def discriminant_error(point: Point, rng: Generator, count: int) -> dict[str, Any]:
    """The rate at which a trained rule errs on fresh samples, which is known given the rule."""
    g, distance2 = float(point["g"]), float(point["delta2"])
    n, p = sizes(2 * g, int(point.get("size", RULES)))
    mean = np.zeros(p)
    mean[0] = np.sqrt(distance2) / 2

    def one() -> dict[str, Any]:
        # n samples of each class; means and covariance of normal samples are independent, the latter has Bartlett's
        # triangular factor
        factor = np.tril(rng.standard_normal((p, p)), -1)
        factor[np.diag_indices(p)] = np.sqrt(rng.chisquare(2 * n - 2 - np.arange(p)))
        ups = mean[:, None] + rng.standard_normal((p, MEANS)) / np.sqrt(n)
        downs = -mean[:, None] + rng.standard_normal((p, MEANS)) / np.sqrt(n)
        direction = cho_solve((factor, True), ups - downs)
        middle, length = np.sum(direction * (ups + downs), axis=0) / 2, np.linalg.norm(direction, axis=0)
        along = mean @ direction
        return {"error": np.mean(ndtr((middle - along) / length) + ndtr(-(along + middle) / length)) / 2}

    return columns([one() for _ in range(count)])


#: Modes of a power law that are drawn, for each sample. The others are so many and so small that none is learned:
#: together they act as a ridge, the sum of their eigenvalues, and what the target has of them is noise.
MODES = 6
#: Samples of the smaller of two systems, at least.
SAMPLES = 80


@simulator(exact=True, systematic=0.002, covers=("kappa", "test_error"))
def kernel_ridge(point: Point, rng: Generator, count: int) -> dict[str, Any]:
    """Kernel regression on Gaussian eigenfunctions, and one over the trace of the inverse kernel matrix.

    The theorem is the limit of many modes for each eigenvalue, samples and ridge growing with them. Two systems, one
    twice as large as the other, give it up to the square of the correction, which the systematic part bounds.
    """
    n, penalty, noise2 = round(float(point["n"])), float(point["ridge"]), float(point["s2"])
    if n != float(point["n"]):
        raise ValueError("a whole number of samples is drawn")
    rest = unseen = 0.0
    if "eigenvalues" in point:
        values, target = (np.array([float(Fraction(x)) for x in str(point[k]).split(",")])
                          for k in ("eigenvalues", "coefficients"))  # fmt: skip
    else:
        modes = np.arange(1.0, MODES * max(n, 20) + 1)
        values, target = modes ** -float(point["decay"]), modes ** (-float(point["source"]) / 2)
        rest, unseen = (float(zeta(float(point[name]), len(modes) + 1)) for name in ("decay", "source"))
    copies = -(-SAMPLES // n)

    def one(copies: int) -> Any:
        """Effective ridge and error with so many modes of each eigenvalue, over the noise and the target's signs."""
        all_values = np.repeat(values, copies)
        functions = rng.standard_normal((copies * n, len(all_values)))
        weighted = functions * all_values
        kernel = weighted @ functions.T
        kernel[np.diag_indices(copies * n)] += copies * (penalty + rest)
        inverse = np.linalg.inv(kernel)
        spread = inverse @ (weighted @ weighted.T) @ inverse
        # a mode of the target is missed by |D F^T K^-1 f - e|^2; signs of modes do not matter
        missed = 1 - 2 * all_values * _forms(functions, inverse) + _forms(functions, spread)
        error = target**2 @ missed.reshape(-1, copies).mean(axis=1) + (noise2 + unseen) * np.trace(spread) + unseen
        return np.array([1 / np.trace(inverse), error])

    found = np.array([2 * one(2 * copies) - one(copies) for _ in range(count)])
    return {"kappa": found[:, 0], "test_error": found[:, 1]}


def _forms(vectors: Any, matrix: Any) -> Any:
    """The quadratic form of a matrix at every column."""
    return np.einsum("ni,ni->i", vectors, matrix @ vectors)
