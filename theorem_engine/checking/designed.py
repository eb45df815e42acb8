"""Points at which a check tells a theorem from its mutants: chosen once, kept as data beside the entries of a paper."""

from __future__ import annotations

import sys
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from theorem_engine.base.errors import DeclarationError
from theorem_engine.base.files import read_text
from theorem_engine.language.entry import Entry

#: The file of a paper's folder in which its designed points lie.
FILE = "designed_points.toml"


@dataclass(frozen=True)
class Design:
    """Designed points of an entry, and how many of its mutants they were found to tell from it."""

    points: tuple[dict[str, str], ...]
    #: Mutants that move a measured output by a relevant amount at some point, of all that are not equivalent; none if
    #: that was not worked out.
    told: int | None = None
    mutants: int | None = None


@cache
def _designs(folder: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_text(folder / FILE))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise DeclarationError(f"{folder / FILE} cannot be read: {str(error)[:200]}") from None


def find_design(entry: Entry) -> Design | None:
    """The designed points of an entry, or none.

    >>> from theorem_engine.language.catalogue import find_entry
    >>> find_design(find_entry("gaussian.erf-mean")).points[0].keys()
    dict_keys(['t', 'g'])
    """
    location = getattr(sys.modules.get(entry.module), "__file__", None)
    found = _designs(Path(location).parent).get(entry.id) if location else None
    if found is None:
        return None
    try:
        points = tuple({name: str(value) for name, value in point.items()} for point in found["points"])
        scores = (None, None) if "told" not in found else (int(found["told"]), int(found["mutants"]))
        return Design(points, *scores)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise DeclarationError(
            f"{FILE} of {entry.paper}: {entry.id} needs a list of points, and both numbers told and mutants or neither"
        ) from None
