"""Hand-written pages: Markdown of the project's documents as pages of the book."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection
from dataclasses import dataclass
from html import escape, unescape
from pathlib import Path

from theorem_engine.base.errors import NotAvailable
from theorem_engine.base.sources import engine_folder
from theorem_engine.showing.book.frame import entry_place, guide_place, page_html, root_of

#: The order in which a newcomer reads; what is not named here follows by name.
ORDER = (
    "first-query", "conventions", "how-errors-are-known", "what-a-verdict-means", "add-a-theorem",
    "reproduce-the-figures", "my-data", "cluster", "certificates", "architecture", "head-to-head",
)  # fmt: skip
_LINK = re.compile(r'<a href="([^"]*)">(.*?)</a>', re.DOTALL)
_CODE = re.compile(r"<code>([a-z][a-z0-9]*\.[a-z0-9-]+)</code>")
_HEADING = re.compile(r"<h([1-6])>(.*?)</h\1>", re.DOTALL)
_TABLE = re.compile(r"<table>.*?</table>", re.DOTALL)


@dataclass(frozen=True)
class Guide:
    """One document: the name of its page, where it stands among the sources, and its text."""

    name: str
    source: str
    text: str

    @property
    def title(self) -> str:
        """The first heading, without marks."""
        found = re.search(r"^#\s+(.+)$", self.text, re.MULTILINE)
        return found[1].replace("`", "") if found else self.name


def guides() -> list[Guide]:
    """All documents, in the order they are read; those of an installed package if there is no checkout."""
    root = engine_folder().parent
    folder = next((f for f in (engine_folder() / "docs", root / "docs") if f.is_dir()), None)
    found = (
        [Guide(path.stem, f"docs/{path.name}", _read(path)) for path in sorted(folder.glob("*.md"))] if folder else []
    )
    for path in sorted(engine_folder().rglob("README.md")):
        place = path.relative_to(engine_folder()).as_posix()
        found.append(Guide(path.parent.name, f"theorem_engine/{place}", _read(path)))
    rank = {name: k for k, name in enumerate(ORDER)}
    return sorted(found, key=lambda guide: (rank.get(guide.name, len(rank)), guide.name))


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def guide_page(guide: Guide, all_guides: Collection[Guide], ids: Collection[str]) -> str:
    """The whole page; what it names by an id that has a page is a link."""
    place = guide_place(guide.name)
    html = _LINK.sub(lambda match: _link(match, guide, all_guides), markdown_html(guide.text))
    html = _CODE.sub(lambda match: _entry_link(match, place, ids), html)
    html = _HEADING.sub(_anchored, html)
    html = _TABLE.sub(lambda match: f'<div class="wide" tabindex="0">{match[0]}</div>', html)
    html = html.replace("<pre>", '<pre tabindex="0">')
    return page_html(guide.title, html, place, (("guide", "index.html#guide"),))


def markdown_html(text: str) -> str:
    """Markdown as HTML; raw HTML in it is shown as text.

    >>> markdown_html("*so*")
    '<p><em>so</em></p>\\n'
    """
    try:
        from markdown_it import MarkdownIt
    except ImportError:
        raise NotAvailable("the book needs markdown-it-py: pip install 'theorem-engine[book]'") from None
    return str(MarkdownIt("commonmark", {"html": False}).enable("table").render(text))


def _link(match: re.Match[str], guide: Guide, all_guides: Collection[Guide]) -> str:
    """A link to another document leads to its page; one to a file that has none is only text."""
    target, text = unescape(match[1]), match[2]
    path, mark, anchor = target.partition("#")
    if target.startswith(("https://", "http://", "mailto:")) or not path:
        return match[0]
    wanted = posixpath.normpath(posixpath.join(posixpath.dirname(guide.source), path))
    other = next((g for g in all_guides if g.source == wanted), None)
    if other is None:
        return f"{text} (<code>{escape(wanted)}</code>)" if escape(wanted) not in text else text
    return f'<a href="{other.name}.html{mark}{escape(anchor)}">{text}</a>'


def _entry_link(match: re.Match[str], place: str, ids: Collection[str]) -> str:
    if match[1] not in ids:
        return match[0]
    return f'<a href="{root_of(place)}{entry_place(match[1])}"><code>{match[1]}</code></a>'


def _anchored(match: re.Match[str]) -> str:
    """A heading with the anchor that documents link to."""
    words = re.sub(r"<[^>]*>", "", unescape(match[2])).lower()
    anchor = re.sub(r"[^\w\- ]", "", words).strip().replace(" ", "-")
    return f'<h{match[1]} id="{escape(anchor)}">{match[2]}</h{match[1]}>'
