"""What stands around every page of the book: head, way back, search, foot."""

from __future__ import annotations

from html import escape
from importlib.resources import files

from theorem_engine.base.version import __version__

#: Files that the pages share, beside the data of the search.
ASSETS = ("book.css", "book.js", "search.js")
SEARCH_DATA = "search-data.js"


def page_html(title: str, body: str, place: str, trail: tuple[tuple[str, str], ...] = ()) -> str:
    """A whole page; ``place`` is its path in the book, ``trail`` the pages above it as (text, path in the book)."""
    root = root_of(place)
    above = "".join(f'<a href="{root}{escape(path)}">{escape(text)}</a><span> / </span>' for text, path in trail)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)} · Theorem Engine</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="{root}assets/book.css">
</head>
<body data-root="{root}">
<a class="skip" href="#content">Skip to the content</a>
<header>
<nav aria-label="Book"><a class="home" href="{root}index.html">Theorem Engine</a>{above}</nav>
<form role="search" class="search" action="{root}index.html">
<input type="search" name="q" id="search" autocomplete="off" placeholder="Search: press /" aria-label="Search the book"
 aria-controls="hits" aria-describedby="hits-said">
<div id="hits" hidden></div><div id="hits-said" class="said" aria-live="polite"></div>
</form>
</header>
<main id="content" tabindex="-1">
{body}
</main>
<footer>Made from the registry by theorem-engine {escape(__version__)}.</footer>
<script src="{root}assets/{SEARCH_DATA}"></script>
<script src="{root}assets/search.js"></script>
<script src="{root}assets/book.js"></script>
</body>
</html>
"""


def root_of(place: str) -> str:
    """The way from a page to the root of the book.

    >>> root_of("index.html"), root_of("guide/design.html")
    ('', '../')
    """
    return "../" * place.count("/")


def entry_place(id: str) -> str:
    """Where the page of an entry stands.

    >>> entry_place("paper.meaning")
    'paper/meaning.html'
    """
    paper, _, name = id.partition(".")
    return f"{paper}/{name}.html"


def paper_place(paper: str) -> str:
    """Where the page of a paper stands."""
    return f"{paper}/index.html"


def guide_place(name: str) -> str:
    """Where a hand-written page stands."""
    return f"guide/{name}.html"


def asset(name: str) -> str:
    """The text of a file that is part of the book."""
    return (files("theorem_engine.showing.book") / "assets" / name).read_text(encoding="utf-8")
