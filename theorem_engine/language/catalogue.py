"""The registry: which papers exist, which entries they hold, and how a name finds one.

Papers are folders of ``theorem_engine.registry``; one is imported when a query needs it.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from theorem_engine.base.errors import DuplicateEntry, UnknownEntry, nearest

if TYPE_CHECKING:
    from theorem_engine.language.entry import Entry


class OfAnEntry(Protocol):
    """What knows the entry it belongs to, as a prediction does."""

    @property
    def entry(self) -> Any:
        """The entry."""


#: What names an entry: its id or label, itself, or anything that was made from it.
Named: TypeAlias = "str | Entry | OfAnEntry"

_entries: dict[str, Entry] = {}
_aliases: dict[str, str] = {}
_loaded: set[str] = set()


def register(entry: Entry) -> None:
    """Add an entry; an id or alias that is taken is refused, naming both places."""
    for name in (entry.id, *entry.all_aliases()):
        other = _entries.get(name) or _entries.get(_aliases.get(name, ""))
        if other is not None:
            raise DuplicateEntry(f"{name!r} is declared twice: in {other.module} and in {entry.module}")
    _entries[entry.id] = entry
    for name in entry.all_aliases():
        _aliases[name] = entry.id


def forget(entry: Entry) -> None:
    """Take an entry out again (for tests and notebooks that redefine one)."""
    _entries.pop(entry.id, None)
    for name in entry.all_aliases():
        _aliases.pop(name, None)


@cache
def papers() -> tuple[str, ...]:
    """Names of the folders that hold entries."""
    package = importlib.import_module("theorem_engine.registry")
    return tuple(sorted(m.name for m in pkgutil.iter_modules(package.__path__) if m.ispkg))


def load(paper: str) -> None:
    """Import every module of one paper but ``methods``, which declares nothing and is imported by whoever computes."""
    if paper in _loaded or paper not in papers():
        return
    _loaded.add(paper)
    package = importlib.import_module(f"theorem_engine.registry.{paper}")
    for module in sorted(m.name for m in pkgutil.walk_packages(package.__path__, package.__name__ + ".")):
        if module.rpartition(".")[2] != "methods":
            importlib.import_module(module)


def load_all() -> None:
    """Import every paper."""
    for paper in papers():
        load(paper)


def find_entry(name: Named) -> Entry:
    """The entry with this id or alias, or behind a prediction; only its own paper is imported on the way."""
    if not isinstance(name, str):
        found = getattr(getattr(name, "entry", name), "id", None)
        if not isinstance(found, str):
            raise UnknownEntry(f"an entry is named by its id, itself or a prediction, not by a {type(name).__name__}")
        name = found
    if name not in _entries:
        load(name.partition(".")[0])
    entry = _entries.get(name) or _entries.get(_aliases.get(name, ""))
    if entry is None:
        load_all()
        words = [*_entries, *_aliases]
        raise UnknownEntry(
            f"no entry {name[:80]!r}{nearest(name[:80], words)}. `theorem-engine find` lists all {len(_entries)}."
        )
    return entry


def is_known(name: str) -> bool:
    """Whether an entry of this id is registered now; nothing is imported to find out."""
    return name in _entries


def all_entries() -> list[Entry]:
    """Every entry of every paper, ordered by id."""
    load_all()
    return [_entries[name] for name in sorted(_entries)]
