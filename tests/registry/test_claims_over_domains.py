"""Claimed errors at points from every entry's domain, ends included, against enclosures or 30 digits.

The truth is the enclosure where there is a certificate, else the same equations at 30 digits, which checks the
arithmetic alone. An error that is honest must also be of use: its median is not above 300 times the true one.
"""

import math
import warnings
from contextlib import suppress

import numpy as np
import pytest
from mpmath import mp

import theorem_engine as te
from theorem_engine.asking.point import read_point
from theorem_engine.asking.random_point import draw_point
from theorem_engine.base.errors import NotAvailable, NotConverged, TheoremEngineError, ValidityWarning
from theorem_engine.language.domains import Integers, Interval

ENTRIES = [e for e in te.entries() if e.error_kind != "statistical"]
#: Points of the campaign where one takes from several seconds to minutes.
FEWER = {
    "duranthon2026.gradient-flow": 1, "duranthon2026.mismatched-minimum": 1, "duranthon2026.information-sum-rule": 1,
    "duranthon2026.softplus-risk": 4, "marion2025.gradient-flow": 3, "duranthon2026.minimal-risk": 15,
    "duranthon2026.population-risk": 10, "duranthon2026.variable-length": 15, "duranthon2026.erf-risk": 20,
    "duranthon2026.manifold-risk": 20, "duranthon2026.excess-identity": 20, "duranthon2026.large-sample-limit": 15,
    "duranthon2026.mismatched-region": 1,
}  # fmt: skip
#: Random steps are drawn in double precision: there is no truth beyond it.
DRAWN = {"marion2025.stochastic-pgd"}
#: Seconds each, for code that is compiled or searches that are long.
LONG = {
    "liao2026.limits", "liao2026.class-imbalance", "liao2026.softmax", "duranthon2026.length-asymptotics",
    "marion2025.critical-lambda", "marion2025.pgd", "liao2026.invariances", "liao2026.finite-rank-error",
    "liao2026.fresh-token-error", "liao2026.imbalanced-error", "liao2026.token-moments-error",
    "liao2026.strong-alignment-error", "liao2026.equal-strength-gap", "classics.edge-of-chaos",
    "liao2026.trained-weights-error", "marion2025.convergence", "duranthon2026.descent-limits",
}  # fmt: skip
QUICK = [e for e in ENTRIES if not e.costly and e.id not in {*FEWER, *DRAWN, *LONG}]
#: A useful error, as a multiple of the true one.
USEFUL = 300


def ends_of(letter):
    """Ends of the typical range of a letter, or of its domain."""
    if not isinstance(letter.domain, (Interval, Integers)):
        return []
    found = letter.typical or (letter.domain.low, letter.domain.high)
    return [end for end in found if end is not None and math.isfinite(end)]


def points_of(entry, count, seed):
    """Points drawn from the whole domain, a third of them with one letter moved to an end where that is allowed."""
    rng = np.random.default_rng([seed, *entry.id.encode()])
    found = []
    # an entry without letters has a single point
    for i in range(count if entry.given else 1):
        point = draw_point(entry, rng)
        ends = [(x.name, end) for x in entry.given if x.name in point for end in ends_of(x)]
        if i % 3 == 0 and ends:
            moved = {**point, **dict([ends[rng.integers(len(ends))]])}
            with warnings.catch_warnings(), suppress(TheoremEngineError):
                warnings.simplefilter("ignore", ValidityWarning)
                read_point(entry, moved)
                point = moved
        found.append(point)
    return found


def flat(value):
    """All numbers of an output."""
    if isinstance(value, dict):
        return [x for part in value.values() for x in flat(part)]
    if isinstance(value, (list, tuple)):
        return [x for part in value for x in flat(part)]
    return list(np.ravel(value)) if getattr(value, "ndim", 0) else [value]


def truth_of(entry, point, digits):
    """An enclosure, or many digits if they are wanted; None where there is neither."""
    try:
        return te.predict(entry.id, certified=True, digits=20, **point)
    except (NotAvailable, NotConverged):
        if not digits:
            return None
    try:
        return te.predict(entry.id, digits=digits, **point)
    except (NotAvailable, NotConverged):
        return None


def compare(entry, points, digits=None):
    """Claims over true errors of all outputs at all points; no claim is smaller than the truth."""
    ratios = []
    for point in points:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ValidityWarning)
            try:
                quick = te.predict(entry.id, **point)
            except (NotAvailable, NotConverged):
                continue
            errors = quick.errors
            assert set(errors) == set(quick.outputs)
            assert not any(e is not None and math.isnan(e) for e in flat(list(errors.values())))
            truth = truth_of(entry, point, digits)
        if truth is None:
            continue
        for name, output in quick.outputs.items():
            radii = flat(truth.errors[name]) if truth.certificate else [0.0] * len(flat(output))
            columns = flat(output), flat(truth.outputs[name]), flat(errors[name]), radii
            for value, exact, claim, radius in zip(*columns, strict=True):
                if isinstance(value, (bool, str)) or claim is None or not np.isfinite(value):
                    assert value == exact, (point, name)
                    continue
                with mp.workdps(40):
                    distance = float(abs(mp.mpmathify(value) - mp.mpmathify(exact)))
                assert distance - float(radius or 0) <= claim, (point, name, value, exact, claim)
                # a number is known to half a unit in its last place at best; a difference that vanishes has no unit
                if distance or value:
                    ratios.append(claim / max(distance, abs(value) * 2.0**-54))
                else:
                    ratios.append(0.0)
    return ratios


@pytest.mark.parametrize("entry", QUICK, ids=lambda entry: entry.id)
def test_claims_cover_the_distance_from_enclosures(entry):
    """Five points each; entries that take long, and those without a certificate, have theirs in the campaign."""
    compare(entry, points_of(entry, 5, 1))


@pytest.mark.campaign
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_claims_cover_the_truth_over_the_domain_and_are_of_use(entry):
    ratios = compare(entry, points_of(entry, FEWER.get(entry.id, 50), 2), digits=30)
    assert ratios or entry.id in DRAWN
    finite = [r for r in ratios if np.isfinite(r) and r > 0]
    assert not finite or np.median(finite) <= USEFUL
