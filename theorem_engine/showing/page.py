"""Entries as pages: plain text, and HTML with MathML."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from html import escape
from typing import Any

from theorem_engine.base.exact import to_text
from theorem_engine.language.entry import MARKS, Entry, shown_options
from theorem_engine.language.statement import strip

_WIDTH = 110
#: Characters of an equation that are shown as text.
_READABLE = 600


def entry_text(entry: Entry) -> str:
    """A page about one entry: what it says, what it takes and gives, and where it comes from."""
    lines = [f"{entry.id} ({entry.kind})", entry.title, "", textwrap.indent(entry.description, "  "), ""]
    for heading, rows in _sections(entry):
        lines.append(heading)
        width = max(len(left) for left, _ in rows)
        for left, right in rows:
            text = f"{left.ljust(width)}  {right}" if left else right
            lines.extend(textwrap.wrap(text, _WIDTH, initial_indent="  ", subsequent_indent=" " * (width + 4),
                                       break_long_words=False, break_on_hyphens=False))  # fmt: skip
    return "\n".join(lines)


def entry_html(entry: Entry) -> str:
    """The same page for a notebook, its equations as MathML."""
    parts = [f"<h3>{escape(entry.title)}</h3><p><code>{escape(entry.id)}</code> ({escape(entry.kind)})</p>"]
    parts.extend(f"<p>{escape(part)}</p>" for part in entry.description.split("\n\n"))
    for heading, rows in _sections(entry):
        if heading == "Equations":
            body = "".join(f"<p>{line}</p>" for line in equations_html(entry))
        else:
            cells = (f"<tr><td>{escape(left)}</td><td>{escape(right)}</td></tr>" for left, right in rows)
            body = f"<table>{''.join(cells)}</table>"
        parts.append(f"<h4>{heading}</h4>{body}")
    return f"<div>{''.join(parts)}</div>"


def _sections(entry: Entry) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Headings with rows of two columns; empty sections are left out."""

    def given(letter: Any) -> str:
        if letter.is_required:
            return f"{letter.meaning}; {letter.domain.describe()}"
        default = "may be left out" if letter.is_optional else f"{to_text(letter.default)} if not given"
        return f"{letter.meaning}; {letter.domain.describe()}; {default}"

    ranges = {name: f"; {output.range.describe()}" if output.range else "" for name, output in entry.outputs.items()}
    aliases = f"; also found as {', '.join(entry.all_aliases())}" if entry.all_aliases() else ""
    sections = {
        "Given": [(x.name, given(x)) for x in entry.given] + [("", rule.text()) for rule in entry.given_rules],
        "Gives": [(name, f"{output.meaning}{ranges[name]}") for name, output in entry.outputs.items()],
        "Equations": [("", _cut(f"{left} = {right}")) for left, right in stated_equations(entry)],
        "Requires": [("", requirement.text()) for requirement in entry.requires],
        "Assumes": [("", text) for text in entry.assumes],
        "Regime": [("", str(entry.regime)), *(("", warn.text()) for warn in entry.warns)],
        "Source": [("", f"{entry.source}{aliases}")],
        "Provenance": [(mark, MARKS[mark]) for mark in entry.marks],
        "Rests on": [("", name) for name in dict.fromkeys(entry.needs.values())],
        "Notes": [("", text) for text in entry.notes],
    }
    yield from ((heading, rows) for heading, rows in sections.items() if rows)


def _cut(equation: str) -> str:
    """An equation of readable length; ``show --json`` and ``entry.latex()`` have it whole."""
    return equation if len(equation) <= _READABLE else f"{equation[:_READABLE]} ... ({len(equation)} characters)"


def stated_equations(entry: Entry) -> Iterator[tuple[Any, Any]]:
    """Equations as their author wrote them, without those the chain rule added."""
    for symbol, equation in entry.statement(shown_options(entry)).equations.items():
        if not symbol.name.startswith("d("):
            yield symbol, strip(equation)


def equations_html(entry: Entry) -> Iterator[str]:
    """Each equation as MathML; as its LaTeX source where a node has no MathML."""
    import sympy

    from theorem_engine.showing.mathml import mathml

    for left, right in stated_equations(entry):
        try:
            inside = f"<mrow>{mathml(left)}<mo>=</mo>{mathml(right)}</mrow>"
            yield f'<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">{inside}</math>'
        except (NotImplementedError, AttributeError, TypeError, ValueError, LookupError):
            # SymPy's printer meets nodes it was not written for with errors of these kinds
            yield f"<code>{escape(f'{sympy.latex(left)} = {sympy.latex(right)}')}</code>"


class _Pages:
    """Pages of entries, for entries to show themselves with."""

    text = staticmethod(entry_text)
    html = staticmethod(entry_html)


Entry.pages = _Pages()
