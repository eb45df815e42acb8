"""What numerical methods say about themselves while they run.

Nothing is recorded unless someone listens; listening costs nothing to those who do not.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Note:
    """One method's report: what it was, its error estimate, and a detail in words."""

    method: str
    error: Any
    detail: str = ""


_listener: ContextVar[list[Note] | None] = ContextVar("listener", default=None)


@contextmanager
def listening() -> Iterator[list[Note]]:
    """Collect the notes of everything run inside the block."""
    notes: list[Note] = []
    token = _listener.set(notes)
    try:
        yield notes
    finally:
        _listener.reset(token)


def note(method: str, error: Any, detail: str = "") -> None:
    """Report; a no-op when nobody listens."""
    notes = _listener.get()
    if notes is not None:
        notes.append(Note(method, error, detail))
