"""How compiled plans run, whoever compiled them: steps over a row of slots, and what each is made of as plain data.

Free of SymPy: a plan that was compiled in another process runs by the same functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from theorem_engine.base.reports import inside_operator, is_heard

Numeric = Callable[..., Any]
#: A function, the slots that it reads, and those that it fills.
Step = tuple[Numeric, tuple[int, ...], tuple[int, ...]]
#: Name of the attribute under which a compiled function says what it is made of.
_ATTRIBUTE = "made_of"


def described(function: Numeric, say: Callable[[], Any]) -> Numeric:
    """The function, which can say as plain data what it is made of; ``say`` gives None where it cannot."""
    setattr(function, _ATTRIBUTE, say)
    return function


def description(function: Numeric) -> Any:
    """What a compiled function is made of; None where that is not plain data."""
    say = getattr(function, _ATTRIBUTE, None)
    return None if say is None else say()


def straight(direct: Numeric) -> Numeric:
    """One block of elementary code, its results as a list."""
    return described(lambda *values: list(direct(*values)), lambda: description(direct))


def stepwise(steps: Sequence[Step], size: int, width: int, targets: tuple[int, ...]) -> Numeric:
    """Steps one after the other over ``size`` slots, the first ``width`` of which are given."""

    def run(*values: Any) -> list[Any]:
        memory = [*values, *([None] * (size - width))]
        # doubles of NumPy are given so that overflow ends in infinity: what solvers return must not end that
        double = next((type(v) for v in values if isinstance(v, float) and type(v) is not float), None)
        for function, sources, results in steps:
            found = function(*[memory[i] for i in sources])
            if double is not None:
                found = [double(value) if type(value) is float else value for value in found]
            for slot, value in zip(results, found, strict=True):
                memory[slot] = value
        return [memory[i] for i in targets]

    def say() -> Any:
        parts = [description(function) for function, _, _ in steps]
        if any(part is None for part in parts):
            return None
        rows = [[part, list(step[1]), list(step[2])] for part, step in zip(parts, steps, strict=True)]
        return {"kind": "steps", "steps": rows, "size": size, "width": width, "targets": list(targets)}

    return described(run, say)


def once(lowered: Numeric) -> Numeric:
    """A function without arguments whose results are kept, but where someone listens to how they are found."""
    kept: list[Any] = []

    def run() -> list[Any]:
        if is_heard():
            return list(lowered())
        if not kept:
            kept.extend(lowered())
        return list(kept)

    return described(run, lambda: description(lowered))


def latest(compute: Numeric, key: Callable[[tuple[Any, ...]], Any]) -> Numeric:
    """A function whose last results are kept under the key of its arguments; where that is None they are not.

    A mean inside another that does not see its letter is asked for again at every node.
    """
    kept: dict[Any, list[Any]] = {}

    def evaluate(*values: Any) -> list[Any]:
        place = key(values)
        if place is None:
            return list(compute(*values))
        if place not in kept:
            found = list(compute(*values))
            kept.clear()
            kept[place] = found
        return list(kept[place])

    return evaluate


def heard_apart(lowered: Numeric) -> Numeric:
    """The same function, its notes told apart from those of the operators inside it when someone listens."""

    def run(*values: Any) -> Any:
        if not is_heard():
            return lowered(*values)
        with inside_operator():
            return lowered(*values)

    return described(run, lambda: description(lowered))
