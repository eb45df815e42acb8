"""Key and query weights of an attention layer, read from a file.

A ``.npz`` or ``.safetensors`` file holds either

- ``W_K`` and ``W_Q`` (rows x p, logits x_i^T W_K^T W_Q x_j); or
- a layer of GPT-2: ``h.<layer>.attn.c_attn.weight`` (p x 3 p, applied from the right), whose columns are queries, keys
  and values in this order, each cut into heads of ``HEAD`` columns. ``path#5`` is layer 5 with all its heads together,
  ``path#5.2`` its head 2 (both count from 0); ``path`` alone is layer 0.

Either may have ``mu`` (p) beside it, the direction of a signal. The product W_K^T W_Q is read as s (I + w_K w_Q^T) plus
a rest; how large the rest is says how far a statement about "identity plus rank one" speaks of this layer.
"""

from __future__ import annotations

import math
import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from theorem_engine.base.errors import ValidityWarning
from theorem_engine.base.exact import NotANumber
from theorem_engine.language.array_files import Array, ArrayFile, open_arrays
from theorem_engine.language.domains import Domain, Measured, Rejected

#: Width of an attention head in all sizes of GPT-2.
HEAD = 64
#: Up to this size the largest singular value is found directly, above it by iteration, which is quicker but may choose
#: differently among equal ones from run to run.
DENSE = 1024
#: Largest dimension for which W_K^T W_Q is formed: some copies of it stay below a gigabyte.
MAX_COLUMNS = 4096
#: A rest above this, in units of the identity part, is worth a warning.
LARGE_REST = 0.25
#: How much longer than the largest product of two columns they may be before its rounding is looked after.
CANCELLED = 64.0
#: Slices of a matrix for products without rounding; four hold all bits of numbers of very different size.
SLICES = 4
#: A rank-one part below this share of the multiple of the identity is rounding.
ROUNDING = 1e-10
#: Steps to the multiple of the identity: the secant's are few, one by one they may be many where p is small.
STEPS = 50
_PLACE = re.compile(r"(?P<path>.+?)(?:#(?P<layer>[0-9]{1,4})(?:\.(?P<head>[0-9]{1,4}))?)?")


@dataclass(frozen=True)
class RankOne(Measured):
    """W_K^T W_Q = scale (I + w_K w_Q^T + rest), with w_K and w_Q of equal length and a scale of either sign.

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

    @property
    def is_near(self) -> bool:
        """Whether identity and rank one describe the weights; if not, reading them warns."""
        return self.rest <= LARGE_REST

    @property
    def caution(self) -> str:
        """What is to be said where they do not."""
        return (
            f"beside {self.scale:.3g} times identity and a rank-one part of norm {self.strength:.3g}, W_K^T W_Q has a "
            f"rest of norm {self.rest:.3g} (in units of that identity); statements about identity plus rank one do not "
            "describe this layer"
        )

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
    #: What the weights are split into.
    parts: ClassVar[type] = RankOne

    def split(self, source: str, product: Array, mu: Array | None) -> Any:
        """The weights' identity and rank-one parts."""
        return split_rank_one(source, product, mu)

    def read(self, given: Any) -> Any:
        """The parts of the weights in a file; a rest that matters is warned about."""
        if isinstance(given, self.parts):
            return given
        if not isinstance(given, (str, Path)):
            raise NotANumber(f"is a {type(given).__name__}, not the name of a file")
        found = self.split(str(given), *read_weights(str(given)))
        if not found.is_near:
            warnings.warn(ValidityWarning(f"{found.source}: {found.caution}"), stacklevel=2)
        return found

    def examples(self) -> tuple[Any, ...]:
        """The parts of a small product of weights with a rest."""
        import numpy as np

        rest = np.random.default_rng(0).standard_normal((20, 20)) / 80
        return (self.split("example", np.eye(20) + np.outer(np.eye(20)[0], np.eye(20)[1]) + rest, None),)

    def describe(self) -> str:
        """What kinds of files are read."""
        return "a .npz or .safetensors file with W_K and W_Q, or with a layer of GPT-2 (file#layer.head)"


