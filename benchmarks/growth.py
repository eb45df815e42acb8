"""How costs grow: with the length of sequences, the dimension, the number of points; and the memory of a sweep."""

import tracemalloc

import numpy as np

import theorem_engine as te
from benchmarks.timing import best, best_of_many, line, slope
from theorem_engine.registry.marion2025.figures import random_starts

SWEPT = {"lam": "0.1", "gamma": "0.7", "d": 400, "L": 10}


def lengths():
    """Exponent of the cost of a token mean in the length."""

    def taken(n):
        point = {"task": "spiked", "nu": 5, "L": n}
        te.predict("duranthon2026.bayes-risk", **point)
        return best_of_many(lambda: te.predict("duranthon2026.bayes-risk", **point), 20, 7)

    found = slope({n: taken(n) for n in (10, 10**2, 10**3, 10**5, 10**8, 10**12)})
    line("exponent of the cost of a token mean in L, 10 to 10^12", f"{found:.3f}", "wanted: below 0.05")


def dimensions():
    """Exponent of the cost of projected gradient descent in the dimension."""

    def taken(d):
        starts = te.batch("run", **random_starts(d, 30, 0))
        law = {"lam": 0.1, "schedule": 0, "gamma": 0.7, "L": 10, "alpha": 1 / d, "steps": 5000, "d": d}
        te.sweep("marion2025.pgd", along=starts, errors=False, **law)
        return best(lambda: te.sweep("marion2025.pgd", along=starts, errors=False, **law), 3)

    found = slope({d: taken(d) for d in (40, 400, 4000, 40_000)})
    line("exponent of the cost of PGD in d, 40 to 40,000", f"{found:.3f}", "wanted: below 0.05")


def points():
    """Exponent of the cost of a sweep in its points, and what it holds beside its results."""

    def swept(side, errors=False):
        axis = np.linspace(-0.9, 0.9, side)
        return te.sweep("marion2025.manifold-risk", kappa=axis, nu=axis, errors=errors, **SWEPT)

    for errors, name in ((False, "values"), (True, "with errors")):
        swept(100, errors)
        found = slope({side**2: best(lambda s=side, e=errors: swept(s, e), 3) for side in (320, 560, 1000, 1800)})
        line(f"exponent of the cost of a sweep in its points, 10^5 to 3*10^6, {name}", f"{found:.3f}",
             "wanted: at most 1.02")  # fmt: skip
    beside = {}
    for side in (500, 1000, 2000):
        tracemalloc.start()
        data = swept(side)
        beside[side] = (tracemalloc.get_traced_memory()[1] - data.nbytes) / 2**20
        tracemalloc.stop()
    shown = ", ".join(f"{x:.0f}" for x in beside.values())
    line("memory of a sweep beside its results at 0.25, 1 and 4 million points, MB", shown, "wanted: flat")


def report():
    """All of them."""
    lengths()
    dimensions()
    points()


if __name__ == "__main__":
    report()
