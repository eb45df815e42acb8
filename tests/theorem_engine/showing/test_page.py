"""What people see: numbers with the digits that are right, entries as text and as MathML."""

import json
import math
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp, mpc, mpf

import theorem_engine as te
from theorem_engine.asking.prediction_text import prediction_html, prediction_text
from theorem_engine.base.errors import NotConverged
from theorem_engine.base.text import error_text, jsonable, number_text, value_text
from theorem_engine.language.source import MARKS
from theorem_engine.showing.page import entry_text
from theorem_engine.showing.rule_text import prose

ENTRIES = te.entries()
POINT = {"lam": "0.1", "gamma": "sqrt(1/2)", "d": 400, "L": 10}


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (1.5, 1.5),
        (True, True),
        ("word", "word"),
        (None, None),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
        (math.nan, None),
        (np.float64(0.25), 0.25),
        (np.int64(3), 3),
        (np.bool_(True), True),
        (np.array([1.0, math.inf]), [1.0, "inf"]),
        (1 + 2j, {"re": 1.0, "im": 2.0}),
        (np.complex128(1 - 1j), {"re": 1.0, "im": -1.0}),
        ({"a": [1, (2.0, "x")]}, {"a": [1, [2.0, "x"]]}),
        (Fraction(1, 3), "1/3"),
    ],
)
def test_values_become_plain_json(value, plain):
    assert jsonable(value, None) == plain
    json.dumps(jsonable(value, None), allow_nan=False)


def test_numbers_of_many_digits_are_text_with_all_of_them():
    with mp.workdps(60):
        assert jsonable(mpf(1) / 4, 30) == "0.250000000000000000000000000000"
        assert jsonable(mpc(1, mpf(1) / 3), 5) == {"re": "1.0000", "im": "0.33333"}
        assert jsonable(mpf("7e-33"), 3) == "7.00e-33"
        assert jsonable(mp.inf, 40) == "inf"


def test_an_error_of_many_digits_stays_a_number_while_a_float_can_hold_it():
    assert jsonable(mpf("1e-41"), None) == pytest.approx(1e-41)
    assert jsonable(mpf("2e-900"), None) == "2.00e-900"


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (0.5, None, "0.5"),
        (0.5, 3, "0.500"),
        (2.0, 1, "2"),
        (-math.inf, 5, "-inf"),
        (True, 5, "True"),
        (1 - 2j, 2, "1.0-2.0j"),
    ],
)
def test_numbers_print_with_the_digits_asked_for(value, digits, text):
    assert number_text(value, digits) == text


def test_a_long_list_is_shown_by_its_ends():
    assert number_text([1.0] * 4, 2) == "[1.0, 1.0, 1.0, 1.0]"
    assert number_text(list(map(float, range(100))), 2) == "[0.0, 1.0, 2.0, ... 96 more ..., 99]"


@pytest.mark.parametrize(
    ("error", "text"),
    [(0, "0"), (1e-12, "1e-12"), (1.01e-12, "2e-12"), (9.5e-12, "1e-11"), (None, "unknown"), (math.inf, "inf"),
     (math.nan, "unknown"), (mpf("3.2e-500"), "4e-500")],
)  # fmt: skip
def test_an_error_is_rounded_up_to_one_digit(error, text):
    assert error_text(error) == text


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (0.1234567890123, 2e-6, "0.123457"),
        (123.456, 0.5, "123.5"),
        (5.0, 100.0, "5"),
        (0.25, 0.0, "0.25"),
        (0.0, 1e-20, "0"),
    ],
)
def test_a_value_shows_the_digits_its_error_leaves(value, error, text):
    assert value_text(value, error, None) == text


def test_a_prediction_names_entry_point_outputs_and_error():
    prediction = te.predict("marion2025.oracle-risk", **POINT)
    first, *rows = prediction_text(prediction).splitlines()
    assert first == "marion2025.oracle-risk at lam=0.1, gamma=sqrt(1/2), d=400, L=10, eps=0"
    assert [row.split()[0] for row in rows] == ["risk", "excess"]
    shown = float(rows[0].split()[2])
    assert abs(shown - prediction.value) <= 10 * prediction.error
    assert "+-" in rows[0]
    assert "(estimated, float64)" in rows[0]


def test_forty_digits_are_forty_digits():
    prediction = te.predict("marion2025.oracle-risk", **POINT, digits=40)
    value = prediction_text(prediction).splitlines()[1].split()[2]
    assert len(value.lstrip("0.")) == 40
    assert prediction.to_json()["value"] == value


def test_a_prediction_prints_without_an_error():
    prediction = te.predict("marion2025.linear-risk", gamma=1, L=10)
    assert "(error unknown, float64)" in prediction_text(replace(prediction, _errors=None))


def test_a_prediction_prints_when_its_error_cannot_be_found():
    def fail():
        raise NotConverged("no error today")

    prediction = replace(te.predict("marion2025.linear-risk", gamma=1, L=10), _errors=fail)
    assert "error unknown" in prediction_text(prediction)
    assert "error unknown" in prediction_html(prediction)


def test_a_prediction_as_html_is_well_formed():
    html = te.predict("marion2025.oracle-risk", **POINT)._repr_html_()
    assert [cell.text for cell in ET.fromstring(html).iter("th")] == ["risk", "excess"]


@pytest.mark.parametrize("entry", [e for e in ENTRIES if not e.costly], ids=str)
def test_the_page_of_every_entry_is_complete(entry):
    text = entry_text(entry)
    for letter in entry.given:
        assert f"  {letter.name} " in text
        assert prose(letter.meaning).split()[0] in text
    for name, output in entry.outputs.items():
        assert name in text
        assert prose(output.meaning).split()[0] in text
    for mark in entry.marks:
        assert MARKS[mark] in text
    assert prose(entry.title) in " ".join(text.split())
    assert str(entry.source) in " ".join(text.split())
    assert "ABSENT" not in text
    assert not re.search(r"\w:\w+=", text), "an application shows its options"


@pytest.mark.parametrize("power", ["-85825556678244304108756357275", "400", "-310", "12345678901234567890"])
def test_errors_of_any_size_are_shown_to_one_digit(power):
    """The logarithm of a number has as many digits before the point as its power of ten."""
    with mp.workdps(60):
        error = mpf(f"1.92e{power}")
    assert error_text(error) == f"2e{power}"
