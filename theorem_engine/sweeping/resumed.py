"""An executor that keeps what is finished, so that a stopped computation goes on where it was."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from theorem_engine.asking.fingerprint import computation_fingerprint
from theorem_engine.sweeping.executors import Executor
from theorem_engine.sweeping.journal import Journal
from theorem_engine.sweeping.locking import only_one


class Resumed:
    """Runs items by another executor and writes each result to a journal; items found there are not run again.

    Results are numbers, truth values, texts, and sequences or mappings of such; sequences come back as lists. A
    result counts for the code that made it: after a change of the function, or of what it rests on, it is run again.
    """

    def __init__(self, path: Path | str, inner: Executor) -> None:
        self.journal = Journal(Path(path))
        self.inner = inner

    def map(self, function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        """Results in order; what is missing is computed, and is on the disk before the next one is waited for."""
        path = self.journal.path
        with only_one(path.with_name(f"{path.name}.lock"), f"no second run of {path.name}"):
            self.journal.prepare()
            known = self._known()
            keys = [computation_fingerprint(function, item)[:24] for item in items]
            missing = [item for item, key in zip(items, keys, strict=True) if key not in known]
            fresh = iter(self.inner.map(function, missing))
            for key in keys:
                if key in known:
                    yield known[key]
                    continue
                result = next(fresh)
                self.journal.append({"key": key, "result": _packed(result)})
                yield result

    def _known(self) -> dict[str, Any]:
        """Results in the journal; lines that are none are set aside, and that is said."""
        known, foreign = {}, 0
        for record in self.journal.records():
            try:
                known[str(record["key"])] = _unpacked(record["result"])
            except (KeyError, TypeError, ValueError, RecursionError):
                foreign += 1
        if set_aside := foreign + len(self.journal.damaged):
            print(f"{self.journal.path}: {set_aside} lines hold no result and were set aside", file=sys.stderr)
        return known


def _packed(value: Any) -> Any:
    """Plain data for JSON, which has no infinities."""
    if isinstance(value, Mapping):
        return {str(name): _packed(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_packed(part) for part in value]
    return {"float": repr(value)} if isinstance(value, float) and not math.isfinite(value) else value


def _unpacked(value: Any) -> Any:
    if isinstance(value, Mapping):
        return float(value["float"]) if set(value) == {"float"} else {k: _unpacked(part) for k, part in value.items()}
    return [_unpacked(part) for part in value] if isinstance(value, list) else value
