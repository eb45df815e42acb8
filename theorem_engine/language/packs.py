"""Packs: theorems that live outside this project, found without importing them.

A pack is a Python package (or one file) that declares letters, entries, figures and simulators. It is found

- by an entry point of the group ``theorem_engine.packs`` of an installed distribution,
- by its path in the environment variable ``THEOREM_ENGINE_PACKS``, several separated as in ``PATH``,
- by its path on the command line (``--pack PATH``) or in ``te.register``.

A path is a folder of modules, a single ``.py`` file, or a project whose ``pyproject.toml`` names entry points.
The code of a pack runs when one of its entries is first asked for.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from theorem_engine.base.errors import BrokenPack, DeclarationError
from theorem_engine.base.files import read_text

GROUP = "theorem_engine.packs"
VARIABLE = "THEOREM_ENGINE_PACKS"
_MODULE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", re.ASCII)


@dataclass(frozen=True)
class Pack:
    """Where a pack lies: its name begins the ids of its entries, its module is what is imported."""

    name: str
    module: str
    #: Its folder, or its file; None where nothing of that name is installed.
    place: Path | None
    #: How it was found, in words.
    origin: str

    def __str__(self) -> str:
        return f"pack {self.name} ({self.place or self.module})"


def paper_name(name: str) -> str:
    """The word that ids of a pack begin with: its name in small letters, without hyphens and underscores.

    >>> paper_name("Heat_kernel")
    'heatkernel'
    """
    return re.sub(r"[-_.]", "", name).lower()


class _Places:
    """Finds the top-level modules of packs that are given by their path, and nothing else."""

    modules: dict[str, Path] = {}  # noqa: RUF012

    @classmethod
    def find_spec(cls, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Answer for a pack's folder or file; its inner modules are found by its own path."""
        place = cls.modules.get(name)
        if place is None:
            return None
        if place.is_file():
            return importlib.util.spec_from_file_location(name, place)
        inside = [str(place)]
        if (place / "__init__.py").is_file():
            return importlib.util.spec_from_file_location(
                name, place / "__init__.py", submodule_search_locations=inside
            )
        spec = ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = inside
        return spec


#: Packs given by path in this process, by name.
_given: dict[str, Pack] = {}
#: What cannot be a pack, by the path or the entry point that names it.
_refused: dict[str, BrokenPack] = {}
_read_variable: list[str] = []


def packs() -> dict[str, Pack]:
    """All packs by name; one given by path goes before an installed one of the same name."""
    for text in os.environ.get(VARIABLE, "").split(os.pathsep):
        if text and text not in _read_variable:
            _read_variable.append(text)
            try:
                add_place(text, VARIABLE)
            except BrokenPack as error:
                _refused[text] = error
    return dict(sorted({**_installed(), **_given}.items()))


def refused() -> tuple[BrokenPack, ...]:
    """What was named as a pack and cannot be one, each with the reason."""
    packs()
    return tuple(_refused.values())


def places() -> tuple[str, ...]:
    """Paths of the packs that this process was given, for other processes that work for it."""
    packs()
    return tuple(str(pack.place) for pack in _given.values() if pack.place is not None)


_found: tuple[tuple[str, ...], dict[str, Pack]] | None = None


def _installed() -> dict[str, Pack]:
    """Packs that installed distributions name; looked for again where the search path has changed."""
    global _found
    if _found is None or _found[0] != tuple(sys.path):
        found: dict[str, Pack] = {}
        for point in metadata.entry_points(group=GROUP):
            _installed_pack(point, found)
        _found = tuple(sys.path), found
    return _found[1]


def _installed_pack(point: metadata.EntryPoint, found: dict[str, Pack]) -> None:
    name, key = paper_name(point.name), f"{GROUP}: {point.name}"
    whose = getattr(point.dist, "name", "an installed distribution")
    if not _MODULE.fullmatch(point.value):
        _refused[key] = BrokenPack(
            f"pack {point.name[:60]!r} of {whose}: its entry point names {point.value[:80]!r}, which is no module"
        )
    elif name in found and found[name].module != point.value:
        _refused[key] = BrokenPack(
            f"pack {name}: two distributions bring packs of that name, {found[name].origin} and {whose}; "
            f"the one of {found[name].origin} is used"
        )
    else:
        found[name] = Pack(name, point.value, _place_of(point.value), str(whose))


def _place_of(module: str) -> Path | None:
    """The folder or file of an installed module, found by its top-level name alone so that nothing is imported."""
    top, *rest = module.split(".")
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError, AttributeError):
        return None
    folders = list(spec.submodule_search_locations or []) if spec is not None else []
    if not folders:
        return Path(spec.origin) if spec is not None and spec.origin else None
    place = Path(folders[0], *rest)
    return place if place.is_dir() else place.with_suffix(".py") if place.with_suffix(".py").is_file() else None


def _has_file(module: str) -> bool:
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError, AttributeError):
        return False
    return spec is not None and spec.origin is not None


def add_place(path: str | os.PathLike[str], origin: str) -> list[Pack]:
    """The packs at a path, known from now on; an error where there are none or their name is taken."""
    added = list(_packs_at(path, origin))
    for pack in added:
        _refuse_taken(pack, path)
    for pack in added:
        _given[pack.name] = pack
        _Places.modules[pack.module.partition(".")[0]] = _top_place(pack)
        # a folder that is there now may have been missing when the import system last looked
        importlib.invalidate_caches()
    if _Places not in sys.meta_path:
        sys.meta_path.insert(0, _Places)
    return added


def adopt(paths: Sequence[str]) -> None:
    """Know the packs of another process; one that is not here is missed when an entry of it is asked for."""
    for path in paths:
        if path not in places():
            with suppress(BrokenPack):
                add_place(path, "another process")


