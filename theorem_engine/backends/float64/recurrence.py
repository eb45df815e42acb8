"""Recurrences in double precision: all points advanced together, compiled where numba is installed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.base.errors import NotConverged
from theorem_engine.base.reports import note

#: Below this many steps in all, compiling costs more than it saves.
WORTH_COMPILING = 20_000
#: Largest difference of one step between compiled and adaptive code, relative to the state's size.
SAME = 1e-12


def lower(laws: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """The state after the last step."""
    (law,) = laws
    runner = Runner(law, parameters, backend)
    return lambda *values: runner.run(values, None).final


@dataclass(frozen=True)
class Way:
    """Final state, and the log (clock and state, shape (..., entries)) if one was kept."""

    final: list[Any]
    log: list[Any]


def _rounding(steps: int) -> float:
    """What independent roundings of a state of order one add up to; instability shows in the sensitivities."""
    return float(8 * np.finfo(float).eps * (1 + steps**0.5))


class Runner:
    """One law, ready to be run on any points."""

    def __init__(self, law: Any, parameters: tuple[Any, ...], backend: Backend) -> None:
        self.law = law
        self.parameters = parameters
        self.clock = [law.clock] if law.clock is not None else []
        self.step = backend.function([*law.state, *self.clock, *parameters], list(law.bodies))
        self.first = backend.function(parameters, [*law.start, law.duration])
        stop = [law.until] if law.until is not None else []
        self.stop = backend.function([*law.state, *self.clock, *parameters], stop) if stop else None

    def run(self, values: tuple[Any, ...], every: Any) -> Way:
        """Follow the law; ``every`` steps a log entry, if given."""
        *state, duration = np.broadcast_arrays(*[np.asarray(v, dtype=float) for v in self.first(*values)])
        counts = np.asarray(duration, dtype=np.int64)
        longest = int(counts.max(initial=0))
        spacing = int(np.max(every)) if every is not None else 0
        way = None
        if longest * max(counts.size, 1) >= WORTH_COMPILING:
            way = self._compiled(state, counts, values, spacing)
        if way is None:
            way = self._loop(state, counts, values, spacing)
        if not all(np.all(np.isfinite(s)) for s in way.final):
            raise NotConverged(f"the recurrence left the finite numbers within {longest} steps")
        if self.stop is not None and not np.all(self._stopped(way.final, values, longest)):
            raise NotConverged(f"the recurrence did not reach {self.law.until} within {longest} steps")
        return way

    def _time(self, t: int) -> list[float]:
        return [float(t)] if self.clock else []

    def _stopped(self, state: list[Any], values: tuple[Any, ...], t: int) -> Any:
        return np.asarray(self.stop(*state, *self._time(t), *values)[0], dtype=bool) if self.stop else False

    def _loop(self, state: list[Any], counts: Any, values: tuple[Any, ...], spacing: int) -> Way:
        """Plain NumPy, one vectorised step after the other."""
        longest = int(counts.max(initial=0))
        together = bool(np.all(counts == longest)) and self.stop is None
        log = []
        with np.errstate(all="ignore"):
            for t in range(longest):
                if spacing and t % spacing == 0:
                    log.append((t, state))
                new = self.step(*state, *self._time(t), *values)
                if together:
                    state = new
                else:
                    running = (counts > t) & ~np.asarray(self._stopped(state, values, t))
                    if not running.any():
                        break
                    state = [np.where(running, n, s) for n, s in zip(new, state, strict=True)]
        state = [np.broadcast_to(s, counts.shape) for s in state]
        note("recurrence", _rounding(longest), f"{longest} steps in NumPy")
        if not spacing:
            return Way(list(state), [])
        log.append((longest, state))
        clock = np.broadcast_to(np.array([float(t) for t, _ in log]), (*counts.shape, len(log)))
        columns = [np.stack([np.broadcast_to(s[i], counts.shape) for _, s in log], axis=-1) for i in range(len(state))]
        return Way(list(state), [clock, *columns])

    def _compiled(self, state: list[Any], counts: Any, values: tuple[Any, ...], spacing: int) -> Way | None:
        """The same step as machine code; None where it cannot be had or does not agree with the adaptive step."""
        from theorem_engine.backends.float64.jit import compiled_kernel

        kernel = compiled_kernel(self.law, self.parameters)
        if kernel is None:
            return None
        shape, flat = counts.shape, counts.reshape(-1)
        start = np.stack([s.reshape(-1) for s in state], axis=-1)
        columns = [np.broadcast_to(np.asarray(v, dtype=float), shape).reshape(-1) for v in values]
        given = np.stack(columns, axis=-1) if columns else np.zeros((flat.size, 0))
        try:
            final, log, entries = kernel.run(start, flat, given, spacing)
        except Exception as error:  # an accelerator must never be the reason why a query fails
            note("recurrence", None, f"compiled code not usable: {error}")
            return None
        for moment, time in ((start, 0), (final, int(flat.max()))):
            if not self._agrees(kernel, moment, time, columns):
                return None
        note("recurrence", _rounding(int(flat.max())), f"{int(flat.max())} steps, compiled")
        ends = [final[:, i].reshape(shape) for i in range(len(state))]
        if not spacing:
            return Way(ends, [])
        kept = log[:, : int(entries.max())]
        return Way(ends, [kept[:, :, i].reshape(*shape, -1) for i in range(1 + len(state))])

    def _agrees(self, kernel: Any, moment: Any, time: int, columns: list[Any]) -> bool:
        """One step of each code from the same state: the compiled quadrature has a fixed order, this checks it."""
        with np.errstate(all="ignore"):
            adaptive = self.step(*moment.T, *self._time(time), *columns)
        given = np.stack(columns, axis=-1) if columns else np.zeros((moment.shape[0], 0))
        quick = kernel.one_step(moment, time, given)
        gaps = [np.max(np.abs(quick[:, i] - a) / (1 + np.abs(a))) for i, a in enumerate(adaptive)]
        return bool(np.max(gaps) <= SAME) or not np.all(np.isfinite(moment))
