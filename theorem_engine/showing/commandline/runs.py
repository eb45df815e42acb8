"""The runs that sweeps keep: listed, shown, cleared away."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from theorem_engine.base.errors import BadRequest
from theorem_engine.showing.commandline.arguments import Query

app = typer.Typer(help="Runs of sweeps that are kept on the disk.", no_args_is_help=True, rich_markup_mode=None)

Store = Annotated[
    Path | None, typer.Option(metavar="FOLDER", help="The store; without it, the one of this user's cache.")
]
Json = Annotated[bool, typer.Option("--json", help="Print plain data, and nothing else, on stdout.")]


def _root(store: Path | None) -> Path:
    from theorem_engine.sweeping.store import default_root

    if store is not None and not store.is_dir():
        raise BadRequest(f"--store {store} is not a folder")
    return store or default_root()


def _print(data: Any) -> None:
    print(json.dumps(data, indent=2, ensure_ascii=False))


@app.command("list", cls=Query)
def list_runs(store: Store = None, as_json: Json = False) -> None:
    """List the runs, the latest first."""
    from theorem_engine.sweeping.store import runs_of

    root = _root(store)
    runs, others = runs_of(root)
    if as_json:
        _print({"store": str(root), "runs": [run.to_json() for run in runs], "others": [str(path) for path in others]})
        return
    print("\n".join(run.line() for run in runs) or f"No runs in {root}.")
    if others:
        print(f"{len(others)} more in {root} are no runs: {', '.join(path.name for path in others[:5])}")


@app.command(cls=Query)
def show(
    name: Annotated[str, typer.Argument(help="Name of a run, or how it begins or ends.")],
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Print what a run was asked and how far it is."""
    from theorem_engine.sweeping.store import find_run

    run = find_run(_root(store), name)
    if as_json:
        _print(run.to_json())
        return
    print(run.line())
    for key, value in run.asked.items():
        print(f"  {key}: {json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list)) else value}")
    print(f"  folder: {run.folder}")


@app.command(cls=Query)
def gc(
    days: Annotated[str, typer.Option(metavar="N", help="Remove runs that were not touched for so many days.")] = "30",
    everything: Annotated[bool, typer.Option("--all", help="Remove all runs but those at work.")] = False,
    look: Annotated[bool, typer.Option("--dry-run", help="Only say what would be removed.")] = False,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Remove old runs."""
    from theorem_engine.sweeping.store import collect

    try:
        age = 0.0 if everything else float(days)
    except ValueError:
        age = -1.0
    if not 0 <= age < float("inf"):
        raise BadRequest(f"--days {days[:40]!r} is not a number of days")
    gone = collect(_root(store), age, only_look=look)
    if as_json:
        _print({"removed": not look, "runs": [run.to_json() for run in gone]})
        return
    for run in gone:
        print(f"{'would remove' if look else 'removed'} {run.line()}")
    print(f"{len(gone)} runs, {sum(run.size for run in gone) / 1024:.0f} KiB")
