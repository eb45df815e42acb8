"""Key and query weights of an attention layer, read from a file.

A ``.npz`` or ``.safetensors`` file holds either

- ``W_K`` and ``W_Q`` (heads x p, logits x_i^T W_K^T W_Q x_j), and optionally ``mu`` (p), the direction of a signal; or
- a layer of GPT-2: ``h.<layer>.attn.c_attn.weight`` (p x 3 p, applied from the right), whose columns are queries, keys
  and values in this order, each cut into heads of ``HEAD`` columns. ``path#5`` is layer 5 with all its heads together,
  ``path#5.2`` its head 2; ``path`` alone is layer 0.

The product W_K^T W_Q is read as t (I + w_K w_Q^T) plus a rest; how large the rest is says how far a statement about
"identity plus rank one" speaks of this layer. Nothing is executed: no pickles, headers are checked before use.
"""

from __future__ import annotations

import json
import math
import re
import warnings
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from theorem_engine.domains import Domain, Rejected
from theorem_engine.errors import ValidityWarning
from theorem_engine.values import NotANumber

#: Arrays of NumPy, which is imported when a file is read and not before.
Array = Any
#: Width of an attention head in all sizes of GPT-2.
HEAD = 64
MAX_HEADER = 10**8
MAX_ROWS = 20_000
#: A rest above this, in units of the identity part, is worth a warning.
LARGE_REST = 0.25
_PLACE = re.compile(r"(?P<path>.+?)(?:#(?P<layer>[0-9]{1,4})(?:\.(?P<head>[0-9]{1,4}))?)?")
_KINDS = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "BF16": "<u2",
}


@dataclass(frozen=True)
class RankOne:
    """W_K^T W_Q = scale (I + w_K w_Q^T + rest), with w_K and w_Q of equal length.

    ``key_along`` and ``query_along`` are components along the file's ``mu``, zero where it has none.
    ``rest`` is the largest singular value of what identity and rank one leave, ``strength`` that of the rank-one part.
    """

    source: str
    size: int
    scale: float
    strength: float
    rest: float
    key_query: float
    key_along: float
    query_along: float

    def __str__(self) -> str:
        return (
            f"{self.source} (p = {self.size}: {self.scale:.4g} times identity, rank one of norm {self.strength:.4g}, "
            f"rest of norm {self.rest:.4g})"
        )


@dataclass(frozen=True)
class WeightsFile(Domain):
    """The name of a file with key and query weights."""

    is_option = True
    can_be_drawn = False

    def read(self, given: Any) -> RankOne:
        """The weights' identity and rank-one parts."""
        if isinstance(given, RankOne):
            return given
        if not isinstance(given, (str, Path)):
            raise NotANumber(f"is a {type(given).__name__}, not the name of a file")
        found = split_rank_one(str(given), *read_weights(str(given)))
        if found.rest > LARGE_REST:
            warnings.warn(
                ValidityWarning(
                    f"{found.source}: beside {found.scale:.3g} times identity and a rank-one part of norm "
                    f"{found.strength:.3g}, W_K^T W_Q has a rest of norm {found.rest:.3g} (in units of that identity); "
                    "statements about identity plus rank one do not describe this layer"
                ),
                stacklevel=2,
            )
        return found

    def describe(self) -> str:
        """What kinds of files are read."""
        return "a .npz or .safetensors file with W_K and W_Q, or with a layer of GPT-2 (file#layer.head)"


