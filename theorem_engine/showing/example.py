"""Examples of entries: a query that runs, as Python and as a command, and what it prints."""

from __future__ import annotations

import shlex
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from theorem_engine.base.errors import DeclarationError
from theorem_engine.base.files import read_text
from theorem_engine.language.entry import Entry

#: The file of a paper's folder, or of a pack's, in which its examples lie.
FILE = "examples.toml"
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
    location = getattr(sys.modules.get(entry.module), "__file__", None)
    path = Path(location).parent / FILE if location else None
    if path is None or not path.is_file():
        return None
    found = _examples(path, path.stat().st_mtime_ns).get(entry.id)
    if found is None:
        return None
    point, prints = (found.get(name) for name in ("point", "prints")) if isinstance(found, dict) else (None, None)
    if not isinstance(point, dict) or not isinstance(prints, list) or not all(_is_line(line) for line in prints):
        raise DeclarationError(f"{path}: {entry.id} needs a table, point, and a list of lines, prints")
    return Example(entry.id, point, tuple(prints))


def _is_line(text: Any) -> bool:
    return isinstance(text, str) and text.isprintable()


@cache
def _examples(path: Path, changed: int) -> dict[str, Any]:
    """The examples in a file; its time only tells one content from another."""
    try:
        return tomllib.loads(read_text(path))
    except (OSError, ValueError, RecursionError) as error:
        raise DeclarationError(f"{path} cannot be read: {str(error)[:200]}") from None
