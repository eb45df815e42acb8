"""Identities of an entry, tried one by one: by algebra, in balls on a box, in balls at points.

At points an identity can be refuted: a ball of the difference that leaves out zero (for an ordering, one that is
negative) contradicts it. What neither holds nor fails is not decided, with the reason.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import sympy

from theorem_engine.asking.citation import remember
from theorem_engine.asking.difference import LARGEST, Difference
from theorem_engine.asking.guard import guarded
from theorem_engine.asking.outcome import AT_POINTS, ON_BOX, PROVED, REFUTED, UNDECIDED, Outcome, Proof
from theorem_engine.base.errors import DeclarationError, NotAvailable, TheoremEngineError
from theorem_engine.base.exact import as_fraction, to_text
from theorem_engine.language.catalogue import Named, find_entry
from theorem_engine.language.conditions import Undecided
from theorem_engine.language.entry import Entry
from theorem_engine.language.identity import Identity, Ordering

#: Pieces of a box after which it is given up, and bits carried on them.
PIECES, BITS = 600, 64
#: How near zero a difference must be at a point, relative to one plus the size of a side; bits carried, in turn.
SMALL, PRECISIONS = 20, (128, 320)


def prove(id: Named) -> Proof:
    """Try every identity that an entry carries.

    >>> print(prove("gaussian.erf-mean").outcomes[0].status)
    proved
    """
    entry = find_entry(id)
    remember(entry)
    return Proof(entry, tuple(prove_identity(entry, identity) for identity in entry.identities))


def prove_identity(entry: Entry, identity: Identity) -> Outcome:
    """Refute at points, or else prove by algebra, verify on the box, verify at the points, in this order."""
    try:
        import flint  # noqa: F401 - without it there are no balls
    except ImportError:
        raise NotAvailable(f"{entry.id}: proofs need the package python-flint") from None
    begin = time.perf_counter()
    text = str(identity)
    with guarded(entry, None, f"the identity {text}"):
        found = _tried(entry, identity, text)
    return Outcome(
        text, found.status, found.reason, found.box, found.points, found.enclosure, time.perf_counter() - begin
    )


def _tried(entry: Entry, identity: Identity, text: str) -> Outcome:
    try:
        difference = Difference(entry, identity)
    except Undecided as error:
        return Outcome(text, UNDECIDED, f"the statement has cases that the identity does not tell apart: {error}")
    except DeclarationError:
        raise
    except TheoremEngineError as error:
        return Outcome(text, UNDECIDED, str(error))
    at_points = _at_points(difference, identity, text)
    if at_points.status == REFUTED:
        return at_points
    if _by_algebra(difference, identity):
        return Outcome(text, PROVED, "the difference of the sides simplifies to zero" if identity.sign == "=" else
                       "the difference of the sides simplifies to an expression that is never negative")  # fmt: skip
    on_box = _on_box(difference, identity, text) if identity.box else None
    if on_box is not None and on_box.status != UNDECIDED:
        return on_box
    reasons = [] if on_box is None else [on_box.reason]
    return Outcome(text, at_points.status, "; ".join([at_points.reason, *reasons]), {}, at_points.points)


def _by_algebra(difference: Difference, identity: Identity) -> bool:
    expression = difference.expression()
    if expression is None:
        return False
    if expression == 0:
        return True
    # equal integrals cancel as letters do; what stands inside them is not looked at
    integrals = {integral: sympy.Dummy(real=True) for integral in expression.atoms(sympy.Integral)}
    expression = expression.xreplace(integrals).rewrite(sympy.erf)
    simple = sympy.expand(expression)
    # integrals that are left rarely cancel after all, and make simplification slow
    most = LARGEST // 4 if simple.free_symbols & set(integrals.values()) else LARGEST
    if simple != 0 and sympy.count_ops(simple) <= most and not simple.has(sympy.Piecewise):
        # the expanded form is simplified to zero more often, the other one to something with a sign
        simple = sympy.simplify(expression if isinstance(identity, Ordering) else simple)
    return bool(simple.is_nonnegative is True) if isinstance(identity, Ordering) else bool(simple == 0)


def _points_of(difference: Difference, identity: Identity) -> list[Mapping[str, Any]]:
    """The points stated, or nine inside the box where none are."""
    if identity.points or not identity.box:
        names = {x.name for x in difference.letters}
        return [{name: value for name, value in point.items() if name in names} for point in identity.points]
    sides = _sides_of(difference, identity)
    places = [Fraction(k, 16) for k in (8, 3, 13)]
    found: list[Mapping[str, Any]] = []
    for turn, share in itertools.product(range(3), places):
        point: dict[str, Any] = {}
        for i, (name, (low, high)) in enumerate(sides.items()):
            moved = (share + Fraction(turn * (i + 1), 5)) % 1
            point[name] = low if high is None else low + (high - low) * moved
        found.append(point)
    return found


def _at_points(difference: Difference, identity: Identity, text: str) -> Outcome:
    from flint import arb, ctx

    from theorem_engine.backends.balls import BACKEND

    points = _points_of(difference, identity)
    if not points:
        return Outcome(text, UNDECIDED, "no box and no points are stated")
    try:
        run = difference.enclosing()
    except TheoremEngineError as error:
        return Outcome(text, UNDECIDED, str(error))
    shown = tuple({name: to_text(value) for name, value in point.items()} for point in points)
    for point, words in zip(points, shown, strict=True):
        values = difference.read(point)
        reason = ""
        for bits in PRECISIONS:
            with ctx.workprec(bits):
                try:
                    gap, side = _evaluated(difference, run, [BACKEND.number(v) for v in values])
                except TheoremEngineError as error:
                    reason = str(error)
                    continue
                if _contradicts(gap, identity):
                    return Outcome(
                        text, REFUTED, "a ball of the difference contradicts it", {}, (words,), str(gap.str(20))
                    )
                near = arb(10) ** -SMALL * (1 + abs(side))
                is_sharp = gap.is_finite() and bool(abs(gap) < near)
                if is_sharp if identity.sign == "=" else bool(gap >= 0):
                    reason = ""
                    break
                reason = f"the difference is known as {gap.str(5)} only"
        if reason:
            place = ", ".join(f"{k}={v}" for k, v in words.items())
            return Outcome(text, UNDECIDED, f"at {place}: {reason}")
    said = f"the sides agree to {SMALL} digits" if identity.sign == "=" else "the difference is not negative"
    return Outcome(text, AT_POINTS, f"in balls, {said}", {}, shown)


def _contradicts(gap: Any, identity: Identity) -> bool:
    return bool(gap.is_finite() and (gap < 0 or (identity.sign == "=" and gap > 0)))


def _evaluated(difference: Difference, run: Any, numbers: list[Any]) -> list[Any]:
    """Real balls; a value with an imaginary part has no order and is no number here."""
    from flint import acb, arb

    found = []
    with guarded(difference.entry, None, "an evaluation in balls"):
        for value in run(*numbers):
            if isinstance(value, acb) and not value.imag.is_zero():
                raise NotAvailable("a side of the identity is complex")
            found.append(value.real if isinstance(value, acb) else arb(value))
    return found


def _sides_of(difference: Difference, identity: Identity) -> dict[str, tuple[Any, Any]]:
    """Ends of each letter of the box as fractions; None in place of the second where the letter has one value."""
    letters = {x.name: x for x in difference.letters}
    sides: dict[str, tuple[Any, Any]] = {}
    for name, given in identity.box.items():
        if name not in letters:
            continue
        ends = given if isinstance(given, tuple) else (given,)
        # ends are inside the domain, which read refuses otherwise
        exact = [letters[name].domain.read(end) for end in ends]
        fractions = [as_fraction(value) for value in exact]
        if len(ends) == 2 and (None in fractions or not fractions[0] < fractions[1]):  # type: ignore[operator]
            raise DeclarationError(f"{difference.entry.id}: the box of an identity has no side {name} in {given}")
        sides[name] = (fractions[0], fractions[1]) if len(ends) == 2 else (exact[0], None)
    return sides


def _on_box(difference: Difference, identity: Identity, text: str) -> Outcome:
    """Cut the box until the difference is enclosed as wanted on every piece.

    On a piece X with the middle m, f(X) is taken as it is and as f(m) + f'(X)(X - m).
    """
    from flint import arb, ctx

    from theorem_engine.backends.balls import BACKEND
    from theorem_engine.backends.balls.integration import COARSE, MIDDLING, accurate_to

    sides = _sides_of(difference, identity)
    moving = [x for x in difference.letters if x.name in sides and sides[x.name][1] is not None]
    if not moving:
        return Outcome(text, UNDECIDED, "the box is a point")
    try:
        plain, sloped = difference.enclosing(), difference.enclosing(moving)
    except TheoremEngineError as error:
        return Outcome(text, UNDECIDED, f"on the box: {error}")
    fixed = {name: low for name, (low, high) in sides.items() if high is None}
    widths = [sides[x.name][1] - sides[x.name][0] for x in moving]
    radius = arb(0)

    def numbers(places: list[Any]) -> list[Any]:
        by_name = dict(zip((x.name for x in moving), places, strict=True))
        exact = iter(difference.read({**fixed, **{x.name: sides[x.name][0] for x in moving}}))
        return [by_name.get(x.name, BACKEND.number(value)) for x, value in zip(difference.letters, exact, strict=True)]

    def settled(piece: list[tuple[Fraction, Fraction]]) -> Any:
        balls = [_ball(low).union(_ball(high)) for low, high in piece]
        middles = [_ball((low + high) / 2) for low, high in piece]
        try:
            with accurate_to(COARSE):
                gap, _, *slopes = _evaluated(difference, sloped, numbers(balls))
            if not _holds(gap, identity):
                with accurate_to(MIDDLING):
                    centre = _evaluated(difference, plain, numbers(middles))[0]
                for ball, middle, rate in zip(balls, middles, slopes, strict=True):
                    centre += rate * (ball - middle)
                gap = centre
        except TheoremEngineError:
            return None
        return gap if gap.is_finite() else None

    pieces, stack = 0, [[(sides[x.name][0], sides[x.name][1]) for x in moving]]
    with ctx.workprec(BITS):
        while stack:
            piece = stack.pop()
            pieces += 1
            if pieces > PIECES:
                near = ", ".join(f"{x.name}={float((a + b) / 2):.4g}" for x, (a, b) in zip(moving, piece, strict=True))
                return Outcome(text, UNDECIDED, f"on the box: {PIECES} pieces do not settle it, near {near}")
            gap = settled(piece)
            if gap is not None and _holds(gap, identity):
                radius = radius.max(abs(gap).upper())
                continue
            if gap is not None and _contradicts(gap, identity):
                point = {**fixed, **{x.name: (a + b) / 2 for x, (a, b) in zip(moving, piece, strict=True)}}
                words = {name: to_text(value) for name, value in point.items()}
                reason = "a ball of the difference around this point contradicts it"
                return Outcome(text, REFUTED, reason, {}, (words,), str(gap.str(20)))
            i = max(range(len(piece)), key=lambda k: (piece[k][1] - piece[k][0]) / widths[k])
            low, high = piece[i]
            middle = (low + high) / 2
            stack += [[*piece[:i], half, *piece[i + 1 :]] for half in ((low, middle), (middle, high))]
    box = {
        name: to_text(low) if high is None else f"[{to_text(low)}, {to_text(high)}]"
        for name, (low, high) in sides.items()
    }
    said = (
        f"the sides differ by less than {radius.upper().str(2, radius=False)} on each of {pieces} pieces"
        if identity.sign == "="
        else f"the difference is not negative on each of {pieces} pieces"
    )
    return Outcome(text, ON_BOX, said, box)


def _holds(gap: Any, identity: Identity) -> bool:
    if not gap.is_finite():
        return False
    return bool(abs(gap) < _ball(identity.radius)) if identity.sign == "=" else bool(gap >= 0)


def _ball(value: Fraction) -> Any:
    from flint import arb, fmpq

    return arb(fmpq(value.numerator, value.denominator))
