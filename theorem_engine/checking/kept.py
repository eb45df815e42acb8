"""What simulators said, kept in a journal: they never see a formula, so that nothing they said is drawn again."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from theorem_engine.base.sources import digest, function_digest
from theorem_engine.checking.evidence import Effort, Evidence, Redraw, Row
from theorem_engine.checking.simulation import gather
from theorem_engine.checking.simulators import named_simulators
from theorem_engine.language.entry import Entry
from theorem_engine.sweeping.journal import Journal

#: Digits of a prediction that decide how many samples are planned, or that simulators are told.
DIGITS = 9
#: What marks a number that is not finite.
FLOAT = "float"


class Kept:
    """Evidence by simulators' code, point, effort and seed; the engine's code and the equations are no part of it.

    The prediction is, in so many digits as matter: samples are planned for its size, and some simulators are told it.
    """

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.known: dict[str, dict[str, Any]] = {
            record["gathered"]: record for record in journal.records() if "gathered" in record
        }

    def gather(
        self, entry: Entry, point: Mapping[str, Any], predicted: Mapping[str, Any], effort: Effort, redraw: Redraw
    ) -> Evidence:
        """As the function of this name, but what is in the journal is read."""
        key = self._key(entry, point, predicted, effort)
        if key not in self.known:
            found = gather(entry, point, predicted, effort, redraw)
            kept: dict[str, Any] = {
                "gathered": key,
                "rows": [_plain(row) for row in found.rows],
                "problems": found.problems,
            }
            self.known[key] = kept
            self.journal.append(kept)
        record = self.known[key]
        return Evidence([_row(row) for row in record["rows"]], list(record["problems"]))

    def _key(self, entry: Entry, point: Mapping[str, Any], predicted: Mapping[str, Any], effort: Effort) -> str:
        from theorem_engine.validators import statistics

        simulators = [f"{name} {function_digest(function)}" for name, function in named_simulators(entry)]
        numbers = [f"{name} {_short(value)}" for name, value in predicted.items()]
        letters = [f"{name} {value}" for name, value in point.items()]
        drawn = [str(effort.seconds), str(effort.samples), str(effort.seed), str(dict(effort.variants))]
        return digest([entry.id, function_digest(statistics.sample), *simulators, *numbers, *letters, *drawn])[:24]


def _plain(row: Row) -> dict[str, Any]:
    """A row as JSON has it, which knows no number that is not finite."""
    given = asdict(row).items()
    return {n: {FLOAT: repr(v)} if isinstance(v, float) and not math.isfinite(v) else v for n, v in given}


def _row(plain: Mapping[str, Any]) -> Row:
    values: dict[str, Any] = {n: float(v[FLOAT]) if isinstance(v, dict) else v for n, v in plain.items()}
    return Row(**values)


def _short(value: Any) -> str:
    return f"{value:.{DIGITS}g}" if isinstance(value, float) else str(value)
