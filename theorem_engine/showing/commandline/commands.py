"""The command line: the same words as the Python functions, with ``--json`` on each.

Only typer is imported here; a command imports what it needs, so that ``find`` starts without SymPy.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from theorem_engine.base.errors import BadRequest
from theorem_engine.base.version import __version__
from theorem_engine.showing.commandline.arguments import (
    PACKS,
    PointQuery,
    Query,
    check_out,
    letters_of,
    named_values,
    option_like,
    point_of,
    positive_number,
    whole_number,
)
from theorem_engine.showing.commandline.book_commands import add_commands as add_book_commands
from theorem_engine.showing.commandline.care_commands import add_commands as add_care_commands
from theorem_engine.showing.commandline.completion import Id
from theorem_engine.showing.commandline.data_commands import add_commands as add_data_commands
from theorem_engine.showing.commandline.pack_commands import add_commands as add_pack_commands
from theorem_engine.showing.commandline.proof_commands import add_commands as add_proof_commands
from theorem_engine.showing.commandline.runs import app as runs_app
from theorem_engine.showing.commandline.sweep_commands import Scheduler
from theorem_engine.showing.commandline.sweep_commands import add_commands as add_sweep_commands
from theorem_engine.showing.commandline.verbose import Verbose, told

app = typer.Typer(
    help="Theorems by name: find them, read them, evaluate them.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _print_json(data: Any) -> None:
    print(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False))


Json = Annotated[bool, typer.Option("--json", help="Print plain data, and nothing else, on stdout.")]
Digits = Annotated[str | None, typer.Option(metavar="N", help="Significant digits, more than double precision.")]
Out = Annotated[Path | None, typer.Option(metavar="FILE", help="File to write; its ending chooses the format.")]

Variant = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE", help="A choice of the simulators, outside the theorem's assumptions."),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace a file that is there already.")]


def _version(asked: bool) -> None:
    if asked:
        print(f"theorem-engine {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    ctx: typer.Context,
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
    pack: Annotated[
        list[str] | None,
        typer.Option(metavar="PATH", help="Folder or file of theorems of your own; behind a command too."),
    ] = None,
) -> None:
    """Theorems by name: find them, read them, evaluate them."""
    ctx.meta[PACKS] = list(pack or ())


@app.command(cls=Query)
def find(
    words: Annotated[list[str] | None, typer.Argument(metavar="[WORD]...", help="Words that must all occur.")] = None,
    paper: Annotated[str | None, typer.Option(help="Search this paper only.")] = None,
    as_json: Json = False,
) -> None:
    """List the entries that contain all the words, or all entries."""
    from theorem_engine.showing.find import HEADINGS, search

    table = search(" ".join(words or ()), paper)
    if as_json:
        _print_json(table.to_json())
    elif sys.stdout.isatty() and table.rows:
        from rich.console import Console
        from rich.table import Table

        drawn = Table()
        for heading in HEADINGS[:-1]:
            drawn.add_column(heading, no_wrap=heading == "id")
        for cells in table.cells():
            drawn.add_row(*(cell.replace("[", r"\[") for cell in cells[:-1]))
        Console().print(drawn)
        print(table.summary())
    else:
        print(table)


@app.command(cls=PointQuery, options_metavar="[OPTIONS] [name=value]...")
def show(
    ctx: typer.Context,
    id: Id,
    as_latex: Annotated[bool, typer.Option("--latex", help="Print LaTeX for a document with amsmath.")] = False,
    as_json: Json = False,
) -> None:
    """Print one entry (or figure) in full, in all its cases or in that of name=value: statement, letters, source."""
    from theorem_engine.showing.find import entry, entry_json, is_figure

    letters = point_of(ctx)
    if is_figure(id):
        from theorem_engine.showing.figure_page import figure_page

        if letters or as_latex:
            raise BadRequest(f"{id} is a figure: its page has no cases and no LaTeX; `figure` takes its options")
        page = figure_page(id)
        if as_json:
            _print_json(page.to_json())
        else:
            print(page)
        return
    found = entry(id)
    if as_json:
        _print_json(entry_json(found))
    elif as_latex:
        print(found.latex(**letters), end="")
    else:
        from theorem_engine.showing.page import entry_text

        print(entry_text(found, letters))


@app.command(cls=PointQuery, options_metavar="[OPTIONS] [name=value]...")
def predict(
    ctx: typer.Context,
    id: Id,
    digits: Digits = None,
    certified: Annotated[bool, typer.Option("--certified", help="Ask for a proven error.")] = False,
    verbose: Verbose = False,
    as_json: Json = False,
) -> None:
    """Evaluate an entry at a point: lam=0.1, --lam 0.1 and --lam=0.1 all give a letter."""
    from theorem_engine.asking.prediction import predict

    letters = point_of(ctx)
    with told(f"{id} at {', '.join(f'{k}={v}' for k, v in letters.items())}", verbose):
        prediction = predict(id, digits=whole_number("digits", digits), certified=certified, **letters)
        # worked out when they are asked for, and part of the time
        _ = prediction.errors
    if as_json:
        _print_json(prediction.to_json())
    else:
        print(prediction)
    if digits is None and not certified:
        from theorem_engine.asking.keeping import keep

        keep(prediction.entry, letters)


@app.command(cls=PointQuery, options_metavar="[OPTIONS] [name=value]...")
def explain(
    ctx: typer.Context,
    id: Id,
    digits: Digits = None,
    form: Annotated[str, typer.Option("--format", help="text, mermaid or dot.")] = "text",
    as_json: Json = False,
) -> None:
    """Print the graph a query walks: quantities in order, groups, methods, errors, time."""
    from theorem_engine.asking.explanation import explain

    if form not in ("text", "mermaid", "dot"):
        raise BadRequest(f"--format {form[:40]!r} is not text, mermaid or dot")
    letters = point_of(ctx)
    explanation = explain(id, digits=whole_number("digits", digits), **letters)
    if as_json:
        _print_json(explanation.to_json())
    else:
        print(explanation if form == "text" else explanation.mermaid() if form == "mermaid" else explanation.dot())


@app.command(cls=PointQuery, options_metavar="[OPTIONS] [name=value]...")
def figure(
    ctx: typer.Context,
    id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="Id of a figure; without it, all are listed.")
    ] = None,
    out: Out = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Compute a named figure and draw it with --out (.csv and .nc: write its data), or list the figures."""
    from theorem_engine.language.figure import figures
    from theorem_engine.showing.plot import figure
    from theorem_engine.sweeping.pictures import picture_endings
    from theorem_engine.sweeping.tables import ENDINGS, dataset_json

    letters = letters_of(ctx)
    if id is None:
        if out is not None or letters or overwrite:
            raise BadRequest("figure needs the id of a figure; without options it lists them")
        known = [{"id": f.id, "title": f.title} for f in figures()]
        if as_json:
            _print_json(known)
        else:
            print("\n".join(f"{f['id']}  {f['title']}" for f in known) or "No figures yet.")
        return
    defaults = {f.id: f.options() for f in figures()}.get(id, {})
    # before anything is computed
    check_out(out, ENDINGS if out is None or out.suffix in ENDINGS else (*ENDINGS, *picture_endings()), overwrite)
    drawn = figure(id, **{name: option_like(name, defaults.get(name), text) for name, text in letters.items()})
    if out is not None:
        drawn.save(out, overwrite=overwrite)
    if as_json:
        _print_json(dataset_json(drawn.data))
    else:
        print(f"wrote {out}" if out is not None else f"{drawn.data}\n--out FILE draws it, --json prints all the data.")


