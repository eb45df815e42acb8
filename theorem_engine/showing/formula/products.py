"""Numbers and products: what stands beside what, with a dot, a space or a bracket."""

from __future__ import annotations

from typing import Any

import sympy

from theorem_engine.language.operators.optimum import Minimum
from theorem_engine.language.operators.spectral_mean import SpectralMean
from theorem_engine.showing.formula.tree import (
    DOT,
    JOINT,
    NEGATIVE,
    PRODUCT,
    SUM,
    TIMES,
    Tree,
    held,
    number,
    row,
    script,
    sign,
)

#: Denominators up to this are written below a line.
_LARGE = 10**4


def whole(e: Any) -> Tree:
    """A whole number; a large power of ten as one."""
    text = str(e)
    digits = text.rstrip("0")
    zeros = len(text) - len(digits)
    if e.is_Integer and zeros >= 4:
        power = script(number("10"), above=number(str(zeros)))
        return power if digits == "1" else row(number(digits), sign(r"\cdot ", "·", TIMES), power, level=PRODUCT)
    return number(text)


def is_decimal(e: Any) -> bool:
    """Whether a fraction is read more easily as a decimal: 2.000000000002, or a power of ten."""
    q = int(e.q)
    for prime in (2, 5):
        while q % prime == 0:
            q //= prime
    return q == 1 and e.q > _LARGE


def decimal(e: Any) -> Tree:
    """A positive fraction of tens as a decimal; a small one as a few digits times a power of ten."""
    places = 0
    while (e * 10**places).q != 1:
        places += 1
    digits = str((e * 10**places).p)
    if len(digits) <= places:
        power = script(number("10"), above=row(NEGATIVE, number(str(places)), level=SUM))
        return power if digits == "1" else row(number(digits), sign(r"\cdot ", "·", TIMES), power, level=PRODUCT)
    return number(f"{digits[:-places]}.{digits[-places:]}")


def times(factors: list[Tree]) -> Tree:
    """Factors beside each other; a dot where a bracket would make a letter look like a function."""
    if len(factors) == 1:
        return factors[0]
    parts: list[Tree] = []
    for factor in factors:
        shown = held(factor, PRODUCT)
        if parts:
            opens = shown.kind == "fence" and shown.data[0] == "("
            parts.append(DOT if opens and not _is_number(parts[-1]) else _joint(parts[-1], shown))
        parts.append(shown)
    return Tree("row", tuple(parts), level=PRODUCT)


def _joint(left: Tree, right: Tree) -> Tree:
    both = _is_number(left) and (_is_number(right) or right.kind in ("over",))
    return sign(r"\cdot ", "·", TIMES) if both or right.kind == "over" else JOINT


def _is_number(tree: Tree) -> bool:
    while tree.kind == "script":
        tree = tree.parts[0]
    return tree.kind == "sign" and tree.data[2] == "number"


def is_big(e: Any) -> bool:
    """Whether a factor is written with a range in front and no bracket around."""
    return isinstance(e, (sympy.Integral, SpectralMean, Minimum))


def is_bare_sum(e: Any) -> bool:
    """Whether nothing but a sum is left."""
    return bool(e.is_Add)


def is_tall(tree: Tree) -> bool:
    """Whether a tree has rows below each other."""
    return tree.kind in ("cases", "matrix") or any(map(is_tall, tree.parts))
