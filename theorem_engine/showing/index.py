"""The list of all entries as plain rows, kept in the user's cache so that a search imports no paper.

Importing every paper takes several times as long as importing SymPy, and grows with the registry. The
list is made anew whenever a file of the registry or of the engine has changed.
"""

from __future__ import annotations

import hashlib
import importlib
import json
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from theorem_engine.base.errors import TheoremEngineError
from theorem_engine.base.files import cache_folder, write_whole
from theorem_engine.base.sources import engine_folder, folder_digest
from theorem_engine.base.version import __version__

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
    fields = (entry.id, *entry.all_aliases(), entry.kind, entry.title, entry.description, str(entry.source))
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
    """Every entry of every paper, then every figure, ordered by id; from the cache if it is up to date."""
    state = _state()
    path = cache_folder() / f"index-{_digest([str(place) for place in _places()])}.json"
    rows = _read(path, state)
    if rows is None:
        rows = read_rows()
        _write(path, rows, state)
    return rows


def read_rows() -> list[Row]:
    """The same from the papers themselves."""
    from theorem_engine.language.catalogue import all_entries
    from theorem_engine.language.figure import figures

    return [*(row_of(entry) for entry in all_entries()), *(figure_row(figure) for figure in figures())]


def _places() -> list[Path]:
    """Folders whose files decide what the entries are."""
    registry = importlib.import_module("theorem_engine.registry")
    return [engine_folder(), *(Path(place) for place in registry.__path__)]


def _state() -> str:
    """A digest that changes when any file is added, removed, or written."""
    return _digest([__version__, *map(folder_digest, _places())])


def _digest(data: Any) -> str:
    return hashlib.sha256(json.dumps(data).encode()).hexdigest()[:16]


def _read(path: Path, state: str) -> list[Row] | None:
    """The rows kept for this state; None if there are none, or the file is not what was written."""
    try:
        kept: Any = json.loads(path.read_bytes())
        if kept["state"] != state or kept["sum"] != _digest(kept["rows"]):
            return None
        return [_row(fields) for fields in kept["rows"]]
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


def _write(path: Path, rows: list[Row], state: str) -> None:
    """Keep the rows; a folder that cannot be written only costs time at the next search."""
    plain = [asdict(row) for row in rows]
    # tuples are lists to JSON, and to the digest
    data = {"state": state, "sum": _digest(plain), "rows": plain}
    with suppress(OSError, TheoremEngineError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(data))
