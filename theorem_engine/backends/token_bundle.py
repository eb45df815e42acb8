"""What every way to evaluate token means compiles first, whatever the numbers are."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from theorem_engine.backends.base import Backend
from theorem_engine.language.operators.token_layout import make_layout


@lru_cache(maxsize=1024)
def meaning_of(kind: str, means: tuple[Any, ...], parameters: tuple[Any, ...]) -> object:
    """The same object for the same operators over the same parameters, wherever they are compiled."""
    return object()


class TokenBundle:
    """Means over the same tokens: their layout, what stands outside of the brackets, and the length."""

    def __init__(self, means: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> None:
        first = means[0]
        #: The same object for the same means, wherever they were compiled: what one has found the other need not find.
        self.meaning = meaning_of(type(self).__qualname__, means, parameters)
        self.layout = make_layout(means)
        self.has_hidden = bool(first.has_hidden)
        #: The mass of tokens that are always there, then the coefficients of the products.
        self.outer = backend.function(parameters, [first.extra, *self.layout.coefficients])
        self.length = backend.function(parameters, [first.length])

    @property
    def highest_power(self) -> int:
        """The highest power of a single weight in a bracket."""
        return max((p for side in self.layout.brackets for (p,), _ in side), default=1)
