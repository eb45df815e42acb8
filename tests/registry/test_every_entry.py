"""What holds for every entry of every paper, on the day it is added."""

import warnings

import numpy as np
import pytest
import sympy
from mpmath import mp

import theorem_engine as te
from theorem_engine.asking.random_point import draw_point
from theorem_engine.base.errors import NotAvailable, ValidityWarning
from theorem_engine.language.domains import Interval
from theorem_engine.language.statement import leaves

ENTRIES = te.entries()
#: Evaluated in every run, or only in the campaign.
EVALUATED = [pytest.param(e, marks=pytest.mark.campaign if e.costly else ()) for e in ENTRIES]


def _points(entry, count):
    rng = np.random.default_rng(20260117)
    return [draw_point(entry, rng) for _ in range(count)]


@pytest.fixture(autouse=True)
def _validity_is_not_under_test():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ValidityWarning)
        yield


@pytest.mark.parametrize("entry", ENTRIES, ids=str)
def test_the_statement_is_complete(entry):
    """Words, letters with meanings, outputs with meanings, a source, provenance, a check."""
    assert entry.title
    assert entry.description
    assert entry.marks
    assert entry.checks, "name a simulator or an exact cross-check"
    assert all(letter.meaning for letter in entry.given)
    assert all(output.meaning for output in entry.outputs.values())


@pytest.mark.parametrize("entry", EVALUATED, ids=str)
def test_predictions_lie_in_their_stated_range(entry):
    for point in _points(entry, 4):
        try:
            prediction = te.predict(entry.id, **point)
        except NotAvailable:
            continue  # a documented gap of the entry
        for name, output in entry.outputs.items():
            for value in leaves(prediction.outputs.get(name)):
                if isinstance(value, float):
                    assert value == value, (point, name)
                    if isinstance(output.range, Interval):
                        slack = 1e-12 * (1 + abs(value))
                        assert output.range.low - slack <= value <= output.range.high + slack, (point, name)


@pytest.mark.parametrize("entry", EVALUATED, ids=str)
def test_double_precision_agrees_with_many_digits(entry):
    """The error claimed for float64 covers its distance from a 25-digit evaluation."""
    for point in _points(entry, 2):
        try:
            quick = te.predict(entry.id, **point)
            exact = te.predict(entry.id, digits=25, **point)
        except NotAvailable:
            return
        value = exact.value
        if isinstance(quick.value, float) and np.isfinite(quick.value):
            with mp.workdps(30):
                distance = float(abs(mp.mpf(quick.value) - value))
            assert distance <= 2 * quick.error + 1e-300, (point, quick.value, value, quick.error)
            assert quick.error <= 1e-9 * (1 + abs(quick.value)), point


@pytest.mark.parametrize("entry", EVALUATED, ids=str)
def test_stated_derivatives_are_the_derivatives(entry):
    """A derivative an author states equals the numerical derivative of the value it belongs to."""
    from theorem_engine.asking.point import read_point
    from theorem_engine.backends import get_backend
    from theorem_engine.planning.plan import make_plan

    backend = get_backend("multiprecision")
    for parameters in _points(entry, 2):
        point = read_point(entry, parameters)
        statement = entry.statement(dict(point.options))
        for (output, letter), stated in statement.partials.items():
            value_at = backend.compile(
                make_plan(statement.given, statement.equations, [statement.output_symbol(output)], entry.id)
            )
            slope = sympy.Symbol("stated_slope")
            slope_at = backend.compile(
                make_plan(statement.given, {**statement.equations, slope: stated}, [slope], entry.id)
            )
            with mp.workdps(40):
                values = [backend.number(v) for v in point.values]
                place = statement.given.index(letter)
                step = mp.mpf(10) ** -12
                # a one-sided domain still has a two-sided formula here: g enters squared
                moved = [[*values[:place], values[place] + k * step, *values[place + 1 :]] for k in (-2, -1, 1, 2)]
                a, b, c, d = (value_at(*m)[0] for m in moved)
                numeric = (a - 8 * b + 8 * c - d) / (12 * step)
                exact = slope_at(*values)[0]
                assert abs(numeric - exact) <= mp.mpf(10) ** -20 * (1 + abs(exact)), (entry.id, output, letter)
