"""What one search has found on its way: places that it comes to later start from those near them.

A search asks for the same quantity at many places close to each other. What has to be followed from far off is then
followed from the nearest place of the same search. Every search begins with nothing: what it finds does not depend on
what was asked before.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

#: Places and what was found there, by method.
Way = dict[Any, list[tuple[tuple[Any, ...], Any]]]

_way: ContextVar[Way | None] = ContextVar("way", default=None)


@contextmanager
def one_search() -> Iterator[None]:
    """Inside the block methods know the places of this search, and of no other."""
    token = _way.set({})
    try:
        yield
    finally:
        _way.reset(token)


def been_to(method: Any) -> list[tuple[tuple[Any, ...], Any]]:
    """The places at which this method was in this search, to read and to append to; a list of its own outside one."""
    way = _way.get()
    return [] if way is None else way.setdefault(method, [])
