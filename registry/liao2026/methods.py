"""Key and query weights of a file as a multiple of the identity, parts of rank one, and a rest.

W_K^T W_Q = s I + sum k_r q_r^T + rest. The rank parts are the singular values that stand out of the rest's bulk: of a
square matrix with independent entries and root mean square singular value t the largest is 2 t, and what exceeds it by
a quarter is no part of such a bulk. In few dimensions parts shift the trace so much that they do not stand out of what
it leaves; there a multiple that with parts in fewer than half the dimensions leaves nothing but rounding is looked for
first. It is the only one, as each would be an eigenvalue of more than half the dimensions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from theorem_engine.language.array_files import Array
from theorem_engine.language.domains import Measured, Rejected
from theorem_engine.registry.liao2026.readers import WeightsFile

#: Most rank parts that are kept, and how much above the bulk's edge they lie.
MOST, APART = 8, 1.25
#: A singular value below this share of the multiple of the identity is rounding.
ROUNDING = 1e-10
#: Steps to the multiple of the identity; r parts leave at most a share r/p < 1/2 of its error in each.
STEPS = 50
#: The multiple, the number of parts, and the singular vectors and values of what the multiple leaves.
Split = tuple[float, int, Array, Array, Array]
#: Up to this size parts may hide in the shift of the trace by all of them: r of one norm do where, relatively,
#: 1 - r/p < 2 APART sqrt((r - 1)/p + (r/p)^2), which for MOST of them is up to p = 64; the double is ample.
FEW = 16 * MOST
#: A rest below this share of the weights is the rounding of single precision, and parts are so many times as large.
LITTLE, GAP = 1e-6, 100.0
#: A rest whose root mean square exceeds this share of the multiple of the identity is worth a warning.
LARGE_REST = 0.1


@dataclass(frozen=True)
class FiniteRank(Measured):
    """W_K^T W_Q = scale I + sum k_r q_r^T + rest; vectors in orthonormal coordinates, the first along the file's mu.

    ``rest`` is the largest singular value of what is left and ``spread`` their root mean square, both in units of the
    multiple of the identity, and ``square`` is tr(rest^2)/p. On the coordinates, P, the rest acts as ``within`` =
    P R P^T; what it takes out of them and brings back has the products ``onto`` = P R Q R^T P^T, ``into`` =
    P R^T Q R P^T and ``twice`` = P R Q R P^T, Q being the projection on all other directions.
    """

    source: str
    size: int
    scale: float
    keys: tuple[tuple[float, ...], ...]
    queries: tuple[tuple[float, ...], ...]
    rest: float
    spread: float
    square: float
    within: tuple[tuple[float, ...], ...]
    onto: tuple[tuple[float, ...], ...]
    into: tuple[tuple[float, ...], ...]
    twice: tuple[tuple[float, ...], ...]

    @property
    def is_near(self) -> bool:
        """Whether identity and rank parts describe the weights; if not, reading them warns."""
        return self.spread <= LARGE_REST

    @property
    def caution(self) -> str:
        """What is to be said where they do not."""
        return (
            f"beside {self.scale:.3g} times identity and {len(self.keys)} rank parts, W_K^T W_Q has a rest of root "
            f"mean square {self.spread:.3g} and norm {self.rest:.3g} (in units of that identity); statements about "
            "identity plus finite rank leave it out"
        )

    def __str__(self) -> str:
        norms = [
            math.hypot(*k) * math.hypot(*q) / abs(self.scale) for k, q in zip(self.keys, self.queries, strict=True)
        ]
        parts = ", ".join(f"{norm:.4g}" for norm in norms) or "none"
        return (
            f"{self.source} (p = {self.size}: {self.scale:.4g} times identity; of that, rank parts of norm {parts}, "
            f"rest of norm {self.rest:.4g} and root mean square {self.spread:.4g})"
        )


class RankFile(WeightsFile):
    """The name of a file with key and query weights, read as a multiple of the identity plus finite rank."""

    parts: ClassVar[type] = FiniteRank

    def split(self, source: str, product: Array, mu: Array | None) -> FiniteRank:
        """The weights' identity and rank parts."""
        return split_rank_parts(source, product, mu)


