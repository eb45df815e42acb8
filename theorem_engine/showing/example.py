"""Examples of entries: a query that runs, as Python and as a command, and what it prints."""

from __future__ import annotations

import shlex
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from theorem_engine.language.entry import Entry

_WIDTH = 78
#: What stands before a line of Python; spelled so that no collector of examples takes this file for one.
PROMPT = ">" * 3


@dataclass(frozen=True)
class Example:
    """A query about an entry, and the lines that answer it."""

    id: str
    point: Mapping[str, Any]
    #: The outputs as they are printed, main one first.
    prints: tuple[str, ...]

    def python(self) -> list[str]:
        """The query in Python, in lines that fit a page."""
        arguments = [repr(self.id), *(f"{name}={value!r}" for name, value in self.point.items())]
        return _filled(f"{PROMPT} te.predict(", "...     ", [a.replace("'", '"') for a in arguments], ", ", ")")

    def command(self) -> list[str]:
        """The query as a command."""
        words = [shlex.quote(f"{name}={value}") for name, value in self.point.items()]
        return _filled("$ theorem-engine predict ", "    ", [self.id, *words], " ", "", " \\")


def _filled(start: str, later: str, words: list[str], joint: str, end: str, turn: str = "") -> list[str]:
    lines, line = [], start
    for position, word in enumerate(words):
        shown = word + (joint.rstrip() if position + 1 < len(words) else end)
        if len(line) + len(shown) + len(turn) > _WIDTH and line not in (start, later):
            lines.append(line.rstrip() + turn)
            line = later
        line += shown + " "
    return [*lines, line.rstrip()]


def example_of(entry: Entry) -> Example | None:
    """The example that stands beside an entry in its folder, in ``examples.toml``; None if there is none."""
    module = sys.modules.get(entry.module)
    package = getattr(module, "__package__", "") or ""
    found = _examples(package).get(entry.id) if package else None
    if found is None:
        return None
    return Example(entry.id, found["point"], tuple(found["prints"]))


@cache
def _examples(package: str) -> dict[str, Any]:
    try:
        return tomllib.loads((files(package) / "examples.toml").read_text(encoding="utf-8"))
    except (OSError, ModuleNotFoundError, TypeError):
        return {}
