"""Looking things up: which entries exist, which of them speak about some words, and one by name."""

from __future__ import annotations

import importlib
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, overload

from theorem_engine.base.errors import BadRequest, nearest
from theorem_engine.base.exact import to_text
from theorem_engine.base.text import jsonable
from theorem_engine.language import catalogue
from theorem_engine.showing.index import Row, all_rows, read_rows
from theorem_engine.showing.ranking import nearest_words, ranked

if TYPE_CHECKING:
    from theorem_engine.language.entry import Entry

#: Columns of the table, in order; plain text leaves out the last to stay narrow.
HEADINGS = ("id", "kind", "title", "needs", "gives")


@dataclass(frozen=True, repr=False)
class Table:
    """Rows that answer a search, the best first, as text, as HTML and as plain data; figures come after entries."""

    rows: tuple[Row, ...]
    text: str = ""
    figures: tuple[Row, ...] = ()
    #: The words that were looked for instead, where those asked for occur nowhere.
    nearest: str = ""

    def cells(self) -> list[tuple[str, ...]]:
        """The table without its heading; a letter with a default stands in brackets."""
        return [
            (
                row.id,
                row.kind,
                row.title,
                ", ".join((*row.needs, *(f"[{name}]" for name in row.optional))),
                ", ".join(row.gives),
            )
            for row in (*self.rows, *self.figures)
        ]

    def summary(self) -> str:
        """One sentence under the table: how many there are, or what to try when there are none."""
        about = f" with {self.text!r}" if self.text else ""
        if not self.rows and not self.figures:
            return f"No entry{about}; `theorem-engine find` lists all."
        counts = [_counted(len(self.rows), "entry", "entries")] if self.rows else []
        counts += [_counted(len(self.figures), "figure", "figures")] if self.figures else []
        if self.nearest:
            return f"Nothing{about}; these are about {self.nearest!r}."
        return f"{' and '.join(counts)}{about}; `theorem-engine show ID` prints one in full."

    def to_json(self) -> list[dict[str, Any]]:
        """The table as plain data."""
        names = ("id", "kind", "title", "needs", "optional", "gives", "source", "aliases")
        return [{name: jsonable(getattr(row, name), None) for name in names} for row in (*self.rows, *self.figures)]

    def __str__(self) -> str:
        if not self.rows and not self.figures:
            return self.summary()
        lines = []
        for id, kind, title, needs, _ in self.cells():
            lines += _wrapped(f"{id.ljust(_ID_WIDTH)}  {title}", 0)
            lines += _wrapped(f"{kind}; takes {needs}" if needs else kind, _ID_WIDTH + 2)
        return "\n".join([*lines, *_wrapped(self.summary(), 0, 0)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(word)}</th>" for word in HEADINGS)
        body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>" for cells in self.cells())
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{escape(self.summary())}</p>"


#: Columns of ids, and of a page.
_ID_WIDTH, _WIDTH = 32, 80


def _wrapped(text: str, indent: int, later: int = _ID_WIDTH + 2) -> list[str]:
    return textwrap.wrap(
        text, _WIDTH, initial_indent=" " * indent, subsequent_indent=" " * later, break_on_hyphens=False,
        drop_whitespace=True,
    )  # fmt: skip


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


@dataclass(frozen=True, repr=False)
class Entries(Table, Sequence["Entry"]):
    """Entries that answer a search; a sequence that prints as its table."""

    found: tuple[Entry, ...] = ()

    @overload
    def __getitem__(self, index: int) -> Entry: ...
    @overload
    def __getitem__(self, index: slice) -> Entries: ...
    def __getitem__(self, index: int | slice) -> Entry | Entries:
        if isinstance(index, slice):
            return Entries(self.rows[index], self.text, (), self.nearest, self.found[index])
        return self.found[index]

    def __len__(self) -> int:
        return len(self.found)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.found)


def find(text: str = "", paper: str | None = None) -> Entries:
    """Entries that contain every word of a text, or another for the same thing, and figures beside them.

    Those come first that have the words in their id, then title, letters, text. A word that occurs nowhere is
    answered with the nearest. Upper and lower case are the same. With ``paper`` only that paper is
    searched.

    >>> [entry.id for entry in find("linear predictor")]
    ['marion2025.linear-risk', 'duranthon2026.ridge-limit']
    """
    everything = {entry.id: entry for entry in catalogue.all_entries()}
    _teach_latex()
    table = _select(read_rows(), text, paper)
    found = tuple(everything[row.id] for row in table.rows)
    return Entries(table.rows, table.text, table.figures, table.nearest, found)


