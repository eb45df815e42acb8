"""Arrays in .npz and .safetensors files, read one by one and only after what the file says of them is checked.

Nothing is executed: no pickles. What is not asked for is not read, so that one layer of a large model costs no more
than that layer. Every way in which a file can be broken ends in ``Rejected``.
"""

from __future__ import annotations

import json
import math
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from theorem_engine.domains import Rejected

#: Arrays of NumPy, which is imported when an array is read and not before.
Array = Any
MAX_HEADER = 10**8
#: Rows and columns: a product of two such matrices still fits into memory.
MAX_ROWS = 20_000
#: How the numbers of a safetensors file lie in it; BF16 is the upper half of a single-precision number.
_KINDS = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2",
    "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "<i1", "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "<u1",
}  # fmt: skip


class ArrayFile(Protocol):
    """A file of named arrays."""

    names: tuple[str, ...]

    def read(self, name: str, dimensions: int) -> Array:
        """One of the arrays, in double precision, of so many dimensions and finite."""
        ...


def open_arrays(path: Path) -> ArrayFile:
    """The arrays of a file, by the ending of its name."""
    try:
        if path.is_dir():
            raise Rejected("is a folder, not a file")
        if not path.is_file():
            raise Rejected("is not a file that exists")
        if path.suffix == ".npz":
            return Npz(path)
        if path.suffix == ".safetensors":
            return Safetensors(path)
    except OSError as error:
        raise Rejected(f"cannot be read ({error.strerror or error})") from None
    raise Rejected("is neither .npz nor .safetensors")


class Npz:
    """A NumPy archive."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with zipfile.ZipFile(path) as archive:
                members = archive.namelist()
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise Rejected(f"is no readable .npz file ({str(error)[:120]})") from None
        self.names = tuple(member.removesuffix(".npy") for member in members if member.endswith(".npy"))

    def read(self, name: str, dimensions: int) -> Array:
        """One array; its header is looked at before its numbers."""
        shape, dtype = self._member(name, _read_header)
        _check(name, shape, dimensions, str(dtype), dtype.kind in "fiu")
        return _finite(name, self._member(name, _read_all))

    def _member(self, name: str, reader: Callable[[Any], Any]) -> Any:
        """What a reader makes of the bytes of one array."""
        try:
            with zipfile.ZipFile(self.path) as archive, archive.open(f"{name}.npy") as stream:
                return reader(stream)
        except OSError as error:
            raise Rejected(f"cannot be read ({error.strerror or error})") from None
        # RuntimeError: encrypted, or a compression that zipfile does not know
        except (ValueError, EOFError, zipfile.BadZipFile, zlib.error, RuntimeError) as error:
            raise Rejected(f"is no readable .npz file: {name}: {str(error)[:120]}") from None


def _read_header(stream: Any) -> tuple[tuple[int, ...], Any]:
    """Shape and type of a .npy stream."""
    from numpy.lib import format as npy

    version = npy.read_magic(stream)
    shape, _, dtype = (npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0)(stream)
    if dtype.hasobject:
        raise ValueError("it holds Python objects, which are not opened")
    return shape, dtype


def _read_all(stream: Any) -> Array:
    from numpy.lib import format as npy

    return npy.read_array(stream, allow_pickle=False)


class Safetensors:
    """A safetensors file; every claim of its header is checked before any number is read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        total = path.stat().st_size
        with path.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            if total < 8 or length > min(MAX_HEADER, total - 8):
                raise Rejected("is no safetensors file: its header is longer than the file, or than 100 MB")
            raw = stream.read(length)
        try:
            header = json.loads(raw.decode("utf-8"), object_pairs_hook=_distinct)
        except (ValueError, RecursionError) as error:
            raise Rejected(f"is no safetensors file: its header is not JSON ({str(error)[:80]})") from None
        if not isinstance(header, dict):
            raise Rejected("is no safetensors file: its header is not an object")
        header.pop("__metadata__", None)
        self.start, room = 8 + length, total - 8 - length
        self.places = {name: _place(name, claim, room) for name, claim in header.items()}
        end = 0
        for start, stop, _, _ in sorted(self.places.values(), key=lambda place: place[:2]):
            if start != end:
                raise Rejected("is no safetensors file: its arrays overlap or leave gaps")
            end = stop
        if end != room:
            raise Rejected("is no safetensors file: it is longer or shorter than its arrays")
        self.names = tuple(self.places)

    def read(self, name: str, dimensions: int) -> Array:
        """One array, from its place in the file."""
        import numpy as np

        start, stop, kind, shape = self.places[name]
        _check(name, shape, dimensions, kind, kind in _KINDS)
        try:
            with self.path.open("rb") as stream:
                stream.seek(self.start + start)
                raw = stream.read(stop - start)
            values = np.frombuffer(raw, dtype=_KINDS[kind]).reshape(shape)
        except OSError as error:
            raise Rejected(f"cannot be read ({error.strerror or error})") from None
        except ValueError:
            raise Rejected("was changed while it was read") from None
        if kind == "BF16":
            values = (values.astype(np.uint32) << 16).view(np.float32)
        return _finite(name, values)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) != len(pairs):
        raise ValueError("a name occurs twice")
    return dict(pairs)


def _place(name: str, claim: Any, room: int) -> tuple[int, int, str, tuple[int, ...]]:
    """Start, stop, type and shape of one array, or an error if they cannot all be true."""
    if not isinstance(claim, dict) or set(claim) != {"dtype", "shape", "data_offsets"}:
        raise Rejected(f"is no safetensors file: {name[:60]} is not described by dtype, shape and data_offsets")
    kind, shape, offsets = claim["dtype"], claim["shape"], claim["data_offsets"]
    if not isinstance(kind, str):
        raise Rejected(f"is no safetensors file: the dtype of {name[:60]} is not a word")
    numbers = [*shape, *offsets] if isinstance(shape, list) and isinstance(offsets, list) else [-1]
    if len(numbers) < 2 or any(type(x) is not int or x < 0 for x in numbers) or len(offsets) != 2:
        raise Rejected(f"is no safetensors file: shape or offsets of {name[:60]} are not whole numbers")
    start, stop = offsets
    # the widths of kinds that are not read here are not known here
    width = int(_KINDS[kind][2]) if kind in _KINDS else None
    if not start <= stop <= room or (width is not None and stop - start != math.prod(shape) * width):
        raise Rejected(f"is no safetensors file: {name[:60]} does not fit its place")
    return start, stop, kind, tuple(shape)


def _check(name: str, shape: tuple[int, ...], dimensions: int, kind: str, is_known: bool) -> None:
    """Errors for what cannot be a vector or matrix of real numbers, said before it is read."""
    if not is_known:
        raise Rejected(f"has {name} of type {kind[:20]}, not real numbers of 8 to 64 bits")
    if len(shape) != dimensions or 0 in shape:
        wanted = "a vector" if dimensions == 1 else "a matrix"
        raise Rejected(f"has {name} of shape {str(shape)[:60]}, not {wanted} with entries")
    if max(shape) > MAX_ROWS:
        raise Rejected(f"has {name} of shape {str(shape)[:60]}; more than {MAX_ROWS} rows or columns are not read")


def _finite(name: str, array: Array) -> Array:
    import numpy as np

    with np.errstate(over="ignore"):
        result = np.asarray(array, dtype=float)
    if not np.all(np.isfinite(result)):
        raise Rejected(f"has entries of {name} that are not finite")
    return result
