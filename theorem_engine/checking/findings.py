"""What is found wrong with an entry: the rule, the place, what is true, and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from theorem_engine.language.entry import Entry
from theorem_engine.language.pack_loading import declared_at


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong."""

    rule: str
    entry: str
    says: str
    fix: str
    #: File and line.
    place: str = ""

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place else ""
        return f"{where}{self.entry} [{self.rule}] {self.says}\n    fix: {self.fix}"

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"rule": self.rule, "entry": self.entry, "says": self.says, "fix": self.fix, "place": self.place}


def finding(rule: str, entry: Entry, says: str, fix: str, word: str = "") -> Finding:
    """A finding about an entry, at its declaration or at the first line from there on that has a word in quotes."""
    file, line = declared_at(entry, word)
    return Finding(rule, entry.id, says, fix, f"{Path(file).name}:{line}" if line else Path(file).name)
