"""Limits as data: what grows and how fast a correction falls is declared, never read out of words."""

from dataclasses import replace
from fractions import Fraction

import pytest
import sympy

from theorem_engine.base.errors import DeclarationError
from theorem_engine.language.regime import EXACT, Limit

p, n = sympy.symbols("p n")


def test_letters_and_orders_are_kept_as_names_and_fractions():
    limit = Limit(grows=(n, p), fixed=(p / n,), orders=(sympy.Rational(1, 2), 1, (Fraction(1, 2), 1)))
    assert limit.grows == ("n", "p")
    assert limit.fixed == ("p/n",)
    assert limit.orders == (Fraction(1, 2), Fraction(1), (Fraction(1, 2), Fraction(1)))


def test_words_are_shown_and_compared_by_nobody():
    plain = Limit(grows=(n, p), fixed=("c",), orders=(1,))
    worded = replace(plain, words="p -> oo", correction="like 1/sqrt(p)")
    assert str(plain) == "limit n, p -> oo at fixed c; correction of order size^-1"
    assert str(worded) == "limit p -> oo; correction like 1/sqrt(p)"
    assert plain == worded
    assert plain != replace(plain, orders=(2,))
    assert str(EXACT) == "exact at finite size"


def test_without_orders_nothing_is_said_of_the_correction():
    assert str(Limit(grows=(n,))) == "limit n -> oo"
    assert str(Limit(grows=(n,), orders=((Fraction(1, 2), 1),))).endswith("of order size^-(1/2) and size^-1")


@pytest.mark.parametrize(
    "bad",
    [
        {"grows": ()},
        {"grows": "p"},
        {"grows": (p,), "orders": (0.5,)},
        {"grows": (p,), "orders": (True,)},
        {"grows": (p,), "orders": (0,)},
        {"grows": (p,), "orders": (sympy.Float("0.5"),)},
        {"grows": (p,), "orders": ((1, 2, 3),)},
    ],
    ids=str,
)
def test_what_is_no_limit_is_refused(bad):
    with pytest.raises(DeclarationError):
        Limit(**bad)
