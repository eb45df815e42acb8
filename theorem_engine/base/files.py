"""Files are written whole or not at all: beside their place first, then moved into it.

A reader never sees half a file, and a full disk leaves what was there before.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from theorem_engine.base.errors import BadRequest, FileError

#: Bytes of a text file with settings or references; longer ones are not read.
LARGEST_TEXT = 2**20


def write_whole(path: Path | str, content: bytes | str, *, overwrite: bool = True) -> None:
    """Write a file as a whole; text is UTF-8, and what UTF-8 does not know is written as an escape.

    Without ``overwrite`` a file that is there already is left alone, even one made a moment ago.
    """
    # a link keeps pointing where it pointed; the file behind it is the one that is replaced
    place = Path(os.path.realpath(path))
    data = content.encode(errors="backslashreplace") if isinstance(content, str) else content
    # a name of its own for every attempt: two processes may write one file at the same moment
    scratch = place.with_name(f".{place.name[:40]}.{os.urandom(6).hex()}.part")
    try:
        if place.exists() and not place.is_file():
            raise BadRequest(f"{path} is there already and is not a plain file")
        _write_out(scratch, data, place)
        _put(scratch, place, path, overwrite)
    except OSError as error:
        raise refusal(path, error) from None
    finally:
        with suppress(OSError):
            scratch.unlink()


def _write_out(scratch: Path, data: bytes, place: Path) -> None:
    """The bytes on the disk, with the permissions of the file they will replace."""
    handle = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0), 0o666)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(handle, rest) :]
        os.fsync(handle)
    finally:
        os.close(handle)
    if place.exists():
        os.chmod(scratch, stat.S_IMODE(place.stat().st_mode))


def _put(scratch: Path, place: Path, path: Path | str, overwrite: bool) -> None:
    if overwrite:
        os.replace(scratch, place)
        return
    refuse_existing(path)
    try:
        # unlike a replacement, a link fails where a file has appeared in the meantime
        os.link(scratch, place)
    except FileExistsError:
        refuse_existing(path)
    except OSError:
        # a file system without links
        os.replace(scratch, place)


def read_text(path: Path, most: int = LARGEST_TEXT) -> str:
    """A text file that somebody else wrote, in UTF-8; ValueError where it is larger than such files are."""
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise ValueError(f"it is larger than {most} bytes")
    return data.decode("utf-8-sig")


def refuse_existing(path: Path | str) -> None:
    """An error if there is something of this name."""
    if os.path.lexists(path):
        raise BadRequest(f"{path} is there already; choose another name, or replace it with --overwrite")


def refusal(path: Path | str, error: OSError) -> FileError:
    """The error for a file that cannot be written, with the system's reason."""
    return FileError(f"{path} cannot be written: {error.strerror or error}; nothing was written")


def cache_folder() -> Path:
    """Where this user's caches are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or os.path.expanduser("~/.cache")
    return Path(base) / "theorem-engine"
