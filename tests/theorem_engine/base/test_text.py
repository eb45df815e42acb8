"""Numbers as text: digits end where the error begins, whatever the size of the number."""

import random
from decimal import Decimal

import pytest
from mpmath import mp

from theorem_engine.base.text import error_text, value_text


def test_the_last_digit_of_a_number_is_the_first_of_its_error():
    rng = random.Random(7)
    for _ in range(5000):
        value = rng.choice((-1, 1)) * rng.choice((rng.uniform(1, 10), 9.99999999999)) * 10.0 ** rng.randint(-290, 290)
        error = abs(value) * 10 ** rng.uniform(-15, -0.01)
        text = value_text(value, error, None)
        assert Decimal(text).as_tuple().exponent == Decimal(error).adjusted(), (value, error, text)
        assert abs(Decimal(text) - Decimal(value)) <= Decimal(5).scaleb(Decimal(error).adjusted() - 1)
        assert Decimal(error) <= Decimal(error_text(error)) <= 2 * Decimal(error)


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (9.996, 0.011, "10.00"), (9.96, 0.5, "10.0"), (0.99999999, 1e-4, "1.0000"), (1e-9, 1e-5, "1e-09"),
        (1.7e308, 1e308, "2e+308"), (5e-324, 5e-324, "5e-324"), (1e-9 + 1j, 1e-5, "1e-09+1.00000j"),
        (-0.0, 1e-3, "0"), (float("inf"), 0.0, "inf"), (1.0, float("nan"), "1"),
    ],
)  # fmt: skip
def test_numbers_of_every_size_are_written_with_the_digits_that_they_have(value, error, text):
    assert value_text(value, error, None) == text


def test_numbers_beyond_doubles_are_written_so_too():
    with mp.workdps(60):
        assert value_text(mp.mpf("9.99996e5000"), mp.mpf("1e4996"), 30) == "1.00000e+5001"
        assert value_text(mp.mpf("-3e-5000"), mp.mpf("1e-5000"), 30) == "-3e-5000"
