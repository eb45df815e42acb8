"""Digests of source files: what code a number or a list was made with.

The bytes of a file count, not its time: a restored or copied file has the time of another.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Callable, Iterable
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from theorem_engine.base.version import __version__

#: Files that decide what entries, simulators and the engine say.
ENDINGS = (".py", ".toml")
_CONTENT = ("theorem_engine.registry", "theorem_engine.validators")
#: Libraries whose functions end up in numbers.
_LIBRARIES = ("numpy", "scipy", "sympy", "mpmath")


def digest(parts: Iterable[str | bytes]) -> str:
    """A digest of several pieces, each with its length, so that none can run into the next."""
    import hashlib

    found = hashlib.sha256()
    for part in parts:
        data = part.encode(errors="backslashreplace") if isinstance(part, str) else part
        found.update(f"{len(data)}:".encode() + data)
    return found.hexdigest()


def folder_digest(folder: Path) -> str:
    """A digest that changes when any source file below a folder is added, removed, renamed or changed."""
    parts: list[str | bytes] = []
    for path in sorted(folder.rglob("*")):
        if path.suffix in ENDINGS:
            parts += [path.relative_to(folder).as_posix(), _bytes(path)]
    return digest(parts)


def place_digest(place: Path) -> str:
    """The same for a folder, or for a single file and the tables that lie beside it."""
    if place.is_dir():
        return folder_digest(place)
    beside = [] if not place.parent.is_dir() else sorted(place.parent.glob("*.toml"))
    return digest([place.name, _bytes(place), *(part for path in beside for part in (path.name, _bytes(path)))])


def _bytes(path: Path) -> bytes:
    """The content; of a file that cannot be read, the fact that it cannot."""
    try:
        return path.read_bytes()
    except OSError as error:
        return f"unreadable: {error.strerror}".encode()


@cache
def engine_digest() -> str:
    """The engine's own code, its version, and the versions of the libraries that compute for it."""
    return digest([__version__, *(f"{name} {_version(name)}" for name in _LIBRARIES), folder_digest(engine_folder())])


@cache
def content_digest() -> str:
    """All that the engine is given to work with: every entry and every simulator."""
    folders = [Path(p) for name in _CONTENT for p in importlib.import_module(name).__path__]
    return digest(folder_digest(folder) for folder in folders)


def read_again() -> None:
    """Forget what files held: one of them was imported anew."""
    for function in (content_digest, function_digest, _closure):
        function.cache_clear()


def engine_folder() -> Path:
    """The folder of the engine's own code."""
    return Path(__file__).parent.parent


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


@cache
def function_digest(function: Callable[..., Any]) -> str:
    """A function's own text, and that of its module and of every module of ours that it imports."""
    module = str(getattr(function, "__module__", ""))
    name = str(getattr(function, "__qualname__", type(function).__qualname__))
    return digest([module, name, function_text(function), *(f"{m} {d}" for m, d in _closure(module))])


def module_digest(module: str) -> str:
    """A module's own text, and that of every module of ours that it imports."""
    return digest(f"{m} {d}" for m, d in _closure(module))


def imported_by(module: str) -> list[tuple[str, Path]]:
    """A module and all it imports from its own top-level folder, each with its file."""
    return [(name, path) for name, _ in _closure(module) if (path := _file(name)) is not None]


def function_text(function: Callable[..., Any]) -> str:
    """The source of a function; where there is none, its code as Python keeps it."""
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        code = getattr(function, "__code__", None)
        return repr(function) if code is None else f"{code.co_code.hex()} {code.co_names} {code.co_varnames}"


@cache
def _closure(module: str) -> list[tuple[str, str]]:
    """A module and all it imports from its own top-level folder, each with the digest of its file."""
    own = f"{module.partition('.')[0]}."
    found: dict[str, str] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        path = None if name in found else _file(name)
        if path is None:
            continue
        content = _bytes(path)
        found[name] = digest([content])
        imports = _imports(name, path.name == "__init__.py", content)
        waiting += [other for other in imports if _is_ours(other) or _is_near(other, own)]
    return sorted(found.items())


def _is_ours(module: str) -> bool:
    # the engine's own code is counted as a whole, elsewhere
    return module.startswith(tuple(f"{folder}." for folder in _CONTENT))


def _is_near(module: str, own: str) -> bool:
    """Whether a module lies in the same pack as the one whose imports are followed."""
    return own != "theorem_engine." and module.startswith(own)


def _file(module: str) -> Path | None:
    """The source file of a module that can be imported."""
    try:
        location = getattr(importlib.import_module(module), "__file__", None)
    except (ImportError, ValueError):
        return None
    return Path(location) if location else None


@cache
def _imports(module: str, is_package: bool, content: bytes) -> tuple[str, ...]:
    """Names of modules that a source file imports anywhere, in a function too; whether each exists is not asked."""
    package = module if is_package else module.rpartition(".")[0]
    names = []
    for node in ast.walk(ast.parse(content)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            names += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    return tuple(names)
