"""Curves of entries over each other, with bands for errors, and data of one's own among them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from theorem_engine.base.errors import BadRequest, UnknownParameter, nearest
from theorem_engine.language.catalogue import find_entry
from theorem_engine.language.entry import Entry
from theorem_engine.sweeping.data import ERROR, columns_of
from theorem_engine.sweeping.pictures import Picture, draw_band, is_logarithmic, marker, new_figure, style
from theorem_engine.sweeping.sweep import sweep

#: More curves than this cannot be told apart.
MOST_CURVES = 28
#: Positive values over more than this ratio are drawn on a logarithmic scale.
TALL = 1e3


def plot(
    *things: Any, data: Any = None, x: str | None = None, y: str | None = None, title: str = "", **parameters: Any
) -> Picture:
    """Curves of data sets of ``sweep``, or of entries over axes given as parameters, in one picture.

    Each entry takes those of the parameters that it has. ``x`` is the letter along the axis, by default the one with
    most values; ``y`` the output, by default the main one. ``data`` are points of one's own: columns x, y and
    ``<y>_error``, as a mapping, a data set or the path of a CSV.

    >>> from theorem_engine.sweeping.grids import grid
    >>> picture = plot("marion2025.linear-risk", gamma=grid("0.2", 1, 5), L=10)
    >>> len(picture.figure.axes[0].lines)
    1
    """
    sets = [_as_dataset(thing, things, parameters) for thing in things]
    _refuse_unused(things, parameters)
    if not sets and data is None:
        raise BadRequest("plot needs an id with axes, a data set of sweep, or data of your own")
    figure = new_figure()
    axes = figure.subplots()
    along = x or _longest(sets)
    names = [y or _main_output(one) for one in sets]
    drawn: list[tuple[Any, Any]] = []
    for one, name in zip(sets, names, strict=True):
        for label, places, values, errors in _curves(one, along, name):
            if len(drawn) == MOST_CURVES:
                raise BadRequest(f"plot: there are more than {MOST_CURVES} curves; fix some of the letters")
            source = one.attrs.get("entry", "") if len(sets) > 1 else ""
            output = name if len(set(names)) > 1 else ""
            look = style(len(drawn))
            shown = ", ".join(part for part in (source, output, label) if part) or None
            # few points are shown as such
            dots = {"marker": ".", "markersize": 4} if len(places) <= 12 else {}
            axes.plot(places, values, label=shown, **look, **dots)
            draw_band(axes, places, values, errors, look["color"])
            drawn.append((places, values))
    measured = _points(data, along, y or (names[0] if names else None))
    for number, (label, places, values, errors) in enumerate(measured):
        axes.errorbar(places, values, yerr=errors, label=label, markersize=4, capsize=2, **marker(number + len(drawn)))
    _finish(axes, [*drawn, *((p, v) for _, p, v, _ in measured)], _label(sets, along), names, y, title or _title(sets))
    return Picture(figure)


def _as_dataset(thing: Any, things: tuple[Any, ...], parameters: Mapping[str, Any]) -> Any:
    if hasattr(thing, "data_vars"):
        return thing
    if isinstance(thing, (str, Entry)):
        entry = find_entry(thing if isinstance(thing, str) else thing.id)
        names = {letter.name for letter in entry.given}
        return sweep(entry.id, **{name: value for name, value in parameters.items() if name in names})
    raise BadRequest(f"plot takes ids, entries and data sets of sweep, not a {type(thing).__name__}")


def _refuse_unused(things: tuple[Any, ...], parameters: Mapping[str, Any]) -> None:
    entries = [find_entry(t if isinstance(t, str) else t.id) for t in things if isinstance(t, (str, Entry))]
    known = {letter.name for entry in entries for letter in entry.given}
    for name in parameters:
        if name not in known:
            raise UnknownParameter(f"plot: no entry here has a parameter {name[:40]!r}{nearest(name, known, 1)}")


def _longest(sets: list[Any]) -> str:
    """The swept letter with most values; the same for all sets."""
    sizes: dict[str, int] = {}
    for one in sets:
        for name, size in one.sizes.items():
            if name in one.coords:
                sizes[str(name)] = max(size, sizes.get(str(name), 0))
    return max(sizes, key=lambda name: sizes[name], default="")


def _main_output(one: Any) -> str:
    names = [str(name) for name in one.data_vars]
    if "entry" in one.attrs:
        main = find_entry(one.attrs["entry"]).main_output
        if main in names:
            return main
    numeric = [name for name in names if one[name].dtype.kind in "fiu"]
    if not numeric:
        raise BadRequest(f"plot: the data set has no variable of numbers; it has {', '.join(names) or 'none at all'}")
    return numeric[0]


def _curves(one: Any, along: str, name: str) -> Iterator[tuple[str, Any, Any, Any]]:
    """Curves of a data set along a letter: one for each combination of the others."""
    if along not in one.dims or along not in one.coords:
        listed = ", ".join(str(d) for d in one.dims if d in one.coords) or "none"
        raise BadRequest(f"plot: {along or 'no letter'!r} is not swept in the data set; swept are {listed}")
    if name not in one.data_vars:
        raise BadRequest(f"plot: the data set has no output {name[:40]!r}{nearest(name, map(str, one.data_vars))}")
    places = _numbers(one[along].values, along)
    order = np.argsort(places, kind="stable")
    others = [dim for dim in one[name].dims if dim != along]
    for combination in product(*(range(one.sizes[dim]) for dim in others)):
        here = dict(zip(others, combination, strict=True))
        cell = one.isel(here)
        label = ", ".join(
            f"{d}={_short(cell[d].values[()])}" if d in cell.coords else f"{d} {i}" for d, i in here.items()
        )
        values = np.broadcast_to(np.asarray(cell[name].values, dtype=float), places.shape)
        known = name + ERROR in cell.data_vars
        errors = np.asarray(cell[name + ERROR].values, dtype=float) if known else np.zeros(places.shape)
        yield label, places[order], values[order], np.broadcast_to(errors, places.shape)[order]


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, (float, np.floating)) else str(value)


def _numbers(values: Any, name: str) -> Any:
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise BadRequest(f"plot: {name} has values that are no numbers; choose another letter as x") from None


def _points(data: Any, along: str, output: str | None) -> list[tuple[str, Any, Any, Any]]:
    """Points of one's own: a column of the letter, one of the output, and one of errors if there is."""
    if data is None:
        return []
    found = []
    for number, one in enumerate(data if isinstance(data, (list, tuple)) else [data], 1):
        name = str(one) if isinstance(one, (str, Path)) else "data" if not isinstance(data, list) else f"data {number}"
        columns, _ = columns_of(name, one)
        x = along or next(iter(columns), "")
        y = output or next((c for c in columns if c + ERROR in columns), "")
        missing = [column for column in (x, y) if column not in columns]
        if missing:
            raise BadRequest(f"plot, {name}: the column {missing[0]!r} is missing; there are {', '.join(columns)}")
        errors = _numbers(columns[y + ERROR], y + ERROR) if y + ERROR in columns else None
        found.append((Path(name).name, _numbers(columns[x], x), _numbers(columns[y], y), errors))
    return found


