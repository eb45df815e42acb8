"""The command for many points: sweep."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from theorem_engine.showing.commandline.arguments import (
    PointQuery,
    accuracy_of,
    axis_of,
    check_out,
    check_picture,
    is_list,
    letters_of,
    points_text,
    whole_number,
)
from theorem_engine.showing.commandline.completion import Id
from theorem_engine.showing.commandline.verbose import Verbose, told

Json = Annotated[bool, typer.Option("--json", help="Print plain data, and nothing else, on stdout.")]
Digits = Annotated[str | None, typer.Option(metavar="N", help="Significant digits, more than double precision.")]
Out = Annotated[Path | None, typer.Option(metavar="FILE", help="File to write; its ending chooses the format.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace a file that is there already.")]
Scheduler = Annotated[str | None, typer.Option(metavar="ADDRESS", help="Dask scheduler whose workers do the work.")]


def add_commands(app: typer.Typer) -> None:
    """Make the command known to the program."""
    values = "[OPTIONS] [name=value | name=low:high:count[:log] | name=a,b,c]..."
    app.command(cls=PointQuery, options_metavar=values)(sweep)


def sweep(
    ctx: typer.Context,
    id: Id,
    out: Out = None,
    overwrite: Overwrite = False,
    digits: Digits = None,
    jobs: Annotated[str | None, typer.Option(metavar="N", help="Worker processes.")] = None,
    mask: Annotated[bool, typer.Option("--mask", help="Leave gaps where a point fails, instead of stopping.")] = False,
    errors: Annotated[
        str, typer.Option(metavar="WHERE", help="Where errors are worked out: every, coarse or none.")
    ] = "every",
    scheduler: Scheduler = None,
    picture: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw the main output; the ending chooses the format.")
    ] = None,
    verbose: Verbose = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on where the same sweep was stopped; finished points are kept.")
    ] = False,
    store: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Keep the run in this folder, and go on with it there.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Evaluate an entry over a grid; prints CSV, writes .csv or .nc with --out, draws with --plot.

    A sweep that takes long keeps its finished points: stopped, it goes on with --resume.
    """
    from theorem_engine.sweeping.store import default_root
    from theorem_engine.sweeping.sweep import StoreUse, sweep
    from theorem_engine.sweeping.tables import dataset_json, write_csv, write_dataset

    check_out(out, (".csv", ".nc"), overwrite and (out is not None or picture is None))
    if picture is not None:
        check_picture(picture, overwrite)
    given = letters_of(ctx)
    letters: dict[str, Any] = {
        name: value if is_list(ctx, name) else axis_of(name, value) for name, value in given.items()
    }
    settings: dict[str, Any] = {"digits": whole_number("digits", digits), "jobs": whole_number("jobs", jobs)}
    use = StoreUse(store or default_root(), is_wanted=resume or store is not None, fresh=not resume and store is None)
    settings |= {"scheduler": scheduler, "progress": True if verbose else None}
    with told(f"{id} over {points_text(letters)}", verbose):
        data = sweep(id, **settings, mask=mask, errors=accuracy_of(errors), store=use, **letters)
    if picture is not None:
        from theorem_engine.showing.overlay import plot

        plot(data).save(picture, overwrite=overwrite)
        print(f"wrote {picture}", file=sys.stderr)
    if out is not None:
        write_dataset(data, out, overwrite=overwrite)
    if as_json:
        print(json.dumps(dataset_json(data), indent=2, ensure_ascii=False, allow_nan=False))
    elif out is None and picture is None:
        write_csv(data, sys.stdout)
    elif out is not None:
        sizes = " x ".join(f"{name} {size}" for name, size in data.sizes.items())
        print(f"wrote {out}: {sizes or 'one point'}; {', '.join(map(str, data.data_vars))}")
