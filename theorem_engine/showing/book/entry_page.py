"""The page of an entry: statement, curve, example, letters, conditions, what it rests on, where it is from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from theorem_engine.asking.citation import cite
from theorem_engine.base.exact import to_text
from theorem_engine.language.catalogue import find_entry
from theorem_engine.language.entry import Entry
from theorem_engine.language.letters import conventions_of
from theorem_engine.showing.book.curve import curve_of
from theorem_engine.showing.book.evidence import Evidence
from theorem_engine.showing.book.frame import entry_place, page_html, paper_place, root_of
from theorem_engine.showing.book.mathematics import definition_name, inline, opening
from theorem_engine.showing.book.plan_graph import plan_html
from theorem_engine.showing.book.reliability import badges, reliability_html
from theorem_engine.showing.book.svg_plot import Plot, plot_svg
from theorem_engine.showing.book.terms import heading
from theorem_engine.showing.example import PROMPT, example_of
from theorem_engine.showing.formula.names import read_name
from theorem_engine.showing.formula.tree import Tree
from theorem_engine.showing.latex_page import entry_latex
from theorem_engine.showing.page import equation, statement_html
from theorem_engine.showing.rule_text import prose, readable, rule_text
from theorem_engine.showing.stated import Stated, stated
from theorem_engine.showing.ways import ways_of


def entry_page(entry: Entry, evidence: Evidence, used_by: Sequence[str]) -> str:
    """The whole page."""
    found = stated(entry)
    parts = [
        f'<p class="kind">{escape(entry.kind)} · <code>{escape(entry.id)}</code></p>',
        f"<h1>{escape(prose(entry.title))}</h1>",
        badges(entry, evidence),
        *(f"<p>{escape(prose(' '.join(text.split())))}</p>" for text in entry.description.split("\n\n")),
        heading("Statement", "statement"),
        f'<section class="statement">{"".join(_statement(found, list(found.applied)))}</section>',
        *(f'<p class="remark">{escape(remark)}</p>' for remark in found.remarks),
        _closed("LaTeX", entry_latex(entry)),
        _definitions(entry, found),
        heading("Curve", "curve"),
        curve_html(entry),
        _example(entry),
        _given(entry),
        _table("Gives", [_gives(name, output, found) for name, output in entry.outputs.items()]),
        _table("Letters", _letters(found)),
        _ways(entry),
        _list("Requires", [rule_text(rule) for rule in entry.requires]),
        _list("Assumes", [prose(text) for text in entry.assumes]),
        _list("Regime", [prose(str(entry.regime)), *(rule_text(rule) for rule in entry.warns)], "regime"),
        _list("Conventions of the paper", [prose(text) for text in conventions_of(entry.paper)]),
        reliability_html(entry, evidence),
        heading("Evaluation plan", "plan"),
        plan_html(entry),
        _relatives(entry, used_by),
        _list("Notes", [prose(text) for text in entry.notes]),
        heading("Cite"),
        f'<pre tabindex="0"><code>{escape(cite(entry.id))}</code></pre>',
    ]
    return page_html(entry.title, "\n".join(parts), entry_place(entry.id), ((entry.paper, paper_place(entry.paper)),))


def _statement(found: Stated, known: Iterable[str]) -> list[str]:
    names = set(known)
    return [opening(part.replace("<p>", '<div class="line">').replace("</p>", "</div>"), names) for part in
            statement_html(found)]  # fmt: skip


def _closed(title: str, text: str) -> str:
    return f"<details><summary>{escape(title)}</summary><pre><code>{escape(text)}</code></pre></details>"


def _definitions(entry: Entry, found: Stated) -> str:
    """What the statement applies, closed until it is asked for."""
    if not found.applied:
        return ""
    parts = [heading("Applies", "applies")]
    for id, tree in found.applied.items():
        other = find_entry(id)
        inside = stated(other)
        lines = "".join(_statement(inside, found.applied))
        parts.append(
            f'<details class="definition" id="{definition_name(id)}">'
            f"<summary>{inline(tree)} {escape(prose(other.title))}</summary>"
            f'<div class="body">{lines}<p><a href="{_to(entry, id)}">{escape(id)}</a></p></div></details>'
        )
    return "".join(parts)


def curve_html(entry: Entry) -> str:
    """The curve as a picture with a caption, or the reason why there is none."""
    curve = curve_of(entry)
    if isinstance(curve, str):
        return f"<p>Not drawn: {escape(curve)}.</p>"
    title = f"{curve.output} of {entry.id} over {curve.letter}"
    label = f"{curve.letter} ({prose(curve.letter_meaning)})" if len(curve.letter_meaning) < 70 else curve.letter
    drawn = plot_svg(
        Plot(curve.x, curve.y, curve.errors, label, curve.output, title, curve.is_logarithmic, curve.simulated)
    )
    said = [
        f"{curve.output}: {prose(curve.output_meaning)}",
        f"over {curve.letter}" + (f" at {curve.fixed}" if curve.fixed else ""),
    ]
    caption = escape(", ".join(said)) + "."
    remarks = "".join(f" {escape(remark)}" for remark in curve.remarks)
    return f"<figure>{drawn}<figcaption>{caption}{remarks}</figcaption></figure>"


def _example(entry: Entry) -> str:
    example = example_of(entry)
    if example is None:
        return ""
    code = "\n".join([f"{PROMPT} import theorem_engine as te", *example.python(), *example.command()])
    return heading("Example") + f'<pre class="code" tabindex="0"><code>{escape(code)}</code></pre>' + _rows(
        [tuple(f"<code>{escape(part)}</code>" for part in text.split(" = ", 1)) for text in example.prints]
    )  # fmt: skip


def _given(entry: Entry) -> str:
    rows = []
    for letter in entry.given:
        default = ""
        if letter.is_optional:
            default = "; may be left out"
        elif not letter.is_required:
            default = f"; {to_text(letter.default)} if not given"
        domain = f"{readable(letter.domain.describe())}{default}"
        sign = inline(read_name(letter.latex_name)) if not letter.domain.is_option else ""
        rows.append((f"<code>{escape(letter.name)}</code>", sign, escape(prose(letter.meaning)), escape(domain)))
    choices = "".join(f"<p>{escape(rule.text())}</p>" for rule in entry.given_rules)
    return heading("Given", "given") + _rows(rows) + choices


def _gives(name: str, output: Any, found: Stated) -> tuple[str, ...]:
    sign = inline(found.aliases[name]) if name in found.aliases else ""
    limits = readable(output.range.describe()) if output.range else ""
    return f"<code>{escape(name)}</code>", sign, escape(prose(output.meaning)), escape(limits)


def _letters(found: Stated) -> list[tuple[str, ...]]:
    rows = [(inline(tree), escape(prose(meaning))) for tree, _, meaning in found.letters]
    return [*rows, *((escape(name), escape(meaning)) for name, meaning in found.functions.items())]


def _ways(entry: Entry) -> str:
    rows = [
        (escape(words), "<br>".join(_equation(equation(line)) for line in lines)) for words, lines in ways_of(entry)
    ]
    return _table("Ways to describe it", rows)


def _equation(tree: Tree) -> str:
    return inline(tree)


def _relatives(entry: Entry, used_by: Sequence[str]) -> str:
    def links(ids: Iterable[str]) -> str:
        found = [
            f'<li><a href="{_to(entry, id)}">{escape(id)}</a> {escape(prose(find_entry(id).title))}</li>' for id in ids
        ]
        return f"<ul>{''.join(found)}</ul>" if found else "<p>Nothing in the registry.</p>"

    return (
        heading("Uses") + links(dict.fromkeys(entry.needs.values())) + heading("Used by") + links(used_by)
    )  # fmt: skip


def _to(entry: Entry, id: str) -> str:
    return root_of(entry_place(entry.id)) + entry_place(id)


def _table(title: str, rows: Sequence[tuple[str, ...]], term: str = "") -> str:
    return heading(title, term) + _rows(rows) if rows else ""


def _rows(rows: Sequence[tuple[str, ...]]) -> str:
    """A table of cells that are HTML already; columns without content are left out."""
    used = [k for k in range(len(rows[0])) if any(row[k] for row in rows)] if rows else []
    body = "".join(f"<tr>{''.join(f'<td>{row[k]}</td>' for k in used)}</tr>" for row in rows)
    return f'<div class="wide" tabindex="0"><table>{body}</table></div>'


def _list(title: str, lines: Sequence[str], term: str = "") -> str:
    if not lines:
        return ""
    return heading(title, term) + "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>"
