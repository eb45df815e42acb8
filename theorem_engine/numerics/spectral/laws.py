"""Numbers behind spectral means: resolvents as Taylor series, nodes and weights on the spectrum.

Everything here is arithmetic that runs on floats, arrays and mpmath numbers alike; what differs
between them (square root, choice, pi) comes in a ``Kit``.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Series = list[Any]


@dataclass(frozen=True)
class Kit:
    """What one kind of numbers calls its own."""

    sqrt: Callable[[Any], Any]
    #: where(condition, a, b)
    choose: Callable[[Any, Any, Any], Any]
    sin: Callable[[Any], Any]
    cosh: Callable[[Any], Any]
    sinh: Callable[[Any], Any]
    exp: Callable[[Any], Any]
    log: Callable[[Any], Any]
    pi: Any


def _pick(condition: Any, a: Any, b: Any) -> Any:
    return a if condition else b


SCALAR = Kit(cmath.sqrt, _pick, math.sin, math.cosh, math.sinh, math.exp, math.log, math.pi)
ARRAY = Kit(lambda x: np.sqrt(x + 0j), np.where, np.sin, np.cosh, np.sinh, np.exp, np.log, np.pi)


def multiply(a: Series, b: Series) -> Series:
    """Product of two truncated power series of equal length."""
    if len(a) == 1:
        return [a[0] * b[0]]
    return [sum((a[i] * b[k - i] for i in range(1, k + 1)), a[0] * b[k]) for k in range(len(a))]


def divide(a: Series, b: Series) -> Series:
    """Quotient of two truncated power series of equal length."""
    if len(a) == 1:
        return [a[0] / b[0]]
    result: Series = []
    for k in range(len(a)):
        top = a[k]
        for i in range(k):
            top = top - result[i] * b[k - i]
        result.append(top / b[0])
    return result


def resolvents(z: Any, ratio: Any, spike: Any, forms: Sequence[str], order: int, kit: Kit) -> dict[str, Series]:
    """Taylor coefficients at z (off the spectrum) of the mean of 1/(s - z), in each form.

    With S = sqrt(z - a) sqrt(z - b), a and b the edges of the bulk, the mean over the bulk is -2/D with
    D = z - 1 + ratio + S. Where the two parts of D cancel, the product of D with its conjugate, 4 ratio z,
    gives it without loss.
    """
    width = kit.sqrt(ratio)
    low, high = ((1 - ratio) / (1 + width)) ** 2, (1 + width) ** 2
    root = [kit.sqrt(z - low) * kit.sqrt(z - high)]
    shift = z - 1 - ratio
    outer = [shift + root[0]]
    if order > 1:
        # S^2 is the quadratic q0 + 2 (z - 1 - ratio) h + h^2
        square = [None, 2 * shift, 1, *([0] * order)]
        for k in range(1, order):
            top = square[k] - sum((root[i] * root[k - i] for i in range(1, k)), 0 * shift)
            root.append(top / (2 * root[0]))
        outer += [outer[0] / root[0], *root[2:]]
    result: dict[str, Series] = {}
    bulk: Series = []
    if "bulk" in forms or "right-right" in forms:
        middle = z - 1 + ratio
        plus, minus = middle + root[0], middle - root[0]
        direct = abs(plus) >= abs(minus)
        bulk = [kit.choose(direct, plus, 4 * ratio * z / kit.choose(direct, plus, minus)), *outer[1:]]
    shifted = [outer[0] - 2 * spike**2, *outer[1:]]
    nothing = [0 * shift] * (order - 1)
    if "bulk" in forms:
        result["bulk"] = divide([-2 + 0 * shift, *nothing], bulk)
    if "across" in forms:
        result["across"] = divide([-2 * ratio + 0 * shift, *nothing], outer)
    if "right-right" in forms:
        result["right-right"] = divide([-2 * x for x in outer], multiply(bulk, shifted))
    if "right-left" in forms or "left-left" in forms:
        inverse = divide([-2 + 0 * shift, *nothing], shifted)
        result["right-left"] = [spike * x for x in inverse]
        result["left-left"] = [(spike**2 + ratio) * x for x in inverse]
    return result


def angle_distance(z: Any, ratio: Any, kit: Kit) -> Any:
    """How far a place lies from the bulk in the complex plane of the angle."""
    width = kit.sqrt(ratio).real
    root = kit.sqrt(z - (1 - width) ** 2) * kit.sqrt(z - (1 + width) ** 2)
    return kit.log(abs(z - 1 - ratio + root) / (2 * width))


def pole_weights(resolvent: Series, denominator: Series, power: int) -> Series:
    """Weights of G, G', ..., G^(power-1) at a root z of D in the mean of G/D^power.

    ``denominator`` holds the derivatives D', D'', ... at z. By partial fractions the mean is the sum over the
    roots of the coefficient of h^(power-1) in G(z+h) R(z+h) (h/D(z+h))^power, R the mean of 1/(s - z).
    """
    if power == 1:
        return [resolvent[0] / denominator[0]]
    if power == 2:
        inverse2 = 1 / denominator[0] ** 2
        return [inverse2 * (resolvent[1] - resolvent[0] * denominator[1] / denominator[0]), inverse2 * resolvent[0]]
    slope, factorial = [], 1
    for k in range(power):
        factorial *= k + 1
        slope.append(denominator[k] / factorial)
    inverse = divide([1 + 0 * slope[0], *([0 * slope[0]] * (power - 1))], slope)
    product = list(resolvent[:power])
    for _ in range(power):
        product = multiply(product, inverse)
    factorial = 1
    weights = []
    for k in range(power):
        if k:
            factorial *= k
        weights.append(product[power - 1 - k] / factorial)
    return weights


def nodes(t: Any, kit: Kit) -> tuple[Any, Any, Any]:
    """Squares of cosine and sine of half the angle at a node of the double-exponential rule, and its weight.

    The angle runs over the bulk, s = 1 + ratio + 2 sqrt(ratio) cos(angle). The rule crowds its nodes at
    both edges, where the laws have poles when the ratio or the spike is critical, and keeps both
    squares to full relative accuracy there.
    """
    u = kit.pi / 2 * kit.sinh(t)
    share, rest = 1 / (1 + kit.exp(-2 * u)), 1 / (1 + kit.exp(2 * u))
    sine, cosine = kit.sin(kit.pi / 2 * share), kit.sin(kit.pi / 2 * rest)
    return cosine**2, sine**2, kit.pi**2 * share * rest * kit.cosh(t)


def bulk_place(cosine2: Any, ratio: Any, kit: Kit) -> Any:
    """The spectral variable at an angle."""
    width = kit.sqrt(ratio).real
    return ((1 - ratio) / (1 + width)) ** 2 + 4 * width * cosine2


def bulk_density(cosine2: Any, sine2: Any, ratio: Any, spike: Any, forms: Sequence[str], kit: Kit) -> dict[str, Any]:
    """Densities of the forms in the angle; all are non-negative."""
    width = kit.sqrt(ratio).real
    place = bulk_place(cosine2, ratio, kit)
    strength = spike**2 / width
    hump = 8 / kit.pi * cosine2 * sine2
    gap = (1 - strength) ** 2 + 4 * strength * sine2
    result = {}
    for form in forms:
        if form == "bulk":
            result[form] = hump / place
        elif form == "across":
            result[form] = ratio * hump
        elif form == "right-right":
            result[form] = (1 + spike**2) * hump / (place * gap)
        elif form == "right-left":
            result[form] = spike * hump / gap
        else:
            result[form] = (spike**2 + ratio) * hump / gap
    return result


def atoms(ratio: Any, spike: Any, forms: Sequence[str], kit: Kit) -> tuple[Any, dict[str, tuple[Any, Any]]]:
    """Place of the outlier, and for each form its mass at zero and its mass at the outlier."""
    width = kit.sqrt(ratio).real
    strength = spike**2 / width
    is_out, is_singular = strength > 1, ratio > 1
    safe = kit.choose(is_out, strength, 1 + 0 * strength)
    place = (1 + width / safe) * (1 + width * safe)
    label = kit.choose(is_out, (safe**2 - 1) / (safe * (safe + width)), 0 * strength)
    zero = kit.choose(is_singular, 1 - 1 / ratio, 0 * ratio)
    turned = kit.choose(is_out, (spike**2 + ratio) / kit.choose(is_out, spike, 1 + 0 * strength), 0 * strength)
    nothing = 0 * strength
    masses = {
        "bulk": (zero, nothing),
        "across": (nothing, nothing),
        "right-right": (zero / (1 + spike**2 / ratio), label),
        "right-left": (nothing, label * turned),
        "left-left": (nothing, label * turned**2),
    }
    return place, {form: masses[form] for form in forms}


#: A pole of the law itself nearer than this, in the plane of the angle, is taken out: few midpoints would see it.
#: That at zero lies half the logarithm of the ratio from the bulk, that of the outlier the logarithm of its strength.
CRITICAL = 2.0


def midpoint_rule(ratio: Any, spike: Any, forms: Sequence[str], count: int) -> tuple[Any, Any, Any]:
    """Places, weights and roundings at arrays of ratios and spikes: midpoints in the angle, then zero and the outlier.

    Places have the shape (points, nodes), weights and roundings (forms, points, nodes); roundings times the absolute
    values of a body at the places, summed, are what an error of one unit amounts to. The rule converges like
    exp(-2 count d), d the distance of the body's nearest pole in the plane of the angle. The density has poles of its
    own, at zero and where the outlier leaves the bulk. Where they are near, the weights of the last two nodes are not
    the masses there but what makes the rule exact for the lowest moments, which takes those poles out.
    """
    half = (np.arange(count) + 0.5) * (math.pi / (2 * count))
    cosine2, sine2 = np.cos(half) ** 2, np.sin(half) ** 2
    ratio, spike = ratio[:, None], spike[:, None]
    strength = spike**2 / np.sqrt(ratio)
    density = bulk_density(cosine2, sine2, ratio, spike, forms, ARRAY)
    _, masses = atoms(ratio, spike, forms, ARRAY)
    near_zero, near_spike = np.abs(np.log(ratio)) / 2 < CRITICAL, np.abs(np.log(strength)) < CRITICAL
    outlier = (1 + np.sqrt(ratio) / strength) * (1 + np.sqrt(ratio) * strength)
    places = np.empty((ratio.size, count + 2))
    places[:, :count] = bulk_place(cosine2, ratio, ARRAY)
    # a node that is not used stands in the bulk, where every body is finite
    places[:, [count]] = np.where(near_zero | (ratio > 1), 0.0, places[:, :1])
    places[:, [count + 1]] = np.where(near_spike | (strength > 1), outlier, places[:, :1])
    weights = np.empty((len(forms), ratio.size, count + 2))
    for form, weight in zip(forms, weights, strict=True):
        weight[:, :count] = math.pi / count * density[form]
        missing = {
            "bulk": 1.0, "across": ratio, "right-right": 1.0, "right-left": spike, "left-left": spike**2 + ratio,
        }[form]  # fmt: skip
        missing = missing - weight[:, :count].sum(axis=1, keepdims=True)
        zero, outside = masses[form]
        if form == "right-right":
            first = 1 + spike**2 - (weight * places)[:, :count].sum(axis=1, keepdims=True)
            outside = np.where(near_spike, np.where(near_zero, first / outlier, missing - zero), outside)
            zero = np.where(near_zero, missing - outside, zero)
        elif form == "bulk":
            zero = np.where(near_zero, missing, zero)
        elif form != "across":
            outside = np.where(near_spike, missing, outside)
        weight[:, count:] = np.concatenate([zero, outside], axis=1)
    roundings = np.abs(weights)
    for form, rounding in zip(forms, roundings, strict=True):
        rounding[:, [count]] += near_zero * (form in ("bulk", "right-right"))
        rounding[:, [count + 1]] += near_spike * (form not in ("bulk", "across")) * (1 + spike**2 + ratio)
    return places, weights, roundings
