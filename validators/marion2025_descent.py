"""Training of erf attention by gradient steps on whole vectors k and v, on the population or online.

Both kinds take the step of the projected method: k <- k - alpha (I - k k') g, scaled back to norm one, and the
same for v at once, with lam_t = lam / (1 + schedule t) at step t = 0, 1, ... Nothing here knows that the risk
is a function of five numbers; they are read off at the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np
from scipy.special import erf

from .marion2025 import BLOCK, PRODUCTS, TOKEN_LAWS, Array, draw_tokens, make_frame, make_vectors
from .simulator import simulator

_TWO_OVER_ROOT_PI = 2 / np.sqrt(np.pi)


def inner_products(k: Array, v: Array, k_star: Array, v_star: Array) -> dict[str, Array]:
    """The five inner products of vectors (..., d) with k*, v* and each other."""
    return dict(zip(PRODUCTS, (k @ k_star, v @ v_star, v @ k_star, k @ v_star, (k * v).sum(-1)), strict=True))


@lru_cache(maxsize=64)
def _normal_rule(slope: float) -> tuple[Array, Array]:
    """Nodes and weights of a mean over N(0, 1) of polynomials times products of two erf(slope z + t) or derivatives.

    The trapezoidal rule of step h errs by the size of the integrand at height a in the complex plane times
    exp(-2 pi a / h). There the density grows as exp(a^2 / 2) and the product as exp(2 slope^2 a^2); the best a leaves
    exp(-pi^2 / (h^2 (1/2 + 2 slope^2))), which h makes exp(-42) = 6e-19. Beyond 9.5 the density is below 1e-20.
    """
    step = np.pi / np.sqrt(42 * (0.5 + 2 * slope**2))
    n = int(np.ceil(9.5 / step))
    nodes = step * np.arange(-n, n + 1)
    return nodes, step / np.sqrt(2 * np.pi) * np.exp(-(nodes**2) / 2)


def _token_means(k: Array, v: Array, target: Array, mean: Array, sigma: float, lam: float) -> tuple[Array, Array]:
    """Means over one token X ~ N(mean, sigma^2 I) of what the gradient of the risk is made of.

    With e = erf(lam X.k) X.v - X.target and the two vectors A = lam erf'(lam X.k) (X.v) X, B = erf(lam X.k) X, the
    results are (E e, E e^2) and the rows E A, E B, E eA, E eB. Given z = (X - mean).k / (sigma |k|), the token is
    m + sigma W with m = mean + sigma z k/|k| and W Gaussian on the complement of k, so that means of up to three
    factors linear in X are those of a Gaussian, and only z is left to the quadrature.
    """
    norm = np.sqrt(k @ k)
    unit = k / norm
    z, weights = _normal_rule(float(lam * sigma * norm))
    argument = lam * (mean @ k + sigma * norm * z)
    f, slope = erf(argument), lam * _TWO_OVER_ROOT_PI * np.exp(-(argument**2))
    # Parts of v and of the target across k; products of W with them have these covariances.
    across_v, across_target = v - (unit @ v) * unit, target - (unit @ target) * unit
    vv, vt, tt = (sigma**2 * x @ y for x, y in ((v, across_v), (v, across_target), (target, across_target)))
    m_v = mean @ v + sigma * z * (unit @ v)
    m_e = f * m_v - mean @ target - sigma * z * (unit @ target)
    # The residual e is X.(f v - target): its covariances with X.v and with itself at given z follow.
    e_v = f * vv - vt
    e_e = f * (f * vv - 2 * vt) + tt
    zero = np.zeros_like(z)
    # Each mean is along the token's mean m, then along the parts of v and of the target across k.
    along = (
        (slope * m_v, slope, zero),
        (f, zero, zero),
        (slope * (m_e * m_v + e_v), slope * (m_e + m_v * f), -slope * m_v),
        (f * m_e, f * f, -f),
    )
    columns = np.array([(c, c * z, of_v, of_target) for c, of_v, of_target in along]) @ weights
    basis = np.stack([mean, sigma * unit, sigma**2 * across_v, sigma**2 * across_target])
    return np.array([m_e @ weights, (m_e**2 + e_e) @ weights]), columns @ basis


def _both_tokens(k: Array, v: Array, k_star: Array, v_star: Array, lam: float, gamma: float) -> tuple:
    """Means over the informative token and over a noise token."""
    nothing = np.zeros_like(k)
    return (
        *_token_means(k, v, v_star, np.sqrt(len(k) / 2) * k_star, gamma, lam),
        *_token_means(k, v, nothing, nothing, 1.0, lam),
    )


def population_risk(
    k: Array, v: Array, k_star: Array, v_star: Array, lam: float, gamma: float, L: int, eps: float = 0.0
) -> float:
    """Mean squared error of sum_l erf(lam X_l.k) X_l.v over the model, by quadrature; k and v of any length.

    >>> k, v, k_star, v_star = make_vectors({"d": 50})
    >>> round(population_risk(k, v, k_star, v_star, lam=1e-9, gamma=1.5, L=3), 6)
    2.25
    """
    (m1, q1), _, (m0, q0), _ = _both_tokens(k, v, k_star, v_star, lam, gamma)
    return float(eps**2 + q1 + (L - 1) * (q0 + 2 * m1 * m0 + (L - 2) * m0**2))


def population_gradient(
    k: Array, v: Array, k_star: Array, v_star: Array, lam: float, gamma: float, L: int
) -> tuple[Array, Array]:
    """Gradient of the risk in k and in v, two vectors of R^d, by quadrature over one token at a time.

    The tokens are independent, so the mean of the residual times a sum over tokens splits into means over one
    token. Label noise has no part in it. The error is that of rounding, a few 1e-16 of the largest term,
    which is of the size of d.

    >>> k, v, k_star, v_star = make_vectors({"kappa": 0.0, "nu": 0.0, "d": 9})
    >>> of_k, of_v = population_gradient(k, v, k_star, v_star, lam=0.5, gamma=1.0, L=1)
    >>> bool(abs(of_v @ v_star) < 1e-15)
    True
    """
    (m1, _), (a1, b1, ea1, eb1), (m0, _), (a0, b0, ea0, eb0) = _both_tokens(k, v, k_star, v_star, lam, gamma)
    others, pairs = L - 1, (L - 1) * (L - 2)
    of_k = ea1 + others * (ea0 + m1 * a0 + m0 * a1) + pairs * m0 * a0
    of_v = eb1 + others * (eb0 + m1 * b0 + m0 * b1) + pairs * m0 * b0
    return 2 * of_k, 2 * of_v


def project_step(x: Array, gradient: Array, alpha: float) -> Array:
    """Unit vectors (..., d) after a step along the gradient's part across x, scaled back to norm one."""
    moved = x - alpha * (gradient - (x * gradient).sum(-1, keepdims=True) * x)
    return moved / np.linalg.norm(moved, axis=-1, keepdims=True)


