"""Predictions as a labelled data set, with where they come from."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Protocol

from theorem_engine.base.exact import as_float, to_text
from theorem_engine.base.version import __version__
from theorem_engine.language.entry import Entry
from theorem_engine.language.letters import ABSENT
from theorem_engine.language.statement import leaves


class Rows(Protocol):
    """Results by point number."""

    entry: Entry
    digits: int | None
    outputs: dict[int, Mapping[str, Any]]
    status: dict[int, str]


def variables(
    rows: Rows, axes: Mapping[str, list[Any]], along: tuple[str, Sequence[Mapping[str, Any]]] | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Data variables and coordinates: one variable per output, one dimension per swept letter."""
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
        if any(isinstance(c, Mapping) and all(np.ndim(v) == 1 for v in c.values()) for c in cells):
            found.update(_logs(name, cells, dims, shape))
        elif all(_is_number(c) for c in cells if c is not None):
            values = np.array([np.nan if c is None else float(c) for c in cells]).reshape(shape)
            found[name] = (dims, values, {"description": meaning.meaning})
            if rows.digits is not None:
                from mpmath import nstr

                text = ["" if c is None else nstr(c, rows.digits, strip_zeros=False) for c in cells]
                found[f"{name}_text"] = (dims, np.array(text, dtype=object).reshape(shape))
        elif all(isinstance(c, (bool, str)) for c in cells if c is not None):
            found[name] = (dims, np.array(cells, dtype=object).reshape(shape), {"description": meaning.meaning})
        else:
            found.update(_parts(name, meaning.meaning, cells, dims, shape))
    if rows.status:
        found["status"] = (dims, np.array([rows.status.get(i, "") for i in range(count)]).reshape(shape))
    coordinates: dict[str, Any] = {}
    if along is not None:
        dimension, points = along
        coordinates[dimension] = (dimension, np.arange(len(points)))
        for name in points[0]:
            coordinates[f"start_{name}"] = (dimension, _coordinate([row[name] for row in points]))
    for letter in rows.entry.given:
        if letter.name in axes:
            coordinates[letter.name] = (letter.name, _coordinate(axes[letter.name]), {"description": letter.meaning})
    return found, coordinates


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
    if all(isinstance(v, (int, Fraction, float)) or hasattr(v, "square") for v in values):
        return [as_float(v) if not isinstance(v, int) else v for v in values]
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
