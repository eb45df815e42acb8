"""Gaussian means at mpmath's precision."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import sympy
from mpmath import mp

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.backends.bundles import compile_gaussian
from theorem_engine.backends.float64 import BACKEND as FLOAT64
from theorem_engine.backends.multiprecision.integral import integrate
from theorem_engine.backends.running import latest
from theorem_engine.backends.sharp_places import Place, SharpPlaces, finest
from theorem_engine.base.errors import NotAvailable, NotConverged

MAX_LEVEL = 12
#: Scales of a body, relative to that of the normal law, below which an even rule is long, or passes over a peak.
SHORT = 1 / 8
#: Scales that the shortest step of a double mean, and its half, may pass over: exp(-(1/(128 x))^2) of the peak's
#: height is seen at the nearest node.
UNSEEN = 1 / 800
#: Where the inner mean of a double one is asked how sharp it is.
PLACES_OF_THE_OUTER = (-4.0, -2.0, -1.0, 0.0, 1.0, 2.0, 4.0)
#: How many times longer than its neighbour an interval beside a sharp place is.
GROWTH = 4
#: Frequencies that are followed, and how far the normal density spreads them.
FASTEST, SPREAD = 1e4, 9
#: How often the range is made half as long again for a body that grows.
EXTENSIONS = 9


def lower(means: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """Trapezoid rule for analytic bodies, tanh-sinh between breaks and around the places where a body is sharp."""
    variables, bundle = means[0].variables, compile_gaussian(means, parameters, backend)
    body, marks, bands = bundle.body, bundle.marks, bundle.bands
    # where a body is sharp need not be known to many digits
    bodies = [m.body for m in means]
    # waves have a step of their own
    sharp = SharpPlaces(bodies, variables[0], (*variables[1:], *parameters), FLOAT64, waves=False)
    middle = [b.xreplace({variables[0]: sympy.S.Zero}) for b in bodies]
    outer_sharp = SharpPlaces(middle, variables[-1], parameters, FLOAT64, waves=False)

    def component(i: int, values: tuple[Any, ...], x: Any) -> Any:
        return body(x, *values)[i]

    def compute(*values: Any) -> list[Any]:
        if len(variables) == 1:
            known = sharp(*in_doubles(values))
            scale = finest(known, float(_reach()))
            step = _first_step(bands[0], lambda x: (x, *values))
            if marks is not None or scale < SHORT:
                places = {*(() if marks is None else marks(*values)), *(_graded(known) if scale < SHORT else ())}
                places |= set() if bands[0] is None else _even(step)
                return [_between(partial(component, i, values), sorted(places)) for i in range(len(means))]
            return _line(lambda x: body(x, *values), len(means), step)
        inner, outer = (_first_step(band, lambda x: (x, x, *values)) for band in bands)

        def inside(y: Any) -> list[Any]:
            return _line(lambda x: body(x, y, *values), len(means), inner)

        reach, given = float(_reach()), in_doubles(values)
        inner = _no_longer(inner, min(finest(sharp(y, *given), reach) for y in PLACES_OF_THE_OUTER))
        outer = _no_longer(outer, finest(outer_sharp(*given), reach))
        return _line(inside, len(means), outer)

    return latest(compute, lambda values: (mp.prec, values))


def in_doubles(values: tuple[Any, ...]) -> list[Any]:
    """Numbers in double precision; lengths and other things as they are."""
    return [float(v) if isinstance(v, mp.mpf) else v for v in values]


def _graded(places: list[Place]) -> list[Any]:
    """Ends of intervals that grow away from each place where a body is sharp, each over its own scale."""
    found: set[Any] = set()
    for place in places:
        if not float(place.scale) < 1:
            continue
        at, step = mp.mpf(float(place.at)), mp.mpf(float(place.scale))
        found.add(at)
        while step < 2 * _reach():
            found |= {at - step, at + step}
            step *= GROWTH
    return sorted(found)


def _even(step: Any) -> set[Any]:
    """Ends of intervals that hold a few periods of the fastest wave each, given the step that sees it."""
    length = 16 * step
    return {k * length for k in range(-int(_reach() / length), int(_reach() / length) + 1)}


def _no_longer(step: Any, scale: float) -> Any:
    """A step halved until it is no longer than half a scale, or so short that a double mean takes long.

    At the shortest a peak is still seen between two nodes if it is not much narrower than they are apart.
    """
    if scale < UNSEEN:
        raise NotAvailable(
            f"a double Gaussian mean whose body changes over {scale:.1e} is not known to many digits; without digits= "
            "its error is estimated"
        )
    while step > scale / 2 and step > SHORT / 4:
        step /= 2
    return step


def _density(x: Any) -> Any:
    return mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)


def _reach() -> Any:
    """Where the density falls below the working precision, with room for a growing body."""
    return mp.ceil(mp.sqrt(2 * mp.ln(10) * (mp.dps + 5))) + 4


def _far_enough(functions: Callable[[Any], list[Any]], count: int) -> int:
    """Where the density has made nothing of the body too, which may grow like a Gaussian itself."""
    reach = int(_reach())
    for _ in range(EXTENSIONS):
        sizes, ends = [mp.zero] * count, [mp.zero] * count
        for k in range(-3 * reach, 3 * reach + 1):
            if abs(k) < 3 * (reach - 1) and k % 3:
                continue
            x = mp.mpf(k) / 3
            found = [abs(v) * _density(x) for v in functions(x)]
            sizes = [max(a, b) for a, b in zip(sizes, found, strict=True)]
            if abs(k) >= 3 * (reach - 1):
                ends = [max(a, b) for a, b in zip(ends, found, strict=True)]
        if all(end * reach <= mp.eps * size for end, size in zip(ends, sizes, strict=True)):
            return reach
        reach += reach // 2
    raise NotConverged("Gaussian mean: the body grows nearly as fast as the density falls")


def _between(function: Callable[[Any], Any], places: list[Any]) -> Any:
    reach = _far_enough(lambda x: [function(x)], 1)
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
    reach = _far_enough(functions, count)

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
