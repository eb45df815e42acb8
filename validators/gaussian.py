"""Samples of erf(t + g G): what the Gaussian lemmas are about."""

import numpy as np
from scipy.special import erf

from .simulator import simulator


def _draw(point, rng, count):
    normal = rng.standard_normal(count)
    argument = point["t"] + point["g"] * normal
    return normal, argument, erf(argument)


@simulator(covers=("value",))
def erf_mean(point, rng, count):
    """erf(t + g G)."""
    return {"value": _draw(point, rng, count)[2]}


@simulator(covers=("value", "dt", "dtt", "dg"))
def erf_square(point, rng, count):
    """erf(t + g G)^2, and its derivatives in t and g for each draw of G."""
    normal, argument, value = _draw(point, rng, count)
    slope = 2 / np.sqrt(np.pi) * np.exp(-(argument**2))
    first = 2 * value * slope
    return {"value": value**2, "dt": first, "dtt": 2 * slope * (slope - 2 * argument * value), "dg": normal * first}


@simulator(covers=("value", "variance"))
def erf_miss(point, rng, count):
    """(1 - erf(t + g G))^2, and half the squared distance of two draws of erf, whose mean is the variance."""
    value, other = (_draw(point, rng, count)[2] for _ in range(2))
    return {"value": (1 - value) ** 2, "variance": (value - other) ** 2 / 2}


@simulator(covers=("first", "second", "third"))
def erf_moments(point, rng, count):
    """Powers of G times erf(t + g G)."""
    normal, _, value = _draw(point, rng, count)
    return {"first": normal * value, "second": normal**2 * value, "third": np.power(normal, 3) * value}
