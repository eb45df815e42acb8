"""Bibliography: ``references.toml`` beside the entries that cite it.

What it holds is printed for BibTeX and on terminals: it is refused where it could mean anything but itself there.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from theorem_engine.base.errors import DeclarationError
from theorem_engine.base.files import read_text

#: Keys of works, and names of fields and types, as BibTeX takes them.
_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/+-]{0,79}", re.ASCII)
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}", re.ASCII)
_LONGEST = 4000
_LARGEST = 10**12


def works_of(module: ModuleType | None) -> dict[str, dict[str, Any]]:
    """The works listed in the folder of a module."""
    location = getattr(module, "__file__", None)
    if not location:
        return {}
    path = Path(location).parent / "references.toml"
    try:
        state = path.stat()
    except OSError:
        return {}
    return _read(path, state.st_mtime_ns, state.st_size) if path.is_file() else {}


@cache
def _read(path: Path, changed: int, size: int) -> dict[str, dict[str, Any]]:
    """The works in a file; its time and size only tell one content from another."""
    try:
        text = read_text(path)
        works = tomllib.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise DeclarationError(f"{path} cannot be read: {_reason(error)}") from None
    for key, work in works.items():
        problem = _problem(key, work)
        if problem:
            raise DeclarationError(f"{path}{_line(text, key)}: {problem}")
    return works


def _reason(error: Exception) -> str:
    # what Python says about nesting names its own depth, which helps nobody
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)[:200]


def _problem(key: str, work: Any) -> str:
    """What is wrong with one work, if anything."""
    shown = repr(key[:60])
    if not isinstance(work, dict):
        return f"{shown} is no table; a work is written as [key] with fields below it"
    if not _KEY.fullmatch(key):
        return f"{shown} is no key of a work; keys are letters, digits and _.:/+-"
    for name, value in work.items():
        if not _NAME.fullmatch(name):
            return f"{name[:60]!r} of work {shown} is no name of a field; names are letters, digits, _ and -"
        if isinstance(value, bool) or not isinstance(value, (str, int)):
            return f"{name!r} of work {shown} is a {type(value).__name__}; fields are texts or whole numbers"
        if isinstance(value, int) and abs(value) > _LARGEST:
            return f"{name!r} of work {shown} is a number too large to mean anything"
        if isinstance(value, str) and not _is_field(value):
            return (
                f"{name!r} of work {shown} is no field: one printable line of at most {_LONGEST} characters, "
                "with braces in pairs"
            )
    kind = work.get("type", "misc")
    return "" if isinstance(kind, str) and _NAME.fullmatch(kind) else f"'type' of work {shown} is no word"


def _is_field(value: str) -> bool:
    """Whether a text stays between the braces that BibTeX puts around it."""
    if len(value) > _LONGEST or not value.isprintable():
        return False
    depth = 0
    for character in value:
        depth += (character == "{") - (character == "}")
        if depth < 0:
            return False
    return depth == 0


def _line(text: str, key: str) -> str:
    """A clause with the line on which a table begins, where it is found."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().lstrip("[").lstrip("\"'").startswith(key) and key:
            return f", line {number}"
    return ""


def bibtex(key: str, work: dict[str, Any]) -> str:
    """One BibTeX record.

    >>> print(bibtex("x", {"type": "misc", "title": "T", "year": 2025}))
    @misc{x,
      title = {T},
      year = {2025},
    }
    """
    fields = "".join(f"  {name} = {{{value}}},\n" for name, value in work.items() if name != "type")
    return f"@{work.get('type', 'misc')}{{{key},\n{fields}}}"