@app.command(cls=PointQuery, options_metavar="[OPTIONS] [name=value]...")
def check(
    ctx: typer.Context,
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="Entries to check.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Check every entry.")] = False,
    seconds: Annotated[
        str | None,
        typer.Option(metavar="S", help="Seconds for the whole run; 40 for each entry, 20 at a point, 300 with --all."),
    ] = None,
    samples: Annotated[
        str | None, typer.Option(metavar="N", help="Draws of each simulator, instead of seconds.")
    ] = None,
    points: Annotated[str | None, typer.Option(metavar="N", help="Points drawn from each entry's domain.")] = None,
    jobs: Annotated[str | None, typer.Option(metavar="N", help="Worker processes.")] = None,
    scheduler: Scheduler = None,
    seed: Annotated[str, typer.Option(metavar="N", help="Seed of points and samples.")] = "0",
    variant: Variant = None,
    out: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Folder of the journal and the report.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget what was finished before.")] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace reports in the folder that no journal there belongs to.")
    ] = False,
    ledger: Annotated[
        bool, typer.Option("--ledger", help="Write what was found into the registry's evidence ledger.")
    ] = False,
    tolerate: Annotated[
        bool, typer.Option("--tolerate-undecided", help="Exit status 0 where nothing disagrees but some cannot tell.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Compare entries with simulators that never saw them: at a point, or at points chosen for them.

    Without a point an entry is checked at those designed to tell it from its mutants, where it has such points, else at
    one drawn from its domain; --points draws that many instead. The exit status is 0 if all checks agree, 1 if any
    disagrees, and else 3 because some cannot tell. A run without a point is a campaign: started again, it goes on where
    it was stopped.
    """
    from theorem_engine.checking.campaign import FOLDER, run_campaign
    from theorem_engine.checking.report import refuse_foreign_reports, report_text, write_reports
    from theorem_engine.checking.verdict import CANNOT_TELL, DISAGREES
    from theorem_engine.checking.verdict import check as check_entry

    if everything == bool(ids):
        raise BadRequest("check takes the ids of entries, or --all")
    letters = {**letters_of(ctx), **named_values("--variant", variant or ())}
    budget = positive_number("seconds", seconds)
    numbers: dict[str, Any] = {n: whole_number(n, text) for n, text in (("samples", samples), ("seed", seed))}
    if letters:
        is_campaign = points is not None or jobs is not None or out is not None or scheduler is not None
        if is_campaign or fresh or overwrite or ledger:
            raise BadRequest(
                "--points, --jobs, --scheduler, --out, --fresh and --ledger are for campaigns, with points of their own"
            )
        if not ids:
            raise BadRequest("--all checks entries at points of their own; name the entries to be checked otherwise")
        share = budget / len(ids) if budget else 20
        asked: dict[str, Any] = {**numbers, **letters}
        verdicts = [check_entry(id, seconds=share, **asked) for id in ids]
        if as_json:
            _print_json([verdict.to_json() for verdict in verdicts])
        else:
            print("\n".join(str(verdict) for verdict in verdicts))
        found = {verdict.verdict for verdict in verdicts}
    else:
        if not overwrite:
            refuse_foreign_reports(out or FOLDER)
        campaign = run_campaign(
            ids or (), seconds=budget or (300 if everything else 40 * len(ids or ())), jobs=whole_number("jobs", jobs),
            points=1 if points is None else whole_number("points", points) or 0, designed=points is None,
            folder=out or FOLDER, fresh=fresh, progress=sys.stderr.isatty() and not as_json, scheduler=scheduler,
            **numbers,
        )  # fmt: skip
        written = write_reports(campaign)
        if ledger:
            from datetime import UTC, datetime

            from theorem_engine.checking.ledger import write_ledger

            written += write_ledger(campaign, datetime.now(UTC).date().isoformat())
        if as_json:
            _print_json(campaign.to_json())
        else:
            print(report_text(campaign))
            print(f"wrote {', '.join(str(path) for path in written)}; {campaign.resumed} checks were finished before.")
        if campaign.set_aside:
            print(
                f"{campaign.set_aside} lines of the journal are no record of a check and were set aside.",
                file=sys.stderr,
            )
        found = {result["verdict"] for result in campaign.results}
    if DISAGREES in found:
        raise typer.Exit(1)
    if CANNOT_TELL in found and not tolerate:
        raise typer.Exit(3)


@app.command(cls=PointQuery, options_metavar="[OPTIONS] [name=value]...")
def simulate(
    ctx: typer.Context,
    id: Id,
    samples: Annotated[str | None, typer.Option(metavar="N", help="Samples of each simulator.")] = None,
    seconds: Annotated[str | None, typer.Option(metavar="S", help="Seconds, if no samples are named; 20.")] = None,
    seed: Annotated[str, typer.Option(metavar="N", help="Seed of the samples.")] = "0",
    size: Annotated[str | None, typer.Option(metavar="N", help="Size at which a limit is simulated.")] = None,
    variant: Variant = None,
    as_json: Json = False,
) -> None:
    """Run the simulators of an entry alone at a point: means and standard errors, the theorem left aside."""
    from theorem_engine.checking.simulated import simulate

    letters = point_of(ctx, named_values("--variant", variant or ()))
    numbers = {n: whole_number(n, text) for n, text in (("samples", samples), ("seed", seed), ("size", size))}
    asked: dict[str, Any] = {**numbers, **letters}
    simulation = simulate(id, seconds=positive_number("seconds", seconds) or 20, **asked)
    if as_json:
        _print_json(simulation.to_json())
    else:
        print(simulation)


@app.command(cls=Query)
def cite(
    ids: Annotated[list[str] | None, typer.Argument(help="Entries; without any, the whole registry.")] = None,
    as_json: Json = False,
) -> None:
    """Print BibTeX of the works that entries rest on."""
    from theorem_engine.asking.citation import cite
    from theorem_engine.showing.find import entries

    names = ids or [entry.id for entry in entries()]
    if as_json:
        _print_json({"entries": names, "bibtex": cite(*names)})
    else:
        print(cite(*names))


@app.command(cls=Query)
def tour(as_json: Json = False) -> None:
    """Show everything the engine can do, in well under a minute."""
    from theorem_engine.showing.tour import run_tour

    report = run_tour(quiet=as_json)
    if as_json:
        _print_json(report)


add_book_commands(app)
add_sweep_commands(app)
add_data_commands(app)
add_proof_commands(app)
add_pack_commands(app)
add_care_commands(app)
app.add_typer(runs_app, name="runs")


def main() -> None:
    """Entry point of the ``theorem-engine`` command."""
    app(prog_name="theorem-engine")
