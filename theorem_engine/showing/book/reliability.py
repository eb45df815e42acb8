"""How far an entry can be relied on: source, provenance, number, checks, and what nothing measures."""

from __future__ import annotations

from html import escape
from typing import Any

from theorem_engine.checking.simulators import covered_outputs, unchecked_outputs
from theorem_engine.language.entry import Entry
from theorem_engine.language.source import MARKS
from theorem_engine.showing.book.evidence import Evidence
from theorem_engine.showing.book.terms import heading, term_html
from theorem_engine.showing.source_text import source_text


def badges(entry: Entry, evidence: Evidence) -> str:
    """The state of an entry in two words, and its source."""
    return (
        f'<p class="badges"><span class="badge border-{evidence.border}">{evidence.border}</span> '
        f'<span class="badge fill-{evidence.fill.replace(" ", "-")}">{evidence.fill}</span> '
        f"<span>{escape(source_text(entry))}</span></p>"
    )


def reliability_html(entry: Entry, evidence: Evidence) -> str:
    """The section of an entry's page."""
    parts = [heading("Reliability", "reliability"), "<dl>"]
    parts.append(_item("Source", [escape(line) for line in _source(entry)]))
    marks = [f"<b>{mark}</b> {escape(MARKS[mark])}" for mark in entry.marks]
    parts.append(_item("Provenance", marks, term_html("provenance")))
    parts.append(_item("Number", [escape(line) for line in evidence.number], term_html("certificate")))
    parts.append(_item("Identities", _identities(entry)))
    parts.append(_item("Checks", [escape(line) for line in _checks(entry, evidence)], term_html("verdict")))
    parts.append(_records(evidence))
    parts.append("</dl>")
    return "".join(part for part in parts if part)


def _item(name: str, lines: list[str], closed: str = "") -> str:
    if not lines:
        return ""
    return f"<dt>{name}</dt><dd>{closed}{''.join(f'<p>{line}</p>' for line in lines)}</dd>"


def _source(entry: Entry) -> list[str]:
    source = entry.source
    if not source.label:
        sure = "The entry names no place in the work."
    elif source.guessed or "G" in entry.marks:
        sure = "That the statement stands at this place is a guess."
    else:
        sure = "The place is stated by whoever wrote the entry, not marked as a guess."
    aliases = entry.all_aliases()
    return [f"{source_text(entry)}. {sure}", *([f"Also found as {', '.join(aliases)}."] if aliases else [])]


def _identities(entry: Entry) -> list[str]:
    count = len(entry.identities)
    if not count:
        return []
    one = "identity" if count == 1 else "identities"
    command = f"<code>theorem-engine prove {escape(entry.id)}</code>"
    return [f"The entry carries {count} {one} that it must obey; {command} tries to prove or to refute each."]


def _checks(entry: Entry, evidence: Evidence) -> list[str]:
    lines = [evidence.said[:1].upper() + evidence.said[1:] + "."] if evidence.said else []
    if not lines:
        lines.append("No check of these equations is on record, so nothing is claimed here.")
    by_names: dict[str, list[str]] = {}
    for output, names in covered_outputs(entry).items():
        by_names.setdefault(", ".join(names), []).append(output)
    lines += [f"Can be measured, by {names}: {', '.join(outputs)}." for names, outputs in by_names.items()]
    for output, reason in unchecked_outputs(entry).items():
        lines.append(f"{output} is measured by nothing: {reason}")
    return lines


def _records(evidence: Evidence) -> str:
    """The checks on record: where, what was measured, how sharply, what came out."""
    rows = []
    for check in evidence.checks:
        point = ", ".join(f"{name} = {value}" for name, value in check["point"].items())
        for k, row in enumerate(check["rows"]):
            cells = (
                point if k == 0 else "", row.get("output"), row.get("simulator"), _number(row.get("z"), "+.2f"),
                _number(row.get("sees"), ".2%"), row.get("samples"), row.get("verdict"),
            )  # fmt: skip
            rows.append("".join(f"<td>{escape('' if cell is None else str(cell))}</td>" for cell in cells))
    if not rows:
        return ""
    head = "".join(f"<th>{word}</th>" for word in ("point", "output", "simulator", "z", "sees", "samples", "verdict"))
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    table = f'<div class="wide" tabindex="0"><table><tr>{head}</tr>{body}</table></div>'
    return (
        f"<dt>Checks on record</dt><dd><details><summary>{len(evidence.checks)} points</summary>{table}</details></dd>"
    )


def _number(value: Any, form: str) -> str | None:
    return format(value, form) if isinstance(value, (int, float)) else None
