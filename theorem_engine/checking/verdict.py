"""Verdicts: a theorem against simulators that have never seen it.

Three answers, each with a stated error rate.

- ``disagrees``: the gap exceeds what chance allows. Over all outputs of a check the probability of a false
  alarm is ``false_alarm``, shared equally among them; thresholds are Student's, widened by the skewness of the mean.
- ``agrees``: no output disagrees, and at least half of them were measured so well that a deviation of one
  percent of their scale would have been reported 95 times in 100. The scale is the prediction, or the spread
  of a single draw where that is larger: what is small against the randomness of one draw needs a sample of its own.
- ``cannot tell``: everything else, with the reason.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from theorem_engine.asking.point import Point, read_point
from theorem_engine.base.errors import TheoremEngineError, ValidityWarning
from theorem_engine.base.exact import to_text
from theorem_engine.checking.evidence import POWER, RELEVANT, Effort, Evidence, Row, flat_outputs, read_effort
from theorem_engine.checking.simulation import gather, time_limit
from theorem_engine.checking.simulators import random_letters, split_variants
from theorem_engine.language.catalogue import Named, find_entry
from theorem_engine.language.entry import Entry

AGREES, DISAGREES, CANNOT_TELL = "agrees", "disagrees", "cannot tell"
#: Probability that a single check raises a false alarm.
FALSE_ALARM = 1e-3
#: Skewness of a mean, and share of its spread in a few samples, above which its law is not known well enough.
SKEWED, DOMINATED = 0.1, 0.05
#: Samples, at each size, below which nothing is concluded.
FEWEST = 8
#: A prediction that is a mean over random numbers may be off by so many of its errors, which cover 95 times in 100.
PREDICTED = 1.5
#: What runs of one computation differ by is taken as its error, this many times.
RUNS_APART = 30.0
#: An output predicted to be exactly zero is confirmed by zero up to this.
ROUNDING = 1e-9


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

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        from theorem_engine.base.text import jsonable

        return {name: jsonable(value, None) for name, value in vars(self).items()}


@dataclass(frozen=True)
class Verdict:
    """What came of a check; prints as a table."""

    entry: str
    verdict: str
    reason: str
    rows: tuple[Comparison, ...]
    point: Mapping[str, Any]
    seed: int
    samples: int
    seconds: float
    false_alarm: float
    #: Choices of the simulators that the theorem does not assume, by name.
    variants: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def outside(self) -> bool:
        """Whether the simulators drew outside the theorem's assumptions."""
        return bool(self.variants)

    @property
    def z(self) -> float | None:
        """The z-score furthest from zero."""
        return max((row.z for row in self.rows if row.z is not None), key=abs, default=None)

    def __bool__(self) -> bool:
        raise TypeError("a verdict has three values; compare verdict.verdict with 'agrees'")

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "entry": self.entry, "verdict": self.verdict, "reason": self.reason,
            "point": {name: to_text(value) for name, value in self.point.items()},
            "seed": self.seed, "samples": self.samples, "seconds": self.seconds, "false_alarm": self.false_alarm,
            "variants": dict(self.variants), "outside_assumptions": self.outside, "notes": list(self.notes),
            "rows": [row.to_json() for row in self.rows],
        }  # fmt: skip

    def __str__(self) -> str:
        point = ", ".join(f"{name}={to_text(value)}" for name, value in self.point.items())
        lines = [f"{self.entry} at {point}: {self.verdict.upper()}" + (f" ({self.reason})" if self.reason else "")]
        if self.outside:
            drawn = ", ".join(f"{name}={value}" for name, value in self.variants.items())
            lines.append(f"simulated with {drawn}: outside the theorem's assumptions, counted in no campaign")
        cells = [("output", "theorem", "simulation", "error", "z", "samples", "verdict")]
        for row in self.rows:
            z = "" if row.z is None else f"{row.z:+.2f}"
            cells.append(
                (row.output, _short(row.prediction), _short(row.estimate), f"{row.standard_error:.1e}", z,
                 str(row.samples), row.verdict)
            )  # fmt: skip
        widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
        if self.rows:
            padded = ([c.ljust(w) for c, w in zip(line, widths, strict=True)] for line in cells)
            lines += ["  " + "  ".join(line).rstrip() for line in padded]
        treatments = dict.fromkeys(f"{row.simulator}: {row.treatment}" for row in self.rows if row.treatment)
        lines += [f"  {text}" for text in (*treatments, *self.notes)]
        lines.append(f"  seed {self.seed}, {self.seconds:.1f} s, false-alarm rate {self.false_alarm:g}")
        return "\n".join(lines)

    __repr__ = __str__


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def check(
    id: Named,
    *,
    seconds: float = 20,
    samples: int | None = None,
    seed: int = 0,
    **point: Any,
) -> Verdict:
    """Whether an entry's simulators agree with it at a point: agrees, disagrees or cannot tell.

    Sampling ends when one percent of every output can be seen, or when the seconds are spent. With ``samples`` that
    many draws are the limit instead, and nothing depends on the clock. Beside its letters the point may hold choices
    that the entry's simulators declare (their ``variants``), to ask what happens outside the theorem's assumptions. A
    random prediction is drawn by the same seed, unless its letter is given.

    >>> check("gaussian.erf-mean", t="0.3", g="0.7", samples=400_000).verdict
    'agrees'
    """
    entry = find_entry(id)
    letters, variants = split_variants(entry, point)
    effort = read_effort(seconds, samples, seed, variants)
    return check_point(entry, {**dict.fromkeys(random_letters(entry), seed), **letters}, effort, FALSE_ALARM)


