"""Importing a pack: all of it or nothing, and what goes wrong in one sentence with file and line."""

from __future__ import annotations

import contextlib
import importlib
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from theorem_engine.base.errors import BrokenPack, TheoremEngineError
from theorem_engine.language.packs import Pack, modules_of

if TYPE_CHECKING:
    from theorem_engine.language.entry import Entry

#: Characters of a foreign message that are repeated.
_LONGEST = 400
#: Bytes of a module; more is data, which takes minutes to compile.
_LARGEST = 2**20


def import_pack(pack: Pack) -> None:
    """Import the pack's module and those inside it; BrokenPack where one raises, its modules forgotten again."""
    before = set(sys.modules)
    for file in _large_files(pack):
        raise BrokenPack(
            f"{pack}: {_clause(pack, str(file), None)}it is larger than {_LARGEST} bytes; keep data in a file of data"
        )
    try:
        # what a pack prints would stand among the data that a command prints
        with contextlib.redirect_stdout(sys.stderr):
            for name in _names(pack, pack.module):
                importlib.import_module(name)
    except KeyboardInterrupt:
        forget_modules(pack, before)
        raise
    except BaseException as error:
        forget_modules(pack, before)
        raise broken(pack, error) from None


def _large_files(pack: Pack) -> list[Path]:
    place = pack.place
    found = [] if place is None else [place] if place.is_file() else sorted(place.rglob("*.py"))
    return [file for file in found if file.is_file() and file.stat().st_size > _LARGEST]


def _names(pack: Pack, module: str) -> Iterator[str]:
    """The module and those inside it, in the order of their names, packages before what they hold."""
    yield module
    folders = list(getattr(sys.modules[module], "__path__", ()))
    for name in sorted(modules_of(pack, folders)):
        yield from _names(pack, f"{module}.{name}")


def forget_modules(pack: Pack, kept: Iterable[str] = ()) -> None:
    """Take the pack's modules out of the import system, so that a mended file is read again."""
    for name in [name for name in sys.modules if belongs(pack, name) and name not in kept]:
        del sys.modules[name]


def belongs(pack: Pack, module: str) -> bool:
    """Whether a module is the pack's own or lies inside it."""
    return module == pack.module or module.startswith(f"{pack.module}.")


def broken(pack: Pack, error: BaseException) -> BrokenPack:
    """The sentence for what a pack's code raised: the pack, the file and line, and the reason."""
    if isinstance(error, TheoremEngineError):
        said = plain_line(str(error))
    else:
        said = plain_line(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)
        said = f"it does not import: {said}"
    return BrokenPack(f"{pack}: {_line_of_error(pack, error)}{said}")


def _line_of_error(pack: Pack, error: BaseException) -> str:
    """The last line of the pack's own files on the way to an error."""
    if isinstance(error, SyntaxError) and error.filename and _is_inside(pack, error.filename):
        return _clause(pack, error.filename, error.lineno)
    own = [f for f in traceback.extract_tb(error.__traceback__) if _is_inside(pack, f.filename)]
    return _clause(pack, own[-1].filename, own[-1].lineno) if own else ""


def _is_inside(pack: Pack, file: str) -> bool:
    place = pack.place
    return place is not None and (Path(file) == place or place in Path(file).parents)


def _clause(pack: Pack, file: str, line: int | None) -> str:
    inside = pack.place is not None and pack.place.is_dir() and _is_inside(pack, file)
    shown = Path(file).relative_to(pack.place) if inside and pack.place is not None else Path(file).name
    return f"{shown}, line {line}: " if line else f"{shown}: "


def check_needs(pack: Pack, entries: Iterable[Entry], find: Callable[[str], Entry]) -> None:
    """BrokenPack where an entry needs one that does not exist, or entries need each other in a circle."""
    for entry in entries:
        for target in entry.needs.values():
            try:
                find(target)
            except TheoremEngineError as error:
                where = _clause(pack, *declared_at(entry, target))
                raise BrokenPack(
                    f"{pack}: {where}{entry.id} needs {plain_line(target)!r}: {plain_line(str(error))}"
                ) from None
        circle = _circle(entry, find)
        if circle:
            where = _clause(pack, *declared_at(entry, circle[1]))
            raise BrokenPack(
                f"{pack}: {where}the entries {' -> '.join(circle)} need each other in a circle; "
                "let one of them state its equations without the next"
            )


def _circle(entry: Entry, find: Callable[[str], Entry]) -> list[str]:
    """Ids on a way from an entry through others back to it; none where there is no such way.

    An entry may apply itself, under another choice of its options.
    """
    waiting: list[tuple[str, ...]] = [(entry.id,)]
    seen = {entry.id}
    while waiting:
        way = waiting.pop()
        for target in find(way[-1]).needs.values():
            id = find(target).id
            if id == entry.id and len(way) > 1:
                return [*way, id]
            if id not in seen:
                seen.add(id)
                waiting.append((*way, id))
    return []


def declared_at(entry: Any, word: str = "") -> tuple[str, int]:
    """File and line of an entry's declaration; with a word, the first line from there on that has it in quotes."""
    code = getattr(entry.body, "__code__", None)
    file, line = (code.co_filename, code.co_firstlineno) if code is not None else (str(entry.module), 0)
    lines = _lines(file)
    for number in range(max(line, 1), len(lines) + 1) if word else ():
        if any(f"{quote}{word}{quote}" in lines[number - 1] for quote in "\"'"):
            return file, number
    return file, line


def _lines(file: str) -> list[str]:
    try:
        return Path(file).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return []


def plain_line(text: str) -> str:
    """Foreign text as one line without control characters, cut where it is long."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."
