"""Conditions at rational values: what Python's fractions say is what SymPy says."""

import math
import random
from fractions import Fraction

import pytest
import sympy
from sympy import Eq, Ge, Gt, Le, Lt, Ne, Rational

from theorem_engine.asking.point import meets
from theorem_engine.asking.rational_relations import decide
from theorem_engine.language.functions import mills, normal_cdf, normal_pdf, softplus

x, y = sympy.symbols("x y")
SIDES = [
    (x**2, y),
    (y - x**2, sympy.Integer(0)),
    (x / (1 + y), Rational(1, 3)),
    ((x + y) ** 3 * x**-2, 2 * x - Rational(1, 7)),
    (abs(x - y) + y, sympy.Max(x, 1)),
]


@pytest.mark.parametrize("kind", [Eq, Ne, Lt, Le, Gt, Ge])
@pytest.mark.parametrize("sides", SIDES)
def test_fractions_decide_as_sympy_does(kind, sides):
    draw = random.Random(0)
    for _ in range(20):
        a, b = (Fraction(draw.randint(-9, 9), draw.randint(1, 4)) for _ in range(2))
        if draw.random() < 0.3:
            b = a**2
        relation = kind(*sides)
        expected = relation.subs({x: Rational(a), y: Rational(b)}, simultaneous=True)
        found = decide(relation, {x: a, y: b})
        if found is None:
            assert expected.has(sympy.zoo, sympy.nan) or any(
                side.subs({x: Rational(a), y: Rational(b)}, simultaneous=True).has(sympy.zoo, sympy.nan)
                for side in sides
            )
        else:
            assert found == bool(expected)


def test_a_float_is_the_decimal_it_prints_as():
    assert decide(Eq(x**2, y), {x: 0.1, y: Fraction(1, 100)}) is True


def test_roots_infinities_and_other_functions_are_left_to_sympy():
    assert decide(Eq(sympy.sqrt(x), y), {x: 4, y: 2}) is None
    assert decide(Eq(x, y), {x: float("inf"), y: 2}) is None
    assert decide(Eq(x**1000, y), {x: 2, y: 2}) is None
    assert decide(sympy.And(x > 0, y > 0), {x: 1, y: 1}) is None
    assert decide(1 / x > y, {x: 0, y: 1}) is None


def test_functions_of_the_normal_law_are_compared_by_their_numbers():
    """Phi(1) - phi(1) = .59937...; SymPy alone refuses a maximum of functions it has no numbers for."""
    least = sympy.Max(0, normal_cdf(x) - normal_pdf(x))
    bound = Fraction(math.erfc(-1 / math.sqrt(2)) / 2 - math.exp(-1 / 2) / math.sqrt(2 * math.pi))
    for distance in (Fraction(1, 10**9), -Fraction(1, 10**9)):
        assert meets(Gt(least, y), {x: 1, y: bound - distance}) == (distance > 0)
    # Phi(-3) = .00135 is below phi(-3) = .00443
    assert meets(Eq(least, 0), {x: -3}) is True
    assert meets(Eq(least, 0), {x: 1}) is False
    assert meets(Lt(mills(x), softplus(x)), {x: 1}) is True
