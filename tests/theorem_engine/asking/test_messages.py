"""What a refused query is told: the value as it was written, and what to write instead."""

import math

import pytest

import theorem_engine as te
from theorem_engine.base.errors import BadNumber, BadRequest, MissingParameter, OutOfDomain, UnknownParameter
from theorem_engine.base.spelling import spelled

REST = {"gamma": 1, "d": 400, "L": 10}


def refusal(error, **parameters):
    with pytest.raises(error) as caught:
        te.predict("marion2025.oracle-risk", **{**REST, **parameters})
    return str(caught.value)


@pytest.mark.parametrize(("value", "shown"), [(math.nan, "lam=nan is NaN"), ("nan", "lam='nan' is NaN")])
def test_nan_is_named_as_what_it_is(value, shown):
    assert shown in refusal(BadNumber, lam=value)
    assert "inf" not in refusal(BadNumber, lam=value)


def test_digits_as_text_are_told_what_to_write():
    assert refusal(BadRequest, lam=1, digits="40") == "digits='40' is text; write digits=40 (from 1 to 1000)"
    assert "digits='forty' is refused" in refusal(BadRequest, lam=1, digits="forty")


@pytest.mark.parametrize("several", [[0.1, 0.2], (0.1, 0.2), range(1, 3), te.grid(1, 2, 2)])
def test_several_values_of_a_letter_lead_to_sweep(several):
    assert "te.sweep takes" in refusal(BadNumber, lam=several)


def test_fractions_are_shown_as_numbers():
    with pytest.raises(OutOfDomain, match=r"lam=-1 is outside"):
        te.sweep("marion2025.oracle-risk", lam=te.grid(-1, 1, 5), **REST)
    with pytest.raises(OutOfDomain, match=r"lam=-1/3 is outside"):
        te.sweep("marion2025.oracle-risk", lam=te.grid("-1/3", 1, 5), **REST)


def test_a_greek_letter_is_near_to_its_name():
    assert "no parameter 'λ'; nearest: lam." in refusal(UnknownParameter, λ=1, lam=1)


def test_greek_characters_are_spelled():
    assert [spelled(x) for x in ("α", "Δ", "ε", "ϵ", "ϑ", "ς", "nu", "ν_0", "é", "日")] == [
        "alpha", "delta", "eps", "eps", "theta", "sigma", "nu", "nu_0", "é", "日",
    ]  # fmt: skip


def test_alternatives_of_several_letters_cannot_be_read_in_two_ways():
    with pytest.raises(MissingParameter, match=r"needs c, or p and n"):
        te.predict("liao2026.ridge-error", gamma=1)
