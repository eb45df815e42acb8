"""Points at which a check tells a theorem from its mutants: chosen once, kept as data beside the entries of a paper."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from theorem_engine.base.errors import DeclarationError
from theorem_engine.language.entry import Entry

#: The file of a paper's folder in which its designed points lie.
FILE = "designed_points.toml"


@dataclass(frozen=True)
class Design:
    """Designed points of an entry, and how many of its mutants they were found to tell from it."""

    points: tuple[dict[str, str], ...]
    #: Mutants that move a measured output by a relevant amount at some point, of all that are not equivalent.
    told: int
    mutants: int


@cache
def _designs(paper: str) -> dict[str, Any]:
    file = resources.files(f"theorem_engine.registry.{paper}") / FILE
    try:
        text = file.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DeclarationError(f"{FILE} of {paper} is no TOML: {error}") from None


def find_design(entry: Entry) -> Design | None:
    """The designed points of an entry, or none.

    >>> from theorem_engine.language.catalogue import find_entry
    >>> find_design(find_entry("gaussian.erf-mean")).points[0].keys()
    dict_keys(['t', 'g'])
    """
    found = _designs(entry.paper).get(entry.id)
    if found is None:
        return None
    points = tuple({name: str(value) for name, value in point.items()} for point in found["points"])
    return Design(points, int(found["told"]), int(found["mutants"]))
