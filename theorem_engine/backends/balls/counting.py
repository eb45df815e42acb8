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
from theorem_engine.numerics.remembering import remembering

#: Bits carried while counting, pieces and seconds of the processor spent at most, and the narrowest piece relative to
#: its place. Not seconds of a clock: what is proved must not hang on what else the machine does.
BITS, MOST, SECONDS, NARROWEST = 80, 12000, 15.0, 1e-9

#: Pieces into which one is cut at most.
MANY_PARTS = 16

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

    with ctx.workprec(BITS), remembering():
        stack = [(low, high)]
        while stack:
            a, b = stack.pop()
            pieces += 1
            if pieces > MOST or time.process_time() - begin > SECONDS:
                raise Unproved(f"time limit after {pieces} pieces, {len(stack) + 1} open")
            slope, parts = _settled(dual, a, b)
            if slope == 0:
                continue
            if slope is None:
                if b - a < NARROWEST * max(abs(a), abs(b)):
                    raise Unproved(f"undecided near {a:.9g}")
                stack += _cut(a, b, parts)
                continue
            first, second = sign_at(a), sign_at(b)
            if first == 0 or second == 0:
                raise Unproved(f"undecided near {a if first == 0 else b:.9g}")
            if first != second:
                found.append(Bracket(a, b, second > 0))
    return found, pieces


def _cut(a: float, b: float, parts: int) -> list[tuple[float, float]]:
    """So many pieces from right to left, of equal ratios where both ends are positive."""
    if a > 0:
        places = [math.exp(math.log(a) + math.log(b / a) * k / parts) for k in range(1, parts)]
    else:
        places = [a + (b - a) * k / parts for k in range(1, parts)]
    ends = sorted({a, *(p for p in places if a < p < b), b})
    return list(zip(ends[:-1], ends[1:], strict=True))[::-1]


def _settled(dual: Dual, a: float, b: float) -> tuple[int | None, int]:
    """0 where the function has no root, else the sign of its slope; None where neither is told.

    Then also into how many pieces the interval is best cut: balls shrink with their intervals.
    """
    box, middle = arb(a).union(arb(b)), arb((a + b) / 2)
    with accurate_to(COARSE):
        try:
            value, slope = dual(box)
        except Unproved:
            return None, 2
    if _has_sign(value):
        return 0, 0
    if not slope.is_finite():
        return None, 2
    with accurate_to(MIDDLING):
        centre = dual(middle)[0]
    if _has_sign(centre + slope * (box - middle)):
        return 0, 0
    sign = 1 if slope > 0 else -1 if slope < 0 else None
    return sign, min(_too_wide(value, centre), _too_wide(slope, slope))


def _too_wide(found: Any, place: Any) -> int:
    """How many times too wide a ball around a number of this size is to have a sign; two at least."""
    radius, size = float(found.rad()), abs(float(place.mid()))
    return max(2, min(MANY_PARTS, math.ceil(1.2 * radius / size))) if size > 0 and radius < math.inf else 2


def _has_sign(value: Any) -> bool:
    return bool(value.is_finite() and (value > 0 or value < 0))
