"""What an entry says about outputs that none of its simulators measures: which, and why."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, init=False)
class Unchecked:
    """Outputs without a check of their own, among the ``checks`` of an entry, and the reason in words.

    >>> str(Unchecked("g", "e", because="multiples of delta and alpha, which are measured"))
    'not tested: g, e (multiples of delta and alpha, which are measured)'
    """

    outputs: tuple[str, ...]
    because: str

    def __init__(self, *outputs: str, because: str) -> None:
        object.__setattr__(self, "outputs", outputs)
        object.__setattr__(self, "because", because)

    def __str__(self) -> str:
        return f"not tested: {', '.join(self.outputs)} ({self.because})"
