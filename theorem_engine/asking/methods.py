"""One number by every backend: what each claims about its error, how far off it is, how long it takes."""

from __future__ import annotations

import textwrap
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from theorem_engine.asking.evaluation import named_point
from theorem_engine.asking.guard import guarded
from theorem_engine.asking.point import read_point
from theorem_engine.asking.prediction import Prediction, predict
from theorem_engine.base.errors import BadRequest, NotAvailable, TheoremEngineError, UnknownOutput, ValidityWarning
from theorem_engine.base.exact import to_text
from theorem_engine.base.text import error_text, jsonable, number_text
from theorem_engine.language.catalogue import Named, find_entry
from theorem_engine.language.entry import Entry

#: Digits of the evaluation with more than double precision, and of the certificate.
DIGITS = 30
#: What is asked, by the name of the row.
ASKED: Mapping[str, Mapping[str, Any]] = {
    "float64": {},
    f"digits={DIGITS}": {"digits": DIGITS},
    "certified": {"digits": DIGITS, "certified": True},
}
#: Evaluations that take longer are not repeated to be timed without their compilation.
SLOW = 5.0


@dataclass(frozen=True)
class Method:
    """What one backend answers, or why it does not."""

    name: str
    value: Any = None
    #: What the method says its error is.
    claimed: Any = None
    #: Distance from the reference; None for the reference itself.
    deviation: Any = None
    #: Whether the distance is within the claim and the reference's own error.
    holds: bool | None = None
    seconds: float | None = None
    refusal: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain data; numbers of more than double precision as text."""
        digits = None if self.name == "float64" else DIGITS
        return {
            "method": self.name,
            "value": jsonable(self.value, digits),
            "claimed": jsonable(self.claimed, None),
            "deviation": jsonable(self.deviation, None),
            "holds": self.holds,
            "seconds": self.seconds,
            "refusal": self.refusal,
        }


@dataclass(frozen=True)
class Methods:
    """The answers of all backends at a point, beside the sharpest one."""

    entry: Entry
    point: Mapping[str, Any]
    output: str
    #: The method that deviations are measured from; empty where only one answers.
    reference: str
    rows: tuple[Method, ...]
    #: Status of the certificate, where there is one.
    certificate: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "entry": self.entry.id,
            "point": {name: to_text(value) for name, value in self.point.items()},
            "output": self.output,
            "reference": self.reference,
            "certificate": self.certificate,
            "methods": [row.to_json() for row in self.rows],
        }

    def __str__(self) -> str:
        head = f"{self.entry.id}, {self.output} at " + ", ".join(f"{k}={to_text(v)}" for k, v in self.point.items())
        lines = textwrap.wrap(head, 80, subsequent_indent="  ")
        lines.append(f"  {'method':<10} {'value':<38} {'claimed':>8} {'off by':>8} {'time':>9}")
        notes = []
        for row in self.rows:
            if row.refusal:
                lines += textwrap.wrap(f"{row.name}: {row.refusal}", 78, initial_indent="  ", subsequent_indent="    ")
                continue
            digits = None if row.name == "float64" else DIGITS
            off = "-" if row.deviation is None else error_text(row.deviation)
            claimed = "none" if row.claimed is None else error_text(row.claimed)
            shown = number_text(row.value, digits)
            lines.append(f"  {row.name:<10} {shown:<38} {claimed:>8} {off:>8} {_time_text(row.seconds):>9}")
            if row.holds is False:
                notes.append(f"{row.name} is further off than it claims")
        lines += [f"  {note}" for note in notes]
        status = f" ({self.certificate})" if self.certificate else ""
        last = f"off by: distance from {self.reference}{status}" if self.reference else "nothing to compare with"
        lines.append(f"  {last}")
        return "\n".join(lines)

    __repr__ = __str__


def compare_methods(id: Named, *, output: str | None = None, **parameters: Any) -> Methods:
    """One output (the main one, if none is named) of an entry at a point by every backend that answers.

    Deviations are distances from the certified value, or from the one of 30 digits where there is no certificate;
    times are those of an evaluation that is compiled already.
    """
    entry = find_entry(id)
    name = entry.main_output if output is None else output
    if name not in entry.outputs:
        raise UnknownOutput(f"{entry.id} has no output {name!r}; it has {', '.join(entry.outputs)}")
    with guarded(entry, parameters, "reading the point"):
        point = named_point(entry, read_point(entry, parameters))
    found: dict[str, Prediction | str] = {}
    times: dict[str, float] = {}
    for method, asked in ASKED.items():
        found[method], times[method] = _answer(entry, {**parameters, **asked})
    answers = {method: answer for method, answer in found.items() if isinstance(answer, Prediction)}
    if not answers:
        raise NotAvailable(f"{entry.id}: no method answers here; {next(iter(found.values()))}")
    for answer in answers.values():
        _refuse_no_number(entry, name, answer.outputs[name])
    sharpest = next(method for method in reversed(list(ASKED)) if method in answers)
    reference = sharpest if sharpest != "float64" else ""
    rows = [
        Method(method, refusal=answer)
        if isinstance(answer, str)
        else _row(method, answer, name, times[method], None if method == sharpest else answers[sharpest])
        for method, answer in found.items()
    ]
    certificate = answers[sharpest].certificate
    return Methods(entry, point, name, reference, tuple(rows), "" if certificate is None else certificate.status)


def _answer(entry: Entry, query: Mapping[str, Any]) -> tuple[Prediction | str, float]:
    """A prediction, or the reason why there is none; and the seconds it took."""
    try:
        with warnings.catch_warnings():
            # the point is the same for all methods: the first of them says what is to be said about it
            if "digits" in query:
                warnings.simplefilter("ignore", ValidityWarning)
            answer = predict(entry, **query)
            begin = time.perf_counter()
            if answer.seconds < SLOW:
                warnings.simplefilter("ignore", ValidityWarning)
                answer = predict(entry, **query)
                return answer, time.perf_counter() - begin
            return answer, answer.seconds
    except TheoremEngineError as error:
        return str(error), 0.0


def _refuse_no_number(entry: Entry, name: str, value: Any) -> None:
    is_number = isinstance(value, (int, float, complex)) or hasattr(value, "_mpf_") or hasattr(value, "_mpc_")
    if isinstance(value, bool) or not is_number:
        raise BadRequest(f"{entry.id}: {name} is no single number, and methods are compared by numbers; name another")


def _row(method: str, answer: Prediction, name: str, seconds: float, reference: Prediction | None) -> Method:
    from mpmath import mp

    value, claimed = answer.outputs[name], answer.errors[name]
    if reference is None:
        return Method(method, value, claimed, seconds=seconds)
    with mp.workdps(2 * DIGITS):
        exact = mp.mpmathify(reference.outputs[name])
        here = mp.mpmathify(value)
        deviation = mp.zero if here == exact else abs(here - exact)
        slack = mp.mpmathify(reference.errors[name] or 0)
        holds = None if claimed is None else bool(deviation <= mp.mpmathify(claimed) + slack)
    return Method(method, value, claimed, float(deviation), holds, seconds)


def _time_text(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return f"{1e3 * seconds:.2f} ms" if seconds < 1 else f"{seconds:.2f} s"