def search(text: str = "", paper: str | None = None) -> Table:
    """The table of ``find`` without the entries, and without importing any paper if the index is up to date.

    >>> [row.id for row in search("linear predictor").rows]
    ['marion2025.linear-risk', 'duranthon2026.ridge-limit']
    """
    return _select(all_rows(), text, paper)


def _select(rows: list[Row], text: str, paper: str | None) -> Table:
    if not isinstance(text, str):
        raise BadRequest(f"find takes words, not a {type(text).__name__}")
    known = sorted({row.paper for row in rows})
    if paper is not None and paper not in known:
        word = str(paper)[:80]
        raise BadRequest(f"no paper {word!r}{nearest(word, known)}. There are {', '.join(known)}.")
    here = [row for row in rows if paper in (None, row.paper)]
    chosen, near = ranked(here, text), ""
    if not chosen and (changed := nearest_words(here, text)):
        chosen, near = ranked(here, changed), changed
    entries = tuple(row for row in chosen if row.kind != "figure")
    figures = tuple(row for row in chosen if row.kind == "figure")
    return Table(entries, " ".join(text.split()), figures, near if chosen else "")


def entry(id: catalogue.Named) -> Entry:
    """The entry with an id, or with the label the paper gives it.

    >>> entry("marion2025.corollary-2").id
    'marion2025.oracle-risk'
    """
    # an entry that is looked at shows itself as a page
    importlib.import_module("theorem_engine.showing.page")
    _teach_latex()
    return catalogue.find_entry(id)


def _teach_latex() -> None:
    """Let entries write themselves as LaTeX; what does is imported when the first is asked to."""
    from theorem_engine.language.entry import Entry

    Entry.typeset = staticmethod(_typeset)


def _typeset(entry: Entry, chosen: Mapping[str, Any]) -> str:
    from theorem_engine.showing.latex_page import entry_latex

    return entry_latex(entry, chosen)


def is_figure(id: str) -> bool:
    """Whether a figure has this id; an entry of the same id goes before it."""
    from theorem_engine.base.errors import TheoremEngineError
    from theorem_engine.language.figure import find_figure

    try:
        catalogue.find_entry(id)
    except TheoremEngineError:
        try:
            find_figure(id)
        except TheoremEngineError:
            return False
        return True
    return False


def entries() -> list[Entry]:
    """Every entry of every paper, in order of their ids."""
    _teach_latex()
    return catalogue.all_entries()


def entry_json(entry: Entry) -> dict[str, Any]:
    """Everything a page or a form needs to know about an entry, as plain data."""
    # a search starts without SymPy, which pages need
    import sympy

    from theorem_engine.checking.ledger import evidence_of
    from theorem_engine.language.source import MARKS
    from theorem_engine.showing.page import stated_equations

    def letter(x: Any) -> dict[str, Any]:
        default = None if x.is_required or x.is_optional else to_text(x.default)
        facts = {"meaning": x.meaning, "domain": x.domain.to_json(), "required": x.is_required, "default": default}
        return {"name": x.name, "latex": x.latex_name, **facts}

    source = entry.source
    return {
        "id": entry.id,
        "kind": entry.kind,
        "title": entry.title,
        "description": entry.description,
        "aliases": list(entry.all_aliases()),
        "given": [letter(x) for x in entry.given],
        "outputs": {
            name: {"meaning": output.meaning, "range": output.range.to_json() if output.range else None}
            for name, output in entry.outputs.items()
        },
        "main_output": entry.main_output,
        "equations": [
            {"text": f"{left} = {right}", "latex": f"{sympy.latex(left)} = {sympy.latex(right)}"}
            for left, right in stated_equations(entry)
        ],
        "rules": [rule.text() for rule in entry.given_rules],
        "requires": [requirement.text() for requirement in entry.requires],
        "assumes": list(entry.assumes),
        "regime": str(entry.regime),
        "warns": [warn.text() for warn in entry.warns],
        "source": {
            "work": source.work,
            "label": source.label,
            "version": source.version,
            "guessed": source.guessed,
            "unpublished": source.words,
        },
        "marks": {mark: MARKS[mark] for mark in entry.marks},
        "needs": dict(entry.needs),
        "checks": [getattr(check, "__name__", str(check)) for check in entry.checks],
        "evidence": evidence_of(entry).to_json(),
        "notes": list(entry.notes),
    }
