"""Figures as pages: caption, options, what they rest on, how to draw and to save them."""

from __future__ import annotations

import inspect
import textwrap
from dataclasses import dataclass
from html import escape
from typing import Any

from theorem_engine.base.exact import to_text
from theorem_engine.language.figure import find_figure
from theorem_engine.language.source import MARKS
from theorem_engine.showing.example import PROMPT

_WIDTH = 80


@dataclass(frozen=True)
class FigurePage:
    """What a page says about a figure, as text, as HTML and as plain data."""

    id: str
    title: str
    caption: str
    source: str
    options: tuple[tuple[str, str], ...]
    #: Entries whose values it shows, each with a point of its curves.
    settings: tuple[tuple[str, str], ...]
    marks: tuple[str, ...]

    def commands(self) -> tuple[str, ...]:
        """How to draw it, in Python and on the command line."""
        return (
            f'{PROMPT} te.figure("{self.id}").save("figure.png")',
            f"$ theorem-engine figure {self.id} --out figure.png",
            f"$ theorem-engine figure {self.id} --out figure.csv",
        )

    def sections(self) -> list[tuple[str, list[str]]]:
        """Headings with lines, empty ones left out."""
        found = [
            ("Options", [f"{name} = {default}" for name, default in self.options]),
            ("Rests on", [f"{id} at {point}" if point else id for id, point in self.settings]),
            ("Source", [self.source] if self.source else []),
            ("Provenance", [f"{mark}  {MARKS[mark]}" for mark in self.marks if mark in MARKS]),
            ("Draw and save", list(self.commands())),
        ]
        return [(heading, lines) for heading, lines in found if lines]

    def __str__(self) -> str:
        lines = [f"{self.id} (figure)", *textwrap.wrap(self.title, _WIDTH), ""]
        for paragraph in self.caption.split("\n\n"):
            lines += [*_wrapped(" ".join(paragraph.split())), ""]
        for heading, rows in self.sections():
            lines += [heading, *(line for text in rows for line in _wrapped(text)), ""]
        return "\n".join(lines).rstrip()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        parts = [f"<h3>{escape(self.title)}</h3><p><code>{escape(self.id)}</code> (figure)</p>"]
        parts += [f"<p>{escape(part)}</p>" for part in self.caption.split("\n\n")]
        for heading, rows in self.sections():
            parts.append(f"<h4>{heading}</h4><ul>{''.join(f'<li>{escape(text)}</li>' for text in rows)}</ul>")
        return f'<div id="{escape(self.id)}">{"".join(parts)}</div>'

    def to_json(self) -> dict[str, Any]:
        """The page as plain data."""
        return {"id": self.id, "kind": "figure", "title": self.title, "caption": self.caption, "source": self.source,
                "options": dict(self.options), "settings": [list(pair) for pair in self.settings]}  # fmt: skip


def figure_page(id: str) -> FigurePage:
    """The page of a figure."""
    found = find_figure(id)
    settings = tuple(
        (entry, ", ".join(f"{name}={to_text(value)}" for name, value in point.items()))
        for entry, point in getattr(found, "settings", ())
    )
    options = tuple(
        (name, "none" if value in (None, "") else to_text(value)) for name, value in found.options().items()
    )
    caption = inspect.cleandoc(getattr(found, "caption", "") or "")
    marks = tuple(getattr(found, "marks", "") or "")
    return FigurePage(found.id, found.title, caption, str(found.source or ""), options, settings, marks)


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(
        text, _WIDTH, initial_indent="  ", subsequent_indent="    " if text[:1] in ">$" else "  ",
        break_on_hyphens=False,
    )  # fmt: skip