def read_weights(place: str) -> tuple[Array, Array | None]:
    """The matrix W_K^T W_Q of a file, and its signal's direction if it has one."""
    match = _PLACE.fullmatch(place)
    if match is None:
        raise Rejected("is not the name of a file")
    path = Path(match["path"])
    if not path.is_file():
        raise Rejected("is not a file that exists")
    if path.suffix == ".npz":
        arrays = _read_npz(path)
    elif path.suffix == ".safetensors":
        arrays = _read_safetensors(path)
    else:
        raise Rejected("is neither .npz nor .safetensors")
    if "W_K" in arrays or "W_Q" in arrays:
        if match["layer"] is not None:
            raise Rejected("holds W_K and W_Q, so it has no layers to choose from")
        key, query = (_matrix(arrays, name) for name in ("W_K", "W_Q"))
        mu = _vector(arrays, key.shape[1])
    else:
        key, query = _gpt2(arrays, int(match["layer"] or 0), match["head"])
        mu = None
    if key.shape != query.shape:
        raise Rejected(f"has W_K of shape {key.shape} and W_Q of shape {query.shape}")
    return key.T @ query, mu


def _gpt2(arrays: Mapping[str, Any], layer: int, head: str | None) -> tuple[Array, Array]:
    """Keys and queries of a layer, in rows."""
    ending = f"h.{layer}.attn.c_attn.weight"
    names = [name for name in arrays if name == ending or name.endswith("." + ending)]
    if len(names) != 1:
        raise Rejected(f"holds neither W_K and W_Q nor one {ending}")
    joint = _matrix(arrays, names[0])
    size = joint.shape[0]
    if joint.shape[1] != 3 * size:
        raise Rejected(f"has {names[0]} of shape {joint.shape}, which is not p x 3 p")
    query, key = joint[:, :size].T, joint[:, size : 2 * size].T
    if head is None:
        return key, query
    here = slice(int(head) * HEAD, (int(head) + 1) * HEAD)
    if here.stop > size:
        raise Rejected(f"has {size // HEAD} heads, none of number {head}")
    return key[here], query[here]


def _matrix(arrays: Mapping[str, Any], name: str) -> Array:
    if name not in arrays:
        raise Rejected(f"has no array {name}")
    return _finite(arrays[name], name, 2)


def _vector(arrays: Mapping[str, Any], size: int) -> Array | None:
    import numpy as np

    if "mu" not in arrays:
        return None
    mu = _finite(arrays["mu"], "mu", 1)
    if mu.size != size or not np.any(mu):
        raise Rejected(f"has mu of {mu.size} entries, not a direction in {size} dimensions")
    return mu


def _finite(array: Any, name: str, dimensions: int) -> Array:
    import numpy as np

    if array.ndim != dimensions or 0 in array.shape or max(array.shape) > MAX_ROWS:
        raise Rejected(f"has {name} of shape {array.shape}")
    if array.dtype.kind not in "fiu":
        raise Rejected(f"has {name} of type {array.dtype}, not real numbers")
    result: Array = np.asarray(array, dtype=float)
    if not np.all(np.isfinite(result)):
        raise Rejected(f"has entries of {name} that are not finite")
    return result


def _read_npz(path: Path) -> dict[str, Any]:
    import numpy as np

    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise Rejected(f"is no readable .npz file ({str(error)[:120]})") from None


def _read_safetensors(path: Path) -> dict[str, Any]:
    """All arrays of a safetensors file; every claim of its header is checked before anything is read."""
    import numpy as np

    total = path.stat().st_size
    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if total < 8 or length > min(MAX_HEADER, total - 8):
            raise Rejected("is no safetensors file: its header is longer than the file")
        raw = stream.read(length)
    try:
        header = json.loads(raw.decode("utf-8"), object_pairs_hook=_distinct)
    except (ValueError, RecursionError) as error:
        raise Rejected(f"is no safetensors file: its header is not JSON ({str(error)[:80]})") from None
    if not isinstance(header, dict):
        raise Rejected("is no safetensors file: its header is not an object")
    header.pop("__metadata__", None)
    room = total - 8 - length
    places = {name: _place(name, claim, room) for name, claim in header.items()}
    end = 0
    for start, stop, _, _ in sorted(places.values(), key=lambda place: place[:2]):
        if start != end:
            raise Rejected("is no safetensors file: its arrays overlap or leave gaps")
        end = stop
    if end != room:
        raise Rejected("is no safetensors file: it is longer or shorter than its arrays")
    data = np.memmap(path, dtype=np.uint8, mode="r", offset=8 + length) if room else np.zeros(0, dtype=np.uint8)
    return {name: _decode(data[a:b], kind, shape) for name, (a, b, kind, shape) in places.items() if kind in _KINDS}


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) != len(pairs):
        raise ValueError("a name occurs twice")
    return dict(pairs)


