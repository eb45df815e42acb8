"""Reference values computed independently of this code."""

import json
import warnings
from functools import cache
from pathlib import Path

import pytest
from mpmath import mp

import theorem_engine as te
from theorem_engine.base.errors import UnknownEntry, ValidityWarning

DATA = Path(__file__).parent.parent / "data"


def _known(case):
    try:
        te.entry(case["entry"])
    except UnknownEntry:
        return False
    return True


def cases():
    for path in sorted(DATA.glob("*.json")):
        found = json.loads(path.read_text(encoding="utf-8"))
        # files of another form have tests of their own
        for number, case in enumerate(found if isinstance(found, list) else ()):
            if _known(case):
                yield pytest.param(case, id=f"{path.stem}-{number}-{case['entry'].partition('.')[2]}-{case['output']}")


CASES = list(cases())


def test_every_paper_has_reference_values():
    papers = {case.values[0]["entry"].partition(".")[0] for case in CASES}
    assert papers == {entry.paper for entry in te.entries()}


@cache
def outputs(entry, inputs):
    """All outputs at a point: several cases ask for different ones."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ValidityWarning)
        return te.predict(entry, **dict(inputs)).outputs


@pytest.mark.parametrize("case", CASES)
def test_double_precision_meets_the_reference_value(case):
    """float64 to min(digits, 11) significant digits, or within the stated tolerance."""
    value = float(outputs(case["entry"], tuple(case["inputs"].items()))[case["output"]])
    reference = float(case["value"])
    if "tolerance" in case:
        assert abs(value - reference) <= float(case["tolerance"])
    elif reference == 0:
        assert abs(value) <= 1e-15
    else:
        assert abs(value - reference) <= 0.5 * 10.0 ** (1 - min(case["digits"], 11)) * abs(reference)


#: A capacity whose digits take many minutes: means of logarithms inside a fixed point inside a root.
SLOW = "classics.binary-capacity"


def _with_digits():
    for case in CASES:
        asked = case.values[0]
        if asked.get("digits", 0) > 15 and asked["entry"] != SLOW:
            # digits of entries that take seconds a point take minutes
            marks = pytest.mark.campaign if te.entry(asked["entry"]).costly else ()
            yield pytest.param(asked, id=case.id, marks=marks)


@pytest.mark.parametrize("case", list(_with_digits()))
def test_digits_on_demand_meet_the_reference_value(case):
    """With digits= every listed digit is right."""
    digits = case["digits"]
    value = te.predict(case["entry"], digits=digits, **case["inputs"]).outputs[case["output"]]
    with mp.workdps(digits + 10):
        reference = mp.mpf(case["value"])
        assert abs(value - reference) <= mp.mpf(10) ** (1 - digits) * abs(reference)


def test_the_slice_of_entries_is_covered():
    """The files must not silently stop matching any entry."""
    covered = {c.values[0]["entry"] for c in CASES}
    assert {"gaussian.erf-square", "gaussian.erf-miss", "marion2025.risk", "marion2025.oracle-risk"} <= covered
