"""Curves of several entries along one axis, and datasets side by side: what figures are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from theorem_engine.base.exact import as_float, read_number
from theorem_engine.sweeping.sweep import sweep

if TYPE_CHECKING:
    import xarray


def curves(axis: str, places: Any, lines: Mapping[str, tuple[str, Mapping[str, Any]]], output: str) -> xarray.Dataset:
    """One output of several entries along a letter: ``lines`` maps a label to an entry and the letters held fixed.

    >>> found = curves("L", [2, 4], {"linear": ("marion2025.linear-risk", {"gamma": 1})}, "risk")
    >>> found["linear"].coords["L"].values.tolist()
    [2, 4]
    """
    import xarray

    found = {
        label: ((axis,), sweep(entry, errors=False, **{axis: places}, **fixed)[output].values)
        for label, (entry, fixed) in lines.items()
    }
    # a letter that may be more than a number has no coordinate of its own in a sweep
    where = [place if isinstance(place, int) else as_float(read_number(place)) for place in places]
    return xarray.Dataset(found, coords={axis: where})


def side_by_side(
    panels: Mapping[str, xarray.Dataset | Iterable[xarray.Dataset]], shared: Iterable[str] = ()
) -> xarray.Dataset:
    """The datasets of each panel as one, names of variables and axes prefixed by the panel's unless they are shared."""
    import xarray

    kept = set(shared)
    renamed = []
    for name, parts in panels.items():
        for part in [parts] if isinstance(parts, xarray.Dataset) else parts:
            own = [*part.data_vars, *part.coords]
            renamed.append(part.rename({v: f"{name}_{v}" for v in own if v not in kept}))
    return xarray.merge(renamed, combine_attrs="drop")
