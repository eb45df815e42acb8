"""Errors of flows: what the tolerance leaves, and the noise of the rates as amplified on the way."""

from __future__ import annotations

from typing import Any

import numpy as np

from theorem_engine.backends.base import Backend, Numeric, get_backend
from theorem_engine.backends.float64.flow import follow
from theorem_engine.backends.rounded.number import UNIT, Rounded, each_place, error_of, value_of

#: The flow is followed again with a tolerance so many times as wide. Step by step its errors are uneven: looked at in
#: at least so many places, its largest distance was ten times the error or more in a hundred flows with closed forms.
WIDER, TRUSTED, LOOKS = 100.0, 5.0, 8
#: Starts are moved by this part of their size. Slopes need few digits, and ways in the same steps share their errors.
SHIFT, WIDEST = 1e-6, 1e5
#: Roundings of the interpolation inside a step, in units of how far the state moves, of the tables of stiff laws, in
#: units of the state, and of a step itself, in units of how far the state moves.
INSIDE, TABLES, WEIGHTS = 256, 512, 32
#: What the tolerance may leave of the state where both ways are one step each.
LEAST = 1e-15


def lower(laws: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend, plain: Numeric) -> Numeric:
    """The float64 state at the end of the time, and what is read off it."""
    (law,) = laws
    way = FlowErrors(law, parameters, backend)
    readings = backend.function([*law.state, *parameters], list(law.readings))

    def evaluate(*values: Any) -> list[Any]:
        states, errors = way.followed(values, 1)
        state = [Rounded(float(r), e) for r, e in zip(states[:, -1], errors[:, -1], strict=True)]
        return [*state, *readings(*state, *values)]

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
        return self.followed(values, pieces)[1]

    def followed(self, values: tuple[Any, ...], pieces: int) -> tuple[Any, Any]:
        """Each letter at equal times, from start to end, and its errors, as rows."""
        *start, _ = self.first(*values)
        plain = [value_of(v) for v in values]
        # two at least, by which a stiff law is told: it has none between the pieces
        looks = max(2, -(-LOOKS // pieces))
        times, *tight = self.way(plain, pieces, looks=looks)
        states = np.array(tight)
        begin = states[:, 0]
        given = np.array([float(error_of(s)) for s in start])
        is_stiff = len(times) == pieces + 1
        loose = np.array(self.way(plain, pieces, looseness=WIDER, looks=looks)[1:])
        # between the steps the difference oscillates and passes through zero: its largest counts, but at the start
        difference = np.max(np.abs(loose - states), axis=1) if loose.shape == states.shape else np.inf
        stride = 1 if is_stiff else looks
        times, states = times[::stride], states[:, ::stride]
        matrices = self._slopes(plain, states, SHIFT * np.maximum(np.abs(begin), 1e-3))
        places = sorted({0, len(times) // 2, len(times) - 1})
        noise = np.max([self._noise(states[:, i], times[i], values) for i in places], axis=0)
        worst = np.maximum(np.max(matrices, axis=2), np.eye(self.size))
        size = np.max(np.abs(states), axis=1)
        total = 4 * UNIT * np.abs(states)
        # at every step the state itself is rounded, and what the tolerance leaves is made
        total[:, 1:] += (difference / TRUSTED + worst @ (LEAST * size))[:, None]
        # a step adds up rates with weights whose sizes sum up to thirteen, its stages with larger ones
        moved = np.max(np.abs(states - begin[:, None]), axis=1)
        total[:, 1:] += (worst @ (WEIGHTS * UNIT * moved))[:, None]
        if pieces > 1:
            # the interpolation inside a step sums up rates with coefficients in the hundreds
            total[:, 1:] += INSIDE * UNIT * moved[:, None]
        if is_stiff:
            total[:, 1:] += TABLES * UNIT * size[:, None]
        total += np.einsum("ijt,j->it", matrices, given) + np.outer(worst @ noise, times)
        return states, np.where(np.isnan(total), np.inf, total)

    def _slopes(self, plain: list[Any], states: Any, shifts: Any) -> Any:
        """How far each letter of the start moves each letter at each time; axes (letter, moved, time)."""
        pieces, begin = states.shape[1] - 1, states[:, 0]
        moved = begin[:, None] + np.diag(shifts)
        widths = np.diag(moved) - begin
        together = self.way(plain, pieces, start=np.column_stack([begin, moved]), looseness=WIDEST)
        if together is not None:
            found = np.array(together[1:])
            return np.abs(found[:, 1:] - found[:, :1]) / widths[:, None]
        # stiff laws choose their steps one by one: no error is shared, so that it has to be small
        single = np.array([self.way(plain, pieces, start=column)[1:] for column in moved.T])
        return np.abs(np.swapaxes(single, 0, 1) - states[:, None, :]) / widths[:, None]

    def _noise(self, state: Any, time: float, values: tuple[Any, ...]) -> Any:
        found = self.noisy(*[Rounded(x) for x in state], *([float(time)] if self.has_clock else []), *values)
        return np.array([float(error_of(f)) for f in found])
