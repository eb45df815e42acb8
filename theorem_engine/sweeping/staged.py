"""The stages of a box, run once where they are small and block by block where they are not."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from theorem_engine.asking.evaluation import plan_of
from theorem_engine.asking.guard import guarded
from theorem_engine.backends import get_backend
from theorem_engine.backends.rounded.number import Rounded, error_of, value_of
from theorem_engine.backends.stages import Stage, Stages, stages_of
from theorem_engine.base.errors import TheoremEngineError
from theorem_engine.language.entry import Entry
from theorem_engine.sweeping.boxes import Box

#: Points of a block; arrays of this length stay in a processor's cache.
BLOCK = 32_768
#: Values of a stage that are kept for all blocks.
KEPT = 131_072


def cut(value: Any, block: tuple[slice, ...]) -> Any:
    """The part of an array, with errors or without, that belongs to a block."""
    if isinstance(value, Rounded):
        return Rounded(cut(value.value, block), cut(value.error, block))
    if not isinstance(value, np.ndarray) or not value.ndim:
        return value
    return value[tuple(s if n > 1 else slice(None) for s, n in zip(block, value.shape, strict=False))]


def blocks(shape: tuple[int, ...]) -> Iterator[tuple[slice, ...]]:
    """Slices along all axes that cover a box, none of more than ``BLOCK`` points."""
    steps, room = [], BLOCK
    for length in reversed(shape):
        steps.append(max(1, min(length, room)))
        room //= max(1, length)
    ranges = [
        [slice(i, min(i + step, n)) for i in range(0, n, step)] for n, step in zip(shape, reversed(steps), strict=True)
    ]
    yield from itertools.product(*ranges)


class Evaluation:
    """The stages of a box with one backend; those of few values are run once, the others on each block."""

    def __init__(self, entry: Entry, box: Box, backend: str) -> None:
        self.entry, self.backend = entry, backend
        swept = tuple((x.name, c.axis) for x, c in box.columns.items() if c.axis is not None)
        with guarded(entry, None, "writing the evaluation"):
            self.stages = _stages(entry, box.chosen, backend, swept)
        inputs = plan_of(entry, box.chosen)[1].inputs
        self.memory: dict[Any, Any] = dict(zip(inputs, box.arrays(backend), strict=True))
        self.count = math.prod(box.shape)
        self.later: list[Stage] = []
        self._before(box)
        used = {s for stage in self.later for s in stage.sources} | set(self.stages.targets)
        self.constant, self.varying = {}, []
        for symbol, value in self.memory.items():
            if symbol in used and (np.ndim(value_of(value)) or np.ndim(error_of(value))):
                self.varying.append((symbol, value))
            elif symbol in used:
                self.constant[symbol] = value

    def _before(self, box: Box) -> None:
        """Run what is small."""
        late: set[Any] = set()
        for stage in self.stages.stages:
            size = math.prod(box.shape[axis] for axis in stage.axes)
            # what a block holds in full is no gain to keep
            is_small = size <= min(KEPT, self.count // 2) and not late & set(stage.sources)
            try:
                if is_small:
                    self._step(stage, self.memory)
            except TheoremEngineError:
                # each block finds out for itself where
                is_small = False
            if not is_small:
                self.later.append(stage)
                late |= set(stage.results)

    def _step(self, stage: Stage, memory: dict[Any, Any]) -> None:
        with np.errstate(all="ignore"), guarded(self.entry, None, "the evaluation in double precision"):
            results = stage.function(*(memory[s] for s in stage.sources))
        for symbol, result in zip(stage.results, results, strict=True):
            # doubles of NumPy overflow to infinity, plain ones raise
            memory[symbol] = np.float64(result) if type(result) is float else result

    def on(self, block: tuple[slice, ...]) -> list[Any]:
        """The targets on a block."""
        memory = dict(self.constant)
        for symbol, value in self.varying:
            memory[symbol] = cut(value, block)
        for stage in self.later:
            self._step(stage, memory)
        return [memory[s] if isinstance(memory[s], Rounded) else np.asarray(memory[s]) for s in self.stages.targets]


@cache
def _stages(entry: Entry, options: Any, backend: str, swept: tuple[tuple[str, int], ...]) -> Stages:
    """The stages of a plan whose letters vary so, made once per process."""
    plan = plan_of(entry, options)[1]
    axes = {x: frozenset({dict(swept)[x.name]}) for x in plan.inputs if x.name in dict(swept)}
    return stages_of(plan, get_backend(backend), axes)
