"""Samples of erf(t + g G), of its square, and of G times it."""

import numpy as np
from scipy.special import erf

from .simulator import simulator


@simulator(covers=("mean", "square", "pull"))
def erf_integrals(point, rng, count):
    """Each G with its mirror image, whose mean has less noise."""
    normal = rng.standard_normal(count)
    high, low = (erf(float(point["t"]) + float(point["g"]) * x) for x in (normal, -normal))
    return {
        "mean": (high + low) / 2,
        "square": (np.square(high) + np.square(low)) / 2,
        "pull": normal * (high - low) / 2,
    }
