"""The list of all entries as plain rows, kept in the user's cache so that a search imports no paper.

Importing every paper takes several times as long as importing SymPy, and grows with the registry. The
list is made anew whenever a file of the registry or of the engine has changed.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import warnings
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from theorem_engine.base.errors import PackWarning, TheoremEngineError
from theorem_engine.base.files import cache_folder, write_whole
from theorem_engine.base.sources import engine_folder, place_digest
from theorem_engine.base.version import __version__
from theorem_engine.language.packs import packs, refused

if TYPE_CHECKING:
    from theorem_engine.language.entry import Entry


@dataclass(frozen=True)
class Row:
    """What a table shows of an entry, and the text a search looks at."""

    id: str
    kind: str
    title: str
    needs: tuple[str, ...]
    optional: tuple[str, ...]
    gives: tuple[str, ...]
    source: str
    aliases: tuple[str, ...]
    text: str

    @property
    def paper(self) -> str:
        """The part of the id before the point."""
        return self.id.partition(".")[0]


def row_of(entry: Entry) -> Row:
    """The row of one entry; in its text a line break keeps words of different fields apart."""
    letters = (f"{x.name} {x.latex_name} {x.meaning}" for x in entry.given)
    outputs = (f"{name} {output.meaning}" for name, output in entry.outputs.items())
    said = (" ".join(text.split()) for text in (entry.description, *entry.assumes, *entry.notes))
    fields = (entry.id, *entry.all_aliases(), entry.kind, entry.title, str(entry.source), *said)
    return Row(
        entry.id,
        entry.kind,
        entry.title,
        tuple(x.name for x in entry.given if x.is_required),
        tuple(x.name for x in entry.given if not x.is_required),
        tuple(entry.outputs),
        str(entry.source),
        entry.all_aliases(),
        "\n".join((*fields, *outputs, *letters)).casefold(),
    )


def figure_row(figure: Any) -> Row:
    """The row of one figure: its options are what it takes."""
    source = str(figure.source or "")
    options: tuple[str, ...] = ()
    # what computes a figure may be something that tells nothing of its parameters
    with suppress(ValueError, TypeError):
        options = tuple(figure.options())
    fields = (figure.id, "figure", figure.title, figure.caption, source, *options)
    return Row(figure.id, "figure", figure.title, (), options, (), source, (), "\n".join(fields).casefold())


def all_rows() -> list[Row]:
    """Every entry of every paper and pack, then every figure, ordered by id; from the cache if it is up to date.

    What is wrong with packs is kept with the rows, and told each time.
    """
    state = _state()
    path = cache_folder() / f"index-{_digest([str(place) for place in _places()])}.json"
    kept = _read(path, state)
    if kept is None:
        from theorem_engine.language.catalogue import pack_problems

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PackWarning)
            rows, problems = read_rows(), pack_problems()
        _write(path, rows, problems, state)
    else:
        rows, problems = kept
    for problem in problems:
        warnings.warn(problem, PackWarning, stacklevel=2)
    return rows


def read_rows() -> list[Row]:
    """The same from the papers themselves."""
    from theorem_engine.language.catalogue import all_entries
    from theorem_engine.language.figure import figures

    return [*(row_of(entry) for entry in all_entries()), *(figure_row(figure) for figure in figures())]


def _places() -> list[Path]:
    """Folders whose files decide what the entries are."""
    registry = importlib.import_module("theorem_engine.registry")
    own = [pack.place for pack in packs().values() if pack.place is not None]
    return [engine_folder(), *(Path(place) for place in registry.__path__), *own]


def _state() -> str:
    """A digest that changes when any file is added, removed, or written, or any pack is named otherwise."""
    named = [[pack.name, pack.module] for pack in packs().values()]
    refusals = [str(error) for error in refused()]
    return _digest([__version__, named, refusals, *map(place_digest, _places())])


def _digest(data: Any) -> str:
    return hashlib.sha256(json.dumps(data).encode()).hexdigest()[:16]


def _read(path: Path, state: str) -> tuple[list[Row], list[str]] | None:
    """The rows and problems kept for this state; None if there are none, or the file is not what was written."""
    try:
        kept: Any = json.loads(path.read_bytes())
        if kept["state"] != state or kept["sum"] != _digest([kept["rows"], kept["problems"]]):
            return None
        return [_row(fields) for fields in kept["rows"]], [str(problem) for problem in kept["problems"]]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, MemoryError):
        return None


def _row(data: dict[str, Any]) -> Row:
    """A row from plain data; TypeError where a field is not of its kind."""
    row: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in data.items()}
    for field in fields(Row):
        value = row[field.name]
        many = str(field.type).startswith("tuple")
        if isinstance(value, tuple) is not many or not all(
            isinstance(part, str) for part in (value if many else [value])
        ):
            raise TypeError(f"{field.name} of a row is of another kind")
    return Row(**row)


def _write(path: Path, rows: list[Row], problems: list[str], state: str) -> None:
    """Keep the rows; a folder that cannot be written only costs time at the next search."""
    plain = [asdict(row) for row in rows]
    # tuples are lists to JSON, and to the digest
    data = {"state": state, "sum": _digest([plain, problems]), "rows": plain, "problems": problems}
    with suppress(OSError, TheoremEngineError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(data))
