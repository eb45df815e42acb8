"""Trees as rows of signs that can be broken into lines, and their spellings: text, LaTeX, MathML."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

from theorem_engine.showing.formula.tree import (
    ATOM,
    BINARY,
    CLOSE,
    COMMA,
    EMPTY,
    NEGATIVE,
    NUMBER,
    OPEN,
    POWER,
    PREFIX,
    PRODUCT,
    RELATION,
    SPACE,
    TIMES,
    WORD,
    Tree,
    held,
    sign,
)

#: Wider than this, what stands inside a fraction, a root or an exponent is written on the line.
WIDE = 44
#: How deep a break is between factors that belong together.
_CLINGING = 2.4
_RAISED = dict(zip("0123456789+-−=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿ", strict=True))
_LOWERED = dict(zip("0123456789+", "₀₁₂₃₄₅₆₇₈₉₊", strict=True))
_ACCENTS = {"hat": "\u0302", "bar": "\u0304", "tilde": "\u0303", "dot": "\u0307", "underline": "\u0332"}
_OVER = {"hat": "^", "bar": "¯", "tilde": "~", "dot": "˙", "underline": "_"}
_SLASH = sign("/", "/", TIMES)


@dataclass(frozen=True)
class Piece:
    """A part of a line that is not broken, and how deep in brackets a break before it would be."""

    tree: Tree
    #: None where no line may end before it.
    depth: float | None


def plain(tree: Tree) -> str:
    """The whole tree as text, on one line."""
    return "".join(_text(piece.tree) for piece in pieces(tree, deep=True))


def latex(tree: Tree) -> str:
    """The whole tree as LaTeX."""
    return _joined([_latex(piece.tree) for piece in pieces(tree, deep=False)])


def mathml(tree: Tree) -> str:
    """The whole tree as MathML."""
    return f"<mrow>{''.join(_mathml(piece.tree) for piece in pieces(tree, deep=False))}</mrow>"


def pieces(tree: Tree, deep: bool) -> list[Piece]:
    """The tree as a row; ``deep`` writes fractions, roots and scripts on the line too, as text must."""
    found: list[Piece] = []
    _lay(tree, 0.0, deep, found, None)
    return found


def _lay(tree: Tree, depth: float, deep: bool, found: list[Piece], before: float | None) -> None:
    kind = tree.kind
    if kind in ("row", "scope"):
        for place, part in enumerate(tree.parts):
            joint = part.data[2] if part.kind == "sign" else ""
            if joint in (BINARY, RELATION):
                _lay(part, depth, deep, found, depth + (0.6 if joint == RELATION and depth else 0))
                before = None
            elif joint in (COMMA, TIMES):
                _lay(part, depth, deep, found, None)
                before = depth + (0 if joint == COMMA else _CLINGING if _clings(tree.parts, place) else 0.5)
            else:
                _lay(part, depth, deep, found, before)
                before = None
    elif kind == "fence":
        left, right = tree.data[:2]
        found.append(Piece(sign(_bracket(left, "l"), left, OPEN), before))
        _lay(tree.parts[0], depth + 1, deep, found, depth + 1.7)
        found.append(Piece(sign(_bracket(right, "r"), right, CLOSE), None))
    elif kind == "link":
        inner = pieces(tree.parts[0], deep)
        for position, piece in enumerate(inner):
            shown = Tree("link", (piece.tree,), tree.data)
            at = piece.depth if piece.depth is None else depth + piece.depth
            found.append(Piece(shown, before if position == 0 else at))
    elif kind == "over" and (deep or max(part.width for part in tree.parts) > WIDE):
        top, bottom = tree.parts
        _lay(held(top, PRODUCT), depth, deep, found, before)
        found.append(Piece(_SLASH, None))
        _lay(held(bottom, POWER), depth + 0.5, deep, found, depth + 0.7)
    elif kind == "root" and (deep or tree.width > WIDE):
        (under,) = tree.parts
        if not deep:
            _lay(Tree("fence", (under,), ("(", ")")), depth, deep, found, before)
            found[-1] = Piece(Tree("script", (found[-1].tree, EMPTY, sign("1/2", kind=NUMBER))), None)
            return
        found.append(Piece(sign(r"\surd", "√", PREFIX), before))
        # an index of a bracket would read as one of the root
        is_marked = under.kind == "script" and under.parts[0].kind not in ("sign", "accent")
        _lay(Tree("fence", (under,), ("(", ")")) if is_marked else held(under, ATOM), depth, deep, found, None)
    elif kind == "script" and (deep or tree.parts[0].width > WIDE):
        base, below, above = tree.parts
        is_open = base.level < ATOM and above != EMPTY
        _lay(held(base, ATOM) if is_open else base, depth, deep, found, before)
        if not deep:
            found[-1] = Piece(Tree("script", (found[-1].tree, below, above)), found[-1].depth)
            return
        for part, mark, table in ((below, "_", _LOWERED), (above, "^", _RAISED)):
            if part != EMPTY:
                _lay_script(part, mark, table, depth, found)
    elif kind == "cases" and deep:
        found.append(Piece(sign("", "{", OPEN), before))
        for value, condition in zip(tree.parts[::2], tree.parts[1::2], strict=True):
            if value is not tree.parts[0]:
                found.append(Piece(sign("", "; ", COMMA), None))
            _lay(value, depth + 1, deep, found, depth + 0.8)
            found.append(Piece(sign("", " if " if condition.width else " otherwise", WORD), None))
            _lay(condition, depth + 1, deep, found, depth + 0.9)
        found.append(Piece(sign("", "}", CLOSE), None))
    elif kind == "matrix" and deep:
        found.append(Piece(sign("", "[", OPEN), before))
        for position, part in enumerate(tree.parts):
            if position:
                joint = ", " if position % tree.data else "; "
                found.append(Piece(sign("", joint, COMMA), None))
            _lay(part, depth + 1, deep, found, depth + (0.9 if position % tree.data else 0.8))
        found.append(Piece(sign("", "]", CLOSE), None))
    elif tree != EMPTY:
        found.append(Piece(tree, before))


def _clings(parts: tuple[Tree, ...], place: int) -> bool:
    """Whether the factors around a sign stay on one line: a number and what follows, an integral's sign or its dx."""
    left, right = parts[place - 1] if place else EMPTY, parts[place + 1] if place + 1 < len(parts) else EMPTY
    sign_of = left.parts[0] if left.kind == "script" else left
    is_mark = sign_of.kind == "sign" and (sign_of.data[2] == NUMBER or sign_of.data[1] == "∫")
    return is_mark or (right.kind == "sign" and right.data[0] == r"\mathrm{d}")


