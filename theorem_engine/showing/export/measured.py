"""Exported code against the engine: the largest difference at points drawn from the letters' typical ranges."""

from __future__ import annotations

import cmath
import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from theorem_engine.asking.evaluation import evaluate_float64
from theorem_engine.asking.point import failed_requirements
from theorem_engine.backends import get_backend
from theorem_engine.base.errors import TheoremEngineError
from theorem_engine.language.lengths import Distribution
from theorem_engine.showing.export.task import Task

#: Points at which exported code is compared with the engine.
POINTS = 8

Sample = tuple[Mapping[str, complex], Mapping[str, complex]]


def draw_samples(task: Task) -> list[Sample]:
    """Points of the arguments, and the engine's outputs there by the same statement."""
    rng = np.random.default_rng(20260117)
    number = get_backend("float64").number
    found: list[Sample] = []
    for _ in range(6 * POINTS):
        if len(found) == POINTS:
            break
        values = dict(task.fixed)
        for argument in task.arguments:
            keeps = argument.default is not None and rng.random() < 0.5
            raw = (
                float(argument.default)
                if keeps and argument.default
                else argument.letter.domain.draw(rng, argument.letter.typical)
            )
            values[argument.letter] = argument.letter.domain.read(raw)
        numbers = {letter: number(values[letter]) for letter in task.statement.given}
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                if any(True for _ in failed_requirements(task.entry, numbers, task.options)):
                    continue
                case = task.at(values)
                options = tuple(sorted(case.options.items(), key=lambda item: item[0]))
                outputs = evaluate_float64(task.entry, options, list(numbers.values()))
                here = {a.name: _plain(values[a.letter], numbers[a.letter]) for a in task.arguments}
                expected = {name: _number(outputs[symbol]) for name, symbol in case.outputs.items()}
            except (TheoremEngineError, TypeError, ValueError, LookupError):
                continue
        if not any(cmath.isnan(v) for v in expected.values()):
            found.append((here, expected))
    return found


def _plain(exact: Any, number: Any) -> complex:
    return float(exact.weights[0][0]) if isinstance(exact, Distribution) else _number(number)


def _number(value: Any) -> complex:
    """A float, or a complex number where it is one."""
    return complex(value) if np.iscomplexobj(value) else float(value)


def largest_gap(task: Task, code: str, samples: Sequence[Sample]) -> tuple[float, int]:
    """The largest difference of exported Python from the engine, and at how many points; infinite at none.

    The difference is relative to the larger of the value and one.
    """
    room: dict[str, Any] = {"__name__": "exported"}
    # our own text: every name in it is one of ours, and no text of a user's is
    exec(compile(code, f"<{task.entry.id}>", "exec"), room)
    gaps, count = [], 0
    for here, expected in samples:
        try:
            found = room[task.name](**here)
        except (ValueError, ArithmeticError):
            # a case of its own, which the code refuses
            continue
        count += 1
        for name, value in expected.items():
            gap = abs(complex(found[name]) - value) / max(1.0, abs(value)) if found[name] != value else 0.0
            gaps.append(gap if math.isfinite(gap) else math.inf)
    return max(gaps, default=math.inf), count
