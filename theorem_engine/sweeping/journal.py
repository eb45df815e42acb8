"""An append-only journal of finished work, which survives being killed at any moment.

A line is one JSON object with a checksum, written with a single call and brought to the disk before the work counts
as finished. A line that was cut short by a kill, or damaged later, is set aside: it is left where it is and not read.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from theorem_engine.base.errors import JournalError

#: Name of the checksum in a line; a line without one was written by hand and counts as it stands.
SUM = "sum"


class Journal:
    """A file of JSON lines that several processes may append to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        #: Numbers of the lines that the last reading set aside.
        self.damaged: list[int] = []

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
        text = _text(record)
        # what UTF-8 cannot say is an escape of JSON too
        line = f'{text[:-1]}{", " if record else ""}"{SUM}": "{_checksum(text)}"}}\n'.encode(errors="backslashreplace")
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
        """All whole records, in the order they were written; ``damaged`` counts the other lines."""
        self.damaged = []
        try:
            content = self.path.read_bytes() if self.path.is_file() else b""
        except OSError as error:
            raise self._refusal(error, "read") from None
        # only this byte ends a line: a text may hold other characters that count as line ends elsewhere
        for number, line in enumerate(content.split(b"\n"), 1):
            if not line.strip():
                continue
            record = _record(line)
            if record is None:
                self.damaged.append(number)
            else:
                yield record

    def _refusal(self, error: OSError, what: str = "written") -> JournalError:
        reason = error.strerror or str(error)
        return JournalError(f"the journal {self.path} cannot be {what}: {reason}; choose another folder with --out")


def _text(record: Mapping[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False, allow_nan=False)


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()[:16]


def _record(line: bytes) -> dict[str, Any] | None:
    """The record of a line, or None if the line is not as it was written."""
    try:
        record = json.loads(line.decode())
        if not isinstance(record, dict):
            return None
        known = record.pop(SUM, None)
        # written again, a record gives the same text, to the last digit
        return record if known in (None, _checksum(_text(record))) else None
    except (ValueError, RecursionError):
        return None
