"""Token means taken apart: which brackets they need and how their products add up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import sympy


@dataclass(frozen=True)
class Product:
    """One integral: brackets of the hidden token (if there is one) and of further distinct tokens."""

    hidden: int | None
    each: tuple[int, ...]
    #: Total power of each weight; the integral is divided by the Gamma function of it.
    powers: tuple[int, ...]
    #: How much of that power is the weight that no token has.
    nobody: int = 0


@dataclass
class Layout:
    """Everything a bundle of token means needs, without repetition."""

    #: Brackets of an ordinary and of the hidden token: (powers of the weights, factor in the normal letters).
    brackets: tuple[list[tuple[tuple[int, ...], Any]], list[tuple[tuple[int, ...], Any]]] = field(
        default_factory=lambda: ([], [])
    )
    products: list[Product] = field(default_factory=list)
    coefficients: list[Any] = field(default_factory=list)
    #: For each mean its terms: (position of the coefficient, position of the product).
    sums: list[list[tuple[int, int]]] = field(default_factory=list)


def make_layout(means: Sequence[Any]) -> Layout:
    """Expand the factors of every mean in the weights and collect what is asked for.

    Coefficients free of the normal letters are taken out, so that derivatives in several letters
    share their brackets.
    """
    layout = Layout()
    for mean in means:
        terms: dict[Product, Any] = {}
        roles = [is_hidden for is_hidden, _ in mean.factors]
        for combination in product(*(_terms(factor, mean) for _, factor in mean.factors)):
            coefficient = sympy.Mul(*(c for c, _, _ in combination))
            places = [
                _place(layout.brackets[int(role)], (powers, inner))
                for role, (_, powers, inner) in zip(roles, combination, strict=True)
            ]
            totals = tuple(
                mean.nobody + sum(powers[k] for _, powers, _ in combination) for k in range(len(mean.letters))
            )
            if 0 in totals:
                raise TypeError("every term of a token mean must contain each of its weights")
            hidden = places[0] if mean.has_hidden else None
            each = tuple(sorted(places[1:] if mean.has_hidden else places))
            key = Product(hidden, each, totals, mean.nobody)
            terms[key] = terms.get(key, sympy.S.Zero) + coefficient
        layout.sums.append(
            [(_place(layout.coefficients, c), _place(layout.products, key)) for key, c in terms.items() if c != 0]
        )
    return layout


def _terms(factor: Any, mean: Any) -> list[tuple[Any, tuple[int, ...], Any]]:
    """A factor as (coefficient, powers of the weights, function of the normal letters)."""
    found = []
    for term in sympy.Add.make_args(_expand(factor)):
        powers = term.as_powers_dict()
        exponents = tuple(powers.get(letter, sympy.S.Zero) for letter in mean.letters)
        rest = term / sympy.Mul(*(letter**k for letter, k in zip(mean.letters, exponents, strict=True)))
        if any(not k.is_Integer or k < 0 for k in exponents) or rest.has(*mean.letters):
            raise TypeError(f"a factor of a token mean is not a polynomial in the weights: {factor}")
        outer, inner = rest.as_independent(*mean.normals, as_Add=False)
        found.append((outer, tuple(int(k) for k in exponents), inner))
    return found


def _expand(expression: Any) -> Any:
    """Products and powers of sums only: an exponential of a sum must stay one, or its parts overflow."""
    return sympy.expand(expression, power_exp=False, power_base=False, log=False, trig=False, complex=False, func=False)


def _place(items: list[Any], item: Any) -> int:
    if item not in items:
        items.append(item)
    return items.index(item)
