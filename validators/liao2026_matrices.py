"""Matrices behind the interpolation error: resolvents, spectra, the kernel's low-rank part, moments of f.

Each is sampled from the model of ``liao2026`` as it is defined.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import integrate

from .liao2026_controls import Run, controlled, token_controls
from .liao2026_model import (
    SIZE,
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
    series_from,
    sizes,
)
from .simulator import simulator

#: Matrices averaged for one curve of errors.
MATRICES = 4
MOST_MATRICES = 16 * MATRICES
#: Runs of what is small in memory that are drawn together.
RUNS_AT_ONCE = 256


@simulator(covers=("gap",))
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


@simulator(
    size=SIZE,
    orders=(1.0,),
    cost=3.0,
    series_from=series_from,
    covers=("alpha", "beta", "delta", "g", "e", "eta", "d_alpha", "d_beta", "d_delta", "d_g", "d_e", "d_eta"),
)
def noise_traces(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """Normalised traces of the resolvent of the null model and their slopes in the penalty.

    With them go what g, e and eta mean: gamma + b^2 delta, b^2 alpha and (d - a1) sqrt(c) + b^2 beta.
    """
    p, n = sizes(point)
    gamma, f = float(point["gamma"]), function_of(point)
    slope = slope_of(point)
    rest = max(0.0, _power_of(point) - slope**2)
    begin = (float(point.get("diagonal", 0.0)) - slope) * np.sqrt(p / n)

    def one() -> dict[str, float]:
        tokens = rng.standard_normal((p, n))
        attention = make_attention(
            make_logits(tokens, np.zeros(p), np.zeros(p)), f, p, float(point.get("diagonal", 0.0))
        )
        spectrum = tokens.T @ tokens / p
        moved = attention @ spectrum
        resolvent = np.linalg.inv(p / n * moved @ attention.T + gamma * np.eye(n))
        twice = resolvent @ resolvent
        alpha, d_alpha = float(np.trace(resolvent)) / n, -float(np.trace(twice)) / n
        beta, d_beta = (-sign * np.sqrt(p / n) * float(np.sum(q * moved.T)) / n
                        for sign, q in ((1, resolvent), (-1, twice)))  # fmt: skip
        # S K Q K S has the trace of Q K S S K
        delta = (float(np.trace(spectrum)) - p / n * float(np.sum(moved * (resolvent @ moved)))) / n
        d_delta = p / n * float(np.sum(moved * (twice @ moved))) / n
        return {
            "alpha": alpha, "beta": beta, "delta": delta,
            "g": gamma + rest * delta, "e": rest * alpha, "eta": begin + rest * beta,
            "d_alpha": d_alpha, "d_beta": d_beta, "d_delta": d_delta,
            "d_g": 1 + rest * d_delta, "d_e": rest * d_alpha, "d_eta": rest * d_beta,
        }  # fmt: skip

    return repeat(one, count)


@simulator(
    size=SIZE,
    orders=(1.0,),
    cost=3.0,
    series_from=series_from,
    scale=1.0,
    covers=("n", "yy", "ym", "mm", "pp", "outlier", "outlier_mass", "moment_yy_1", "moment_yy_2", "moment_yy_3"),
)
def spectral_forms(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """Quadratic forms of (S - z)^(-1), S = X^T X/p, and moments of S in the direction of the labels.

    The law of X does not change under rotations about mu: pp is averaged over all unit vectors orthogonal to it.
    """
    p, n = sizes(point)
    z = complex(point["z"])

    def make_run(p: int, n: int) -> Run:
        mu = make_vectors({"snr": point.get("snr", 0.0)}, p)[0]
        length = float(np.linalg.norm(mu))
        along = mu / length if length else np.eye(p)[0]
        # nearer to where it enters the bulk the largest eigenvalue has corrections of other orders
        is_apart = length**2 > 1.5 * np.sqrt(p / n)

        def run(source: Generator) -> tuple[dict[str, Any], Array]:
            labels = draw_labels(source, n)
            raw = draw_tokens(source, mu, labels)
            tokens = raw / np.sqrt(p)
            unit, image = labels / np.sqrt(n), along @ tokens
            spectrum = tokens.T @ tokens
            moved = spectrum @ unit
            forms: dict[str, Any] = {
                f"moment_yy_{k}": float(value)
                for k, value in enumerate((unit @ moved, moved @ moved, moved @ (spectrum @ moved)), 1)
            }
            if is_apart:
                values, vectors = np.linalg.eigh(spectrum)
                forms |= {"outlier": float(values[-1]), "outlier_mass": float((vectors[:, -1] @ unit) ** 2)}
            else:
                values = np.linalg.eigvalsh(spectrum)
            solved = np.linalg.solve(spectrum - z * np.eye(n), np.stack([unit, image], axis=1).astype(complex))
            mm = image @ solved[:, 1]
            # a signal moves the trace by a share 1/n only
            weights = 1 / (values - z)
            forms |= {
                "n": np.mean(weights), "yy": unit @ solved[:, 0], "ym": unit @ solved[:, 1] if length else 0.0,
                "mm": mm, "pp": (np.sum(weights * values) - mm) / (p - 1),
            }  # fmt: skip
            found = {name: value if z.imag else float(np.real(value)) for name, value in forms.items()}
            return found, token_controls(raw, labels, mu, (along,))

        return run

    return controlled(make_run, ("spectral_forms", p, n, point), rng, count)


@simulator(size=SIZE, orders=(1.0,), cost=3.0, series_from=100, covers=("snr_low", "snr_high", "best_ratio_snr"))
def reversal_window(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """Where attention whose weights see mu perfectly has the lower error, and where the ratio of errors is largest.

    Such attention regresses the labels off X^T mu and has its error on noise for the rest, a share 1/(1 + |mu|^2); an
    f without linear part sees nothing. X = mu y^T + Z changes X^T X by rank two, so that one decomposition of Z gives
    the error of ridge at all strengths; forms of its resolvent are averaged over the directions of y and mu.
    The ends of the window are left out with ``weights``, which need not see mu perfectly, and where there are none.

    The place of a top is no linear function of what is averaged: where it jumps from run to run its mean is off by the
    square of that. Runs are made of so many matrices that it does not, and refused where that takes too many.
    """
    p, n = sizes(point)
    gamma, f = float(point["gamma"]), function_of(point)
    strengths = np.geomspace(1e-3, 1e4, 2000)
    is_even = point.get("nonlinearity") == "cos" or float(point.get("a1", 1.0)) == 0
    share = np.ones(strengths.size) if is_even else 1 / (1 + strengths)

    def averages(source: Generator, with_ends: bool) -> list[float]:
        noise = source.standard_normal((p, n))
        values = _squared_singular_values(noise) / n
        poles = 1 / (values + gamma)
        null = np.inf
        if with_ends:
            features = noise @ make_attention(make_logits(noise, np.zeros(p), np.zeros(p)), f, p, 0.0)
            null = float(np.mean((gamma / (gamma + _squared_singular_values(features) / n)) ** 2))
        # forms of h = Z^T mh/sqrt(n) and of yh, then their slopes in gamma
        return [null, poles.mean(), values @ poles / p, -(poles**2).mean(), -(values @ poles**2) / p]

    def run(source: Generator, with_ends: bool, matrices: int = MATRICES) -> tuple[float, float, float]:
        # several matrices for one curve: the top of a flat one would jump from matrix to matrix
        null, a, d, da, dd = np.mean([averages(source, with_ends) for _ in range(matrices)], axis=0)
        ridge = gamma**2 * _slope_of_form((a, 0.0, d), (da, 0.0, dd), np.sqrt(strengths))
        top = _top(strengths, ridge / share)
        return top, *(_ends(strengths, np.log(ridge / (share * null))) if with_ends else (0.0, 0.0))

    key = tuple(sorted((k, str(v)) for k, v in point.items()))
    if key not in _HAS_ENDS:
        # random numbers of their own: what is sampled, and from how many matrices, does not depend on the samples
        source = np.random.default_rng(20260219)
        ends = np.array([run(source, True)[1:] for _ in range(0 if "weights" in point else 2)])
        _HAS_ENDS[key] = ends.size > 0 and bool(np.all((ends > 1e-2) & (ends < 1e3)))
        tops = np.array([run(source, False)[0] for _ in range(TOPS)])
        jump = tops.std(ddof=1) / tops.mean() if tops.any() else 0.0
        _MATRICES[key] = MATRICES * max(1, int(np.ceil((jump / STEADY) ** 2)))
    has_ends, matrices = _HAS_ENDS[key], _MATRICES[key]
    if matrices > MOST_MATRICES:
        raise ValueError("the ratio of errors is so flat in the signal that no sample of this size shows its top")

    def one() -> dict[str, float]:
        best, first, last = run(rng, has_ends, matrices)
        # a run without a window has shrunk it to a point
        low, high = (first, last) if last > 0 else (best, best)
        return {"best_ratio_snr": best, **({"snr_low": low, "snr_high": high} if has_ends else {})}

    return repeat(one, count)


_HAS_ENDS: dict[Any, bool] = {}
_MATRICES: dict[Any, int] = {}
#: Runs that show how much the place of a top jumps, and the share of it that it may.
TOPS, STEADY = 12, 0.1


def _squared_singular_values(matrix: Array) -> Array:
    """Eigenvalues of M^T M, by the smaller of the two products; those that must vanish do."""
    p, n = matrix.shape
    found = np.maximum(np.linalg.eigvalsh(matrix @ matrix.T if p < n else matrix.T @ matrix), 0.0)
    return np.concatenate([np.zeros(max(0, n - p)), found])


def _slope_of_form(forms: Any, slopes: Any, s: Any) -> Any:
    """Minus the slope in gamma of y^T (G + s (h y^T + y h^T) + s^2 y y^T)^(-1) y, by the Woodbury identity."""
    (a, b, d), (da, db, dd) = forms, slopes
    below = (1 + s * b) ** 2 + s**2 * a * (1 - d)
    slope = 2 * (1 + s * b) * s * db + s**2 * (da * (1 - d) - a * dd)
    return -(da * below - a * slope) / below**2


def _ends(places: Array, lead: Array) -> tuple[float, float]:
    """Where a curve on a geometric grid is positive first and last, between the grid's places by a straight line."""
    above = np.flatnonzero(lead > 0)
    if not above.size:
        return np.inf, 0.0

    def crossing(outside: int, inside: int) -> float:
        if not 0 <= outside < places.size:
            return float(places[inside])
        share = lead[inside] / (lead[inside] - lead[outside])
        return float(places[inside] * (places[outside] / places[inside]) ** share)

    return crossing(above[0] - 1, above[0]), crossing(above[-1] + 1, above[-1])


