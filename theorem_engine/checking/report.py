"""The report of a campaign: in a terminal, as JSON, and as one HTML page that needs nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from theorem_engine.base.files import refuse_existing, write_whole

if TYPE_CHECKING:
    from theorem_engine.checking.campaign import Campaign, Task

JOURNAL, REPORTS = "journal.jsonl", ("report.json", "report.html")
_COLOURS = {"agrees": "#1a7f37", "disagrees": "#cf222e", "cannot tell": "#9a6700"}
_STYLE = """body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color:#1f2328}
table{border-collapse:collapse;width:100%}td,th{padding:.25rem .6rem;border-bottom:1px solid #d0d7de;text-align:left;
vertical-align:top}code{font-size:.9em}summary{cursor:pointer}"""


def worst(result: Mapping[str, Any]) -> str:
    """The z-score furthest from zero, as text."""
    scores = [float(row["z"]) for row in result["rows"] if row["z"] is not None]
    return f"{max(scores, key=abs):+.2f}" if scores else ""


def point_text(result: Mapping[str, Any]) -> str:
    """The point as name=value pairs."""
    return ", ".join(f"{name}={value}" for name, value in result["point"].items())


def summary(campaign: Campaign) -> str:
    """What came out, and how far to trust it."""
    counts = ", ".join(f"{campaign.count(word)} {word}" for word in _COLOURS)
    return (
        f"{len(campaign.results)} checks: {counts}. If every theorem is true, the probability that any check reports a "
        f"disagreement (the family-wise false-alarm rate) is at most {campaign.false_alarm:g}: it is shared equally "
        "among the checks, and within a check among its outputs. A check that agrees would have reported a deviation "
        f"of one percent of the scale of each output it names 95 times in 100. Seed {campaign.seed}."
    )


def report_text(campaign: Campaign) -> str:
    """The report for a terminal."""
    cells = [("entry", "verdict", "z", "samples", "seconds")]
    for result in campaign.results:
        cells.append(
            (result["entry"], result["verdict"], worst(result), str(result["samples"]), f"{result['seconds']:.1f}")
        )
    widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
    lines = ["  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in cells]
    for word in ("disagrees", "cannot tell"):
        chosen = [result for result in campaign.results if result["verdict"] == word]
        if chosen:
            lines += ["", f"{word}:"]
            lines += [f"  {r['entry']} at {point_text(r)}: {r['reason']}" for r in chosen]
    return "\n".join([*lines, "", summary(campaign)])


def report_html(campaign: Campaign) -> str:
    """The report as a page of its own."""
    rows = []
    for result in campaign.results:
        colour = _COLOURS[result["verdict"]]
        details = "".join(
            f"<tr><td>{escape(str(r['output']))}</td><td>{_cell(r['prediction'])}</td><td>{_cell(r['estimate'])}</td>"
            f"<td>{_cell(r['standard_error'])}</td><td>{_cell(r['z'])}</td><td>{_cell(r['raw_gap'])}</td>"
            f"<td>{_cell(r['gap'])}</td><td>{r['samples']}</td><td>{escape(r['treatment'])}</td>"
            f"<td>{escape(r['verdict'])}{': ' + escape(r['reason']) if r['reason'] else ''}</td></tr>"
            for r in result["rows"]
        )
        heads = "output theorem simulation error z raw&nbsp;gap gap samples treatment verdict"
        table = "".join(f"<th>{head}</th>" for head in heads.split())
        rows.append(
            f"<tr><td><details><summary><code>{escape(result['entry'])}</code></summary><p>{escape(point_text(result))}</p>"
            f"<table><tr>{table}</tr>{details}</table></details></td>"
            f"<td style='color:{colour};white-space:nowrap'>{result['verdict']}</td><td>{worst(result)}</td>"
            f"<td>{result['samples']}</td><td>{escape(result['reason'])}</td></tr>"
        )
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'><title>Theorem Engine: campaign</title>"
        f"<style>{_STYLE}</style></head><body><h1>Theorems against simulators</h1><p>{escape(summary(campaign))}</p>"
        "<table><tr><th>entry</th><th>verdict</th><th>z</th><th>samples</th><th>reason</th></tr>"
        f"{''.join(rows)}</table></body></html>"
    )


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else escape(str(value))


def write_reports(campaign: Campaign) -> list[Path]:
    """Write ``report.json`` and ``report.html`` beside the journal; a reader never sees half a file."""
    data = json.dumps(campaign.to_json(), indent=2, ensure_ascii=False, allow_nan=False)
    written = [campaign.folder / name for name in REPORTS]
    for path, text in zip(written, (data, report_html(campaign)), strict=True):
        write_whole(path, text)
    return written


def refuse_foreign_reports(folder: Path) -> None:
    """An error where reports lie without the journal of a campaign: they are somebody else's files."""
    if not (folder / JOURNAL).exists():
        for name in REPORTS:
            refuse_existing(folder / name)


def live_table(tasks: Sequence[Task], done: Mapping[str, Any]) -> Any:
    """A table of what is finished and what waits."""
    from rich.table import Table

    finished = [done[task.key] for task in tasks if task.key in done]
    table = Table(title=f"{len(finished)} of {len(tasks)} checks finished")
    for heading in ("entry", "verdict", "z", "samples"):
        table.add_column(heading, no_wrap=heading == "entry")
    for result in finished[-30:]:
        colour = {"agrees": "green", "disagrees": "red"}.get(result["verdict"], "yellow")
        table.add_row(result["entry"], f"[{colour}]{result['verdict']}[/]", worst(result), str(result["samples"]))
    return table
