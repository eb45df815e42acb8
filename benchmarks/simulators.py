"""Simulators against the random numbers or matrix products they cannot do without."""

import numpy as np

from benchmarks.timing import best, row
from theorem_engine.validators import duranthon2026, liao2026, marion2025, marion2025_descent


def _numbers(count, chunk=2**17):
    """Seconds for so many standard normals, drawn in blocks that stay in the cache."""
    rng = np.random.Generator(np.random.SFC64(0))
    block = np.empty(chunk)

    def draw():
        for _ in range(count // chunk):
            rng.standard_normal(out=block)

    return best(draw, 3)


def _products(p, n):
    """Seconds for the matrix products of one sample of the kernel model: logits, features, their Gram matrix."""
    rng = np.random.default_rng(0)
    tokens, kernel = rng.standard_normal((p, n)), rng.standard_normal((n, n))

    def multiply():
        tokens.T @ tokens
        features = tokens @ kernel
        features @ features.T if p <= n else features.T @ features

    return best(multiply, 3)


def _share(name, simulate, numbers):
    rng = np.random.Generator(np.random.SFC64(1))
    share = _numbers(numbers) / best(lambda: simulate(rng), 3)
    row(f"full vectors: {name}", "its random numbers", share, 0.8)


def report():
    point = {"kappa": 0.3, "nu": 0.4, "theta": 0.2, "eta": -0.1, "rho": 0.15, "lam": 0.1, "gamma": 0.7, "L": 10}
    for d, count in ((400, 4000), (40, 40_000)):
        here = {**point, "d": d}
        for function in (marion2025.attention_risk, marion2025.attention_gradient):
            _share(f"{function.__name__}, d = {d}, L = 10",
                   lambda rng, f=function, at=here, n=count: f(at, rng, n), count * 10 * d)  # fmt: skip
    descent = {**point, "d": 80, "alpha": 0.001, "batch": 5, "steps": 20, "eps": 0.1}
    _share("stochastic_descent, d = 80, L = 10, batches of 5",
           lambda rng: marion2025_descent.stochastic_descent(descent, rng, 50), 50 * 20 * 5 * 10 * 80)  # fmt: skip
    task = {"task": "spiked", "nu": 3.0, "L": 10, "activation": "softmax", "m_kk": 1.0, "m_vv": 1.0}
    numbers = 50_000 * 10 * duranthon2026.DIMENSION
    _share("duranthon2026.attention_risk, L = 10", lambda rng: duranthon2026.attention_risk(task, rng, 50_000), numbers)
    kernel = {"p": 800, "n": 800, "gamma": 1.0, "nonlinearity": "tanh", "diagonal": 0.0}
    rng = np.random.default_rng(2)
    share = _products(800, 800) / best(lambda: liao2026.attention_error(kernel, rng, 1), 3)
    row("full vectors: liao2026.attention_error, p = n = 800", "its matrix products", share, 0.8)