def descend(
    start_k: Array,
    start_v: Array,
    k_star: Array,
    v_star: Array,
    *,
    lam: float,
    gamma: float,
    L: int,
    alpha: float,
    steps: int,
    schedule: float = 0.0,
    log_every: int = 1,
) -> tuple[dict[str, Array], tuple[Array, Array]]:
    """Projected gradient descent on the population risk: the five inner products on the way, and the last k and v.

    The log has a row for every ``log_every`` steps, the start and the end included, and names its steps.
    """
    k, v = start_k, start_v
    logged, rows = [], []
    for step in range(steps + 1):
        if step % log_every == 0 or step == steps:
            logged.append(step)
            rows.append(inner_products(k, v, k_star, v_star))
        if step < steps:
            of_k, of_v = population_gradient(k, v, k_star, v_star, lam / (1 + schedule * step), gamma, L)
            k, v = project_step(k, of_k, alpha), project_step(v, of_v, alpha)
    return {"step": np.array(logged), **{name: np.array([row[name] for row in rows]) for name in PRODUCTS}}, (k, v)


@simulator(deterministic=True, tolerance=1e-8, scale=1.0, covers=("kappa", "nu", "theta", "eta", "rho", "risk"))
def gradient_descent(point: Mapping[str, float], rng: np.random.Generator, count: int = 1) -> dict[str, Array]:
    """The five inner products after ``steps`` steps of descent on the population risk, and the risk there.

    The risk is without label noise, at the lambda of the next step. Nothing is random but the frame: each of
    the ``count`` runs places the same four vectors at random in R^d, so that the results differ by rounding alone, as
    far as the steps do not magnify it. One run is enough, two show the rounding.
    """
    lam, gamma, L, schedule = point["lam"], point["gamma"], int(point["L"]), point.get("schedule", 0.0)
    steps = int(point["steps"])
    results: dict[str, list[float]] = {name: [] for name in (*PRODUCTS, "risk")}
    frame = make_frame(int(point["d"]))
    coordinates = [frame.T @ vector for vector in make_vectors(point)]
    for _ in range(count):
        placed = np.linalg.qr(rng.standard_normal(frame.shape))[0]
        k, v, k_star, v_star = (placed @ c for c in coordinates)
        log, (k, v) = descend(
            k, v, k_star, v_star, lam=lam, gamma=gamma, L=L, alpha=point["alpha"], steps=steps, schedule=schedule,
            log_every=max(steps, 1),
        )  # fmt: skip
        risk = population_risk(k, v, k_star, v_star, lam / (1 + schedule * steps), gamma, L)
        for name in results:
            results[name].append(risk if name == "risk" else log[name][-1])
    return {name: np.array(values) for name, values in results.items()}


