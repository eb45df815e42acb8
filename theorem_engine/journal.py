"""An append-only journal of finished work, which survives being killed at any moment.

A line is one JSON object, written with a single call and brought to the disk before the work counts as
finished. A line cut short by a kill is the last one, is not a JSON object, and is skipped.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from theorem_engine.errors import JournalError


class Journal:
    """A file of JSON lines that several processes may append to."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def prepare(self) -> None:
        """Make the folder and see that the file can be written, before any work is done."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with open(self.path, "ab"):
                pass
        except OSError as error:
            raise self._refusal(error) from None

    def append(self, record: Mapping[str, Any]) -> None:
        """Write one record; when this returns, it is on the disk."""
        line = json.dumps(record, ensure_ascii=False, allow_nan=False).encode() + b"\n"
        try:
            handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                # the newline in front ends a line that a kill cut short
                data = b"\n" + line
                written = os.write(handle, data)
                if written != len(data):
                    raise OSError(28, "the disk took only a part of the line")
                if os.path.isfile(self.path):
                    os.fsync(handle)
            finally:
                os.close(handle)
        except OSError as error:
            raise self._refusal(error) from None

    def records(self) -> Iterator[dict[str, Any]]:
        """All whole records, in the order they were written."""
        try:
            text = self.path.read_text(encoding="utf-8", errors="replace") if self.path.is_file() else ""
        except OSError as error:
            raise self._refusal(error) from None
        for line in text.splitlines():
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if isinstance(record, dict):
                yield record

    def _refusal(self, error: OSError) -> JournalError:
        reason = error.strerror or str(error)
        return JournalError(f"the journal {self.path} cannot be written: {reason}; choose another folder with --out")
