"""The tree between an expression and its three spellings: signs, rows, scripts, fractions, fences, cases."""

from __future__ import annotations

from typing import Any

#: How tightly a tree holds together: where it may stand without brackets.
SUM, PRODUCT, POWER, ATOM = range(4)

#: Kinds of signs: a name, a number, a word; a sign between terms, a relation, the joint of a product; punctuation,
#: an opening or closing bracket, an operator that takes what follows, a space.
NAME, NUMBER, WORD, BINARY, RELATION, TIMES, COMMA, OPEN, CLOSE, PREFIX, SPACE = (
    "name", "number", "word", "binary", "relation", "times", "comma", "open", "close", "prefix", "space",
)  # fmt: skip


class Tree:
    """A part of a formula; equal trees are written alike.

    Hash and width are known from the start, as trees share parts.

    ``data`` depends on the kind: (LaTeX, text, kind of sign) of a sign, the accent, the brackets, columns of a matrix,
    the id that a link leads to. ``arguments`` are the bound letters it depends on.
    """

    __slots__ = ("_hash", "arguments", "data", "kind", "level", "parts", "width")

    def __init__(
        self,
        kind: str,
        parts: tuple[Tree, ...] = (),
        data: Any = None,
        level: int = ATOM,
        arguments: frozenset[Any] | None = None,
    ) -> None:
        self.kind, self.parts, self.data, self.level = kind, parts, data, level
        self._hash: int = hash((kind, data, level, tuple(part._hash for part in parts)))
        self.arguments: frozenset[Any] = (
            frozenset().union(*(part.arguments for part in parts)) if arguments is None else arguments
        )
        own = len(data[1]) if kind == "sign" else 0 if kind in ("row", "scope", "link") else 2
        self.width: int = own + sum(part.width for part in parts)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Tree) or self._hash != other._hash:
            return False
        same = self.kind == other.kind and self.data == other.data and self.level == other.level
        return same and self.parts == other.parts


def sign(latex: str, text: str | None = None, kind: str = NAME) -> Tree:
    """One sign: its LaTeX, and its text where that differs."""
    return Tree("sign", data=(latex, latex if text is None else text, kind))


def word(text: str) -> Tree:
    """An upright word."""
    return Tree("sign", data=(rf"\text{{{escaped(text)}}}", text, WORD))


def escaped(text: str) -> str:
    """Plain text inside LaTeX."""
    signs = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "∞": r"$\infty$",
             "→": r"$\to$", "≥": r"$\geq$", "≤": r"$\leq$"}  # fmt: skip
    return "".join(signs.get(c, f"\\{c}" if c in "_%&#${}" else c) for c in text)


def number(text: str) -> Tree:
    """A number of digits."""
    return sign(text, kind=NUMBER)


def row(*parts: Tree, level: int = ATOM) -> Tree:
    """Parts beside each other."""
    return parts[0] if len(parts) == 1 and parts[0].level >= level else Tree("row", parts, level=level)


def fence(inner: Tree, left: str = "(", right: str = ")") -> Tree:
    """Brackets around a part."""
    return Tree("fence", (inner,), (left, right))


EMPTY = Tree("row")


def script(base: Tree, below: Tree = EMPTY, above: Tree = EMPTY) -> Tree:
    """A base with something below or above its end; a power where there is something above."""
    if base.kind == "script" and base.parts[2] == EMPTY and below == EMPTY:
        # a power of a letter with an index stands over that index
        return Tree("script", (base.parts[0], base.parts[1], above), level=POWER)
    return Tree("script", (base, below, above), level=ATOM if above == EMPTY else POWER)


def over(top: Tree, bottom: Tree) -> Tree:
    """A fraction."""
    return Tree("over", (top, bottom), level=PRODUCT)


def root(inner: Tree) -> Tree:
    """A square root."""
    return Tree("root", (inner,))


def accent(base: Tree, mark: str) -> Tree:
    """A mark over a letter: hat, bar, tilde, dot, underline."""
    return Tree("accent", (base,), mark)


def link(inner: Tree, target: str) -> Tree:
    """Something that leads to the page of an entry."""
    return Tree("link", (inner,), target, level=inner.level)


def scope(inner: Tree, bound: frozenset[Any]) -> Tree:
    """A part outside of which some letters have no meaning."""
    return Tree("scope", (inner,), None, inner.level, inner.arguments - bound)


def cases(*rows: tuple[Tree, Tree]) -> Tree:
    """Values with the conditions under which they hold."""
    return Tree("cases", tuple(part for pair in rows for part in pair), level=ATOM)


def matrix(columns: int, entries: tuple[Tree, ...]) -> Tree:
    """A matrix, row by row."""
    return Tree("matrix", entries, columns)


def held(tree: Tree, level: int) -> Tree:
    """The tree, in brackets where it holds together less than it must."""
    return tree if tree.level >= level else fence(tree)


PLUS, MINUS = sign("+", " + ", BINARY), sign("-", " − ", BINARY)
NEGATIVE = sign("-", "−", PREFIX)
EQUALS, DEFINED = sign("=", " = ", RELATION), sign(":=", " = ", RELATION)
JOINT = sign(r"\,", " ", TIMES)
#: The joint before a bracket: without it a letter would look like a function.
DOT = sign(r"\,", "·", TIMES)
#: A space that belongs to no product.
GAP = sign(r"\,", " ", SPACE)
COMMA_SIGN = sign(r",\, ", ", ", COMMA)
INFINITY = sign(r"\infty", "∞", NUMBER)
ONE, TWO = number("1"), number("2")


def listed(parts: list[Tree] | tuple[Tree, ...], joint: Tree = COMMA_SIGN) -> Tree:
    """Parts with commas between them."""
    found: list[Tree] = []
    for part in parts:
        found += [joint, part] if found else [part]
    return Tree("row", tuple(found), level=SUM) if len(found) > 1 else (found[0] if found else EMPTY)


def call(head: Tree, *arguments: Tree, left: str = "(", right: str = ")") -> Tree:
    """A function of arguments."""
    return Tree("row", (head, Tree("fence", (listed(arguments),), (left, right, "call"))), level=ATOM)
