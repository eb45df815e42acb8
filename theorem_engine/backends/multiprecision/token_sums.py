"""What the integrals over u of one and of two weights share: lengths, and the tokens that are not looked at."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from flint import arb
from mpmath import mp

from theorem_engine.base.exact import as_mpf
from theorem_engine.language.lengths import Distribution

_HALF = arb(1) / 2


def lengths_of(value: Any) -> list[tuple[int, Any]]:
    """Lengths with their probabilities."""
    if isinstance(value, Distribution):
        return [(int(n), as_mpf(w)) for n, w in value.weights]
    return [(int(mp.nint(value)), mp.one)]


def log_survival(survival: Any, complement: Any) -> Any:
    """Logarithm of the bracket of a token that is not looked at; None where it is zero to all digits."""
    if complement < _HALF:
        return (-complement).log1p()
    return survival.log() if survival > 0 else None


def power_of(log_b: Any, lengths: Sequence[tuple[int, Any]], count: int) -> Any:
    """Sum over lengths of the ways to choose so many tokens, times the survival of the others."""
    total = arb(0)
    for n, weight in lengths:
        choices = math.perm(n, count)
        left = n - count
        if choices and not left:
            total += weight * choices
        elif choices and log_b is not None:
            total += weight * choices * (log_b * left).exp()
    return total
