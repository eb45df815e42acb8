"""Population risks: cost against the length of sequences, tiny risks, minima."""

import theorem_engine as te
from benchmarks.timing import best, line

BAYES, MINIMAL = "duranthon2026.bayes-risk", "duranthon2026.minimal-risk"


def warm(name, **point):
    """Seconds of a prediction that has been made before."""
    te.predict(name, **point)
    return best(lambda: te.predict(name, **point))


def report():
    """Milliseconds, and how they grow with the length."""
    times = {n: warm(BAYES, task="spiked", nu=5, L=n) for n in (10, 10**6)}
    line("spiked Bayes risk, nu=5, L=10, milliseconds", f"{1e3 * times[10]:.2f}", "wanted: at most 5")
    line("the same at L=10^6 over L=10", f"{times[10**6] / times[10]:.2f}", "wanted: below 1.5")
    line("spiked, nu=400, L=2, ms", f"{1e3 * warm(BAYES, task='spiked', nu=400, L=2):.2f}", "wanted: at most 50")
    line("max, nu=100, L=10, ms", f"{1e3 * warm(BAYES, task='max', nu=100, L=10):.2f}", "wanted: at most 50")
    cross = {"task": "max", "nu": 5, "L": 10, "activation": "softmax", "m_kk": 3, "m_vv": 1}
    line("max cross term, nu=5, ms", f"{1e3 * warm('duranthon2026.manifold-risk', **cross):.1f}", "wanted: at most 100")
    for task, activation, nu, n in (
        ("spiked", "erf", 5, 10), ("spiked", "softplus", 5, 100), ("spiked", "tanh", 5, 10), ("max", "erf", 5, 10),
        ("max", "tanh", 5, 10), ("max", "relu", 50, 10), ("max", "softplus", 5, 10), ("max", "softplus", 5, 100),
        ("max", "softplus", 5, 10**6), ("max", "softplus", 20, 30), ("max", "softplus", 50, 100),
        ("max", "softplus", 200, 10**6), ("max", "tanh", 200, 10**6),
    ):  # fmt: skip
        taken = best(lambda a=activation, t=task, m=nu, k=n: te.predict(MINIMAL, task=t, nu=m, L=k, activation=a), 1)
        line(f"minimal risk, {task}, {activation}, nu={nu}, L={n}, seconds", f"{taken:.2f}", "wanted: at most 2")
