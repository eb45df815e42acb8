"""All roots of a real polynomial whose coefficients are balls, each enclosed alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flint import acb, acb_poly, arb, ctx

from theorem_engine.backends.balls.claims import Unproved


def enclose_roots(coefficients: Sequence[Any]) -> list[Any]:
    """Complex balls with one root each, the highest coefficient first; real roots are exactly real.

    The library isolates the roots; an interval Newton step sharpens each: with P' taken over the whole ball Z, every
    root in Z lies in m - P(m)/P'(Z).
    """
    if coefficients[0].contains(0):
        raise Unproved("spectral mean: the degree of a denominator is not told")
    if len(coefficients) == 2:
        return [acb(-coefficients[1] / coefficients[0])]
    polynomial = acb_poly(list(coefficients[::-1]))
    try:
        found = polynomial.roots(maxprec=2 * ctx.prec + 64)
    except ValueError:
        raise Unproved("spectral mean: the roots of a denominator are not separated") from None
    slope = polynomial.derivative()
    roots = []
    for i, z in enumerate(found):
        mirror = z.conjugate()
        is_real = bool(z.imag.contains(0))
        if is_real and any(mirror.overlaps(other) for k, other in enumerate(found) if k != i):
            raise Unproved("spectral mean: the roots of a denominator are not separated")
        roots.append(_sharpened(polynomial, slope, acb(z.real) if is_real else z))
    return roots


def _sharpened(polynomial: Any, slope: Any, z: Any) -> Any:
    for _ in range(12):
        middle = acb(z.real.mid(), z.imag.mid())
        new = middle - polynomial(middle) / slope(z)
        if not new.is_finite():
            break
        both = acb(z.real.intersection(new.real), z.imag.intersection(new.imag) if not z.imag.is_zero() else arb(0))
        if not 2 * both.real.rad() < z.real.rad() and not 2 * both.imag.rad() < z.imag.rad():
            return both
        z = both
    return z
