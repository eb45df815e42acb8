"""Tables of nodes that exported code carries with it, and sums over them."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import sympy
from sympy.core.symbol import Str

from theorem_engine.language.operators.base import Operator, hygienic

#: Ranges of the normal variable that count: beyond, the density is below 1e-42.
REACH = 14
#: Finer tables, tried in turn until the exported code agrees with the engine.
LEVELS = 3


@dataclass(frozen=True)
class Table:
    """Nodes and weights under a name."""

    name: str
    meaning: str
    nodes: tuple[float, ...]
    weights: tuple[float, ...]


@cache
def table(kind: str, level: int) -> Table:
    """The table of a kind at a level of fineness."""
    if kind == "normal":
        step = 2.0 ** -(3 + level)
        x = np.arange(-REACH / step, REACH / step + 1) * step
        # the sum of the weights is one to rounding: the rule is exact for constants
        weights = step * np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)
        meaning = f"trapezoid rule for means over a standard normal variable, step 1/{2 ** (3 + level)}"
    elif kind == "decaying":
        count = 384 * 2**level
        x, weights = (np.arange(count) + 0.5) / count, np.full(count, 1 / count)
        meaning = f"midpoint rule on [0, 1] for what vanishes towards both ends, {count} nodes"
    elif kind == "interval":
        count = 32 * 2**level
        x, weights = np.polynomial.legendre.leggauss(count)
        x, weights = (x + 1) / 2, weights / 2
        meaning = f"Gauss-Legendre rule on [0, 1], {count} nodes"
    else:
        count = 64 * 4**level
        angle = np.pi * np.arange(1, count + 1) / (count + 1)
        x, weights = np.cos(angle), 2 / (count + 1) * np.sin(angle) ** 2
        meaning = f"Gauss rule for the semicircle law on [-1, 1], {count} nodes"
    return Table(kind.upper(), meaning, tuple(map(float, x)), tuple(map(float, weights)))


class NodeSum(Operator):
    """``NodeSum(body, z, kind)``: the body at every node z of a table, weighted and summed."""

    def __new__(cls, body: Any, node: Any, kind: Any) -> Any:
        """Bind the node; the sum of the weights of every table is one."""
        if node not in body.free_symbols:
            return body
        if not getattr(node, "scope", "").startswith("bound:"):
            (node,), (body,) = hygienic((node,), body)
        return sympy.Expr.__new__(cls, body, node, kind if isinstance(kind, Str) else Str(kind))

    @property
    def body(self) -> Any:
        """What is summed."""
        return self.args[0]

    @property
    def node(self) -> Any:
        """The letter of the node."""
        return self.args[1]

    @property
    def kind(self) -> str:
        """Which table."""
        return str(self.args[2].name)

    @property
    def bound(self) -> frozenset[Any]:
        """The node."""
        return frozenset({self.node})

    def bundle_key(self) -> Hashable:
        """Sums over one table are taken in one loop."""
        return (NodeSum, self.node, self.kind)


#: One letter for the nodes of each kind, so that sums over one table share their loop.
NODES = {kind: sympy.Symbol(f"z_{kind}", real=True) for kind in ("normal", "decaying", "interval", "semicircle")}
