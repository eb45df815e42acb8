"""What a shell offers when a word is begun: ids of entries, and the letters of the entry that is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer


def ids_beginning(incomplete: str) -> list[tuple[str, str]]:
    """Ids and labels that begin so, with the titles of their entries; from the list in the cache, without a paper."""
    from theorem_engine.showing.index import all_rows

    rows = [row for row in all_rows() if row.kind != "figure"]
    named = [(name, row.title) for row in rows for name in (row.id, *row.aliases)]
    return sorted((name, title) for name, title in named if name.startswith(incomplete))


def letters_beginning(id: Any, given: Sequence[str], incomplete: str) -> list[tuple[str, str]]:
    """``name=`` for letters not given yet, with their meanings; ``name=word`` where a letter is one of a few words."""
    from theorem_engine.base.errors import TheoremEngineError
    from theorem_engine.language.catalogue import find_entry

    if not isinstance(id, str):
        return []
    try:
        entry = find_entry(id)
    except TheoremEngineError:
        return []
    name, equals, begun = incomplete.partition("=")
    if equals:
        words = [w for x in entry.given if x.name == name for w in getattr(x.domain, "names", ())]
        return [(f"{name}={word}", "") for word in words if word.startswith(begun)]
    return [(f"{x.name}=", x.meaning) for x in entry.given if x.name.startswith(name) and x.name not in given]


#: The argument of all commands about one entry.
Id = Annotated[
    str,
    typer.Argument(
        metavar="ID",
        help="Id of an entry, such as paper.meaning, or its label in the paper.",
        autocompletion=ids_beginning,
    ),
]
