"""Means and integrals as sums over tables of nodes."""

from __future__ import annotations

from typing import Any

import sympy

from theorem_engine.base.errors import NotAvailable
from theorem_engine.language.functions import OwenT, normal_pdf
from theorem_engine.language.operators.gaussian_mean import Blurred, GaussianMean
from theorem_engine.language.operators.spectral_mean import SpectralMean
from theorem_engine.language.operators.token_mean import TokenMean
from theorem_engine.showing.export.tables import NODES, REACH, NodeSum
from theorem_engine.showing.export.token_sums import token_sum


def as_sums(operator: Any) -> Any:
    """An operator as an expression in sums over tables; NotAvailable, by its name, where it is none."""
    if isinstance(operator, sympy.Integral):
        return _integral(operator)
    if isinstance(operator, (GaussianMean, Blurred)):
        return _gaussian(operator)
    if isinstance(operator, SpectralMean):
        return _spectral(operator)
    if isinstance(operator, TokenMean):
        return token_sum(operator)
    raise NotAvailable(f"{type(operator).__name__} has no form in stand-alone code")


def _integral(operator: Any) -> Any:
    if len(operator.limits) != 1 or len(operator.limits[0]) != 3:
        raise NotAvailable("Integral over several variables or without ends has no form in stand-alone code")
    x, low, high = operator.limits[0]
    if low.is_infinite or high.is_infinite:
        raise NotAvailable("Integral with an infinite end has no form in stand-alone code")
    z = NODES["interval"]
    return (high - low) * NodeSum(operator.function.xreplace({x: low + (high - low) * z}), z, "interval")


def _gaussian(operator: Any) -> Any:
    first, *rest = operator.variables
    if rest:
        inner = GaussianMean(operator.body, first)
        return _gaussian(GaussianMean(inner, *rest))
    if not operator.breaks:
        return NodeSum(operator.body.xreplace({first: NODES["normal"]}), NODES["normal"], "normal")
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
    ratio, z = operator.law.ratio, NODES["semicircle"]
    place = 1 + ratio + 2 * sympy.sqrt(ratio) * z
    return ratio * NodeSum(operator.body.xreplace({operator.variable: place}), z, "semicircle")


def without_special(expression: Any) -> Any:
    """The expression with functions that no mathematical library of C has written out."""
    return expression.replace(OwenT, lambda h, a: OwenT(h, a).definition())
