"""Predictions as a labelled data set, with where they come from."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Protocol

from theorem_engine.base.exact import Constant, Root, as_float, to_text
from theorem_engine.base.version import __version__
from theorem_engine.language.domains import Structured
from theorem_engine.language.entry import Entry
from theorem_engine.language.letters import ABSENT
from theorem_engine.language.statement import leaves


class Rows(Protocol):
    """Results by point number."""

    entry: Entry
    digits: int | None
    accuracy: bool | str
    outputs: dict[int, Mapping[str, Any]]
    errors: dict[int, Mapping[str, Any]]
    status: dict[int, str]
    kinds: set[str]
    level: float | None


class Table(Protocol):
    """Results as arrays over all points."""

    shape: tuple[int, ...]
    values: dict[str, Any]
    errors: dict[str, Any]
    truths: set[str]
    status: dict[tuple[int, ...], str]


def variables(rows: Rows, axes: Mapping[str, list[Any]], together: str | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Data variables and coordinates: one variable per output and one of its errors, one dimension per swept letter.

    ``together`` names the axis, if there is one, whose values are points of several letters.
    """
    import numpy as np

    shape = tuple(len(values) for values in axes.values())
    dims = tuple(axes)
    count = math.prod(shape)
    found: dict[str, Any] = {}
    for name, meaning in rows.entry.outputs.items():
        if name in axes:
            # an output that tells the value of a letter; where the letter is swept it is a coordinate already
            continue
        cells = [rows.outputs.get(i, {}).get(name) for i in range(count)]
        if meaning.optional and all(c is None for c in cells):
            continue
        made = _variables_of(name, meaning.meaning, cells, dims, shape)
        found.update(made)
        if rows.digits is not None and all(_is_number(c) for c in cells if c is not None):
            from mpmath import nstr

            text = ["" if c is None else nstr(c, rows.digits, strip_zeros=False) for c in cells]
            found[f"{name}_text"] = (dims, np.array(text, dtype=object).reshape(shape))
        if rows.accuracy:
            errors = [rows.errors.get(i, {}).get(name) for i in range(count)]
            found.update(_errors_of(rows, made, _variables_of(name, "", _filled(rows, cells, errors), dims, shape)))
    if rows.status:
        found["status"] = (dims, np.array([rows.status.get(i, "") for i in range(count)]).reshape(shape))
    return found, _coordinates(rows.entry, axes, together)


