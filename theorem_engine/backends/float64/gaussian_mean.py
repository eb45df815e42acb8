"""Gaussian means in double precision: trapezoid rule for analytic bodies, panels between breaks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import sympy

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.errors import NotConverged
from theorem_engine.methods.quadrature import legendre_interval, trapezoid_line, window
from theorem_engine.operators.gaussian_mean import bandwidth
from theorem_engine.trace import note

#: Beyond this the normal density is zero in float64, so nothing is lost however fast the body grows.
REACH = 38.5
#: Frequencies that are followed, and how far the normal density spreads them.
FASTEST, SPREAD = 1e5, 9.0
#: Where frequencies are looked at.
PLACES = np.linspace(-9.5, 9.5, 77)
_NORM = float(1 / np.sqrt(2 * np.pi))


def lower(means: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """All means of the bundle share nodes and subexpressions."""
    variables, breaks = means[0].variables, means[0].breaks
    body = backend.function([*variables, *parameters], [m.body for m in means])
    marks = backend.function(parameters, list(breaks)) if breaks else None

    waves = [sympy.Max(*(bandwidth(m.body, x) for m in means)) for x in variables]
    bands = [backend.function([*variables, *parameters], [w]) if w != 0 else None for w in waves]

    def evaluate(*values: Any) -> list[Any]:
        with np.errstate(all="ignore"):
            if marks is not None:
                results = _between(body, marks(*values), values)
            elif len(variables) == 1:
                results = _line(body, values, bands[0])
            else:
                results = _plane(body, values, bands)
        note("Gaussian mean", [error for _, error in results])
        return [value for value, _ in results]

    return evaluate


def _weighted(body: Numeric, x: Any, values: tuple[Any, ...]) -> list[Any]:
    """Bodies times density; where the density is zero the product is, whatever the body does."""
    spread = [np.asarray(v)[..., None] if np.ndim(v) else v for v in values]
    density = _NORM * np.exp(-0.5 * x * x)
    return [np.where(density > 0, np.multiply(b, density), 0.0) for b in body(x, *spread)]


def _first_step(band: Numeric | None, *arguments: Any) -> float:
    """A step at which the rule sees every wave: its own frequency is above theirs by what the density spreads them."""
    if band is None:
        return 0.25
    highest = float(np.max(np.abs(band(*arguments)[0])))
    if not highest < FASTEST:
        raise NotConverged(f"Gaussian mean: the body oscillates too fast (frequency {highest:.1e})")
    return min(0.25, 2.0 ** -math.ceil(math.log2((highest + SPREAD) / (2 * math.pi))))


def _line(body: Numeric, values: tuple[Any, ...], band: Numeric | None = None) -> list[tuple[Any, Any]]:
    def integrand(x: Any) -> list[Any]:
        return _weighted(body, x, values)

    step = _first_step(band, PLACES, *(np.asarray(v)[..., None] if np.ndim(v) else v for v in values))
    low, high = window(lambda x: np.max([np.abs(v) for v in _same_shape(integrand(x))], axis=0), REACH, 0.25)
    return trapezoid_line(integrand, float(np.min(low)), float(np.max(high)), step)


def _between(body: Numeric, marks: list[Any], values: tuple[Any, ...]) -> list[tuple[Any, Any]]:
    def integrand(x: Any) -> list[Any]:
        return _weighted(body, x, values)

    inner = np.sort(np.stack(np.broadcast_arrays(*[np.asarray(m, dtype=float) for m in marks])), axis=0)
    ends = [np.full(inner.shape[1:], -REACH), *np.clip(inner, -REACH, REACH), np.full(inner.shape[1:], REACH)]
    parts = [legendre_interval(integrand, a, b) for a, b in zip(ends[:-1], ends[1:], strict=True)]
    return [(sum(p[i][0] for p in parts), sum(p[i][1] for p in parts)) for i in range(len(parts[0]))]


def _plane(body: Numeric, values: tuple[Any, ...], bands: list[Numeric | None]) -> list[tuple[Any, Any]]:
    """Two variables: the inner mean is taken at every node of the outer rule."""

    def outer(y: Any) -> list[Any]:
        spread = [np.asarray(v)[..., None] if np.ndim(v) else v for v in values]

        def inner(x: Any, *rest: Any) -> list[Any]:
            return body(x, *rest)

        results = _line(inner, (y, *spread), bands[0])
        density = _NORM * np.exp(-0.5 * y * y)
        return [value * density for value, _ in results]

    spread = [np.asarray(v)[..., None, None] if np.ndim(v) else v for v in values]
    return trapezoid_line(outer, -9.5, 9.5, _first_step(bands[1], PLACES[:, None], PLACES, *spread))


def _same_shape(arrays: list[Any]) -> tuple[Any, ...]:
    return np.broadcast_arrays(*arrays)
