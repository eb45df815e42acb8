"""Whatever is thrown at a query, the answer is a number or a documented error."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import theorem_engine as te
from theorem_engine.asking.random_point import draw_point
from theorem_engine.base.errors import (
    BadNumber,
    BadRequest,
    Infeasible,
    MissingParameter,
    NotConverged,
    OutOfDomain,
    TheoremEngineError,
    UnknownEntry,
    UnknownParameter,
    ValidityWarning,
)
from theorem_engine.language.statement import leaves

ORACLE = {"lam": "0.1", "gamma": 1, "d": 400, "L": 10}
PRODUCTS = {"kappa": 0, "nu": 0, "theta": 0, "eta": 0, "rho": 0}
ENTRIES = [pytest.param(e, marks=pytest.mark.campaign if e.costly else ()) for e in te.entries()]


def test_an_unknown_id_offers_the_nearest_names():
    with pytest.raises(UnknownEntry, match=r"no entry 'marion2025\.oracle-rsk'; nearest: marion2025\.oracle-risk"):
        te.predict("marion2025.oracle-rsk", **ORACLE)


@pytest.mark.parametrize("name", ["", "x", "marion2025", "..", "marion2025.", 5, None, "\x00", "a" * 10**5])
def test_any_odd_id_is_an_unknown_entry(name):
    with pytest.raises(UnknownEntry):
        te.predict(name)


def test_an_unknown_parameter_is_named_with_the_nearest_one():
    with pytest.raises(UnknownParameter, match=r"no parameter 'lamda'; nearest: lam\. It takes lam, gamma, d, L, eps"):
        te.predict("marion2025.oracle-risk", lamda=1, **ORACLE)


def test_missing_parameters_are_listed_with_their_domains():
    with pytest.raises(MissingParameter, match=r"needs gamma \(.*\(0, oo\)\); d \(.*integers >= 2\)"):
        te.predict("marion2025.oracle-risk", lam=1, L=3)


@pytest.mark.parametrize(
    ("name", "value", "error", "says"),
    [
        ("lam", -1, OutOfDomain, r"lam=-1 is outside \(0, oo\) \(inverse temperature of the erf\); see 2410\.01537"),
        ("lam", 0, OutOfDomain, r"is outside \(0, oo\)"),
        ("lam", "inf", OutOfDomain, "is outside"),
        ("lam", math.nan, BadNumber, "is NaN"),
        ("lam", "abc", BadNumber, "is not a decimal, a rational"),
        ("lam", None, BadNumber, "is not a real number"),
        ("L", 0, OutOfDomain, "is not among the integers >= 1"),
        ("L", 2.5, OutOfDomain, "is not a whole number"),
        ("d", 1, OutOfDomain, "integers >= 2"),
        ("d", "1/2", OutOfDomain, "is not a whole number"),
        ("eps", "-1e-9", OutOfDomain, r"is outside \[0, oo\)"),
    ],
)
def test_a_bad_value_names_entry_letter_value_and_domain(name, value, error, says):
    with pytest.raises(error, match=says) as caught:
        te.predict("marion2025.oracle-risk", **{**ORACLE, name: value})
    assert "marion2025.oracle-risk" in str(caught.value)


def test_an_alignment_beyond_one_is_refused():
    with pytest.raises(OutOfDomain, match=r"kappa=1\.2 is outside \[-1, 1\]"):
        te.predict("marion2025.risk", **{**PRODUCTS, **ORACLE, "kappa": 1.2})


def test_inner_products_that_no_vectors_have_are_refused():
    with pytest.raises(Infeasible, match=r"Gram matrix .* is not positive semidefinite"):
        te.predict("marion2025.risk", **{**PRODUCTS, **ORACLE, "kappa": "0.9", "eta": "0.9"})


def test_points_on_the_boundary_are_legal():
    corners = (
        {"kappa": 1, "nu": 1},
        {"kappa": 0, "nu": 0, "eta": 1, "theta": "0.6"},
        {"kappa": "sqrt(1/2)", "eta": "-sqrt(1/2)"},
    )
    for corner in corners:
        assert te.predict("marion2025.risk", **{**PRODUCTS, **ORACLE, **corner}).value > 0


@pytest.mark.parametrize("digits", [0, -1, 10**9, 2.5, "40", True, math.nan])
def test_digits_out_of_range_are_refused_with_the_limit(digits):
    with pytest.raises(BadRequest, match="from 1 to 1000"):
        te.predict("marion2025.oracle-risk", digits=digits, **ORACLE)


def test_all_errors_are_builtins_too():
    with pytest.raises(KeyError):
        te.entry("nothing.here")
    with pytest.raises(ValueError):
        te.predict("marion2025.oracle-risk", **{**ORACLE, "lam": -1})
    with pytest.raises(TypeError):
        te.predict("marion2025.oracle-risk")
    assert issubclass(NotConverged, ArithmeticError)


ODD = st.one_of(
    st.text(max_size=20),
    st.floats(allow_nan=True, allow_infinity=True),
    st.integers(-(10**30), 10**30),
    st.sampled_from(
        [None, True, [], {}, 1j, "sqrt(2)", "1/3", "inf", "-inf", "nan", "1e400", "0", -0.0, 1e-320, 10**400, b"1",
         "uniform(1,3)", {2: 0.5, 3: 0.5}, {0: 1}, {2: -1, 3: 2}, "tanh", "spiked", "__import__('os').getcwd()"]
    ),
)  # fmt: skip


@pytest.mark.parametrize("entry", ENTRIES, ids=str)
@settings(max_examples=10)
@given(data=st.data())
def test_random_text_and_numbers_meet_only_documented_errors(entry, data):
    """Every parameter of every entry, in turn, gets something odd; a number is finite or a documented infinity."""
    seed = data.draw(st.integers(0, 2**32 - 1))
    point = draw_point(entry, np.random.default_rng(seed))
    if not entry.given:
        return
    name = data.draw(st.sampled_from([x.name for x in entry.given]))
    point[name] = data.draw(ODD)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ValidityWarning)
        try:
            prediction = te.predict(entry.id, **point)
        except TheoremEngineError as error:
            assert str(error)
            return
    for value in leaves(dict(prediction.outputs)):
        assert not (isinstance(value, float) and math.isnan(value)), (point, prediction.outputs)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"t": float("nan"), "g": 1}, "t=nan is NaN"),
        ({"t": 1, "g": float("-inf")}, "g=-inf is outside"),
        ({"t": 1, "g": 1, "digits": "40"}, "digits='40' is text; write digits=40"),
        ({"t": 1, "g": 1, "digits": 10**5000}, "digits=a huge number is refused"),
    ],
    ids=["nan", "-inf", "text", "huge"],
)
def test_a_message_shows_what_was_given(query, message):
    with pytest.raises(TheoremEngineError, match=message):
        te.predict("gaussian.erf-mean", **query)
