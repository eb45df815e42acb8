"""Roots of one equation, enclosed: how many there are on the interval, and the one that is meant."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from flint import acb, arb
from sympy import Symbol

from theorem_engine.backends.balls.claims import Unproved, claim
from theorem_engine.backends.balls.counting import Bracket, count_roots
from theorem_engine.backends.balls.functions import ball
from theorem_engine.backends.balls.group import double
from theorem_engine.backends.balls.krawczyk import System, box_text, krawczyk, sharpen
from theorem_engine.backends.balls.recalled import exactly
from theorem_engine.backends.base import Backend, Numeric, get_backend
from theorem_engine.base.errors import NotAvailable
from theorem_engine.planning.plan import Operate

#: Counts that are kept, and those that were not decided.
FEW = 16
_counts: dict[Any, tuple[list[Bracket], int]] = {}
_undecided: dict[Any, str] = {}
_LETTER = Symbol("letter of a root")


def lower(roots: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """Count first; where that is not decided, the root of double precision is proved to be one of its own box."""
    (root,) = roots
    name = root.letter.name
    rough = get_backend("float64").operate(Operate(roots, ((None,),), parameters))
    try:
        both = backend.function([root.letter, *parameters], [root.body, root.body.diff(root.letter)])
    except TypeError:
        raise NotAvailable(f"no certificate: the equation for {name} has no symbolic slope") from None
    ends = backend.function(parameters, list(root.args[2:4]))
    # the first and the last root of a function have one count
    meaning = _meaning_of(root.body.xreplace({root.letter: _LETTER}), parameters)

    def evaluate(*values: Any) -> list[Any]:
        if any(isinstance(v, acb) for v in values):
            raise NotAvailable("no certificate: a root stands inside an integral")

        def dual(x: Any) -> tuple[Any, Any]:
            value, slope = both(x, *values)
            return ball(value), ball(slope)

        low, high = (float(ball(e).mid()) for e in ends(*values))
        start = float(rough(*[double(v) for v in values])[0])
        where = f"[{low:.6g}, {high:.6g}]"
        try:
            found, pieces = _counted(meaning, values, dual, low, high)
        except Unproved as reason:
            if math.isinf(start):
                raise
            box, image = krawczyk(as_system(dual), sharpen(as_system(dual), [arb(start)]))
            claim("local", f"exactly one root {name} in the box; others on {where} are not excluded ({reason})",
                  {name: box_text(box[0])})  # fmt: skip
            return [image[0]]
        if not found:
            claim("none-in-box", f"no root {name} on {where}, by {pieces} pieces", {name: where})
            return [arb.pos_inf()]
        meant = found[-1 if root.takes_last else 0]
        count = "exactly one root" if len(found) == 1 else f"exactly {len(found)} roots"
        claim("unique", f"{count} {name} on {where}, by {pieces} pieces", {name: where})
        return [enclose_root(dual, meant, start)]

    return evaluate


@lru_cache(maxsize=256)
def _meaning_of(body: Any, parameters: tuple[Any, ...]) -> object:
    return object()


def _counted(meaning: object, values: Any, dual: Any, low: float, high: float) -> tuple[list[Bracket], int]:
    """The roots of a function on an interval; the last counts are kept.

    Counting carries bits of its own: what it did not decide it will not decide when the same is asked again, for
    letters with more bits.
    """
    place = tuple(str(v) for v in (*map(double, values), low, high))
    if (meaning, place) in _undecided:
        raise Unproved(_undecided[meaning, place])
    key = (meaning, low, high, *map(exactly, values))
    if key not in _counts:
        try:
            found = count_roots(dual, low, high)
        except Unproved as reason:
            _kept(_undecided, (meaning, place), str(reason))
            raise
        _kept(_counts, key, found)
    return _counts[key]


def _kept(table: dict[Any, Any], key: Any, value: Any) -> None:
    """Put into a table of a few, the oldest out."""
    if len(table) >= FEW:
        del table[next(iter(table))]
    table[key] = value


def as_system(dual: Any) -> System:
    """One equation as a system of one."""

    def system(x: Any) -> tuple[list[Any], list[list[Any]]]:
        value, slope = dual(x[0])
        return [value], [[slope]]

    return system


def enclose_root(dual: Any, bracket: Bracket, start: float) -> Any:
    """The root of a bracket to the precision carried, by Newton from a start inside it or from its middle."""
    inside = arb(bracket.low).union(arb(bracket.high))
    middle = math.sqrt(bracket.low) * math.sqrt(bracket.high) if bracket.low > 0 else (bracket.low + bracket.high) / 2
    for place in (start, middle):
        if not bracket.low <= place <= bracket.high:
            continue
        _, image = krawczyk(as_system(dual), sharpen(as_system(dual), [arb(place)]))
        if inside.contains(image[0]):
            return image[0]
    raise Unproved(f"the root near {middle:.9g} is not enclosed")
