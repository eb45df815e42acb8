"""How many roots a function has on an interval, and a bracket of each.

The interval is cut until the function or its slope has one sign on each piece: f(X) is taken as it is and as
f(m) + f'(X)(X - m). A piece where the slope has one sign holds one root if the signs at its ends differ, none if they
are equal.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from flint import arb, ctx

from theorem_engine.backends.balls.claims import Unproved
from theorem_engine.backends.balls.integration import COARSE, MIDDLING, accurate_to

#: Bits carried while counting, pieces and seconds of the processor spent at most, and the narrowest piece relative to
#: its place. Not seconds of a clock: what is proved must not hang on what else the machine does.
BITS, MOST, SECONDS, NARROWEST = 80, 6000, 15.0, 1e-9

#: The value and the slope at a ball.
Dual = Callable[[Any], tuple[Any, Any]]


@dataclass(frozen=True)
class Bracket:
    """An interval with exactly one root, and whether the function rises there."""

    low: float
    high: float
    rises: bool


def count_roots(dual: Dual, low: float, high: float) -> tuple[list[Bracket], int]:
    """Brackets of all roots in [low, high] from left to right, and how many pieces it took."""
    begin, pieces = time.process_time(), 0
    found: list[Bracket] = []
    signs: dict[float, int] = {}

    def sign_at(x: float) -> int:
        if x not in signs:
            value = dual(arb(x))[0]
            signs[x] = 1 if value > 0 else -1 if value < 0 else 0
        return signs[x]

    with ctx.workprec(BITS):
        stack = [(low, high)]
        while stack:
            a, b = stack.pop()
            pieces += 1
            if pieces > MOST or time.process_time() - begin > SECONDS:
                raise Unproved(f"time limit after {pieces} pieces, {len(stack) + 1} open")
            slope = _settled(dual, a, b)
            if slope == 0:
                continue
            if slope is None:
                if b - a < NARROWEST * max(abs(a), abs(b)):
                    raise Unproved(f"undecided near {a:.9g}")
                middle = math.sqrt(a) * math.sqrt(b) if a > 0 else (a + b) / 2
                stack += [(middle, b), (a, middle)]
                continue
            first, second = sign_at(a), sign_at(b)
            if first == 0 or second == 0:
                raise Unproved(f"undecided near {a if first == 0 else b:.9g}")
            if first != second:
                found.append(Bracket(a, b, second > 0))
    return found, pieces


def _settled(dual: Dual, a: float, b: float) -> int | None:
    """0 where the function has no root, else the sign of its slope; None where neither is told."""
    box, middle = arb(a).union(arb(b)), arb((a + b) / 2)
    with accurate_to(COARSE):
        try:
            value, slope = dual(box)
        except Unproved:
            return None
    if _has_sign(value):
        return 0
    if not slope.is_finite():
        return None
    with accurate_to(MIDDLING):
        centre = dual(middle)[0]
    if _has_sign(centre + slope * (box - middle)):
        return 0
    return 1 if slope > 0 else -1 if slope < 0 else None


def _has_sign(value: Any) -> bool:
    return bool(value.is_finite() and (value > 0 or value < 0))
