"""A setting that holds for a block and is as before after it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def held(owner: Any, name: str, value: Any) -> Iterator[None]:
    """An attribute of an object has this value in the block, whatever happens in it.

    >>> class Manner:
    ...     digits = 15
    >>> with held(Manner, "digits", 50):
    ...     Manner.digits
    50
    >>> Manner.digits
    15
    """
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)
