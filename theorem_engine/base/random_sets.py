"""Independent repetitions of a computation that uses random numbers.

A method that averages over random numbers does so over ``COUNT`` independent sets of them. Restricted to one
set at a time, a whole evaluation, solvers included, is repeated ``COUNT`` times. The spread of the results gives the
statistical error of what all sets together give, at the confidence ``LEVEL``: the standard error times the quantile of
Student's distribution for so few sets, and the distance between the mean of the results and what all sets together
give, which is what solvers make of few draws (a bias that falls as the number of draws grows).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

#: Few and large: quasi-random points gain more from their number than the estimate of the spread does.
COUNT = 4
#: Probability that a statistical error covers the truth.
LEVEL = 0.95
#: With this probability what was not seen in n draws happens less often than in UNSEEN/n of them.
UNSEEN = 3.0

#: No argument: whole evaluations, solvers and generated code included, stand between who restricts and who draws.
_only: ContextVar[int | None] = ContextVar("replicate", default=None)


def chosen() -> tuple[int, ...]:
    """The sets in use: all of them, or the one this computation is restricted to.

    >>> chosen()
    (0, 1, 2, 3)
    """
    index = _only.get()
    return tuple(range(COUNT)) if index is None else (index,)


def is_restricted() -> bool:
    """Whether this computation is restricted to one set."""
    return _only.get() is not None


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


def statistical_error(each: Any, together: Any) -> Any:
    """Error at the level ``LEVEL`` of what all sets together give, from the results of each set alone (rows).

    >>> round(float(statistical_error([[1.0], [2.0], [3.0], [4.0]], [2.5])[0]), 3)  # 3.18 standard errors
    2.054
    """
    import numpy as np
    from scipy.special import stdtrit

    rows = np.asarray(each, dtype=float)
    quantile = float(stdtrit(len(rows) - 1, (1 + LEVEL) / 2))
    # all sets together are as good as COUNT of them, even if not each of them alone gives a result
    with np.errstate(all="ignore"):
        # squares of large numbers overflow, those of their ratios do not
        size = np.maximum(np.max(np.abs(rows), axis=0), 1e-300)
        ratios = rows / size
        spread = quantile * size * (np.std(ratios, axis=0, ddof=1) / np.sqrt(COUNT))
        apart = size * np.abs(np.mean(ratios, axis=0) - np.asarray(together, dtype=float) / size)
    return spread + apart


def standard_error(computation: Callable[[], Any]) -> Any:
    """Standard error of an array computed with the sets in use; zero where no random numbers are used.

    >>> [float(error) for error in standard_error(lambda: [1.0, 2.0])]
    [0.0, 0.0]
    """
    import numpy as np

    each = []
    for index in range(COUNT):
        with only(index):
            each.append(computation())
    return np.std(each, axis=0, ddof=1) / np.sqrt(len(chosen()))
