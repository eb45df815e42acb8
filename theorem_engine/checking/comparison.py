"""Comparisons: one output of a theorem against what one simulator says about it.

A z-score beyond the threshold is a disagreement, or is put down to a systematic error that the row names; it is never
an agreement. An output that the simulator was told by the prediction can be refuted by it, and is marked.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from theorem_engine.checking.evidence import POWER, RELEVANT, ROUNDING, Row

AGREES, DISAGREES, CANNOT_TELL = "agrees", "disagrees", "cannot tell"
#: Skewness of a mean, and share of its spread in a few samples, above which its law is not known well enough.
SKEWED, DOMINATED = 0.1, 0.05
#: Samples, at each size, below which nothing is concluded.
FEWEST = 8
#: What runs of one computation differ by is taken as its error, this many times.
RUNS_APART = 30.0


@dataclass(frozen=True)
class Comparison:
    """One output: what the theorem says, what a simulator says, and what follows."""

    output: str
    simulator: str
    verdict: str
    prediction: Any
    estimate: Any
    standard_error: float
    z: float | None
    samples: int
    treatment: str
    #: Gap at the largest size simulated, for limits; the gap is that after extrapolation.
    raw_gap: float | None
    gap: float | None
    #: Smallest deviation, relative to the scale, that would have been reported 95 times in 100.
    visible: float | None
    reason: str = ""
    #: Whether the simulator was told this output by the prediction, and returned what it must equal by an identity.
    given: bool = False
    #: Whether the gap exceeds what chance allows and is put down to something else, which the reason names.
    explained: bool = False

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        from theorem_engine.base.text import jsonable

        return {name: jsonable(value, None) for name, value in vars(self).items()}


def judge(rows: Sequence[Row], predicted: Mapping[str, Any], false_alarm: float) -> tuple[Comparison, ...]:
    """Compare every row with its prediction; the false-alarm rate is shared equally among the rows."""
    each = false_alarm / max(1, len(rows))
    return tuple(_compare(row, predicted[row.output], each) for row in rows)


def short(value: Any) -> str:
    """A number in six digits, anything else as it is."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def normal_threshold(probability: float) -> float:
    """What a standard normal number exceeds, on either side, with a given probability."""
    from scipy.special import ndtri

    return -float(ndtri(probability / 2))


def _compare(row: Row, prediction: Any, alarm: float) -> Comparison:
    prediction = prediction if row.predicted is None else row.predicted
    explained = False
    if row.problem:
        verdict, z, visible, reason = CANNOT_TELL, None, None, row.problem
    elif not isinstance(prediction, float) or not isinstance(row.estimate, float) or _is_infinite(prediction, row):
        same = prediction == row.estimate
        verdict, z, visible = (AGREES if same else DISAGREES), None, None
        reason = "" if same else f"{short(prediction)} is predicted, {short(row.estimate)} found"
    elif row.deterministic or row.standard_error == 0:
        verdict, z, visible, reason = _compare_computed(row, prediction, alarm)
    else:
        verdict, z, visible, reason, explained = _compare_sampled(row, prediction, alarm)
    numbers = isinstance(prediction, float) and isinstance(row.estimate, float)
    treatment = f"given by the prediction, returned by an identity; {row.treatment}" if row.given else row.treatment
    return Comparison(
        row.output, row.simulator, verdict, prediction, row.estimate, row.standard_error, z, row.samples,
        treatment, row.raw - prediction if numbers and row.raw is not None else None,
        row.estimate - prediction if numbers else None, visible, reason, row.given, explained,
    )  # fmt: skip


def _is_infinite(prediction: float, row: Row) -> bool:
    return math.isinf(prediction) or math.isinf(row.estimate)


