"""The change of sign of a function between two places, where it may jump.

At a fold two solutions meet, and beyond it there is none: what is asked of the solution falls like a square root and
ends. A search that halves comes to such an end slowly, and looks beyond it half of the time.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np

#: Where a function jumps one side is so much smaller than the other, and the other as much like itself; and how far the
#: place of a jump is told, relative to it.
SMALL, TORN = 0.1, 1e-11


def crossing(function: Callable[[float], float], known: dict[float, float], low: float, high: float) -> float:
    """The place between two at which a function has different signs, to full precision unless it jumps there.

    ``known`` are values that it has at these places and others.
    """
    seen = {x: v for x, v in known.items() if math.isfinite(v)}

    def watched(x: float) -> float:
        if x not in seen:
            seen[x] = function(x)
            bracket = _bracket(seen, low, high)
            if _is_torn(seen, *bracket):
                raise _Torn(bracket)
        return seen[x]

    try:
        return _smooth(watched, low, high)
    except _Torn as torn:
        good, bad = _edge(function, seen, *torn.bracket)
    # a plateau beside a steep place looks like a jump from afar
    return good if bad is None else _smooth(function, *sorted((good, bad)))


def _smooth(function: Callable[[float], float], low: float, high: float) -> float:
    from scipy.optimize import brentq

    return float(brentq(function, low, high, xtol=1e-300, rtol=8.9e-16, maxiter=500))


class _Torn(Exception):
    """A function jumps at its change of sign."""

    def __init__(self, bracket: tuple[float, float]) -> None:
        super().__init__()
        self.bracket = bracket


def _bracket(seen: dict[float, float], low: float, high: float) -> tuple[float, float]:
    """The two neighbours of all that were seen between which the sign changes."""
    inside = sorted(x for x in seen if low <= x <= high)
    return next((pair for pair in itertools.pairwise(inside) if seen[pair[0]] * seen[pair[1]] <= 0), (low, high))


def _nearest(place: float, places: list[float]) -> float | None:
    return min(places, key=lambda x: abs(x - place), default=None)


def _is_torn(seen: dict[float, float], left: float, right: float) -> bool:
    """Whether one side stays large, and alike at two places, where the other is far smaller: there it jumps."""
    for here, other, beyond in (
        (left, right, [x for x in seen if x > right]),
        (right, left, [x for x in seen if x < left]),
    ):
        far = _nearest(other, beyond)
        size = SMALL * abs(seen[other])
        if far is not None and abs(seen[here]) < size and abs(seen[far] - seen[other]) <= size:
            return True
    return False


def _edge(
    function: Callable[[float], float], seen: dict[float, float], left: float, right: float
) -> tuple[float, float | None]:
    """Where a function jumps: the last place on the side on which it is small, which is told to ``TORN``.

    Where the other side comes down as well there is no jump, and both places are given.

    At a fold, where two solutions meet and there is none beyond, it falls like a square root and then ends: places on
    the small side tell by their values how far off that is. They are taken beside it, by as much as the last guess was
    off, since beyond the end every look is dear; and halves where there is no guess.
    """
    good, bad = (left, right) if abs(seen[left]) < abs(seen[right]) else (right, left)
    sign, before = math.copysign(1.0, seen[good]), math.nan
    height = abs(seen[bad])
    while abs(good - bad) > TORN * abs(good):
        side = sorted((x for x in seen if seen[x] * sign > 0), key=lambda x: abs(x - bad))[:3]
        guess = _where_it_ends(side, [seen[x] for x in side])
        width = good - bad
        place = (good + bad) / 2
        if math.isfinite(guess) and (guess - bad) / width > 0 and (good - guess) / width > 0:
            doubt = max(abs(guess - before) if math.isfinite(before) else math.inf, TORN * abs(good) / 4)
            if doubt < abs(width) / 4:
                # on the small side as long as that brings the end nearer, then beyond it
                is_far = abs(good - guess) > 4 * doubt
                place = guess + math.copysign(doubt, width if is_far else -width)
        before = guess
        if not min(good, bad) < place < max(good, bad):
            place = (good + bad) / 2
        if place in (good, bad):
            break
        seen[place] = value = function(place)
        if value * sign > 0:
            good = place
        else:
            bad = place
            if abs(value) < SMALL * height:
                return good, bad
    return good, None


def _where_it_ends(places: list[float], values: list[float]) -> float:
    """The place of value zero by a polynomial of the values through all three, with no term of first order; or NaN."""
    if len(places) < 3:
        return math.nan
    near = np.array(values) / max(map(abs, values))
    matrix = np.stack([np.ones(3), near**2, near**3], axis=1)
    try:
        return float(places[0] + np.linalg.solve(matrix, np.array(places) - places[0])[0])
    except np.linalg.LinAlgError:
        return math.nan
