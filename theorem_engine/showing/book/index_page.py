"""The first page of the book: what it is, the guide, and every entry by paper."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape

from theorem_engine.language.entry import Entry
from theorem_engine.language.references import works_of
from theorem_engine.showing.book.evidence import Evidence
from theorem_engine.showing.book.frame import guide_place, page_html, paper_place
from theorem_engine.showing.book.guide import Guide
from theorem_engine.showing.book.paper_page import entry_table, works_said
from theorem_engine.showing.book.terms import heading

#: Verdicts of several entries.
_VERBS = {"agrees": "agree with simulations", "disagrees": "disagree with simulations",
          "cannot tell": "undecided"}  # fmt: skip


def index_page(papers: Mapping[str, Sequence[Entry]], guides: Sequence[Guide], evidence: Mapping[str, Evidence]) -> str:
    """The whole page."""
    count = sum(map(len, papers.values()))
    borders = Counter(found.border for found in evidence.values())
    fills = Counter(found.fill for found in evidence.values())
    states = ", ".join(f"{number} {_VERBS.get(word, word)}" for word, number in (*borders.items(), *fills.items()))
    parts = [
        "<h1>Theorem Engine</h1>",
        f"<p>{count} statements in {len(papers)} parts, each with its equations, a number with its error, and what "
        "speaks for it. Every page is made from the registry; nothing on it was typed twice.</p>",
        f"<p>State of the evidence: {escape(states)}.</p>",
    ]
    if guides:
        parts.append(heading("Guide"))
        links = (f'<li><a href="{guide_place(g.name)}">{escape(g.title)}</a></li>' for g in guides)
        parts.append(f"<ul>{''.join(links)}</ul>")
    parts.append(heading("Entries", "evidence"))
    for paper, entries in papers.items():
        said = works_said(works_of(sys.modules.get(entries[0].module)))
        parts.append(f'<h3><a href="{paper_place(paper)}">{escape(paper)}</a></h3><p>{escape(said)}</p>')
        parts.append(entry_table(entries, evidence, ""))
    return page_html("Book", "\n".join(parts), "index.html")