def read_weights(place: str) -> tuple[Array, Array | None]:
    """The matrix W_K^T W_Q of a file, and its signal's direction if it has one."""
    import numpy as np

    match = _PLACE.fullmatch(place)
    if match is None:
        raise Rejected("is not the name of a file")
    arrays = open_arrays(Path(match["path"]))
    if "W_K" in arrays.names or "W_Q" in arrays.names:
        if match["layer"] is not None:
            raise Rejected("holds W_K and W_Q, so it has no layers to choose from")
        for name in ("W_K", "W_Q"):
            if name not in arrays.names:
                raise Rejected(f"has no array {name}")
        key, query = (arrays.read(name, 2) for name in ("W_K", "W_Q"))
    else:
        key, query = _gpt2(arrays, int(match["layer"] or 0), match["head"])
    if key.shape[1] > MAX_COLUMNS or key.size > MAX_COLUMNS**2:
        raise Rejected(
            f"has W_K of shape {key.shape}; W_K^T W_Q is formed up to p = {MAX_COLUMNS} columns and {MAX_COLUMNS**2:,} "
            "entries"
        )
    if key.shape != query.shape:
        raise Rejected(f"has W_K of shape {key.shape} and W_Q of shape {query.shape}")
    with np.errstate(all="ignore"):
        product = _product(key, query)
    if not np.all(np.isfinite(product)):
        raise Rejected("has W_K and W_Q so large that W_K^T W_Q overflows")
    return product, _direction(arrays, key.shape[1])


def _product(key: Array, query: Array) -> Array:
    """W_K^T W_Q with every entry rounded about once, also where large numbers cancel in its sums.

    There both are cut into slices of so few bits that products of slices have no rounding, and are summed from the
    smallest on (Ozaki, Ogita, Oishi and Rump, Numerical Algorithms 59, 2012).
    """
    import numpy as np

    product: Array = key.T @ query
    long = max((float(np.linalg.norm(a, axis=0).max(initial=0.0)) for a in (key, query)), default=0.0)
    other = min((float(np.linalg.norm(a, axis=0).max(initial=0.0)) for a in (key, query)), default=0.0)
    if not np.all(np.isfinite(product)) or long * other <= CANCELLED * float(np.abs(product).max(initial=0.0)):
        return product
    bits = (53 - math.ceil(math.log2(max(2, key.shape[0])))) // 2
    (keys, key_unit), (queries, query_unit) = (_sliced(a, bits) for a in (key, query))
    summed: Array = np.zeros_like(product)
    for depth in reversed(range(SLICES)):
        summed = summed + sum(keys[i].T @ queries[depth - i] for i in range(depth + 1))
    return np.ldexp(summed, key_unit[:, None] + query_unit)


def _sliced(matrix: Array, bits: int) -> tuple[list[Array], Array]:
    """A matrix as a sum of slices of so many bits, its columns in units of powers of two, and their exponents."""
    import numpy as np

    _, unit = np.frexp(np.abs(matrix).max(axis=0))
    rest, slices = np.ldexp(matrix, -unit), []
    for depth in range(1, SLICES + 1):
        step = 2.0 ** -(bits * depth)
        slices.append(np.rint(rest / step) * step)
        rest = rest - slices[-1]
    return slices, unit


def _gpt2(arrays: ArrayFile, layer: int, head: str | None) -> tuple[Array, Array]:
    """Keys and queries of a layer, in rows."""
    ending = f"h.{layer}.attn.c_attn.weight"
    names = [name for name in arrays.names if name == ending or name.endswith("." + ending)]
    if not names:
        there = ", ".join(name[:60] for name in arrays.names[:3]) + (", ..." if len(arrays.names) > 3 else "")
        raise Rejected(f"holds neither W_K and W_Q nor {ending}; its arrays: {there or 'none'}")
    if len(names) > 1:
        raise Rejected(f"holds {ending} more than once: {', '.join(name[:60] for name in names[:3])}")
    joint = arrays.read(names[0], 2)
    size = joint.shape[0]
    if joint.shape[1] != 3 * size:
        raise Rejected(f"has {names[0][:60]} of shape {joint.shape}, which is not p x 3 p")
    query, key = joint[:, :size].T, joint[:, size : 2 * size].T
    if head is None:
        return key, query
    here = slice(int(head) * HEAD, (int(head) + 1) * HEAD)
    if here.stop > size:
        raise Rejected(f"has {size // HEAD} heads of {HEAD} columns, none of number {head} (the first is 0)")
    return key[here], query[here]


