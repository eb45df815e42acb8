"""Samples that are all equal: a rare event that none of them met is no disagreement, a larger gap is."""

import pytest

from theorem_engine.checking.comparison import judge
from theorem_engine.checking.evidence import Row


def verdict(prediction, samples):
    row = Row("share", "coins", 1.0, 0.0, samples=samples, degrees=samples - 1)
    (found,) = judge([row], {"share": prediction}, 1e-3)
    return found.verdict


@pytest.mark.parametrize(
    ("prediction", "samples", "expected"),
    [
        # none of a million tosses fell on an edge of probability 2e-7: that happens 82 times in 100
        (1 - 2e-7, 10**6, "cannot tell"),
        # a share of 1e-5 is missed by a million tosses with probability exp(-10), below the false alarm
        (1 - 1e-5, 10**6, "disagrees"),
        (1 - 1e-2, 10**4, "disagrees"),
        (1.0, 10**4, "agrees"),
    ],
)
def test_all_samples_equal(prediction, samples, expected):
    assert verdict(prediction, samples) == expected
