"""Warnings that quote a better value than the statement has."""

import warnings

import pytest
import sympy

import theorem_engine as te
from theorem_engine import POSITIVE, Exceeds, Source, notation, result
from theorem_engine.language import catalogue

var = notation("refined")
x = var("x", "x", "a number", POSITIVE)
size = var("size", "n", "a size", POSITIVE)


def limit(x, size):
    """What is left when the size is infinite."""
    return {"value": x}


@pytest.fixture(autouse=True)
def declared():
    """An entry that knows better, taken out again afterwards."""
    caution = Exceeds(
        lambda options: x / size, lambda options: sympy.Rational(1, 10), "off by {number} > {level}", "off",
        refined=lambda options: (x < 5, x / (1 + x / size)), says="; at this size {value}",
    )  # fmt: skip
    unpublished = Source.unpublished("a test")
    facts = {"title": "A limit", "source": unpublished, "given": (x, size), "outputs": {"value": "x"}}
    entry = result("refined.limit", warns=(caution,), **facts)(limit)
    yield
    catalogue.forget(entry)


def told(**point):
    """What is warned of at a point."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        te.predict("refined.limit", **point)
    return [str(warning.message) for warning in heard]


def test_a_warning_quotes_the_better_value_where_it_knows_one():
    (message,) = told(x=1, size=4)
    assert message == "refined.limit: off by 0.25 > 0.1; at this size 0.8"


@pytest.mark.parametrize(("point", "count"), [({"x": 1, "size": 100}, 0), ({"x": 6, "size": 4}, 1)])
def test_it_says_nothing_more_where_it_does_not(point, count):
    messages = told(**point)
    assert len(messages) == count
    assert not any("at this size" in message for message in messages)
