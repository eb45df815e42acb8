"""Bundles of spectral means, taken apart into what they share: denominators, bodies, forms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import sympy

from theorem_engine.language.operators.spectral_law import MarchenkoPastur


@dataclass(frozen=True)
class Rational:
    """A body as polynomial plus numerator over powers of the bundle's denominators, and ``whole`` as it was written."""

    whole: Any
    polynomial: tuple[Any, ...]
    numerator: Any
    powers: tuple[int, ...]


@dataclass(frozen=True)
class Bundle:
    """Spectral means over one ratio, taken apart for evaluation.

    ``bodies`` are distinct; ``members[i]`` gives the body and the form of mean i. Denominators keep
    the form their author wrote, in which they are evaluated without cancellation.
    """

    variable: Any
    ratio: Any
    spike: Any
    denominators: tuple[Any, ...]
    bodies: tuple[Rational, ...]
    members: tuple[tuple[int, str], ...]

    def highest_power(self, denominator: int) -> int:
        """Largest order of the poles at one denominator's roots."""
        return max((body.powers[denominator] for body in self.bodies), default=0)

    def regular_part(self, body: int, denominator: int) -> Any:
        """A body times one denominator's power: what is analytic at that denominator's roots."""
        parts = self.bodies[body]
        value = parts.numerator
        for k, (base, power) in enumerate(zip(self.denominators, parts.powers, strict=True)):
            if k != denominator and power:
                value = value / base**power
        return value

    def polynomial_terms(self, member: int) -> tuple[Any, ...]:
        """Terms whose sum is the mean of a member's polynomial, by moments.

        Moments are positive, so that the terms of one polynomial cancel where its values on the spectrum are small:
        with numbers for coefficients they are collected before anything is rounded.
        """
        body, form = self.members[member]
        polynomial = self.bodies[body].polynomial
        if not all(q.is_number for q in polynomial):
            law = MarchenkoPastur(self.ratio, self.spike, form)
            return tuple(q * law.moment(j) for j, q in enumerate(polynomial) if q != 0)
        ratio, spike = sympy.Dummy("ratio", positive=True), sympy.Dummy("spike", nonnegative=True)
        law = MarchenkoPastur(ratio, spike, form)
        collected = sympy.expand(sympy.Add(*(q * law.moment(j) for j, q in enumerate(polynomial))))
        values = {ratio: self.ratio, spike: self.spike}
        return tuple(term.xreplace(values) for term in sympy.Add.make_args(collected) if term != 0)


@cache
def take_apart(means: tuple[Any, ...]) -> Bundle:
    """The common structure of a bundle of spectral means."""
    variable, ratio = means[0].variable, means[0].law.ratio
    spikes = {m.law.spike for m in means} - {sympy.S.Zero}
    if len(spikes) > 1:
        raise TypeError("spectral means of one ratio over laws with different spikes")
    bases: dict[Any, None] = {}
    for mean in means:
        for node in sympy.preorder_traversal(mean.body):
            if isinstance(node, sympy.Pow) and variable in node.base.free_symbols and node.exp.is_negative:
                bases.setdefault(_monic_free(node.base, variable))
    distinct = list(dict.fromkeys(m.body for m in means))
    denominators = tuple(bases)
    bodies = tuple(_rational(body, variable, denominators) for body in distinct)
    members = tuple((distinct.index(m.body), m.law.form) for m in means)
    return Bundle(variable, ratio, next(iter(spikes), sympy.S.Zero), denominators, bodies, members)


def _monic_free(base: Any, variable: Any) -> Any:
    """The part of a denominator that depends on the variable."""
    return base.as_independent(variable, as_Add=False)[1]


def _rational(body: Any, variable: Any, denominators: Sequence[Any]) -> Rational:
    """Write a body over the given denominators, its numerator factored."""
    inverses = [sympy.Dummy(f"inverse{k}") for k in range(len(denominators))]

    def swap(node: Any) -> Any:
        fixed, moving = node.base.as_independent(variable, as_Add=False)
        return fixed**node.exp * inverses[list(denominators).index(moving)] ** (-node.exp)

    flat = body.replace(
        lambda n: isinstance(n, sympy.Pow) and variable in n.base.free_symbols and bool(n.exp.is_negative), swap
    )
    if not inverses:
        terms: dict[tuple[int, ...], Any] = {(): flat}
        powers: tuple[int, ...] = ()
    else:
        terms = sympy.Poly(sympy.expand(flat, deep=False), *inverses).as_dict()
        powers = tuple(max(exponents[k] for exponents in terms) for k in range(len(inverses)))
    numerator = sympy.Add(
        *(
            coefficient * sympy.Mul(*(d ** (m - k) for d, m, k in zip(denominators, powers, exponents, strict=True)))
            for exponents, coefficient in terms.items()
        )
    )
    top = sympy.Poly(sympy.expand(numerator), variable)
    bottom = sympy.Poly(sympy.expand(sympy.Mul(*(d**m for d, m in zip(denominators, powers, strict=True)))), variable)
    quotient: tuple[Any, ...] = ()
    if top.degree() >= bottom.degree():
        whole, top = sympy.div(top.set_domain("EX"), bottom.set_domain("EX"))
        quotient = tuple(sympy.simplify(c) for c in reversed(whole.all_coeffs()))
        top = sympy.Poly(sympy.simplify(top.as_expr()), variable)
    return Rational(body, quotient, sympy.factor(top.as_expr()), powers)
