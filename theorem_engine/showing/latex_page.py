"""Entries as LaTeX that compiles with amsmath alone: statement, letters, domains, conditions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from theorem_engine.language.entry import Entry
from theorem_engine.showing.formula.lines import latex, latex_lines
from theorem_engine.showing.formula.names import latex_of, read_name
from theorem_engine.showing.formula.tree import EMPTY, RELATION, Tree, escaped
from theorem_engine.showing.rule_text import rule_text
from theorem_engine.showing.stated import Line, Words, stated

PREAMBLE = "\\documentclass{article}\n\\usepackage{amsmath}\n\\allowdisplaybreaks\n\\begin{document}\n"
END = "\\end{document}\n"


def entry_latex(entry: Entry, chosen: Mapping[str, Any] | None = None) -> str:
    """The statement of an entry with its definitions, cases, letters and domains, to be put into a document."""
    found = stated(entry, chosen)
    kind = entry.kind.capitalize()
    lines = [
        f"% {entry.id}, from theorem-engine; needs \\usepackage{{amsmath}}",
        rf"\paragraph{{{kind} ({prose(entry.title)}).}}",
        prose(" ".join(entry.description.split())),
        "",
    ]
    for item in found.items:
        lines += [words_latex(item.tree) + "%"] if isinstance(item, Words) else [_display(item)]
    lines += [prose(remark) for remark in found.remarks if "theorem-engine" not in remark]
    if entry.given:
        given = [(latex(read_name(x.latex_name)), _domain(x)) for x in entry.given]
        lines += ["", r"\noindent Given:", *_list(given)]
    letters = [(latex(tree), meaning) for tree, _, meaning in found.letters]
    letters += [(rf"\text{{{prose(name)}}}", meaning) for name, meaning in found.functions.items()]
    if letters:
        lines += [r"\noindent Letters:", *_list(letters)]
    conditions = [*(r.text() for r in entry.given_rules), *entry.assumes]
    conditions += [rule_text(rule) for rule in entry.requires]
    if conditions:
        lines += [r"\noindent Where: " + "; ".join(map(prose, conditions)) + "."]
    lines += [rf"\noindent Regime: {prose(str(entry.regime))}. Source: {prose(str(entry.source))}."]
    return "\n".join(lines) + "\n"


def document(parts: list[str]) -> str:
    """Fragments as one document."""
    return PREAMBLE + "\n\\bigskip\n\n".join(parts) + END


def _domain(letter: Any) -> str:
    default = "; may be left out" if letter.is_optional else ""
    if not letter.is_optional and not letter.is_required:
        default = f"; {letter.default} if not given"
    return f"{letter.meaning}; {letter.domain.describe()}{default}"


def _list(rows: list[tuple[str, str]]) -> list[str]:
    items = [rf"\item[${sign}$] {prose(meaning)}" for sign, meaning in rows]
    return [r"\begin{itemize}", *items, r"\end{itemize}"]


def _display(line: Line) -> str:
    first = line.right.parts[0] if line.right.kind == "row" and line.right.parts else EMPTY
    own = first.kind == "sign" and first.data[2] == RELATION
    right = Tree("row", line.right.parts[1:], level=0) if own else line.right
    relation = str(first.data[0]) if own else "="
    rows = latex_lines(right)
    body = " \\\\\n  &\\quad ".join(rows)
    return f"\\begin{{align*}}\n  {latex(line.left)} &{relation} {body}\n\\end{{align*}}"


def words_latex(tree: Tree) -> str:
    """A sentence with formulas in it: words as text, the rest between dollars."""
    parts: list[str] = []
    row = tree.parts if tree.kind == "row" else (tree,)
    for part in row:
        is_word = part.kind == "sign" and part.data[2] == "word" and " " in part.data[1]
        if is_word or (part.kind == "sign" and part.data[2] == "word" and part.data[1].strip(":,;") == ""):
            parts.append(prose(part.data[1]))
        elif part != EMPTY:
            parts.append(words_latex(part) if _has_words(part) else f"${latex(part)}$")
    return "".join(parts)


def _has_words(tree: Tree) -> bool:
    return tree.kind == "row" and any(p.kind == "sign" and p.data[2] == "word" and " " in p.data[1] for p in tree.parts)


_SIGNS = {
    "∞": r"$\infty$", "→": r"$\to$", "≥": r"$\geq$", "≤": r"$\leq$", "ᵀ": r"$^\top$", "√": r"$\surd$",
    "ω": r"$\omega$", "ξ": r"$\xi$", "Φ": r"$\Phi$", "φ": r"$\varphi$", "Σ": r"$\Sigma$", "ℓ": r"$\ell$",
    "∇": r"$\nabla$", "−": "$-$", "∂": r"$\partial$", "·": r"$\cdot$", "<": "$<$",
    ">": "$>$", "|": "$|$", "≠": r"$\neq$", "⟨": r"$\langle$", "⟩": r"$\rangle$",
    **{sign: f"$^{digit}$" for sign, digit in zip("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789", strict=True)},
    **{sign: f"$_{digit}$" for sign, digit in zip("₀₁₂₃₄₅₆₇₈₉", "0123456789", strict=True)},
}  # fmt: skip


def prose(text: str) -> str:
    """Plain text as LaTeX, mathematical signs in it between dollars."""
    return "".join(_sign(c) for c in text)


def _sign(character: str) -> str:
    if character in _SIGNS:
        return _SIGNS[character]
    if ord(character) < 128:
        return escaped(character)
    return f"${latex_of(character)}$"
