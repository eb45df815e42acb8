"""Words that the book explains in place: each has a sentence in ``terms.toml``."""

from __future__ import annotations

import tomllib
from functools import cache
from html import escape
from importlib.resources import files

from theorem_engine.base.errors import DeclarationError


@cache
def all_terms() -> dict[str, str]:
    """Every word with its explanation."""
    text = (files("theorem_engine.showing.book") / "terms.toml").read_text(encoding="utf-8")
    return {name: str(words) for name, words in tomllib.loads(text).items()}


def term_html(name: str) -> str:
    """The explanation of a word, closed until it is asked for.

    >>> term_html("plan").startswith('<details class="term" data-term="plan">')
    True
    """
    if name not in all_terms():
        raise DeclarationError(f"{name!r} has no explanation in terms.toml; there are {', '.join(all_terms())}")
    words = escape(all_terms()[name])
    return f'<details class="term" data-term="{name}"><summary>what this means</summary><p>{words}</p></details>'


def heading(text: str, term: str = "", level: int = 2) -> str:
    """A heading that can be linked to, with the explanation of a word beside it."""
    anchor = "-".join(text.lower().split())
    closed = term_html(term) if term else ""
    return f'<div class="head"><h{level} id="{anchor}">{escape(text)}</h{level}>{closed}</div>'