def check_point(entry: Entry, point: Mapping[str, Any], effort: Effort, false_alarm: float) -> Verdict:
    """The verdict with a given probability of a false alarm; bad input is an error, all else becomes a reason."""
    from theorem_engine.asking.evaluation import named_point
    from theorem_engine.asking.prediction import predict

    begin = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ValidityWarning)
        read = read_point(entry, point)
    notes = tuple(dict.fromkeys(str(w.message) for w in caught if issubclass(w.category, ValidityWarning)))
    named = named_point(entry, read)
    evidence, predicted, errors, is_doubtful = Evidence(), {}, {}, False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")

        def redraw(letter: str, values: Any) -> Mapping[str, Any]:
            return _random_predictions(entry, read, letter, values)

        try:
            with time_limit(effort.seconds):
                prediction = predict(entry.id, **point)
                predicted = flat_outputs(prediction.outputs)
                errors = _statistical_errors(entry, read)
        except (TheoremEngineError, TimeoutError) as error:
            evidence.problems.append(f"the theorem gives no number here: {error}")
        else:
            planned = replace(effort, threshold=_normal_threshold(false_alarm / max(1, min(4, len(predicted)))))
            evidence = gather(entry, named, predicted, planned, redraw)
            is_doubtful = prediction.error_kind == "approximate"
    found = [replace(row, systematic=row.systematic + PREDICTED * errors.get(row.output, 0.0)) for row in evidence.rows]
    rows = judge(found, predicted, false_alarm)
    verdict, reason = overall(rows, evidence.problems, is_warned=bool(notes) or is_doubtful)
    return Verdict(
        entry.id, verdict, reason, rows, named, effort.seed, sum(r.samples for r in rows),
        time.perf_counter() - begin, false_alarm, effort.variants, (*notes, *evidence.problems),
    )  # fmt: skip


def _statistical_errors(entry: Entry, point: Point) -> dict[str, float]:
    """Errors of the outputs of a prediction that is a mean over random numbers; none for others."""
    from theorem_engine.asking.error import float64_errors, is_statistical

    if not is_statistical(entry, point.options):
        return {}
    return {symbol.name: error for symbol, error in float64_errors(entry, point).items()}


def _random_predictions(entry: Entry, point: Point, letter: str, values: Any) -> dict[str, Any]:
    """Scalar outputs for many values of one letter at once."""
    import numpy as np
    import sympy

    from theorem_engine.asking.evaluation import evaluate_float64, plan_of
    from theorem_engine.backends import get_backend

    number = get_backend("float64").number
    statement, _ = plan_of(entry, point.options)
    given = [
        np.asarray(values, dtype=float) if x.name == letter else number(v)
        for x, v in zip(statement.given, point.values, strict=True)
    ]
    results = evaluate_float64(entry, point.options, given)
    scalar = {name: shape for name, shape in statement.outputs.items() if isinstance(shape, sympy.Symbol)}
    return {name: results[symbol] for name, symbol in scalar.items()}


def judge(rows: Sequence[Row], predicted: Mapping[str, Any], false_alarm: float) -> tuple[Comparison, ...]:
    """Compare every row with its prediction; the false-alarm rate is shared equally among the rows."""
    each = false_alarm / max(1, len(rows))
    return tuple(_compare(row, predicted[row.output], each) for row in rows)


