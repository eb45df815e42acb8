"""An executor that keeps what is finished, so that a stopped computation goes on where it was."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from theorem_engine.asking.fingerprint import computation_fingerprint
from theorem_engine.sweeping.executors import Executor
from theorem_engine.sweeping.journal import Journal
from theorem_engine.sweeping.locking import only_one
from theorem_engine.sweeping.packing import packed, unpacked


class Resumed:
    """Runs items by another executor and writes each result to a journal; items found there are not run again.

    Results are numbers, truth values, texts, arrays, and sequences or mappings of such; sequences come back as lists. A
    result counts for the code that made it: after a change of the function, or of what it rests on, it is run again.
    A worker writes what it has finished itself, before it takes up anything else, unless the executor says that its
    workers are on other machines (``is_remote``).
    """

    def __init__(self, path: Path | str, inner: Executor, accept: Callable[[Any], bool] | None = None) -> None:
        self.journal = Journal(Path(path))
        self.inner = inner
        #: Whether a result that was kept has the form of one; others are set aside.
        self.accept = accept

    def map(
        self, function: Callable[[Any], Any], items: Sequence[Any], keys: Sequence[str] | None = None
    ) -> Iterator[Any]:
        """Results in order; what is missing is computed, and is on the disk before the next one is waited for."""
        path = self.journal.path
        with only_one(path.with_name(f"{path.name}.lock"), f"no second run of {path.name}"):
            self.journal.prepare()
            known = self._known()
            if keys is None:
                keys = keys_of(function, items)
            missing = [(key, item) for item, key in zip(items, keys, strict=True) if key not in known]
            is_remote = bool(getattr(self.inner, "is_remote", False))
            if is_remote:
                fresh = iter(self.inner.map(function, [item for _, item in missing]))
            else:
                fresh = iter(self.inner.map(_Keeping(function, str(path)), missing))
            for key in keys:
                if key in known:
                    yield known[key]
                    continue
                result = next(fresh)
                if is_remote:
                    self.journal.append({"key": key, "result": packed(result)})
                yield result

    def _known(self) -> dict[str, Any]:
        """Results in the journal; lines that are none are set aside, and that is said."""
        known, foreign = {}, 0
        for record in self.journal.records():
            try:
                result = unpacked(record["result"])
                if self.accept is not None and not self.accept(result):
                    raise ValueError("not of the form of a result")
                known[str(record["key"])] = result
            except (KeyError, TypeError, ValueError, RecursionError, AttributeError):
                foreign += 1
        if set_aside := foreign + len(self.journal.damaged):
            print(f"{self.journal.path}: {set_aside} lines hold no result and were set aside", file=sys.stderr)
        return known


def keys_of(function: Callable[[Any], Any], items: Sequence[Any]) -> list[str]:
    """What each computation is known by in a journal."""
    return [computation_fingerprint(function, item)[:24] for item in items]


@dataclass(frozen=True)
class _Keeping:
    """A function that writes what it finds to a journal before it gives it back; it may travel to a worker."""

    function: Callable[[Any], Any]
    path: str

    def __call__(self, keyed: tuple[str, Any]) -> Any:
        key, item = keyed
        result = self.function(item)
        Journal(Path(self.path)).append({"key": key, "result": packed(result)})
        return result
