"""The lowest value along a line or a half line, at every scale: near zero, far out, between, or only in a limit."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

from theorem_engine.base.errors import NotAvailable, NotConverged
from theorem_engine.numerics.roughly import UNSURE, Function, Graded, rough_of
from theorem_engine.numerics.solvers.search import graded_sign_change

#: Decades on either side of the natural unit that are looked at.
DECADES = 12
#: Share of a decade of rise or rest, after a rise and beyond one, after which nobody looks for another valley.
PATIENCE = 0.75
#: The same outwards, in decades, where a value costs little: wells of peaked functions are narrow and lie apart.
LONG_PATIENCE = 3
#: Steps without any change that end the way to zero, where a function is smooth.
REST = 3
#: Relative differences below this are rounding.
TIE = 4e-15
#: Relative differences below this, at every scale, are rounding too.
ALIKE = 1e-12
#: Rough slopes, in the logarithm of the place, below this share of the height may have the wrong sign.
FAINT = 1e-10
#: Places to the decade that leave nobody looking for narrow peaks.
USUAL = 4
#: Valleys that are looked into.
VALLEYS = 3
#: A fall like a power of the place leaves this many times its last step, if a step is a third of a decade at least.
REMAINDER = 4.0


@dataclass(frozen=True)
class Lowest:
    """Where a function is lowest.

    Where the infimum is a limit, at infinity or at zero, the place is the last one looked at, and the infimum may
    be lower by about ``below``. ``within`` is the width of what rounding cannot tell from the minimiser, where the
    search has met it.
    """

    place: float
    is_attained: bool
    below: float = 0.0
    within: float = 0.0


def lowest(height: Function, slope: Function | None, low: float, high: float, unit: float, per_decade: int) -> Lowest:
    """The lowest of all valleys between ``low`` and ``high``, on a line that contains zero.

    Scanned outwards from the natural unit on both sides of zero, so many points to the decade, then narrowed.
    A place without a value ends the way outwards: beyond it nothing is known. The way inwards begins at the first that
    has one.
    """
    places = {0.0: _value(height, 0.0)}
    exact = {0.0}
    # who asks for more places than usual expects peaks that few of them meet
    is_patient = per_decade > USUAL and not isinstance(height, Graded)
    for sign, end in ((1.0, high), (-1.0, -low)):
        if end > 0:
            ways = [[sign * unit * 10 ** (k / per_decade) for k in range(DECADES * per_decade + 1)]]
            ways += [[sign * unit * 10 ** (-k / per_decade) for k in range(1, DECADES * per_decade + 1)]]
            for outwards, way in zip((True, False), ways, strict=True):
                kept = [p for p in way if abs(p) < end]
                kept += [sign * end] if outwards and math.isfinite(end) else []
                patience = int(PATIENCE * per_decade)
                if is_patient:
                    patience = LONG_PATIENCE * per_decade if outwards else len(kept)
                _walk(height, places, exact, kept, outwards, patience, is_patient)
    _assure(height, places, exact)
    known = sorted((p, v) for p, v in places.items() if math.isfinite(v))
    if not known:
        raise NotConverged("minimum: the function is finite nowhere on its range")
    best = min(v for _, v in known)
    ties = [p for p, v in known if v <= best + TIE * abs(best)]
    if 0.0 in ties:
        return Lowest(0.0, True, within=max(abs(p) for p in ties))
    for sign in (1, -1):
        side = [v for p, v in known if p * sign > 0]
        if len(side) > 1 and best in side and max(side) <= best + ALIKE * abs(best):
            # the scale of the letter does not matter
            return Lowest(sign * unit, True)
    for end in reversed(_ends(known)):
        if known[end][0] in ties:
            step = 1 if end == 0 or known[end][0] > 0 > known[end - 1][0] else -1
            falls = [known[end + k * step][1] - known[end][1] for k in (1, 2) if 0 <= end + k * step < len(known)]
            if abs(known[end][0]) in (high, -low) and len(falls) > 1 and falls[0] > falls[1] / 2 > ALIKE * abs(best):
                raise NotConverged(
                    f"minimum: at {known[end][0]:.3g}, the farthest that is looked at, the function falls ever faster; "
                    "write it in another unit"
                )
            return Lowest(known[end][0], False, REMAINDER * falls[0] if falls else math.inf)
    inner = [
        i
        for i in range(1, len(known) - 1)
        if known[i][1] <= min(known[i - 1][1], known[i + 1][1])
        and known[i - 1][0] * known[i + 1][0] >= 0
        # what is flat is no valley
        and known[i][1] < max(known[i - 1][1], known[i + 1][1])
    ]
    inner = sorted(inner, key=lambda i: known[i][1])[:VALLEYS]
    found = [_narrowed(height, slope, [p for p, _ in known[i - 1 : i + 2]], abs(known[i][1])) for i in inner]
    if len(found) == 1:
        return Lowest(found[0], True)
    bottom = min(_number(_value(height, p)) for p in found)
    # of mirror images the positive one
    return Lowest(max(p for p in found if _number(_value(height, p)) <= bottom + TIE * abs(bottom)), True)


def _walk(
    height: Function, places: dict[float, float], exact: set[float], way: list[float], outwards: bool, patience: int,
    is_patient: bool,
) -> None:  # fmt: skip
    """Values along the way, outwards or inwards, until there are none, or nothing more is to be expected.

    They are rough where they differ clearly from their neighbours.
    """
    before, rest, since_fall, has_risen = math.nan, 0, 0, False
    last, is_close = math.nan, False
    for place in way:
        # what follows two that are hardly told apart is likely to be so too: a rough value would be for nothing
        value = _value(height if is_close else rough_of(height), place)
        if is_close:
            places[place] = value
            exact.add(place)
        is_close = math.isfinite(before) and abs(value - before) <= UNSURE * _size(places)
        if is_close:
            for each in (last, place):
                if each not in exact:
                    places[each] = _value(height, each)
                    exact.add(each)
            before, value = places[last], places[place]
        if not math.isfinite(value):
            places.pop(place, None)
            if outwards or (math.isfinite(before) and isinstance(height, Graded)):
                return
            # the natural unit may lie where the function overflows or vanishes: nearer to zero it does not
            before = math.nan
            continue
        places[place] = value
        change = value - before if math.isfinite(before) else 0.0
        is_flat = abs(change) <= TIE * abs(value)
        rest = rest + 1 if is_flat else 0
        has_risen = has_risen or (change > 0 and not is_flat)
        # functions of order one change where their letter is: weak signals make two scales
        counts = has_risen and (not outwards or abs(place) > 1)
        since_fall = 0 if change < 0 and not is_flat else since_fall + counts
        is_at_rest = not is_patient and not outwards and rest > REST
        if since_fall > patience or (is_at_rest and _is_alike(value, places.get(0.0, value))):
            return
        before, last = value, place


def _is_alike(value: float, at_zero: float) -> bool:
    """A rest at another value than that at zero is one of far out, not yet that of the way's end."""
    return not math.isfinite(at_zero) or abs(value - at_zero) <= ALIKE * max(abs(value), abs(at_zero))


