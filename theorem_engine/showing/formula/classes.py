"""Quadratic forms of large random matrices whose rows belong to classes: the form, and the Dyson equation behind it."""

from __future__ import annotations

from typing import Any

from theorem_engine.language.operators.dyson import ClassResolvent
from theorem_engine.showing.formula.means import indexed, mean
from theorem_engine.showing.formula.tree import (
    ATOM,
    EMPTY,
    EQUALS,
    JOINT,
    PLUS,
    PRODUCT,
    SUM,
    Tree,
    fence,
    held,
    listed,
    number,
    row,
    script,
    sign,
    word,
)
from theorem_engine.showing.formula.writing import Aside, Pen, writes

_TOP = sign(r"\top", "⊤")
_INVERSE = sign("-1", "−1")
_B, _T, _G, _RATIO = sign("b"), sign("T"), sign(r"\mathcal{G}", "𝒢"), sign(r"\rho", "ρ")
_LOCAL, _COUPLING, _MEAN, _NOISE = (
    sign(r"\mathcal{L}", "ℒ"), sign(r"\mathcal{C}", "𝒞"), sign(r"\mathcal{M}", "ℳ"), sign(r"\mathcal{S}", "𝒮"),
)  # fmt: skip
_PRIME = sign(r"\prime", "′")


@writes(ClassResolvent)
def class_resolvent(pen: Pen, node: Any) -> Tree:
    """The form; an aside says over which classes, and what the matrix is made of."""
    key = ("classes", node.args[:5])
    form = row(script(_B, above=_TOP), JOINT, script(_T, above=_INVERSE), JOINT, _B, level=PRODUCT)
    if key not in pen.asides:
        # places before its parts are written, which tell what they are taken over themselves
        pen.asides[key] = pen.asides["law", *key] = Aside(EMPTY)
        pen.asides[key], pen.asides["law", *key] = _told(pen, node, form)
    return script(fence(form), above=_PRIME) if node.changes else form


def _told(pen: Pen, node: Any, form: Tree) -> tuple[Aside, Aside]:
    order = node.order
    square = order**2
    ratio, *rest = node.parts
    # where the iteration starts is no part of what is stated
    local, coupling, fixed = (rest[square * k : square * (k + 1)] for k in (1, 2, 3))
    vector, kernels = rest[4 * square : 4 * square + order], rest[4 * square + order :]
    classes = [pen.name(x, "of the class of a token") for x in node.first]
    for letter in node.second:
        pen.name(letter, "of the class of another token")
    lines = [(_B, fence(listed([pen.write(x) for x in vector]))), (_RATIO, pen.write(ratio))]
    for name, entries in ((_LOCAL, local), (_COUPLING, coupling), (_MEAN, fixed)):
        is_told = name is not _LOCAL
        for place, entry in enumerate(entries):
            i, j = divmod(place, order)
            if entry != 0 and (is_told or i <= j):
                lines.append((indexed(name, number(f"{i + 1}{j + 1}")), pen.write(entry)))
    sums: dict[tuple[int, int], list[Tree]] = {}
    for (i, j, a, b), kernel in zip(node.places, kernels, strict=True):
        there = Tree("script", (_G, number(f"{int(a) + 1}{int(b) + 1}"), _PRIME), level=ATOM)
        averaged = row(held(pen.write(kernel), PRODUCT), JOINT, there, level=PRODUCT)
        sums.setdefault((int(i) + 1, int(j) + 1), []).append(mean(_PRIME, averaged))
    for (i, j), terms in sums.items():
        if i <= j or (j, i) not in sums:
            total = listed(terms, PLUS) if len(terms) > 1 else terms[0]
            lines.append((indexed(_NOISE, number(f"{i}{j}")), total))
    drawn = [
        row(name, word(" = "), sign(r"\pm 1", "±1"), word(" with mean "), pen.write(law[1]))
        if len(law) > 1
        else row(name, word(" standard normal"))
        for name, law in zip(classes, node.laws, strict=True)
    ]
    inverse = script(_G, above=_INVERSE)
    inner = row(number("1"), PLUS, _RATIO, JOINT, _G, JOINT, _COUPLING, level=SUM)
    shared = row(_COUPLING, JOINT, script(fence(inner), above=_INVERSE), level=PRODUCT)
    words = row(
        form, word(" is an average over classes of tokens, E′ one over another token, which is written with primes. "
                   "Matrices act on functions of the class: "),
        _T, EQUALS, inverse, PLUS, _MEAN, word(", where "), _G,
        word(f", a symmetric matrix of order {order} for each class, solves "),
        inverse, EQUALS, _LOCAL, PLUS, fence(shared, "[", "]"), word(" at the class itself less "),
        _NOISE, word(". With symmetric "), _LOCAL, word(" and "), _NOISE,
        word(", entries that are not listed being zero,"),
    )  # fmt: skip
    law = row(word("the class of a token is "), fence(listed(classes)), word(": "), listed(drawn))
    return Aside(words, tuple(lines)), Aside(law)
