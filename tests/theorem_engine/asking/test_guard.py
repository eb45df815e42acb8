"""What libraries raise reaches a user as our own errors; outputs outside their ranges never reach one at all."""

import math
import warnings

import numpy as np
import pytest
import sympy
from mpmath import mp, mpf

import theorem_engine as te
from theorem_engine import Interval, Output
from theorem_engine.asking.guard import guarded
from theorem_engine.asking.ranges import within_ranges
from theorem_engine.base.errors import NotAvailable, NotConverged, TheoremEngineError, ValidityWarning

ENTRY = te.entry("gaussian.erf-mean")


@pytest.mark.parametrize(
    "raised",
    [
        ZeroDivisionError("division by zero"), OverflowError("too large"), np.linalg.LinAlgError("no convergence"),
        SystemError("null"), ValueError("bad"), TypeError("worse"), KeyError("x"), RecursionError(), AssertionError(),
        FloatingPointError("under"),
    ],
    ids=lambda e: type(e).__name__,
)  # fmt: skip
def test_errors_of_libraries_become_ours_with_entry_and_point(raised):
    sentence = r"gaussian.erf-mean: the work failed \(\w+.*\) at t=1, g=2"
    with pytest.raises(NotConverged, match=sentence) as caught, guarded(ENTRY, {"t": 1, "g": 2}, "the work"):
        raise raised
    assert caught.value.__cause__ is raised


def test_a_lack_of_memory_is_said():
    with (
        pytest.raises(NotAvailable, match=r"gaussian.erf-mean: the work needs more memory"),
        guarded(ENTRY, {}, "the work"),
    ):
        raise MemoryError


def test_our_errors_keep_their_kind_and_learn_the_entry():
    with pytest.raises(NotAvailable, match=r"gaussian.erf-mean: not today"), guarded(ENTRY, None, "the work"):
        raise NotAvailable("not today")


@pytest.mark.parametrize("passing", [KeyboardInterrupt(), ValidityWarning("weak"), FileNotFoundError("a.npy")])
def test_interruptions_warnings_and_files_pass(passing):
    with pytest.raises(type(passing)), guarded(ENTRY, None, "the work"):
        raise passing


class _Entry:
    """As much of an entry as ranges need."""

    id = "some.entry"

    def __init__(self, interval):
        self.outputs = {"value": Output("a number", interval)}


def _checked(interval, value, error):
    from theorem_engine.language.letters import Letter
    from theorem_engine.language.statement import make_statement

    statement = make_statement("some.entry", (), {"value": 1})
    (symbol,) = statement.targets()
    assert isinstance(symbol, Letter)
    return within_ranges(_Entry(interval), statement, {symbol: value}, lambda: {symbol: error})[symbol]


@pytest.mark.parametrize(
    ("interval", "value", "error", "expected"),
    [
        (Interval(0, 1), 0.25, 0.0, 0.25),
        (Interval(0, 1), 1 + 2.0**-52, 0.0, 1.0),
        (Interval(0, math.inf), -1e-17, 1e-16, 0.0),
        (Interval(0, math.inf), mpf("-1e-40"), mpf("1e-39"), 0),
        (Interval(0, math.inf, right_open=False), math.inf, 0.0, math.inf),
    ],
)
def test_a_value_not_told_from_the_end_of_its_range_is_the_end(interval, value, error, expected):
    assert _checked(interval, value, error) == expected


@pytest.mark.parametrize(
    ("interval", "value", "error"),
    [
        (Interval(0, math.inf), -1e-10, 1e-16),
        (Interval(0, math.inf), math.inf, math.inf),
        (Interval(0, 1), math.inf, 0.0),
        (Interval(0, math.inf, left_open=True), 0.0, 1e-300),
        (Interval(0, 1), mpf("1.5"), mpf("1e-30")),
    ],
)
def test_a_value_outside_its_range_is_refused_by_name_value_and_range(interval, value, error):
    with pytest.raises(NotConverged, match=r"some.entry: value = .*range [\[(]0, "):
        _checked(interval, value, error)


