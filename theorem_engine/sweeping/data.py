"""Data of one's own: measured values of an output with standard errors, at values of letters.

A data set is a mapping of columns, an ``xarray.Dataset`` or the path of a CSV file. It has a column for each letter
that varies, one named as the output, and one ``<output>_error`` with standard errors.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theorem_engine.asking.point import read_letter
from theorem_engine.base.errors import BadNumber, BadRequest, FileError, TheoremEngineError, nearest
from theorem_engine.base.exact import NotANumber, as_float, read_number
from theorem_engine.language.entry import Entry

#: More points than this are refused: a fit looks at each of them many times.
MAX_POINTS = 200_000
ERROR = "_error"


@dataclass(frozen=True, eq=False)
class Measured:
    """One data set: points, measured values of one output, and their standard errors."""

    name: str
    output: str
    #: Values of the letters that have a column, row by row, in exact form.
    points: tuple[Mapping[str, Any], ...]
    values: NDArray[np.float64]
    errors: NDArray[np.float64]

    @property
    def letters(self) -> tuple[str, ...]:
        """Letters that have a column."""
        return tuple(self.points[0])


def read_data(entry: Entry, data: Any, output: str | None = None, ignore: Sequence[str] = ()) -> tuple[Measured, ...]:
    """The data sets, each checked; several come as a list, or as a mapping from names."""
    sets = list(_named_sets(data))
    if not sets:
        raise BadRequest(f"{entry.id}: there is no data set to compare with")
    if output is not None and output not in entry.outputs:
        known = ", ".join(entry.outputs)
        raise BadRequest(f"{entry.id} has no output {str(output)[:40]!r}{nearest(str(output), entry.outputs)}; {known}")
    return tuple(_read_set(entry, name, one, output, ignore) for name, one in sets)


def _named_sets(data: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(data, (list, tuple)):
        for number, one in enumerate(data, 1):
            yield (str(one) if isinstance(one, (str, Path)) else f"data set {number}"), one
    elif isinstance(data, Mapping) and data and not _is_dataset(data) and all(map(_is_whole_set, data.values())):
        yield from ((str(name), one) for name, one in data.items())
    else:
        yield (str(data) if isinstance(data, (str, Path)) else "data"), data


def _is_dataset(data: Any) -> bool:
    return hasattr(data, "data_vars") and hasattr(data, "coords")


def _is_whole_set(value: Any) -> bool:
    # a distribution of lengths is a mapping too, of numbers
    has_columns = isinstance(value, Mapping) and any(isinstance(key, str) for key in value)
    return has_columns or _is_dataset(value) or isinstance(value, Path)


def _read_set(entry: Entry, name: str, data: Any, output: str | None, ignore: Sequence[str]) -> Measured:
    columns, places = columns_of(name, data)
    columns = {column: values for column, values in columns.items() if column not in ignore}
    chosen = _chosen_output(entry, name, columns, output)
    letters = {letter.name: letter for letter in entry.given}
    for column in columns:
        if column not in letters and column.removesuffix(ERROR) not in entry.outputs:
            known = [*letters, *entry.outputs]
            raise BadRequest(
                f"{entry.id}, {name}: the column {column[:40]!r} is neither a letter nor an output"
                f"{nearest(column, known)}; rename it, or leave it out with ignore"
            )
    count = len(places)
    if not count:
        raise BadRequest(f"{entry.id}, {name}: there are no points in it")
    if count > MAX_POINTS:
        raise BadRequest(f"{entry.id}, {name}: {count} points are more than the limit of {MAX_POINTS}")
    values = _numbers(entry, name, chosen, columns[chosen], places)
    errors = _numbers(entry, name, chosen + ERROR, columns[chosen + ERROR], places)
    if not np.all(errors > 0):
        row = int(np.flatnonzero(~(errors > 0))[0])
        raise BadNumber(
            f"{entry.id}, {name}: {chosen}{ERROR} = {errors[row]:.6g} {places[row]} is no standard error; each is a "
            "positive number"
        )
    # a column of a letter that is also an output is that letter
    given = {column: letters[column] for column in columns if column in letters and column != chosen}
    table = {}
    for column, letter in given.items():
        table[column] = [_letter_value(entry, name, letter, cell, places[i]) for i, cell in enumerate(columns[column])]
    points = tuple({column: table[column][i] for column in table} for i in range(count))
    return Measured(name, chosen, points, values, errors)


def _chosen_output(entry: Entry, name: str, columns: Mapping[str, Any], output: str | None) -> str:
    """The output that has a column and one of standard errors."""
    found = [o for o in entry.outputs if o in columns and o + ERROR in columns]
    if output is not None:
        missing = [column for column in (output, output + ERROR) if column not in columns]
        if missing:
            raise BadRequest(f"{entry.id}, {name}: the column {missing[0]!r} is missing; {_have(columns)}")
        return output
    if len(found) == 1:
        return found[0]
    if found:
        raise BadRequest(f"{entry.id}, {name}: measured are {' and '.join(found)}; name one of them as output")
    half = [o for o in entry.outputs if o in columns]
    if half:
        raise BadRequest(f"{entry.id}, {name}: the column {half[0] + ERROR!r} of standard errors is missing")
    raise BadRequest(
        f"{entry.id}, {name}: no column is named as an output ({', '.join(entry.outputs)}), with standard errors in "
        f"<output>{ERROR}; {_have(columns)}"
    )


def _have(columns: Mapping[str, Any]) -> str:
    return f"there are the columns {', '.join(str(c)[:40] for c in columns) or '(none)'}"


def columns_of(name: str, data: Any) -> tuple[dict[str, list[Any]], list[str]]:
    """Columns of equal length, and how each row is called in messages."""
    if isinstance(data, (str, Path)):
        return _csv_columns(Path(data))
    if _is_dataset(data):
        return _dataset_columns(name, data)
    if not isinstance(data, Mapping):
        raise BadRequest(
            f"{name} is a {type(data).__name__}; data are a mapping of columns, an xarray Dataset or the path of a CSV"
        )
    listed = {str(column): values if _is_single(values) else _as_list(values) for column, values in data.items()}
    lengths = {column: len(values) for column, values in listed.items() if isinstance(values, list)}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{column} {length}" for column, length in lengths.items())
        raise BadRequest(f"{name}: the columns have different lengths: {shown}")
    count = next(iter(lengths.values()), 1 if listed else 0)
    columns = {column: values if isinstance(values, list) else [values] * count for column, values in listed.items()}
    return columns, [f"in row {i + 1}" for i in range(count)]


def _is_single(values: Any) -> bool:
    return isinstance(values, (str, bytes, int, float, Fraction, Mapping)) or not hasattr(values, "__iter__")


def _as_list(values: Any) -> list[Any]:
    if getattr(values, "ndim", 1) == 0:
        return [values.item()]
    return values.tolist() if hasattr(values, "tolist") else list(values)


def _dataset_columns(name: str, data: Any) -> tuple[dict[str, list[Any]], list[str]]:
    import xarray

    names = [str(variable) for variable in (*data.coords, *data.data_vars)]
    if not names:
        return {}, []
    arrays = xarray.broadcast(*(data[variable] for variable in names))
    columns = {variable: array.values.ravel().tolist() for variable, array in zip(names, arrays, strict=True)}
    count = len(columns[names[0]])
    return columns, [f"in point {i + 1}" for i in range(count)]


def _csv_columns(path: Path) -> tuple[dict[str, list[Any]], list[str]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise FileError(f"{path} is not there; data are read from a CSV file") from None
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise BadRequest(f"{path} is not text in UTF-8; data are read from a CSV file") from None
    try:
        reader = csv.reader(text.splitlines(), strict=True, skipinitialspace=True)
        lines = [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise BadRequest(f"{path} is no CSV file: {error}") from None
    if not lines:
        raise BadRequest(f"{path} is empty; its first line names the columns")
    header = [cell.strip() for cell in lines[0][1]]
    for column in header:
        if not column or header.count(column) > 1:
            problem = f"names the column {column[:40]!r} twice" if column else "has a column without a name"
            raise BadRequest(f"{path}: the first line {problem}")
    for number, row in lines[1:]:
        if len(row) != len(header):
            raise BadRequest(f"{path}, line {number}: {len(row)} cells, but the first line names {len(header)} columns")
    columns = {column: [row[k].strip() for _, row in lines[1:]] for k, column in enumerate(header)}
    return columns, [f"in line {number}" for number, _ in lines[1:]]


def _numbers(entry: Entry, name: str, column: str, cells: Sequence[Any], places: Sequence[str]) -> Any:
    """Finite numbers; text, gaps and infinities are refused by their place."""
    found = np.empty(len(cells))
    for i, cell in enumerate(cells):
        if _is_gap(cell):
            raise BadNumber(f"{entry.id}, {name}: {column} has a gap {places[i]}; leave the point out")
        try:
            found[i] = as_float(read_number(cell))
        except NotANumber as reason:
            raise BadNumber(f"{entry.id}, {name}: {column} = {str(cell)[:40]!r} {places[i]} {reason}") from None
        if not math.isfinite(found[i]):
            raise BadNumber(f"{entry.id}, {name}: {column} = {found[i]} {places[i]} is not finite")
    return found


def _is_gap(cell: Any) -> bool:
    return cell is None or (isinstance(cell, str) and not cell) or (isinstance(cell, float) and math.isnan(cell))


def _letter_value(entry: Entry, name: str, letter: Any, cell: Any, place: str) -> Any:
    if _is_gap(cell):
        raise BadNumber(f"{entry.id}, {name}: {letter.name} has a gap {place}; leave the point out")
    try:
        return read_letter(entry, letter, cell)
    except TheoremEngineError as error:
        raise type(error)(f"{name}, {place.removeprefix('in ')}: {error}") from None
