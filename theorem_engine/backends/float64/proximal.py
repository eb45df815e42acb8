"""Proximal points in double precision: by one multiplier where the objective allows it, else by Newton's method."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.backends.float64.proximal_descent import Descent
from theorem_engine.backends.float64.proximal_kinks import KinkedPoint, Slope
from theorem_engine.backends.float64.proximal_response import Responses
from theorem_engine.backends.float64.proximal_root import RootPoint
from theorem_engine.base.errors import NotAvailable
from theorem_engine.language.operators.proximal import PointSlope, Proximal, ResponseProduct
from theorem_engine.numerics.proximal.search import lowest
from theorem_engine.planning.kinks import without_kinks
from theorem_engine.planning.objective import TOKENS, Objective, centre, take_apart
from theorem_engine.planning.quadratic import eliminate, one_multiplier


def lower(operators: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """The point, and whatever else is asked of it."""
    first = operators[0]
    problem = _Problem(first if isinstance(first, Proximal) else first.point, parameters, backend)
    slopes = {op: problem.slope(op) for op in operators if isinstance(op, PointSlope)}
    asked = tuple(op for op in operators if isinstance(op, ResponseProduct))
    responses = problem.responses(asked) if asked else None

    def run(*values: Any) -> list[Any]:
        with np.errstate(all="ignore"):
            batch = problem.batch(values)
            found = problem.find(batch)
            products = dict(zip(asked, responses(batch, found), strict=True)) if responses else {}
            results: list[Any] = []
            for op in operators:
                if isinstance(op, Proximal):
                    results += [batch.shaped(a) for a in (*found.letters, found.height, found.jumps)]
                elif op in slopes:
                    results.append(batch.shaped(slopes[op](batch, found)))
                else:
                    results.append(batch.shaped(products[op]))
            return results

    return run


@cache
def has_one_multiplier(point: Any) -> bool:
    """Whether the point is found without a matrix over its tokens."""
    objective = take_apart(point.objective, point.letters)
    return objective.is_separate or one_multiplier(objective) is not None


@dataclass(frozen=True)
class Batch:
    """Values of the parameters as arrays (n, L), or (n, 1) where a sample has one; ``shape`` is that of the samples."""

    values: dict[Any, Any]
    shape: tuple[int, ...]
    count: int
    tokens: int
    is_separate: bool

    def shaped(self, array: Any) -> Any:
        """As the caller's arrays are: a number of each token, or of each sample."""
        if self.is_separate:
            return array.reshape(self.shape)[()]
        return array.reshape(*self.shape[:-1], array.shape[-1])

    def take(self, names: tuple[Any, ...], rows: Any = slice(None)) -> list[Any]:
        """Values of some letters for some samples."""
        return [self.values[name][rows] for name in names]


@dataclass(frozen=True)
class Found:
    """Minimising letters (n, L), the height and the mark (n, 1); ``piece`` tells on which side of kinks a point is."""

    letters: tuple[Any, ...]
    height: Any
    jumps: Any
    piece: Any = None


class _Problem:
    """One proximal point, ready for any values of its parameters."""

    def __init__(self, point: Any, parameters: tuple[Any, ...], backend: Backend) -> None:
        self.point, self.parameters, self.backend = point, parameters, backend
        self.kinked = without_kinks(point.objective, point.letters)
        self.objective = take_apart(self.kinked.objective, point.letters)
        self.singles = self.objective.shared
        self.fields = self.objective.parameters - self.singles
        self.is_regular = False
        self.find = self._kinked() if self.kinked.signs else self._smooth()

    def batch(self, values: tuple[Any, ...]) -> Batch:
        """Arrays of one shape; a letter outside all sums must have one value for each sample."""
        shape = np.broadcast_shapes(*(np.shape(v) for v in values)) if values else ()
        if self.objective.is_separate:
            count = math.prod(shape)
            flat = [np.broadcast_to(np.asarray(v, dtype=float), shape).reshape(count, 1) for v in values]
            return Batch(self._named(flat, 1), shape, count, 1, True)
        shape = shape or (1,)
        tokens, count = shape[-1], math.prod(shape[:-1])
        flat = []
        for name, value in zip(self.parameters, values, strict=True):
            last = np.shape(value)[-1:] or (1,)
            if name in self.singles and last != (1,):
                raise NotAvailable(
                    f"the letter {name} stands outside of the sums of an objective and has {last[0]} values"
                )
            # a letter inside the sums is summed over all tokens, though they may share its value
            width = tokens if name in self.fields else last[0]
            flat.append(np.broadcast_to(np.asarray(value, dtype=float), (*shape[:-1], width)).reshape(count, width))
        return Batch(self._named(flat, tokens), shape, count, tokens, False)

    def _named(self, arrays: list[Any], tokens: int) -> dict[Any, Any]:
        named = dict(zip(self.parameters, arrays, strict=True))
        count = len(arrays[0]) if arrays else 1
        return {**named, TOKENS: np.broadcast_to(float(tokens), (count, 1))}

    def _smooth(self) -> Any:
        form = None if self.objective.is_separate else one_multiplier(self.objective)
        if form is not None:
            self.is_regular = True
            root = RootPoint(self.objective, form, self.backend)
            return lambda batch: _with_height(root, batch)
        return _Searched(self.point, self.objective, self.parameters, self.backend)

    def _kinked(self) -> Any:
        kinked = KinkedPoint(self.kinked, self.objective, self.backend)

        def find(batch: Batch) -> Found:
            x, height, piece = kinked.find(batch)
            return Found((x,), height, np.zeros_like(height), piece)

        return find

    def slope(self, op: Any) -> Any:
        """Derivative of a letter of a separate objective, by the implicit function theorem."""
        if not self.objective.is_separate:
            raise NotAvailable("the derivative of a Proximal with sums over tokens; its response has the products")
        slope = Slope(self.kinked, self.objective, int(op.args[1]), op.args[2], self.backend)
        return lambda batch, found: slope(batch, found.letters, found.piece)

    def responses(self, asked: tuple[Any, ...]) -> Any:
        """Products of responses, all from the same second derivatives."""
        if self.objective.is_separate:
            raise NotAvailable("the response of a Proximal without sums over tokens; its derivative is what is meant")
        found_by = Responses(self.objective, [op.sides for op in asked], self.backend, self.is_regular)
        return lambda batch, found: found_by(batch, found.letters)


