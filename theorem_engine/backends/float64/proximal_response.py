"""Products of responses of a proximal point, from SymPy's second derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy

from theorem_engine.backends.base import Backend
from theorem_engine.base.errors import DeclarationError
from theorem_engine.numerics.proximal.response import Cause, Moved, System
from theorem_engine.planning.objective import TOKENS, Objective
from theorem_engine.planning.stationary import Stationary

Pair = tuple[Any, Any]


class Responses:
    """All products that are asked for, from one evaluation of the derivatives."""

    def __init__(
        self, objective: Objective, asked: list[tuple[Pair, Pair]], backend: Backend, is_regular: bool
    ) -> None:  # fmt: skip
        self.asked, self.is_regular = asked, is_regular
        self.of = of = Stationary(objective)
        self.pairs = list(dict.fromkeys(pair for both in asked for pair in both))
        for _, c in self.pairs:
            if not c.is_Symbol or c in objective.shared:
                raise DeclarationError(f"a Proximal responds to letters that tokens have, one each; {c} is none")
        symbols, density = of.symbols, of.density
        wanted: list[Any] = [e for table in (of.blocks, of.mixed, of.direct, of.curvature, of.chain) for r in table
                             for e in r]  # fmt: skip
        for f, c in self.pairs:
            mixed = [density.diff(x, c) for x in of.letters]
            sums = [density.diff(t, c) for t in symbols] + [s.density.diff(c) for s in of.sums]
            wanted += [objective.with_shares(e) for e in (*mixed, *sums)]
            wanted += [*(f.diff(x) for x in of.letters), f.diff(c)]
        more = {s for f, c in self.pairs for s in (*f.free_symbols, c)} - set(of.letters)
        found = objective.parameters | more
        self.parameters = (*sorted(found, key=lambda s: (s.name, getattr(s, "scope", ""))), TOKENS)
        targets = [sympy.Dummy(f"result{i}") for i in range(len(wanted))]
        equations = [*of.equations(), *zip(targets, wanted, strict=True)]
        self._tables = backend.elementary([*of.letters, *self.parameters], equations, targets)

    def __call__(self, batch: Any, letters: tuple[Any, ...]) -> list[Any]:
        """Each product, (n, 1)."""
        flat = iter(self._tables(*letters, *batch.take(self.parameters)))
        size, sums = len(letters), len(self.of.sums)

        def table(rows: int, columns: int) -> list[list[Any]]:
            return [[next(flat) for _ in range(columns)] for _ in range(rows)]

        within, mixed, direct = table(size, size), table(sums, size), table(sums, size)
        coupled = [[*(row[k] for row in mixed), *(row[k] for row in direct)] for k in range(size)]
        core = np.zeros((batch.count, 2 * sums, 2 * sums))
        for first in (0, sums):
            for i, row in enumerate(table(sums, sums)):
                for j, entry in enumerate(row):
                    core[:, first + i, j] = np.ravel(entry)
        core[:, sums:, :sums] -= np.eye(sums)
        core[:, :sums, sums:] = np.swapaxes(core[:, sums:, :sums], 1, 2)
        system = System(within, coupled, core, batch.tokens)
        sides = {pair: self._side(flat, size, sums) for pair in self.pairs}
        return _Products(system, sides, self.is_regular).of(self.asked)

    @staticmethod
    def _side(flat: Any, size: int, sums: int) -> tuple[Moved, Cause, Any]:
        mixed = [next(flat) for _ in range(size)]
        cause = Cause(mixed, [next(flat) for _ in range(2 * sums)])
        return Moved([next(flat) for _ in range(size)]), cause, next(flat)


class _Products:
    """Sums of products of responses; what depends on one side only is computed once."""

    def __init__(self, system: System, sides: dict[Pair, Any], is_regular: bool) -> None:
        self.system, self.sides = system, sides
        self.left = {f: system.left(moved) for (f, _), (moved, _, _) in sides.items()}
        self.right = {c: system.right(cause) for (_, c), (_, cause, _) in sides.items()}
        self.own = {pair: system.own(*side) for pair, side in sides.items()}
        self.bad = np.zeros(0, dtype=int) if is_regular else system.nearly_singular()
        self.whole = {pair: system.whole(self.bad, *side) for pair, side in sides.items()} if self.bad.size else {}
        self._grams: dict[Any, Any] = {}
        self._diagonals: dict[Pair, Any] = {}

    def of(self, asked: list[tuple[Pair, Pair]]) -> list[Any]:
        """Each product, (n, 1)."""
        return [self._product(one, two)[:, None] for one, two in asked]

    def _gram(self, kind: str, one: Any, two: Any) -> Any:
        if (kind, one, two) not in self._grams:
            table = self.left if kind == "left" else self.right
            found = self.system.gram(table[one], table[two])
            self._grams[kind, one, two] = found
            self._grams[kind, two, one] = [list(row) for row in zip(*found, strict=True)]
        return self._grams[kind, one, two]

    def _along(self, pair: Pair) -> Any:
        """The diagonal of the part that is a product of numbers of two tokens."""
        if pair not in self._diagonals:
            f, c = pair
            self._diagonals[pair] = sum(q * r for q, r in zip(self.left[f], self.right[c], strict=True))
        return self._diagonals[pair]

    def _product(self, one: Pair, two: Pair) -> Any:
        (f, c), (g, e) = one, two
        p, s = self.own[one], self.own[two]
        found = self.system.total(p * s + p * self._along(two) + s * self._along(one))
        for row, other in zip(self._gram("left", f, g), self._gram("right", c, e), strict=True):
            for a, b in zip(row, other, strict=True):
                found = found + a * b
        if self.bad.size:
            found[self.bad] = np.einsum("nlm,nlm->n", self.whole[one], self.whole[two])
        return found
