"""Letters fitted to data: bounded least squares, uncertainties, and whether the theorem fits at all."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theorem_engine.asking.citation import remember
from theorem_engine.base.errors import BadRequest, NotConverged, OutOfDomain
from theorem_engine.base.exact import NotANumber, as_float, read_number, to_text
from theorem_engine.base.text import error_text, jsonable, value_text
from theorem_engine.language.catalogue import find_entry
from theorem_engine.language.domains import WIDE, Interval
from theorem_engine.language.entry import Entry
from theorem_engine.sweeping.comparison import Beside, Comparison, read_fixed
from theorem_engine.sweeping.curve import Curve, step_of
from theorem_engine.sweeping.data import Measured, read_data
from theorem_engine.sweeping.determined import check_determined

Array = NDArray[np.float64]
#: Places looked at before the descent: along one letter, and for several letters in all.
SCAN, MOST_PLACES = 9, 60
#: Descents, from the best of those places.
DESCENTS = 3
#: Two minima differ if a letter differs by so many standard errors and chi squared by less than this.
APART, CLOSE = 3.0, 4.0
#: A theorem whose own errors are above this part of those of the data is weighted by both, in a few rounds.
NOTICED, ROUNDS = 1e-3, 3


@dataclass(frozen=True, eq=False)
class Fit:
    """Letters that bring a theorem closest to data, with standard errors. ``comparison`` has the points."""

    entry: Entry
    values: Mapping[str, float]
    #: Standard errors from the curvature of chi squared at its minimum; the errors of the data are taken as they are.
    errors: Mapping[str, float]
    correlations: Array
    comparison: Comparison
    #: How the gradient was found.
    gradient: str
    notes: tuple[str, ...] = ()

    @property
    def chi2(self) -> float:
        """Sum of the squared residuals at the minimum."""
        return self.comparison.chi2

    @property
    def degrees_of_freedom(self) -> int:
        """Points less letters."""
        return self.comparison.degrees_of_freedom

    @property
    def p_value(self) -> float | None:
        """Probability of a chi squared at least as large, if theorem and errors are right."""
        return self.comparison.p_value

    @property
    def fits(self) -> bool | None:
        """Whether the theorem fits the data; None if these cannot tell."""
        return self.comparison.fits

    def lines(self) -> list[str]:
        """Letters with errors, correlations, goodness of fit."""
        names = list(self.values)
        lines = [f"{name} = {value_text(v, self.errors[name] / 30, None)} +- {self.errors[name]:.2g}" for name, v in self.values.items()]
        pairs = itertools.combinations(range(len(names)), 2)
        lines += [f"correlation of {names[i]} and {names[j]}: {self.correlations[i, j]:.2f}" for i, j in pairs]
        return [*lines, self.comparison.summary(), self.comparison.verdict(), *self.notes, f"gradient: {self.gradient}"]

    def __str__(self) -> str:
        at = ", ".join(f"{k}={to_text(v)}" for k, v in self.comparison.fixed.items() if k not in self.values)
        head = f"{self.entry.id}{' at ' + at if at else ''}: fitted to {len(self.comparison.residuals)} points"
        return "\n".join([head, *("  " + line for line in self.lines())])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        items = "".join(f"<li>{escape(line)}</li>" for line in self.lines())
        return f"<p>{escape(self.entry.id)}</p><ul>{items}</ul>{self.comparison.table_html()}"

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            **self.comparison.to_json(),
            "values": jsonable(dict(self.values), None),
            "errors": jsonable(dict(self.errors), None),
            "correlations": jsonable(self.correlations, None),
            "gradient": self.gradient,
            "notes": list(self.notes),
        }

    def plot(self) -> Any:
        """A picture of the points, the fitted theorem and the residuals."""
        return self.comparison.plot()


def fit(
    id: str,
    data: Any,
    *,
    free: Sequence[str] | str,
    output: str | None = None,
    start: Mapping[str, Any] | None = None,
    bounds: Mapping[str, tuple[Any, Any]] | None = None,
    ignore: Sequence[str] = (),
    **parameters: Any,
) -> Fit:
    """The letters of an entry that fit data best, by least squares within their domains.

    ``data`` is as for ``compare``. Without a ``start`` the domains (or ``bounds``) are scanned first. Standard errors
    of the data are taken as they are and not rescaled. A letter that the data cannot determine is refused.

    >>> data = {"L": [2, 4, 8], "risk": [0.52, 0.74, 0.9], "risk_error": 0.02}
    >>> found = fit("marion2025.linear-risk", data, free="gamma")
    >>> round(found.values["gamma"], 3), round(found.errors["gamma"], 3)
    (1.011, 0.008)
    """
    entry = find_entry(id)
    names = _free_names(entry, free)
    sets = read_data(entry, data, output, ignore)
    fixed = read_fixed(entry, sets, parameters, names)
    ranges = _ranges(entry, names, bounds or {})
    problem = _Problem(entry, sets, fixed, names, ranges)
    problem.check_count()
    remember(entry)
    return _solved(problem, start or {})


def _free_names(entry: Entry, free: Sequence[str] | str) -> tuple[str, ...]:
    names = (free,) if isinstance(free, str) else tuple(free)
    if not names or len(set(names)) != len(names):
        raise BadRequest(f"{entry.id}: free={free!r} names no letter, or one twice; it lists the letters to be fitted")
    letters = {letter.name: letter for letter in entry.given}
    for name in names:
        if name in letters and not isinstance(letters[name].domain, Interval):
            raise BadRequest(
                f"{entry.id}: {name} is in {letters[name].domain.describe()}; only a letter in an interval of real "
                "numbers can be fitted"
            )
    return names


def _ranges(entry: Entry, names: Sequence[str], bounds: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """Ends of each letter: those of its domain, narrowed by what the user gives."""
    for name in bounds:
        if name not in names:
            raise BadRequest(f"{entry.id}: bounds are given for {str(name)[:40]!r}, which is not left free")
    found = {}
    for letter in entry.given:
        if letter.name not in names:
            continue
        low, high = float(letter.domain.low), float(letter.domain.high)  # type: ignore[attr-defined]
        if letter.name in bounds:
            try:
                first, last = (as_float(read_number(end)) for end in bounds[letter.name])
            except (NotANumber, TypeError, ValueError):
                raise BadRequest(f"{entry.id}: the bounds of {letter.name} are two numbers") from None
            low, high = max(low, first), min(high, last)
        if not low < high:
            raise BadRequest(f"{entry.id}: no value of {letter.name} is within its domain and the bounds")
        found[letter.name] = (low, high)
    # read_fixed answers for names that are no letters
    return {name: found.get(name, (-math.inf, math.inf)) for name in names}


class _Problem:
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
            raise BadRequest(f"{self.entry.id}: {count} cannot determine {len(self.names)} letters, {self._listed()}")

    def _listed(self) -> str:
        return ", ".join(self.names)

    def letters(self, x: Sequence[float]) -> dict[str, float]:
        """Values by name."""
        return {name: float(value) for name, value in zip(self.names, x, strict=True)}

    def theorem(self, x: Sequence[float]) -> Array:
        """The theorem at all points."""
        return np.concatenate([curve.values(self.letters(x)) for curve in self.curves])

    def residuals(self, x: Sequence[float]) -> Array:
        """Theorem minus measured in standard errors; infinite where the letters together describe nothing."""
        try:
            return (self.theorem(x) - self.measured) / self.sigmas
        except (OutOfDomain, NotConverged):
            return np.full(len(self.measured), np.inf)

    def jacobian(self, x: Sequence[float]) -> Array:
        """Derivatives of the residuals, a column for each letter."""
        if self.is_exact:
            parts = [curve.gradient(self.letters(x)) for curve in self.curves]
            if all(part is not None for part in parts):
                return np.concatenate([part for part in parts if part is not None], axis=1).T / self.sigmas[:, None]
        return self._differences(x)

    def _differences(self, x: Sequence[float]) -> Array:
        """Central differences; towards the inside where an end of the domain is nearer than the step."""
        self.is_exact = False
        points = [p for curve in self.curves for p in curve.points(self.letters(x))]
        self.step = step_of(self.entry, points)
        columns = []
        for k, name in enumerate(self.names):
            low, high = self.ranges[name]
            width = self.step * max(abs(x[k]), min(1.0, high - low))
            ends = [min(max(x[k] + sign * width, low), high) for sign in (-1, 1)]
            both = [self._moved(x, k, end) for end in ends]
            if any(side is None for side in both):
                # nothing on one side: the place itself takes its part
                centre = self._moved(x, k, x[k])
                both, ends = zip(
                    *((centre, x[k]) if side is None else (side, end) for side, end in zip(both, ends, strict=True)),
                    strict=True,
                )
            if both[0] is None or both[1] is None or ends[0] == ends[1]:
                raise NotConverged(f"{self.entry.id}: no derivative in {name} could be found near {name}={x[k]:.6g}")
            columns.append((both[1] - both[0]) / (ends[1] - ends[0]) / self.sigmas)
        return np.array(columns).T

    def _moved(self, x: Sequence[float], k: int, value: float) -> Array | None:
        try:
            return self.theorem([*x[:k], value, *x[k + 1 :]])
        except (OutOfDomain, NotConverged):
            return None

    def weigh(self, x: Sequence[float]) -> tuple[list[Beside], float]:
        """Data beside the theorem, and the largest part of the data's errors that the theorem's own make."""
        sets = []
        for curve, measured in zip(self.curves, self.sets, strict=True):
            values, errors = curve.predicted(self.letters(x), measured.errors)
            sets.append(Beside(measured, values, errors))
        own = max(float(np.max(one.theorem_errors / one.measured.errors)) for one in sets)
        return sets, own


def _solved(problem: _Problem, start: Mapping[str, Any]) -> Fit:
    from_place: Sequence[Any] = [_given_start(problem, start)] if start else _scanned(problem)
    minima = _descents(problem, from_place)
    best = minima[0]
    sets, own = problem.weigh(best.x)
    for _ in range(ROUNDS if own > NOTICED else 0):
        # the theorem's own errors belong to the weights, and hang on where the minimum is
        problem.sigmas = np.concatenate([one.sigmas for one in sets])
        best = _descents(problem, [best.x])[0]
        sets, _ = problem.weigh(best.x)
    letters = problem.letters(best.x)
    jacobian = problem.jacobian(best.x)
    check_determined(problem.entry.id, problem.names, jacobian, problem.ranges)
    covariance = np.linalg.inv(jacobian.T @ jacobian)
    sigmas = np.sqrt(np.diag(covariance))
    comparison = Comparison(problem.entry, {**problem.fixed, **letters}, tuple(sets), len(problem.names))
    gradient = "exact" if problem.is_exact else f"central differences, relative step {problem.step:.0e}"
    return Fit(
        problem.entry, letters, problem.letters(sigmas), covariance / np.outer(sigmas, sigmas), comparison, gradient,
        _notes(problem, best, minima, sigmas),
    )  # fmt: skip


def _notes(problem: _Problem, best: Any, minima: Sequence[Any], sigmas: Array) -> tuple[str, ...]:
    """What a reader of the numbers has to know besides."""
    notes = []
    for k, name in enumerate(problem.names):
        for end in problem.ranges[name]:
            if math.isfinite(end) and abs(best.x[k] - end) <= sigmas[k]:
                notes.append(
                    f"{name} is within a standard error of {end:g}, an end of its range: its error is not symmetric."
                )
    for other in minima[1:]:
        is_apart = np.any(np.abs(other.x - best.x) > APART * sigmas)
        if is_apart and 2 * (other.cost - best.cost) < CLOSE:
            place = ", ".join(f"{n}={v:.4g}" for n, v in problem.letters(other.x).items())
            notes.append(f"Another minimum is nearly as good: {place} (chi^2 = {2 * other.cost:.4g}).")
            break
    return tuple(notes)


def _given_start(problem: _Problem, start: Mapping[str, Any]) -> Array:
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


def _scanned(problem: _Problem) -> list[Array]:
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


def _axis(problem: _Problem, name: str) -> list[float]:
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


def _descents(problem: _Problem, places: Sequence[Any]) -> list[Any]:
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
                        problem.residuals, place, jac=jacobian, bounds=ends, x_scale="jac", xtol=1e-12, ftol=1e-12, gtol=1e-12,
                        max_nfev=200,
                    )
                )  # fmt: skip
        except (ValueError, NotConverged, np.linalg.LinAlgError):
            # a descent that leaves the feasible letters, or a place without derivatives
            continue
    if not found:
        raise NotConverged(f"{problem.entry.id}: no descent arrived at a minimum of chi^2; give a start nearer to it")
    return sorted(found, key=lambda result: float(result.cost))


def _checked(problem: _Problem) -> Callable[[Any], Any]:
    def jacobian(x: Any) -> Any:
        found = problem.jacobian(list(x))
        if not np.all(np.isfinite(found)):
            raise NotConverged("a derivative is not finite")
        return found

    return jacobian


__all__ = ["Fit", "error_text", "fit"]
