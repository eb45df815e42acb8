"""A body with the entries it applies written out, for rules that read expressions."""

from __future__ import annotations

from typing import Any

import sympy

from theorem_engine.language.statement import strip
from theorem_engine.planning.unfold import unfold


def unfolded(body: Any) -> Any:
    """One expression of the letters that are free in the body; the body itself where it applies no entry."""
    target = sympy.Dummy("body")
    equations = {s: strip(e) for s, e in unfold({target: body}, "").equations.items()}
    found = equations.pop(target)
    while found.free_symbols & set(equations):
        found = found.xreplace(equations)
    return found
