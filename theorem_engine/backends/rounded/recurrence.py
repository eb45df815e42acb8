"""Errors of recurrences: the noise of each step, times how much the steps after it amplify what they are given."""

from __future__ import annotations

from typing import Any

import numpy as np

from theorem_engine.backends.base import Backend, Numeric, get_backend
from theorem_engine.backends.float64.recurrence import Runner
from theorem_engine.backends.rounded.number import UNIT, Rounded, each_place, error_of, value_of

#: Places along the way at which the noise of a step, and what becomes of it, are measured.
PLACES = 32
#: Steps whose slopes are known one by one; of longer ways only the beginning is moved.
FOLLOWED = 20_000
#: Steps whose slopes are worked out together.
TOGETHER = 256
#: A state is moved by this part of its size for the slopes of one step.
SLIGHTLY = 1e-7
#: A state that is moved by the first part of its size and ends farther off than the second is another state, and
#: tells nothing more.
SHIFT, OTHER = 1e-12, 0.03


def lower(laws: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend, plain: Numeric) -> Numeric:
    """The float64 state after the last step."""
    (law,) = laws
    way = Amplified(law, parameters, backend)

    def evaluate(*values: Any) -> list[Any]:
        found, errors = way.final(values, plain)
        return [Rounded(r, e) for r, e in zip(found, errors, strict=True)]

    return lambda *values: each_place(evaluate, values)


