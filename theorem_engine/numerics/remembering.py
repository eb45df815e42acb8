"""Values at points that come back: inside a block they are made once.

An error is judged by moving every parameter a little, in several places of an evaluation that know nothing of each
other; many of the points they look at are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

#: So many values are kept at most; then all are forgotten. A few may be handed on to whoever asks later.
MOST, FEW = 4096, 64

_memory: ContextVar[dict[Any, Any] | None] = ContextVar("memory", default=None)


@contextmanager
def remembering(known: dict[Any, Any] | None = None) -> Iterator[dict[Any, Any]]:
    """Inside the block values of the same method at the same point are made once; blocks inside it share its memory.

    ``known`` is what another block has found.
    """
    outer = _memory.get()
    if outer is not None:
        yield outer
        return
    memory = dict(known or {})
    token = _memory.set(memory)
    try:
        yield memory
    finally:
        _memory.reset(token)


def remembered(key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
    """The value that was made under this key, or a new one; what cannot be a key is made anew."""
    memory = _memory.get()
    if memory is None:
        return make()
    try:
        if key in memory:
            return memory[key]
    except TypeError:
        return make()
    if len(memory) >= MOST:
        memory.clear()
    memory[key] = found = make()
    return found
