"""Files of kept plans: where they lie, what they were made with, and whether they are to be trusted.

A file is used under its fingerprint alone: the bytes of every source file of the engine and of the registry, and the
versions of Python and of the libraries. It must be ours: a plain file of this user that not everybody may write.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from theorem_engine.base.files import cache_folder
from theorem_engine.base.version import __version__

#: The form of the files; another number stands for another form.
FORM = 1
#: Files whose bytes decide what is computed.
_ENDINGS = (".py", ".toml")
_LIBRARIES = ("numpy", "scipy", "sympy", "mpmath")
#: Bytes of a file; ours are far shorter.
_LARGEST = 2**24


class Distrusted(Exception):
    """A file that is not used, and why."""


def folder() -> Path:
    """Where the plans of this installation are kept."""
    own = hashlib.sha256(str(_engine()).encode()).hexdigest()[:12]
    return cache_folder() / "plans" / own


def _engine() -> Path:
    return Path(__file__).resolve().parent.parent


@cache
def fingerprint() -> str:
    """A digest of all that decides what a kept plan computes."""
    found = hashlib.sha256(f"{FORM} {__version__} {sys.version} {sys.byteorder}".encode())
    for name in _LIBRARIES:
        found.update(_library(name))
    for place in (_engine(), *_registry()):
        for path in sorted(_files(str(place))):
            data = Path(path).read_bytes()
            found.update(f"{path[len(str(place)) :]} {len(data)}:".encode() + data)
    return found.hexdigest()


def _library(name: str) -> bytes:
    """What tells one version of a library from another, read without importing it."""
    import importlib.util

    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        return b"none"
    found = [spec.origin.encode()]
    for file in ("version.py", "release.py", "__init__.py"):
        path = Path(spec.origin).with_name(file)
        if path.is_file():
            found.append(path.read_bytes())
    return b"\n".join(found)


def _registry() -> list[Path]:
    import importlib.util

    spec = importlib.util.find_spec("theorem_engine.registry")
    return sorted(Path(place) for place in (spec.submodule_search_locations or ())) if spec else []


def _files(place: str) -> Iterator[str]:
    with os.scandir(place) as found:
        for item in found:
            if item.is_dir():
                if item.name != "__pycache__":
                    yield from _files(item.path)
            elif item.name.endswith(_ENDINGS):
                yield item.path


def path_of(id: str) -> Path:
    """The file of an entry."""
    return folder() / f"{id}.json"


def digest(body: Any) -> str:
    """The sum that a file carries of its own content."""
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def load(path: Path) -> Any:
    """The content of a file, None where there is none or it is of another state; Distrusted where it is not ours."""
    try:
        with path.open("rb") as file:
            _check_owner(os.fstat(file.fileno()), is_folder=False)
            _check_owner(os.stat(path.parent), is_folder=True)
            data = file.read(_LARGEST + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Distrusted(error.strerror or "it cannot be read") from None
    try:
        whole: Any = json.loads(data) if len(data) <= _LARGEST else None
        state, total, body = whole["fingerprint"], whole["sum"], whole["body"]
    except (ValueError, KeyError, TypeError, RecursionError, MemoryError):
        raise Distrusted("it is broken") from None
    if digest(body) != total:
        raise Distrusted("its content is not what was written")
    return body if state == fingerprint() else None


def survey() -> dict[str, Any]:
    """What is kept: how many plans are of use now, of another state, or not ours, with the reason for each of these."""
    count, outdated, ignored = 0, 0, {}
    for path in sorted(folder().glob("*.json")):
        try:
            count, outdated = (count, outdated + 1) if load(path) is None else (count + 1, outdated)
        except Distrusted as reason:
            ignored[path.name] = str(reason)
    return {"folder": str(folder()), "entries": count, "outdated": outdated, "ignored": ignored}


def clear() -> int:
    """Remove what is kept, files that are not ours included; how many there were."""
    found = [path for path in folder().glob("*.json") if path.is_file() or path.is_symlink()]
    for path in found:
        path.unlink(missing_ok=True)
    return len(found)


def _check_owner(found: os.stat_result, is_folder: bool) -> None:
    what = "its folder" if is_folder else "it"
    if not (stat.S_ISDIR if is_folder else stat.S_ISREG)(found.st_mode):
        raise Distrusted(f"{what} is no plain {'folder' if is_folder else 'file'}")
    if hasattr(os, "getuid"):
        if found.st_uid != os.getuid():
            raise Distrusted(f"{what} belongs to another user")
        if found.st_mode & stat.S_IWOTH:
            raise Distrusted(f"everybody may write {what}")
