"""Measured points beside a theorem: residuals in standard errors, chi squared, and how likely it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theorem_engine.asking.citation import remember
from theorem_engine.asking.point import check_names, read_letter
from theorem_engine.base.errors import BadRequest, UnknownParameter, nearest
from theorem_engine.base.exact import to_text
from theorem_engine.base.text import jsonable
from theorem_engine.language.catalogue import find_entry
from theorem_engine.language.entry import Entry
from theorem_engine.sweeping.data import Measured, read_data
from theorem_engine.sweeping.free_letters import Curve

Array = NDArray[np.float64]
#: Below this probability of a larger chi squared a theorem is said not to fit; above one minus a tenth of it, the
#: errors of the data are said to look too large.
LEVEL = 0.01
#: Points that a text shows; those farthest from the theorem are chosen.
SHOWN = 10


@dataclass(frozen=True, eq=False)
class Beside:
    """One data set and the theorem at its points."""

    measured: Measured
    theorem: Array
    #: Standard error of the theorem's own values.
    theorem_errors: Array

    @property
    def sigmas(self) -> Array:
        """Standard errors of the differences: those of the data and of the theorem, taken as independent."""
        return np.hypot(self.measured.errors, self.theorem_errors)

    @property
    def residuals(self) -> Array:
        """Measured minus theorem, in standard errors."""
        return (self.measured.values - self.theorem) / self.sigmas


@dataclass(frozen=True, eq=False)
class Comparison:
    """Data beside a theorem. ``values`` and ``errors`` are the theorem's, in the order of the points."""

    entry: Entry
    fixed: Mapping[str, Any]
    sets: tuple[Beside, ...]
    #: Letters that were fitted to the data; each costs a degree of freedom.
    fitted: int = 0

    @property
    def values(self) -> Array:
        """The theorem at all points, one data set after the other."""
        return np.concatenate([one.theorem for one in self.sets])

    @property
    def errors(self) -> Array:
        """Standard errors of the theorem's values."""
        return np.concatenate([one.theorem_errors for one in self.sets])

    @property
    def residuals(self) -> Array:
        """Measured minus theorem at all points, in standard errors."""
        return np.concatenate([one.residuals for one in self.sets])

    @property
    def chi2(self) -> float:
        """Sum of the squared residuals."""
        return float(np.sum(self.residuals**2))

    @property
    def degrees_of_freedom(self) -> int:
        """Points less letters fitted."""
        return len(self.residuals) - self.fitted

    @property
    def p_value(self) -> float | None:
        """Probability of a chi squared at least as large, if theorem and errors are right; None without freedom."""
        from scipy.special import chdtrc

        return float(chdtrc(self.degrees_of_freedom, self.chi2)) if self.degrees_of_freedom > 0 else None

    @property
    def fits(self) -> bool | None:
        """Whether the theorem fits the data; None if these cannot tell."""
        return None if self.p_value is None else self.p_value >= LEVEL

    def verdict(self) -> str:
        """What the numbers say, in a sentence."""
        if self.p_value is None:
            return "As many letters as points: the data cannot tell whether the theorem fits."
        odds = f"a larger chi^2 has probability {self.p_value:.2g}"
        if not self.fits:
            return f"The theorem does not fit the data: {odds} if theorem and errors are right."
        if self.p_value > 1 - LEVEL / 10:
            return f"The theorem fits the data closer than their errors allow ({odds}): these look too large."
        return f"The theorem fits the data: {odds}."

    def summary(self) -> str:
        """Chi squared and the degrees of freedom."""
        return f"chi^2 = {self.chi2:.4g}, {self.degrees_of_freedom} degrees of freedom"

    def rows(self) -> list[dict[str, Any]]:
        """Every point as plain data."""
        return [
            {
                "set": one.measured.name,
                **{name: to_text(value) for name, value in one.measured.points[i].items()},
                "output": one.measured.output,
                "measured": float(one.measured.values[i]),
                "error": float(one.measured.errors[i]),
                "theorem": float(one.theorem[i]),
                "theorem_error": float(one.theorem_errors[i]),
                "residual": float(one.residuals[i]),
            }
            for one in self.sets
            for i in range(len(one.theorem))
        ]

    def worst_rows(self) -> list[dict[str, Any]]:
        """Of many points those farthest from the theorem, in the order of the data."""
        rows = self.rows()
        chosen = np.sort(np.argsort(-np.abs(self.residuals), kind="stable")[:SHOWN])
        return [rows[i] for i in chosen]

    def __str__(self) -> str:
        at = ", ".join(f"{k}={to_text(v)}" for k, v in self.fixed.items())
        lines = [f"{self.entry.id}{' at ' + at if at else ''}: {_counted(self.sets)}", *self.table_lines()]
        return "\n".join([*lines, self.summary(), self.verdict()])

    __repr__ = __str__

    def table_lines(self) -> list[str]:
        """The points as lines of text."""
        rows = self.worst_rows()
        headings, cells = _cells(rows, len(self.sets) > 1)
        widths = [max(len(row[k]) for row in (headings, *cells)) for k in range(len(headings))]
        lines = ["  " + "  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)) for row in (headings, *cells)]
        if len(rows) < len(self.residuals):
            lines.append(f"  (the {len(rows)} of {len(self.residuals)} points that are farthest from the theorem)")
        return lines

    def table_html(self) -> str:
        """The points as a table."""
        headings, cells = _cells(self.worst_rows(), len(self.sets) > 1)
        head = "".join(f"<th>{escape(h)}</th>" for h in headings)
        body = "".join("<tr>" + "".join(f"<td>{escape(c)}</td>" for c in row) + "</tr>" for row in cells)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.entry.id)}</p>{self.table_html()}<p>{self.summary()}. {escape(self.verdict())}</p>"

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "entry": self.entry.id,
            "fixed": {name: to_text(value) for name, value in self.fixed.items()},
            "chi2": self.chi2,
            "degrees_of_freedom": self.degrees_of_freedom,
            "p_value": self.p_value,
            "fits": self.fits,
            "verdict": self.verdict(),
            "points": jsonable(self.rows(), None),
        }

    def plot(self) -> Any:
        """A picture of the points, the theorem and the residuals; ``save`` writes it."""
        from theorem_engine.sweeping.pictures import draw_comparison

        return draw_comparison(self)


