"""Entries as pages: plain text at 80 columns, and HTML with MathML."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from theorem_engine.base.exact import to_text
from theorem_engine.checking.ledger import evidence_of
from theorem_engine.language.entry import Entry
from theorem_engine.language.letters import conventions_of
from theorem_engine.language.source import MARKS
from theorem_engine.language.statement import strip
from theorem_engine.showing.example import example_of
from theorem_engine.showing.formula.lines import mathml, mathml_lines, plain, text_lines
from theorem_engine.showing.formula.names import read_name
from theorem_engine.showing.formula.tree import EMPTY, EQUALS, RELATION, Tree, row
from theorem_engine.showing.rule_text import prose, readable, rule_text
from theorem_engine.showing.source_text import source_text
from theorem_engine.showing.stated import Line, Stated, Words, stated
from theorem_engine.showing.ways import ways_of

WIDTH = 80
#: A section: its heading, and rows of cells of which the last is wrapped.
Section = tuple[str, list[tuple[str, ...]]]


def entry_text(entry: Entry, chosen: Mapping[str, Any] | None = None) -> str:
    """A page about one entry: what it says, what it takes and gives, and where it comes from."""
    found = stated(entry, chosen)
    lines = [f"{entry.id} ({entry.kind})", *_wrapped(prose(entry.title), 0), ""]
    for paragraph in entry.description.split("\n\n"):
        lines += [*_wrapped(prose(" ".join(paragraph.split())), 2), ""]
    lines += [f"Statement{_choice(chosen)}", *statement_text(found), *(_remarks(found))]
    for heading, rows in _sections(entry, found, chosen):
        lines += ["", heading, *_table(rows)]
    lines += _example_text(entry)
    return "\n".join(line.rstrip() for line in lines)


def _choice(chosen: Mapping[str, Any] | None) -> str:
    return f" for {', '.join(f'{k} = {to_text(v)}' for k, v in chosen.items())}" if chosen else ""


def statement_text(found: Stated) -> list[str]:
    """The equations as text, sentences between them."""
    lines: list[str] = []
    for item in found.items:
        if isinstance(item, Words):
            lines += _wrapped(plain(item.tree), 2)
        elif item.right.kind == "cases":
            lines += _brace(item)
        else:
            lines += text_block(equation(item), 4, 8)
    return lines


def equation(line: Line) -> Tree:
    """An equation as one tree; a right side that begins with a relation has its own."""
    first = line.right.parts[0] if line.right.kind == "row" and line.right.parts else EMPTY
    if first.kind == "sign" and first.data[2] == RELATION:
        return row(line.left, *line.right.parts, level=0)
    return row(line.left, EQUALS, line.right, level=0)


def text_block(tree: Tree, indent: int, later: int) -> list[str]:
    """A tree as lines of text, those after the first indented more."""
    found = text_lines(tree, WIDTH - indent, WIDTH - later)
    return [" " * (later if k else indent) + line for k, line in enumerate(found)]


def _brace(line: Line) -> list[str]:
    """Cases behind a brace, one below the other."""
    head = f"    {plain(line.left)} = "
    inner: list[str] = []
    if len(head) > 30:
        inner, head = [head.rstrip()], " " * 8
    room = WIDTH - len(head) - 2
    rows: list[str] = []
    for value, condition in zip(line.right.parts[::2], line.right.parts[1::2], strict=True):
        shown = plain(condition)
        words = "otherwise" if not shown or shown == "otherwise" else f"if {shown}"
        parts = text_lines(value, room, room - 2) or [""]
        block = [part if k == 0 else f"  {part}" for k, part in enumerate(parts)]
        if len(block[-1]) + 3 + len(words) <= room:
            block[-1] += f"   {words}"
        else:
            block += textwrap.wrap(words, room - 4, initial_indent="    ", subsequent_indent="    ")
        rows += block
    middle = len(rows) // 2
    for position, text in enumerate(rows):
        mark = "⎧" if position == 0 else "⎩" if position == len(rows) - 1 else "⎨" if position == middle else "⎪"
        mark = mark if len(rows) > 1 else "{"
        inner.append(f"{head if position == 0 else ' ' * len(head)}{mark} {text}")
    return inner


def _remarks(found: Stated) -> list[str]:
    return [line for remark in found.remarks for line in _wrapped(remark, 2)]


def _wrapped(text: str, indent: int, later: int | None = None) -> list[str]:
    pad = " " * indent
    after = pad if later is None else " " * later
    return textwrap.wrap(text, WIDTH, initial_indent=pad, subsequent_indent=after, break_on_hyphens=False)


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    """Rows of cells in columns; the last cell is wrapped, and begins on a line of its own behind long names."""
    lines: list[str] = []
    widths = [min(max(map(len, column)), 18) for column in zip(*(r[:-1] for r in rows), strict=True)]
    for *cells, last in rows:
        head = "  " + "".join(cell.ljust(width) + "  " for cell, width in zip(cells, widths, strict=True))
        at = 2 + sum(width + 2 for width in widths)
        if len(head) > at:
            lines.append(head.rstrip())
            lines += _wrapped(last, at)
        else:
            wrapped = _wrapped(last, at) or [""]
            lines += [(head + wrapped[0][at:]), *wrapped[1:]]
    return lines


def _sections(entry: Entry, found: Stated, chosen: Mapping[str, Any] | None) -> Iterator[Section]:
    """Headings with rows of cells; empty sections are left out."""
    aliases = f"; also found as {', '.join(entry.all_aliases())}" if entry.all_aliases() else ""
    sections: dict[str, list[tuple[str, ...]]] = {
        "Given": [_given(x) for x in entry.given],
        "Choices": [(rule.text(),) for rule in entry.given_rules],
        "Gives": [_gives(name, output, found) for name, output in entry.outputs.items()],
        "Letters": _letters(found),
        "Applies": [(plain(tree), name) for name, tree in found.applied.items()],
        "Ways to describe it": [] if chosen else [(text,) for text in _ways(entry)],
        "Requires": [(rule_text(requirement),) for requirement in entry.requires],
        "Assumes": [(prose(text),) for text in entry.assumes],
        "Regime": [(prose(str(entry.regime)),), *((rule_text(warn),) for warn in entry.warns)],
        "Conventions": [(prose(text),) for text in conventions_of(entry.paper)],
        "Source": [(f"{source_text(entry)}{aliases}",)],
        "Provenance": [(mark, MARKS[mark]) for mark in entry.marks],
        "Evidence": [(str(evidence_of(entry)),)],
        "Rests on": [(name,) for name in dict.fromkeys(entry.needs.values())],
        "Notes": [(prose(text),) for text in entry.notes],
    }
    yield from ((heading, rows) for heading, rows in sections.items() if rows)


def _given(letter: Any) -> tuple[str, str, str]:
    domain = readable(letter.domain.describe())
    default = ""
    if letter.is_optional:
        default = "; may be left out"
    elif not letter.is_required:
        default = f"; {to_text(letter.default)} if not given"
    return letter.name, plain(read_name(letter.latex_name)), f"{prose(letter.meaning)}; {domain}{default}"


def _gives(name: str, output: Any, found: Stated) -> tuple[str, str, str]:
    symbol = plain(found.aliases[name]) if name in found.aliases else ""
    limits = f"; {readable(output.range.describe())}" if output.range else ""
    return name, symbol, f"{prose(output.meaning)}{limits}"


def _letters(found: Stated) -> list[tuple[str, ...]]:
    rows = [(plain(tree), prose(meaning)) for tree, _, meaning in found.letters]
    return [*rows, *found.functions.items()]


def _ways(entry: Entry) -> Iterator[str]:
    for words, lines in ways_of(entry):
        yield f"{words}: {'; '.join(plain(equation(line)) for line in lines)}"


def _example_text(entry: Entry) -> list[str]:
    example = example_of(entry)
    if example is None:
        return []
    lines = ["", "Example", *(f"  {line}" for line in example.python()), *(f"  {line}" for line in example.command())]
    return [*lines, *(line for text in example.prints for line in _wrapped(text, 2, 6))]


# the same for browsers


def entry_html(entry: Entry, chosen: Mapping[str, Any] | None = None) -> str:
    """The same page for a notebook, its equations as MathML."""
    found = stated(entry, chosen)
    parts = [f"<h3>{escape(prose(entry.title))}</h3><p><code>{escape(entry.id)}</code> ({escape(entry.kind)})</p>"]
    parts += [f"<p>{escape(prose(part))}</p>" for part in entry.description.split("\n\n")]
    parts.append(f"<h4>Statement{escape(_choice(chosen))}</h4>")
    parts += statement_html(found)
    parts += [f"<p>{escape(remark)}</p>" for remark in found.remarks]
    for heading, rows in _sections(entry, found, chosen):
        body = "".join(f"<tr>{''.join(f'<td>{_cell(heading, c)}</td>' for c in cells)}</tr>" for cells in rows)
        parts.append(f"<h4>{heading}</h4><table>{body}</table>")
    if example := example_of(entry):
        shown = "\n".join((*example.python(), *example.command(), *example.prints))
        parts.append(f"<h4>Example</h4><pre>{escape(shown)}</pre>")
    return f'<div id="{escape(entry.id)}" style="overflow-x: auto">{"".join(parts)}</div>'


def _cell(heading: str, text: str) -> str:
    if heading in ("Applies", "Rests on") and "." in text:
        return f'<a href="#{escape(text)}">{escape(text)}</a>'
    return escape(text)


def statement_html(found: Stated) -> list[str]:
    """The equations as MathML, sentences between them."""
    parts = []
    for item in found.items:
        if isinstance(item, Words):
            parts.append(f"<p>{words_html(item.tree)}</p>")
            continue
        left = mathml_lines(item.left, 10**6)[0]
        right = Tree("row", equation(item).parts[1:], level=0)
        # a brace stands behind its sign, however wide it is
        lines = [mathml(right)] if item.right.kind == "cases" else mathml_lines(right, 84, 84)
        cells = [
            f'<mtr><mtd style="text-align: right">{left if k == 0 else ""}</mtd>'
            f'<mtd style="text-align: left; padding-left: 0">{line}</mtd></mtr>'
            for k, line in enumerate(lines)
        ]
        table = f'<mtable displaystyle="true">{"".join(cells)}</mtable>'
        parts.append(f"<p>{_math(table)}</p>")
    return parts


def words_html(tree: Tree) -> str:
    """A sentence with formulas in it."""
    if tree.kind == "sign" and tree.data[2] == "word":
        return escape(tree.data[1])
    if tree.kind == "row" and any(p.kind == "row" or (p.kind == "sign" and p.data[2] == "word") for p in tree.parts):
        return "".join(words_html(part) for part in tree.parts)
    return _math(mathml(tree)) if tree != EMPTY else ""


def _math(inside: str) -> str:
    return f'<math xmlns="http://www.w3.org/1998/Math/MathML">{inside}</math>'


def stated_equations(entry: Entry) -> Iterator[tuple[Any, Any]]:
    """Equations as their author wrote them, without those the chain rule added: plain data."""
    from theorem_engine.language.entry import shown_options

    for symbol, equation in entry.statement(shown_options(entry)).equations.items():
        if not symbol.name.startswith("d("):
            yield symbol, strip(equation)


class _Pages:
    """Pages of entries, for entries to show themselves with."""

    text = staticmethod(entry_text)
    html = staticmethod(entry_html)


Entry.pages = _Pages()