@pytest.mark.parametrize("value", [math.inf, -math.inf, complex(0, math.inf), mpf("inf")])
def test_without_a_range_only_finite_numbers_are_inside(value):
    with pytest.raises(NotConverged, match=r"some.entry: value is beyond the largest number"):
        _checked(None, value, math.inf)
    assert _checked(None, -1e300, 0.0) == -1e300


def test_a_resolvent_too_close_to_its_pole_is_refused_and_had_with_digits():
    """G(z) has the mass 1 - c at zero, so n is close to -(1 - c)/z there; z = e^-800 is below the smallest double."""
    given = {"c": "1/4", "z": sympy.exp(-800)}
    with pytest.raises(NotConverged, match=r"n is beyond the largest number.*digits=30 has a value"):
        te.predict("liao2026.spiked-resolvent", **given)
    found = te.predict("liao2026.spiked-resolvent", digits=20, **given).outputs["n"]
    assert float(found * mp.exp(-800)) == pytest.approx(-0.75)


def test_the_swapped_minimum_has_an_error_where_its_value_head_is_full():
    """theta = 1 is an end of its range, where a step beyond has no Hessian: an ordinary query once crashed here."""
    found = te.predict("marion2025.swapped-minimum", lam=0.0606, gamma=1.47, d=29, L=19)
    assert found.errors["theta"] == 0
    assert 0 < found.errors["excess"] < 1e-12


def test_a_critical_lambda_that_does_not_exist_is_infinite_and_declared_so():
    found = te.predict("marion2025.critical-lambda", gamma=0.941, d=7, L=2)
    assert (found.value, found.error) == (math.inf, 0)
    assert found.entry.outputs["lam_critical"].range.describe() == "[0, oo]"


def test_a_risk_beyond_double_precision_is_refused_and_had_with_digits():
    """eps^2 = 1e600 plus an excess of order one, by hand."""
    given = {"lam": 1, "gamma": 1, "d": 10, "L": 3, "eps": "1e300"}
    with pytest.raises(NotConverged, match=r"risk = inf.*outside its range \[0, oo\).*digits=30 has a value"):
        te.predict("marion2025.oracle-risk", **given)
    assert float(te.predict("marion2025.oracle-risk", digits=20, **given).value / mpf("1e600")) == pytest.approx(1)


def test_a_sweep_refuses_or_masks_what_lies_outside_its_range():
    pytest.importorskip("xarray")
    given = {"lam": 1, "gamma": 1, "d": 10, "L": 3, "eps": [0, 1, "1e300"]}
    with pytest.raises(NotConverged, match=r"risk = inf.*outside its range.*eps=1e300|eps=1"):
        te.sweep("marion2025.oracle-risk", **given)
    masked = te.sweep("marion2025.oracle-risk", errors="mask", **given)
    assert np.isnan(masked["risk"].values).tolist() == [False, False, True]


@pytest.mark.parametrize("entry", [e for e in te.entries() if e.id.startswith(("gaussian.", "marion2025."))], ids=str)
@pytest.mark.parametrize("size", [1e300, 1e-300])
def test_extreme_letters_give_a_number_or_a_sentence(entry, size):
    """Each real letter in turn; value, errors, text and plain data, none of them NaN."""
    from theorem_engine.asking.random_point import draw_point

    if entry.costly:
        pytest.skip("in the campaign")
    point = draw_point(entry, np.random.default_rng(3))
    for letter in entry.given:
        if not isinstance(letter.domain, Interval) or letter.name == "time":
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ValidityWarning)
            try:
                found = te.predict(entry.id, **{**point, letter.name: size})
            except TheoremEngineError as error:
                assert entry.id in str(error)
                continue
            assert not math.isnan(found.error)
            assert str(found)
            assert found.to_json()["errors"]
