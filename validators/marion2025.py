"""Single-location regression as it is defined: whole tokens, a hidden place, a label.

A sequence has L tokens in R^d. The one at the hidden place, uniform over the sequence, is
N(sqrt(d/2) k*, gamma^2 I), the others are N(0, I), and the label is that token's product with v* plus
noise of standard deviation eps. The predictor is sum_l erf(lam X_l.k) X_l.v.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

from .simulator import simulator

Array = NDArray[np.float64]
Point = Mapping[str, float]
PRODUCTS = ("kappa", "nu", "theta", "eta", "rho")
#: Numbers drawn at once: one megabyte, which is still in the processor's cache when it is used.
BLOCK = 2**17
#: Laws of a token's coordinates, all of mean zero and variance one; the theorems assume the first.
TOKEN_LAWS = ("gaussian", "rademacher", "laplace", "student5", "correlated")
#: Draws of the smallest pilot sample to which a linear predictor is fitted.
PILOT = 1000


def make_frame(d: int) -> Array:
    """Orthonormal columns of R^d with no small entries: the first four of the cosine basis, fewer below d = 4.

    The first is k* and the second v*. Coordinate axes would serve a Gaussian token as well, but would leave
    most of its coordinates unread.
    """
    if d < 2:
        raise ValueError(f"d = {d}: k* and v* are orthogonal, which needs at least two dimensions")
    angles = np.outer(np.arange(d) + 0.5, np.arange(min(d, 4))) * (np.pi / d)
    columns = np.cos(angles)
    return columns / np.linalg.norm(columns, axis=0)


def make_vectors(point: Point) -> tuple[Array, Array, Array, Array]:
    """Unit vectors (k, v, k*, v*) with the inner products asked for; absent ones are those of the oracle.

    >>> k, v, k_star, v_star = make_vectors({"kappa": 0.6, "nu": 0.5, "rho": 0.1, "d": 7})
    >>> print(f"{k @ k_star:.12f} {v @ v_star:.12f} {k @ v:.12f}")
    0.600000000000 0.500000000000 0.100000000000
    """
    frame = make_frame(int(point["d"]))
    kappa, nu = point.get("kappa", 1.0), point.get("nu", 1.0)
    theta, eta, rho = (point.get(name, 0.0) for name in ("theta", "eta", "rho"))
    k, v = np.zeros(4), np.zeros(4)
    k[:3] = kappa, eta, np.sqrt(max(0.0, 1 - kappa**2 - eta**2))
    v[:2] = theta, nu
    if k[2] > 0:
        v[2] = (rho - kappa * theta - eta * nu) / k[2]
    v[3] = np.sqrt(max(0.0, 1 - v @ v))
    # The square roots turn a defect of rounding size into 1e-8 in a vector, but not in its products.
    defects = np.abs([k @ k - 1, v @ v - 1, k @ v - rho])
    if not np.all(defects < 1e-9):
        asked = ", ".join(f"{name} = {x:g}" for name, x in zip(PRODUCTS, (kappa, nu, theta, eta, rho), strict=True))
        raise ValueError(f"no unit vectors have {asked}: their Gram matrix is not positive semidefinite")
    rank = frame.shape[1]
    if np.any(np.abs(np.concatenate([k[rank:], v[rank:]])) > 1e-7):
        raise ValueError(f"these inner products need more than d = {rank} dimensions")
    return frame @ k[:rank], frame @ v[:rank], frame[:, 0], frame[:, 1]


def draw_noise(rng: np.random.Generator, n: int, d: int, law: str, L: int) -> Array:
    """Tokens (n, d) before any is shifted: coordinates of mean zero and variance one from a named law.

    The theorems speak about "gaussian". Of "correlated" tokens, half of the variance is common to the L tokens
    of a sequence, of which there must be whole ones.
    """
    if law == "gaussian":
        return rng.standard_normal((n, d))
    if law == "rademacher":
        return 2.0 * rng.integers(2, size=(n, d)) - 1.0
    if law == "laplace":
        return rng.laplace(scale=np.sqrt(0.5), size=(n, d))
    if law == "student5":
        return rng.standard_t(5, size=(n, d)) * np.sqrt(3 / 5)
    if law == "correlated":
        common = rng.standard_normal((n // L, 1, d))
        own = rng.standard_normal((n // L, L, d))
        return ((common + own) * np.sqrt(0.5)).reshape(n, d)
    raise ValueError(f"tokens are drawn from {', '.join(TOKEN_LAWS)}, not from {law!r}")


def draw_tokens(
    rng: np.random.Generator,
    n: int,
    informative: NDArray[np.intp],
    gamma: float,
    k_star: Array,
    law: str = "gaussian",
    L: int = 1,
) -> Array:
    """Tokens (n, d), those in the rows ``informative`` shifted along k*; the only place where tokens are drawn."""
    tokens = draw_noise(rng, n, len(k_star), law, L)
    chosen = tokens.take(informative, axis=0)  # several times faster than an index on small tokens
    chosen *= gamma
    chosen += np.sqrt(len(k_star) / 2) * k_star
    tokens[informative] = chosen
    return tokens


def draw_sequences(
    point: Point, rng: np.random.Generator, count: int, k_star: Array, directions: Array
) -> Iterator[tuple[slice, Array, Array]]:
    """Blocks of sequences, as the products of their tokens with m directions.

    A block is the slice of its samples, the products (n, L, m), and those (n, m) of the tokens at the hidden
    places. Whole tokens exist about one megabyte at a time, or one by one where a token is larger; of a
    sequence only the products are held. The samples do not depend on the size of the blocks.
    """
    L, gamma, law = int(point["L"]), point["gamma"], str(point.get("tokens", "gaussian"))
    d, m = directions.shape
    places = rng.integers(L, size=count)
    n_sequences, n_tokens = max(1, BLOCK // L), max(1, BLOCK // d)
    if law == "correlated":
        # the tokens of a sequence are drawn together
        n_tokens = max(1, n_tokens // L) * L
    for first in range(0, count, n_sequences):
        here = places[first : first + n_sequences]
        informative = np.arange(len(here)) * L + here
        products = np.empty((len(here) * L, m))
        for begin in range(0, len(products), n_tokens):
            end = min(begin + n_tokens, len(products))
            rows = informative[np.searchsorted(informative, begin) : np.searchsorted(informative, end)] - begin
            tokens = draw_tokens(rng, end - begin, rows, gamma, k_star, law, L)
            np.matmul(tokens, directions, out=products[begin:end])
        yield slice(first, first + len(here)), products.reshape(-1, L, m), products.take(informative, axis=0)


def draw_label_noise(point: Point, rng: np.random.Generator, count: int) -> Array:
    """Noise of the labels; none is drawn where eps is zero or absent."""
    eps = point.get("eps", 0.0)
    return eps * rng.standard_normal(count) if eps else np.zeros(count)


@simulator(variants={"tokens": TOKEN_LAWS}, whole=True, covers=("risk", "excess"))
def attention_risk(point: Point, rng: np.random.Generator, count: int) -> dict[str, Array]:
    """Squared errors of sum_l erf(lam X_l.k) X_l.v, and the same less the variance of the label noise.

    >>> point = {"lam": 0.2, "gamma": 1.0, "d": 50, "L": 4}
    >>> attention_risk(point, np.random.default_rng(0), 1000)["risk"].shape
    (1000,)
    """
    eps = point.get("eps", 0.0)
    k, v, k_star, v_star = make_vectors(point)
    errors = draw_label_noise(point, rng, count)
    for samples, products, hidden in draw_sequences(point, rng, count, k_star, np.stack([k, v, v_star], axis=1)):
        errors[samples] += hidden[:, 2]
        errors[samples] -= np.einsum("nl,nl->n", erf(point["lam"] * products[:, :, 0]), products[:, :, 1])
    return {"risk": errors**2, "excess": errors**2 - eps**2}


@simulator(variants={"tokens": TOKEN_LAWS}, covers=("d_kappa", "d_nu", "d_theta", "d_eta", "d_rho"))
def attention_gradient(point: Point, rng: np.random.Generator, count: int) -> dict[str, Array]:
    """Unbiased samples of the derivatives of the risk in the five inner products.

    The gradient in k of one squared error is a vector of R^d whose mean lies in the span of k*, v*, k and v;
    its coordinates there are the derivatives in kappa, eta, |k| and rho, and likewise for v. They are
    read off with the inverse of the Gram matrix, which therefore must not be singular: the five products are
    coordinates only where the four vectors are independent.
    """
    lam = point["lam"]
    k, v, k_star, v_star = make_vectors(point)
    vectors = np.stack([k_star, v_star, k, v], axis=1)
    if point.get("tokens", "gaussian") == "gaussian" and not point.get("whole", False):
        # of a Gaussian token only the coordinates in the span of the four vectors are read: no others are drawn
        vectors = make_frame(len(vectors)).T @ vectors
    # the shift has the length sqrt(d/2) in fewer dimensions too
    shifted = vectors[:, 0] * np.sqrt(len(k) / len(vectors))
    gram = vectors.T @ vectors
    if np.linalg.cond(gram) > 1e8:
        raise ValueError("k*, v*, k and v are linearly dependent: the derivatives in their products are not defined")
    noise = draw_label_noise(point, rng, count)
    slopes = np.empty((2, count, 4))
    for samples, products, hidden in draw_sequences(point, rng, count, shifted, vectors):
        score, answer = products[:, :, 2], products[:, :, 3]
        weight = erf(lam * score)
        error = np.einsum("nl,nl->n", weight, answer) - hidden[:, 1] - noise[samples]
        slope_of_erf = 2 / np.sqrt(np.pi) * np.exp(-((lam * score) ** 2))
        for side, factor in enumerate((lam * slope_of_erf * answer, weight)):
            slopes[side, samples] = 2 * error[:, None] * np.einsum("nl,nlm->nm", factor, products)
    of_k, of_v = slopes @ np.linalg.inv(gram)
    return {
        "d_kappa": of_k[:, 0],
        "d_nu": of_v[:, 1],
        "d_theta": of_v[:, 0],
        "d_eta": of_k[:, 1],
        "d_rho": (of_k[:, 3] + of_v[:, 2]) / 2,
    }


@simulator(variants={"tokens": TOKEN_LAWS}, covers=("risk", "excess", "coefficient"))
def best_linear_risk(point: Point, rng: np.random.Generator, count: int) -> dict[str, Array]:
    """Samples whose means are the risk of the best linear predictor and its weight on v*.

    Symmetries of the model shrink the fit. The place is uniform, so exchanging tokens changes nothing in
    law, and the mean of a predictor over all exchanges is no worse than the predictor, as the square is convex:
    the best one gives every token the same weights, and reads the sum S of the tokens. A reflection that fixes
    k* and v* changes nothing either, so the weights lie in their span; one that turns over v* and the label
    leaves them no part along k*. The length of the shift therefore has no effect, and tokens in R^2 serve for every d.

    Two fits w1 and w2 on pilot samples of their own give the sample (Y - w1.S)(Y - w2.S). Its mean exceeds the risk
    of the best w by (E w1 - w).E[S S'].(E w2 - w), the square of the bias of one fit. Label and sum are jointly
    Gaussian, whatever the place, so the residual of w is independent of S, a fit has no bias, and the samples are
    unbiased; for tokens of another law this would be of order 1/n^2 for n pilot draws. The weight is w1 after one
    Newton step with the second pilot's matrix, unbiased for the same reason. What all samples of a call share
    through the fits adds at most about a thousandth to the variance of their mean.

    >>> sample = best_linear_risk({"gamma": 1.0, "L": 1}, np.random.default_rng(0), 100)
    >>> bool(abs(sample["coefficient"] - 1).max() < 1e-12)
    True
    """
    # With p = 2 fitted numbers, p count / (2 n^2) of the variance of the mean is shared: at most 1 / PILOT.
    n_pilot = max(PILOT, int(np.sqrt(PILOT * count)))
    fits = []
    for _ in range(2):
        sums, labels = _draw_sums(point, rng, n_pilot)
        matrix = sums.T @ sums / n_pilot
        fits.append((matrix, np.linalg.solve(matrix, sums.T @ labels / n_pilot)))
    (_, first), (matrix, second) = fits
    sums, labels = _draw_sums(point, rng, count)
    error = labels - sums @ first
    risk = error * (labels - sums @ second)
    return {
        "risk": risk,
        "excess": risk - point.get("eps", 0.0) ** 2,
        "coefficient": first[1] + error * (sums @ np.linalg.inv(matrix)[1]),
    }


def _draw_sums(point: Point, rng: np.random.Generator, count: int) -> tuple[Array, Array]:
    """Sums of the tokens of sequences in R^2, as coordinates along k* and v*, and the labels."""
    frame = make_frame(2)
    labels, sums = draw_label_noise(point, rng, count), np.empty((count, 2))
    for samples, products, hidden in draw_sequences(point, rng, count, frame[:, 0], frame):
        np.einsum("nlm->nm", products, out=sums[samples])
        labels[samples] += hidden[:, 1]
    return sums, labels
