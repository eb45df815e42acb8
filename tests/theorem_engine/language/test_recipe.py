"""Recipes: starts and search ranges beside a statement give the same numbers as inside it, and are not printed."""

import math

import pytest
import sympy

import theorem_engine as te
from theorem_engine import (
    POSITIVE,
    Descent,
    Holds,
    LocalMinimum,
    Minimum,
    Root,
    Search,
    Start,
    notation,
)
from theorem_engine.base.errors import DeclarationError, Infeasible

var = notation("recipetest")
a = var("a", "a", "a letter", POSITIVE)
q = var("q", "q", "a fixed point")
x = var("x", "x", "a minimiser")


@pytest.fixture
def declare(declared):
    """Entries of one letter, unless others are named."""
    return lambda id, body, **facts: declared(id, body, **{"given": (a,), **facts})


def test_a_group_is_just_equations(declare):
    """The golden ratio solves q = sqrt(1 + q); where the equation is explicit the start is not used."""
    declare("recipetest.group", lambda m: {q: sympy.sqrt(1 + m.a * q), "value": q}, recipe={q: Start(1 + a)})
    assert float(te.predict("recipetest.group", a=1)) == pytest.approx((1 + math.sqrt(5)) / 2, rel=1e-14)
    declare("recipetest.plain", lambda m: {q: 2 * m.a, "value": q}, recipe={q: Start(1 + a)})
    assert float(te.predict("recipetest.plain", a=3)) == 6.0
    page = repr(te.entry("recipetest.group"))
    assert "1 + a\n" not in page
    assert "q = √(1 + a q)" in page


def test_searches_are_beside_the_statement(declare):
    declare("recipetest.least", lambda m: {"value": Minimum((x - m.a) ** 2 + 1, over=x).at(x)},
             recipe={x: Search(0, 10)})  # fmt: skip
    assert float(te.predict("recipetest.least", a=3)) == pytest.approx(3, abs=1e-8)
    declare("recipetest.root", lambda m: {"value": Root(x**3 - m.a, x)}, recipe=lambda m: {x: Search(m.a / 9, 10)})
    assert float(te.predict("recipetest.root", a=8)) == pytest.approx(2, rel=1e-14)
    assert "value = argmin_x {1 + (x − a)²}" in repr(te.entry("recipetest.least"))
    assert "x³ − a" in repr(te.entry("recipetest.root"))


def test_a_search_without_a_place_is_refused(declare):
    entry = declare("recipetest.lost", lambda m: {"value": Minimum((x - m.a) ** 2, over=x)}, recipe={q: Start(1)})
    with pytest.raises(DeclarationError, match="does not say where to look for x"):
        entry.statement({})


def test_a_local_minimum_is_followed_from_where_the_recipe_knows_it(declare):
    """Of the two minima of (x^2 - a)^2 the one on the side of the start, which is not the global search's choice."""
    declare("recipetest.local", lambda m: {"value": LocalMinimum((x**2 - m.a) ** 2, over=(x,)).at(x)},
             recipe={x: Descent(-1, known={a: 1})})  # fmt: skip
    assert float(te.predict("recipetest.local", a=4)) == pytest.approx(-2, abs=1e-8)
    assert "value = arglocmin_x {(x² − a)²}" in repr(te.entry("recipetest.local"))


def test_requirements_that_search_use_the_recipe_too(declare):
    """The least of x^2 - a x is -a^2/4; the relation is written when a query comes, from its options."""
    declare("recipetest.required", lambda m: {"value": m.a},
             requires=(Holds(lambda options: Minimum(x**2 - a * x, over=x) >= -1, "the valley is shallow"),),
             recipe={x: Search(-10, 10)})  # fmt: skip
    assert float(te.predict("recipetest.required", a=1)) == 1.0
    with pytest.raises(Infeasible, match="the valley is shallow"):
        te.predict("recipetest.required", a=3)