def _direction(arrays: ArrayFile, size: int) -> Array | None:
    """The file's mu at length one."""
    import numpy as np

    if "mu" not in arrays.names:
        return None
    mu = arrays.read("mu", 1)
    if mu.size != size:
        raise Rejected(f"has mu of {mu.size} entries where W_K has {size} columns")
    if not np.any(mu):
        raise Rejected("has mu = 0, which is no direction")
    # twice, because squares of very large or very small entries leave double precision
    mu = mu / np.abs(mu).max()
    return mu / np.linalg.norm(mu)


def _top_triple(matrix: Array) -> tuple[Array, float, Array]:
    """The largest singular value and its two vectors."""
    import numpy as np
    from scipy.linalg import eigh
    from scipy.sparse.linalg import ArpackError, svds

    size = matrix.shape[0]
    if not np.any(matrix):
        first = np.arange(size) == 0
        return first * 1.0, 0.0, first * 1.0
    if size > DENSE:
        try:
            # a drawn start is orthogonal to no vector of interest, as a vector of ones may be
            u, values, v = svds(matrix, k=1, v0=np.random.default_rng(0).standard_normal(size))
            return u[:, 0], float(values[0]), v[0]
        except ArpackError:
            pass
    _, vectors = eigh(matrix.T @ matrix, subset_by_index=[size - 1, size - 1])
    right = vectors[:, 0]
    left = matrix @ right
    top = float(np.linalg.norm(left))
    return (left / top if top else right), top, right


def split_rank_one(source: str, product: Array, mu: Array | None = None) -> RankOne:
    """The multiple of the identity and the rank-one part that leave the least of a square matrix.

    >>> import numpy as np
    >>> w = np.array([0.0, 3.0, 0.0, 4.0])
    >>> found = split_rank_one("example", 2 * (np.eye(4) + np.outer(w, w)))
    >>> round(found.scale, 9), round(found.strength, 9), found.rest < 1e-9
    (2.0, 25.0, True)
    """
    import numpy as np

    size, unit = product.shape[0], float(np.abs(product).max()) or 1.0
    # squares of very large or very small entries leave double precision
    product = product / unit
    trace = math.fsum(np.diag(product))
    scale, before, gap_before = trace / size, 0.0, math.inf
    left = right = np.zeros(size)
    top = 0.0
    for step in range(STEPS):
        left, top, right = _top_triple(product - scale * np.eye(size))
        # the trace that the rank-one part does not explain belongs to the identity
        gap = (trace - top * float(left @ right)) / size - scale
        # rounding leaves a few of the last digits, and more steps do not make it less
        is_noise = abs(gap) <= 1e-13 * abs(scale) and 2 * abs(gap) >= abs(gap_before)
        if abs(gap) <= 2e-16 * abs(scale) or is_noise:
            break
        by_secant = (scale - before) / (gap_before - gap) if step and gap_before != gap else 1.0
        # a step that is not nearly the plain one leads elsewhere, or is made of rounding
        by_secant = by_secant if 0.25 <= by_secant <= 8.0 else 1.0
        before, gap_before, scale = scale, gap, scale + gap * by_secant
    if not abs(scale) > 1e-9 * float(np.linalg.norm(product)):
        raise Rejected("has no identity-like part in W_K^T W_Q: less its rank-one part, its trace vanishes")
    strength = top / abs(scale)
    if size == 2 and strength > ROUNDING:
        raise Rejected(
            "has a rank-one part in 2 dimensions, half of them: what of W_K^T W_Q is the multiple of the identity is "
            "not determined"
        )
    # in units of a negative multiple the rank-one part changes its sign, which the key takes
    left = left if scale > 0 else -left
    rest = product / scale - np.eye(size) - strength * np.outer(left, right)
    length = math.sqrt(strength)
    along = np.zeros(size) if mu is None else mu / np.linalg.norm(mu)
    return RankOne(
        source, size, scale * unit, strength, _top_triple(rest)[1], strength * float(left @ right),
        length * float(left @ along), length * float(right @ along),
    )  # fmt: skip