class Amplified:
    """One law: the slopes of its steps along the way, and how much they amplify what is given to them."""

    def __init__(self, law: Any, parameters: tuple[Any, ...], backend: Backend) -> None:
        self.runner = Runner(law, parameters, get_backend("float64"))
        self.size = len(law.state)
        clock = [law.clock] if law.clock is not None else []
        self.noisy = backend.function([*law.state, *clock, *parameters], list(law.bodies))
        self.first = backend.function(parameters, [*law.start, law.duration])

    def final(self, values: tuple[Any, ...], plain: Numeric) -> tuple[list[float], Any]:
        """The state after the last step, and its errors."""
        begin, given, steps = self._start(values)
        numbers = [value_of(v) for v in values]
        if steps > FOLLOWED:
            found = [float(r) for r in plain(*numbers)]
            return found, self._from_the_start(values, begin, given, steps, 0)[-1]
        states = self._states(numbers, steps)
        return [float(x) for x in states[-1]], self._followed(values, states, given, [steps])[-1]

    def errors(self, values: tuple[Any, ...], spacing: int) -> list[Any]:
        """Errors of the state at every ``spacing`` steps and at the end."""
        begin, given, steps = self._start(values)
        if steps > FOLLOWED:
            return self._from_the_start(values, begin, given, steps, spacing)
        states = self._states([value_of(v) for v in values], steps)
        return self._followed(values, states, given, [*range(0, steps, spacing), steps])

    def _start(self, values: tuple[Any, ...]) -> tuple[Any, Any, int]:
        *start, duration = self.first(*values)
        begin = np.array([float(value_of(s)) for s in start])
        return begin, np.array([float(error_of(s)) for s in start]), int(float(value_of(duration)))

    def _states(self, plain: list[Any], steps: int) -> Any:
        """The state at every step, as rows; one that has stopped stays."""
        _, *columns = self.runner.run(tuple(plain), 1).log
        states = np.stack([np.asarray(c, dtype=float) for c in columns], axis=-1)
        return np.concatenate([states, np.repeat(states[-1:], steps + 1 - len(states), axis=0)])

    def _noise(self, state: Any, t: int, values: tuple[Any, ...]) -> Any:
        """Errors of one step from an exact state, those of the parameters included."""
        return self._noises([state], [t], values)[0]

    def _noises(self, states: list[Any], times: list[int], values: tuple[Any, ...]) -> Any:
        """Errors of one step from each of some states, in one evaluation."""
        columns = np.array(states).T
        is_one = len(states) == 1
        clock = [float(times[0]) if is_one else np.array(times, dtype=float)] if self.runner.clock else []
        letters = [Rounded(float(c[0]) if is_one else c) for c in columns]
        found = [error_of(f) for f in self.noisy(*letters, *clock, *values)]
        return np.array([np.broadcast_to(f, (len(states),)) for f in found], dtype=float).T

    def _followed(self, values: tuple[Any, ...], states: Any, given: Any, wanted: list[int]) -> list[Any]:
        """Errors at the times wanted: those of the start and of every step, as amplified from where they were made.

        The noise is known at places along the way; what is made between two of them counts as the worse of both.
        """
        steps = len(states) - 1
        count = min(PLACES, steps)
        places = [k * steps // count for k in range(count)] if count else []
        # a step that is a place itself needs no neighbour to judge it by
        ends = [] if count == steps else [steps]
        noises = self._noises([states[t] for t in (*places, *ends)], [*places, *ends], values) if steps else []
        plain = [value_of(v) for v in values]
        # the noise of a step feels the steps after it; the first one matters to what was given alone
        is_felt = steps > 1 or given.any()
        amplified = np.zeros((count, self.size, self.size))
        reached, found, due = 0, [], set(wanted)
        with np.errstate(all="ignore"):
            for t in range(steps + 1):
                if t in due:
                    found.append(self._summed(states, amplified[:reached], noises, [*places, steps], given, t))
                if t == steps:
                    break
                if reached < count and t == places[reached]:
                    amplified[reached] = np.eye(self.size)
                    reached += 1
                if t % TOGETHER == 0 and is_felt:
                    slopes = self._slopes(states[t : min(t + TOGETHER, steps)], t, plain)
                if is_felt:
                    amplified[:reached] = slopes[t % TOGETHER] @ amplified[:reached]
        return found

    def _slopes(self, states: Any, first: int, plain: list[Any]) -> Any:
        """Derivatives of the steps from some states that follow each other, by differences, all in one evaluation."""
        times = np.arange(first, first + len(states), dtype=float)
        shifts = SLIGHTLY * np.maximum(np.abs(states), 1e-3)
        matrices = np.full((len(states), self.size, self.size), np.nan)
        for sign in (1, -1):
            # outside the domain on one side there is nothing to compare with
            at = np.flatnonzero(~np.isfinite(matrices).all(axis=(1, 2)))
            if not at.size:
                break
            moved = states[at, None, :] + sign * shifts[at, :, None] * np.eye(self.size)
            table = np.concatenate([states[at, None, :], moved], axis=1)
            ends = self._advanced(table.reshape(-1, self.size), np.repeat(times[at], self.size + 1), plain)
            ends = ends.reshape(table.shape)
            widths = np.einsum("tii->ti", moved) - states[at]
            matrices[at] = np.swapaxes((ends[:, 1:] - ends[:, :1]) / widths[:, :, None], 1, 2)
        return matrices

    def _advanced(self, table: Any, times: Any, plain: list[Any]) -> Any:
        clock = [times] if self.runner.clock else []
        new = self.runner.step(*table.T, *clock, *plain)
        new = np.stack([np.broadcast_to(n, table.shape[:1]) for n in new], axis=-1)
        if self.runner.stop is None:
            return new
        stopped = self.runner.stop(*table.T, *clock, *plain)[0]
        return np.where(np.asarray(stopped, dtype=bool)[..., None], table, new)

    def _summed(self, states: Any, amplified: Any, noises: Any, places: list[int], given: Any, t: int) -> Any:
        """Errors at one time: those of the start and of every step, each as amplified from where it was made."""
        here = states[t]
        size = np.maximum(np.abs(here), 1e-3)
        reached = len(amplified)
        shifts = SHIFT * np.maximum(np.abs(states[places[:reached]]), 1e-3)
        # lost in chaos, or never known
        is_known = np.abs(amplified) * shifts[:, None, :] <= OTHER * size[:, None]
        amplified = np.where(is_known, np.abs(amplified), np.inf)
        total = _applied(amplified[0], given) if reached else given.copy()
        for k in range(reached):
            length = min(places[k + 1], t) - places[k]
            worse = amplified[k + 1] if k + 1 < reached else np.eye(self.size)
            noise = noises[k]
            if length > 1:
                worse, noise = np.maximum(worse, amplified[k]), np.maximum(noise, noises[min(k + 1, len(noises) - 1)])
            total = total + max(length, 0) * _applied(worse, noise)
        total = total + 2 * UNIT * np.abs(here)
        return np.where(np.isnan(total), np.inf, total)

    def _from_the_start(self, values: Any, begin: Any, given: Any, steps: int, spacing: int) -> list[Any]:
        """Long ways: only the start is moved, and noise of every step is amplified as much, or not at all."""
        table = np.concatenate([begin[None, :], begin + np.diag(SHIFT * np.maximum(np.abs(begin), 1e-3))])
        shifts = np.diag(table[1:]) - begin
        columns = [np.broadcast_to(np.asarray(value_of(v), dtype=float), (len(table),)) for v in values]
        counts = np.full(len(table), steps)
        way = self.runner._compiled(list(table.T), counts, tuple(columns), 0)
        if way is None:
            return [np.full(self.size, np.inf)]
        final = np.stack(way.final, axis=-1)
        matrix = np.stack([_amplified(s, final[0], w) for s, w in zip(final[1:], shifts, strict=True)], axis=-1)
        noise = np.maximum(self._noise(begin, 0, values), self._noise(final[0], steps, values))
        total = _applied(matrix, given) + steps * _applied(np.maximum(matrix, np.eye(self.size)), noise)
        last = np.where(np.isnan(total), np.inf, total)
        # what is on the way of a long log was not looked at
        return [*([np.full(self.size, np.inf)] * (-(-steps // spacing) if spacing else 0)), last]


def _applied(matrix: Any, errors: Any) -> Any:
    """A matrix times errors; what is exact brings nothing, however it is amplified."""
    return np.sum(np.where(errors > 0, matrix * errors, 0.0), axis=-1)


def _amplified(state: Any, here: Any, shift: float) -> Any:
    """How far a move was amplified, letter by letter; infinite where it was lost in chaos."""
    apart = np.abs(state - here)
    return np.where(apart <= OTHER * np.maximum(np.abs(here), 1e-3), apart / shift, np.inf)
