"""What holds for every entry of every paper, on the day it is added."""

import numpy as np
import pytest
from mpmath import mp

import theorem_engine as te
from theorem_engine.base.errors import NotAvailable
from theorem_engine.checking.declarations import incomplete_words, missing_domains, unused_needs
from theorem_engine.checking.numbers import bad_values, sample_points, wrong_derivatives

ENTRIES = te.entries()
#: Evaluated in every run, or only in the campaign.
EVALUATED = [pytest.param(e, marks=pytest.mark.campaign if e.costly else ()) for e in ENTRIES]


# whether a regime holds at a point is not under test here
pytestmark = pytest.mark.filterwarnings("ignore::theorem_engine.base.errors.ValidityWarning")


@pytest.mark.parametrize("entry", ENTRIES, ids=str)
def test_the_statement_is_complete(entry):
    """Words, letters with meanings and domains, outputs with meanings, a source, provenance, a check."""
    assert list(incomplete_words(entry)) == []
    assert list(missing_domains(entry)) == []
    assert entry.checks, "name a simulator or an exact cross-check"


@pytest.mark.parametrize("count", [2, pytest.param(6, marks=pytest.mark.campaign)])
@pytest.mark.parametrize("entry", EVALUATED, ids=str)
def test_predictions_lie_in_their_stated_range(entry, count):
    assert list(bad_values(entry, sample_points(entry, count))) == []


#: Digits of flows, of minima and of means over tokens of several scores take from ten seconds to minutes.
LONG = {
    "marion2025.gradient-flow", "duranthon2026.softplus-risk", "duranthon2026.minimal-risk",
    "duranthon2026.information-sum-rule", "duranthon2026.variable-length", "duranthon2026.population-risk",
    "duranthon2026.manifold-risk", "duranthon2026.excess-identity", "duranthon2026.element-wise-bound",
    "duranthon2026.softmax-optimality", "duranthon2026.erf-risk", "classics.binary-capacity",
    "classics.binary-entropy", "classics.edge-of-chaos", "classics.kernel-ridge", "liao2026.fresh-token-error",
    "liao2026.equal-strength-gap", "liao2026.imbalanced-error", "liao2026.finite-rank-error",
    "liao2026.class-imbalance", "duranthon2026.learning-coefficient", "duranthon2026.doubling",
    "classics.sign-perceptron-bayes", "classics.spiked-wigner", "classics.lasso", "liao2026.invariances",
    "liao2026.trained-weights-error", "liao2026.token-moments-error", "liao2026.strong-alignment-error",
}  # fmt: skip


@pytest.mark.parametrize(
    "entry",
    [pytest.param(e, id=str(e), marks=pytest.mark.campaign if e.costly or e.id in LONG else ()) for e in ENTRIES],
)
def test_double_precision_agrees_with_many_digits(entry):
    """The error claimed for float64 covers its distance from a 25-digit evaluation."""
    for point in sample_points(entry, 2):
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
    assert list(wrong_derivatives(entry, sample_points(entry, 2))) == []


@pytest.mark.parametrize("entry", [entry for entry in ENTRIES if entry.needs], ids=str)
def test_every_entry_that_is_needed_is_applied(entry):
    assert list(unused_needs(entry)) == []
