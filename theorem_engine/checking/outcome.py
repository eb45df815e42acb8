"""Outcomes: what a check says about each output, and what follows for the whole.

- ``disagrees``: some simulator found it off by more than chance and every stated systematic error allow.
- ``agrees``: measured so well that one percent of its scale would have been seen, and found where it is predicted.
- ``given``: simulators were told it by the prediction, and an identity that it must meet holds to that accuracy; no
  other simulator measures it.
- ``cannot tell``: measured, but not well enough, or off by what is put down to a systematic error.
- ``not tested``: nothing here speaks about it.

A check agrees if some output agrees and none disagrees or is left open; what was not tested is named beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from theorem_engine.checking.comparison import AGREES, CANNOT_TELL, DISAGREES, Comparison

GIVEN, NOT_TESTED = "given", "not tested"
#: From the worst to the best: an output of several parts is as good as the worst of them.
ORDER = (DISAGREES, CANNOT_TELL, NOT_TESTED, GIVEN, AGREES)
#: How many reasons a verdict repeats; the rows have them all.
MOST = 3


@dataclass(frozen=True)
class Outcome:
    """What a check says about one output of an entry."""

    output: str
    verdict: str
    reason: str = ""

    def to_json(self) -> dict[str, str]:
        """Plain data."""
        return {"verdict": self.verdict, "reason": self.reason}


def outcomes(
    rows: Sequence[Comparison], leaves: Sequence[str], untested: Mapping[str, str] | None = None
) -> tuple[Outcome, ...]:
    """One outcome for each output, from the rows and the names of all numbers that were predicted.

    ``untested`` has reasons why outputs have no simulator, as the entry declares them.
    """
    parts: dict[str, list[str]] = {}
    for leaf in (*leaves, *(row.output for row in rows)):
        named = parts.setdefault(leaf.partition(".")[0], [])
        if leaf not in named:
            named.append(leaf)
    found = []
    for output, names in parts.items():
        each = [_part([row for row in rows if row.output == name]) for name in names]
        tested = [(verdict, reason) for verdict, reason in each if verdict != NOT_TESTED]
        if not tested:
            found.append(Outcome(output, NOT_TESTED, (untested or {}).get(output, "") or each[0][1]))
            continue
        verdict, reason = min(tested, key=lambda part: ORDER.index(part[0]))
        if len(tested) < len(each):
            reason = "; ".join(filter(None, [reason, f"{len(tested)} of its {len(each)} parts"]))
        found.append(Outcome(output, verdict, reason))
    return tuple(found)


def _part(rows: Sequence[Comparison]) -> tuple[str, str]:
    """The outcome of one number from all simulators that speak about it: one that sees enough is enough."""
    against = [row for row in rows if row.verdict == DISAGREES]
    if against:
        return DISAGREES, max(against, key=lambda row: abs(row.z or 0.0)).reason
    explained = [row for row in rows if row.explained]
    if explained:
        return CANNOT_TELL, explained[0].reason
    if any(row.verdict == AGREES and not row.given for row in rows):
        return AGREES, ""
    measured = [row for row in rows if not row.given]
    if measured:
        return CANNOT_TELL, "; ".join(dict.fromkeys(row.reason for row in measured))
    if any(row.verdict == AGREES for row in rows):
        return GIVEN, ""
    return NOT_TESTED, rows[0].reason if rows else ""


def overall(found: Sequence[Outcome], problems: Sequence[str] = (), is_warned: bool = False) -> tuple[str, str]:
    """The verdict of a check from those of its outputs, and a reason that says what it covers."""
    told = {word: [outcome for outcome in found if outcome.verdict == word] for word in ORDER}
    covered = covering(found)
    if told[DISAGREES]:
        worst = told[DISAGREES][0]
        if is_warned:
            off = f"{worst.output} is off, where the entry itself warns that it is not exact"
            return CANNOT_TELL, "; ".join(filter(None, [off, covered]))
        return DISAGREES, "; ".join(filter(None, [_reasons(told[DISAGREES]), covered]))
    if told[CANNOT_TELL]:
        return CANNOT_TELL, "; ".join(filter(None, [_reasons(told[CANNOT_TELL]), covered]))
    if not told[AGREES]:
        nothing = "; ".join(problems) or "no simulator measures an output of this entry"
        return CANNOT_TELL, "; ".join(filter(None, [nothing, covered]))
    return AGREES, covered


def _reasons(found: Sequence[Outcome]) -> str:
    shown = "; ".join(f"{outcome.output}: {outcome.reason}" for outcome in found[:MOST])
    others = ", ".join(outcome.output for outcome in found[MOST:])
    return shown + (f"; likewise {others}" if others else "")


def covering(found: Sequence[Outcome]) -> str:
    """Which outputs agree, which were given by the prediction, and which were not tested.

    >>> covering([Outcome("risk", "agrees"), Outcome("replicon", "not tested")])
    'agrees: risk; not tested: replicon'
    """
    words = {AGREES: "agrees", GIVEN: "given by the prediction and consistent", NOT_TESTED: "not tested"}
    lists = {word: [_named(o, word) for o in found if o.verdict == word] for word in words}
    return "; ".join(f"{words[word]}: {', '.join(names)}" for word, names in lists.items() if names)


def _named(outcome: Outcome, word: str) -> str:
    partly = word != NOT_TESTED and outcome.reason
    return f"{outcome.output} ({outcome.reason})" if partly else outcome.output
