"""Proximal points of the squared error of attention, for many samples at once.

For a sample (omega, w, y) and widths V_k, V_v the proximal point minimises

    |chi - omega|^2 / (2 V_k) + |z - w|^2 / (2 V_v) + (y - sigma(chi).z)^2 / 2

over chi and z. Linear weights sigma = 1 + chi lead to the one root of a decreasing function. Softmax weights
leave a problem in chi alone that may have several minima: it is solved from several starts, and a sample
whose best minimum is not the one reached from omega is counted as a jump.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
#: A minimum lower than the one reached from omega by more than this is a jump.
JUMP = 1e-7
#: Logit of the starts near a vertex of the simplex.
VERTEX = 6.0
STEPS = 100
#: Relative length of the last Newton step; the coarse one only tells which minima are worth a polish.
FINE, COARSE = 1e-12, 1e-5


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


def linear_point(omega: Array, w: Array, y: Array, width_k: float, width_v: float) -> Proximal:
    """Weights 1 + chi: the global minimiser, from the root of a strictly decreasing function of rho.

    Strong duality of a bilinear problem: the blocks 1/V minus rho times the swap are positive
    semidefinite exactly for |rho| <= 1/sqrt(V_k V_v), and inside that interval there is one root.
    """
    base = 1 + omega
    kappa = width_k * width_v
    product = np.sum(base * w, axis=-1, keepdims=True)
    size = width_v * np.sum(base * base, axis=-1, keepdims=True) + width_k * np.sum(w * w, axis=-1, keepdims=True)
    end = 1 / np.sqrt(kappa)
    low, high = np.full_like(product, -end), np.full_like(product, end)
    rho = np.clip((y - product) / (1 + size), -0.9 * end, 0.9 * end)
    for _ in range(STEPS):
        square = kappa * rho * rho
        d = 1 - square
        numerator = product * (1 + square) + rho * size
        h = y - rho - numerator / d**2
        slope = -1 - (2 * kappa * rho * product + size) / d**2 - 4 * kappa * rho * numerator / d**3
        low, high = np.where(h > 0, rho, low), np.where(h > 0, high, rho)
        new = rho - h / slope
        new = np.where((new > low) & (new < high), new, (low + high) / 2)
        moved = np.max(np.abs(new - rho))
        rho = new
        if moved <= 1e-12 * end:
            break
    d = 1 - kappa * rho * rho
    a = (base + width_k * rho * w) / d
    z = (w + width_v * rho * base) / d
    return Proximal(a - 1, z, rho, np.zeros_like(rho))


def linear_response(found: Proximal, width_k: float, width_v: float) -> Response:
    """Each block is a multiple of the identity minus a matrix of rank one."""
    a, z, rho = 1 + found.chi, found.z, found.rho
    kappa = width_k * width_v
    d = 1 - kappa * rho * rho
    squares = width_k * _dot(z, z) + 2 * kappa * rho * _dot(a, z) + width_v * _dot(a, a)
    gamma = squares / d
    ga = (width_k * z + kappa * rho * a) / d
    gz = (width_v * a + kappa * rho * z) / d
    length = a.shape[-1]
    aa, zz, az = _dot(ga, ga), _dot(gz, gz), _dot(ga, gz)
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


def softmax_point(omega: Array, w: Array, y: Array, width_k: float, width_v: float) -> Proximal:
    """Softmax weights: the lowest minimum found from omega, from the uniform point and from near each vertex."""
    length = omega.shape[-1]
    flat = [np.ascontiguousarray(np.broadcast_to(x, (omega.shape[0], k)), dtype=float) for x, k in
            ((omega, length), (w, length), (y, 1))]  # fmt: skip
    minimiser = compiled() or _batched_minimiser
    chi, jumped = minimiser(flat[0], flat[1], flat[2], float(width_k), float(width_v))
    s = _softmax(chi)
    rho = (flat[2] - _dot(s, flat[1])) / (1 + width_v * _dot(s, s))
    return Proximal(chi, flat[1] + width_v * rho * s, rho, jumped)


def softmax_response(found: Proximal, w: Array, width_k: float, width_v: float) -> Response:
    """Implicit derivatives of the stationarity conditions at the point found."""
    length = found.chi.shape[-1]
    s, rho = _softmax(found.chi), found.rho
    hessian, jacobian, b, denominator = _hessian(s, w, rho, width_k, width_v)
    unit = np.eye(length)
    inverse = np.linalg.inv(hessian)
    g = b[:, :, None] * s[:, None, :] / denominator[..., None] - rho[..., None] * unit
    jg = jacobian @ g
    kk = (inverse / width_k - unit) / width_k
    kv = -inverse @ jg / width_k
    vv = -s[:, :, None] * s[:, None, :] / denominator[..., None] + np.swapaxes(jg, 1, 2) @ inverse @ jg
    trace = np.sum(kk * vv, axis=(1, 2)) + np.sum(kv * np.swapaxes(kv, 1, 2), axis=(1, 2))
    return Response(_square(kk), _square(kv), _square(vv), trace[:, None])


def _dot(a: Array, b: Array) -> Array:
    result: Array = np.sum(a * b, axis=-1, keepdims=True)
    return result


def _square(a: Array) -> Array:
    result: Array = np.sum(a * a, axis=(1, 2))[:, None]
    return result


def _softmax(chi: Array) -> Array:
    weights = np.exp(chi - np.max(chi, axis=-1, keepdims=True))
    result: Array = weights / np.sum(weights, axis=-1, keepdims=True)
    return result


def _hessian(s: Array, w: Array, rho: Array, width_k: float, width_v: float) -> tuple[Array, Array, Array, Array]:
    """Hessian of the reduced objective in chi, the Jacobian of softmax, b and 1 + V_v |s|^2."""
    denominator = 1 + width_v * _dot(s, s)
    b = w + 2 * rho * width_v * s
    u = -rho * (w + width_v * rho * s)
    off = u - _dot(s, u)
    unit = np.eye(s.shape[-1])
    jacobian = s[:, :, None] * unit - s[:, :, None] * s[:, None, :]
    jb = s * (b - _dot(s, b))
    outer = s[:, :, None] * s[:, None, :] * (off[:, :, None] + off[:, None, :])
    rank_one = jb[:, :, None] * jb[:, None, :] / denominator[..., None]
    curved = (rho**2 * width_v)[..., None] * (jacobian @ jacobian)
    return (
        unit / width_k + rank_one - curved + (s * off)[:, :, None] * unit - outer,
        jacobian,
        b,
        denominator,
    )


def _objective(chi: Array, omega: Array, w: Array, y: Array, width_k: float, width_v: float) -> Array:
    s = _softmax(chi)
    miss = y - _dot(s, w)
    gap = chi - omega
    return _dot(gap, gap) / (2 * width_k) + miss**2 / (2 * (1 + width_v * _dot(s, s)))


def _starts(omega: Array) -> list[Array]:
    mean = np.mean(omega, axis=-1, keepdims=True)
    length = omega.shape[-1]
    corners = [mean + VERTEX * (np.arange(length) == k) - VERTEX / length for k in range(length)]
    return [omega, mean + 0 * omega, *corners]


def _batched_minimiser(
    omega: Array, w: Array, y: Array, width_k: float, width_v: float
) -> tuple[Array, Array]:  # fmt: skip
    """Vectorised Newton from every start; samples whose problem is convex use the first one only."""
    first = _newton(omega, omega, w, y, width_k, width_v)
    lowest = _objective(first, omega, w, y, width_k, width_v)
    best, reached = first.copy(), lowest.copy()
    open_ = np.flatnonzero(~_is_convex(w, y, width_k, width_v)[:, 0])
    if open_.size:
        fields = omega[open_], w[open_], y[open_], width_k, width_v
        for start in _starts(omega[open_])[1:]:
            chi = _newton(start, *fields, tolerance=COARSE)
            lower = (_objective(chi, *fields) < lowest[open_] - JUMP)[:, 0]
            if lower.any():
                there = open_[lower]
                fine = _newton(chi[lower], omega[there], w[there], y[there], width_k, width_v)
                best[there] = fine
                lowest[there] = _objective(fine, omega[there], w[there], y[there], width_k, width_v)
    return best, (lowest < reached - JUMP).astype(float)


def _is_convex(w: Array, y: Array, width_k: float, width_v: float) -> NDArray[np.bool_]:
    """Whether a bound of the negative curvature of the loss is below that of the quadratic term."""
    top, bottom = np.max(w, axis=-1, keepdims=True), np.min(w, axis=-1, keepdims=True)
    rho = np.maximum(np.abs(y - top), np.abs(y - bottom)) / (1 + width_v / w.shape[-1])
    result: NDArray[np.bool_] = width_k * (width_v * rho**2 / 4 + rho * (top - bottom + width_v * rho) / 2) < 1
    return result


def _newton(
    start: Array, omega: Array, w: Array, y: Array, width_k: float, width_v: float, tolerance: float = FINE
) -> Array:
    """Newton's method where the Hessian is positive definite, Gauss-Newton elsewhere, halved until it descends."""
    chi = start.copy()
    here = np.arange(len(chi))
    height = _objective(chi, omega, w, y, width_k, width_v)
    for _ in range(STEPS):
        o, values, label, x, now = omega[here], w[here], y[here], chi[here], height[here]
        s = _softmax(x)
        rho = (label - _dot(s, values)) / (1 + width_v * _dot(s, s))
        hessian, _, b, denominator = _hessian(s, values, rho, width_k, width_v)
        point = values + width_v * rho * s
        gradient = (x - o) / width_k - rho * s * (point - _dot(s, point))
        bad = np.linalg.eigvalsh(hessian)[:, 0] <= 1e-9 / width_k
        if bad.any():
            jb = (s * (b - _dot(s, b)))[bad]
            rank_one = jb[:, :, None] * jb[:, None, :] / denominator[bad][..., None]
            hessian[bad] = np.eye(x.shape[1]) / width_k + rank_one
        move = np.asarray(-np.linalg.solve(hessian, gradient[..., None])[..., 0], dtype=float)
        descent = _dot(gradient, move)
        scale = np.ones_like(now)
        fields = o, values, label, width_k, width_v
        for _ in range(40):
            new = _objective(x + scale * move, *fields)
            high = new > now + 1e-4 * scale * descent + 1e-15 * (1 + now)
            if not high.any():
                break
            scale = np.where(high, scale / 2, scale)
        chi[here] = x + scale * move
        height[here] = np.minimum(new, now)
        left = np.max(np.abs(move), axis=-1) > tolerance * (1 + np.max(np.abs(x), axis=-1))
        here = here[left]
        if not here.size:
            break
    return chi


@cache
def compiled() -> Callable[..., tuple[Array, Array]] | None:
    """The same minimiser as machine code, or None where numba is not installed."""
    try:
        from theorem_engine.methods.prox_kernel import minimise
    except ImportError:
        return None

    def run(omega: Array, w: Array, y: Array, width_k: float, width_v: float) -> tuple[Array, Array]:
        chi, jumped = np.empty_like(omega), np.empty_like(y)
        convex = _is_convex(w, y, width_k, width_v)[:, 0]
        minimise(omega, w, y[:, 0], width_k, width_v, convex, chi, jumped[:, 0], JUMP, VERTEX, STEPS, FINE, COARSE)
        return chi, jumped

    return run


#: Kinds of weights that have a proximal point, and how to find it and its derivatives.
POINTS: dict[str, Callable[..., Proximal]] = {"linear": linear_point, "softmax": softmax_point}
RESPONSES: dict[str, Callable[..., Any]] = {
    "linear": lambda found, w, width_k, width_v: linear_response(found, width_k, width_v),
    "softmax": softmax_response,
}