def _size(places: dict[float, float]) -> float:
    return max((abs(v) for v in places.values() if math.isfinite(v)), default=0.0)


def _assure(height: Function, places: dict[float, float], exact: set[float]) -> None:
    """Exact values wherever the lowest may be."""
    while True:
        best = min((v for v in places.values() if math.isfinite(v)), default=math.nan)
        near = [p for p, v in places.items() if p not in exact and v <= best + UNSURE * _size(places)]
        if not near:
            return
        for place in near:
            places[place] = _value(height, place)
            exact.add(place)


def _ends(known: list[tuple[float, float]]) -> list[int]:
    """Places beyond which nothing is known: the farthest of either sign, and those next to an unknown zero."""
    last = len(known) - 1
    ends = {i for i in (0, last) if known[i][0]}
    for i, (place, _) in enumerate(known):
        if place > 0 and (i == 0 or known[i - 1][0] < 0):
            ends |= {i} | ({i - 1} if i else set())
    return sorted(ends)


def _narrowed(height: Function, slope: Function | None, around: list[float], scale: float) -> float:
    """The bottom of a valley, about so high, from its middle and a place on either side.

    Where the slope changes its sign, or by values alone.
    """
    from scipy.optimize import minimize_scalar

    left, middle, right = around
    is_log = left * right > 0
    sign = math.copysign(1.0, middle)

    def place(t: float) -> float:
        return sign * math.exp(t) if is_log else t

    ends = sorted(math.log(abs(p)) if is_log else p for p in (left, right))
    if slope is not None:

        def along(function: Function) -> Function:
            return lambda t: function(place(t)) * (place(t) if is_log else 1.0)

        both = Graded(along(slope), along(rough_of(slope)))
        for version in (both, both.exact):
            at_ends = [_value(rough_of(version), t) for t in ends]
            if at_ends[0] < 0 < at_ends[1]:
                with suppress(NotConverged):
                    return place(graded_sign_change(version, ends[0], ends[1], scale))
    options = {"xatol": 1e-9 * (ends[1] - ends[0])}
    found = minimize_scalar(lambda t: _number(_value(height, place(t))), bounds=ends, method="bounded", options=options)
    return place(float(found.x)) if float(found.fun) <= height(middle) else middle


