"""The guided run: every capability once, on the real functions, with a few words about each.

Which entries it visits stands in ``tour.toml`` of the registry; the engine names no theorem.
"""

from __future__ import annotations

import io
import sys
import textwrap
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from typing import Any

from theorem_engine.base.errors import NotAvailable, TheoremEngineError

#: Lines of a stop's output that are shown, from its beginning and its end; the rest is one command away.
_HEAD, _TAIL = 14, 9
_NEXT = """What to try next
  theorem-engine find WORD...                  look for entries about something
  theorem-engine show ID                       read one in full
  theorem-engine predict ID name=value ...     evaluate it; --digits 40, or --json for a program
  theorem-engine explain ID --format mermaid   draw the way to the number
  theorem-engine doctor                        see which extras are installed
In Python: import theorem_engine as te; te.find("risk")"""


@dataclass(frozen=True)
class Stop:
    """One capability: its name, why it is there, what to type, and the function that shows it."""

    title: str
    words: str
    command: str
    run: Callable[[], str]


def run_tour(quiet: bool = False) -> list[dict[str, Any]]:
    """Walk through all stops; a stop that this installation cannot make says which extra it needs."""
    stops = _stops(_script())
    report = []
    with _guide(len(stops), quiet) as say:
        for number, stop in enumerate(stops, 1):
            say(f"\n[{number}/{len(stops)}] {stop.title}\n{textwrap.fill(stop.words, 100)}\n\n  $ {stop.command}", 0)
            begin = time.perf_counter()
            try:
                text, is_shown = stop.run(), True
            except NotAvailable as error:
                text, is_shown = str(error), False
            seconds = time.perf_counter() - begin
            say(textwrap.indent(_shortened(text), "  "), 1)
            report.append({"stop": stop.title, "command": stop.command, "shown": is_shown, "seconds": seconds})
        say(f"\n{_NEXT}", 0)
    return report


def _shortened(text: str) -> str:
    lines = text.splitlines()
    left_out = len(lines) - _HEAD - _TAIL
    if left_out > 1:
        lines[_HEAD:-_TAIL] = [f"  ... {left_out} lines left out ..."]
    return "\n".join(lines)


def _script() -> dict[str, Any]:
    """The entries and points to visit."""
    place = resources.files("theorem_engine.registry").joinpath("tour.toml")
    if not place.is_file():
        raise NotAvailable("the registry has no tour.toml, so there is nothing to visit")
    return tomllib.loads(place.read_text(encoding="utf-8"))


def _typed(verb: str, query: Mapping[str, Any]) -> str:
    """A query as one would type it."""
    point = (f'{k}="{v}"' if "(" in v else f"{k}={v}" for k, v in query["point"].items())
    return " ".join(("theorem-engine", verb, query["id"], *point))


def _stops(script: Mapping[str, Any]) -> list[Stop]:
    precise, walked, swept, wrong = (script[name] for name in ("precise", "explain", "sweep", "mistake"))
    axis = ":".join((swept["low"], swept["high"], str(swept["count"]), *(["log"] if swept.get("log") else [])))
    return [
        Stop("Find", "Entries are found by words: in their ids, titles, descriptions, letters and outputs.",
             f"theorem-engine find {script['search']}", lambda: _find(script["search"])),
        Stop("Show", "An entry is a statement with its letters, their domains, its source and its provenance.",
             f"theorem-engine show {script['show']}", lambda: _show(script["show"])),
        Stop("Predict", "A theorem by name, a point, and the number that follows, with its error. Letters are exact: "
             "0.1 is one tenth, and roots stay roots.", _typed("predict", script["predict"]),
             lambda: _predict(script["predict"])),
        Stop("Forty digits", "The same equations on another backend. Nothing cancels on the way, so tiny values "
             "keep all their digits.", f"{_typed('predict', precise)} --digits {precise['digits']}",
             lambda: _predict(precise)),
        Stop("Explain", "The graph that was walked: quantities in order, the entry each comes from (x@2 belongs to "
             "application @2), the methods and what they report.", _typed("explain", walked),
             lambda: _explain(walked)),
        Stop("Sweep", "A whole curve in one call, as a labelled data set that remembers where it came from.",
             f"{_typed('sweep', swept)} {swept['name']}={axis} --out curve.nc", lambda: _sweep(swept)),
        Stop("Figure", "Figures of the papers by name: the data first, then a drawing of exactly that data.",
             f"theorem-engine figure {script.get('figure', '')}".rstrip(), lambda: _figure(script.get("figure"))),
        Stop("Cite", "BibTeX of the works behind everything used so far.",
             f"theorem-engine cite {script['predict']['id']}", _cite),
        Stop("A mistake", "A bad query gets one sentence: what was asked, what is true, where it is written.",
             _typed("predict", wrong), lambda: _mistake(wrong)),
    ]  # fmt: skip


def _find(words: str) -> str:
    from theorem_engine.showing.find import find

    return str(find(words))


def _show(id: str) -> str:
    from theorem_engine.showing.find import entry

    return repr(entry(id))


def _predict(query: Mapping[str, Any]) -> str:
    from theorem_engine.asking.prediction import predict

    return str(predict(query["id"], digits=query.get("digits"), **query["point"]))


def _explain(query: Mapping[str, Any]) -> str:
    from theorem_engine.asking.explanation import explain

    return str(explain(query["id"], **query["point"]))


def _sweep(query: Mapping[str, Any]) -> str:
    from theorem_engine.sweeping.grids import grid
    from theorem_engine.sweeping.sweep import sweep

    name, output = query["name"], query["output"]
    point = {**query["point"], name: grid(query["low"], query["high"], query["count"], query.get("log", False))}
    data = sweep(query["id"], progress=False, **point)
    curve = data[output]
    best = curve.isel({name: int(curve.values.argmin())})
    lines = [f"{curve.size} values of {output}; the smallest is {float(best):.6g} at {name} = {float(best[name]):.4g}"]
    return "\n".join([*lines, *(f"{key}: {value}" for key, value in data.attrs.items())])


def _figure(id: str | None) -> str:
    from theorem_engine.language.figure import figures
    from theorem_engine.showing.plot import figure

    known = figures()
    if not known:
        raise NotAvailable("no paper of the registry has declared a figure yet")
    drawn = figure(id or known[0].id)
    picture = io.BytesIO()
    drawn.plot().savefig(picture, format="png")
    listed = [f"{f.id}  {f.title}" for f in known]
    size = picture.getbuffer().nbytes // 1000
    return "\n".join([*listed, f"drew {id or known[0].id}, {size} kB; --out FILE keeps the picture"])


def _cite() -> str:
    from theorem_engine.asking.citation import cite

    return cite()


def _mistake(query: Mapping[str, Any]) -> str:
    from theorem_engine.asking.prediction import predict

    try:
        return str(predict(query["id"], **query["point"]))
    except TheoremEngineError as error:
        return f"{type(error).__name__}: {error}"


@contextmanager
def _guide(count: int, quiet: bool) -> Iterator[Callable[[str, int], None]]:
    """A function that prints and counts stops: with a progress bar on a terminal, plainly elsewhere."""
    if quiet or not sys.stdout.isatty():
        yield lambda text, _: None if quiet else print(text)
        return
    from rich.console import Console
    from rich.progress import Progress

    console = Console(highlight=False)
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("tour", total=count)

        def say(text: str, steps: int) -> None:
            console.print(text, markup=False)
            progress.advance(task, steps)

        yield say
