"""Commands for authors of theorems: new, lint."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from theorem_engine.showing.commandline.arguments import Query, positive_number

Json = Annotated[bool, typer.Option("--json", help="Print plain data, and nothing else, on stdout.")]


def add_commands(app: typer.Typer) -> None:
    """Make the commands known to the program."""
    app.command(cls=Query)(new)
    app.command(cls=Query)(lint)


def new(
    name: Annotated[str, typer.Argument(help="Name of the pack: small letters and digits, hyphens inside.")],
    into: Annotated[Path, typer.Option(metavar="FOLDER", help="Where the folder of the pack is made.")] = Path(),
    as_json: Json = False,
) -> None:
    """Make a pack of your own: one entry, one simulator, one figure, one test, ready to install."""
    from theorem_engine.showing.skeleton import make_pack

    written = make_pack(name, into)
    if as_json:
        print(json.dumps({"name": name, "files": [str(path) for path in written]}, indent=2, ensure_ascii=False))
        return
    print("\n".join(f"wrote {path}" for path in written))
    print(f"`theorem-engine find --pack {into / name}` lists what is in it; README.md there says how to go on.")


def lint(
    pack: Annotated[str, typer.Argument(help="Path of a pack, or the name of one that is known, or of a paper.")],
    seconds: Annotated[str | None, typer.Option(metavar="S", help="Seconds of simulation for each entry; 5.")] = None,
    as_json: Json = False,
) -> None:
    """Look for what is wrong with the entries of a pack, each finding with what to do about it.

    The exit status is 0 if nothing was found, and else 1.
    """
    from theorem_engine.showing.lint import lint

    report = lint(pack, seconds=positive_number("seconds", seconds) or 5)
    print(json.dumps(report.to_json(), indent=2, ensure_ascii=False, allow_nan=False) if as_json else report)
    if report.findings:
        raise typer.Exit(1)
