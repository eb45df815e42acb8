"""Integral over a finite interval, at mpmath's precision."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from mpmath import mp

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.backends.bundles import finite_interval
from theorem_engine.backends.multiprecision.gauss import ball_function, integrate_panels
from theorem_engine.base.errors import NotConverged


def lower(integrals: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """Each integral on its own: elementary ones by panels in flint's numbers, others by tanh-sinh."""
    variable, low, high = finite_interval(integrals[0])
    ends = backend.function(parameters, [low, high])
    bodies = [backend.function([variable, *parameters], [i.function]) for i in integrals]
    quick = [ball_function([variable, *parameters], i.function) for i in integrals]

    def first(body: Numeric, values: tuple[Any, ...], x: Any) -> Any:
        return body(x, *values)[0]

    def evaluate(*values: Any) -> list[Any]:
        a, b = ends(*values)
        found = []
        for body, in_balls in zip(bodies, quick, strict=True):
            value = None if in_balls is None else integrate_panels(in_balls, values, a, b)
            found.append(integrate(partial(first, body, values), a, b) if value is None else value)
        return found

    return evaluate


def integrate(function: Callable[[Any], Any], low: Any, high: Any, *more: Any) -> Any:
    """Tanh-sinh quadrature with control of the relative error.

    mpmath stops at an absolute error, so an integrand of size 1e-80 would be "done" at once: it is
    divided by its own size first.
    """
    ends = [low, high, *more]
    if low == high:
        return mp.zero
    # inside: at an end the function may have a limit only
    probes = [a + (b - a) * mp.mpf(2 * k + 1) / 32 for a, b in zip(ends[:-1], ends[1:], strict=True) for k in range(16)]
    scale = max(abs(function(x)) for x in probes)
    if scale == 0:
        scale = mp.one
    value, error = mp.quad(lambda x: function(x) / scale, ends, error=True, maxdegree=12)
    size = max(abs(value), mp.eps)
    if error > mp.mpf(10) ** (-mp.dps // 2) * size:
        raise NotConverged(f"quadrature at {mp.dps} digits: error {mp.nstr(error, 2)} relative to the integrand's size")
    return value * scale
