"""One run at a time in a folder.

The lock is the system's own and ends with the process that holds it, however that ends: a lock file left by a dead
process locks nothing.
"""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from theorem_engine.base.errors import FolderInUse, JournalError

#: Lock files that this process holds, and how many times.
_held: dict[str, int] = {}
#: What a system says that knows no locks, or none on this kind of disk.
_UNKNOWN = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL)


@contextmanager
def only_one(path: Path, what: str) -> Iterator[None]:
    """Hold the lock file while inside; an error that names the holder if another process does.

    A process may enter again what it holds already. Where the disk has no locks, nothing is held.
    """
    name = os.path.realpath(path)
    if _held.get(name):
        _held[name] += 1
        try:
            yield
        finally:
            _held[name] -= 1
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise JournalError(f"{path} cannot be written: {error.strerror or error}") from None
    try:
        _take(handle, path, what)
        _held[name] = 1
        try:
            yield
        finally:
            _held.pop(name)
    finally:
        # closing gives the lock back; the file stays, for removing it could remove another's lock
        os.close(handle)


def _take(handle: int, path: Path, what: str) -> None:
    try:
        _lock(handle)
    except OSError as error:
        if error.errno in _UNKNOWN:
            return
        raise FolderInUse(
            f"{what} in {path.parent}: {_holder(handle)} is at work there; wait for it to end, or choose another folder"
        ) from None
    with suppress(OSError):
        os.ftruncate(handle, 0)
        os.write(handle, f"process {os.getpid()} of {socket.gethostname()}\n".encode(errors="backslashreplace"))


def _holder(handle: int) -> str:
    """Who wrote the lock file."""
    with suppress(OSError):
        text = os.read(handle, 200).decode(errors="replace").strip()
        if text.startswith("process ") and text.isprintable():
            return text
    return "another process"


def _lock(handle: int) -> None:
    try:
        import fcntl
    except ImportError:
        import msvcrt

        # one byte far behind the text, so that others can still read who holds it
        os.lseek(handle, 2**20, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined, unused-ignore]
        os.lseek(handle, 0, os.SEEK_SET)
        return
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
