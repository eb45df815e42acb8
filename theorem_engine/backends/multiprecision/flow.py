"""Flows at mpmath's precision: collocation, or extrapolated midpoint steps whose order grows with the digits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from mpmath import mp

from theorem_engine.backends.base import Backend, Numeric, get_backend
from theorem_engine.backends.float64.each_point import plain
from theorem_engine.backends.float64.flow import follow as rough_way
from theorem_engine.backends.multiprecision.collocation import Panel, collocate
from theorem_engine.base.errors import NotConverged

#: Evaluations of the rates after which a flow is given up.
BUDGET = 20_000

Rates = Callable[[Any, Sequence[Any]], list[Any]]


#: Pieces of time at which the solution of double precision is looked at.
PIECES = 512


def lower(laws: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """The state at the end of the time."""
    (law,) = laws
    way = Way(law, parameters, backend)
    readings = backend.function([*law.state, *parameters], list(law.readings))

    def evaluate(*values: Any) -> list[Any]:
        (end,) = way(values, lambda duration: [duration])
        return [*end, *readings(*end, *values)]

    return evaluate


class Way:
    """A law followed in time: collocation where double precision shows the way, else extrapolation."""

    def __init__(self, law: Any, parameters: tuple[Any, ...], backend: Backend) -> None:
        self.clock = [law.clock] if law.clock is not None else []
        double = get_backend("float64")
        letters = [*law.state, *self.clock, *parameters]
        self.rates, self.quick = (b.function(letters, list(law.bodies)) for b in (backend, double))
        self.first = backend.function(parameters, [*law.start, law.duration])
        self.rough = rough_way(law, parameters, double)
        self.known: list[Panel] = []

    def __call__(self, values: tuple[Any, ...], times: Callable[[Any], list[Any]]) -> list[list[Any]]:
        """The states at some rising times."""
        *start, duration = self.first(*values)
        wanted = times(duration)
        if duration == 0:
            return [list(start) for _ in wanted]

        def rates(t: Any, y: Sequence[Any]) -> list[Any]:
            return list(self.rates(*y, *([t] if self.clock else []), *values))

        try:
            panels = self._collocated(rates, values, start, duration)
        except NotConverged:
            found, now, state = [], mp.zero, start
            for t in wanted:
                state = follow(partial(_later, rates, now), state, t - now)
                found.append(state)
                now = t
            return found
        return [next((p for p in panels if t <= p.start + p.length), panels[-1]).at(t) for t in wanted]

    def _collocated(self, rates: Rates, values: tuple[Any, ...], start: list[Any], duration: Any) -> list[Panel]:
        from scipy.interpolate import make_interp_spline

        given = [plain(v) for v in values]
        times, *columns = self.rough(given, PIECES)
        spline = make_interp_spline(times, np.array(columns, dtype=float).T, k=7)

        def quick(t: Any, y: Sequence[Any]) -> list[Any]:
            return list(self.quick(*y, *([t] if self.clock else []), *given))

        # what was found with fewer digits is a better start, if it is of the same flow
        near = self.known and all(
            abs(a - b) <= 1e-9 * (1 + abs(b)) for a, b in zip(self.known[0].at(mp.zero), start, strict=True)
        )
        self.known = collocate(rates, quick, spline, start, duration, self.known if near else [])
        return self.known


def _later(rates: Rates, begin: Any, time: Any, state: Sequence[Any]) -> list[Any]:
    """Rates with the clock set back."""
    return rates(begin + time, state)


def follow(rates: Rates, state: list[Any], duration: Any) -> list[Any]:
    """Steps of the size that the extrapolation can settle, from time zero to the end."""
    time, size, spent = mp.zero, duration, 0
    # a step is settled within a number of levels proportional to the digits carried
    levels = mp.dps // 2 + 6
    while time < duration:
        size = min(size, duration - time)
        try:
            moved, used, level = _extrapolated(rates, time, state, size, levels)
        except (NotConverged, ValueError, ZeroDivisionError, OverflowError):
            # too long a step may leave the domain of the rates; a shorter one will not
            moved, used, level = None, levels, levels
        spent += used
        if spent > BUDGET:
            raise NotConverged(f"the flow could not be followed to time {mp.nstr(duration, 5)} in {BUDGET} evaluations")
        if moved is None:
            size /= 3
            continue
        time, state = time + size, moved
        size *= mp.mpf("1.5") if level < levels // 2 else mp.mpf("0.9") if level > 3 * levels // 4 else 1
    return state


def _extrapolated(
    rates: Rates, time: Any, state: list[Any], size: Any, levels: int
) -> tuple[list[Any] | None, int, int]:
    """Midpoint rule with 2, 4, 6, ... substeps, extrapolated in the square of the substep until it stands still."""
    table: list[list[list[Any]]] = []
    slope = rates(time, state)
    used = 1
    for level in range(levels):
        count = 2 * (level + 1)
        row = [_midpoint(rates, time, state, slope, size, count)]
        used += count
        for j in range(1, level + 1):
            ratio = (mp.mpf(count) / (2 * (level - j + 1))) ** 2
            previous = table[level - 1][j - 1]
            row.append([a + (a - b) / (ratio - 1) for a, b in zip(row[j - 1], previous, strict=True)])
        table.append(row)
        if level >= 2:
            gap = max(abs(a - b) for a, b in zip(row[-1], row[-2], strict=True))
            scale = max(max(abs(a) for a in row[-1]), mp.eps)
            if gap <= mp.mpf(10) ** (2 - mp.dps) * scale:
                return row[-1], used, level
    return None, used, levels


def _midpoint(rates: Rates, time: Any, state: list[Any], slope: list[Any], size: Any, count: int) -> list[Any]:
    step = size / count
    before, now = state, [y + step * f for y, f in zip(state, slope, strict=True)]
    for k in range(1, count):
        rate = rates(time + k * step, now)
        before, now = now, [b + 2 * step * f for b, f in zip(before, rate, strict=True)]
    rate = rates(time + size, now)
    return [(a + b + step * f) / 2 for a, b, f in zip(now, before, rate, strict=True)]
