"""Values at points that come back: inside a block they are made once.

An error is judged by moving every parameter a little, in several places of an evaluation that know nothing of each
other; many of the points they look at are the same.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from weakref import ref

from theorem_engine.base.reports import is_heard

#: So many values are kept at most; then all are forgotten. A few may be handed on to whoever asks soon.
MOST, FEW = 4096, 256


class Memory(dict[Any, Any]):
    """Values by method and point; what took a whole search is kept apart, since it is worth more."""

    def __init__(self, known: Memory | None = None) -> None:
        super().__init__(known or {})
        self.searched: dict[Any, Any] = {} if known is None else dict(known.searched)


_memory: ContextVar[Memory | None] = ContextVar("memory", default=None)
#: The last memories that were handed on; others are forgotten, whoever may still ask for them.
_recent: deque[Memory] = deque(maxlen=8)


@contextmanager
def remembering(known: Memory | None = None) -> Iterator[Memory]:
    """Inside the block values of the same method at the same point are made once; blocks inside it share its memory.

    ``known`` is what another block has found.
    """
    outer = _memory.get()
    if outer is not None:
        yield outer
        return
    memory = Memory(known)
    token = _memory.set(memory)
    try:
        yield memory
    finally:
        _memory.reset(token)


def handed_on(memory: Memory) -> Callable[[], Memory | None]:
    """A function that returns a memory soon after, and None when others have taken its place.

    Of a memory with more than a few values only what was searched for is handed on.
    """
    if len(memory) > FEW:
        small = Memory()
        small.searched = memory.searched
        memory = small
    if memory or memory.searched:
        _recent.append(memory)
    return ref(memory)


def remembered(key: tuple[Any, ...], make: Callable[[], Any], is_search: bool = False) -> Any:
    """The value that was made under this key, or a new one; what cannot be a key is made anew.

    What nobody listened to was made without its error, and is no answer where somebody listens.
    """
    memory = _memory.get()
    if memory is None:
        return make()
    values: dict[Any, Any] = memory.searched if is_search else memory
    heard = is_heard()
    try:
        for known in ((True, *key), (heard, *key)):
            if known in values:
                return values[known]
    except TypeError:
        return make()
    if len(values) >= (FEW if is_search else MOST):
        values.clear()
    values[heard, *key] = found = make()
    return found
