"""Commands about pages: the registry as a book, and the book with questions answered on it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from theorem_engine.base.errors import BadRequest
from theorem_engine.showing.commandline.arguments import Query, whole_number


def add_commands(app: typer.Typer) -> None:
    """Make the commands known to the program."""
    app.command(cls=Query)(book)
    app.command(cls=Query)(serve)
    app.command(cls=Query)(mcp)


def book(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Folder of the book: empty, new, or a book already.")],
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="Entries, with what they rest on; without any, all.")
    ] = None,
    jobs: Annotated[str | None, typer.Option(metavar="N", help="Worker processes.")] = None,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Dask scheduler whose workers make the pages.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print plain data, and nothing else, on stdout.")] = False,
) -> None:
    """Write the registry as pages that open from a file; pages of unchanged entries are kept."""
    from theorem_engine.showing.book.build import build_book

    count, progress = whole_number("jobs", jobs), False if as_json else None
    built = build_book(out, ids or None, jobs=count, progress=progress, scheduler=scheduler)
    print(json.dumps(built.to_json(), indent=2, ensure_ascii=False) if as_json else built)


def serve(
    folder: Annotated[Path, typer.Argument(metavar="BOOK", help="Folder that `theorem-engine book` has written.")],
    port: Annotated[str, typer.Option(metavar="N", help="Port of this machine.")] = "8000",
    jobs: Annotated[str, typer.Option(metavar="N", help="Worker processes for quick questions.")] = "2",
) -> None:
    """Serve a book on this machine only, with letters that move, and questions over JSON (/openapi.json)."""
    from theorem_engine.showing.web.app import serve

    place, count = whole_number("port", port) or 0, whole_number("jobs", jobs) or 0
    if not 1 <= place <= 65535 or not 1 <= count <= 64:
        raise BadRequest("--port is a number from 1 to 65535, --jobs one from 1 to 64")
    serve(folder, place, count, announce=lambda text: print(text, flush=True))


def mcp() -> None:
    """Answer an assistant over stdio (Model Context Protocol): find, show, predict, check, cite as tools."""
    from theorem_engine.showing.web.assistant import run_stdio

    run_stdio()
