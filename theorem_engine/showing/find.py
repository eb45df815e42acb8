"""Looking things up: which entries exist, which of them speak about some words, and one by name."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, overload

from theorem_engine.base.errors import BadRequest, nearest
from theorem_engine.base.exact import to_text
from theorem_engine.base.text import jsonable
from theorem_engine.language import catalogue
from theorem_engine.showing.index import Row, all_rows, row_of

if TYPE_CHECKING:
    from theorem_engine.language.entry import Entry

#: Columns of the table, in order; plain text leaves out the last to stay narrow.
HEADINGS = ("id", "kind", "title", "needs", "gives")


@dataclass(frozen=True, repr=False)
class Table:
    """Rows that answer a search, in order of their ids, as text, as HTML and as plain data."""

    rows: tuple[Row, ...]
    text: str = ""

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
            for row in self.rows
        ]

    def summary(self) -> str:
        """One sentence under the table: how many there are, or what to try when there are none."""
        count = len(self.rows)
        about = f" with {self.text!r}" if self.text else ""
        if not count:
            return f"No entry{about}; `theorem-engine find` lists all."
        return f"{count} {'entry' if count == 1 else 'entries'}{about}; `theorem-engine show ID` prints one in full."

    def to_json(self) -> list[dict[str, Any]]:
        """The table as plain data."""
        names = ("id", "kind", "title", "needs", "optional", "gives", "source", "aliases")
        return [{name: jsonable(getattr(row, name), None) for name in names} for row in self.rows]

    def __str__(self) -> str:
        if not self.rows:
            return self.summary()
        table = [cells[:-1] for cells in (HEADINGS, *self.cells())]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        table.insert(1, tuple("-" * width for width in widths))
        lines = ["  ".join(c.ljust(width) for c, width in zip(cells, widths, strict=True)).rstrip() for cells in table]
        return "\n".join([*lines, self.summary()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(word)}</th>" for word in HEADINGS)
        body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>" for cells in self.cells())
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{escape(self.summary())}</p>"


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
            return Entries(self.rows[index], self.text, self.found[index])
        return self.found[index]

    def __len__(self) -> int:
        return len(self.found)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.found)


def find(text: str = "", paper: str | None = None) -> Entries:
    """Entries that contain every word of a text: in id, title, description, label, outputs or letters.

    Upper and lower case are the same. With ``paper`` only the entries of that paper are listed.

    >>> [entry.id for entry in find("linear predictor")]
    ['marion2025.linear-risk']
    """
    everything = {entry.id: entry for entry in catalogue.all_entries()}
    table = _select([row_of(entry) for entry in everything.values()], text, paper)
    return Entries(table.rows, table.text, tuple(everything[row.id] for row in table.rows))


def search(text: str = "", paper: str | None = None) -> Table:
    """The table of ``find`` without the entries, and without importing any paper if the index is up to date.

    >>> [row.id for row in search("linear predictor").rows]
    ['marion2025.linear-risk']
    """
    return _select(all_rows(), text, paper)


def _select(rows: list[Row], text: str, paper: str | None) -> Table:
    if not isinstance(text, str):
        raise BadRequest(f"find takes words, not a {type(text).__name__}")
    known = sorted({row.paper for row in rows})
    if paper is not None and paper not in known:
        word = str(paper)[:80]
        raise BadRequest(f"no paper {word!r}{nearest(word, known)}. There are {', '.join(known)}.")
    words = text.casefold().split()
    chosen = (row for row in rows if paper in (None, row.paper) and all(word in row.text for word in words))
    return Table(tuple(chosen), " ".join(text.split()))


def entry(id: catalogue.Named) -> Entry:
    """The entry with an id, or with the label the paper gives it.

    >>> entry("marion2025.corollary-2").id
    'marion2025.oracle-risk'
    """
    # an entry that is looked at shows itself as a page
    importlib.import_module("theorem_engine.showing.page")
    return catalogue.find_entry(id)


def entries() -> list[Entry]:
    """Every entry of every paper, in order of their ids."""
    return catalogue.all_entries()


def entry_json(entry: Entry) -> dict[str, Any]:
    """Everything a page or a form needs to know about an entry, as plain data."""
    # a search starts without SymPy, which pages need
    import sympy

    from theorem_engine.language.entry import MARKS
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
        "source": {"work": source.work, "label": source.label, "version": source.version, "guessed": source.guessed},
        "marks": {mark: MARKS[mark] for mark in entry.marks},
        "needs": dict(entry.needs),
        "checks": [getattr(check, "__name__", str(check)) for check in entry.checks],
        "notes": list(entry.notes),
    }
