"""Commands about how far numbers and statements can be trusted: prove, compare-methods."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from theorem_engine.showing.commandline.arguments import PointQuery, Query, point_of
from theorem_engine.showing.commandline.completion import Id

Output = Annotated[str | None, typer.Option(metavar="NAME", help="The output compared; the main one if left out.")]
Json = Annotated[bool, typer.Option("--json", help="Print plain data, and nothing else, on stdout.")]


def add_commands(app: typer.Typer) -> None:
    """Make the commands known to the program."""
    app.command(cls=Query)(prove)
    app.command("compare-methods", cls=PointQuery, options_metavar="[OPTIONS] [name=value]...")(compare_methods)


def prove(id: Id, as_json: Json = False) -> None:
    """Try the identities that an entry carries: by algebra, in balls on a box, in balls at points.

    The exit status is 0 if all hold, 1 if any is refuted, and else 3 because some are not decided.
    """
    from theorem_engine.asking.outcome import REFUTED, UNDECIDED
    from theorem_engine.asking.proof import prove

    proof = prove(id)
    _show(proof, as_json)
    if proof.count(REFUTED):
        raise typer.Exit(1)
    if proof.count(UNDECIDED):
        raise typer.Exit(3)


def compare_methods(ctx: typer.Context, id: Id, output: Output = None, as_json: Json = False) -> None:
    """Evaluate an entry by every backend: value, claimed error, distance from the certified value, time."""
    from theorem_engine.asking.methods import compare_methods

    letters = point_of(ctx)
    _show(compare_methods(id, output=output, **letters), as_json)


def _show(found: Any, as_json: bool) -> None:
    print(json.dumps(found.to_json(), indent=2, ensure_ascii=False, allow_nan=False) if as_json else found)
