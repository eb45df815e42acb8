"""The state of an installation: versions, extras, and whether the registry loads."""

from __future__ import annotations

import importlib
import platform
import re
import tomllib
import warnings
from importlib import metadata
from pathlib import Path
from typing import Any

from theorem_engine.asking import kept_files
from theorem_engine.base.errors import NotAvailable, PackWarning
from theorem_engine.base.sources import engine_folder
from theorem_engine.base.version import __version__
from theorem_engine.language import catalogue
from theorem_engine.language.packs import packs

_REQUIREMENT = re.compile(r"([A-Za-z0-9_.-]+)[^;]*(?:;.*extra\s*==\s*['\"]([a-z]+)['\"])?.*")
#: Distributions whose module bears another name.
_MODULES = {"python-flint": "flint"}
#: The checkout that the engine runs from, if it does.
ROOT = engine_folder().parent
_LINKS = ("registry", "validators")


def examine() -> dict[str, Any]:
    """Everything a bug report should say; ``problems`` is empty when all that is needed works."""
    needed, extras = _requirements()
    problems: list[str] = []
    for name in needed:
        try:
            importlib.import_module(_MODULES.get(name, name.replace("-", "_")))
        except ImportError as error:
            problems.append(f"{name} is needed but does not import: {error}")
    return {
        "python": platform.python_version(),
        "platform": platform.system(),
        "theorem_engine": __version__,
        "dependencies": {name: _version(name) for name in needed},
        "extras": {extra: {name: _version(name) for name in names} for extra, names in extras.items()},
        "papers": _papers(problems),
        "packs": _packs(problems),
        "kept_plans": kept_files.survey(),
        "problems": problems,
    }


def _papers(problems: list[str]) -> dict[str, int]:
    """How many entries each paper declares; one that cannot be imported has none and is a problem."""
    try:
        papers = catalogue.papers()
    except ImportError as error:
        problems.append(f"the registry is not installed: {error}")
        return {}
    broken = []
    for paper in papers:
        try:
            catalogue.load(paper)
        except Exception as error:  # whatever an author's module raises is what this command reports
            broken.append(paper)
            problems.append(f"paper {paper} does not load: {type(error).__name__}: {error}")
    with warnings.catch_warnings():
        # packs are looked at next
        warnings.simplefilter("ignore", PackWarning)
        whole = [] if broken else catalogue.all_entries()
    return {paper: sum(entry.paper == paper for entry in whole) for paper in papers}


def _packs(problems: list[str]) -> dict[str, int]:
    """How many entries each pack from outside declares; what cannot be loaded is a problem."""
    problems += catalogue.pack_problems()
    return {name: len(catalogue.entries_of(pack)) for name, pack in packs().items()}


def _requirements() -> tuple[list[str], dict[str, list[str]]]:
    """Names of what is always needed, and of what each extra adds."""
    try:
        lines = metadata.requires("theorem-engine") or []
    except metadata.PackageNotFoundError:
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        optional = project["optional-dependencies"].items()
        lines = [*project["dependencies"], *(f"{line}; extra == '{name}'" for name, ls in optional for line in ls)]
    needed: list[str] = []
    extras: dict[str, list[str]] = {}
    for line in lines:
        match = _REQUIREMENT.fullmatch(line)
        if match is None or match[1] == "theorem-engine":
            continue
        (extras.setdefault(match[2], []) if match[2] else needed).append(match[1])
    return needed, extras


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def report_text(report: dict[str, Any]) -> str:
    """The report as lines of text, problems last."""
    lines = [f"theorem-engine {report['theorem_engine']}, Python {report['python']}, {report['platform']}"]
    lines += ["needed", *(f"  {name} {version or 'MISSING'}" for name, version in report["dependencies"].items())]
    lines.append("extras")
    for extra, packages in report["extras"].items():
        missing = [name for name, version in packages.items() if version is None]
        state = f"missing {', '.join(missing)}: pip install 'theorem-engine[{extra}]'" if missing else "installed"
        lines.append(f"  {extra}: {state}")
    lines += ["papers", *(f"  {paper}: {count} entries" for paper, count in report["papers"].items())]
    if report["packs"]:
        lines += ["packs", *(f"  {name}: {count} entries" for name, count in report["packs"].items())]
    lines += _kept_text(report["kept_plans"])
    lines += [f"PROBLEM: {problem}" for problem in report["problems"]] or ["Everything needed works."]
    return "\n".join(lines)


def _kept_text(found: dict[str, Any]) -> list[str]:
    old = f", {found['outdated']} of another state, which are made anew when asked for" if found["outdated"] else ""
    ignored = [f"  {name} is ignored: {reason}" for name, reason in found["ignored"].items()]
    return ["kept plans", f"  {found['entries']} entries in {found['folder']}{old}", *ignored]


def make_typing_folder() -> Path:
    """``build/typing/theorem_engine`` with links to the two folders that static type checkers cannot find.

    Editable installs serve ``registry`` and ``validators`` through an import hook, which checkers do
    not run. There is no ``__init__.py`` in the folder: with one, a checker takes it for the whole package.
    """
    if not (ROOT / "pyproject.toml").is_file():
        raise NotAvailable("--typing is for a source checkout; an installed package needs no links")
    folder = ROOT / "build" / "typing" / "theorem_engine"
    folder.mkdir(parents=True, exist_ok=True)
    for name in _LINKS:
        link = folder / name
        if not link.exists():
            link.unlink(missing_ok=True)
            link.symlink_to(Path("..", "..", "..", name), target_is_directory=True)
    return folder.relative_to(ROOT)
