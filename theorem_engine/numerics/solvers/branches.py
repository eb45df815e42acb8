"""All solutions of equations: of one unknown between its turning points, of several from a lattice of starts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from theorem_engine.numerics.solvers.newton import Array, Places, solve_group
from theorem_engine.numerics.solvers.search import SCAN, scan_points

#: The function and its slope at an array of places.
Both = Callable[[Any], tuple[Any, Any]]
#: Starts along each axis of a lattice, and how near two solutions are the same.
LATTICE, SAME = {2: 9, 3: 5}, 1e-7
#: A residual above this is no solution.
ACCEPT = 1e-10
#: Values of a parameter at which turning points are looked for.
FOLDS = 65


@dataclass(frozen=True)
class Roots:
    """Zeros of a function on a range, from left to right, and the places where it turns."""

    zeros: list[float]
    turns: list[float]


def all_roots(both: Both, low: float, high: float, count: int = SCAN) -> Roots:
    """Every zero on a range: the range is cut where the slope changes sign, and a piece holds one zero or none."""
    from scipy.optimize import brentq

    if not low < high:
        return Roots([], [])
    points = np.asarray(scan_points(low, high, count), dtype=float)
    values, slopes = (np.broadcast_to(v, points.shape) for v in both(points))

    def crossed(which: int, a: float, b: float) -> float:
        return float(brentq(lambda u: float(both(u)[which]), a, b, xtol=1e-300, rtol=8.9e-16, maxiter=500))

    places, heights = points.tolist(), values.tolist()
    turns = [crossed(1, points[i], points[i + 1]) for i in _changes(slopes)]
    for turn in turns:
        places.append(turn)
        heights.append(float(both(turn)[0]))
    order = np.argsort(places)
    places, heights = np.array(places)[order], np.array(heights)[order]
    zeros = [float(p) for p, h in zip(places, heights, strict=True) if h == 0]
    zeros += [crossed(0, places[i], places[i + 1]) for i in _changes(heights)]
    return Roots(sorted(zeros), turns)


def _changes(values: Any) -> Any:
    """Numbers of the pieces at whose ends there are two signs."""
    signs = np.where(np.isfinite(values), np.sign(values), 0)
    return np.flatnonzero(signs[:-1] * signs[1:] < 0)


def all_solutions(
    system: Callable[[Array, Places], tuple[Array, Array]], box: Sequence[tuple[float, float]]
) -> list[list[float]]:
    """Solutions of x = F(x) in a box that Newton's method finds from a lattice of starts, by rising first letter."""
    per_axis = LATTICE.get(len(box), 3)
    axes = [scan_points(low, high, per_axis) for low, high in box]
    starts = np.array(list(itertools.product(*axes)), dtype=float).T
    found, residual, _ = solve_group(system, starts, [low > 0 for low, _ in box])
    kept: list[list[float]] = []
    for x, left in zip(found.T, residual, strict=True):
        inside = all(a - 1e-9 * abs(a) <= v <= b + 1e-9 * abs(b) for v, (a, b) in zip(x, box, strict=True))
        if left <= ACCEPT and inside and not any(_is_same(x, other) for other in kept):
            kept.append([float(v) for v in x])
    return sorted(kept)


def _is_same(x: Sequence[float], other: Sequence[float]) -> bool:
    return all(abs(a - b) <= SAME * max(abs(a), abs(b), 1e-12) for a, b in zip(x, other, strict=True))


def meant(slopes: Sequence[Any], energies: Sequence[Any], choice: str) -> int | None:
    """Which of the fixed points is meant: of the stable ones the first, the last, or that of least energy."""
    stable = [i for i, slope in enumerate(slopes) if slope < 1]
    if not stable:
        return None
    if choice == "energy":
        return min(stable, key=lambda i: energies[i])
    return stable[-1 if choice == "last" else 0]


def largest_slope(jacobian: Any) -> float:
    """The largest real part of the eigenvalues."""
    return float(np.max(np.linalg.eigvals(jacobian).real)) if np.all(np.isfinite(jacobian)) else math.inf


def folds(
    turning: Callable[[float], tuple[list[float], list[float]]],
    newton: Callable[[float, float], tuple[float, float] | None],
    low: float,
    high: float,
) -> list[tuple[float, float]]:
    """Where two zeros meet: (parameter, place), by rising parameter.

    ``turning`` has the places at which the function turns at a value of the parameter, and its heights there; two zeros
    meet where such a height passes through zero. ``newton`` goes from (place, parameter) nearby to the exact ones.
    """
    found: list[tuple[float, float]] = []
    grid = [float(p) for p in scan_points(low, high, FOLDS)]
    before: tuple[list[float], list[float]] = ([], [])
    for number, s in enumerate(grid):
        places, heights = turning(s)
        starts = []
        if len(places) == len(before[0]):
            pairs = zip(places, heights, *before, strict=True)
            starts = [_between(p, h, q, g, s, grid[number - 1]) for p, h, q, g in pairs if h == 0 or h * g < 0]
        elif number:
            # a turning point has appeared or gone: its height may have passed zero on the way
            starts = [(p, s) for p in places] + [(p, grid[number - 1]) for p in before[0]]
        for start in starts:
            solved = newton(*start)
            if solved is None or not low <= solved[1] <= high:
                continue
            if not any(abs(solved[1] - s) <= SAME * abs(s) and abs(solved[0] - x) <= 1e-4 * abs(x) for s, x in found):
                found.append((solved[1], solved[0]))
        before = places, heights
    return sorted(found)


def _between(p: float, h: float, q: float, g: float, s: float, r: float) -> tuple[float, float]:
    """Where the line between two heights passes zero: the place there, and the parameter."""
    share = g / (g - h) if g != h else 1.0
    return q + share * (p - q), r + share * (s - r)


def fold_step(x: float, s: float, values: Sequence[Any]) -> tuple[Any, Any]:
    """Newton's step for f = x, f_x = 1 in x and the parameter, from f, f_x, f_s, f_xx and f_xs."""
    f, slope, moved, bent, mixed = values
    a, b, c, d = slope - 1, moved, bent, mixed
    determinant = a * d - b * c
    first, second = f - x, slope - 1
    return (d * first - b * second) / determinant, (a * second - c * first) / determinant
