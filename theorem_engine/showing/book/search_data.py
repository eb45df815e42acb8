"""What the search of the book looks at, as a script that a page can load from a file."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from theorem_engine.language.entry import Entry
from theorem_engine.language.figure import Figure
from theorem_engine.showing.book.frame import entry_place, guide_place, paper_place
from theorem_engine.showing.book.guide import Guide
from theorem_engine.showing.index import Row, figure_row, row_of
from theorem_engine.showing.ranking import SYNONYMS


def search_script(entries: Sequence[Entry], figures: Sequence[Figure], guides: Sequence[Guide]) -> str:
    """A script that leaves documents and synonyms in ``window.BOOK_SEARCH``."""
    documents = [_document(row_of(entry), entry_place(entry.id)) for entry in entries]
    for figure in figures:
        paper, _, name = figure.id.partition(".")
        documents.append(_document(figure_row(figure), f"{paper_place(paper)}#{name}"))
    documents += [
        {"id": guide.name, "kind": "guide", "title": guide.title, "place": guide_place(guide.name), "names": "",
         "text": _words(guide.text)}
        for guide in guides
    ]  # fmt: skip
    data = json.dumps({"documents": documents, "synonyms": SYNONYMS}, ensure_ascii=True, separators=(",", ":"))
    return f"window.BOOK_SEARCH = {data};\n"


def _document(row: Row, place: str) -> dict[str, Any]:
    names = " ".join((*row.aliases, *row.needs, *row.optional, *row.gives))
    return {"id": row.id, "kind": row.kind, "title": row.title, "place": place, "names": names.casefold(),
            "text": _words(row.text)}  # fmt: skip


def _words(text: str) -> str:
    """The text without signs and repeated words: a search asks only whether a word is there."""
    return " ".join(dict.fromkeys(re.findall(r"[\w-]+", text.casefold())))
