"""Numbers and products: what stands beside what, with a dot, a space or a bracket."""

from __future__ import annotations

from typing import Any

import sympy

from theorem_engine.language.operators.optimum import Minimum
from theorem_engine.language.operators.spectral_mean import SpectralMean
from theorem_engine.showing.formula.tree import (
    DOT,
    JOINT,
    PRODUCT,
    TIMES,
    Tree,
    held,
    number,
    row,
    script,
    sign,
)


def whole(e: Any) -> Tree:
    """A whole number; a large power of ten as one."""
    text = str(e)
    digits = text.rstrip("0")
    zeros = len(text) - len(digits)
    if e.is_Integer and zeros >= 4:
        power = script(number("10"), above=number(str(zeros)))
        return power if digits == "1" else row(number(digits), sign(r"\cdot ", "·", TIMES), power, level=PRODUCT)
    return number(text)


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
