"""Bibliography: ``references.toml`` beside the entries that cite it."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from theorem_engine.base.errors import DeclarationError


def works_of(module: ModuleType | None) -> dict[str, dict[str, Any]]:
    """The works listed in the folder of a module."""
    location = getattr(module, "__file__", None)
    return _read(Path(location).parent / "references.toml") if location else {}


@cache
def _read(path: Path) -> dict[str, dict[str, Any]]:
    if not path.is_file():
        return {}
    try:
        works = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DeclarationError(f"{path} cannot be read: {error}") from None
    for key, work in works.items():
        if not isinstance(work, dict):
            raise DeclarationError(f"{path}: {key!r} is no table; a work is written as [{key}] with fields below it")
        for name, value in work.items():
            if isinstance(value, bool) or not isinstance(value, (str, int)):
                kind = type(value).__name__
                raise DeclarationError(
                    f"{path}: {name!r} of work {key!r} is a {kind}; fields are texts or whole numbers"
                )
        if not isinstance(work.get("type", ""), str):
            raise DeclarationError(f"{path}: 'type' of work {key!r} is no text")
    return works


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
