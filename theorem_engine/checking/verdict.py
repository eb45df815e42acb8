"""Verdicts: a theorem against simulators that have never seen it.

Three answers, each with a stated error rate, and with the outputs they speak about.

- ``disagrees``: the gap of some output exceeds what chance allows. Over all outputs of a check the probability of a
  false alarm is ``false_alarm``, shared equally among them; thresholds are Student's, widened by the skewness of
  the mean.
- ``agrees``: every output that was measured was measured so well that a deviation of one percent of its scale would
  have been reported 95 times in 100, and none is off. The scale is the prediction, or the spread of a single draw where
  that is larger: what is small against the randomness of one draw needs a sample of its own. Outputs that nothing here
  measures are named beside it.
- ``cannot tell``: everything else, with the reason.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from theorem_engine.asking.point import Point, read_point
from theorem_engine.base.errors import TheoremEngineError, ValidityWarning
from theorem_engine.base.exact import to_text
from theorem_engine.checking.comparison import (
    AGREES,
    CANNOT_TELL,
    DISAGREES,
    Comparison,
    judge,
    normal_threshold,
    short,
)
from theorem_engine.checking.evidence import RELEVANT, Effort, Evidence, Redraw, Row, flat_outputs, read_effort
from theorem_engine.checking.outcome import Outcome, outcomes, overall
from theorem_engine.checking.simulation import gather, time_limit
from theorem_engine.checking.simulators import random_letters, split_variants, unchecked_outputs
from theorem_engine.language.catalogue import Named, find_entry
from theorem_engine.language.entry import Entry

__all__ = ["AGREES", "CANNOT_TELL", "DISAGREES", "FALSE_ALARM", "Comparison", "Verdict", "check", "check_point"]

#: Probability that a single check raises a false alarm.
FALSE_ALARM = 1e-3
#: A prediction that is a mean over random numbers may be off by so many of its errors, which cover 95 times in 100.
PREDICTED = 1.5
#: Standard errors in one of its errors, and how many of these have to fit into what is relevant to be one among two.
COVERED, COARSE = 1.96, 5.5
#: Outputs smaller than this are looked at: they may be zero up to rounding.
ROUNDED = 1e-12


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
    #: What the check says about each output of the entry.
    outputs: tuple[Outcome, ...] = ()

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
            "outputs": {outcome.output: outcome.to_json() for outcome in self.outputs},
            "rows": [row.to_json() for row in self.rows],
        }  # fmt: skip

    def __str__(self) -> str:
        point = ", ".join(f"{name}={to_text(value)}" for name, value in self.point.items())
        # a verdict is not repeated before the outputs that it is about
        reason = self.reason.removeprefix(f"{self.verdict}: ")
        lines = [f"{self.entry} at {point}: {self.verdict.upper()}" + (f" ({reason})" if reason else "")]
        if self.outside:
            drawn = ", ".join(f"{name}={value}" for name, value in self.variants.items())
            lines.append(f"simulated with {drawn}: outside the theorem's assumptions, counted in no campaign")
        cells = [("output", "theorem", "simulation", "error", "z", "sees", "samples", "verdict")]
        for row in self.rows:
            z = "" if row.z is None else f"{row.z:+.2f}"
            cells.append(
                (row.output, short(row.prediction), short(row.estimate), f"{row.standard_error:.1e}", z,
                 "" if row.visible is None else f"{100 * row.visible:.2g} %", str(row.samples), row.verdict)
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
    return examine(entry, point, effort, false_alarm).verdict()


#: What has the simulators of an entry speak at a point, as ``gather`` does.
Gather = Callable[[Entry, Mapping[str, Any], Mapping[str, Any], Effort, Redraw], Evidence]


@dataclass(frozen=True)
class Examined:
    """A point of an entry: what is predicted there, and what its simulators say."""

    entry: Entry
    point: Point
    named: Mapping[str, Any]
    effort: Effort
    false_alarm: float
    predicted: Mapping[str, Any]
    #: Errors of predictions that are means over random numbers.
    errors: Mapping[str, float]
    evidence: Evidence
    #: Warnings about the point.
    notes: tuple[str, ...] = ()
    #: Whether the entry says itself that it is not exact here: then a check disagrees with nothing.
    is_warned: bool = False
    seconds: float = 0.0

    def compared(self, rows: Sequence[Row], predicted: Mapping[str, Any]) -> tuple[Comparison, ...]:
        """Rows of simulators against a prediction."""
        return tuple(judge([with_own_error(row, self.errors) for row in rows], predicted, self.false_alarm))

    def overall(self, rows: Sequence[Row], predicted: Mapping[str, Any]) -> str:
        """The verdict on a prediction, a wrong one maybe, by these rows."""
        found = outcomes(self.compared(rows, predicted), list(predicted))
        return overall(found, self.evidence.problems, self.is_warned)[0]

    def verdict(self) -> Verdict:
        """The verdict on the entry itself."""
        rows = self.compared(self.evidence.rows, self.predicted)
        found = outcomes(rows, list(self.predicted), unchecked_outputs(self.entry))
        verdict, reason = overall(found, self.evidence.problems, self.is_warned)
        return Verdict(
            self.entry.id, verdict, reason, rows, self.named, self.effort.seed, sum(r.samples for r in rows),
            self.seconds, self.false_alarm, self.effort.variants, (*self.notes, *self.evidence.problems), found,
        )  # fmt: skip


def examine(
    entry: Entry, point: Mapping[str, Any], effort: Effort, false_alarm: float, gathered: Gather = gather
) -> Examined:
    """A point with its prediction and all that its simulators say; one without a prediction has a reason instead."""
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
            return random_predictions(entry, read, letter, values)

        try:
            with time_limit(effort.seconds):
                prediction = predict(entry.id, **point)
                predicted = without_rounding(prediction, flat_outputs(prediction.outputs))
                errors = statistical_errors(entry, read)
        except (TheoremEngineError, TimeoutError) as error:
            evidence.problems.append(f"the theorem gives no number here: {error}")
        else:
            planned = replace(effort, threshold=normal_threshold(false_alarm / max(1, min(4, len(predicted)))))
            evidence = gathered(entry, named, predicted, planned, redraw)
            is_doubtful = prediction.error_kind == "approximate"
    return Examined(
        entry, read, named, effort, false_alarm, predicted, errors, evidence, notes, bool(notes) or is_doubtful,
        time.perf_counter() - begin,
    )  # fmt: skip


def without_rounding(prediction: Any, predicted: Mapping[str, Any]) -> dict[str, Any]:
    """Outputs of which those that are nothing but rounding are zero: a sum that cancels, known to no digit."""
    tiny = {name for name, value in predicted.items() if isinstance(value, float) and 0 < abs(value) < ROUNDED}
    if not tiny:
        return dict(predicted)
    own = flat_outputs(prediction.errors)
    nothing = {name for name in tiny if isinstance(own.get(name), float) and own[name] >= abs(predicted[name])}
    return {name: 0.0 if name in nothing else value for name, value in predicted.items()}


def with_own_error(row: Row, errors: Mapping[str, float]) -> Row:
    """A row that allows for the error of a prediction which is a mean over random numbers too.

    Beside a sample's it is one more independent error, and their squares add up. A computation, or a prediction too
    coarse to show what is relevant however long one samples, has it as a systematic error.
    """
    own = errors.get(row.output, 0.0)
    if not own:
        return row
    share = own / COVERED
    scale = max(abs(row.estimate), row.scale, row.spread) if isinstance(row.estimate, float) else 0.0
    if not row.deterministic and row.standard_error > 0 and COARSE * share < RELEVANT * scale:
        return replace(row, standard_error=math.hypot(row.standard_error, share))
    cause = " and ".join(filter(None, [row.systematic_of, "the prediction's own random numbers"]))
    return replace(row, systematic=row.systematic + PREDICTED * own, systematic_of=cause)


def statistical_errors(entry: Entry, point: Point) -> dict[str, float]:
    """Errors of the outputs of a prediction that is a mean over random numbers; none for others."""
    from theorem_engine.asking.error import float64_errors, is_statistical

    if not is_statistical(entry, point.options):
        return {}
    return {symbol.name: error for symbol, error in float64_errors(entry, point).items()}


def random_predictions(entry: Entry, point: Point, letter: str, values: Any) -> dict[str, Any]:
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
