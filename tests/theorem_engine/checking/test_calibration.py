"""Calibration: z-scores of true theorems are standard normal, and campaigns raise no more alarms than they say."""

import math

import pytest
from scipy.stats import binom

import theorem_engine as te
from theorem_engine.checking.campaign import FAMILY_ALARM, run_campaign
from theorem_engine.checking.designed import find_design
from theorem_engine.checking.report import report_text

#: Entries whose check at a point takes milliseconds, with simulators that draw samples.
FAST = (
    "gaussian.erf-mean", "gaussian.erf-square", "gaussian.erf-miss", "gaussian.erf-moments", "marion2025.linear-risk",
    "marion2025.oracle-risk", "marion2025.manifold-risk", "marion2025.risk", "duranthon2026.bayes-risk",
    "duranthon2026.manifold-risk",
)  # fmt: skip
#: Probability with which a share of true z-scores is called incompatible with the normal law.
DOUBT = 1e-3


def z_scores(count, samples):
    """One z-score of each of so many checks: entries, points, seeds and outputs all change from one to the next.

    Outputs of one check are measured on the same draws; only one of them is taken, so that all are independent.
    """
    found = []
    for number in range(count):
        id = FAST[number % len(FAST)]
        points = find_design(te.entry(id)).points
        point = points[(number // len(FAST)) % len(points)]
        verdict = te.check(id, samples=samples, seed=1000 + number, **point)
        rows = [row for row in verdict.rows if row.z is not None and row.standard_error > 0 and row.samples > 500]
        # means made of a few samples have a law of their own, which a check refuses to judge
        rows = [row for row in rows if "a few of" not in row.reason]
        if rows:
            found.append(rows[(number // (len(FAST) * len(points))) % len(rows)].z)
    return found


def assert_normal(scores):
    n = len(scores)
    for threshold in (2.0, 3.0):
        beyond = sum(abs(z) > threshold for z in scores)
        probability = math.erfc(threshold / math.sqrt(2))
        low, high = binom.ppf(DOUBT / 2, n, probability), binom.isf(DOUBT / 2, n, probability)
        assert low <= beyond <= high, f"{beyond} of {n} |z| beyond {threshold}; {low:.0f} to {high:.0f} are likely"
    mean = sum(scores) / n
    variance = sum(z * z for z in scores) / n
    assert abs(mean) < 3.3 / math.sqrt(n)
    assert abs(variance - 1) < 3.3 * math.sqrt(2 / n)


def test_z_scores_of_true_theorems_are_standard_normal():
    scores = z_scores(120, 2000)
    assert len(scores) > 80
    assert_normal(scores)


def test_the_test_of_normality_can_fail():
    """Scores of errors stated a third too small, or too large, are noticed."""
    true = [math.sqrt(2) * _inverse_erf((2 * k + 1) / 120 - 1) for k in range(120)]
    assert_normal(true)
    for factor in (1.5, 0.66):
        with pytest.raises(AssertionError):
            assert_normal([factor * z for z in true])


def _inverse_erf(x):
    from scipy.special import erfinv

    return float(erfinv(x))


@pytest.mark.campaign
@pytest.mark.timeout(1800)
def test_four_hundred_z_scores_are_standard_normal():
    scores = z_scores(400, 20_000)
    assert len(scores) > 280
    assert_normal(scores)


@pytest.mark.campaign
@pytest.mark.timeout(3600)
def test_twenty_campaigns_raise_no_more_alarms_than_stated(tmp_path):
    alarms = 0
    for seed in range(20):
        campaign = run_campaign(FAST, samples=20_000, jobs=1, seed=seed, folder=tmp_path / str(seed), designed=True)
        alarms += campaign.count("disagrees") > 0
        assert campaign.count("disagrees") <= 1, report_text(campaign)
    # more than this would come of a campaign as good as its word once in a thousand
    assert alarms <= binom.isf(DOUBT, 20, FAMILY_ALARM)
