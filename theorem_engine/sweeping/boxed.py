"""Sweeps by axes: every value of an axis is read once, and points are evaluated as arrays."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from theorem_engine.base.errors import ValidityWarning
from theorem_engine.language.entry import Entry
from theorem_engine.sweeping.axes import Refusals, read_rows
from theorem_engine.sweeping.blocks import BoxRun, Table, refuse_what_takes_no_arrays
from theorem_engine.sweeping.boxes import Columns, NoBoxes, Refused, make_boxes


def evaluate_boxes(
    entry: Entry, fixed: Mapping[str, Any], axes: Mapping[str, Sequence[Any]], refused: Refusals, together: str | None,
    mask: bool, accuracy: bool | str,
) -> Table | None:  # fmt: skip
    """The whole sweep as arrays; None where its points have to be taken one by one.

    ``together`` names the axis whose values are points of several letters.
    """
    if not axes:
        return None
    columns = []
    for name, values in axes.items():
        if name == together:
            rows, why = read_rows(entry, values, mask)
            columns.append(_columns({key: [row[key] for row in rows] for key in rows[0]}, why))
        else:
            columns.append(_columns({name: values}, refused.get(name, {})))
    try:
        boxes = make_boxes(entry, fixed, columns, mask)
        table = Table(tuple(len(values) for values in axes.values()), len(boxes) == 1 and accuracy != "coarse")
        for box in boxes:
            if not box.reason:
                refuse_what_takes_no_arrays(entry, box)
        for box in boxes:
            if box.reason:
                for place in np.ndindex(box.shape):
                    table.status[tuple(int(p[i]) for p, i in zip(box.positions, place, strict=True))] = box.reason
            else:
                BoxRun(entry, box, table, mask, accuracy).run()
    except NoBoxes:
        return None
    if accuracy == "coarse":
        _fill(table)
    for message, count in table.cautions.values():
        others = f" (and at {count - 1} other points of the sweep)" if count > 1 else ""
        warnings.warn(ValidityWarning(f"{entry.id}: {message}{others}"), stacklevel=3)
    return table


def _fill(table: Table) -> None:
    """After a look at some points, the largest error seen for all others that have a value."""
    for name, errors in table.errors.items():
        seen = errors[~np.isnan(errors)]
        if seen.size:
            table.errors[name] = np.where(np.isnan(table.values[name]) | ~np.isnan(errors), errors, seen.max())


def _columns(values: Mapping[str, Sequence[Any]], refused: Mapping[int, str]) -> Columns:
    """Values along one axis by letter, with refusals in their places."""
    if not refused:
        return values
    return {
        name: [Refused(refused[i]) if i in refused else value for i, value in enumerate(column)]
        for name, column in values.items()
    }
