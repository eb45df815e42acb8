"""Proximal points of single numbers: on either side of kinks, and their derivatives."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import sympy

from theorem_engine.backends.base import Backend
from theorem_engine.backends.float64.proximal_descent import Descent, parameters
from theorem_engine.numerics.proximal.search import FINE
from theorem_engine.planning.kinks import Kinked
from theorem_engine.planning.objective import Objective, centre


def _names(kinked: Kinked, objective: Objective) -> tuple[Any, ...]:
    return tuple(s for s in parameters(objective)[0] if s not in kinked.signs)


def _patterns(kinked: Kinked) -> list[tuple[float, ...]]:
    return list(itertools.product((-1.0, 1.0), repeat=len(kinked.signs)))


class KinkedPoint:
    """The lowest of the smooth minima on either side of the kinks, and of the kinks themselves."""

    def __init__(self, kinked: Kinked, objective: Objective, backend: Backend) -> None:
        (x,) = objective.letters
        self.kinked, self.names, self.patterns = kinked, _names(kinked, objective), _patterns(kinked)
        self.descent = Descent(objective, backend)
        # the objective itself: every sign is that of its line
        signs = {s: sympy.sign(u) for s, u in zip(kinked.signs, kinked.lines, strict=True)}
        self.height = backend.function([x, *self.names], [objective.each.xreplace(signs)])
        self.sides = backend.function([x, *self.names], list(kinked.lines))
        self.places = backend.function(self.names, list(kinked.places))
        # a descent begins at the centre of the terms without kinks
        terms = sympy.Add.make_args(sympy.expand(objective.each))
        smooth = replace(objective, each=sympy.Add(*(t for t in terms if not t.has(*kinked.signs))))
        self.centre = backend.function(self.names, list(centre(smooth)))

    def find(self, batch: Any) -> tuple[Any, Any, Any]:
        """The letter (n, 1), the height (n, 1), and which of all candidates it is (n, 1)."""
        given, shape = batch.take(self.names), (batch.count, 1)
        start = np.broadcast_to(self.centre(*given)[0], shape)
        points, heights = [], []
        for pattern in self.patterns:
            known = {s: np.full(shape, v) for s, v in zip(self.kinked.signs, pattern, strict=True)}
            at, _ = self.descent.at(replace(batch, values={**batch.values, **known}))(start, slice(None), FINE)
            fits = np.all([v * u >= 0 for v, u in zip(pattern, self.sides(at, *given), strict=True)], axis=0)
            points.append(at)
            heights.append(np.where(fits, self.height(at, *given)[0], np.inf))
        for place in self.places(*given):
            points.append(np.broadcast_to(place, shape))
            heights.append(np.broadcast_to(self.height(points[-1], *given)[0], shape))
        table = np.nan_to_num(np.concatenate(heights, axis=1), nan=np.inf)
        best = np.argmin(table, axis=1)[:, None]
        chosen = np.take_along_axis(np.concatenate(points, axis=1), best, axis=1)
        return chosen, np.take_along_axis(table, best, axis=1), best


class Slope:
    """Derivative of a letter: the implicit function theorem, or the way of the kink that the point sits on."""

    def __init__(self, kinked: Kinked, objective: Objective, index: int, symbol: Any, backend: Backend) -> None:
        letters = list(objective.letters)
        self.names, self.patterns = _names(kinked, objective), np.array(_patterns(kinked))
        gradient = sympy.Matrix([objective.each.diff(x) for x in letters])
        moved = -gradient.jacobian(letters).inv() * gradient.diff(symbol)
        self.smooth = backend.function([*letters, *kinked.signs, *self.names], [moved[index]])
        self.ways = backend.function(self.names, [place.diff(symbol) for place in kinked.places])

    def __call__(self, batch: Any, point: tuple[Any, ...], piece: Any) -> Any:
        """The derivative at a point that was found on some piece, (n, 1)."""
        given, count = batch.take(self.names), len(self.patterns)
        signs = [] if piece is None else list(np.moveaxis(self.patterns[np.minimum(piece, count - 1)], -1, 0))
        slope = np.asarray(self.smooth(*point, *signs, *given)[0], dtype=float)
        found = np.broadcast_to(slope, (batch.count, 1))
        for i, way in enumerate(self.ways(*given)):
            found = np.where(piece == count + i, way, found)
        return found
