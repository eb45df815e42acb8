"""Abbreviations: parts of formulas that stand in several places, or are too long to read, get names of their own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from theorem_engine.showing.formula.tree import ATOM, DOT, EMPTY, JOINT, Tree, call, number, script

#: A part that stands in several places gets a name if it is at least this wide.
REPEATED = 18
#: Width of a name.
_NAME = 3
#: A name shows the bound letters it depends on if there are no more.
MOST_ARGUMENTS = 2
#: An equation is made no wider than this, by names for its parts.
LONGEST = 330
#: Parts this wide get names where an equation is too wide.
_HANDY = (30, 220)
_WHOLE = ("row", "over", "script", "root", "fence", "cases", "matrix")


class Abbreviations:
    """Names for parts of a set of trees, given in order of their use."""

    def __init__(self, letter: Tree) -> None:
        self.letter = letter
        #: Trees that have a name already: a definition of the statement.
        self.named: dict[Tree, Tree] = {}
        self.definitions: list[tuple[Tree, Tree]] = []
        self._count: dict[Tree, int] = {}
        self._short: dict[Tree, Tree] = {}
        self._widths: dict[Tree, int] = {}
        self._marks: set[Tree] = set()
        #: Whether a name stands for something that depends on more bound letters than it shows.
        self.hides_letters = False

    def survey(self, trees: Iterable[Tree]) -> None:
        """Count in how many places each part stands, parts of parts only once."""
        stack = list(trees)
        while stack:
            tree = stack.pop()
            self._count[tree] = self._count.get(tree, 0) + 1
            if self._count[tree] == 1:
                stack.extend(tree.parts)

    def shortened(self, tree: Tree) -> Tree:
        """The tree with names in the place of parts; new names are defined on the way."""
        return self._fit(self._inside(tree, top=True))

    def _inside(self, tree: Tree, top: bool = False) -> Tree:
        """The tree with repeated parts named."""
        if not top and self._is_named(tree):
            return self.name_for(tree)
        if not tree.parts:
            return tree
        if tree not in self._short:
            parts = tuple(self._inside(part) for part in tree.parts)
            self._short[tree] = tree if parts == tree.parts else _rebuilt(tree, parts)
        return self._short[tree]

    def _is_named(self, tree: Tree) -> bool:
        """Whether a part stands in several places and is wide even with names inside."""
        return self._count.get(tree, 0) > 1 and _can_be_named(tree) and self.width_of(tree) >= REPEATED

    def width_of(self, tree: Tree) -> int:
        """The width of a part with names inside it."""
        if tree not in self._widths:
            own = tree.width - sum(part.width for part in tree.parts)
            inside = (_NAME if self._is_named(part) else self.width_of(part) for part in tree.parts)
            self._widths[tree] = own + sum(inside)
        return self._widths[tree]

    def name_for(self, tree: Tree) -> Tree:
        """The name of a part, given now if it has none."""
        # a bracket is written around a name no more
        bare = tree.parts[0] if tree.kind == "fence" and tree.data == ("(", ")") else tree
        if bare not in self.named:
            mark = script(self.letter, number(str(len(self.definitions) + 1)))
            arguments = [_letter(x) for x in sorted(bare.arguments, key=str)]
            self.hides_letters |= len(arguments) > MOST_ARGUMENTS
            shown = call(mark, *arguments) if 0 < len(arguments) <= MOST_ARGUMENTS else mark
            self.named[bare] = Tree(shown.kind, shown.parts, shown.data, ATOM, bare.arguments)
            self._marks.add(self.named[bare])
            place = len(self.definitions)
            self.definitions.append((shown, EMPTY))
            self.definitions[place] = (shown, self.shortened(bare))
        return self.named[bare]

    def _fit(self, tree: Tree) -> Tree:
        """The tree made short enough: its widest parts of a handy width get names, one after the other."""
        while tree.width > LONGEST:
            part = _handiest(tree, self._marks)
            if part is None:
                break
            tree = _replaced(tree, part, self.name_for(part), {})
        return tree


def _letter(symbol: Any) -> Tree:
    import sympy

    from theorem_engine.showing.formula.names import read_name

    tree = read_name(sympy.latex(symbol))
    return Tree(tree.kind, tree.parts, tree.data, tree.level, frozenset({symbol}))


def _can_be_named(tree: Tree) -> bool:
    """Whether a part is an expression, not a bracket with a list or a sign of an operator."""
    if tree.kind in ("sign", "link", "accent", "scope") or not tree.parts:
        return tree.kind == "scope"
    if tree.kind == "script":
        return tree.parts[2] != EMPTY and tree.parts[0].kind in ("fence", "row", "script")
    if tree.kind == "fence":
        return tree.data == ("(", ")") and not _is_list(tree.parts[0])
    if tree.kind == "row":
        return not _is_list(tree) and not _is_relation(tree) and not _is_words(tree)
    return tree.kind in _WHOLE


def _is_list(tree: Tree) -> bool:
    return any(part.kind == "sign" and part.data[2] == "comma" for part in tree.parts)


def _is_relation(tree: Tree) -> bool:
    return any(part.kind == "sign" and part.data[2] == "relation" for part in tree.parts)


def _is_words(tree: Tree) -> bool:
    return any(part.kind == "sign" and part.data[2] == "word" and " " in part.data[1] for part in tree.parts)


def _handiest(tree: Tree, marks: set[Tree]) -> Tree | None:
    """The widest part of a handy width, the leftmost of equals."""
    best: Tree | None = None
    seen: set[Tree] = set()
    stack = list(tree.parts)
    while stack:
        part = stack.pop()
        if part in seen or part in marks:
            continue
        seen.add(part)
        low, high = _HANDY
        if low <= part.width <= high and _can_be_named(part):
            if best is None or part.width >= best.width:
                best = part
            continue
        stack.extend(part.parts)
    return best


def _replaced(tree: Tree, old: Tree, new: Tree, memory: dict[Tree, Tree]) -> Tree:
    if tree == old:
        return new
    if not tree.parts:
        return tree
    if tree not in memory:
        parts = tuple(_replaced(part, old, new, memory) for part in tree.parts)
        memory[tree] = tree if parts == tree.parts else _rebuilt(tree, parts)
    return memory[tree]


def _rebuilt(tree: Tree, parts: Sequence[Tree]) -> Tree:
    if tree.kind == "fence" and tree.data == ("(", ")") and parts[0].level == ATOM and tree.parts[0].level < ATOM:
        return parts[0]
    if tree.kind == "row":
        # a dot before a bracket goes with the bracket
        parts = tuple(
            JOINT if part == DOT and k + 1 < len(parts) and parts[k + 1].kind != "fence" else part
            for k, part in enumerate(parts)
        )
    # what an application does not write counts too
    silent = tree.arguments - frozenset().union(*(part.arguments for part in tree.parts))
    arguments = silent.union(*(part.arguments for part in parts))
    if tree.kind == "scope":
        arguments = parts[0].arguments - (tree.parts[0].arguments - tree.arguments)
    return Tree(tree.kind, tuple(parts), tree.data, tree.level, arguments)


__all__ = ["Abbreviations"]
