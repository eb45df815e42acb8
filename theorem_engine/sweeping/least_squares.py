"""Least squares within the domains of letters: residuals, gradients, a scan of the domains, and descents."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theorem_engine.base.errors import BadRequest, NotConverged, OutOfDomain
from theorem_engine.base.exact import NotANumber, as_float, read_number
from theorem_engine.language.domains import WIDE
from theorem_engine.language.entry import Entry
from theorem_engine.sweeping.comparison import Beside
from theorem_engine.sweeping.data import Measured
from theorem_engine.sweeping.free_letters import Curve, step_of

Array = NDArray[np.float64]
#: Places looked at before the descent: along one letter, and for several letters in all.
SCAN, MOST_PLACES = 9, 60
#: Descents, from the best of those places.
DESCENTS = 3


class Problem:
    """Residuals and their Jacobian as functions of the free letters."""

    def __init__(
        self, entry: Entry, sets: Sequence[Measured], fixed: Mapping[str, Any], names: Sequence[str],
        ranges: Mapping[str, tuple[float, float]],
    ) -> None:  # fmt: skip
        self.entry, self.sets, self.fixed, self.names, self.ranges = entry, sets, fixed, tuple(names), ranges
        self.curves = [Curve(entry, measured, fixed, names) for measured in sets]
        self.measured = np.concatenate([one.values for one in sets])
        self.sigmas = np.concatenate([one.errors for one in sets])
        self.is_exact = True
        self.step = 0.0

    def check_count(self) -> None:
        """Refuse fewer points than letters."""
        if len(self.measured) < len(self.names):
            count = "1 point" if len(self.measured) == 1 else f"{len(self.measured)} points"
            raise BadRequest(
                f"{self.entry.id}: {count} cannot determine {len(self.names)} letters, {', '.join(self.names)}"
            )

    def letters(self, x: Any) -> dict[str, float]:
        """Values by name."""
        return {name: float(value) for name, value in zip(self.names, x, strict=True)}

    def widths(self, x: Any) -> dict[str, float]:
        """The range of each letter; where it has no end, the larger of what is typical and its value here."""
        typical = {letter.name: letter.typical for letter in self.entry.given}
        found = {}
        for name, value in self.letters(x).items():
            low, high = self.ranges[name]
            ends = typical[name] or (-WIDE, WIDE)
            found[name] = min(high - low, max(float(ends[-1]) - float(ends[0]), abs(value)))
        return found

    def theorem(self, x: Any) -> Array:
        """The theorem at all points."""
        return np.concatenate([curve.values(self.letters(x)) for curve in self.curves])

    def residuals(self, x: Any) -> Array:
        """Theorem minus measured in standard errors; infinite where the letters together describe nothing."""
        try:
            return (self.theorem(x) - self.measured) / self.sigmas
        except (OutOfDomain, NotConverged):
            return np.full(len(self.measured), np.inf)

    def jacobian(self, x: Any) -> Array:
        """Derivatives of the residuals, a column for each letter."""
        parts = [curve.gradient(self.letters(x)) for curve in self.curves]
        self.is_exact = all(part is not None for part in parts)
        if self.is_exact:
            return np.concatenate([part for part in parts if part is not None], axis=1).T / self.sigmas[:, None]
        return self._differences(x)

    def _differences(self, x: Any) -> Array:
        """Central differences; towards the inside where an end of the domain is nearer than the step."""
        points = [p for curve in self.curves for p in curve.points(self.letters(x))]
        self.step = step_of(self.entry, points)
        columns = []
        for k, name in enumerate(self.names):
            low, high = self.ranges[name]
            width = self.step * max(abs(x[k]), min(1.0, high - low))
            sides = []
            for place in (min(max(x[k] + sign * width, low), high) for sign in (-1, 1)):
                found = self._moved(x, k, place)
                # nothing on this side: the place itself takes its part
                sides.append((place, found) if found is not None else (x[k], self._moved(x, k, x[k])))
            (before, first), (after, last) = sides
            if first is None or last is None or before == after:
                raise NotConverged(f"{self.entry.id}: no derivative in {name} could be found near {name}={x[k]:.6g}")
            columns.append((last - first) / (after - before) / self.sigmas)
        return np.array(columns).T

    def _moved(self, x: Any, k: int, value: float) -> Array | None:
        try:
            return self.theorem([*x[:k], value, *x[k + 1 :]])
        except (OutOfDomain, NotConverged):
            return None

    def weigh(self, x: Any) -> tuple[list[Beside], float]:
        """Data beside the theorem, and the largest part of the data's errors that the theorem's own make."""
        sets = []
        for curve, measured in zip(self.curves, self.sets, strict=True):
            values, errors = curve.predicted(self.letters(x), measured.errors)
            sets.append(Beside(measured, values, errors))
        own = max(float(np.max(one.theorem_errors / one.measured.errors)) for one in sets)
        return sets, own


def given_start(problem: Problem, start: Mapping[str, Any]) -> Array:
    """The user's start, inside all ranges."""
    if set(start) != set(problem.names):
        raise BadRequest(f"{problem.entry.id}: a start names each free letter: {', '.join(problem.names)}")
    try:
        x = np.array([as_float(read_number(start[name])) for name in problem.names])
    except NotANumber as reason:
        raise BadRequest(f"{problem.entry.id}: a value of the start {reason}") from None
    for name, value in problem.letters(x).items():
        low, high = problem.ranges[name]
        if not low <= value <= high:
            raise BadRequest(f"{problem.entry.id}: the start {name}={value:g} is outside [{low:g}, {high:g}]")
    # no iterate stands on an end, which the domain may leave out
    x = np.array([_inside(value, *problem.ranges[name]) for name, value in problem.letters(x).items()])
    # an error here names what is wrong with the point
    problem.theorem(x)
    return x


