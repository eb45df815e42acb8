"""Calling machine code that numba compiles at its first call and then keeps on the disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: Functions that one compiled function calls, and that are kept before it, at most.
_NESTED = 20


def call_compiled(function: Callable[..., Any], *args: Any) -> Any:
    """A call whose machine code need not be kept: a full disk costs the time of the next compilation, nothing else.

    numba first compiles, then keeps, then runs: after an error of the disk the code is there, and nothing has run yet.
    """
    for _ in range(_NESTED):
        try:
            return function(*args)
        except OSError:
            continue
    return function(*args)
