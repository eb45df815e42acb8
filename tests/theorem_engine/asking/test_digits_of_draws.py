"""Means over random draws have the digits of their error bars, and say how many draws more of them would take."""

import re

import pytest

import theorem_engine as te
from theorem_engine.asking.error import is_statistical, refuse_beyond_bar
from theorem_engine.asking.point import read_point
from theorem_engine.base.errors import NotAvailable
from theorem_engine.showing.example import example_of

DRAWN = [
    entry for entry in te.entries() if is_statistical(entry, read_point(entry, dict(example_of(entry).point)).options)
]


def test_there_are_entries_that_draw():
    assert len(DRAWN) >= 5


@pytest.mark.parametrize("entry", DRAWN, ids=lambda entry: entry.id)
def test_thirty_digits_of_a_mean_over_draws_are_refused_at_once(entry):
    """An error of one over the root of n is 10^-30 at n = 10^60."""
    with pytest.raises(NotAvailable, match=re.escape("about 10^60 draws would be needed")):
        te.predict(entry.id, digits=30, **example_of(entry).point)


def test_the_number_of_draws_is_that_of_the_inverse_square_law():
    """1000 draws leave two per cent: four digits, 200 times fewer, take 200^2 as many."""
    entry = DRAWN[0]
    refuse_beyond_bar(entry, 1, 0.02, 1000)
    with pytest.raises(NotAvailable, match=re.escape("about 10^8 draws")):
        refuse_beyond_bar(entry, 4, 0.02, 1000)
    with pytest.raises(NotAvailable, match="about 4000 draws"):
        refuse_beyond_bar(entry, 2, 0.02, 1000)
    with pytest.raises(NotAvailable, match="not known"):
        refuse_beyond_bar(entry, 2, float("inf"), 1000)


@pytest.mark.campaign
def test_digits_that_the_error_bar_has_are_given_with_it():
    """The number is that of double precision, and its error stays statistical."""
    point = {"task": "spiked", "nu": 2, "L": 3, "q_v": "0.5", "draws": 1024}
    found = te.predict("duranthon2026.learning-curve", digits=1, **point)
    plain = te.predict("duranthon2026.learning-curve", **point)
    assert found.value == plain.value
    assert (found.error_kind, found.error_level) == ("statistical", plain.error_level)
    with pytest.raises(NotAvailable, match="1024 draws leave"):
        te.predict("duranthon2026.learning-curve", digits=4, **point)