def add_module(module: ModuleType) -> Pack:
    """A module that is imported already, as a pack."""
    location = getattr(module, "__file__", None)
    folders = list(getattr(module, "__path__", ()))
    place = Path(folders[0]) if folders else Path(location) if location else None
    name = paper_name(module.__name__.rpartition(".")[2])
    pack = Pack(name, module.__name__, place, "te.register")
    if "." not in module.__name__ and place is not None:
        _given[name] = pack
    return pack


def remove(name: str) -> None:
    """Forget a pack that was given by its path."""
    pack = _given.pop(name, None)
    if pack is not None:
        _Places.modules.pop(pack.module.partition(".")[0], None)


def _packs_at(path: str | os.PathLike[str], origin: str) -> Iterator[Pack]:
    place = Path(path).expanduser().absolute()
    shown = str(path)[:200]
    if not place.exists():
        raise BrokenPack(f"{origin}: there is no pack at {shown!r}; a pack is a folder, a .py file or a project")
    if place.is_dir() and (place / "pyproject.toml").is_file() and not (place / "__init__.py").is_file():
        yield from _packs_of_project(place, origin)
        return
    name = place.stem if place.suffix == ".py" and place.is_file() else place.name
    if not (place.is_dir() or place.suffix == ".py") or not name.isidentifier() or not name.isascii():
        raise BrokenPack(
            f"{origin}: {shown!r} is no pack; a pack is a folder or a .py file whose name is a Python name, "
            "or a project whose pyproject.toml names one"
        )
    if place.is_dir() and not any(place.glob("*.py")):
        raise BrokenPack(f"{origin}: the folder {shown!r} holds no Python module, so it is no pack")
    yield Pack(paper_name(name), name, place, origin)


def _packs_of_project(project: Path, origin: str) -> Iterator[Pack]:
    """What ``pyproject.toml`` of a folder names as packs; the project need not be installed."""
    file = project / "pyproject.toml"
    try:
        named: Any = tomllib.loads(read_text(file))
        for key in ("project", "entry-points", GROUP):
            named = named[key]
        pairs = [(str(name), module) for name, module in named.items()]
    except (KeyError, TypeError, AttributeError):
        pairs = []
    except (OSError, ValueError, RecursionError, DeclarationError) as error:
        raise BrokenPack(f"{origin}: {file} cannot be read: {error}") from None
    if not pairs:
        raise BrokenPack(f'{origin}: {file} names no pack; it needs a table [project.entry-points."{GROUP}"]')
    for name, module in pairs:
        if not isinstance(module, str) or not _MODULE.fullmatch(module):
            raise BrokenPack(f"{origin}: {file}: {name[:60]!r} names {str(module)[:80]!r}, which is no module")
        parts = module.split(".")
        candidates = [folder.joinpath(*parts) for folder in (project, project / "src")]
        found = [p for c in candidates for p in (c, c.with_suffix(".py")) if p.is_dir() or p.is_file()]
        if not found:
            raise BrokenPack(f"{origin}: {file}: {name[:60]!r} names {module!r}, which is not in {project}")
        yield Pack(paper_name(name), module, found[0], origin)


def _top_place(pack: Pack) -> Path:
    """The folder or file of the top-level module that a pack lies in."""
    place = pack.place or Path()
    for _ in pack.module.split(".")[1:]:
        place = place.parent
    return place


def _refuse_taken(pack: Pack, path: str | os.PathLike[str]) -> None:
    """An error where the import system knows another module of that name, which the pack would hide."""
    top = pack.module.partition(".")[0]
    here = _top_place(pack)
    known = _Places.modules.get(top)
    if known is not None:
        if known != here:
            raise BrokenPack(f"{pack.origin}: {path}: a pack {top} was given already, at {known}")
        return
    if top in sys.stdlib_module_names or top == "theorem_engine":
        raise BrokenPack(f"{pack.origin}: {path}: {top} is the name of a module of Python or of the engine; rename it")
    if any(other.module.partition(".")[0] == top for other in _installed().values()):
        # a working copy of a pack that is installed too
        return
    # a folder without a package file, such as the project that holds the pack, gives way
    other = _place_of(top) if _has_file(top) else None
    if other is not None and other.resolve() not in (here.resolve(), (here / "__init__.py").resolve()):
        raise BrokenPack(f"{pack.origin}: {path}: another module {top} is installed, at {other}; rename the pack")


def foreign_ids(pack: Pack) -> Iterator[tuple[str, str, int]]:
    """Ids that the pack's decorators declare under another name than its own, with file and line; nothing is imported.

    A file that cannot be read as Python has none here: loading it says what is wrong.
    """
    place = pack.place
    files = [] if place is None else [place] if place.is_file() else sorted(place.glob("*.py"))
    for file in files:
        try:
            tree = ast.parse(read_text(file))
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError, DeclarationError):
            continue
        for node in ast.walk(tree):
            decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
            for call in decorators:
                named = call.args[0] if isinstance(call, ast.Call) and call.args else None
                text = named.value if isinstance(named, ast.Constant) else None
                if isinstance(text, str) and "." in text and text.partition(".")[0] != pack.name:
                    yield text, file.name, call.lineno


def modules_of(pack: Pack, folders: Sequence[str]) -> Iterator[str]:
    """Names of the modules inside a pack's package, one level, without those that declare nothing."""
    import pkgutil

    for found in pkgutil.iter_modules(folders):
        if found.name not in ("methods", "tests", "conftest", "setup", "__main__") and not found.name.startswith(
            "test_"
        ):
            yield found.name
