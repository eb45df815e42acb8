"""Independent repetitions of a computation that uses random numbers.

A method that averages over random numbers does so over ``COUNT`` independent sets of them. Restricted to one
set at a time, a whole evaluation, solvers included, is repeated ``COUNT`` times; the spread of the results
is the statistical error of what all sets together give.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

#: Few and large: quasi-random points gain more from their number than the estimate of the spread does.
COUNT = 4

_only: ContextVar[int | None] = ContextVar("replicate", default=None)


def chosen() -> tuple[int, ...]:
    """The sets in use: all of them, or the one this computation is restricted to.

    >>> chosen()
    (0, 1, 2, 3)
    """
    index = _only.get()
    return tuple(range(COUNT)) if index is None else (index,)


@contextmanager
def only(index: int) -> Iterator[None]:
    """Use one set of random numbers inside the block.

    >>> with only(3):
    ...     chosen()
    (3,)
    """
    token = _only.set(index)
    try:
        yield
    finally:
        _only.reset(token)


def standard_error(computation: Callable[[], Any]) -> Any:
    """Statistical error of an array computed with the sets in use; zero where no random numbers are used.

    >>> [float(error) for error in standard_error(lambda: [1.0, 2.0])]
    [0.0, 0.0]
    """
    import numpy as np

    each = []
    for index in range(COUNT):
        with only(index):
            each.append(computation())
    return np.std(each, axis=0, ddof=1) / np.sqrt(len(chosen()))
