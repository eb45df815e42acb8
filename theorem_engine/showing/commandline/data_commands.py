"""Commands about one's own data and about code: compare, fit, export."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from theorem_engine.base.errors import BadRequest
from theorem_engine.base.files import write_whole
from theorem_engine.showing.commandline.arguments import (
    PointQuery,
    Query,
    check_picture,
    check_replacing,
    named_values,
    point_of,
)
from theorem_engine.showing.commandline.completion import Id

Data = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="FILE...", help="CSV: a column for each letter that varies, one of the output, one <output>_error."
    ),
]
Output = Annotated[str | None, typer.Option(metavar="NAME", help="The output that was measured, if several are.")]
Ignore = Annotated[list[str] | None, typer.Option(metavar="COLUMN", help="A column that is left out.")]
Plot = Annotated[Path | None, typer.Option(metavar="FILE", help="Picture to write; its ending chooses the format.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace a file that is there already.")]
Json = Annotated[bool, typer.Option("--json", help="Print plain data, and nothing else, on stdout.")]


def add_commands(app: typer.Typer) -> None:
    """Make the commands known to the program."""
    app.command(cls=PointQuery, options_metavar="[OPTIONS] [name=value]...")(compare)
    app.command(cls=PointQuery, options_metavar="[OPTIONS] [name=value]...")(fit)
    app.command(cls=Query)(export)


def compare(
    ctx: typer.Context,
    id: Id,
    data: Data = None,
    output: Output = None,
    ignore: Ignore = None,
    plot: Plot = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Compare measured points with an entry: residuals in standard errors, chi^2, p-value."""
    from theorem_engine.sweeping.comparison import compare

    given = point_of(ctx)
    check_picture(plot, overwrite)
    found = compare(id, _files(data), output=output, ignore=ignore or (), **given)
    _show(found, plot, overwrite, as_json)


def fit(
    ctx: typer.Context,
    id: Id,
    data: Data = None,
    free: Annotated[list[str] | None, typer.Option(metavar="LETTER", help="A letter to be fitted.")] = None,
    start: Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help="Where the fit starts.")] = None,
    bounds: Annotated[list[str] | None, typer.Option(metavar="NAME=LOW:HIGH", help="Ends of a letter.")] = None,
    output: Output = None,
    ignore: Ignore = None,
    plot: Plot = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Fit letters of an entry to measured points: values, errors, correlations, goodness of fit."""
    from theorem_engine.sweeping.fit import fit

    given = point_of(ctx)
    check_picture(plot, overwrite)
    names = [name for words in free or () for name in words.split(",")]
    if not names:
        raise BadRequest("fit needs --free LETTER: the letters to be fitted")
    ends: dict[str, Any] = {
        name: tuple(text.split(":")) for name, text in named_values("--bounds", bounds or ()).items()
    }
    found = fit(
        id, _files(data), free=names, output=output, start=named_values("--start", start or ()),
        bounds=ends, ignore=ignore or (), **given,
    )  # fmt: skip
    _show(found, plot, overwrite, as_json)


def export(
    id: Id,
    to: Annotated[str, typer.Option(metavar="FORM", help="latex, python, c or json.")] = "python",
    at: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="A letter that is fixed, or an option.")
    ] = None,
    output: Annotated[list[str] | None, typer.Option(metavar="NAME", help="An output, if not all are wanted.")] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="File to write, instead of stdout.")] = None,
    overwrite: Overwrite = False,
) -> None:
    """Write an entry as stand-alone code (Python with NumPy alone, C99 with math.h alone), LaTeX or JSON."""
    from theorem_engine.showing.export.export import export

    check_replacing(out, overwrite)
    text = export(id, to=to, at=named_values("--at", at or ()), outputs=output or None)
    if out is None:
        sys.stdout.write(text)
    else:
        write_whole(out, text, overwrite=overwrite)
        print(f"wrote {out}: {len(text.splitlines())} lines")


def _files(data: list[str] | None) -> Any:
    if not data:
        raise BadRequest("a CSV file with the measured points is missing")
    return data[0] if len(data) == 1 else data


def _show(found: Any, plot: Path | None, overwrite: bool, as_json: bool) -> None:
    if plot is not None:
        found.plot().save(plot, overwrite=overwrite)
    if as_json:
        print(json.dumps(found.to_json(), indent=2, ensure_ascii=False, allow_nan=False))
    else:
        print(found)
        if plot is not None:
            print(f"wrote {plot}")
