"""The command that looks after an installation: doctor."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from theorem_engine.showing.commandline.arguments import Query

Json = Annotated[bool, typer.Option("--json", help="Print plain data, and nothing else, on stdout.")]


def add_commands(app: typer.Typer) -> None:
    """Make the command known to the program."""
    app.command(cls=Query)(doctor)


def doctor(
    typing: Annotated[bool, typer.Option("--typing", help="Make build/typing for static type checkers.")] = False,
    clear: Annotated[bool, typer.Option("--clear", help="Remove the compiled plans kept for later processes.")] = False,
    as_json: Json = False,
) -> None:
    """Check the installation: versions, extras, kept plans, and whether every paper of the registry loads."""
    from theorem_engine.showing.doctor import examine, make_typing_folder, report_text

    if typing:
        print(f"made {make_typing_folder()}", file=sys.stderr)
    if clear:
        from theorem_engine.asking.kept_files import clear as clear_kept

        print(f"removed {clear_kept()} kept plans", file=sys.stderr)
    report = examine()
    print(json.dumps(report, indent=2, ensure_ascii=False, allow_nan=False) if as_json else report_text(report))
    if report["problems"]:
        raise typer.Exit(1)
