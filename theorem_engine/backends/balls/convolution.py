"""Sums over a lattice as products of polynomials with whole coefficients.

Tables of weights and of a kernel are rounded to multiples of 2^-bits and multiplied exactly; what the rounding took is
bounded for all sums at once. Balls of all sizes in one polynomial are multiplied block by block, several times slower:
that is left for tables which are not known to so many bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flint import arb, arb_poly, fmpz_poly


@dataclass(frozen=True)
class Table:
    """Balls of size at most ``largest``, also as whole multiples of 2^-bits if they are known that well."""

    values: Sequence[Any]
    bits: int
    largest: Any
    numbers: Any

    @property
    def error(self) -> Any:
        """How far a number may be from its multiple: the radius of its ball, and what rounding down takes."""
        return 3 * arb(2) ** -self.bits


def make_table(values: Sequence[Any], bits: int, largest: Any) -> Table:
    """A table of balls whose size is at most a number given."""
    scale, limit = arb(2) ** bits, arb(2) ** -bits
    if not all(v.rad() <= limit for v in values):
        return Table(values, bits, largest, None)
    whole = [(v * scale).mid().floor().unique_fmpz() for v in values]
    return Table(values, bits, largest, fmpz_poly(whole))


def convolve(kernel: Table, weights: Table, total: Any) -> tuple[list[Any], Any]:
    """Coefficients of the product of two tables, and the error of each; ``total`` bounds the sum of the weights' sizes.

    sum (k w - k' w') = sum k' (w - w') + sum (k - k') w, and no more terms overlap than the shorter table has.
    """
    if kernel.numbers is None or weights.numbers is None:
        return (arb_poly(kernel.values) * arb_poly(weights.values)).coeffs(), arb(0)
    unit = arb(2) ** -(kernel.bits + weights.bits)
    terms = min(len(kernel.values), len(weights.values))
    error = terms * (kernel.largest + kernel.error) * weights.error + kernel.error * total
    # coefficients at the end that are zero are not listed
    product = [c * unit for c in (kernel.numbers * weights.numbers).coeffs()]
    return product, error.upper()
