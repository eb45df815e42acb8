"""Means and integrals as sums over tables of nodes, which exported code carries with it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import sympy
from sympy.core.symbol import Str

from theorem_engine.base.errors import NotAvailable
from theorem_engine.language.functions import OwenT, normal_pdf
from theorem_engine.language.operators.base import Operator, hygienic
from theorem_engine.language.operators.gaussian_mean import Blurred, GaussianMean
from theorem_engine.language.operators.spectral_mean import SpectralMean

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
_NODES = {kind: sympy.Symbol(f"z_{kind}", real=True) for kind in ("normal", "interval", "semicircle")}


def as_sums(operator: Any) -> Any:
    """An operator as an expression in sums over tables; NotAvailable, by its name, where it is none."""
    if isinstance(operator, sympy.Integral):
        return _integral(operator)
    if isinstance(operator, (GaussianMean, Blurred)):
        return _gaussian(operator)
    if isinstance(operator, SpectralMean):
        return _spectral(operator)
    raise NotAvailable(f"{type(operator).__name__} has no form in stand-alone code")


def _integral(operator: Any) -> Any:
    if len(operator.limits) != 1 or len(operator.limits[0]) != 3:
        raise NotAvailable("Integral over several variables or without ends has no form in stand-alone code")
    x, low, high = operator.limits[0]
    if low.is_infinite or high.is_infinite:
        raise NotAvailable("Integral with an infinite end has no form in stand-alone code")
    z = _NODES["interval"]
    return (high - low) * NodeSum(operator.function.xreplace({x: low + (high - low) * z}), z, "interval")


def _gaussian(operator: Any) -> Any:
    first, *rest = operator.variables
    if rest:
        inner = GaussianMean(operator.body, first)
        return _gaussian(GaussianMean(inner, *rest))
    if not operator.breaks:
        return NodeSum(operator.body.xreplace({first: _NODES["normal"]}), _NODES["normal"], "normal")
    # between kinks the body is smooth, and Gauss's rule is at home; the nearer pieces carry the weight
    marks = [sympy.Max(-REACH, sympy.Min(REACH, mark)) for mark in operator.breaks]
    ends = [sympy.Integer(-REACH), *sorted(marks, key=sympy.default_sort_key), sympy.Integer(REACH)]
    if len(marks) > 1:
        raise NotAvailable("GaussianMean with several breaks has no form in stand-alone code")
    weighted = operator.body * normal_pdf(first)
    pieces = [end for low, high in zip(ends[:-1], ends[1:], strict=True) for end in _pieces(low, high)]
    return sympy.Add(*(_integral(sympy.Integral(weighted, (first, low, high))) for low, high in pieces))


def _pieces(low: Any, high: Any, count: int = 4) -> list[tuple[Any, Any]]:
    return [(low + (high - low) * k / count, low + (high - low) * (k + 1) / count) for k in range(count)]


def _spectral(operator: Any) -> Any:
    if operator.law.form != "across":
        plain = operator.over_plain_bulk()
        if operator.law.spike == 0 or operator.law.form == "bulk":
            return plain
        # the spiked forms divide by the spike
        law = operator.law.spiked(0, operator.law.form)
        without = SpectralMean(operator.body, operator.variable, law)
        without = without.over_plain_bulk() if isinstance(without, SpectralMean) else without
        return sympy.Piecewise((without, sympy.Eq(operator.law.spike, 0)), (plain, True))
    ratio, z = operator.law.ratio, _NODES["semicircle"]
    place = 1 + ratio + 2 * sympy.sqrt(ratio) * z
    return ratio * NodeSum(operator.body.xreplace({operator.variable: place}), z, "semicircle")


def without_special(expression: Any) -> Any:
    """The expression with functions that no mathematical library of C has written out."""
    return expression.replace(OwenT, lambda h, a: OwenT(h, a).definition())
