"""Functions at two accuracies: a search looks at rough values, which are cheap, and ends with exact ones.

A method that can be cheap asks ``is_rough``; one that cannot answers exactly, which is never wrong. Rough values are
off by about a millionth of the size of the function, and nothing but the way to an answer hangs on them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

Function = Callable[[float], float]

#: Rough values that differ by less than this share of the size of the function are not told apart.
UNSURE = 1e-4

#: No argument: generated code stands between the search that asks and the integral that is cheap.
_rough: ContextVar[bool] = ContextVar("rough", default=False)


@contextmanager
def roughly() -> Iterator[None]:
    """Inside the block six digits are enough."""
    token = _rough.set(True)
    try:
        yield
    finally:
        _rough.reset(token)


def is_rough() -> bool:
    """Whether six digits are enough."""
    return _rough.get()


@dataclass(frozen=True)
class Graded:
    """A function of one letter as it is, and roughly."""

    exact: Function
    rough: Function

    def __call__(self, place: float) -> float:
        """The exact value."""
        return self.exact(place)


def rough_of(function: Function) -> Function:
    """The cheaper version of a function, if there is one."""
    return function.rough if isinstance(function, Graded) else function