def _lay_script(part: Tree, mark: str, table: dict[str, str], depth: float, found: list[Piece]) -> None:
    """A script on the line: small digits where Unicode has them, a word as it is, brackets around the rest."""
    shown = plain(part)
    if shown and all(c in table for c in shown):
        found.append(Piece(sign("", "".join(table[c] for c in shown)), None))
    elif set(shown) <= set("′⋆†⊤+*×∅"):
        found.append(Piece(sign("", shown), None))
    elif (len(shown) <= 12 and shown.isalnum()) or shown == "∞":
        found.append(Piece(sign("", mark + shown), None))
    else:
        found.append(Piece(sign("", mark + "("), None))
        _lay(part, depth + 2, True, found, depth + 2.5)
        found.append(Piece(sign("", ")"), None))


def broken(row: list[Piece], first: int, later: int) -> list[list[Tree]]:
    """The row in lines: the first of one width, those that follow of another, broken where brackets are shallowest."""
    lines: list[list[Tree]] = []
    start = 0
    widths = [len(_text(piece.tree)) for piece in row]
    while start < len(row):
        room, used, end = (later if lines else first), 0, start
        best: tuple[float, int] | None = None
        while end < len(row) and used + widths[end] <= room:
            used += widths[end]
            end += 1
            depth = row[end].depth if end < len(row) else None
            # a late break is better than an early one, but a shallow one is better than a deep one
            if depth is not None and used > room / 3 and (best is None or depth <= best[0]):
                best = (depth, end)
        if end >= len(row):
            cut = len(row)
        elif best is not None:
            cut = best[1]
        else:
            cut = next((k for k in range(end, start, -1) if row[k].depth is not None), max(end, start + 1))
        lines.append([piece.tree for piece in row[start:cut]])
        start = cut
    return lines


def text_lines(tree: Tree, first: int, later: int) -> list[str]:
    """The tree as lines of text."""
    return ["".join(map(_text, line)).strip() for line in broken(pieces(tree, deep=True), first, later)]


def latex_lines(tree: Tree, first: int = 70, later: int = 78) -> list[str]:
    """The tree as lines of LaTeX, of about the width of a page."""
    return [_joined(list(map(_latex, line))) for line in broken(pieces(tree, deep=False), first, later)]


def mathml_lines(tree: Tree, first: int = 70, later: int = 78) -> list[str]:
    """The tree as lines of MathML."""
    lines = broken(pieces(tree, deep=False), first, later)
    return [f"<mrow>{''.join(map(_mathml, line))}</mrow>" for line in lines]


def _bracket(mark: str, side: str) -> str:
    return {"{": r"\{", "}": r"\}"}.get(mark, mark) if mark != "|" else rf"\{side}vert "


def _text(tree: Tree) -> str:
    kind = tree.kind
    if kind == "sign":
        return str(tree.data[1])
    if kind == "accent":
        inner = plain(tree.parts[0])
        return inner + _ACCENTS[tree.data] if len(inner) == 1 else f"⟨{inner}⟩"
    if kind == "link":
        return _text(tree.parts[0])
    return plain(tree)


def _joined(parts: list[str]) -> str:
    """LaTeX beside LaTeX: a command that ends in a letter must not swallow a letter that follows."""
    found = ""
    for part in parts:
        is_command = found and found[-1].isalpha() and _ends_in_command(found)
        found += (" " if is_command and part[:1].isalpha() else "") + part
    return found


