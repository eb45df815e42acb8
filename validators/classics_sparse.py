"""Sparse signals and random equations, solved as they are posed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.optimize import brentq

from .classics_spectra import columns, sizes
from .simulator import simulator

Point = Mapping[str, Any]
SIZE = 300
#: Iterations after which a minimiser that still moves is given up, and the relative move that counts as none.
MOST, STILL = 20_000, 1e-8


def minimise(matrix: Any, labels: Any, penalty: float) -> Any:
    """The lasso by accelerated proximal steps, restarted whenever they overshoot."""
    gram, pull = matrix.T @ matrix, matrix.T @ labels
    step = 1 / np.linalg.norm(gram, 2)
    here = ahead = np.zeros(len(pull))
    inertia = 1.0
    for _ in range(MOST):
        slope = ahead - step * (gram @ ahead - pull)
        new = np.sign(slope) * np.maximum(np.abs(slope) - step * penalty, 0)
        if (ahead - new) @ (new - here) > 0:
            inertia = 1.0
        larger = (1 + np.sqrt(1 + 4 * inertia**2)) / 2
        ahead = new + (inertia - 1) / larger * (new - here)
        moved = np.linalg.norm(new - here)
        here, inertia = new, larger
        if moved <= STILL * (1e-3 + np.linalg.norm(here)):
            return here
    raise ValueError("the lasso was not minimised in the iterations allowed")


@simulator(size=SIZE, orders=(1.0,), cost=2.5, covers=("tau", "lam", "mse", "active"), takes=("lam",))
def lasso(point: Point, rng: Generator, count: int) -> dict[str, Any]:
    """The lasso at the penalty predicted: error, active share, and the residual, which has tau and lam in it.

    The residual is tau (1 - active/delta) on the average, and theta times it the penalty.
    """
    delta, share, noise2, theta, penalty = (float(point[n]) for n in ("delta", "rho", "s2", "theta", "lam"))
    if penalty <= 0:
        raise ValueError("no lasso has a negative penalty")
    unknowns, equations = sizes(delta, int(point.get("size", SIZE)))

    def one() -> dict[str, Any]:
        matrix = rng.standard_normal((equations, unknowns)) / np.sqrt(equations)
        # the number of nonzeros is right on the average whatever the size
        nonzeros = int(share * unknowns + rng.random())
        signal = np.zeros(unknowns)
        signal[:nonzeros] = rng.choice([-1.0, 1.0], nonzeros)
        labels = matrix @ signal + np.sqrt(noise2) * rng.standard_normal(equations)
        found = minimise(matrix, labels, penalty)
        active = np.mean(found != 0)
        residual = np.linalg.norm(labels - matrix @ found) / np.sqrt(equations)
        return {
            "mse": np.sum((found - signal) ** 2) / unknowns,
            "active": active,
            "tau": residual / (1 - active * unknowns / equations),
            "lam": theta * residual,
        }

    return columns([one() for _ in range(count)])


#: Length of the vectors whose distance from a cone is taken.
LENGTH = 2000


@simulator(size=LENGTH, orders=(1.0,), cost=1.0, covers=("rho", "z"))
def statistical_dimension(point: Point, rng: Generator, count: int) -> dict[str, Any]:
    """The number of nonzeros at which a Gaussian vector lies as far from the subgradients as there are equations.

    Recovery changes from likely to unlikely where that squared distance passes the number of equations.
    """
    delta = float(point["delta"])
    length = int(point.get("size", LENGTH))
    equations = delta * length

    def one() -> dict[str, Any]:
        normal = rng.standard_normal(length)
        sizes_of = np.abs(normal)

        def nearest(nonzeros: float) -> tuple[float, float]:
            """Squared distance and the multiple of the subgradient that is nearest; one entry counts in part."""
            whole = int(nonzeros)
            weight = np.zeros(length)
            weight[:whole] = 1
            if whole < length:
                weight[whole] = nonzeros - whole

            def slope(t: float) -> float:
                return float(np.sum(weight * (t - normal) - (1 - weight) * np.maximum(sizes_of - t, 0)))

            t = 0.0 if slope(0) >= 0 else float(brentq(slope, 0, 20))
            far = weight * (normal - t) ** 2 + (1 - weight) * np.maximum(sizes_of - t, 0) ** 2
            return float(np.sum(far)), t

        nonzeros = float(brentq(lambda k: nearest(k)[0] - equations, 0, length - 1, xtol=1e-3))
        return {"rho": nonzeros / equations, "z": nearest(nonzeros)[1]}

    return columns([one() for _ in range(count)])
