"""Requirements, cautions and domains as sentences, their relations as mathematics."""

from __future__ import annotations

from typing import Any

import sympy

from theorem_engine.base.exact import to_text
from theorem_engine.language.operators.base import outermost_operators
from theorem_engine.showing.formula.lines import plain
from theorem_engine.showing.formula.writing import Pen


def readable(text: str) -> str:
    """Domains as people write them.

    >>> readable("(0, oo)")
    '(0, ∞)'
    """
    return text.replace("oo)", "∞)").replace("oo]", "∞]").replace("(-oo", "(−∞").replace("-> oo", "→ ∞")


def rule_text(rule: Any) -> str:
    """A requirement or caution as a sentence, its relation as mathematics."""
    relation = getattr(rule, "relation", None)
    said = getattr(rule, "meaning", None) or getattr(rule, "message", "")
    if not isinstance(relation, sympy.Basic) or not said:
        return str(rule.text())
    only = getattr(rule, "only", None)
    where = "" if not only else "; only with " + ", ".join(f"{a} = {to_text(b)}" for a, b in _pairs(only))
    shown = "" if outermost_operators(relation) else f" ({plain(Pen().write(relation))})"
    return f"{said}{shown}{where}"


def _pairs(only: Any) -> list[tuple[str, Any]]:
    """Options with their values: one pair, or several."""
    return [only] if isinstance(only[0], str) else list(only)
