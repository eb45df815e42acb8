"""Random recurrences in double precision, all runs advanced together, each with its own stream."""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.backends.float64.recurrence import SAME, Way
from theorem_engine.base.errors import NotAvailable, NotConverged
from theorem_engine.base.reports import note
from theorem_engine.numerics.compiled import call_compiled
from theorem_engine.numerics.normal_draws import key_of, normals

#: Steps whose random numbers are drawn at once, so that drawing costs little per step.
BLOCK = 128
#: Random numbers drawn at once: fewer steps where a step needs many, fewer runs where there are many.
DRAWN = 2**24
#: Most tokens in all sequences of a batch; a step holds some dozens of numbers for each.
MOST = 2**21
#: Tokens in all steps of all runs below which compiling costs more than it saves.
WORTH_COMPILING = 2**21


def lower(laws: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """The state after the last step."""
    (law,) = laws
    runner = RandomRunner(law, parameters, backend)
    return lambda *values: runner.run(values, None).final


class RandomRunner:
    """One law, ready to be run on any points; a run's path depends on its own seed only."""

    def __init__(self, law: Any, parameters: tuple[Any, ...], backend: Backend) -> None:
        self.law = law
        self.parameters = parameters
        inputs = [*law.state, law.clock, *law.noise, *parameters]
        self.step = backend.function(inputs, list(law.bodies), law.definitions)
        self.on_first = law.on_first
        self.first = backend.function(parameters, [*law.start, law.duration, *law.sizes, *law.degrees])

    def run(self, values: tuple[Any, ...], every: Any) -> Way:
        """Follow the law; ``every`` steps a log entry, if given."""
        size = len(self.law.state)
        columns = np.broadcast_arrays(*[np.asarray(v, dtype=float) for v in self.first(*values)])
        shape = columns[0].shape
        flat = [c.reshape(-1) for c in columns]
        steps, batch, tokens, seeds = (flat[size + i].astype(np.int64) for i in range(4))
        if any(np.unique(c).size > 1 for c in (steps, batch, tokens)):
            return self._apart(values, every, shape)
        cells = int(batch[0]) * int(tokens[0])
        if cells > MOST:
            raise NotAvailable(f"a batch of {cells:.3g} tokens does not fit the memory set aside; at most {MOST} do")
        degrees = np.stack(flat[size + 4 :], axis=-1) if self.law.degrees else np.zeros((seeds.size, 0))
        given = [np.broadcast_to(np.asarray(v, dtype=float), shape).reshape(-1, 1, 1) for v in values]
        state = [c.reshape(-1, 1, 1) for c in flat[:size]]
        spacing = int(np.max(every)) if every is not None else 0
        block = max(1, min(BLOCK, DRAWN // (self.law.noise_counts[0] * cells + 1)))
        width = max(1, DRAWN // (block * self.law.noise_counts[0] * cells + 1))
        sizes = int(steps[0]), int(batch[0]), int(tokens[0]), block
        found = self._compiled(state, given, *sizes, seeds, degrees, spacing)
        if found is None:
            parts = [
                self._loop([s[p] for s in state], [g[p] for g in given], *sizes, seeds[p], degrees[p], spacing)
                for p in (slice(begin, begin + width) for begin in range(0, seeds.size, width))
            ]
            found = _joined(parts)
        state, log = found
        final = [s.reshape(shape) for s in state]
        if not all(np.all(np.isfinite(s)) for s in final):
            raise NotConverged(f"the random recurrence left the finite numbers within {int(steps[0])} steps")
        # sums over a batch in every step; what the steps after it make of their rounding shows in the sensitivities
        note("random recurrence", float(32 * np.finfo(float).eps * (1 + int(steps[0]))), f"{int(steps[0])} steps")
        if not spacing:
            return Way(final, [])
        clock = np.broadcast_to(np.array([float(t) for t, _ in log]), (*shape, len(log)))
        logged = [np.stack([s[i].reshape(shape) for _, s in log], axis=-1) for i in range(size)]
        return Way(final, [clock, *logged])

    def _loop(
        self, state: list[Any], given: list[Any], steps: int, batch: int, tokens: int, block: int, seeds: Any,
        degrees: Any, spacing: int,
    ) -> tuple[list[Any], list[Any]]:  # fmt: skip
        streams = [_Stream(s) for s in seeds]
        per_step = self.law.noise_counts[1]
        first = np.zeros((1, 1, tokens))
        first[..., 0] = 1.0
        log = []
        with np.errstate(all="ignore"):
            for begin in range(0, steps, block):
                count = min(block, steps - begin)
                blocks = [self._drawn(s, begin, count, d, batch, tokens) for s, d in zip(streams, degrees, strict=True)]
                drawn, firsts, singles, chis = (np.stack(part, axis=1) for part in zip(*blocks, strict=True))
                for i in range(count):
                    if spacing and (begin + i) % spacing == 0:
                        log.append((begin + i, state))
                    noise = [
                        *self._of_tokens(drawn[i], firsts[i], first),
                        *(singles[i, :, k, None, None] for k in range(per_step)),
                        *(chis[i, :, k, None, None] for k in range(degrees.shape[1])),
                        first,
                    ]
                    state = self.step(*state, float(begin + i), *noise, *given)
        if spacing:
            log.append((steps, state))
        return state, log

    def _compiled(
        self, state: list[Any], given: list[Any], steps: int, batch: int, tokens: int, block: int, seeds: Any,
        degrees: Any, spacing: int,
    ) -> tuple[list[Any], list[Any]] | None:  # fmt: skip
        """The same paths by machine code, groups on each core; None where it is not worth it or not to be had."""
        if steps * batch * tokens * seeds.size < WORTH_COMPILING:
            return None
        from theorem_engine.backends.float64.jit import WIDE, WORTH_GROUPING
        from theorem_engine.backends.float64.random_jit import compiled_chain

        lanes = WIDE if seeds.size >= WORTH_GROUPING else 1
        module = compiled_chain(self.law, self.parameters, lanes)
        if module is None:
            return None
        start = np.ascontiguousarray(np.concatenate([s.reshape(-1, 1) for s in state], axis=1))
        columns = [np.broadcast_to(g, (seeds.size, 1, 1)).reshape(-1, 1) for g in given]
        parameters = np.concatenate(columns, axis=1) if columns else np.zeros((seeds.size, 0))
        moments = [*range(0, steps, spacing), steps] if spacing else []
        log = np.zeros((seeds.size, len(moments), 1 + start.shape[1]))

        def follow(group: Any) -> Any:
            # places without a run of their own repeat the last one
            runs = np.minimum(group + np.arange(lanes), seeds.size - 1)
            own = runs[: seeds.size - group]
            streams = [_Stream(seeds[i]) for i in own]
            here, rows, row = start[runs], np.zeros((lanes, *log.shape[1:])), 0
            for begin in range(0, steps, block):
                noise = _in_lanes(streams, lanes, min(block, steps - begin), degrees[own])
                given = here, begin, *noise, parameters[runs], batch, tokens, spacing, rows[:, row:]
                row += call_compiled(module.run, *given)
            if spacing:
                rows[:, row, 0], rows[:, row, 1:] = steps, here
            log[own] = rows[: own.size]
            return here[: own.size]

        try:
            if not self._agrees(module, start, parameters, batch, tokens, seeds, degrees, lanes):
                return None
            groups = range(0, seeds.size, lanes)
            with ThreadPoolExecutor(min(os.cpu_count() or 1, len(groups))) as pool:
                ends = np.concatenate(list(pool.map(follow, groups)))
        except Exception as error:  # an accelerator must never be the reason why a query fails
            note("random recurrence", None, f"compiled code not usable: {error}")
            return None
        states = [ends[:, k].reshape(-1, 1, 1) for k in range(ends.shape[1])]
        return states, [
            (t, [log[:, j, 1 + k].reshape(-1, 1, 1) for k in range(ends.shape[1])]) for j, t in enumerate(moments)
        ]

    def _agrees(
        self, module: Any, start: Any, parameters: Any, batch: int, tokens: int, seeds: Any, degrees: Any, lanes: int
    ) -> bool:
        """Whether both codes take the same first step of the first run, up to rounding."""
        noise = _in_lanes([_Stream(seeds[0])], lanes, 1, degrees[:1])
        quick = np.repeat(start[:1], lanes, axis=0)
        log = np.zeros((lanes, 1, 1 + start.shape[1]))
        given = np.repeat(parameters[:1], lanes, axis=0)
        call_compiled(module.run, quick, 0, *noise, given, batch, tokens, 0, log)
        drawn, firsts, singles, chis = (x[0] for x in self._drawn(_Stream(seeds[0]), 0, 1, degrees[0], batch, tokens))
        mark = np.zeros((1, tokens))
        mark[:, 0] = 1.0
        with np.errstate(all="ignore"):
            of_tokens = self._of_tokens(drawn, firsts, mark)
            slow = self.step(*start[0], 0.0, *of_tokens, *singles, *chis, mark, *parameters[0])
        gaps = [abs(a - float(np.ravel(b)[0])) / (1 + abs(a)) for a, b in zip(quick[0], slow, strict=True)]
        return max(gaps) <= SAME

    def _drawn(self, stream: _Stream, begin: int, count: int, degrees: Any, batch: int, tokens: int) -> Any:
        """The random numbers of some steps of a run: of tokens, of first tokens, of steps, chi."""
        per_token, per_step, _ = self.law.noise_counts
        shapes = (per_token - len(self.on_first), batch, tokens), (len(self.on_first), batch), (per_step,)
        sizes = [math.prod(shape) for shape in shapes]
        parts = np.split(normals(stream.key, begin, count, sum(sizes)), np.cumsum(sizes)[:-1], axis=1)
        return *(x.reshape(count, *shape) for x, shape in zip(parts, shapes, strict=True)), stream.chi(degrees, count)

    def _of_tokens(self, drawn: Any, firsts: Any, first: Any) -> list[Any]:
        """The letters of tokens in their order, zero where no token makes use of one."""
        per_token, _, _ = self.law.noise_counts
        everywhere, once = iter(np.moveaxis(drawn, -3, 0)), iter(np.moveaxis(firsts, -2, 0))
        return [next(once)[..., None] * first if k in self.on_first else next(everywhere) for k in range(per_token)]

    def _apart(self, values: tuple[Any, ...], every: Any, shape: tuple[int, ...]) -> Way:
        """Runs of different length or batch size, one after the other."""
        flat = [np.broadcast_to(np.asarray(v, dtype=float), shape).reshape(-1) for v in values]
        ways = [self.run(tuple(v[i] for v in flat), every) for i in range(flat[0].size)]
        final = [np.array([w.final[k] for w in ways]).reshape(shape) for k in range(len(self.law.state))]
        if every is not None and len({w.log[0].size for w in ways}) > 1:
            raise NotConverged("logs of runs of different length do not fit one table")
        log = [np.stack([w.log[k] for w in ways]).reshape(*shape, -1) for k in range(len(ways[0].log))]
        return Way(final, log)


def _joined(parts: list[tuple[list[Any], list[Any]]]) -> tuple[list[Any], list[Any]]:
    """States and logs of runs advanced in several parts."""
    if len(parts) == 1:
        return parts[0]
    states = [np.concatenate(each) for each in zip(*(state for state, _ in parts), strict=True)]
    moments = zip(*(log for _, log in parts), strict=True)
    log = [
        (same[0][0], [np.concatenate(each) for each in zip(*(state for _, state in same), strict=True)])
        for same in moments
    ]
    return states, log


class _Stream:
    """The random numbers of one run: normals by their place, chi in their order."""

    def __init__(self, seed: Any) -> None:
        self.key = key_of(int(seed))
        self.order = np.random.Generator(np.random.SFC64(np.random.SeedSequence(int(seed))))

    def chi(self, degrees: Any, count: int) -> Any:
        """For each of some steps one number for each of the degrees of freedom."""
        return np.sqrt(self.order.chisquare(degrees, size=(count, degrees.size)))


def _in_lanes(streams: list[_Stream], lanes: int, count: int, degrees: Any) -> tuple[Any, Any]:
    """The keys of some runs and their chi in some steps, lanes last; lanes without a run are like the first."""
    keys = np.repeat(streams[0].key[:, None], lanes, axis=1)
    chis = np.ones((count, degrees.shape[1], lanes))
    for i, stream in enumerate(streams):
        keys[:, i], chis[:, :, i] = stream.key, stream.chi(degrees[i], count)
    return keys.ravel(), chis