def split_rank_parts(source: str, product: Array, mu: Array | None = None) -> FiniteRank:
    """The multiple of the identity and the rank parts that stand out of what they leave of a square matrix.

    >>> import numpy as np
    >>> k, q = np.eye(40)[:2], 2 * np.eye(40)[1:3]
    >>> found = split_rank_parts("example", 3 * np.eye(40) + k.T @ q)
    >>> round(found.scale, 9), len(found.keys), found.rest < 1e-9
    (3.0, 2, True)
    """
    import numpy as np

    size, unit = product.shape[0], float(np.abs(product).max()) or 1.0
    product = product / unit
    found = _without_rest(product) if size <= FEW else None
    scale, count, left, values, right = found or _above_a_bulk(product)
    if not abs(scale) > 1e-9 * float(np.linalg.norm(product)):
        raise Rejected("has no identity-like part in W_K^T W_Q: less its rank parts, its trace vanishes")
    if 2 * count >= size:
        raise Rejected(
            f"has {count} rank parts in {size} dimensions, half of them or more: what of W_K^T W_Q is the multiple of "
            "the identity is not determined"
        )
    keys = (left[:, :count] * np.sqrt(values[:count])).T * math.sqrt(unit)
    queries = (right[:count].T * np.sqrt(values[:count])).T * math.sqrt(unit)
    along = np.zeros(size) if mu is None else mu / np.linalg.norm(mu)
    frame = _frame(along, np.concatenate([keys, queries]))
    rest = (left[:, count:] * values[count:]) @ right[count:] / scale
    spread, square = (
        float(np.sqrt(np.sum(values[count:] ** 2) / size)) / abs(scale),
        float(np.sum(rest * rest.T)) / size,
    )
    return FiniteRank(
        source, size, scale * unit, _rows(keys @ frame.T), _rows(queries @ frame.T),
        float(values[count]) / abs(scale) if count < size else 0.0, spread, square,
        *_on_frame(rest, frame, spread, square),
    )  # fmt: skip


def _above_a_bulk(product: Array) -> Split:
    """The multiple, and the singular values that stand out of the bulk which it and they leave."""
    import numpy as np

    scale = float(np.trace(product)) / len(product)
    for _ in range(STEPS):
        left, values, right = np.linalg.svd(product - scale * np.eye(len(product)))
        count = _standing_out(values, scale)
        better = _unexplained(product, count, left, values, right)
        moved, scale = abs(better - scale), better
        if moved <= 1e-15 * abs(scale):
            break
    return scale, count, left, values, right


def _without_rest(product: Array) -> Split | None:
    """The same where parts in fewer than half the dimensions leave nothing but rounding; None elsewhere."""
    import numpy as np

    size = len(product)
    # more than half of the eigenvalues are the multiple, but for the rounding of defective ones
    scale = float(np.median(np.linalg.eigvals(product).real))
    most, count = min(MOST, (size - 1) // 2), 0
    for _ in range(STEPS):
        left, values, right = np.linalg.svd(product - scale * np.eye(size))
        if not count:
            above = np.maximum(values[: most + 1], 1e-16 * values[0] + 1e-300)
            count = 1 + int(np.argmax(above[:-1] / above[1:])) if most else 0
            if not count or above[count - 1] < GAP * above[count]:
                return None
        better = _unexplained(product, count, left, values, right)
        moved, scale = abs(better - scale), better
        if moved <= 1e-15 * abs(scale):
            break
    is_rounding = values[count] <= min(LITTLE * (values[0] + abs(scale)), values[count - 1] / GAP)
    return (scale, count, left, values, right) if is_rounding else None


def _unexplained(product: Array, count: int, left: Array, values: Array, right: Array) -> float:
    """The mean of the diagonal that the first parts do not explain."""
    import numpy as np

    traces = sum(float(values[r] * (left[:, r] @ right[r])) for r in range(count))
    return (math.fsum(np.diag(product)) - traces) / len(product)


def _on_frame(rest: Array, frame: Array, spread: float, square: float) -> Iterator[tuple[tuple[float, ...], ...]]:
    """What the rest does on the rows of a frame, and out of them and back; a row of zeros is a direction like any."""
    import numpy as np

    ahead, back = frame @ rest, frame @ rest.T
    within = ahead @ frame.T
    onto, into = ahead @ ahead.T - within @ within.T, back @ back.T - within.T @ within
    twice = ahead @ back.T - within @ within
    if not np.any(frame[0]):
        onto[0, 0] = into[0, 0] = spread**2
        twice[0, 0] = square
    return (_rows(found) for found in (within, onto, into, twice))


def _standing_out(values: Array, scale: float) -> int:
    """How many singular values, falling, stand out of the bulk of those after them."""
    import numpy as np

    tails = np.sqrt(np.cumsum(values[::-1] ** 2)[::-1] / values.size)
    count = 0
    while count < min(MOST, values.size - 1) and values[count] > max(
        2 * APART * tails[count + 1], ROUNDING * abs(scale)
    ):
        count += 1
    return count


def _frame(along: Array, vectors: Array) -> Array:
    """Orthonormal rows, the first along mu (a zero row without one), that span mu and the vectors."""
    import numpy as np

    rows = [along]
    for vector in vectors:
        left = vector - sum((row @ vector) * row for row in rows)
        left = left - sum((row @ left) * row for row in rows)
        length = float(np.linalg.norm(left))
        if length > 1e-9 * float(np.linalg.norm(vector)):
            rows.append(left / length)
    return np.array(rows)


def _rows(matrix: Array) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(float(x) for x in row) for row in matrix)
