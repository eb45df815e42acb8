"""What evaluations in balls say about themselves: what was proved, or why nothing was."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from theorem_engine.base.errors import NotConverged


class Unproved(NotConverged):
    """A proof that did not go through with the bits carried; with more of them it may."""


#: What can be said of a number, the weakest first; the first that any part of an evaluation has is that of the whole.
STATUSES = ("local", "unique", "global-in-box", "none-in-box", "enclosed")


@dataclass(frozen=True)
class Claim:
    """One statement that was proved on the way, and the box it is about where there is one."""

    status: str
    text: str
    box: Mapping[str, str] = field(default_factory=dict)


#: No argument: generated code passes numbers only.
_collector: ContextVar[list[Claim] | None] = ContextVar("claims", default=None)


@contextmanager
def collecting() -> Iterator[list[Claim]]:
    """All claims made inside the block."""
    found: list[Claim] = []
    token = _collector.set(found)
    try:
        yield found
    finally:
        _collector.reset(token)


def claim(status: str, text: str, box: Mapping[str, str] | None = None) -> None:
    """Say what has just been proved; the same again is not repeated."""
    found = _collector.get()
    made = Claim(status, text, dict(box or {}))
    if found is not None and made not in found:
        found.append(made)
