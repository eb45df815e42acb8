"""Operators and groups of equations that are asked again for the same balls, as while roots are counted.

What a function on an interval holds that does not hang on its letter is the same on every piece.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from flint import acb, arb, ctx

from theorem_engine.backends.balls.functions import asks_analytic
from theorem_engine.backends.balls.integration import accuracy
from theorem_engine.backends.running import Numeric
from theorem_engine.numerics.remembering import remembered


def recalled(run: Numeric) -> Numeric:
    """The same function, which inside a block that remembers proves the same thing once."""
    identity = object()

    def evaluate(*values: Any) -> list[Any]:
        key = (identity, ctx.prec, accuracy(), asks_analytic(), *map(exactly, values))
        return list(remembered(key, lambda: list(run(*values))))

    return evaluate


def exactly(value: Any) -> Hashable:
    """What a ball is, as something that can be looked up; others as they are."""
    if isinstance(value, acb):
        return exactly(value.real), exactly(value.imag)
    if not isinstance(value, arb):
        return value
    if not value.is_finite():
        return str(value)
    return value.mid().man_exp(), value.rad().man_exp()