def table_variables(
    entry: Entry, table: Table, axes: Mapping[str, list[Any]], together: str | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The same of results that are arrays already."""
    import numpy as np

    dims = tuple(axes)
    found: dict[str, Any] = {}
    for name, meaning in entry.outputs.items():
        if name in axes or (name not in table.values and meaning.optional):
            continue
        values = table.values.get(name)
        if values is None:
            values = np.full(table.shape, np.nan)
        if name in table.truths and not table.status and not np.isnan(values).any():
            values = values.astype(bool)
        found[name] = (dims, values, {"description": meaning.meaning})
        if name in table.errors:
            about = {"description": f"absolute error of {name}", "error_kind": "estimated"}
            errors = table.errors[name]
            if table.status:
                # what is there without a known error has an unknown one
                errors = np.where(np.isnan(values), np.nan, np.where(np.isnan(errors), np.inf, errors))
            found[f"{name}_error"] = (dims, errors, about)
    if table.status:
        reasons = np.full(table.shape, "", dtype=object)
        for place, reason in table.status.items():
            reasons[place] = reason
        found["status"] = (dims, reasons)
    return found, _coordinates(entry, axes, together)


def _coordinates(entry: Entry, axes: Mapping[str, list[Any]], together: str | None) -> dict[str, Any]:
    """Labels of every axis: the values of its letter, or numbers of its points and what each starts with."""
    import numpy as np

    coordinates: dict[str, Any] = {}
    if together is not None:
        points = axes[together]
        coordinates[together] = (together, np.arange(len(points)))
        for name in points[0]:
            coordinates[f"start_{name}"] = (together, _coordinate([row[name] for row in points]))
    for letter in entry.given:
        if letter.name in axes:
            coordinates[letter.name] = (letter.name, _coordinate(axes[letter.name]), {"description": letter.meaning})
    return coordinates


def _variables_of(name: str, meaning: str, cells: list[Any], dims: Any, shape: Any) -> dict[str, Any]:
    """One output as variables: a number, a word or truth value, a log, or several numbers."""
    import numpy as np

    there = [c for c in cells if c is not None]
    if any(isinstance(c, Mapping) and all(np.ndim(v) == 1 for v in c.values()) for c in there):
        return _logs(name, cells, dims, shape)
    if all(_is_number(c) for c in there):
        values = np.array([np.nan if c is None else float(c) for c in cells]).reshape(shape)
        return {name: (dims, values, {"description": meaning})}
    if all(isinstance(c, bool) for c in there):
        # a gap among truth values makes them numbers, which have one
        kind: Any = bool if len(there) == len(cells) else float
        return {name: (dims, np.array(cells, dtype=kind).reshape(shape), {"description": meaning})}
    if all(isinstance(c, (bool, str)) for c in there):
        words = ["" if c is None else str(c) for c in cells]
        return {name: (dims, np.array(words, dtype=object).reshape(shape), {"description": meaning})}
    return _parts(name, meaning, cells, dims, shape)


def _filled(rows: Rows, cells: list[Any], errors: list[Any]) -> list[Any]:
    """Errors point by point; after a look at some points only, those of numbers are the largest seen elsewhere."""
    if rows.accuracy != "coarse":
        return errors
    seen = [e for e in errors if _is_number(e)]
    if not seen:
        return errors
    return [max(seen) if e is None and _is_number(c) else e for c, e in zip(cells, errors, strict=True)]


def _errors_of(rows: Rows, made: Mapping[str, Any], errors: Mapping[str, Any]) -> dict[str, Any]:
    """Variables of errors beside those of an output, in the same shape; words and truth values have none."""
    import numpy as np

    about = {"error_kind": ", ".join(sorted(rows.kinds)), **({"error_level": rows.level} if rows.level else {})}
    found = {}
    for name, (dims, values, *_) in made.items():
        if name not in errors or values.dtype.kind != "f" or isinstance(dims, str):
            continue
        own = errors[name][1]
        if own.dtype.kind != "f" or own.ndim != values.ndim or (own.shape != values.shape and own.size):
            own = np.full(values.shape, np.inf)
        # what is there without a known error has an unknown one
        table = np.where(np.isnan(values), np.nan, np.where(np.isnan(own), np.inf, own)) if own.size else own
        found[f"{name}_error"] = (dims, table, {"description": f"absolute error of {name}", **about})
    return found


def _is_number(cell: Any) -> bool:
    return (isinstance(cell, (int, float)) and not isinstance(cell, bool)) or hasattr(cell, "_mpf_")


def _parts(name: str, meaning: str, cells: list[Any], dims: Any, shape: Any) -> dict[str, Any]:
    """Outputs with several numbers: one more dimension, named after the output, if all have the same length."""
    import numpy as np

    numbers = [None if c is None else [x for x in leaves(c) if _is_number(x)] for c in cells]
    length = max((len(n) for n in numbers if n is not None), default=0)
    table = np.full((len(cells), length), np.nan)
    for i, row in enumerate(numbers):
        if row is not None:
            table[i, : len(row)] = [float(x) for x in row]
    return {name: ((*dims, f"{name}_part"), table.reshape(*shape, length), {"description": meaning})}


def _logs(name: str, cells: list[Any], dims: Any, shape: Any) -> dict[str, Any]:
    """Columns of a trajectory: one more dimension, the log; all points must have been logged at the same moments."""
    import numpy as np

    first = next(c for c in cells if c is not None)
    clock, *columns = first
    length = len(first[clock])
    found: dict[str, Any] = {f"{name}_{clock}": (f"{name}_{clock}", np.asarray(first[clock], dtype=float))}
    for column in columns:
        table = np.full((len(cells), length), np.nan)
        for i, cell in enumerate(cells):
            if cell is not None:
                table[i, : len(cell[column])] = cell[column]
        found[f"{name}_{column}"] = ((*dims, f"{name}_{clock}"), table.reshape(*shape, length))
    return found


def _coordinate(values: Sequence[Any]) -> Any:
    """Numbers wherever all values are numbers, whole ones as such; else text."""
    single, kinds = values, {type(v) for v in values}
    if any(issubclass(kind, Structured) for kind in kinds):
        single = [v.single() if isinstance(v, Structured) else v for v in values]
        kinds = {type(v) for v in single}
    if kinds == {bool}:
        return single
    if bool not in kinds and all(issubclass(kind, (int, Fraction, float, Root, Constant)) for kind in kinds):
        if all(issubclass(kind, int) for kind in kinds) and all(abs(v) < 2**63 for v in single):
            return single
        return [as_float(v) for v in single]
    return [to_text(v) for v in values]


def provenance(entry: Entry, fixed: Mapping[str, Any], digits: int | None) -> dict[str, Any]:
    """What a reader of the file needs to know where its numbers come from."""
    defaults = {x.name: x.default for x in entry.given if not x.is_required and x.default is not ABSENT}
    return {
        "entry": entry.id,
        "title": entry.title,
        "source": str(entry.source),
        "regime": str(entry.regime),
        "provenance": entry.marks,
        "fixed": "; ".join(f"{k}={to_text(v)}" for k, v in {**defaults, **fixed}.items()),
        "backend": "float64" if digits is None else f"mpmath, {digits} digits",
        "engine": f"theorem-engine {__version__}",
    }