def _compare_computed(row: Row, prediction: float, alarm: float) -> tuple[str, float | None, float | None, str]:
    """Agreement up to the accuracy of both computations.

    Samples that are all equal may have missed an event that is rare: one that moves the value by no more than its own
    size, and the mean by the gap, is missed by all of them with a probability that must be below the false alarm.
    """
    gap = abs(row.estimate - prediction)
    scale = max(abs(prediction), row.scale)
    relative = row.tolerance if row.deterministic else ROUNDING
    tolerance = max(relative * max(scale, abs(row.estimate)), RUNS_APART * row.spread, row.systematic)
    if not tolerance:
        tolerance = ROUNDING if prediction == 0 else 0.0
    if not gap <= tolerance:
        size = max(scale, abs(row.estimate))
        if not row.deterministic and gap * row.samples <= -math.log(alarm) * size:
            return (
                CANNOT_TELL,
                None,
                None,
                f"all {row.samples} samples are equal, and a rare event would explain the gap",
            )
        return DISAGREES, None, None, f"the gap {gap:.2g} exceeds the accuracy {tolerance:.2g} of both computations"
    visible = tolerance / scale if scale else 0.0
    if visible > RELEVANT:
        return CANNOT_TELL, None, visible, f"the computation is accurate to {tolerance:.1g} only"
    return AGREES, None, visible, ""


def _compare_sampled(row: Row, prediction: float, alarm: float) -> tuple[str, float | None, float | None, str, bool]:
    """A test of the mean, whether it could have failed, and whether a gap is put down to a systematic error."""
    from scipy.special import stdtrit

    gap, error = row.estimate - prediction, row.standard_error
    z = gap / error
    if prediction == 0 and abs(gap) + error <= ROUNDING:
        return AGREES, z, 0.0, "", False
    threshold = -float(stdtrit(row.degrees, alarm / 2)) if row.degrees < 1e6 else normal_threshold(alarm)
    # Cornish-Fisher: the quantile of a studentised mean moves by this much with the skewness
    threshold += abs(row.skewness) * (2 * threshold**2 + 1) / 6
    beyond = abs(gap) > threshold * error + 1e-12 * abs(prediction)
    if row.degrees < FEWEST - 1:
        few = f"{row.degrees + 1:.0f} samples are too few to know their own spread; {FEWEST} at each size would do"
        return CANNOT_TELL, z, None, few, beyond
    if abs(row.skewness) > SKEWED or row.dominance > DOMINATED:
        rare = f"a few of {row.samples} samples make up the mean: its error is not known without many times as many"
        return CANNOT_TELL, z, None, rare, beyond
    # where zero is predicted and all samples are the same, what they are is the only size there is
    scale = max(abs(prediction), row.spread, row.scale) or max(abs(row.estimate), error)
    visible = ((threshold + POWER) * error + row.systematic) / scale
    if beyond and abs(gap) > threshold * error + row.systematic + 1e-12 * abs(prediction):
        if row.one_size:
            return CANNOT_TELL, z, visible, f"{gap:+.3g} off at one size, which does not refute a limit", True
        return DISAGREES, z, visible, f"{gap:+.3g} off, {abs(z):.1f} standard errors, threshold {threshold:.2f}", False
    if beyond:
        cause = row.systematic_of or "the stated bound of the simulator"
        left = (
            f"{gap:+.3g} off, {abs(z):.1f} standard errors, within the systematic error {row.systematic:.2g} of {cause}"
        )
        return CANNOT_TELL, z, visible, left, True
    if visible > RELEVANT:
        few = f"{row.samples} samples show deviations above {100 * visible:.2g} % only; {_takes(row, threshold, scale)}"
        return CANNOT_TELL, z, visible, few, False
    return AGREES, z, visible, "", False


def _takes(row: Row, threshold: float, scale: float) -> str:
    """What it would take to see a relevant deviation."""
    room = RELEVANT * scale - row.systematic
    if room <= 0:
        share = 100 * row.systematic / scale if scale else math.inf
        return f"the systematic error of {row.systematic_of or 'the simulator'} alone is {share:.2g} %"
    times = ((threshold + POWER) * row.standard_error / room) ** 2
    return f"{100 * RELEVANT:g} % takes about {max(1.1, times):.2g} times as long"
