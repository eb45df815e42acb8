"""The page of a paper: its entries, how they rest on each other, its figures and what to cite."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from theorem_engine.language.entry import Entry
from theorem_engine.language.figure import Figure
from theorem_engine.language.letters import conventions_of
from theorem_engine.language.references import bibtex, works_of
from theorem_engine.showing.book.evidence import Evidence, strong
from theorem_engine.showing.book.frame import entry_place, page_html, paper_place, root_of
from theorem_engine.showing.book.svg_graph import Node, graph_svg
from theorem_engine.showing.book.terms import heading
from theorem_engine.showing.figure_page import figure_page
from theorem_engine.showing.rule_text import prose


def paper_page(
    paper: str, entries: Sequence[Entry], figures: Sequence[Figure], evidence: Mapping[str, Evidence]
) -> str:
    """The whole page."""
    works: dict[str, Any] = works_of(sys.modules.get(entries[0].module)) if entries else {}
    place = paper_place(paper)
    parts = [f"<h1>{escape(paper)}</h1><p>{escape(works_said(works))}</p>"]
    conventions = conventions_of(paper)
    if conventions:
        parts.append(heading("Conventions"))
        parts.append("<ul>" + "".join(f"<li>{escape(prose(text))}</li>" for text in conventions) + "</ul>")
    parts += [heading("Entries"), entry_table(entries, evidence, root_of(place))]
    parts += [heading("What rests on what", "evidence"), dependency_graph(entries, evidence, place)]
    if figures:
        parts.append(heading("Figures"))
        parts += [figure_html(figure, place) for figure in figures]
    parts.append(heading("Cite"))
    parts += [f'<pre tabindex="0"><code>{escape(bibtex(key, work))}</code></pre>' for key, work in works.items()]
    return page_html(paper, "\n".join(parts), place)


def works_said(works: Mapping[str, Any]) -> str:
    """The works that a part of the registry is after, in one sentence."""
    said = [f"“{_plain(work.get('title', key))}” ({_plain(work.get('year', key))})" for key, work in works.items()]
    return f"After {'; '.join(said)}." if said else ""


def _plain(text: Any) -> str:
    return str(text).replace("{", "").replace("}", "")


def entry_table(entries: Sequence[Entry], evidence: Mapping[str, Evidence], root: str) -> str:
    """Entries with their titles and states."""
    rows = []
    for entry in entries:
        known = evidence.get(entry.id)
        state = "" if known is None else f"{known.border}, {known.fill}"
        link = f'<a href="{root}{entry_place(entry.id)}">{escape(entry.name)}</a>'
        rows.append(
            f"<tr><td>{link}</td><td>{escape(prose(entry.title))}</td>"
            f"<td>{escape(entry.kind)}</td><td>{escape(state)}</td></tr>"
        )
    head = "<tr><th>entry</th><th>title</th><th>kind</th><th>evidence</th></tr>"
    return f'<div class="wide" tabindex="0"><table>{head}{"".join(rows)}</table></div>'


def dependency_graph(entries: Sequence[Entry], evidence: Mapping[str, Evidence], place: str) -> str:
    """Entries and what they need, coloured by evidence; entries of other papers by their whole ids."""
    sure = strong(evidence)
    mine = {entry.id for entry in entries}
    outside = dict.fromkeys(need for entry in entries for need in entry.needs.values() if need not in mine)
    nodes = []
    for id in (*outside, *(entry.id for entry in entries)):
        known = evidence.get(id)
        border, fill = (known.border, known.fill) if known is not None else ("stated", "unchecked")
        label = (id.partition(".")[2] if id in mine else id) + (" ★" if id in sure else "")
        look = f"border-{border} fill-{fill.replace(' ', '-')}"
        nodes.append(Node(id, label, look, root_of(place) + entry_place(id), f"{id}: {border}, {fill}"))
    edges = [(need, entry.id) for entry in entries for need in dict.fromkeys(entry.needs.values())]
    return graph_svg(nodes, edges, "What rests on what")


def figure_html(figure: Figure, place: str) -> str:
    """A figure's caption and how to draw it; the picture is left to whoever asks for it."""
    page = figure_page(figure.id)
    root = root_of(place)
    anchor = figure.id.partition(".")[2]
    caption = "".join(f"<p>{escape(prose(' '.join(text.split())))}</p>" for text in page.caption.split("\n\n"))
    rests = "".join(
        f'<li><a href="{root}{entry_place(id)}">{escape(id)}</a>{escape(f" at {point}") if point else ""}</li>'
        for id, point in page.settings
    )
    options = ", ".join(f"{name} = {default}" for name, default in page.options)
    return (
        f'<article id="{escape(anchor)}"><h3>{escape(page.title)}</h3>'
        f'<p class="kind"><code>{escape(page.id)}</code></p>'
        f"{caption}{f'<p>Options: {escape(options)}.</p>' if options else ''}"
        f"{f'<p>Rests on</p><ul>{rests}</ul>' if rests else ''}"
        f'<pre tabindex="0"><code>{escape(chr(10).join(page.commands()))}</code></pre></article>'
    )
