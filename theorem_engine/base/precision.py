"""Precision beyond doubles: one call at a time, and as before after it.

mpmath and flint keep their precision for the whole process. Threads that asked for different digits would change it
under each other and leave it changed, so that they wait for each other instead; processes do not.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_lock = threading.RLock()


def _renew() -> None:
    """A child has no other threads, whoever held the lock when it was made."""
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


@contextmanager
def alone() -> Iterator[None]:
    """No other thread is inside such a block."""
    with _lock:
        yield


@contextmanager
def decimals(count: int) -> Iterator[Any]:
    """mpmath carries so many digits in the block, for this thread alone."""
    from mpmath import mp

    with _lock, mp.workdps(count):
        yield mp
