"""What a prover found about the identities of an entry, as data and as text."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from theorem_engine.language.entry import Entry

PROVED, ON_BOX, AT_POINTS = "proved", "verified on a box", "verified at points"
UNDECIDED, REFUTED = "not decided", "refuted"
STATUSES = (PROVED, ON_BOX, AT_POINTS, UNDECIDED, REFUTED)


@dataclass(frozen=True)
class Outcome:
    """What was found about one identity."""

    identity: str
    status: str
    #: What shows it, or what stands in the way.
    reason: str
    #: Ends of the letters of the box, for what was verified on one.
    box: Mapping[str, str] = field(default_factory=dict)
    #: Points at which it was verified, or the one that refutes it.
    points: tuple[Mapping[str, str], ...] = ()
    #: The ball of right side minus left side at the point that refutes.
    enclosure: str = ""
    seconds: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "identity": self.identity,
            "status": self.status,
            "reason": self.reason,
            "box": dict(self.box),
            "points": [dict(point) for point in self.points],
            "enclosure": self.enclosure,
            "seconds": self.seconds,
        }

    def __str__(self) -> str:
        lines = textwrap.wrap(f"{self.status}: {self.identity}", 78, subsequent_indent="    ", break_on_hyphens=False)
        details = [self.reason]
        if self.box:
            details.append("box: " + ", ".join(_side_text(name, side) for name, side in self.box.items()))
        if self.points:
            shown = "; ".join(", ".join(f"{k}={v}" for k, v in point.items()) for point in self.points)
            details.append(("at: " if self.status == REFUTED else "points: ") + shown)
        if self.enclosure:
            details.append(f"right side minus left side: {self.enclosure}")
        for detail in details:
            lines += textwrap.wrap(detail, 76, initial_indent="  ", subsequent_indent="    ")
        return "\n".join(f"  {line}" for line in lines)


@dataclass(frozen=True)
class Proof:
    """What was found about all identities that an entry carries."""

    entry: Entry
    outcomes: tuple[Outcome, ...]

    def count(self, status: str) -> int:
        """How many identities have this status."""
        return sum(outcome.status == status for outcome in self.outcomes)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"entry": self.entry.id, "identities": [outcome.to_json() for outcome in self.outcomes]}

    def __str__(self) -> str:
        if not self.outcomes:
            return f"{self.entry.id} carries no identities"
        counts = ", ".join(f"{self.count(s)} {s}" for s in STATUSES if self.count(s))
        return "\n".join([f"{self.entry.id}: {counts}", *map(str, self.outcomes)])

    __repr__ = __str__


def _side_text(name: str, side: str) -> str:
    return f"{name} in {side}" if side.startswith("[") else f"{name} = {side}"
