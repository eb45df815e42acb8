"""Fixed points as a theorist writes them: numbered, with a star at the one that is meant."""

from __future__ import annotations

from typing import Any

import sympy

from theorem_engine.language.operators.branches import Branches, Spinodal
from theorem_engine.showing.formula.names import read_name
from theorem_engine.showing.formula.tree import EMPTY, Tree, call, fence, listed, number, row, script, sign, word
from theorem_engine.showing.formula.writing import Aside, Marked, Pen, writes

_STAR = sign(r"\star", "⋆")
_MEANT = {"first": "the first stable one", "last": "the last stable one", "energy": "the stable one of least energy"}
_SLOPE = sign(r"\operatorname{slope}", "slope", "word")


@writes(Branches)
def first_letter(pen: Pen, node: Any) -> Tree:
    """The first unknown of the fixed point that is meant."""
    return fixed_point(pen, node, 0)


def fixed_point(pen: Pen, node: Any, index: int) -> Tree:
    """A number of a fixed point: a letter, the slope of the map, the energy; or how many there are."""
    which, place = divmod(index, node.width)
    letters = [read_name(sympy.latex(x)) for x in node.letters]
    if ("branches", node) not in pen.asides:
        _explain(pen, node, letters)
    mark = pen.distinct("branches", node, _STAR if which == 0 else fence(number(str(which))))
    if which > node.most:
        return word("the number of solutions")
    here = [_marked(x, mark) for x in letters]
    if place < len(letters):
        return here[place]
    if place == len(letters):
        pen.functions["slope"] = "largest real part of the eigenvalues of the Jacobian of a map at a fixed point"
        return call(_SLOPE, *here[: len(node.unknowns)])
    swaps = dict(zip(node.letters, map(Marked, here), strict=True))
    return pen.write(node.energy.xreplace(swaps))


def _explain(pen: Pen, node: Any, letters: list[Tree]) -> None:
    for x in node.letters:
        pen.name(x)
    unknowns = letters[: len(node.unknowns)]
    star = listed([_marked(x, _STAR) for x in unknowns])
    numbered = listed([_marked(x, fence(number("1"))) for x in unknowns[:1]])
    words = (
        numbered, word(" and so on are the solutions, by rising "), unknowns[0], word(" and infinite where there is "),
        word("none, and "), star, word(f" is {_MEANT[node.choice]} (slope of the map below one), of"),
    )  # fmt: skip
    pen.asides["branches", node] = _of_equations(words, letters)
    pen.asides["branches", node].equations = _equations(pen, node, letters)


def _of_equations(words: tuple[Tree, ...], letters: list[Tree]) -> Aside:
    """A sentence that ends before its equations; or that names their letters, where they stand above."""
    return Aside(row(*words), again=row(*words, word(" the equations of "), listed(letters), word(" above")))


def _equations(pen: Pen, node: Any, letters: list[Tree]) -> tuple[tuple[Tree, Tree], ...]:
    return tuple((x, pen.write(body)) for x, body in zip(letters, node.bodies, strict=True))


def _marked(letter: Tree, mark: Tree) -> Tree:
    """A letter with a mark above it; the index that it has stays."""
    if letter.kind == "script":
        return script(letter.parts[0], below=letter.parts[1], above=mark)
    return script(letter, below=EMPTY, above=mark)


@writes(Spinodal)
def parameter(pen: Pen, node: Any) -> Tree:
    """The parameter at which fixed points meet."""
    return meeting(pen, node, 0)


def meeting(pen: Pen, node: Any, index: int) -> Tree:
    """The parameter where fixed points meet, or a letter there."""
    letters = [read_name(sympy.latex(x)) for x in (node.along, *node.letters)]
    if ("spinodal", node) not in pen.asides:
        for x in node.letters:
            pen.name(x)
        which = "last" if node.takes_last else "first"
        words = (
            _met(letters[0]), word(f" is the {which} "), letters[0], word(" at which two solutions meet in "),
            listed([_met(x) for x in letters[1:]]), word(", of"),
        )  # fmt: skip
        pen.asides["spinodal", node] = _of_equations(words, letters[1:])
        pen.asides["spinodal", node].equations = _equations(pen, node, letters[1:])
    return pen.distinct("spinodals", node, _met(letters[index]))


def _met(letter: Tree) -> Tree:
    return _marked(letter, sign(r"\mathrm{c}", "c"))
