"""An executor that keeps what is finished, so that a stopped computation goes on where it was."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from theorem_engine import __version__
from theorem_engine.execution import Executor
from theorem_engine.journal import Journal


class Resumed:
    """Runs items by another executor and writes each result to a journal; items found there are not run again.

    Results are numbers, truth values, texts, and sequences or mappings of such; sequences come back as lists.
    """

    def __init__(self, path: Path | str, inner: Executor) -> None:
        self.journal = Journal(Path(path))
        self.inner = inner

    def map(self, function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        """Results in order; what is missing is computed, and is on the disk before the next one is waited for."""
        self.journal.prepare()
        known = {record["key"]: record["result"] for record in self.journal.records() if "key" in record}
        keys = [_key(function, item) for item in items]
        fresh = iter(
            self.inner.map(function, [item for item, key in zip(items, keys, strict=True) if key not in known])
        )
        for key in keys:
            if key in known:
                yield _unpacked(known[key])
                continue
            result = next(fresh)
            self.journal.append({"key": key, "result": _packed(result)})
            yield result


def _key(function: Callable[[Any], Any], item: Any) -> str:
    """What makes two computations the same: the function, the item and the version of the engine."""
    text = json.dumps([function.__module__, function.__name__, _packed(item), __version__], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


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
