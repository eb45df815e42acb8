"""What is known for and against an entry: whether it evaluates, what is proved, what checks found.

How a number behaves is found out here, at the point of the entry's example. What simulators say is read from the
evidence ledger of the registry, which campaigns write; where there is none, nothing is claimed.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from theorem_engine.asking.prediction import predict
from theorem_engine.base.errors import TheoremEngineError, ValidityWarning
from theorem_engine.base.text import error_text, value_text
from theorem_engine.checking.record import VERDICTS
from theorem_engine.language.entry import Entry
from theorem_engine.showing.example import example_of

STATED, EVALUATED, CERTIFIED = "stated", "evaluated", "certified"
AGREES = VERDICTS[0]
UNCHECKED = "unchecked"
#: The module that keeps what campaigns found.
LEDGER = "theorem_engine.checking.ledger"


@dataclass(frozen=True)
class Evidence:
    """The state of an entry: how far its number is known, and what checks say of it."""

    id: str
    #: ``stated``, ``evaluated`` (a number with a finite error) or ``certified`` (a proven one).
    border: str
    #: A verdict, or ``unchecked``.
    fill: str
    #: Sentences about the number.
    number: tuple[str, ...] = ()
    #: What the ledger says in one sentence, and its checks one by one.
    said: str = ""
    checks: tuple[Mapping[str, Any], ...] = ()
    needs: tuple[str, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        """Plain data, which ``from_json`` reads."""
        return asdict(self)


def from_json(data: Mapping[str, Any]) -> Evidence:
    """Evidence from plain data."""
    fields: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in data.items()}
    return Evidence(**fields)


def evidence_of(entry: Entry) -> Evidence:
    """What is known of an entry now."""
    border, sentences = _number(entry)
    ledger = ledger_of(entry) or Ledger(UNCHECKED, "", ())
    needs = tuple(dict.fromkeys(entry.needs.values()))
    return Evidence(entry.id, border, ledger.verdict, tuple(sentences), ledger.said, ledger.checks, needs)


def strong(all_evidence: Mapping[str, Evidence]) -> set[str]:
    """Entries whose number is proved and agrees with simulators, as do all entries that they rest on."""
    found: set[str] = set()
    known: dict[str, bool] = {}

    def is_strong(id: str) -> bool:
        if id not in known:
            # an entry that rests on itself through others is not decided by itself
            known[id] = False
            mine = all_evidence.get(id)
            known[id] = (
                mine is not None
                and (mine.border, mine.fill) == (CERTIFIED, AGREES)
                and all(is_strong(need) for need in mine.needs)
            )
        return known[id]

    found.update(id for id in all_evidence if is_strong(id))
    return found


def _number(entry: Entry) -> tuple[str, list[str]]:
    """How far the number at the example's point is known, with sentences."""
    example = example_of(entry)
    if example is None:
        return STATED, ["The entry has no example, so nothing was evaluated for this page."]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ValidityWarning)
        try:
            prediction = predict(entry.id, **example.point)
            name, error = entry.main_output, prediction.error
            shown = value_text(prediction.value, error, None)
        except (TheoremEngineError, TypeError, ValueError) as reason:
            words = str(reason).removeprefix(f"{entry.id}: ")
            return STATED, [f"The example was not evaluated: {words}"]
        kind = prediction.error_kind
        said = [f"At the example's point {name} = {shown}, {_error_words(error, kind)}."]
        if entry.costly:
            return EVALUATED, [*said, "No proof of the number was asked for: one value can take many seconds."]
        try:
            proof = predict(entry.id, certified=True, **example.point)
        except TheoremEngineError as reason:
            words = str(reason).removeprefix(f"{entry.id}: ")
            return EVALUATED, [*said, f"The number is not proved: {words}"]
    status = proof.certificate.status if proof.certificate is not None else ""
    radius = error_text(proof.error) if not isinstance(proof.error, Mapping) else ""
    return CERTIFIED, [
        *said,
        f"The number is proved in ball arithmetic ({status}{f', radius {radius}' if radius else ''}).",
    ]


def _error_words(error: Any, kind: str) -> str:
    try:
        known = float(error) == float(error) and abs(float(error)) != float("inf")
    except (TypeError, ValueError):
        known = False
    return f"with an error of {error_text(error)} ({kind})" if known else "with an error that is not known"


@dataclass(frozen=True)
class Ledger:
    """What is on record about an entry as it is now: a verdict, a sentence, and the checks behind them."""

    verdict: str
    said: str
    checks: tuple[Mapping[str, Any], ...]


def record_of(entry: Entry) -> Mapping[str, Any] | None:
    """What campaigns wrote down about an entry, of whatever equations; None where nothing is on record."""
    try:
        ledger: Any = importlib.import_module(LEDGER)
    except ModuleNotFoundError:
        return None
    found: Mapping[str, Any] | None = ledger.read_paper(entry.paper, ledger.ledger_folder()).get(entry.id)
    return found


def ledger_of(entry: Entry) -> Ledger | None:
    """What the ledger holds about an entry; None where nothing is on record, or no ledger is kept."""
    record = record_of(entry)
    if record is None:
        return None
    found = importlib.import_module(LEDGER).evidence_of(entry)
    if found.verdict == UNCHECKED:
        # other equations were checked: what was found then is not about these
        return Ledger(UNCHECKED, str(found), ())
    return Ledger(found.verdict, str(found), tuple(record["checks"]))
