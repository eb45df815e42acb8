"""The store of runs: a folder with one folder for each sweep, in which finished points survive whatever stops it.

A run's folder is named after the entry and a fingerprint of all that decides its numbers: equations, those of the
entries applied, letters, method, engine. It holds ``run.json`` (what was asked), ``journal.jsonl`` (a line for each
finished point) and, at the end, ``result.nc``. A changed theorem is another run. What is not as it was written is moved
aside, with a word, and never read.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from theorem_engine.base.errors import BadRequest, FolderInUse, JournalError, TheoremEngineError
from theorem_engine.base.files import cache_folder, write_whole
from theorem_engine.base.sources import digest
from theorem_engine.sweeping.executors import Executor
from theorem_engine.sweeping.journal import Journal
from theorem_engine.sweeping.locking import only_one
from theorem_engine.sweeping.resumed import Resumed, keys_of

FORMAT = "theorem-engine run 1"
_ASKED, _JOURNAL, _RESULT = "run.json", "journal.jsonl", "result.nc"
_LOCK = f"{_JOURNAL}.lock"
#: Part of the name of a folder that was moved aside.
ASIDE = ".set-aside-"


def default_root() -> Path:
    """Where runs of the command line are kept if no folder is named."""
    return cache_folder() / "runs"


class StoredRun:
    """An executor that keeps every finished point of one sweep in a folder of its own."""

    def __init__(
        self,
        root: Path | str,
        inner: Executor,
        asked: Mapping[str, Any],
        accept: Callable[[Any], bool],
        fresh: bool = False,
    ) -> None:
        self.root = Path(root)
        self.inner = inner
        self.asked = dict(asked)
        self.accept = accept
        self.fresh = fresh
        self.folder: Path | None = None
        self.count = 0

    def map(self, function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        """Results in order, those of an earlier run first taken from its journal."""
        keys = keys_of(function, items)
        folder = self.folder or self._opened(keys)
        yield from Resumed(folder / _JOURNAL, self.inner, self.accept).map(function, items, keys)

    def prepare(self, function: Callable[[Any], Any], items: Sequence[Any]) -> None:
        """Open the run of these items, which may then be mapped in several parts."""
        self._opened(keys_of(function, items))

    def _opened(self, keys: Sequence[str]) -> Path:
        """The folder of the run that these computations make."""
        if self.root.exists() and not self.root.is_dir():
            raise BadRequest(f"the store {self.root} is no folder; name another one")
        key = digest([FORMAT, *keys])[:16]
        self.count = len(keys)
        self.folder = self.root / f"{self.asked['entry']}-{key}"
        self._prepare(self.folder, key)
        return self.folder

    def _prepare(self, folder: Path, key: str) -> None:
        """The folder with what was asked in it; a folder that says otherwise is moved aside."""
        if folder.exists() and not _is_run(folder, key):
            place = move_aside(folder)
            print(f"{folder} is no run of this sweep and was moved to {place.name}", file=sys.stderr)
        if not folder.exists():
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise JournalError(
                    f"the store {self.root} cannot be written: {error.strerror or error}; name another folder"
                ) from None
            about = {"format": FORMAT, "key": key, **self.asked, "points": self.count, "started": _now()}
            write_whole(folder / _ASKED, json.dumps(about, indent=2, ensure_ascii=False) + "\n")
        elif self.fresh:
            with only_one(folder / _LOCK, "no second run"):
                for name in (_JOURNAL, _RESULT):
                    with suppress(FileNotFoundError):
                        (folder / name).unlink()

    def finish(self, content: bytes) -> None:
        """Put the whole result beside the journal."""
        if self.folder is not None:
            write_whole(self.folder / _RESULT, content)

    def forget(self) -> None:
        """Remove the run, which is finished and was not asked to be kept."""
        if self.folder is not None:
            with suppress(OSError, TheoremEngineError):
                remove(self.folder)

    def stopped_text(self) -> str:
        """How far a run came that was stopped, and how to go on."""
        if self.folder is None:
            return "stopped before any point was finished"
        done = finished_points(self.folder)
        return (
            f"stopped: {done} of {self.count} points are finished and kept in {self.folder}; the same sweep goes on "
            f"from there with store={str(self.root)!r} (on the command line: --resume, or --store {self.root})"
        )


@dataclass(frozen=True)
class Run:
    """One run of a store, as it lies on the disk."""

    name: str
    folder: Path
    asked: Mapping[str, Any]
    done: int
    is_finished: bool
    size: int
    changed: float

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "name": self.name, "folder": str(self.folder), "asked": dict(self.asked), "finished_points": self.done,
            "finished": self.is_finished, "bytes": self.size, "changed": _moment(self.changed),
        }  # fmt: skip

    def line(self) -> str:
        """The run in one line."""
        state = "finished" if self.is_finished else f"{self.done} of {self.asked.get('points', '?')} points"
        return f"{self.name}  {state}  {self.size / 1024:.0f} KiB  {_moment(self.changed)}"


def runs_of(root: Path) -> tuple[list[Run], list[Path]]:
    """The runs of a store, latest first, and what else lies there."""
    if not root.is_dir():
        return [], []
    runs, others = [], []
    for folder in sorted(root.iterdir()):
        asked = _asked(folder)
        if asked is None:
            others.append(folder)
            continue
        files = [path for path in folder.iterdir() if path.is_file()]
        runs.append(
            Run(
                folder.name, folder, asked, finished_points(folder), (folder / _RESULT).is_file(),
                sum(path.stat().st_size for path in files), max(path.stat().st_mtime for path in files),
            )
        )  # fmt: skip
    return sorted(runs, key=lambda run: -run.changed), others


def find_run(root: Path, name: str) -> Run:
    """The run of this name, or the only one whose name begins or ends with it."""
    runs, _ = runs_of(root)
    found = [run for run in runs if run.name == name] or [
        run for run in runs if name and (run.name.startswith(name) or run.name.endswith(name))
    ]
    if len(found) != 1:
        known = f"{len(found)} runs are" if found else "no run is"
        raise BadRequest(f"{known} called {name[:60]!r} in {root}; `theorem-engine runs list` names them all")
    return found[0]


def collect(root: Path, days: float, *, only_look: bool = False) -> list[Run]:
    """Remove the runs that were not touched for so many days; the ones that are at work stay."""
    old = [run for run in runs_of(root)[0] if time.time() - run.changed >= 86400 * days]
    if only_look:
        return old
    gone = []
    for run in old:
        with suppress(FolderInUse):
            remove(run.folder)
            gone.append(run)
    return gone


def remove(folder: Path) -> None:
    """Remove the files of a run, and the folder if nothing else lies in it."""
    with only_one(folder / _LOCK, "nothing is removed"):
        for name in (_RESULT, _JOURNAL, _ASKED):
            with suppress(FileNotFoundError):
                (folder / name).unlink()
    with suppress(OSError):
        (folder / _LOCK).unlink()
        folder.rmdir()


def move_aside(folder: Path) -> Path:
    """Give a folder another name, so that nothing in it is lost or read."""
    number = 1
    while (place := folder.with_name(f"{folder.name}{ASIDE}{number}")).exists():
        number += 1
    os.rename(folder, place)
    return place


def finished_points(folder: Path) -> int:
    """How many points of a run are on the disk."""
    return len({record.get("key") for record in Journal(folder / _JOURNAL).records()})


def _is_run(folder: Path, key: str) -> bool:
    asked = _asked(folder)
    return asked is not None and asked.get("key") == key


def _asked(folder: Path) -> dict[str, Any] | None:
    """What was asked of a run; None where a folder holds none."""
    try:
        found = json.loads((folder / _ASKED).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and found.get("format") == FORMAT else None


def _now() -> str:
    return _moment(time.time())


def _moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(seconds))
