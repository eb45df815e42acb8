"""Proximal points of the squared error of attention, for many samples at once.

For a sample (omega, w, y) and widths V_k, V_v the proximal point minimises

    |chi - omega|^2 / (2 V_k) + |z - w|^2 / (2 V_v) + (y - sigma(chi).z)^2 / 2

over chi and z. Linear weights sigma = 1 + chi lead to the one root of a decreasing function; softmax weights leave a
problem in chi alone that may have several minima, which ``prox_softmax`` solves. Both run as machine code where
numba is installed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theorem_engine.methods.compiled import call_compiled

Array = NDArray[np.float64]
STEPS = 100
#: A Newton step of this length, relative to the distance from the nearer pole, leaves only its square.
LAST_STEP = 1e-8


@dataclass(frozen=True)
class Proximal:
    """Proximal points (n, L), the residual rho = y - sigma(chi).z (n, 1) and the marks of jumps (n, 1)."""

    chi: Array
    z: Array
    rho: Array
    jumped: Array


@dataclass(frozen=True)
class Response:
    """Squares of the derivatives of f = (point - centre)/width in the centres, summed over entries, each (n, 1).

    ``kk``, ``kv`` and ``vv`` are squared Frobenius norms of the blocks; ``cross`` is the trace of
    A_kk A_vv^T + A_kv A_vk^T.
    """

    kk: Array
    kv: Array
    vv: Array
    cross: Array


@cache
def machine_code() -> Any:
    """The module of compiled loops, or None where numba is not installed or finds no folder to work in."""
    try:
        from theorem_engine.methods import prox_kernel
    except (ImportError, RuntimeError):
        return None
    return prox_kernel


def dot(a: Array, b: Array) -> Array:
    """Scalar product of each sample, (n, 1)."""
    result: Array = np.einsum("nl,nl->n", a, b)[:, None]
    return result


def linear_point(omega: Array, w: Array, y: Array, width_k: float, width_v: float) -> Proximal:
    """Weights 1 + chi: the global minimiser, from the root of a strictly decreasing function of rho.

    Strong duality of a bilinear problem: the blocks 1/V minus rho times the swap are positive
    semidefinite exactly for |rho| <= 1/sqrt(V_k V_v), and inside that interval there is one root.
    """
    base = 1 + omega
    kappa = width_k * width_v
    product, size = dot(base, w), width_v * dot(base, base) + width_k * dot(w, w)
    kernel = machine_code()
    find = linear_roots if kernel is None else partial(call_compiled, kernel.linear_roots)
    rho = np.asarray(find(product[:, 0], size[:, 0], np.ascontiguousarray(y[:, 0]), kappa, STEPS, LAST_STEP))[:, None]
    d = 1 - kappa * rho * rho
    a = (base + (width_k * rho) * w) / d
    z = (w + (width_v * rho) * base) / d
    return Proximal(a - 1, z, rho, np.zeros_like(rho))


def linear_roots(product: Array, size: Array, y: Array, kappa: float, steps: int, last: float) -> Array:
    """Root of y - rho - (p (1 + kappa rho^2) + rho S)/(1 - kappa rho^2)^2 between the poles, by guarded Newton."""
    end = 1 / np.sqrt(kappa)
    rho = np.clip((y - product) / (1 + size), -0.9 * end, 0.9 * end)
    low, high = np.full_like(product, -end), np.full_like(product, end)
    here = np.arange(len(rho))
    for _ in range(steps):
        x, p, s = rho[here], product[here], size[here]
        square = kappa * x * x
        d = 1 - square
        numerator = p * (1 + square) + x * s
        h = y[here] - x - numerator / d**2
        slope = -1 - (2 * kappa * x * p + s) / d**2 - 4 * kappa * x * numerator / d**3
        low[here], high[here] = np.where(h > 0, x, low[here]), np.where(h > 0, high[here], x)
        new = x - h / slope
        new = np.where((new >= low[here]) & (new <= high[here]), new, (low[here] + high[here]) / 2)
        rho[here] = new
        here = here[np.abs(new - x) > last * (end - np.abs(x)) + 1e-15 * end]
        if not here.size:
            break
    return rho


def linear_response(found: Proximal, width_k: float, width_v: float) -> Response:
    """Each block is a multiple of the identity minus a matrix of rank one."""
    a, z, rho = 1 + found.chi, found.z, found.rho
    kappa = width_k * width_v
    d = 1 - kappa * rho * rho
    squares = width_k * dot(z, z) + 2 * kappa * rho * dot(a, z) + width_v * dot(a, a)
    gamma = squares / d
    ga = (width_k * z + kappa * rho * a) / d
    gz = (width_v * a + kappa * rho * z) / d
    length = a.shape[-1]
    aa, zz, az = dot(ga, ga), dot(gz, gz), dot(ga, gz)
    k0, k1 = (1 / d - 1) / width_k, 1 / ((1 + gamma) * width_k**2)
    v0, v1 = (1 / d - 1) / width_v, 1 / ((1 + gamma) * width_v**2)
    c0, c1 = rho / d, 1 / ((1 + gamma) * kappa)
    kk = k0**2 * length - 2 * k0 * k1 * aa + k1**2 * aa**2
    vv = v0**2 * length - 2 * v0 * v1 * zz + v1**2 * zz**2
    kv = c0**2 * length - 2 * c0 * c1 * az + c1**2 * aa * zz
    cross = k0 * v0 * length - k0 * v1 * zz - v0 * k1 * aa + k1 * v1 * az**2
    # A_vk is the transpose of A_kv, so the second trace is that of A_kv squared
    cross = cross + c0**2 * length - 2 * c0 * c1 * az + c1**2 * az**2
    return Response(kk, kv, vv, cross)


def points(weights: str) -> Callable[..., Proximal]:
    """How proximal points are found for a kind of weights: (omega, w, y, V_k, V_v) -> Proximal."""
    from theorem_engine.methods.prox_softmax import softmax_point

    return {"linear": linear_point, "softmax": softmax_point}[weights]


def responses(weights: str) -> Callable[..., Response]:
    """How their derivatives are found: (found, w, V_k, V_v) -> Response."""
    from theorem_engine.methods.prox_softmax import softmax_response

    if weights == "softmax":
        return softmax_response
    return lambda found, w, width_k, width_v: linear_response(found, width_k, width_v)
