"""Regimes: whether a statement is exact at finite size or a limit, and how far finite sizes are from it.

What a check reads is data: the letters that grow, and the powers of the size that the correction may have. The words
are for readers; they take no part in comparing two regimes, and rewording them changes no verdict.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import sympy

from theorem_engine.base.errors import DeclarationError

#: A power of the size, or the powers of two terms of which the second is not small.
Power = Fraction | tuple[Fraction, Fraction]
#: Powers that are tried where nothing is known of the correction.
UNKNOWN_ORDERS: tuple[Power, ...] = (Fraction(1, 2), Fraction(1))


@dataclass(frozen=True)
class Exact:
    """A statement about any size."""

    def __str__(self) -> str:
        return "exact at finite size"


EXACT = Exact()


@dataclass(frozen=True)
class Limit:
    """A statement about what becomes of the model when something grows without bound.

    ``grows`` names what grows: letters of the entry, which a check scales together, or names of sizes that it does
    not have. ``fixed`` is what stays as it is meanwhile, "p/n" say. ``orders`` are the powers of one over the size
    that the finite-size correction may have, as exact numbers, or pairs of them for a correction of two terms;
    without them a check tries ``UNKNOWN_ORDERS``. ``words`` and ``correction`` are shown in place of the sentences
    that these data make.

    >>> print(Limit(grows=("n", "p"), fixed=("p/n",), orders=(1,)))
    limit n, p -> oo at fixed p/n; correction of order size^-1
    >>> print(Limit(grows=("L",), words="L -> oo, then nu -> oo"))
    limit L -> oo, then nu -> oo
    """

    grows: tuple[Any, ...]
    fixed: tuple[Any, ...] = ()
    orders: tuple[Any, ...] = ()
    words: str = field(default="", compare=False)
    correction: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        """Bring letters to their names and orders to fractions; what is not exact is refused."""
        for name in ("grows", "fixed", "orders"):
            if not isinstance(getattr(self, name), tuple):
                raise DeclarationError(f"a limit's {name} is a tuple, not {getattr(self, name)!r}")
        if not self.grows:
            raise DeclarationError("a limit needs something that grows; a statement about any size is EXACT")
        object.__setattr__(self, "grows", tuple(map(str, self.grows)))
        object.__setattr__(self, "fixed", tuple(map(str, self.fixed)))
        object.__setattr__(self, "orders", tuple(map(_power, self.orders)))

    def __str__(self) -> str:
        held = f" at fixed {', '.join(self.fixed)}" if self.fixed else ""
        known = f"of order {' or '.join(map(_text, self.orders))}" if self.orders else ""
        correction = self.correction or known
        return f"limit {self.words or ', '.join(self.grows) + ' -> oo' + held}" + (
            f"; correction {correction}" if correction else ""
        )


def _power(order: Any) -> Power:
    if isinstance(order, tuple):
        if len(order) != 2:
            raise DeclarationError(f"a correction has one term or two, not {order!r}")
        return _number(order[0]), _number(order[1])
    return _number(order)


def _number(order: Any) -> Fraction:
    is_exact = isinstance(order, (int, Fraction, sympy.Rational)) and not isinstance(order, bool)
    if not is_exact or order <= 0:
        raise DeclarationError(f"the order {order!r} of a correction is no exact positive number, as Rational(1, 2) is")
    return Fraction(int(order.numerator), int(order.denominator))


def _text(order: Power) -> str:
    parts = order if isinstance(order, tuple) else (order,)
    return " and ".join(f"size^-{part}" if part.denominator == 1 else f"size^-({part})" for part in parts)
