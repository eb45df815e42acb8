"""Errors of flows: what the tolerance leaves, and the noise of the rates as amplified on the way."""

from __future__ import annotations

from typing import Any

import numpy as np

from theorem_engine.backends.base import Backend, Numeric, get_backend
from theorem_engine.backends.float64.flow import follow
from theorem_engine.backends.rounded.number import UNIT, Rounded, each_place, error_of, value_of

#: The flow is followed again with a tolerance so many times as wide; the error falls with it, but not as evenly.
WIDER, TRUSTED = 100.0, 20.0
SHIFT = 1e-6
#: Roundings of the interpolation inside a step, in units of how far the state moves.
INSIDE = 256


def lower(laws: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend, plain: Numeric) -> Numeric:
    """The float64 state at the end of the time, and what is read off it."""
    (law,) = laws
    way = FlowErrors(law, parameters, backend)
    readings = backend.function([*law.state, *parameters], list(law.readings))

    def evaluate(*values: Any) -> list[Any]:
        found = [float(r) for r in plain(*[value_of(v) for v in values])]
        state = [Rounded(r, e) for r, e in zip(found, way.errors(values, 1)[:, -1], strict=False)]
        read = [error_of(r) for r in readings(*state, *values)]
        return [*state, *(Rounded(r, e) for r, e in zip(found[way.size :], read, strict=True))]

    return lambda *values: each_place(evaluate, values)


class FlowErrors:
    """One law followed with a wider tolerance, and from starts that were moved."""

    def __init__(self, law: Any, parameters: tuple[Any, ...], backend: Backend) -> None:
        float64 = get_backend("float64")
        self.way = follow(law, parameters, float64)
        self.size = len(law.state)
        clock = [law.clock] if law.clock is not None else []
        self.noisy = backend.function([*law.state, *clock, *parameters], list(law.bodies))
        self.first = backend.function(parameters, [*law.start, law.duration])
        self.has_clock = bool(clock)

    def errors(self, values: tuple[Any, ...], pieces: int) -> Any:
        """Errors of each letter at equal times, from start to end, as rows."""
        *start, _ = self.first(*values)
        plain = [value_of(v) for v in values]
        times, *tight = self.way(plain, pieces)
        states = np.array(tight)
        _, *loose = self.way(plain, pieces, looseness=WIDER)
        begin = states[:, 0]
        given = np.array([float(error_of(s)) for s in start])
        matrices = np.zeros((self.size, self.size, len(times)))
        for k in range(self.size):
            shift = SHIFT * max(abs(begin[k]), 1e-3)
            moved = begin.copy()
            moved[k] += shift
            _, *found = self.way(plain, pieces, start=moved)
            matrices[:, k] = np.abs(np.array(found) - states) / shift
        noise = np.max([self._noise(states[:, i], times[i], values) for i in (0, len(times) // 2, -1)], axis=0)
        worst = np.maximum(np.max(matrices, axis=2), np.eye(self.size))
        # between the steps the difference oscillates and passes through zero: its largest counts, but at the start
        differences = np.abs(np.array(loose) - states)
        differences[:, 1:] = np.max(differences, axis=1, keepdims=True)
        total = differences / TRUSTED + 4 * UNIT * np.abs(states)
        if pieces > 1:
            # the interpolation inside a step sums up rates with coefficients in the hundreds
            total[:, 1:] += INSIDE * UNIT * np.max(np.abs(states - begin[:, None]), axis=1, keepdims=True)
        total += np.einsum("ijt,j->it", matrices, given) + np.outer(worst @ noise, times)
        # at every step the state itself is rounded
        total += np.outer(worst @ (UNIT * np.max(np.abs(states), axis=1)), np.ones(len(times)))
        return np.where(np.isnan(total), np.inf, total)

    def _noise(self, state: Any, time: float, values: tuple[Any, ...]) -> Any:
        found = self.noisy(*[Rounded(x) for x in state], *([float(time)] if self.has_clock else []), *values)
        return np.array([float(error_of(f)) for f in found])
