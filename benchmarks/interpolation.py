"""Predictions and sweeps that go through a self-consistent group and spectral means."""

from fractions import Fraction

import numpy as np

import theorem_engine as te
from benchmarks.timing import best, line


def random_points(count, seed=0):
    """Points over the whole domain: c in [0.02, 50], gamma in [1e-6, 1e3], b^2 in [0, 3]."""
    rng = np.random.default_rng(seed)
    points = []
    for _ in range(count):
        c, gamma = (float(f"{np.exp(rng.uniform(*np.log(ends))):.6g}") for ends in ((0.02, 50), (1e-6, 1e3)))
        a1, rest = (Fraction(str(round(rng.uniform(*ends), 6))) for ends in ((-1.5, 1.5), (0, 3)))
        points.append({"c": c, "gamma": gamma, "a1": a1, "second_moment": a1**2 + rest})
    return points


def report():
    """Milliseconds of warm predictions at random points, and seconds of a sweep."""
    signal = {"snr": 2, "weights": "aligned"}
    for name, extra in (("liao2026.interpolation-error", signal), ("liao2026.null-error", {})):
        seconds = []
        for point in random_points(300):
            te.predict(name, **point, **extra)
            seconds.append(best(lambda n=name, p=point, e=extra: te.predict(n, **p, **e), 3))
        shown = "/".join(f"{1e3 * np.quantile(seconds, q):.2f}" for q in (0.5, 0.95, 1))
        line(f"warm predict of {name}, ms: median/95 %/most", shown, "wanted: at most 2")
    axes = {"c": te.grid("0.05", 8, 100), "snr": te.grid(0, 8, 100)}
    point = {"nonlinearity": "tanh", "gamma": 1, "weights": "aligned"}
    te.sweep("liao2026.interpolation-error", **point, c=[1, 2], snr=[0, 1])
    plain = best(lambda: te.sweep("liao2026.interpolation-error", **point, **axes, errors=False), 1)
    line("sweep of 10,000 points, values only, seconds", f"{plain:.2f}", "wanted: at most 3")
    known = best(lambda: te.sweep("liao2026.interpolation-error", **point, **axes), 1)
    line("the same with errors, over values only", f"{known / plain:.1f}", "wanted: at most 3")
