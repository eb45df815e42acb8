"""Conditions on rational values, decided by Python's fractions, a hundred times faster than substitution in SymPy."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from typing import Any

import sympy

from theorem_engine.base.exact import as_fraction

Value = Callable[[Mapping[Any, Fraction]], Fraction]

_ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
#: Powers above this are left to SymPy, which does not multiply them out.
HIGHEST_POWER = 16


def decide(relation: Any, values: Mapping[Any, Any]) -> bool | None:
    """Whether a relation between rational functions holds at rational values; None where it is something else."""
    compiled = _compiled(relation)
    if compiled is None:
        return None
    letters, order, left, right = compiled
    fractions: dict[Any, Fraction] = {}
    for letter in letters:
        value = values[letter]
        fraction = as_fraction(value) if isinstance(value, (int, float, Fraction)) else None
        if fraction is None:
            return None
        fractions[letter] = fraction
    try:
        return order(left(fractions), right(fractions))
    except ZeroDivisionError:
        return None


@cache
def _compiled(relation: Any) -> tuple[frozenset[Any], Callable[[Any, Any], bool], Value, Value] | None:
    order = _ORDERS.get(getattr(relation, "rel_op", ""))
    if order is None:
        return None
    left, right = _rational(relation.lhs), _rational(relation.rhs)
    if left is None or right is None:
        return None
    return frozenset(relation.free_symbols), order, left, right


def _rational(expression: Any) -> Value | None:
    """The value of an expression of sums, products, whole powers and sizes; None where it has anything else."""
    if expression.is_Symbol:
        return lambda values: values[expression]
    if expression.is_Rational:
        number = Fraction(int(expression.p), int(expression.q))
        return lambda values: number
    join = _JOINS.get(expression.func)
    if join is not None:
        parts = [_rational(part) for part in expression.args]
        known = [part for part in parts if part is not None]
        return None if len(known) < len(parts) else lambda values: join([part(values) for part in known])
    if expression.is_Pow and expression.exp.is_Integer and abs(expression.exp) <= HIGHEST_POWER:
        base, power = _rational(expression.base), int(expression.exp)
        return None if base is None else lambda values: base(values) ** power
    return None


_JOINS: dict[Any, Callable[[list[Fraction]], Fraction]] = {
    sympy.Add: lambda terms: sum(terms, Fraction()),
    sympy.Mul: lambda factors: math.prod(factors, start=Fraction(1)),
    sympy.Abs: lambda only: abs(only[0]),
    sympy.Max: max,
    sympy.Min: min,
}
