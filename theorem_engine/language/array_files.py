"""Arrays in .npz and .safetensors files, read one by one and only after what the file says of them is checked.

Nothing is executed: no pickles. What is not asked for is not read, so that one layer of a large model costs no more
than that layer. Every way in which a file can be broken ends in ``Rejected``.
"""

from __future__ import annotations

import json
import lzma
import math
import re
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any, Protocol

from theorem_engine.language.domains import Rejected

#: Arrays of NumPy, which is imported when an array is read and not before.
Array = Any
#: Limits, checked before anything is read or multiplied: a file of a megabyte can promise terabytes.
MAX_HEADER = 10**7
MAX_NPY_HEADER = 10**4
MAX_ROWS = 20_000
MAX_ENTRIES = 3 * 4096**2
MAX_DIMENSIONS, MAX_LENGTH = 64, 2**128
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
        except _BROKEN as error:
            raise Rejected(f"is no readable .npz file ({str(error)[:120]})") from None
        self.names = tuple(member.removesuffix(".npy") for member in members if member.endswith(".npy"))

    def read(self, name: str, dimensions: int) -> Array:
        """One array; its header is looked at before its numbers."""
        try:
            with zipfile.ZipFile(self.path) as archive, archive.open(f"{name}.npy") as stream:
                return _finite(name, _read_npy(name, stream, dimensions))
        except OSError as error:
            raise Rejected(f"cannot be read ({error.strerror or error})") from None
        except Rejected:
            raise
        except _BROKEN as error:
            raise Rejected(f"is no readable .npz file: {name[:60]}: {str(error)[:120]}") from None


#: What a broken archive makes zipfile raise; RuntimeError: encrypted, or a compression that it does not know.
_BROKEN = (
    ValueError, EOFError, KeyError, IndexError, OverflowError, RuntimeError, zipfile.BadZipFile, zlib.error,
    lzma.LZMAError, struct.error,
)  # fmt: skip
#: The header of a .npy array of plain numbers, as NumPy writes it, old and new.
_NPY_ITEMS = {
    "descr": r"'(?P<descr>[^'\\]{1,40})'|(?P<fields>\[.*\])",
    "fortran_order": r"(?P<fortran_order>True|False)",
    "shape": r"\((?P<shape>[0-9L, ]*)\)",
}
_NPY_ITEM = re.compile("|".join(rf"'(?P<is_{key}>{key})': ?(?:{value})(?:, ?)?" for key, value in _NPY_ITEMS.items()))
_NPY_KIND = re.compile(r"[<>|=]?[fiu][1248]")


def _read_npy(name: str, stream: Any, dimensions: int) -> Array:
    """An array of plain numbers from a .npy stream; its header is taken word by word, never evaluated."""
    import numpy as np

    magic = stream.read(8)
    if magic[:6] != b"\x93NUMPY" or magic[6:] not in (b"\1\0", b"\2\0", b"\3\0"):
        raise ValueError("it does not begin like a .npy array of version 1 to 3")
    width = 2 if magic[6] == 1 else 4
    length = int.from_bytes(stream.read(width), "little")
    if length > MAX_NPY_HEADER:
        raise ValueError(f"its header is longer than {MAX_NPY_HEADER} bytes")
    shape, kind, is_fortran = _parse_npy_header(stream.read(length).decode("latin1"))
    _check(name, shape, dimensions, kind, _NPY_KIND.fullmatch(kind) is not None)
    dtype = np.dtype(kind)
    wanted = math.prod(shape) * dtype.itemsize
    raw = stream.read(wanted)
    if len(raw) != wanted:
        raise ValueError("it is cut off")
    return np.frombuffer(raw, dtype=dtype).reshape(shape, order="F" if is_fortran else "C")


def _parse_npy_header(text: str) -> tuple[tuple[int, ...], str, bool]:
    """Shape, type and order of a .npy header."""
    text = text.strip(" \n\0")
    found: dict[str, str] = {}
    place, end = 1, len(text) - 1
    if text[:1] != "{" or text[-1:] != "}":
        raise ValueError("its header is no mapping")
    while place < end and (match := _NPY_ITEM.match(text, place, end)):
        found.update({key: value for key, value in match.groupdict().items() if value is not None})
        place = match.end()
        while place < end and text[place] == " ":
            place += 1
    if place != end or not {"is_descr", "is_fortran_order", "is_shape"} <= found.keys():
        raise ValueError("its header does not state descr, fortran_order and shape")
    if "O" in found.get("descr", "") or "O'" in found.get("fields", ""):
        raise ValueError("it holds Python objects, which are not opened")
    sizes = [part.strip().rstrip("L") for part in found["shape"].split(",") if part.strip()]
    if len(sizes) > MAX_DIMENSIONS or not all(size.isdigit() and len(size) < 40 for size in sizes):
        raise ValueError(f"its shape is not one of up to {MAX_DIMENSIONS} sizes below 10^39")
    kind = found.get("descr", "fields")
    return tuple(int(size) for size in sizes), kind, found["fortran_order"] == "True"


class Safetensors:
    """A safetensors file; every claim of its header is checked before any number is read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        total = path.stat().st_size
        with path.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            if total < 8 or length > min(MAX_HEADER, total - 8):
                raise Rejected("is no safetensors file: its header is longer than the file, or than 10 MB")
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
    if len(shape) > MAX_DIMENSIONS or max(numbers) >= MAX_LENGTH:
        raise Rejected(
            f"is no safetensors file: {name[:60]} has more than {MAX_DIMENSIONS} dimensions or sizes from 2^128 on"
        )
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
    if math.prod(shape) > MAX_ENTRIES:
        raise Rejected(f"has {name} of shape {str(shape)[:60]}; more than {MAX_ENTRIES:,} entries are not read")


def _finite(name: str, array: Array) -> Array:
    import numpy as np

    with np.errstate(over="ignore"):
        result = np.asarray(array, dtype=float)
    if not np.all(np.isfinite(result)):
        raise Rejected(f"has entries of {name} that are not finite")
    return result