def _top(places: Array, curve: Array) -> float:
    """The place of a curve's maximum on a geometric grid, by a parabola; zero where the curve only falls."""
    top = int(np.argmax(curve))
    if top == 0:
        return 0.0
    left, middle, right = curve[min(top, places.size - 2) - 1 :][:3]
    bend = left - 2 * middle + right
    shift = 0.5 * (left - right) / bend if bend else 0.0
    return float(places[top] * (places[1] / places[0]) ** shift)


# what is kept has a correction of order 1/p, whatever the remainder does
@simulator(size=SIZE, orders=(1.0,), cost=1.0, series_from=series_from, covers=("rank", "strength"))
def kept_part(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """Rank and operator norm of the kept part of the attention matrix, U Sigma V^T/p with U and V of three columns.

    The columns are y, Z^T mu and X^T w: of the noise they see three projections, which are all that is drawn.
    """
    p, n = sizes(point)
    mu, key, query = make_vectors(point, p)
    slope, snr = slope_of(point), float(mu @ mu)
    middle = slope / p * np.array([[snr, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    # rows of noise in an orthonormal basis of the three directions
    _, lengths, frame = np.linalg.svd(np.array([mu, key, query]), full_matrices=False)
    # vectors made from a Gram matrix are known to the square root of rounding
    places = np.array([mu, key, query]) @ frame[lengths > 1e-6].T
    ranks, strengths = [], []
    for first in range(0, count, RUNS_AT_ONCE):
        many = min(RUNS_AT_ONCE, count - first)
        labels = np.stack([draw_labels(rng, n) for _ in range(many)])
        noise = rng.standard_normal((many, n, places.shape[1])) @ places.T
        along = [noise[..., 0], *(noise[..., k] + (w @ mu) * labels for k, w in ((1, key), (2, query)))]
        # the triangles have the singular values of the whole
        left, right = (np.linalg.qr(np.stack([labels, along[0], one], axis=2), mode="r") for one in along[1:])
        values = np.linalg.svd(left @ middle @ np.swapaxes(right, 1, 2), compute_uv=False)
        ranks.append(np.sum(values > 1e-9, axis=1).astype(float))
        strengths.append(values[:, 0])
    return {"rank": np.concatenate(ranks), "strength": np.concatenate(strengths)}


@simulator(size=SIZE, orders=(1.0,), cost=3.0, covers=("rank", "strength"), whole=True)
def kernel_remainder(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """Operator norms of the kept low-rank part of whole attention matrices and of what is left, and the kept rank."""
    p, n = sizes(point)
    mu, key, query = make_vectors(point, p)
    f = function_of(point)
    slope = slope_of(point)

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


def slope_of(point: Point) -> float:
    """E[xi f(xi)], as it is given or by adaptive quadrature."""
    if "a1" in point:
        return float(point["a1"])
    f = function_of(point)
    return _normal_mean(lambda t: t * float(f(np.asarray(t))))


def _power_of(point: Point) -> float:
    """E[f(xi)^2], likewise."""
    if "second_moment" in point:
        return float(point["second_moment"])
    f = function_of(point)
    return _normal_mean(lambda t: float(f(np.asarray(t))) ** 2)


def _normal_mean(function: Callable[[float], float]) -> float:
    """Mean over a standard normal number, piece by piece so that no bend is jumped over."""

    def density(t: float) -> float:
        return function(t) * float(np.exp(-t * t / 2)) / float(np.sqrt(2 * np.pi))

    return float(sum(integrate.quad(density, k, k + 1, epsabs=1e-12)[0] for k in range(-12, 12)))


@simulator(covers=("mean", "a1", "second_moment", "a2"))
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


@simulator(size=SIZE, cost=3.0, covers=("b",))
def nonlinear_part(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """Spread of the entries of sqrt(p) K that their own logits do not explain, off the diagonal."""
    f = function_of(point)
    # twice the size: entries are cheap, and the next order of the correction is then out of sight
    p = n = 2 * int(point.get("size", SIZE))

    def one() -> dict[str, float]:
        tokens = rng.standard_normal((p, n))
        logits = make_logits(tokens, np.zeros(p), np.zeros(p))[np.triu_indices(n, 1)]
        values = f(logits)
        left = values - logits * (logits @ values) / (logits @ logits)
        return {"b": float(np.sqrt(np.mean(left**2)))}

    return repeat(one, count)
