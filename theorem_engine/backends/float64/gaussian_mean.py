"""Gaussian means in double precision: trapezoid rule for analytic bodies, panels between breaks and for steep ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import sympy

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.backends.bundles import compile_gaussian
from theorem_engine.backends.sharp_places import Place, SharpPlaces, amplification, finest
from theorem_engine.base.errors import NotConverged
from theorem_engine.base.reports import note
from theorem_engine.numerics.panels import graded_edges
from theorem_engine.numerics.quadrature import legendre_interval, legendre_panels, trapezoid_line, window

#: Beyond this the normal density is zero in float64, so nothing is lost however fast the body grows.
REACH = 38.5
#: Frequencies that are followed, and how far the normal density spreads them.
FASTEST, SPREAD = 1e5, 9.0
#: Where frequencies are looked at.
PLACES = np.linspace(-9.5, 9.5, 77)
#: Values of a body that are held at once.
HELD = 4_000_000
_NORM = float(1 / np.sqrt(2 * np.pi))
#: Scales of a body, relative to that of the normal law, at which an even rule is still short: for one point, for many.
SHORT, SHORT_FOR_MANY, MANY = 1 / 8, 1 / 256, 32


def lower(means: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """All means of the bundle share nodes and subexpressions."""
    variables, bundle = means[0].variables, compile_gaussian(means, parameters, backend)
    body, marks, bands = bundle.body, bundle.marks, bundle.bands

    bodies = [m.body for m in means]
    # the inner mean sees each value of the outer letter, the outer mean the middle of the inner one
    sharp = [SharpPlaces(bodies, variables[0], (*variables[1:], *parameters), backend)]
    if len(variables) == 2:
        middle = [body.xreplace({variables[0]: sympy.S.Zero}) for body in bodies]
        sharp.append(SharpPlaces(middle, variables[1], parameters, backend))

    def evaluate(*values: Any) -> list[Any]:
        with np.errstate(all="ignore"):
            if len(variables) == 1:
                results = _mean(body, values, bands[0], sharp[0], marks)
            else:
                results = _plane(body, values, bands, sharp)
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


def _mean(
    body: Numeric, values: tuple[Any, ...], band: Numeric | None, sharp: SharpPlaces, marks: Numeric | None = None
) -> list[tuple[Any, Any]]:
    """Over one variable, by the rule that the body's scale and kinks ask for."""
    places = sharp(*values)
    scale = finest(places, REACH)
    shape = np.broadcast_shapes(*(np.shape(v) for v in values)) if values else ()
    is_long = scale < (SHORT if math.prod(shape) < MANY else SHORT_FOR_MANY)
    if not (is_long or (sharp.has_switches and marks is None)):
        if marks is not None:
            return _between(body, marks(*values), values) if scale > 1 else _at_points(body, values, sharp, marks)
        return _line(body, values, band, min(1.0, scale))
    return _at_points(body, values, sharp, marks)


def _at_points(
    body: Numeric, values: tuple[Any, ...], sharp: SharpPlaces, marks: Numeric | None
) -> list[tuple[Any, Any]]:
    """Point by point, on panels that follow the body."""
    shape = np.broadcast_shapes(*(np.shape(v) for v in values)) if values else ()
    if shape == ():
        breaks = [] if marks is None else [Place(m, np.inf) for m in marks(*values)]
        return list(_on_panels(body, values, [*sharp(*values), *breaks]))
    flat = [np.broadcast_to(np.asarray(v, dtype=object), shape).ravel() for v in values]
    rows = [_at_points(body, tuple(v[i] for v in flat), sharp, marks) for i in range(flat[0].size)]
    found = np.array(rows, dtype=float)
    return [(found[:, k, 0].reshape(shape), found[:, k, 1].reshape(shape)) for k in range(found.shape[1])]


def _on_panels(body: Numeric, values: tuple[Any, ...], places: list[Place]) -> list[tuple[float, float]]:
    def integrand(x: Any) -> list[Any]:
        return _weighted(body, x, values)

    low, high = window(lambda x: np.max([np.abs(v) for v in _same_shape(integrand(x))], axis=0), REACH, 0.25)
    known = [(float(p.at), float(p.scale)) for p in places]
    near = [at + sign * min(40 * scale, 1.0) for at, scale in known if abs(at) < REACH for sign in (-1, 1)]
    first, last = max(-REACH, float(np.min([low, *near]))), min(REACH, float(np.max([high, *near])))
    edges = graded_edges(first, last, 0.5, known)
    return legendre_panels(integrand, edges, noise=lambda x: amplification(places, x))