def overall(rows: Sequence[Comparison], problems: Sequence[str], is_warned: bool = False) -> tuple[str, str]:
    """The verdict of a check from those of its outputs."""
    against = [row for row in rows if row.verdict == DISAGREES]
    if against:
        worst = max(against, key=lambda row: abs(row.z or 0.0))
        if is_warned:
            return CANNOT_TELL, f"{worst.output} is off, where the entry itself warns that it is not exact"
        return DISAGREES, f"{worst.output}: {worst.reason}"
    if not rows:
        return CANNOT_TELL, "; ".join(problems) or "no simulator covers an output of this entry"
    # several simulators may cover one output: one that sees enough is enough
    agreed = {row.output for row in rows if row.verdict == AGREES}
    open_rows = [row for row in rows if row.output not in agreed]
    left = list(dict.fromkeys(row.output for row in open_rows))
    if len(agreed) < len(left) or not agreed:
        return CANNOT_TELL, "; ".join(dict.fromkeys(f"{row.output}: {row.reason}" for row in open_rows[:3]))
    return AGREES, f"not resolved: {', '.join(left)}" if left else ""


def _normal_threshold(probability: float) -> float:
    from scipy.special import ndtri

    return -float(ndtri(probability / 2))


def _compare(row: Row, prediction: Any, alarm: float) -> Comparison:
    prediction = prediction if row.predicted is None else row.predicted
    if row.problem:
        verdict, z, visible, reason = CANNOT_TELL, None, None, row.problem
    elif not isinstance(prediction, float) or not isinstance(row.estimate, float) or _is_infinite(prediction, row):
        same = prediction == row.estimate
        verdict, z, visible = (AGREES if same else DISAGREES), None, None
        reason = "" if same else f"{_short(prediction)} is predicted, {_short(row.estimate)} found"
    elif row.deterministic or row.standard_error == 0:
        verdict, z, visible, reason = _compare_computed(row, prediction)
    else:
        verdict, z, visible, reason = _compare_sampled(row, prediction, alarm)
    numbers = isinstance(prediction, float) and isinstance(row.estimate, float)
    return Comparison(
        row.output, row.simulator, verdict, prediction, row.estimate, row.standard_error, z, row.samples,
        row.treatment, row.raw - prediction if numbers and row.raw is not None else None,
        row.estimate - prediction if numbers else None, visible, reason,
    )  # fmt: skip


def _is_infinite(prediction: float, row: Row) -> bool:
    return math.isinf(prediction) or math.isinf(row.estimate)


def _compare_computed(row: Row, prediction: float) -> tuple[str, float | None, float | None, str]:
    """Agreement up to the accuracy of both computations."""
    gap = abs(row.estimate - prediction)
    scale = max(abs(prediction), row.scale)
    relative = row.tolerance if row.deterministic else ROUNDING
    tolerance = max(relative * max(scale, abs(row.estimate)), RUNS_APART * row.spread, row.systematic)
    if not tolerance:
        tolerance = ROUNDING if prediction == 0 else 0.0
    if not gap <= tolerance:
        return DISAGREES, None, None, f"the gap {gap:.2g} exceeds the accuracy {tolerance:.2g} of both computations"
    visible = tolerance / scale if scale else 0.0
    if visible > RELEVANT:
        return CANNOT_TELL, None, visible, f"the computation is accurate to {tolerance:.1g} only"
    return AGREES, None, visible, ""


def _compare_sampled(row: Row, prediction: float, alarm: float) -> tuple[str, float | None, float | None, str]:
    """A test of the mean, and whether it could have failed."""
    from scipy.special import stdtrit

    gap, error = row.estimate - prediction, row.standard_error
    z = gap / error
    if prediction == 0 and abs(gap) + error <= ROUNDING:
        return AGREES, z, 0.0, ""
    if row.degrees < FEWEST - 1:
        return CANNOT_TELL, z, None, f"{row.degrees + 1:.0f} samples are too few to know their own spread"
    if abs(row.skewness) > SKEWED or row.dominance > DOMINATED:
        return CANNOT_TELL, z, None, f"a few of {row.samples} samples make up the mean: its error is not known"
    threshold = -float(stdtrit(row.degrees, alarm / 2)) if row.degrees < 1e6 else _normal_threshold(alarm)
    # Cornish-Fisher: the quantile of a studentised mean moves by this much with the skewness
    threshold += abs(row.skewness) * (2 * threshold**2 + 1) / 6
    scale = max(abs(prediction), row.spread, row.scale)
    visible = ((threshold + POWER) * error + row.systematic) / scale
    if abs(gap) > threshold * error + row.systematic + 1e-12 * abs(prediction):
        if row.one_size:
            return CANNOT_TELL, z, visible, f"{gap:+.3g} off at one size, which does not refute a limit"
        return DISAGREES, z, visible, f"{gap:+.3g} off, {abs(z):.1f} standard errors, threshold {threshold:.2f}"
    if visible > RELEVANT:
        return CANNOT_TELL, z, visible, f"{row.samples} samples show deviations above {100 * visible:.2g} % only"
    return AGREES, z, visible, ""
