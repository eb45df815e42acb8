"""Proofs on request: balls at growing precision until every output has the digits asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from theorem_engine.asking.evaluation import compiled, plan_of
from theorem_engine.asking.point import Point
from theorem_engine.asking.ranges import within_ranges
from theorem_engine.base.errors import NotAvailable, NotConverged
from theorem_engine.language.entry import Entry
from theorem_engine.language.statement import assemble, shape_errors

#: Digits of a certificate where none are asked for.
USUAL_DIGITS = 15
#: Bits of a digit, rounded up; bits carried beyond them; how often more are tried.
BITS, SPARE, ROUNDS = 3.33, 40, 4
#: Bits more of the letters themselves.
EXACT = 256


@dataclass(frozen=True)
class Certificate:
    """What was proved about the outputs of a prediction.

    ``status`` is "enclosed" (the number is defined without a search, and lies in its ball), "unique" (it hangs on the
    only solution of equations in the box named), "global-in-box" (on the lowest minimum there), "none-in-box" (there is
    no root there) or "local" (on a local minimum or a root, others not excluded): the weakest that any part has.
    """

    status: str
    #: Status and words of each statement that was proved.
    claims: tuple[tuple[str, str], ...]
    box: Mapping[str, str]
    bits: int

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        claims = [{"status": status, "claim": text} for status, text in self.claims]
        return {"status": self.status, "claims": claims, "box": dict(self.box), "bits": self.bits}


def certify(entry: Entry, point: Point, digits: int) -> tuple[dict[str, Any], Any, str, Certificate]:
    """Outputs as decimals with proven radii, and what the proof says.

    An evaluation too coarse for the digits asked, or that could not tell what it had to, is repeated with more bits;
    what is still missing then is an error that names it, never a plain number.
    """
    try:
        from flint import ctx

        from theorem_engine.backends.balls import BACKEND
        from theorem_engine.backends.balls.claims import STATUSES, Unproved, collecting
    except ImportError:
        raise NotAvailable(f"{entry.id}: certificates need the package python-flint") from None
    import numpy as np

    statement, _ = plan_of(entry, point.options)
    targets = statement.targets()
    bits, problem = int(BITS * digits) + SPARE, ""
    for turn in range(ROUNDS):
        # letters are exact, and operators that work with more bits than asked for use them as such
        with ctx.workprec(2 * bits + EXACT):
            letters = [BACKEND.number(v) for v in point.values]
        with ctx.workprec(bits), collecting() as claims, np.errstate(all="ignore"):
            try:
                run = compiled(entry, point.options, "balls")
                results = run(*letters)
                problem = next((p for p in (_missing(s, v, digits, turn) for s, v in zip(targets, results, strict=True))
                                if p), "")  # fmt: skip
            except Unproved as error:
                problem = str(error)
            if not problem:
                found = {s: _decimal(v, digits) for s, v in zip(targets, results, strict=True)}
        if not problem:
            break
        bits += bits + SPARE
    else:
        raise NotConverged(f"{entry.id}: no certificate to {digits} digits; unknown: {problem}")
    errors = {s: radius for s, (_, radius) in found.items()}
    values = within_ranges(entry, statement, {s: v for s, (v, _) in found.items()}, lambda: errors)
    outputs = {name: assemble(shape, values) for name, shape in statement.outputs.items()}
    shaped = {name: shape_errors(shape, values, errors) for name, shape in statement.outputs.items()}
    made = {c.status for c in claims}
    status = next((s for s in STATUSES if s in made), "enclosed")
    texts = tuple((c.status, c.text) for c in claims) or (("enclosed", "every operation was carried out in balls"),)
    box: dict[str, str] = {}
    for c in claims:
        for name, side in c.box.items():
            # one letter may have several boxes, each of a claim of its own
            box[name if box.get(name, side) == side else f"{name} ({len(box) + 1})"] = side
    return outputs, shaped, f"balls, {bits} bits carried", Certificate(status, texts, box, bits)


def _missing(symbol: Any, value: Any, digits: int, turn: int) -> str:
    """What a result lacks to be returned; nothing if it is sharp enough."""
    from flint import acb, arb

    if value is None:
        return f"whether {symbol.name} holds is not told"
    if isinstance(value, (list, tuple)):
        return next((p for p in (_missing(symbol, v, digits, turn) for v in value) if p), "")
    if isinstance(value, acb):
        if not value.is_finite():
            return f"{symbol.name} has no finite enclosure"
        if value.imag.is_zero():
            return _missing(symbol, value.real, digits, turn)
        radius = value.real.rad() + value.imag.rad()
        is_sharp = radius <= arb(10) ** -digits * value.abs_lower()
        return "" if is_sharp else f"{symbol.name} is known with the radius {radius.str(2, radius=False)} only"
    if not isinstance(value, arb) or value.is_exact():
        return f"{symbol.name} has no finite enclosure" if isinstance(value, arb) and value.is_nan() else ""
    if not value.is_finite():
        return f"{symbol.name} has no finite enclosure"
    if value.rel_accuracy_bits() >= BITS * digits:
        return ""
    # a zero has no relative accuracy; more bits tell it from a small number
    small = arb(10) ** (-digits if turn == ROUNDS - 1 else -2 * digits - 10)
    if value.contains(0) and value.rad() < small:
        return ""
    return f"{symbol.name} is known with the radius {value.rad().str(2, radius=False)} only"


def _decimal(value: Any, digits: int) -> tuple[Any, Any]:
    """The midpoint as a decimal of so many digits, and a radius around that which holds the ball."""
    from flint import acb, arb, fmpq
    from mpmath import mp

    if isinstance(value, (list, tuple)):
        parts = [_decimal(v, digits) for v in value]
        return [v for v, _ in parts], [r for _, r in parts]
    if isinstance(value, fmpq):
        value = arb(value)
    if isinstance(value, acb):
        (real, first), (imaginary, second) = _decimal(value.real, digits), _decimal(value.imag, digits)
        with mp.workdps(digits + 20):
            # parts below the radius of the whole
            (real, first), (imaginary, second) = (
                _told(real, first, first + second),
                _told(imaginary, second, first + second),
            )
            return mp.mpc(real, imaginary), first + second
    if not isinstance(value, arb):
        return value, 0
    if not value.is_finite():
        return (mp.inf if value > 0 else -mp.inf), mp.zero
    if value.is_exact() and value.is_integer() and abs(value) < 10**digits:
        whole: Any = value.unique_fmpz()
        return mp.mpf(int(whole)), mp.zero
    middle, radius, exponent = (int(n) for n in value.mid_rad_10exp(digits + 5))
    cut = max(0, len(str(abs(middle))) - digits)
    rounded = (abs(middle) + 10**cut // 2) // 10**cut * 10**cut * (1 if middle >= 0 else -1)
    radius += abs(middle - rounded)
    # the decimal itself is rounded to bits that are far below its last digit
    with mp.workdps(digits + 40):
        shown = mp.mpf(rounded) * mp.mpf(10) ** exponent
        spread = (radius + abs(shown) * mp.mpf(10) ** (-exponent - digits - 30)) * mp.mpf(10) ** exponent
        # a double made of the radius must not be below it
        spread *= 1 + mp.mpf(10) ** -9
        return _told(shown, spread, spread)


def _told(value: Any, radius: Any, doubt: Any) -> tuple[Any, Any]:
    """A decimal and its radius; one that the doubt about it does not tell from zero has no digit, and is zero."""
    return (value, radius) if abs(value) > doubt or value == 0 else (0 * value, radius + abs(value))