def valley(height: Function, slope: Function, high: float, unit: float) -> Lowest:
    """The minimiser on (0, high) of a function known to fall and then rise: the one sign change of its slope.

    Looked for by rough slopes first. What they find is kept if exact ones confirm it: any place where an exact slope
    rises through zero is the minimiser, and where one is still negative the minimiser lies beyond.
    """
    if not isinstance(slope, Graded):
        return _valley(height, slope, high, unit)
    falling = [0.0]

    def exact(place: float) -> float:
        value = slope.exact(place)
        if value < 0:
            falling.append(place)
        return value

    with suppress(NotConverged, NotAvailable):
        found = _valley(height, Graded(exact, slope.rough), high, unit)
        if found.is_attained or _value(exact, found.place) < 0:
            return found
    # the minimiser lies beyond every place where an exact slope is known to fall
    return _valley(height, slope.exact, high, max(falling) or unit)


def _valley(height: Function, slope: Function, high: float, unit: float) -> Lowest:
    """Looked for from the natural unit outwards by factors of three: the ends are often dear."""

    def of(function: Function) -> Function:
        def along(t: float) -> float:
            value = function(math.exp(t)) * math.exp(t)
            if not math.isfinite(value):
                raise NotConverged("minimum: the function has no finite slope where its valley should be")
            return value

        return along

    @cache
    def scale() -> float:
        return abs(rough_of(height)(math.exp(left)))

    def is_told(t: float) -> bool:
        """Whether a rise from here on is one: where rough slopes are next to nothing an exact one is asked."""
        return along(t) > FAINT * scale() or of(slope)(t) >= 0

    along = of(rough_of(slope))
    step, last = math.log(3), math.log(high) if high > 0 else -math.inf
    left = right = min(math.log(unit), last)
    if along(left) >= 0:
        while along(left) >= 0:
            left, right = left - step, left
            if left < right - DECADES * math.log(10):
                # flat down to zero as far as rounding can tell
                if isinstance(slope, Graded):
                    raise NotConverged("minimum: rough slopes do not tell")
                return Lowest(math.exp(right), True)
    else:
        while True:
            left, right = right, min(right + step, last)
            if right == left:
                return Lowest(math.exp(left), False, REMAINDER * _last_step(height, left, step))
            try:
                if along(right) >= 0 and (not isinstance(slope, Graded) or is_told(right)):
                    break
            except (NotConverged, NotAvailable):
                if step < 0.2:
                    # too steep to be evaluated any further, and still falling
                    return Lowest(math.exp(left), False, REMAINDER * _last_step(height, left, math.log(3)))
                right, step = left, step / 2
    both = Graded(of(slope), along)
    place = graded_sign_change(both if isinstance(slope, Graded) else along, left, right, scale())
    return Lowest(math.exp(place), True)


def _last_step(height: Function, t: float, step: float) -> float:
    return abs(height(math.exp(t)) - height(math.exp(t - step)))


def _value(function: Function, place: float) -> float:
    """A value, or NaN where the method has none."""
    try:
        return function(place)
    except (NotConverged, NotAvailable, ZeroDivisionError, OverflowError):
        return math.nan


def _number(value: float) -> float:
    return value if math.isfinite(value) else math.inf