def _counted(sets: Sequence[Beside]) -> str:
    count = sum(len(one.theorem) for one in sets)
    points = "1 point" if count == 1 else f"{count} points"
    return f"{points} of {' and '.join(dict.fromkeys(one.measured.output for one in sets))}" + (
        f" in {len(sets)} data sets" if len(sets) > 1 else ""
    )


def _cells(rows: Sequence[Mapping[str, Any]], with_set: bool) -> tuple[list[str], list[list[str]]]:
    numbers = ("measured", "error", "theorem", "residual")
    letters = list(
        dict.fromkeys(k for row in rows for k in row if k not in (*numbers, "set", "output", "theorem_error"))
    )
    names = [*(["set"] if with_set else []), *letters]
    cells = [[*(_short(str(row.get(k, ""))) for k in names), *(f"{row[k]:.4g}" for k in numbers)] for row in rows]
    return [*names, *numbers], cells


def _short(text: str) -> str:
    """A letter's value in a table; the data themselves have all digits."""
    try:
        return text if len(text) <= 10 else f"{float(text):.5g}"
    except ValueError:
        return text


def compare(
    id: str, data: Any, *, output: str | None = None, ignore: Sequence[str] = (), **parameters: Any
) -> Comparison:
    """Measured points beside an entry; letters without a column are given as parameters.

    ``data`` is a mapping of columns, an ``xarray.Dataset`` or the path of a CSV, or several of them: a column for each
    letter that varies, one named as the output, and one ``<output>_error`` with standard errors.

    >>> data = {"L": [2, 4, 8], "risk": [0.52, 0.74, 0.9], "risk_error": 0.02}
    >>> round(compare("marion2025.linear-risk", data, gamma=1).chi2, 6)
    2.8125
    """
    entry = find_entry(id)
    sets = read_data(entry, data, output, ignore)
    fixed = read_fixed(entry, sets, parameters)
    remember(entry)
    found = []
    for measured in sets:
        values, errors = Curve(entry, measured, fixed).predicted({}, measured.errors)
        found.append(Beside(measured, values, errors))
    return Comparison(entry, fixed, tuple(found))


def read_fixed(
    entry: Entry, sets: Sequence[Measured], parameters: Mapping[str, Any], free: Sequence[str] = ()
) -> dict[str, Any]:
    """Parameters in exact form; each letter has one source: a column, a parameter, or the fit."""
    letters = {letter.name: letter for letter in entry.given}
    for name in (*parameters, *free):
        if name not in letters:
            raise UnknownParameter(
                f"{entry.id} has no parameter {str(name)[:60]!r}{nearest(str(name)[:60], letters, 1)}. It takes "
                f"{', '.join(letters)}."
            )
    for measured in sets:
        for name in measured.letters:
            if name in parameters or name in free:
                other = "left free" if name in free else "given as a parameter"
                raise BadRequest(f"{entry.id}, {measured.name}: {name} has a column and is also {other}")
        check_names(entry, {**parameters, **dict.fromkeys((*measured.letters, *free))})
    for name in free:
        if name in parameters:
            raise BadRequest(f"{entry.id}: {name} is left free and also given as a parameter")
    return {name: read_letter(entry, letters[name], value) for name, value in parameters.items()}
