"""Proximal points of softmax attention.

The minimum over z is explicit and leaves, with s = softmax(chi),

    phi(chi) = |chi - omega|^2 / (2 V_k) + (y - s.w)^2 / (2 (1 + V_v |s|^2)),

which may have several minima. Newton's method starts from omega; unless a bound of the curvature excludes a lower
minimum, it starts from the uniform point and from near each vertex too, and a sample whose best minimum is not
the one reached from omega is counted as a jump.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from theorem_engine.methods.compiled import call_compiled
from theorem_engine.methods.prox import Array, Proximal, Response, dot, machine_code

#: A minimum lower than the one reached from omega by more than this is a jump.
JUMP = 1e-7
#: Logit of the starts near a vertex of the simplex.
VERTEX = 6.0
STEPS = 100
#: Relative length of the last Newton step, whose square is what is left; the coarse one only tells which minima are
#: worth a polish, and a search that comes as near to the first minimum as ``NEAR`` has found the same.
FINE, COARSE, NEAR = 1e-7, 1e-5, 0.02
#: Largest covariance, under any weights s, of a vector of range one with (v - s.v)^2, |v| = 1: 1/(3 sqrt 3), attained
#: by two tokens with weights 1/2 +- 1/(2 sqrt 3); for up to ten tokens a search found nothing larger.
SKEW = 0.19246


def softmax_point(omega: Array, w: Array, y: Array, width_k: float, width_v: float) -> Proximal:
    """The lowest minimum found from omega, from the uniform point and from near each vertex."""
    length = omega.shape[-1]
    flat = [np.ascontiguousarray(np.broadcast_to(x, (omega.shape[0], k)), dtype=float) for x, k in
            ((omega, length), (w, length), (y, 1))]  # fmt: skip
    minimiser = batched_minimiser if machine_code() is None else compiled_minimiser
    chi, jumped = minimiser(flat[0], flat[1], flat[2], float(width_k), float(width_v))
    s = softmax(chi)
    rho = (flat[2] - dot(s, flat[1])) / (1 + width_v * dot(s, s))
    return Proximal(chi, flat[1] + width_v * rho * s, rho, jumped)


def softmax_response(found: Proximal, w: Array, width_k: float, width_v: float) -> Response:
    """Implicit derivatives of the stationarity conditions at the point found."""
    length = found.chi.shape[-1]
    s, rho = softmax(found.chi), found.rho
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


def softmax(chi: Array) -> Array:
    """Weights of each sample, without overflow."""
    weights = np.exp(chi - np.max(chi, axis=-1, keepdims=True))
    result: Array = weights / np.sum(weights, axis=-1, keepdims=True)
    return result


def compiled_minimiser(omega: Array, w: Array, y: Array, width_k: float, width_v: float) -> tuple[Array, Array]:
    """Minimisers and marks of jumps by machine code."""
    chi, jumped = np.empty_like(omega), np.empty_like(y)
    call_compiled(
        machine_code().minimise, omega, w, y[:, 0], width_k, width_v, chi, jumped[:, 0], JUMP, VERTEX, STEPS,
        FINE, COARSE, NEAR, SKEW,
    )  # fmt: skip
    return chi, jumped


def batched_minimiser(omega: Array, w: Array, y: Array, width_k: float, width_v: float) -> tuple[Array, Array]:
    """The same, vectorised."""
    first = _newton(omega, omega, w, y, width_k, width_v)
    reached = _objective(first, omega, w, y, width_k, width_v)
    best, lowest = first.copy(), reached.copy()
    open_ = np.flatnonzero(~is_lowest(reached, omega, w, y, width_k, width_v)[:, 0])
    if open_.size:
        fields = omega[open_], w[open_], y[open_], width_k, width_v
        for start in _starts(omega[open_]):
            chi = _newton(start, *fields, tolerance=COARSE, known=first[open_])
            lower = (_objective(chi, *fields) < lowest[open_] - JUMP)[:, 0]
            if lower.any():
                there = open_[lower]
                fine = _newton(chi[lower], omega[there], w[there], y[there], width_k, width_v)
                best[there] = fine
                lowest[there] = _objective(fine, omega[there], w[there], y[there], width_k, width_v)
    return best, (lowest < reached - JUMP).astype(float)


def is_lowest(height: Array, omega: Array, w: Array, y: Array, width_k: float, width_v: float) -> NDArray[np.bool_]:
    """Whether a stationary point of this height is certain to be the lowest, (n, 1).

    A lower point would lie in the ball of radius sqrt(2 V_k height) around omega. If phi is convex there, the
    stationary point is the only one. In the ball the weight of all tokens but the leading one is at most p; with
    P = p(1-p) the Jacobian J of softmax is at most 2P, and s.w moves at most sqrt(2) P range(w) per unit of length.
    """
    length = w.shape[-1]
    radius = np.sqrt(2 * width_k * height)
    lead = np.max(omega, axis=-1, keepdims=True)
    others = np.sum(np.exp(omega - lead), axis=-1, keepdims=True) - 1
    odds = others * np.exp(np.minimum(np.sqrt(2) * radius, 700.0))
    p = np.minimum(odds / (1 + odds), 0.5)
    spread = p * (1 - p)
    top, bottom = np.max(w, axis=-1, keepdims=True), np.min(w, axis=-1, keepdims=True)
    reach = np.abs(y - dot(softmax(omega), w)) + radius * np.sqrt(2) * spread * (top - bottom)
    miss = np.minimum(reach, np.maximum(np.abs(y - top), np.abs(y - bottom)))
    rho = miss / (1 + width_v * np.maximum(1 / length, (1 - p) ** 2))
    bend = np.minimum(SKEW, 2 * spread) * (top - bottom + width_v * rho)
    result: NDArray[np.bool_] = (height <= JUMP) | (width_k * rho * (4 * width_v * rho * spread**2 + bend) < 1)
    return result


def _square(a: Array) -> Array:
    result: Array = np.sum(a * a, axis=(1, 2))[:, None]
    return result


def _hessian(s: Array, w: Array, rho: Array, width_k: float, width_v: float) -> tuple[Array, Array, Array, Array]:
    """Hessian of phi, the Jacobian of softmax, b and 1 + V_v |s|^2."""
    denominator = 1 + width_v * dot(s, s)
    b = w + 2 * rho * width_v * s
    u = -rho * (w + width_v * rho * s)
    off = u - dot(s, u)
    unit = np.eye(s.shape[-1])
    jacobian = s[:, :, None] * unit - s[:, :, None] * s[:, None, :]
    jb = s * (b - dot(s, b))
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
    s = softmax(chi)
    miss = y - dot(s, w)
    gap = chi - omega
    return dot(gap, gap) / (2 * width_k) + miss**2 / (2 * (1 + width_v * dot(s, s)))


def _starts(omega: Array) -> list[Array]:
    """The uniform point, and one near each vertex."""
    mean = np.mean(omega, axis=-1, keepdims=True)
    length = omega.shape[-1]
    corners = [mean + VERTEX * (np.arange(length) == k) - VERTEX / length for k in range(length)]
    return [mean + 0 * omega, *corners]


def _newton(
    start: Array, omega: Array, w: Array, y: Array, width_k: float, width_v: float, tolerance: float = FINE,
    known: Any = None,
) -> Array:  # fmt: skip
    """Newton's method where the Hessian is positive definite, Gauss-Newton elsewhere, halved until it descends.

    Ends after a short step of Newton's method, or near a ``known`` minimum.
    """
    chi = start.copy()
    here = np.arange(len(chi))
    height = _objective(chi, omega, w, y, width_k, width_v)
    for _ in range(STEPS):
        o, values, label, x, now = omega[here], w[here], y[here], chi[here], height[here]
        s = softmax(x)
        rho = (label - dot(s, values)) / (1 + width_v * dot(s, s))
        hessian, _, b, denominator = _hessian(s, values, rho, width_k, width_v)
        point = values + width_v * rho * s
        gradient = (x - o) / width_k - rho * s * (point - dot(s, point))
        bad = np.linalg.eigvalsh(hessian)[:, 0] <= 1e-9 / width_k
        if bad.any():
            jb = (s * (b - dot(s, b)))[bad]
            rank_one = jb[:, :, None] * jb[:, None, :] / denominator[bad][..., None]
            hessian[bad] = np.eye(x.shape[1]) / width_k + rank_one
        move = np.asarray(-np.linalg.solve(hessian, gradient[..., None])[..., 0], dtype=float)
        descent = dot(gradient, move)
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
        # Gauss-Newton steps shrink by a factor only: they go on to rounding
        short = np.where(bad, 1e-5 * tolerance, tolerance) * (1 + np.max(np.abs(x), axis=-1))
        left = np.max(np.abs(move), axis=-1) > short
        if known is not None:
            left &= np.max(np.abs(chi[here] - known[here]), axis=-1) > NEAR
        here = here[left]
        if not here.size:
            break
    return chi
