"""Quadratic forms of random matrices with classes, in double precision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.backends.float64.each_point import each_point
from theorem_engine.base.reports import is_heard, note
from theorem_engine.numerics.dyson import Array, Blocks, Solution, Variances, product_nodes

#: Pairs of classes whose kernels are evaluated together.
HELD = 8192
#: Share of the nodes that a coarser rule has, to see what the rule leaves.
COARSER = 0.7


def lower(forms: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """The form and its derivatives share one solution; what coarser rules give instead says how far off they are."""
    first = forms[0]
    pieces = [_Pieces(first, first.parts, parameters, backend)]
    rates = {form.changes: _Pieces(first, form.changes, parameters, backend) for form in forms if form.changes}
    means = backend.function(parameters, [law[1] for law in first.laws if len(law) > 1])

    def values_at(counts: list[int], values: tuple[Any, ...]) -> list[float]:
        coins = iter(float(v) for v in means(*values))
        laws = [(count, next(coins) if len(law) > 1 else None) for count, law in zip(counts, first.laws, strict=True)]
        places, weights = product_nodes(laws)
        blocks, start = pieces[0].at(places, weights, values)
        solution = Solution(blocks, start)
        found = {key: solution.slope(piece.at(places, weights, values)[0]) for key, piece in rates.items()}
        values_at.detail = f"{weights.size} classes, {solution.rounds} rounds"  # type: ignore[attr-defined]
        return [found[form.changes] if form.changes else solution.form for form in forms]

    def one(*values: Any) -> list[float]:
        counts = [int(law[0]) for law in first.laws]
        best = values_at(counts, values)
        detail = values_at.detail  # type: ignore[attr-defined]
        if is_heard():
            fewer, others = _coarser(counts, [len(law) > 1 for law in first.laws])
            coarse = np.array(values_at(fewer, values))
            left = abs(np.array(best) - coarse)
            # one letter at a time: what two of them change may have opposite signs, and hides in the whole change
            apart = sum((abs(values_at(other, values) - coarse) for other in others), np.zeros(len(best)))
            note("Dyson equation", list(np.maximum(left, apart)), detail)
        return best

    return lambda *values: each_point(one, values)


def _coarser(counts: list[int], is_coin: list[bool]) -> tuple[list[int], list[list[int]]]:
    """A coarser rule of every letter, and rules in which one letter alone is finer than in that.

    A letter of one or two nodes has no coarser rule worth comparing with, and is finer with one more node.
    """
    fewer = [count if coin else min(count, max(2, int(COARSER * count)))
             for count, coin in zip(counts, is_coin, strict=True)]  # fmt: skip
    others = []
    for k, (count, coin) in enumerate(zip(counts, is_coin, strict=True)):
        if not coin:
            finer = count if fewer[k] < count else count + 1
            others.append([*fewer[:k], finer, *fewer[k + 1 :]])
    return fewer, others


def _turned(pair: list[Any], first: tuple[Any, ...], second: tuple[Any, ...]) -> list[int]:
    """Where each expression of a pair of classes stands once they have changed places; empty if it is not there.

    Kernels are mostly symmetric, and dear: then half of the pairs will do.
    """
    swap = {**dict(zip(first, second, strict=True)), **dict(zip(second, first, strict=True))}
    places: dict[Any, list[int]] = {}
    for k, expression in enumerate(pair):
        places.setdefault(expression, []).append(k)
    found = []
    for expression in pair:
        there = places.get(expression.xreplace(swap))
        if not there:
            return []
        found.append(there.pop(0))
    return found


@dataclass
class _Pieces:
    """The parts of a form, or their rates, compiled by what they depend on: nothing, one class, a pair of classes."""

    form: Any
    parts: tuple[Any, ...]
    parameters: tuple[Any, ...]
    backend: Backend

    def __post_init__(self) -> None:
        order, first, second = self.form.order, self.form.first, self.form.second
        square = order * order
        ends = np.cumsum([1, square, square, square, square, order, len(self.form.places)])
        ratio, start, local, coupling, mean, vector, kernels = (
            self.parts[a:b] for a, b in zip([0, *ends[:-1]], ends, strict=True)
        )
        self.pair = [*coupling, *mean, *kernels]
        self.turned = _turned(self.pair, first, second)
        self.alone = self.backend.function(self.parameters, [*ratio, *start])
        self.single = self.backend.function([*first, *self.parameters], [*local, *vector])
        self.double = self.backend.function([*first, *second, *self.parameters], self.pair)

    def at(self, places: Array, weights: Array, values: tuple[Any, ...]) -> tuple[Blocks, Array]:
        """Everything on the nodes of the law."""
        order, size = self.form.order, weights.size
        ratio, *start = (float(v) for v in self.alone(*values))
        single = np.stack([np.broadcast_to(v, size) for v in self.single(*places, *values)], axis=-1).astype(float)
        local, vector = single[:, : order * order].reshape(size, order, order), single[:, order * order :]
        rows, columns = np.triu_indices(size) if self.turned else (index.ravel() for index in np.indices((size, size)))
        table = np.empty((len(self.pair), size, size))
        for begin in range(0, rows.size, HELD):
            row, column = rows[begin : begin + HELD], columns[begin : begin + HELD]
            found = self.double(*places[:, row], *places[:, column], *values)
            for k, value in enumerate(found):
                table[k, row, column] = value
                if self.turned:
                    table[self.turned[k], column, row] = value
        count = order * order
        coupling, mean = (
            table[k * count : (k + 1) * count].reshape(order, order, size, size).transpose(2, 3, 0, 1) for k in range(2)
        )
        kernels = tuple(table[2 * count :])
        where = tuple(tuple(int(x) for x in place) for place in self.form.places)
        variances = Variances(where, kernels)  # type: ignore[arg-type]
        return Blocks(weights, local, coupling, ratio, variances, mean, vector), np.array(start).reshape(order, order)