def _line(
    body: Numeric, values: tuple[Any, ...], band: Numeric | None = None, scale: float = 1.0
) -> list[tuple[Any, Any]]:
    def integrand(x: Any) -> list[Any]:
        return _weighted(body, x, values)

    step = _first_step(band, PLACES, *(np.asarray(v)[..., None] if np.ndim(v) else v for v in values))
    step = min(step, 0.25 * 2.0 ** math.floor(math.log2(scale)))
    shape = np.broadcast_shapes(*(np.shape(v) for v in values)) if values else ()
    together = max(1, int(HELD * step / (2 * REACH)))
    if math.prod(shape) > together:
        return _in_parts(body, values, band, scale, shape, together)
    low, high = window(lambda x: np.max([np.abs(v) for v in _same_shape(integrand(x))], axis=0), REACH, 0.25)
    return trapezoid_line(integrand, float(np.min(low)), float(np.max(high)), step)


def _in_parts(
    body: Numeric, values: tuple[Any, ...], band: Numeric | None, scale: float, shape: tuple[int, ...], together: int
) -> list[tuple[Any, Any]]:
    """The same for more points than there is room for at once: some of them at a time."""
    flat = [np.broadcast_to(v, shape).ravel() if np.ndim(v) else v for v in values]
    parts = []
    for first in range(0, math.prod(shape), together):
        here = tuple(v[first : first + together] if np.ndim(v) else v for v in flat)
        count = (min(together, math.prod(shape) - first),)
        parts.append([np.broadcast_arrays(*pair, np.empty(count))[:2] for pair in _line(body, here, band, scale)])
    columns = [
        [np.concatenate(pieces).reshape(shape) for pieces in zip(*pairs, strict=True)]
        for pairs in zip(*parts, strict=True)
    ]
    return [(value, error) for value, error in columns]


def _between(body: Numeric, marks: list[Any], values: tuple[Any, ...]) -> list[tuple[Any, Any]]:
    def integrand(x: Any) -> list[Any]:
        return _weighted(body, x, values)

    inner = np.sort(np.stack(np.broadcast_arrays(*[np.asarray(m, dtype=float) for m in marks])), axis=0)
    ends = [np.full(inner.shape[1:], -REACH), *np.clip(inner, -REACH, REACH), np.full(inner.shape[1:], REACH)]
    parts = [legendre_interval(integrand, a, b) for a, b in zip(ends[:-1], ends[1:], strict=True)]
    return [(sum(p[i][0] for p in parts), sum(p[i][1] for p in parts)) for i in range(len(parts[0]))]


def _plane(
    body: Numeric, values: tuple[Any, ...], bands: list[Numeric | None], sharp: list[SharpPlaces]
) -> list[tuple[Any, Any]]:
    """Two variables: the inner mean is taken at every node of the outer rule."""
    inner_errors: list[Any] = []

    def outer(y: Any) -> list[Any]:
        spread = [np.asarray(v)[..., None] if np.ndim(v) else v for v in values]

        def inner(x: Any, *rest: Any) -> list[Any]:
            return body(x, *rest)

        results = _mean(inner, (y, *spread), bands[0], sharp[0])
        inner_errors.append([np.max(error) for _, error in results])
        density = _NORM * np.exp(-0.5 * y * y)
        return [value * density for value, _ in results]

    spread = [np.asarray(v)[..., None, None] if np.ndim(v) else v for v in values]
    step = _first_step(bands[1], PLACES[:, None], PLACES, *spread)
    scale = max(min(1.0, finest(sharp[1](*values), REACH)), SHORT_FOR_MANY)
    results = trapezoid_line(outer, -9.5, 9.5, min(step, 0.25 * 2.0 ** math.floor(math.log2(scale))))
    own = np.max(inner_errors, axis=0)
    return [(value, error + left) for (value, error), left in zip(results, own, strict=True)]


def _same_shape(arrays: list[Any]) -> tuple[Any, ...]:
    return np.broadcast_arrays(*arrays)
