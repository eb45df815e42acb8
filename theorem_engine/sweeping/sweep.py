"""Sweeps: a theorem over a grid of points, as a labelled data set."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from theorem_engine.asking.citation import remember
from theorem_engine.asking.point import check_names
from theorem_engine.asking.prediction import check_digits
from theorem_engine.base.errors import BadRequest, JournalError, NotAvailable
from theorem_engine.base.exact import to_text
from theorem_engine.language.catalogue import Named, find_entry
from theorem_engine.language.entry import Entry
from theorem_engine.sweeping.axes import read_axes
from theorem_engine.sweeping.boxed import evaluate_boxes
from theorem_engine.sweeping.dataset import provenance, table_variables, variables
from theorem_engine.sweeping.executors import Executor, default_executor
from theorem_engine.sweeping.grids import MAX_POINTS, Batch, Grid, batch, grid
from theorem_engine.sweeping.rows import Rows, evaluate_point, is_found, is_vectorised
from theorem_engine.sweeping.store import StoredRun
from theorem_engine.sweeping.tables import netcdf

if TYPE_CHECKING:
    from theorem_engine.sweeping.cluster import Cluster

__all__ = ["MAX_POINTS", "Batch", "Grid", "batch", "evaluate_point", "grid", "sweep"]


def sweep(
    id: Named,
    *,
    digits: int | None = None,
    jobs: int | None = None,
    progress: bool | None = None,
    errors: bool | str = True,
    mask: bool = False,
    executor: Executor | None = None,
    along: Batch | None = None,
    scheduler: str | None = None,
    store: Path | str | StoreUse | None = None,
    **parameters: Any,
) -> Any:
    """An entry over the product of all parameters given as a grid, a sequence or a one-dimensional array.

    Returns an ``xarray.Dataset`` with one dimension per swept parameter and, for each output, a variable and one of its
    absolute errors, ``<output>_error``. Errors are worked out at every point; ``errors="coarse"`` looks at some and
    takes the largest found for the others, ``errors=False`` leaves them out, and the attributes of the data set say so.
    ``mask=True`` leaves gaps (NaN) where a point is outside a domain or a method fails, with the reason in ``status``.
    ``along`` is a batch of points that vary together, as one more dimension.
    Entries that evaluate arrays run in one call; the others are spread over ``jobs`` worker processes. Where an entry
    says that its solution moves without a jump along a letter, every fourth point along it is solved from its own
    start, and those between start from what solves their neighbours. With
    ``scheduler``, the address of a Dask scheduler, each point is evaluated on its own by the workers there; an
    ``executor`` does the same elsewhere, and all of them find the same numbers.
    With ``store``, a folder, every finished point is kept there, and a sweep that was stopped goes on where it was.
    """
    if scheduler is not None:
        if executor is not None or jobs is not None:
            raise BadRequest("scheduler, executor and jobs each say where points are evaluated; give one of them")
        executor = cluster(scheduler, str(getattr(id, "id", id)), progress)
    try:
        import xarray
    except ImportError:
        raise NotAvailable("sweeps need xarray: pip install 'theorem-engine[sweep]'") from None
    entry = find_entry(id)
    check_digits(digits)
    accuracy, mask = _read_errors(errors, mask)
    if along is not None:
        _refuse_clashes(entry, parameters, along)
    check_names(entry, {**parameters, **({} if along is None else along.rows[0])})
    axes, fixed, refused = read_axes(entry, parameters, mask)
    if along is not None:
        axes[along.dimension] = list(along.rows)
    count = math.prod(len(values) for values in axes.values())
    if count > MAX_POINTS:
        raise BadRequest(f"{entry.id}: {count} points are more than the limit of {MAX_POINTS}")
    remember(entry)
    use = store if isinstance(store, StoreUse) or store is None else StoreUse(store)
    run = None
    is_here = executor is None and (use is None or not use.is_wanted)
    together = None if along is None else along.dimension
    about = {**provenance(entry, fixed, digits), "errors": _accuracy_text(accuracy)}
    if is_here and digits is None:
        table = evaluate_boxes(entry, fixed, axes, refused, together, mask, accuracy)
        if table is not None:
            return xarray.Dataset(*table_variables(entry, table, axes, together), attrs=about)
    points = [_merged(axes, combination) for combination in itertools.product(*axes.values())]
    rows = Rows(entry, fixed, mask, digits, accuracy)
    read = rows.read(points)
    if is_here and digits is None and is_vectorised(entry, read):
        rows.evaluate_together(read)
    else:
        # other processes cannot import what was declared in this one
        workers = 1 if entry.module == "__main__" else jobs
        chosen = executor or default_executor(workers, len(points), f"{entry.id}", progress)
        if use is not None:
            asked = {"entry": entry.id, "axes": _texts(axes), "fixed": _texts(fixed), "digits": digits}
            run = StoredRun(use.root, chosen, asked, is_found, fresh=use.fresh)
        try:
            rows.evaluate_apart(points, run or chosen, read)
        except KeyboardInterrupt:
            if run is not None:
                print(run.stopped_text(), file=sys.stderr)
            raise
        except JournalError:
            # a net that cannot be spread is done without; a store that was asked for is not
            if use is None or use.is_wanted:
                raise
            run = None
            rows.evaluate_apart(points, chosen, read)
    data = xarray.Dataset(
        *variables(rows, axes, together),
        attrs=about,
    )
    if run is not None and use is not None:
        if use.is_wanted:
            run.finish(netcdf(data))
        else:
            run.forget()
    return data


@dataclass(frozen=True)
class StoreUse:
    """How a sweep uses a store.

    Where it is not ``is_wanted``, it is a safety net: entries that evaluate arrays do without it, and a run that ends
    well is removed. A ``fresh`` run forgets what was finished before.
    """

    root: Path | str
    is_wanted: bool = True
    fresh: bool = False


def _texts(letters: Mapping[str, Any]) -> dict[str, Any]:
    """Letters as text, for a reader of the store."""
    return {
        name: [to_text(v)[:80] for v in value[:50]] if isinstance(value, list) else to_text(value)[:200]
        for name, value in letters.items()
    }


def cluster(scheduler: str, label: str, progress: bool | None) -> Cluster:
    """The workers of a Dask scheduler."""
    from theorem_engine.sweeping.cluster import Cluster

    if not isinstance(scheduler, str) or not scheduler.strip():
        raise BadRequest(f"scheduler={scheduler!r} is no address, such as tcp://host:8786")
    found = Cluster(scheduler.strip(), label, sys.stderr.isatty() if progress is None else progress)
    found.refuse_unreachable()
    return found


def _read_errors(errors: bool | str, mask: bool) -> tuple[bool | str, bool]:
    """Where errors are worked out, and whether failures are gaps; "mask" and "raise" are older words for the latter."""
    if errors in ("mask", "raise"):
        return True, mask or errors == "mask"
    if not isinstance(mask, bool):
        raise BadRequest(f"mask={mask!r} is neither True nor False")
    if errors not in (True, False, "coarse"):
        raise BadRequest(f"errors={errors!r} is neither True, False nor 'coarse'")
    return errors, mask


def _accuracy_text(accuracy: bool | str) -> str:
    if accuracy == "coarse":
        return "worked out at some points; elsewhere the largest of them"
    return "worked out at every point" if accuracy else "not worked out"


def _refuse_clashes(entry: Entry, parameters: Mapping[str, Any], along: Batch) -> None:
    """Errors for a batch without points, and for one that says what something else says already."""
    if not along.rows:
        raise BadRequest(f"{entry.id}: the batch {along.dimension!r} has no points")
    if along.dimension in {letter.name for letter in entry.given}:
        raise BadRequest(f"{entry.id}: the batch is called {along.dimension!r}, as a letter is; call it otherwise")
    if twice := [name for name in along.rows[0] if name in parameters]:
        raise BadRequest(f"{entry.id}: {', '.join(twice)} stands in the batch {along.dimension!r} and beside it")


def _merged(axes: Mapping[str, Any], combination: Sequence[Any]) -> dict[str, Any]:
    point: dict[str, Any] = {}
    for name, value in zip(axes, combination, strict=True):
        point.update(value if isinstance(value, Mapping) else {name: value})
    return point