def _label(sets: list[Any], along: str) -> str:
    meaning = next((one[along].attrs.get("description", "") for one in sets if along in one.coords), "")
    return f"{along}  ({meaning})" if meaning and len(meaning) <= 60 else along


def _title(sets: list[Any]) -> str:
    """What one entry is called, and what is fixed."""
    if len(sets) != 1:
        return ""
    fixed = sets[0].attrs.get("fixed", "").replace("; ", ", ")
    head = sets[0].attrs.get("entry", "")
    return f"{head}  ({fixed})" if fixed and len(fixed) <= 60 else str(head)


def _finish(axes: Any, drawn: list[Any], label: str, names: list[str], y: str | None, title: str) -> None:
    places = np.concatenate([np.asarray(p, dtype=float) for p, _ in drawn])
    values = np.concatenate([np.asarray(v, dtype=float) for _, v in drawn])
    if is_logarithmic(places):
        axes.set_xscale("log")
    values = values[np.isfinite(values)]
    if values.size and values.min() > 0 and values.max() > TALL * values.min():
        axes.set_yscale("log")
    axes.set_xlabel(label)
    axes.set_ylabel(y or " / ".join(dict.fromkeys(names)))
    axes.set_title(title, fontsize="medium")
    axes.grid(color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)
    if axes.get_legend_handles_labels()[1]:
        axes.legend(fontsize="small")
