"""Bibliography: ``references.toml`` beside the entries that cite it."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any


def works_of(module: ModuleType | None) -> dict[str, dict[str, Any]]:
    """The works listed in the folder of a module."""
    location = getattr(module, "__file__", None)
    return _read(Path(location).parent / "references.toml") if location else {}


@cache
def _read(path: Path) -> dict[str, dict[str, Any]]:
    if not path.is_file():
        return {}
    with path.open("rb") as stream:
        return tomllib.load(stream)


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
