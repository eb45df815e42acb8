"""The registry: which papers and packs exist, which entries they hold, and how a name finds one.

Papers are folders of ``theorem_engine.registry``, packs come from outside (``packs.py``); one is imported when a query
needs it. A pack that cannot be loaded is left out as a whole, and nothing else notices.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from theorem_engine.base.errors import (
    BadRequest,
    BrokenPack,
    DeclarationError,
    DuplicateEntry,
    PackWarning,
    UnknownEntry,
    nearest,
)
from theorem_engine.base.sources import read_again
from theorem_engine.language import packs as outside
from theorem_engine.language.pack_loading import belongs, broken, check_needs, forget_modules, import_pack

if TYPE_CHECKING:
    from theorem_engine.language.entry import Entry


class OfAnEntry(Protocol):
    """What knows the entry it belongs to, as a prediction does."""

    @property
    def entry(self) -> Any:
        """The entry."""


#: What names an entry: its id or label, itself, or anything that was made from it.
Named: TypeAlias = "str | Entry | OfAnEntry"

#: Where the papers of this project lie.
BUILT_IN = "theorem_engine.registry."
_entries: dict[str, Entry] = {}
_aliases: dict[str, str] = {}
_loaded: set[str] = set()
_broken: dict[str, BrokenPack] = {}
_told: set[str] = set()
#: Packs at whose code the import system is now; a declaration met then is no repetition by a person.
_importing: list[outside.Pack] = []
_forgetting: list[Callable[[Callable[[str], bool]], None]] = []


def add_entry(entry: Entry) -> None:
    """Add an entry; an id or alias that is taken is refused, naming both places.

    A function of the same name in the same module, met again outside of this project, is a new version of the entry: a
    cell of a notebook was run once more.
    """
    for name in (entry.id, *entry.all_aliases()):
        other = _entries.get(name) or _entries.get(_aliases.get(name, ""))
        if other is not None and _is_new_version(entry, other):
            forget(other)
        elif other is not None:
            raise DuplicateEntry(f"{name!r} is declared twice: in {other.module} and in {entry.module}")
        refuse_built_in(name, entry.module)
    _entries[entry.id] = entry
    for name in entry.all_aliases():
        _aliases[name] = entry.id


def _is_new_version(entry: Entry, other: Entry) -> bool:
    if _importing or entry.module != other.module or entry.module.startswith(BUILT_IN) or entry.id != other.id:
        return False
    return getattr(entry.body, "__qualname__", "") == getattr(other.body, "__qualname__", None)


def refuse_built_in(name: str, module: str) -> None:
    """An error for a name among those of a paper of this project that is declared outside of it."""
    paper = name.partition(".")[0]
    if module.startswith(BUILT_IN) or paper not in papers():
        return
    load(paper)
    other = _entries.get(name) or _entries.get(_aliases.get(name, ""))
    if other is not None:
        raise DuplicateEntry(f"{name!r} is declared twice: in {other.module} and in {module}")
    raise DeclarationError(f"{name!r}: names that begin with {paper}. belong to a paper of the registry; take another")


def forget(entry: Entry) -> None:
    """Take an entry out again (for tests and notebooks that redefine one).

    What applies it is made new, so that no plan with its old equations is used.
    """
    _entries.pop(entry.id, None)
    for name in entry.all_aliases():
        _aliases.pop(name, None)
    for user in [other for other in _entries.values() if entry.id in other.needs.values() and other.id != entry.id]:
        _renew(user)


def _renew(entry: Entry) -> None:
    """Put a copy in an entry's place: all that is kept about entries is kept by the object."""
    _entries[entry.id] = replace(entry, _statements={}, _settings={}, _undecided={}, _conditions={})
    for user in [other for other in _entries.values() if entry.id in other.needs.values() and other.id != entry.id]:
        _renew(user)


def forget_with(function: Callable[[Callable[[str], bool]], None]) -> None:
    """Let a function take out what it keeps of the modules of a pack that cannot be loaded."""
    _forgetting.append(function)


@cache
def papers() -> tuple[str, ...]:
    """Names of the folders of this project that hold entries."""
    package = importlib.import_module("theorem_engine.registry")
    return tuple(sorted(m.name for m in pkgutil.iter_modules(package.__path__) if m.ispkg))


