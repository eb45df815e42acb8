"""Flows at mpmath's precision: extrapolated midpoint steps, whose order grows with the digits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mpmath import mp

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.base.errors import NotConverged

#: Evaluations of the rates after which a flow is given up.
BUDGET = 20_000

Rates = Callable[[Any, list[Any]], list[Any]]


def lower(laws: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """The state at the end of the time."""
    (law,) = laws
    clock = [law.clock] if law.clock is not None else []
    rates = backend.function([*law.state, *clock, *parameters], list(law.bodies))
    first = backend.function(parameters, [*law.start, law.duration])
    readings = backend.function([*law.state, *parameters], list(law.readings))

    def evaluate(*values: Any) -> list[Any]:
        *start, duration = first(*values)
        end = follow(lambda t, y: list(rates(*y, *([t] if clock else []), *values)), start, duration)
        return [*end, *readings(*end, *values)]

    return evaluate


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