def _place(name: str, claim: Any, room: int) -> tuple[int, int, str, tuple[int, ...]]:
    """Start, stop, type and shape of one array, or an error if they cannot all be true."""
    if not isinstance(claim, dict) or set(claim) != {"dtype", "shape", "data_offsets"}:
        raise Rejected(f"is no safetensors file: {name[:60]} is not described by dtype, shape and data_offsets")
    kind, shape, offsets = claim["dtype"], claim["shape"], claim["data_offsets"]
    numbers = [*shape, *offsets] if isinstance(shape, list) and isinstance(offsets, list) else [-1]
    if len(numbers) < 2 or any(type(x) is not int or x < 0 for x in numbers) or len(offsets) != 2:
        raise Rejected(f"is no safetensors file: shape or offsets of {name[:60]} are not whole numbers")
    start, stop = offsets
    wide = {"F64": 8, "I64": 8, "U64": 8, "F32": 4, "I32": 4, "U32": 4, "F16": 2, "BF16": 2, "I16": 2, "U16": 2}.get(
        kind, 1
    )
    if not start <= stop <= room or stop - start != math.prod(shape) * wide:
        raise Rejected(f"is no safetensors file: {name[:60]} does not fit its place")
    return start, stop, str(kind), tuple(shape)


def _decode(data: Any, kind: str, shape: tuple[int, ...]) -> Any:
    import numpy as np

    values = np.frombuffer(data.tobytes(), dtype=_KINDS[kind]).reshape(shape)
    if kind == "BF16":
        # the upper half of a single-precision number
        return (values.astype(np.uint32) << 16).view(np.float32)
    return values


def _top_triple(matrix: Array) -> tuple[Array, float, Array]:
    """The largest singular value and its two vectors."""
    import numpy as np

    if matrix.shape[0] <= HEAD:
        u, values, v = np.linalg.svd(matrix)
    else:
        from scipy.sparse.linalg import svds

        u, values, v = svds(matrix, k=1, v0=np.ones(matrix.shape[0]))
    return u[:, 0], float(values[0]), v[0]


def split_rank_one(source: str, product: Array, mu: Array | None = None) -> RankOne:
    """The multiple of the identity and the rank-one part that leave the least of a square matrix.

    >>> import numpy as np
    >>> w = np.array([0.0, 3.0, 0.0, 4.0])
    >>> found = split_rank_one("example", 2 * (np.eye(4) + np.outer(w, w)))
    >>> round(found.scale, 9), round(found.strength, 9), found.rest < 1e-9
    (2.0, 25.0, True)
    """
    import numpy as np

    size = product.shape[0]
    scale = float(np.trace(product)) / size
    left = right = np.zeros(size)
    top = 0.0
    for _ in range(50):
        left, top, right = _top_triple(product - scale * np.eye(size))
        # the trace that the rank-one part does not explain belongs to the identity
        new = float(np.trace(product) - top * left @ right) / size
        if abs(new - scale) <= 1e-14 * abs(scale):
            break
        scale = new
    if not scale > 1e-9 * float(np.linalg.norm(product)):
        raise Rejected("has no identity-like part in W_K^T W_Q: the mean of its diagonal is not positive")
    strength = top / scale
    rest = product / scale - np.eye(size) - strength * np.outer(left, right)
    length = math.sqrt(strength)
    along = np.zeros(size) if mu is None else mu / np.linalg.norm(mu)
    return RankOne(
        source, size, scale, strength, float(np.linalg.norm(rest, 2)), strength * float(left @ right),
        length * float(left @ along), length * float(right @ along),
    )  # fmt: skip
