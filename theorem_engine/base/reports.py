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
    """One method's report: what it was, its error estimate, a detail in words, and how many draws it averaged over.

    The error is a number for all results or a list with one for each; NaN says that it is unknown, None that the
    note is a remark and not about errors.
    """

    method: str
    error: Any
    detail: str = ""
    #: How many operators were running when it was made.
    depth: int = 0
    draws: int = 0
    #: Panels of the rule that settled, where it has some.
    panels: int = 0


#: No arguments: who listens stands outside generated code, which passes values only.
_listener: ContextVar[list[Note] | None] = ContextVar("listener", default=None)
_depth: ContextVar[int] = ContextVar("running", default=0)


@contextmanager
def listening() -> Iterator[list[Note]]:
    """Collect the notes of everything run inside the block."""
    notes: list[Note] = []
    token = _listener.set(notes)
    try:
        yield notes
    finally:
        _listener.reset(token)


@contextmanager
def own_notes() -> Iterator[list[Note]]:
    """Collect the notes of the one operator run inside the block, without those of operators inside it."""
    depth = _depth.get() + 1
    with listening() as notes:
        yield notes
    notes[:] = [note for note in notes if note.depth == depth]


def is_heard() -> bool:
    """Whether anyone listens; an error estimate that costs something is not made for nobody."""
    return _listener.get() is not None


@contextmanager
def inside_operator() -> Iterator[None]:
    """Notes made in this block are those of one more operator."""
    token = _depth.set(_depth.get() + 1)
    try:
        yield
    finally:
        _depth.reset(token)


def note(method: str, error: Any, detail: str = "", draws: int = 0, panels: int = 0) -> None:
    """Report; a no-op when nobody listens."""
    notes = _listener.get()
    if notes is not None:
        notes.append(Note(method, error, detail, _depth.get(), draws, panels))