def _ends_in_command(text: str) -> bool:
    return text[text.rfind("\\") + 1 :].isalpha() if "\\" in text else False


def _latex(tree: Tree) -> str:
    kind, parts = tree.kind, tree.parts
    if kind == "sign":
        return str(tree.data[0])
    if kind == "script":
        base, below, above = parts
        inner = latex(base)
        if base.level < ATOM and above != EMPTY:
            inner = f"({inner})"
        single = base.kind in ("sign", "accent")
        inner = inner if single else f"{{{inner}}}"
        return inner + (f"_{{{latex(below)}}}" if below != EMPTY else "") + (
            f"^{{{latex(above)}}}" if above != EMPTY else ""
        )  # fmt: skip
    if kind == "over":
        return rf"\frac{{{latex(parts[0])}}}{{{latex(parts[1])}}}"
    if kind == "root":
        return rf"\sqrt{{{latex(parts[0])}}}"
    if kind == "accent":
        wide = {"bar": "overline"}.get(tree.data, tree.data) if parts[0].kind != "sign" else tree.data
        return rf"\{wide}{{{latex(parts[0])}}}"
    if kind == "cases":
        rows = [
            f"{latex(value)} & " + (rf"\text{{if }} {latex(condition)}" if condition.width else r"\text{otherwise}")
            for value, condition in zip(parts[::2], parts[1::2], strict=True)
        ]
        return r"\begin{cases} " + r" \\ ".join(rows) + r" \end{cases}"
    if kind == "matrix":
        rows = [
            " & ".join(latex(part) for part in parts[k : k + tree.data]) for k in range(0, len(parts), tree.data)
        ]  # fmt: skip
        return r"\begin{pmatrix} " + r" \\ ".join(rows) + r" \end{pmatrix}"
    if kind == "link":
        return _latex(parts[0])
    return latex(tree)


def _mathml(tree: Tree) -> str:
    kind, parts = tree.kind, tree.parts
    if kind == "sign":
        _, text, what = tree.data
        return _mathml_sign(str(text), what)
    if kind == "script":
        base, below, above = parts
        inner = mathml(held(base, ATOM) if above != EMPTY else base)
        scripts = "".join(mathml(part) for part in (below, above) if part != EMPTY)
        tag = "msubsup" if EMPTY not in (below, above) else "msub" if above == EMPTY else "msup"
        if base.kind == "sign" and base.data[2] == PREFIX and tag == "msub":
            tag = "munder"
        return f"<{tag}>{inner}{scripts}</{tag}>"
    if kind == "over":
        return f"<mfrac>{mathml(parts[0])}{mathml(parts[1])}</mfrac>"
    if kind == "root":
        return f"<msqrt>{mathml(parts[0])}</msqrt>"
    if kind == "accent":
        under = tree.data == "underline"
        tag = "munder" if under else "mover"
        return f"<{tag}>{mathml(parts[0])}<mo>{_OVER[tree.data]}</mo></{tag}>"
    if kind == "cases":
        cells = []
        for value, condition in zip(parts[::2], parts[1::2], strict=True):
            when = f"<mtext>if&#160;</mtext>{mathml(condition)}" if condition.width else "<mtext>otherwise</mtext>"
            cells.append(f"<mtr><mtd>{mathml(value)}</mtd><mtd><mrow>{when}</mrow></mtd></mtr>")
        return f'<mrow><mo>{{</mo><mtable columnalign="left">{"".join(cells)}</mtable></mrow>'
    if kind == "matrix":
        rows = [
            "".join(f"<mtd>{mathml(part)}</mtd>" for part in parts[k : k + tree.data])
            for k in range(0, len(parts), tree.data)
        ]
        return f"<mrow><mo>(</mo><mtable>{''.join(f'<mtr>{r}</mtr>' for r in rows)}</mtable><mo>)</mo></mrow>"
    if kind == "link":
        return f'<mrow href="#{escape(tree.data)}">{_mathml(parts[0])}</mrow>'
    return mathml(tree)


def _mathml_sign(text: str, what: Any) -> str:
    shown = escape(text.strip())
    if what == NUMBER:
        return f"<mn>{shown}</mn>"
    if what == WORD:
        # browsers take a sign between texts for a larger operator, without space around it; names of letters are none
        tag = "mi" if len(text) > 1 and text.isidentifier() else "mtext"
        return f"<{tag}>{escape(text)}</{tag}>"
    if what == TIMES:
        return f"<mo>{shown}</mo>" if shown else '<mspace width="0.17em"/>'
    if what == SPACE:
        return '<mspace width="0.5em"/>'
    if what in (OPEN, CLOSE):
        return f'<mo stretchy="false">{shown}</mo>'
    if what == COMMA:
        return '<mo separator="true">,</mo>'
    if what in (BINARY, RELATION, PREFIX):
        return f"<mo>{shown}</mo>"
    return f"<mi>{shown}</mi>"


__all__ = ["NEGATIVE", "Piece", "broken", "latex", "latex_lines", "mathml", "mathml_lines", "plain", "text_lines"]