def batch_gradient(tokens: Array, labels: Array, pair: Array, lam: float) -> Array:
    """Gradients (..., 2, d) in k and v of the mean squared error over a batch of sequences.

    Tokens have shape (..., B, L, d), labels (..., B), and ``pair`` holds k and v as (..., 2, d).
    """
    *runs, B, L, d = tokens.shape
    flat = tokens.reshape(*runs, B * L, d)
    score, answer = np.moveaxis(flat @ np.swapaxes(pair, -1, -2), -1, 0)
    f = erf(lam * score)
    residual = (f * answer).reshape(*runs, B, L).sum(-1) - labels
    slope = lam * _TWO_OVER_ROOT_PI * np.exp(-((lam * score) ** 2))
    factors = np.stack([slope * answer, f], axis=-2).reshape(*runs, 2, B, L)
    return (2 / B * residual[..., None, :, None] * factors).reshape(*runs, 2, B * L) @ flat


def _draw_batch(rng, n_sequences, L, gamma, eps, k_star, v_star, law="gaussian") -> tuple[Array, Array]:
    """Whole sequences (n, L, d) with their labels."""
    informative = np.arange(n_sequences) * L + rng.integers(L, size=n_sequences)
    tokens = draw_tokens(rng, n_sequences * L, informative, gamma, k_star, law, L)
    labels = tokens[informative] @ v_star + eps * rng.standard_normal(n_sequences)
    return tokens.reshape(n_sequences, L, len(k_star)), labels


def sampled_gradient(
    k: Array,
    v: Array,
    k_star: Array,
    v_star: Array,
    lam: float,
    gamma: float,
    L: int,
    rng: np.random.Generator,
    count: int,
) -> tuple[Array, Array]:
    """Mean over ``count`` sampled sequences of the gradient (2, d) in k and v, and its standard errors."""
    total, squares = np.zeros((2, 2, len(k)))
    size = max(1, BLOCK // (L * len(k)))
    for first in range(0, count, size):
        tokens, labels = _draw_batch(rng, min(size, count - first), L, gamma, 0.0, k_star, v_star)
        gradients = batch_gradient(tokens[:, None], labels[:, None], np.stack([k, v]), lam)
        total += gradients.sum(axis=0)
        squares += (gradients**2).sum(axis=0)
    mean = total / count
    return mean, np.sqrt((squares / count - mean**2) / (count - 1))


@simulator(
    random_letter="seed", variants={"tokens": TOKEN_LAWS}, scale=1.0, covers=("kappa", "nu", "theta", "eta", "rho")
)
def stochastic_descent(point: Mapping[str, float], rng: np.random.Generator, count: int) -> dict[str, Array]:
    """The five inner products after ``steps`` online steps, a fresh batch of sequences each, in independent runs.

    The point is that of the descent with ``batch`` and ``eps`` besides. The batch of a run is held whole.

    >>> point = {"lam": 2, "schedule": 1e-4, "gamma": 0.7, "d": 80, "L": 10, "eps": 0.1, "alpha": 1e-3, "batch": 5}
    >>> start = {"kappa": 0.1, "nu": -0.1, "theta": 0.05, "eta": 0.0, "rho": 0.2}
    >>> stochastic_descent({**point, **start, "steps": 3}, np.random.default_rng(0), 20)["nu"].shape
    (20,)
    """
    lam, gamma, schedule, eps = point["lam"], point["gamma"], point.get("schedule", 0.0), point.get("eps", 0.0)
    L, B, law = int(point["L"]), int(point["batch"]), str(point.get("tokens", "gaussian"))
    k, v, k_star, v_star = make_vectors(point)
    results = {name: np.empty(count) for name in PRODUCTS}
    size = max(1, BLOCK // (B * L * len(k)))
    for first in range(0, count, size):
        runs = min(size, count - first)
        pair = np.tile(np.stack([k, v]), (runs, 1, 1))
        for step in range(int(point["steps"])):
            tokens, labels = _draw_batch(rng, runs * B, L, gamma, eps, k_star, v_star, law)
            tokens, labels = tokens.reshape(runs, B, L, -1), labels.reshape(runs, B)
            pair = project_step(pair, batch_gradient(tokens, labels, pair, lam / (1 + schedule * step)), point["alpha"])
        for name, values in inner_products(pair[:, 0], pair[:, 1], k_star, v_star).items():
            results[name][first : first + runs] = values
    return results


def uniform_start(d: int, rng: np.random.Generator, count: int) -> dict[str, Array]:
    """The five inner products of k and v drawn uniformly from the sphere of R^d, with k* and v* fixed.

    >>> sorted(uniform_start(400, np.random.default_rng(0), 5))
    ['eta', 'kappa', 'nu', 'rho', 'theta']
    """
    k_star, v_star = make_frame(d)[:, :2].T
    results = {name: np.empty(count) for name in PRODUCTS}
    size = max(1, BLOCK // (2 * d))
    for first in range(0, count, size):
        runs = min(size, count - first)
        pair = rng.standard_normal((runs, 2, d))
        pair /= np.linalg.norm(pair, axis=-1, keepdims=True)
        for name, values in inner_products(pair[:, 0], pair[:, 1], k_star, v_star).items():
            results[name][first : first + runs] = values
    return results
