"""Reading numbers."""

import math
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from theorem_engine.base.exact import (
    Constant,
    NotANumber,
    Root,
    as_float,
    as_fraction,
    as_mpf,
    compare,
    read_number,
    to_text,
)


@pytest.mark.parametrize(
    ("given_as", "value"),
    [
        (3, 3),
        (0.1, Fraction(1, 10)),
        ("0.1", Fraction(1, 10)),
        ("1/3", Fraction(1, 3)),
        (" -2.5e-3 ", Fraction(-1, 400)),
        ("+.5", Fraction(1, 2)),
        ("7.", 7),
        ("sqrt(9/4)", Fraction(3, 2)),
        (Decimal("0.1"), Fraction(1, 10)),
        (Fraction(1, 3), Fraction(1, 3)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.float32(0.1), Fraction(1, 10)),
        (np.int64(7), 7),
        (sympy.Rational(1, 3), Fraction(1, 3)),
        (mpmath.mpf("0.5"), Fraction(1, 2)),
        (sympy.Float("0.1"), Fraction(1, 10)),
    ],
)
def test_every_kind_of_number_is_read_exactly(given_as, value):
    assert as_fraction(read_number(given_as)) == value


def test_a_float_means_the_decimal_it_prints_as():
    with mpmath.workdps(40):
        assert as_mpf(read_number(0.1)) == mpmath.mpf(1) / 10


def test_square_roots_stay_exact():
    root = read_number("sqrt(1/2)")
    assert root == Root(Fraction(1, 2))
    assert root == read_number(sympy.sqrt(2) / 2)
    with mpmath.workdps(50):
        assert abs(as_mpf(root) ** 2 - mpmath.mpf(1) / 2) < mpmath.mpf(10) ** -49


def test_sympy_constants_are_kept_as_expressions():
    number = read_number(sympy.pi / 3)
    assert isinstance(number, Constant)
    assert as_float(number) == pytest.approx(math.pi / 3, rel=1e-15)


@pytest.mark.parametrize("text", ["inf", "oo", "Infinity", "+inf"])
def test_infinity_has_names(text):
    assert read_number(text) == math.inf


@pytest.mark.parametrize(
    "junk",
    [
        "", " ", "abc", "1/0", "1e999999999", "1e-400", "nan", "1_000", "٣", "__import__('os')", "sqrt(-1)",
        "sqrt(sqrt(2))",
        "1+1", "0x10", "2*pi", float("nan"), None, True, [1], {"a": 1}, 1j, 10**400, "9" * 500, np.array([1.0, 2.0]),
        sympy.Symbol("x"), sympy.I, Decimal("NaN"), mpmath.mpf("nan"), object(), "1//2", "e5", "--1",
    ],
)  # fmt: skip
def test_what_is_no_number_is_refused(junk):
    with pytest.raises(NotANumber):
        read_number(junk)


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused(text):
    try:
        value = read_number(text)
    except NotANumber:
        return
    assert not math.isnan(as_float(value))


@given(st.fractions(max_denominator=10**6))
def test_text_reads_back_to_the_same_number(number):
    assert as_fraction(read_number(to_text(number))) == number


@given(st.fractions(max_denominator=1000), st.fractions(max_denominator=1000))
def test_comparison_is_exact(a, b):
    assert compare(a, b) == (a > b) - (a < b)


@given(st.fractions(min_value=0, max_value=100, max_denominator=1000), st.fractions(max_denominator=1000))
def test_roots_compare_by_their_squares(square, bound):
    order = compare(Root(square), bound)
    assert order == (1 if bound < 0 else (square > bound**2) - (square < bound**2))
