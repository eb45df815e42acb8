"""The list of all entries as plain rows, kept in the user's cache so that a search imports no paper.

Importing every paper takes several times as long as importing SymPy, and grows with the registry. The
list is made anew whenever a file of the registry or of the engine has changed.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from theorem_engine import __version__

if TYPE_CHECKING:
    from theorem_engine.declaration import Entry


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


def all_rows() -> list[Row]:
    """Every entry of every paper, ordered by id; from the cache if it is up to date."""
    state = _state()
    path = cache_folder() / f"index-{_digest([str(place) for place in _places()])}.json"
    rows = _read(path, state)
    if rows is None:
        from theorem_engine.catalogue import all_entries

        rows = [row_of(entry) for entry in all_entries()]
        _write(path, {"state": state, "rows": [asdict(row) for row in rows]})
    return rows


def cache_folder() -> Path:
    """Where this user's caches are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or Path.home() / ".cache"
    return Path(base) / "theorem-engine"


def _places() -> list[Path]:
    """Folders whose files decide what the entries are."""
    registry = importlib.import_module("theorem_engine.registry")
    return [Path(__file__).parent, *(Path(place) for place in registry.__path__)]


def _state() -> str:
    """A digest that changes when any file is added, removed, or written."""
    seen: list[Any] = [__version__]
    for place in _places():
        for path in sorted(place.rglob("*")):
            if path.suffix in (".py", ".toml"):
                facts = path.stat()
                seen.append((str(path.relative_to(place)), facts.st_size, facts.st_mtime_ns))
    return _digest(seen)


def _digest(data: Any) -> str:
    return hashlib.sha256(json.dumps(data).encode()).hexdigest()[:16]


def _read(path: Path, state: str) -> list[Row] | None:
    """The rows kept for this state; None if there are none, or the file is not what was written."""
    try:
        kept: Any = json.loads(path.read_text(encoding="utf-8"))
        if kept["state"] != state:
            return None
        return [_row(fields) for fields in kept["rows"]]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _row(fields: dict[str, Any]) -> Row:
    frozen: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in fields.items()}
    return Row(**frozen)


def _write(path: Path, data: Any) -> None:
    """Keep the rows; a folder that cannot be written only costs time at the next search."""
    # another process may search at the same moment: it sees the old file or the new one, never a part
    scratch = path.with_suffix(f".{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch.write_text(json.dumps(data), encoding="utf-8")
        scratch.replace(path)
    except OSError:
        return
