"""Letters fitted to data: bounded least squares, uncertainties, and whether the theorem fits at all."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theorem_engine.asking.citation import remember
from theorem_engine.base.errors import BadRequest
from theorem_engine.base.exact import NotANumber, as_float, read_number, to_text
from theorem_engine.base.text import jsonable, value_text
from theorem_engine.language.catalogue import find_entry
from theorem_engine.language.domains import Interval
from theorem_engine.language.entry import Entry
from theorem_engine.sweeping.comparison import Comparison, read_fixed
from theorem_engine.sweeping.data import read_data
from theorem_engine.sweeping.determined import check_determined
from theorem_engine.sweeping.least_squares import Problem, descents, given_start, scanned

Array = NDArray[np.float64]
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
        lines = [
            f"{name} = {value_text(v, self.errors[name] / 30, None)} +- {self.errors[name]:.2g}"
            for name, v in self.values.items()
        ]
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
    (1.01, 0.01)
    """
    entry = find_entry(id)
    names = _free_names(entry, free)
    sets = read_data(entry, data, output, ignore)
    fixed = read_fixed(entry, sets, parameters, names)
    ranges = _ranges(entry, names, bounds or {})
    problem = Problem(entry, sets, fixed, names, ranges)
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


def _solved(problem: Problem, start: Mapping[str, Any]) -> Fit:
    from_place: Sequence[Any] = [given_start(problem, start)] if start else scanned(problem)
    minima = descents(problem, from_place)
    best = minima[0]
    sets, own = problem.weigh(best.x)
    for _ in range(ROUNDS if own > NOTICED else 0):
        # the theorem's own errors belong to the weights, and hang on where the minimum is
        problem.sigmas = np.concatenate([one.sigmas for one in sets])
        best = descents(problem, [best.x])[0]
        sets, _ = problem.weigh(best.x)
    letters = problem.letters(best.x)
    jacobian = problem.jacobian(best.x)
    check_determined(problem.entry.id, problem.names, jacobian, problem.widths(best.x))
    covariance = np.linalg.inv(jacobian.T @ jacobian)
    sigmas = np.sqrt(np.diag(covariance))
    comparison = Comparison(problem.entry, {**problem.fixed, **letters}, tuple(sets), len(problem.names))
    gradient = "exact" if problem.is_exact else f"central differences, relative step {problem.step:.0e}"
    return Fit(
        problem.entry, letters, problem.letters(sigmas), covariance / np.outer(sigmas, sigmas), comparison, gradient,
        _notes(problem, best, minima, sigmas),
    )  # fmt: skip


def _notes(problem: Problem, best: Any, minima: Sequence[Any], sigmas: Array) -> tuple[str, ...]:
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
