"""Responses of a minimum: how it moves with letters of the objective, by the implicit function theorem.

With the letters x of the tokens, the sums T and their multipliers m, stationarity moves with a letter c by

    D dx + W dmu = -E dc,     W^T dx + C dmu = -R dc,      dmu = (dT, dm),

D being the second derivatives within a token, W = (Y, dh/dx), C = ((M, N^T), (N, 0)) with N = dh/dT - 1 summed over
tokens, E and R the mixed derivatives in c. Eliminating dx leaves as many equations as there are sums, twice:

    dx/dc = -D^-1 E + D^-1 W K^-1 (R - W^T D^-1 E),     K = C - W^T D^-1 W.

So df_l/dc_m is a number of the token where l = m plus a product of a few numbers of l with as many of m; what
statements use of it costs as many operations as there are tokens. Where D is nearly singular for a token, though the
Hessian is not, the sample is done with the whole Hessian instead.

Matrices of one token are lists of arrays (n, L), one for each entry: small matrices of many samples are multiplied many
times faster so, and entries that are the number zero cost nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
#: An array, or the number zero.
Entry = Any
#: Determinant of a token's second derivatives over their size, below which the whole Hessian is used.
NEARLY_SINGULAR = 1e-3


@dataclass(frozen=True)
class Moved:
    """An expression f of a token: df/dx for each letter."""

    slopes: list[Entry]


@dataclass(frozen=True)
class Cause:
    """A letter c that the point responds to: E for each letter and R for each sum and each multiplier."""

    mixed: list[Entry]
    sums: list[Entry]


class System:
    """D (K x K), W (K x Q) of each token and C (Q x Q) of each sample; Q is twice the number of sums."""

    def __init__(self, within: list[list[Entry]], coupled: list[list[Entry]], core: Array, tokens: int) -> None:
        self.within, self.coupled, self.core = within, coupled, core
        self.shape = len(core), tokens
        self._inverse = self._inverted()
        self._solved = [[_sum(a * row[j] for a, row in zip(inverse, coupled, strict=True)) for j in range(len(core[0]))]
                        for inverse in self._inverse]  # fmt: skip

    def full(self, entry: Entry) -> Array:
        """An entry as an array (n, L)."""
        return entry if getattr(entry, "shape", None) == self.shape else np.broadcast_to(entry, self.shape)

    def total(self, entry: Entry) -> Any:
        """Sum over the tokens, (n,); a product with ones is many times faster than a sum over a short axis."""
        return np.matmul(self.full(entry), np.ones(self.shape[1]))

    def _inverted(self) -> list[list[Entry]]:
        d = self.within
        if len(d) == 1:
            return [[1 / d[0][0]]]
        if len(d) == 2:
            one = 1 / (d[0][0] * d[1][1] - d[0][1] * d[1][0])
            return [[d[1][1] * one, -d[0][1] * one], [-d[1][0] * one, d[0][0] * one]]
        found = np.linalg.inv(self._stacked(d))
        return [[found[..., i, j] for j in range(len(d))] for i in range(len(d))]

    def _stacked(self, table: list[list[Entry]]) -> Array:
        """A table of entries as one array (n, L, rows, columns)."""
        rows = [np.stack([self.full(e) for e in row], axis=-1) if row else np.zeros((*self.shape, 0)) for row in table]
        return np.stack(rows, axis=-2)

    def _dot(self, a: Entry, b: Entry) -> Any:
        """Sum over the tokens of a product, (n,), or zero."""
        return 0.0 if _is_zero(a) or _is_zero(b) else self.total(a * b)

    @cached_property
    def _reduced(self) -> Array:
        """The inverse of K, (Q, Q, n)."""
        size = self.core.shape[1]
        table = np.empty((size, size, len(self.core)))
        for i in range(size):
            for j in range(size):
                table[i, j] = self.core[:, i, j] - sum(
                    self._dot(w[i], s[j]) for w, s in zip(self.coupled, self._solved, strict=True)
                )
        return inverses(table)

    def left(self, moved: Moved) -> list[Entry]:
        """df/dx D^-1 W K^-1."""
        plain = [_sum(f * row[a] for f, row in zip(moved.slopes, self._solved, strict=True))
                 for a in range(self.core.shape[1])]  # fmt: skip
        return [_sum(p if _is_zero(p) else p * self._reduced[a, b][:, None] for a, p in enumerate(plain))
                for b in range(len(plain))]  # fmt: skip

    def _pushed(self, cause: Cause) -> list[Entry]:
        return [_sum(a * e for a, e in zip(row, cause.mixed, strict=True)) for row in self._inverse]

    def right(self, cause: Cause) -> list[Entry]:
        """R - W^T D^-1 E."""
        pushed = self._pushed(cause)
        return [r - _sum(row[a] * u for row, u in zip(self.coupled, pushed, strict=True))
                for a, r in enumerate(cause.sums)]  # fmt: skip

    def own(self, moved: Moved, cause: Cause, direct: Entry) -> Entry:
        """What a token's own letter adds: df/dc - df/dx D^-1 E."""
        return direct - _sum(f * u for f, u in zip(moved.slopes, self._pushed(cause), strict=True))

    def gram(self, one: list[Entry], two: list[Entry]) -> list[list[Any]]:
        """Sums over tokens of the products of numbers of two lists."""
        found = [[self._dot(a, b) if two is not one or j <= i else None for j, b in enumerate(two)]
                 for i, a in enumerate(one)]  # fmt: skip
        return [[found[j][i] if entry is None else entry for j, entry in enumerate(row)] for i, row in enumerate(found)]

    def nearly_singular(self) -> NDArray[np.int64]:
        """Samples with a token whose second derivatives nearly lack an inverse."""
        d, size = self.within, 1.0
        for row in d:
            # the largest of all tokens says what is small for one
            norm = np.sqrt(sum(self.full(e) ** 2 for e in row))
            size = size * np.max(norm, axis=1, keepdims=True)
        if len(d) > 2:
            determinant = np.linalg.det(self._stacked(d))
        else:
            determinant = d[0][0] * d[1][1] - d[0][1] * d[1][0] if len(d) == 2 else d[0][0]
        bad = np.abs(determinant) < NEARLY_SINGULAR * size
        return np.flatnonzero(np.any(np.broadcast_to(bad, self.shape), axis=1))

    def whole(self, rows: Any, moved: Moved, cause: Cause, direct: Entry) -> Array:
        """The whole matrix df_l/dc_m of some samples, (n, L, L), by the whole Hessian."""
        count, tokens, letters = len(rows), self.shape[1], len(self.within)

        def some(entries: list[Entry]) -> Array:
            return self._stacked([entries])[rows, :, 0]

        flat = self._stacked(self.coupled)[rows].reshape(count, tokens * letters, -1)
        half = flat.shape[-1] // 2
        bends, hits = flat[..., :half], np.swapaxes(flat[..., half:], 1, 2)
        curvature, chain = self.core[rows, :half, :half], self.core[rows, half:, :half]
        moves = -np.linalg.solve(chain, hits)
        hessian = bends @ moves + np.swapaxes(bends @ moves, 1, 2) + np.swapaxes(moves, 1, 2) @ curvature @ moves
        grid = hessian.reshape(count, tokens, letters, tokens, letters)
        pushed = np.swapaxes(some(cause.sums), 1, 2)
        moved_sums = -np.linalg.solve(chain, pushed[:, half:])
        mixed = bends @ moved_sums + np.swapaxes(moves, 1, 2) @ (pushed[:, :half] + curvature @ moved_sums)
        sides = mixed.reshape(count, tokens, letters, tokens)
        within, own = self._stacked(self.within)[rows], some(cause.mixed)
        for i in range(tokens):
            grid[:, i, :, i, :] += within[:, i]
            sides[:, i, :, i] += own[:, i]
        point = -np.linalg.solve(hessian, mixed).reshape(count, tokens, letters, tokens)
        found = np.einsum("nlk,nlkm->nlm", some(moved.slopes), point)
        found[:, np.arange(tokens), np.arange(tokens)] += self.full(direct)[rows]
        return np.asarray(found)


def _is_zero(entry: Entry) -> bool:
    return isinstance(entry, (int, float)) and entry == 0


def _sum(entries: Any) -> Entry:
    """The sum of entries, zeros left out."""
    found: Entry = 0
    for entry in entries:
        found = entry if _is_zero(found) else found if _is_zero(entry) else found + entry
    return found


def inverses(matrices: Array) -> Array:
    """Inverses of small matrices (q, q, n), by elimination with the largest pivots."""
    size = len(matrices)
    table = np.concatenate([matrices, np.broadcast_to(np.eye(size)[..., None], matrices.shape)], axis=1)
    for column in range(size):
        pivot = column + np.argmax(np.abs(table[column:, column]), axis=0)
        for row in range(column + 1, size):
            # at most one row is exchanged with that of the column
            table[[column, row]] = np.where(pivot == row, table[[row, column]], table[[column, row]])
        table[column] /= table[column, column].copy()
        for row in range(size):
            if row != column:
                table[row] -= table[row, column].copy() * table[column]
    return table[:, size:]
