"""Gaussian means at mpmath's precision."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from mpmath import mp

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.backends.bundles import compile_gaussian
from theorem_engine.backends.multiprecision.integral import integrate
from theorem_engine.base.errors import NotConverged

MAX_LEVEL = 12
#: Frequencies that are followed, and how far the normal density spreads them.
FASTEST, SPREAD = 1e4, 9


def lower(means: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """Trapezoid rule for analytic bodies, tanh-sinh between breaks."""
    variables, bundle = means[0].variables, compile_gaussian(means, parameters, backend)
    body, marks, bands = bundle.body, bundle.marks, bundle.bands

    def component(i: int, values: tuple[Any, ...], x: Any) -> Any:
        return body(x, *values)[i]

    def evaluate(*values: Any) -> list[Any]:
        if marks is not None:
            places = sorted(marks(*values))
            return [_between(partial(component, i, values), places) for i in range(len(means))]
        if len(variables) == 1:
            step = _first_step(bands[0], lambda x: (x, *values))
            return _line(lambda x: body(x, *values), len(means), step)
        inner, outer = (_first_step(band, lambda x: (x, x, *values)) for band in bands)
        return _line(lambda y: _line(lambda x: body(x, y, *values), len(means), inner), len(means), outer)

    return evaluate


def _density(x: Any) -> Any:
    return mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)


def _reach() -> Any:
    """Where the density falls below the working precision, with room for a growing body."""
    return mp.ceil(mp.sqrt(2 * mp.ln(10) * (mp.dps + 5))) + 4


def _between(function: Callable[[Any], Any], places: list[Any]) -> Any:
    reach = _reach()
    inner = [x for x in places if -reach < x < reach]
    return integrate(lambda x: function(x) * _density(x), -reach, *inner, reach)


def _first_step(band: Numeric | None, place: Callable[[Any], tuple[Any, ...]]) -> Any:
    """A step at which the rule sees every wave of a body: its frequency is above theirs by the density's spread."""
    step = mp.mpf(1) / 2
    if band is None:
        return step
    highest = max(abs(band(*place(mp.mpf(k) / 4))[0]) for k in range(-38, 39))
    if not highest < FASTEST:
        raise NotConverged(f"Gaussian mean: the body oscillates too fast (frequency {mp.nstr(highest, 2)})")
    while 2 * mp.pi / step < highest + SPREAD:
        step /= 2
    return step


def _line(functions: Callable[[Any], list[Any]], count: int, step: Any) -> list[Any]:
    """Halve the step of the trapezoid rule until every sum stands still."""
    reach = int(_reach())

    def add(nodes: list[Any]) -> tuple[list[Any], list[Any]]:
        sums, sizes = [mp.zero] * count, [mp.zero] * count
        for x in nodes:
            weight = _density(x)
            for i, v in enumerate(functions(x)):
                sums[i] += v * weight
                sizes[i] += abs(v) * weight
        return sums, sizes

    sums, sizes = add([k * step for k in range(-int(reach / step), int(reach / step) + 1)])
    for _ in range(MAX_LEVEL):
        half = step / 2
        n = int(reach / step)
        new, new_sizes = add([(2 * k + 1) * half for k in range(-n, n)])
        gaps = [abs((a + b) * half - a * step) for a, b in zip(sums, new, strict=True)]
        sums = [a + b for a, b in zip(sums, new, strict=True)]
        sizes = [a + b for a, b in zip(sizes, new_sizes, strict=True)]
        step = half
        # geometric convergence: a gap of half the digits leaves none after the next halving
        if all(
            gap <= mp.mpf(10) ** (-(mp.dps * 6) // 10) * max(s * step, mp.eps)
            for gap, s in zip(gaps, sizes, strict=True)
        ):
            return [s * step for s in sums]
    raise NotConverged("Gaussian mean: the trapezoid rule does not settle (a jump or a kink belongs in `breaks`)")
