"""Samples of erf(t + g G): what the Gaussian lemmas are about."""

import numpy as np
from scipy.special import erf


def _pairs(point, rng, count):
    normal = rng.standard_normal(count)
    return normal, erf(point["t"] + point["g"] * normal)


def erf_mean(point, rng, count):
    """erf(t + g G)."""
    return {"value": _pairs(point, rng, count)[1]}


def erf_square(point, rng, count):
    """erf(t + g G)^2."""
    return {"value": _pairs(point, rng, count)[1] ** 2}


def erf_miss(point, rng, count):
    """(1 - erf(t + g G))^2."""
    return {"value": (1 - _pairs(point, rng, count)[1]) ** 2}


def erf_moments(point, rng, count):
    """Powers of G times erf(t + g G)."""
    normal, value = _pairs(point, rng, count)
    return {"first": normal * value, "second": normal**2 * value, "third": np.power(normal, 3) * value}
