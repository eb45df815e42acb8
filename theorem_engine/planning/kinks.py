"""Kinks of an objective: absolute values and positive parts, each replaced by a line with a sign.

Let |u_j| stand in the objective of one letter x, with u_j = a_j x + b_j. For given signs s the objective with s_j u_j
in place of |u_j| is smooth; its minimum counts where the signs are those of the u_j. The minimum of the objective is
the lowest of these and of the kinks x_j = -b_j/a_j themselves, as long as each smooth one has a single minimum. That is
what is served; a kink inside a sum over tokens, of two letters or of another function is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy

from theorem_engine.base.errors import DeclarationError
from theorem_engine.language.functions import OpenFunction, positive_part
from theorem_engine.language.operators.channel import TokenLogSum, TokenMax, TokenSort
from theorem_engine.language.operators.stochastic import TokenSum
from theorem_engine.planning.objective import fresh

#: Most kinks of an objective: all patterns of signs are tried.
MOST = 3
_BROKEN = (sympy.Piecewise, sympy.sign, sympy.Heaviside, sympy.floor, sympy.ceiling, sympy.Mod, TokenSort, TokenMax,
           OpenFunction)  # fmt: skip
_KINKED = (sympy.Abs, sympy.Max, sympy.Min, positive_part)


@dataclass(frozen=True)
class Kinked:
    """A smooth objective with letters for signs, what each is the sign of, and where that is zero."""

    objective: Any
    signs: tuple[Any, ...]
    lines: tuple[Any, ...]
    places: tuple[Any, ...]


def without_kinks(objective: Any, letters: tuple[Any, ...]) -> Kinked:
    """Replace every kink by a line with a sign, or refuse."""
    lines: dict[Any, Any] = {}

    def line(u: Any) -> Any:
        return lines.setdefault(u, fresh("sign", len(lines))) * u

    def smooth(node: Any) -> Any:
        if not node.has(*letters) or not node.args:
            return node
        if isinstance(node, _BROKEN):
            raise DeclarationError(f"the objective of a Proximal has the function {type(node).__name__}, which is not "
                                   "smooth; absolute values and positive parts of one letter are served")  # fmt: skip
        inner = [smooth(a) for a in node.args]
        if not isinstance(node, _KINKED):
            return node.func(*inner)
        if isinstance(node, sympy.Abs):
            return line(inner[0])
        if isinstance(node, positive_part):
            return (inner[0] + line(inner[0])) / 2
        sign = 1 if isinstance(node, sympy.Max) else -1
        first, *rest = inner
        for other in rest:
            first = (first + other + sign * line(first - other)) / 2
        return first

    found = smooth(objective)
    if not lines:
        return Kinked(objective, (), (), ())
    if len(letters) > 1 or objective.has(TokenSum, TokenLogSum) or len(lines) > MOST:
        raise DeclarationError(
            f"a Proximal with kinks is over one letter, without sums over tokens, with at most {MOST}"
        )
    (x,) = letters
    places = []
    for u in lines:
        slope = sympy.expand(u).coeff(x)
        if slope == 0 or slope.has(x, *lines.values()) or sympy.expand(u - slope * x).has(x):
            raise DeclarationError(f"a kink of a Proximal is that of a line in {x}, not of {u}")
        places.append(-sympy.expand(u - slope * x) / slope)
    return Kinked(found, tuple(lines.values()), tuple(lines), tuple(places))