def _with_height(root: RootPoint, batch: Batch) -> Found:
    letters, height = root.find(batch)
    return Found(letters, height, np.zeros_like(height))


class _Searched:
    """The lowest minimum reached by descent from the centre and from the starts of the point."""

    def __init__(self, point: Any, objective: Objective, parameters: tuple[Any, ...], backend: Backend) -> None:
        reduced = eliminate(objective)
        self.point, self.letters = point, reduced.objective.letters
        self.descent = Descent(reduced.objective, backend)
        self.parameters = parameters
        inputs = [*self.letters, *parameters, TOKENS]
        eliminated = [e for _, e in reduced.eliminated]
        sums = {s.symbol: s.equation() for s in reduced.objective.sums}
        self.others = backend.function(inputs, eliminated, sums) if eliminated else lambda *values: []
        self.order = [*self.letters, *(x for x, _ in reduced.eliminated)]
        self.centre = backend.function([*parameters, TOKENS], list(centre(reduced.objective)))
        condition, height = point.certain
        self.certain = backend.function([height, *parameters], [condition])
        marks = [point.each] if point.each is not None else []
        places = [[row[point.letters.index(x)] for x in self.letters] for row in point.starts]
        self.starts = [
            (point.each is not None and any(e.has(point.each) for e in row),
             backend.function([*marks, *parameters, *self.letters], row))
            for row in places
        ]  # fmt: skip

    def __call__(self, batch: Batch) -> Found:
        given = batch.take(self.parameters)
        begin = [np.broadcast_to(c, (batch.count, batch.tokens)) for c in self.centre(*given, batch.values[TOKENS])]
        start = np.concatenate(begin, axis=1)

        def is_certain(height: Any) -> Any:
            return np.broadcast_to(self.certain(height[:, None], *given)[0], (batch.count, 1))[:, 0]

        def others(rows: Any) -> Iterator[Any]:
            return self._starts(batch, start, rows)

        x, height, jumps = lowest(
            self.descent.at(batch), start, is_certain, others if self.starts else None
        )  # fmt: skip
        found = dict(zip(self.order, self._all(x, batch), strict=True))
        return Found(tuple(found[x] for x in self.point.letters), height[:, None], jumps[:, None])

    def _all(self, x: Any, batch: Batch) -> list[Any]:
        """All letters, those that were eliminated too."""
        known = np.split(x, len(self.letters), axis=1)
        found = self.others(*known, *batch.take(self.parameters), batch.values[TOKENS])
        return [*known, *(np.broadcast_to(a, (batch.count, batch.tokens)) for a in found)]

    def _starts(self, batch: Batch, start: Any, rows: Any) -> Iterator[Any]:
        given, begin = batch.take(self.parameters, rows), np.split(start[rows], len(self.letters), axis=1)
        for is_each, place in self.starts:
            marks: list[Any] = list(np.eye(batch.tokens)) if is_each else [np.zeros(batch.tokens)]
            for mark in marks:
                first = [mark] if self.point.each is not None else []
                found = place(*first, *given, *begin)
                yield np.concatenate([np.broadcast_to(f, begin[0].shape) for f in found], axis=1)