def _inside(value: float, low: float, high: float) -> float:
    width = min(high - low, 1.0)
    return min(max(value, low + 1e-6 * width), high - 1e-6 * width)


def scanned(problem: Problem) -> list[Array]:
    """The best places of a grid over the ranges; several, because chi squared may have several valleys."""
    axes = [_axis(problem, name) for name in problem.names]
    places = list(itertools.product(*axes))
    if len(places) > MOST_PLACES:
        # a fixed share of the grid, spread by steps that share no factor with its size
        stride = next(s for s in range(int(0.618 * len(places)), len(places)) if math.gcd(s, len(places)) == 1)
        places = [places[i * stride % len(places)] for i in range(MOST_PLACES)]
    costs = [float(np.sum(problem.residuals(place) ** 2)) for place in places]
    order = [i for i in np.argsort(costs, kind="stable") if math.isfinite(costs[i])]
    if not order:
        # an error here names what is wrong
        problem.theorem(places[len(places) // 2])
        raise NotConverged(f"{problem.entry.id}: the theorem has no value anywhere on a scan; give a start")
    return [np.array(places[i]) for i in order[:DESCENTS]]


def _axis(problem: Problem, name: str) -> list[float]:
    letter = next(x for x in problem.entry.given if x.name == name)
    low, high = problem.ranges[name]
    if letter.typical is not None and len(letter.typical) == 2:
        first, last = (min(max(float(end), low), high) for end in letter.typical)
    else:
        first, last = max(low, -WIDE), min(high, WIDE)
    if not first < last:
        first, last = (low, min(high, low + WIDE)) if math.isfinite(low) else (high - WIDE, high)
    if first > 0 and last / first > 20:
        return [_inside(v, low, high) for v in np.geomspace(first, last, SCAN)]
    inner = (np.arange(SCAN) + 0.5) / SCAN
    return [float(first + (last - first) * t) for t in inner]


def descents(problem: Problem, places: Sequence[Any]) -> list[Any]:
    """Minima of chi squared reached from these places, the best first."""
    from scipy.optimize import least_squares

    ends = tuple(np.array([problem.ranges[name][side] for name in problem.names]) for side in (0, 1))
    found = []
    for place in places:
        jacobian = _checked(problem)
        try:
            # letters may differ in size by many powers of ten
            with np.errstate(all="ignore"):
                found.append(
                    least_squares(
                        problem.residuals, place, jac=jacobian, bounds=ends, x_scale="jac", max_nfev=200,
                        xtol=1e-12, ftol=1e-12, gtol=1e-12,
                    )
                )  # fmt: skip
        except (ValueError, NotConverged, np.linalg.LinAlgError):
            # a descent that leaves the feasible letters, or a place without derivatives
            continue
    if not found:
        raise NotConverged(f"{problem.entry.id}: no descent arrived at a minimum of chi^2; give a start nearer to it")
    return sorted(found, key=lambda result: float(result.cost))


def _checked(problem: Problem) -> Callable[[Any], Any]:
    def jacobian(x: Any) -> Any:
        found = problem.jacobian(list(x))
        if not np.all(np.isfinite(found)):
            raise NotConverged("a derivative is not finite")
        return found

    return jacobian
