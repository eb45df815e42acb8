"""Statements in many cases, circles that are solved, arguments that several outputs share: each said once."""

import re

import pytest
import sympy

from theorem_engine import POSITIVE, REAL, Choice, Source, Start, notation
from theorem_engine.language import catalogue
from theorem_engine.language.declaration import result
from theorem_engine.registry.marion2025 import risk as _somewhere
from theorem_engine.showing.page import entry_text

var = notation("casetest")
a = var("a", "a", "a letter", POSITIVE)
b = var("b", "b", "another letter", REAL)
way = var("way", r"\mathrm{way}", "which way", Choice(("first", "second", "third")))
x, y, q = (var(name, name, f"unknown {name}") for name in "xyq")
d = var("d", "1 - q", "what is left of q")


@pytest.fixture
def statement():
    """The statement on the page of an entry, which is taken out again afterwards."""
    made = []

    def make(id, body, **facts):
        body.__module__ = _somewhere.__name__
        body.__doc__ = "A test."
        facts = {"given": (a, b), "outputs": {"value": "v"}, **facts}
        made.append(result(id, title=id, source=Source("2410.01537"), **facts)(body))
        page = entry_text(made[-1])
        return page[page.index("Statement") : page.index("\nGiven")]

    yield make
    for entry in made:
        catalogue.forget(entry)


def test_letters_of_a_linear_circle_are_said_to_be_solved_for(statement):
    page = statement("casetest.circle", lambda a, b: {x: 1 + a * y / 9, y: b * x / 9, "value": x + y})
    assert re.search(r"where \(x, y\) solve\n\s+x = 1 \+ a y/9\n\s+y = b x/9", page)


def test_an_equation_that_says_nothing_is_left_out(statement):
    page = statement(
        "casetest.rest",
        lambda a, b: {d: a / (1 + a + d), q: 1 - d, "value": q * b},
        recipe={d: Start(sympy.Integer(1))},
    )
    assert "1 − q = " in page
    assert "q = 1 − (1 − q)" not in page


def cases(m):
    """Three ways, and on each of them a large and a negative letter."""
    shape = {"first": m.a, "second": m.a**2 + 1, "third": m.a**3 + 2}[m.way]
    if m.when(m.b < 0):
        shape = shape + m.b if not m.when(m.a > 5) else sympy.Integer(0)
    return {x: shape, y: shape + 1, q: shape * 2 + m.b, "value": x + y * q}


def test_of_each_choice_the_ordinary_case_comes_first_and_the_last_that_holds_counts(statement):
    page = statement("casetest.many", cases, given=(way, a, b))
    lines = [line for line in page.splitlines() if line.startswith("  Where ")]
    assert lines[-1] == "  Where several of these cases hold, the last of them counts."
    places = [page.index(words) for words in ("Where way = second:", "Where way = second, b < 0",
                                              "Where way = second, b < 0, a > 5")]  # fmt: skip
    assert places == sorted(places)
    assert "otherwise" not in page


def test_a_case_is_told_by_the_one_it_is_most_like(statement):
    """Nothing that is said of one case is repeated for another where a word does."""
    page = statement("casetest.alike", cases, given=(way, a, b))
    zero = [line for line in page.splitlines() if line.strip() == "x = 0"]
    assert len(zero) == 1
    assert re.search(r"Where way = third, b < 0, a > 5, as where way = \w+, b <\s+0, a > 5", page)


def test_an_output_that_is_a_letter_in_one_case_is_that_letter_in_all(statement):
    """Else one of two lines would say without a condition what holds in some cases only."""
    two = var("two", r"\mathrm{two}", "which of two", Choice(("first", "second")))

    def body(m):
        scale = 1 if m.two == "first" else 2
        if m.when(sympy.Eq(m.b, 0)):
            return {"q": sympy.Integer(0), "value": scale * m.a}
        return {q: m.a**2 + m.b, "q": q, "value": scale * q**2}

    page = statement("casetest.lettered", body, given=(two, a, b), outputs={"value": "v", "q": "the unknown"})
    lines = [line.strip() for line in page.splitlines() if line.strip().startswith("q = ")]
    assert len(lines) == 1
    # what holds whatever the option is said once
    assert re.search(r"q = ⎧ 0\s+if b = 0\n", page), page