def load(paper: str) -> None:
    """Import every module of one paper but ``methods``, which declares nothing and is imported by whoever computes.

    BrokenPack where the name is that of a pack which cannot be loaded.
    """
    if paper in papers():
        _load_built_in(paper)
    elif (pack := outside.packs().get(paper)) is not None:
        _load_pack(pack)


def _load_built_in(paper: str) -> None:
    if paper in _loaded:
        return
    _loaded.add(paper)
    package = importlib.import_module(f"{BUILT_IN}{paper}")
    for module in sorted(m.name for m in pkgutil.walk_packages(package.__path__, package.__name__ + ".")):
        if module.rpartition(".")[2] != "methods":
            importlib.import_module(module)


def _load_pack(pack: outside.Pack) -> None:
    if pack.name in _broken:
        raise _broken[pack.name]
    if pack.name in _loaded:
        return
    _loaded.add(pack.name)
    _importing.append(pack)
    try:
        import_pack(pack)
        check_needs(pack, entries_of(pack), find_entry)
    except BaseException as error:
        forget_pack(pack)
        if isinstance(error, BrokenPack):
            _broken[pack.name] = error
        raise
    finally:
        _importing.remove(pack)


def entries_of(pack: outside.Pack) -> list[Entry]:
    """The entries that a pack's modules have declared so far, ordered by id."""
    return [_entries[id] for id in sorted(_entries) if belongs(pack, _entries[id].module)]


def forget_pack(pack: outside.Pack) -> None:
    """Take out all that a pack has declared, so that it can be loaded anew."""
    for entry in entries_of(pack):
        forget(entry)
    for function in _forgetting:
        function(lambda module: belongs(pack, module))
    forget_modules(pack)
    read_again()
    _loaded.discard(pack.name)
    _broken.pop(pack.name, None)


def register(what: ModuleType | str | os.PathLike[str]) -> list[Entry]:
    """Make a pack known in this process, and load it: a module that is imported, or the path of a pack.

    Called again, it loads what has changed. The entries found are returned.
    """
    if isinstance(what, ModuleType):
        pack = outside.add_module(what)
        _broken.pop(pack.name, None)
        _loaded.add(pack.name)
        try:
            import_pack(pack)
            check_needs(pack, entries_of(pack), find_entry)
        except BrokenPack:
            forget_pack(pack)
            sys.modules[pack.module] = what
            raise
        return entries_of(pack)
    if not isinstance(what, (str, os.PathLike)):
        raise BadRequest(f"register takes a module or the path of a pack, not a {type(what).__name__}")
    found = []
    for pack in outside.add_place(what, "te.register"):
        if pack.name in papers():
            outside.remove(pack.name)
            raise broken(pack, DeclarationError(f"{pack.name} is the name of a paper of the registry; rename the pack"))
        forget_pack(pack)
        _load_pack(pack)
        found += entries_of(pack)
    return found


def load_all() -> None:
    """Import every paper and every pack; one that cannot be loaded is told once, as a warning, and left out."""
    for paper in papers():
        _load_built_in(paper)
    for problem in pack_problems():
        if problem not in _told:
            _told.add(problem)
            warnings.warn(problem, PackWarning, stacklevel=3)


def pack_problems() -> list[str]:
    """What is wrong with packs that cannot be loaded, a sentence for each; all are tried."""
    problems = [str(error) for error in outside.refused()]
    for pack in outside.packs().values():
        if pack.name in papers():
            problems.append(f"{pack}: {pack.name} is the name of a paper of the registry; rename the pack")
            continue
        try:
            _load_pack(pack)
        except BrokenPack as error:
            problems.append(str(error))
    return problems


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
        # a pack may hold ids that do not begin with its name
        entry = _entries.get(name) or _entries.get(_aliases.get(name, ""))
    if entry is None:
        words = [*_entries, *_aliases]
        raise UnknownEntry(
            f"no entry {name[:80]!r}{nearest(name[:80], words)}. `theorem-engine find` lists all {len(_entries)}."
        )
    return entry


def is_known(name: str) -> bool:
    """Whether an entry of this id is registered now; nothing is imported to find out."""
    return name in _entries


def all_entries() -> list[Entry]:
    """Every entry of every paper and pack, ordered by id."""
    load_all()
    return [_entries[name] for name in sorted(_entries)]
