"""Errors of recurrences: the noise of each step, times how much the steps after it amplify what they are given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from theorem_engine.backends.base import Backend, Numeric, get_backend
from theorem_engine.backends.float64.recurrence import Runner
from theorem_engine.backends.rounded.number import UNIT, Rounded, each_place, error_of, value_of

#: Places along the way at which the noise of a step and what becomes of it are measured.
PLACES = 32
#: Steps that are followed one by one; of longer ways only the beginning is moved.
FOLLOWED = 20_000
#: A state is moved by this part of its size; moved so far that it is another state, it tells nothing more.
SHIFT, OTHER = 1e-12, 0.03


def lower(laws: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend, plain: Numeric) -> Numeric:
    """The float64 state after the last step."""
    (law,) = laws
    way = Amplified(law, parameters, backend)

    def evaluate(*values: Any) -> list[Any]:
        found = [float(r) for r in plain(*[value_of(v) for v in values])]
        return [Rounded(r, e) for r, e in zip(found, way.errors(values, 0)[-1], strict=True)]

    return lambda *values: each_place(evaluate, values)


@dataclass
class _Row:
    """A state that was moved on its way: when, which letter, by how much."""

    place: int
    letter: int
    shift: float


class Amplified:
    """One law: states moved at places along the way, and how far apart they end."""

    def __init__(self, law: Any, parameters: tuple[Any, ...], backend: Backend) -> None:
        self.runner = Runner(law, parameters, get_backend("float64"))
        self.size = len(law.state)
        clock = [law.clock] if law.clock is not None else []
        self.noisy = backend.function([*law.state, *clock, *parameters], list(law.bodies))
        self.first = backend.function(parameters, [*law.start, law.duration])

    def errors(self, values: tuple[Any, ...], spacing: int) -> list[Any]:
        """Errors of the state at every ``spacing`` steps, if given, and at the end."""
        *start, duration = self.first(*values)
        steps = int(float(value_of(duration)))
        begin = np.array([float(value_of(s)) for s in start])
        given = np.array([float(error_of(s)) for s in start])
        plain = [value_of(v) for v in values]
        if steps > FOLLOWED:
            return self._from_the_start(values, begin, given, steps, spacing)
        return self._followed(values, plain, begin, given, steps, spacing)

    def _noise(self, state: Any, t: int, values: tuple[Any, ...]) -> Any:
        """Errors of one step from an exact state, those of the parameters included."""
        clock = [float(t)] if self.runner.clock else []
        found = self.noisy(*[Rounded(x) for x in state], *clock, *values)
        return np.array([float(error_of(f)) for f in found])

    def _followed(
        self, values: tuple[Any, ...], plain: list[Any], begin: Any, given: Any, steps: int, spacing: int
    ) -> list[Any]:
        """Moved states carried along with the one that is not moved, which is the first row."""
        count = min(PLACES, steps)
        places = [k * steps // count for k in range(count)] if count else []
        table, logged = begin[None, :], []
        rows: list[_Row] = []
        noises: list[Any] = []
        with np.errstate(all="ignore"):
            for t in range(steps):
                if t in places:
                    noises.append(self._noise(table[0], t, values))
                    fresh, moved = _moved(table[0], len(noises) - 1)
                    table, rows = np.concatenate([table, moved]), [*rows, *fresh]
                if spacing and t % spacing == 0:
                    logged.append((t, table.copy(), len(rows)))
                table = self._advanced(table, t, plain)
            noises.append(self._noise(table[0], steps, values))
        logged.append((steps, table, len(rows)))
        return [self._summed(rows[:n], state, noises, [*places, steps], given, t) for t, state, n in logged]

    def _advanced(self, table: Any, t: int, plain: list[Any]) -> Any:
        new = self.runner.step(*table.T, *self.runner._time(t), *plain)
        new = np.stack([np.broadcast_to(n, table.shape[:1]) for n in new], axis=-1)
        if self.runner.stop is None:
            return new
        stopped = self.runner._stopped(list(table.T), tuple(plain), t)
        return np.where(np.asarray(stopped)[..., None], table, new)

    def _summed(self, rows: list[_Row], table: Any, noises: list[Any], places: list[int], given: Any, t: int) -> Any:
        """Errors at one time: those of the start and of every step, each as amplified from where it was made."""
        here = table[0]
        amplified = [np.eye(self.size) for _ in places]
        for row, state in zip(rows, table[1:], strict=False):
            amplified[row.place][:, row.letter] = _slopes(state, here, row)
        total = _applied(amplified[0], given) if rows else given.copy()
        reached = 1 + max((row.place for row in rows), default=-1)
        for k in range(reached):
            length = min(places[k + 1], t) - places[k]
            # noise made between two places is amplified as at the worse of them
            worse = np.maximum(amplified[k], amplified[k + 1] if k + 1 < reached else np.eye(self.size))
            noise = np.maximum(noises[k], noises[min(k + 1, len(noises) - 1)])
            total = total + max(length, 0) * _applied(worse, noise)
        total = total + 2 * UNIT * np.abs(here)
        return np.where(np.isnan(total), np.inf, total)

    def _from_the_start(self, values: Any, begin: Any, given: Any, steps: int, spacing: int) -> list[Any]:
        """Long ways: only the start is moved, and noise of every step is amplified as much, or not at all."""
        rows, moved = _moved(begin, 0)
        table = np.concatenate([begin[None, :], moved])
        columns = [np.broadcast_to(np.asarray(value_of(v), dtype=float), (len(table),)) for v in values]
        counts = np.full(len(table), steps)
        way = self.runner._compiled(list(table.T), counts, tuple(columns), 0)
        if way is None:
            return [np.full(self.size, np.inf)]
        final = np.stack(way.final, axis=-1)
        matrix = np.stack([_slopes(s, final[0], row) for s, row in zip(final[1:], rows, strict=True)], axis=-1)
        noise = np.maximum(self._noise(begin, 0, values), self._noise(final[0], steps, values))
        total = _applied(matrix, given) + steps * _applied(np.maximum(matrix, np.eye(self.size)), noise)
        last = np.where(np.isnan(total), np.inf, total)
        # what is on the way of a long log was not looked at
        return [*([np.full(self.size, np.inf)] * (-(-steps // spacing) if spacing else 0)), last]


def _applied(matrix: Any, errors: Any) -> Any:
    """A matrix times errors; what is exact brings nothing, however it is amplified."""
    return np.sum(np.where(errors > 0, matrix * errors, 0.0), axis=-1)


def _slopes(state: Any, here: Any, row: _Row) -> Any:
    """How far a move was amplified, letter by letter; infinite where it was lost in chaos."""
    apart = np.abs(state - here)
    return np.where(apart <= OTHER * np.maximum(np.abs(here), 1e-3), apart / row.shift, np.inf)


def _moved(state: Any, place: int) -> tuple[list[_Row], Any]:
    """A copy of a state for each of its letters, moved a little."""
    shifts = SHIFT * np.maximum(np.abs(state), 1e-3)
    table = state + np.diag(shifts)
    return [_Row(place, i, float(table[i, i] - state[i])) for i in range(len(state))], table
