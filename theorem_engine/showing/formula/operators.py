"""Operators as a theorist writes them: minima, roots, eigenvalues, proximal points, channels, laws of motion."""

from __future__ import annotations

from typing import Any

import sympy

from theorem_engine.language.operators.at_evaluation import AtEvaluation
from theorem_engine.language.operators.base import Component
from theorem_engine.language.operators.branches import Branches, Spinodal
from theorem_engine.language.operators.channel import ChannelMean
from theorem_engine.language.operators.dynamics import Flow, Recurrence, Trajectory
from theorem_engine.language.operators.homotopy import Homotopy
from theorem_engine.language.operators.optimum import LocalMinimum, Minimum, Root
from theorem_engine.language.operators.proximal import PointSlope, Proximal, ResponseProduct
from theorem_engine.language.operators.spectrum import Eigenvalues
from theorem_engine.language.operators.stochastic import RandomRecurrence
from theorem_engine.showing.formula import classes as _classes  # noqa: F401 - they register themselves
from theorem_engine.showing.formula import token_functions as _token_functions  # noqa: F401
from theorem_engine.showing.formula.branches import fixed_point, meeting
from theorem_engine.showing.formula.means import indexed, mean
from theorem_engine.showing.formula.names import read_name
from theorem_engine.showing.formula.tree import (
    ATOM,
    EMPTY,
    EQUALS,
    JOINT,
    PREFIX,
    PRODUCT,
    RELATION,
    SUM,
    Tree,
    accent,
    call,
    fence,
    held,
    listed,
    matrix,
    number,
    over,
    row,
    scope,
    script,
    sign,
    word,
)
from theorem_engine.showing.formula.writing import Aside, Marked, Pen, writes

_GETS = sign(r"\leftarrow ", " ← ", RELATION)
_STAR = sign(r"\star", "⋆")
#: A matrix whose entries are wider together is written entry by entry.
_WIDEST = 120


@writes(Minimum)
def minimum(pen: Pen, node: Any) -> Tree:
    """min over letters."""
    names = pen.bind(node.letters, "minimised over")
    _remember(pen, node)
    what = r"\operatorname{locmin}" if isinstance(node, LocalMinimum) else r"\min"
    head = script(sign(what, "locmin" if isinstance(node, LocalMinimum) else "min", PREFIX), listed(names))
    return scope(row(head, JOINT, fence(pen.write(node.body), "{", "}"), level=PRODUCT), frozenset(node.letters))


def _remember(pen: Pen, node: Any) -> None:
    """Keep what is minimised, for matrices of its second derivatives."""
    bodies = pen.minimised.setdefault(tuple(node.letters), [])
    if node.body not in bodies:
        bodies.append(node.body)


def _minimiser(pen: Pen, node: Any, index: int) -> Tree:
    letters = node.letters
    if index == len(letters) + 1:
        return word("1 where the minimum is attained, else 0")
    names = pen.bind(letters, "minimised over")
    kind = "argmin" if not isinstance(node, LocalMinimum) else "arglocmin"
    head = script(sign(rf"\operatorname{{{kind}}}", kind, PREFIX), listed(names))
    body = fence(pen.write(node.body), "{", "}")
    whole = scope(row(head, JOINT, body, level=PRODUCT), frozenset(letters))
    _remember(pen, node)
    if len(letters) == 1:
        return whole
    plain = [read_name(sympy.latex(x)) for x in letters]
    # what is written alike is the same to a reader
    stars = [pen.distinct("minimisers", whole, Tree("script", (*_parts(x), _STAR), level=ATOM)) for x in plain]
    pen.asides.setdefault(("argmin", whole), Aside(word("the minimisers are"), ((fence(listed(stars)), whole),)))
    return stars[index - 1]


def _parts(tree: Tree) -> tuple[Tree, Tree]:
    return (tree.parts[0], tree.parts[1]) if tree.kind == "script" else (tree, EMPTY)


@writes(Root)
def root_of(pen: Pen, node: Any) -> Tree:
    """The smallest (or largest) letter at which an expression vanishes; infinite where there is none."""
    (name,) = pen.bind([node.letter], "unknown of an equation")
    kind = "max" if node.takes_last else "min"
    pen.asides.setdefault("root", Aside(word("the minimum of an empty set is infinite")))
    inside = row(name, sign(":", " : ", RELATION), pen.write(node.body), EQUALS, number("0"), level=SUM)
    head = sign(f"\\{kind}", kind, PREFIX)
    return scope(row(head, fence(inside, "{", "}"), level=PRODUCT), frozenset({node.letter}))


@writes(Eigenvalues)
def eigenvalue(pen: Pen, node: Any) -> Tree:
    """The first eigenvalue's real part."""
    return _eigenvalue(pen, node, 0)


def _eigenvalue(pen: Pen, node: Any, index: int) -> Tree:
    if node not in pen.entries:
        pen.entries[node] = _entries(pen, node)
    entries = pen.entries[node]
    name = pen.distinct("matrices", entries, sign("M"))
    if ("matrix", entries) not in pen.asides:
        pen.asides["matrix", entries] = _matrix(node, name, entries)
    part = "Re" if index < node.order else "Im"
    which = script(sign(r"\mathrm{eig}", "eig", "word"), number(str(index % node.order + 1)))
    return row(sign(rf"\operatorname{{{part}}}", f"{part} ", PREFIX), call(which, name), level=PRODUCT)


def _entries(pen: Pen, node: Any) -> tuple[Tree, ...]:
    """The entries of a matrix; of the second derivatives of what is minimised, the letters and what it is."""
    free = {x.name: x for entry in node.entries for x in entry.free_symbols}
    for letters, bodies in pen.minimised.items():
        if len(letters) != node.order or not all(x.name in free for x in letters):
            continue
        # those that are minimised over are bound, and of the same names as those at the minimum
        here = [free[x.name] for x in letters]
        for body in bodies:
            function = body.xreplace(dict(zip(letters, here, strict=True)))
            slopes = [function.diff(x) for x in here]
            second = (slope.diff(y) for slope in slopes for y in here)
            if all(a == b for a, b in zip(node.entries, second, strict=True)):
                return (*map(pen.name, here), pen.write(function))
    return tuple(pen.write(x) for x in node.entries)


def _matrix(node: Any, name: Tree, entries: tuple[Tree, ...]) -> Aside:
    """The matrix itself, or where it is too wide its entries."""
    eigenvalues = call(script(sign(r"\mathrm{eig}", "eig", "word"), sign("i")), name)
    said = " are the eigenvalues, by falling real part, of the "
    if len(entries) != node.order**2:
        *letters, body = entries
        i, j, x = sign("i"), sign("j"), sign("x")
        d = sign(r"\partial ", "∂")
        below = row(d, script(x, i), JOINT, d, script(x, j), level=PRODUCT)
        twice = row(script(d, EMPTY, number("2")), held(body, ATOM), level=PRODUCT)
        words = row(eigenvalues, word(said + "Hessian matrix in x = "), fence(listed(letters)))
        return Aside(words, ((indexed(name, row(i, j)), over(twice, below)),))
    if sum(entry.width for entry in entries) <= _WIDEST:
        return Aside(row(eigenvalues, word(said.removesuffix("the "))), ((name, matrix(node.order, entries)),))
    places = [divmod(k, node.order) for k in range(len(entries))]
    is_symmetric = all(entries[i * node.order + j] == entries[j * node.order + i] for i, j in places)
    kind = "symmetric matrix" if is_symmetric else "matrix"
    lines = [
        (indexed(name, number(f"{i + 1}{j + 1}")), entry)
        for (i, j), entry, value in zip(places, entries, node.entries, strict=True)
        if value != 0 and (i <= j or not is_symmetric)
    ]
    told = f"{said}{kind} of order {node.order} whose entries, zero where not listed, are"
    return Aside(row(eigenvalues, word(told)), tuple(lines))


@writes(AtEvaluation)
def at_evaluation(pen: Pen, node: Any) -> Tree:
    """The body at the values of its letters."""
    return pen.write(node.body.xreplace(dict(zip(node.letters, node.values, strict=True))))


@writes(Homotopy)
def homotopy(pen: Pen, node: Any) -> Tree:
    """What is meant; the easy form is a way to it."""
    return pen.write(node.actual)


@writes(Proximal)
def proximal(pen: Pen, node: Any) -> Tree:
    """The minimising value of the first letter."""
    return _proximal(pen, node, 0)


def _proximal(pen: Pen, node: Any, index: int) -> Tree:
    names = [pen.name(x, "minimised over") for x in node.letters]
    hats = [pen.distinct("points", node, Tree("script", (accent(_parts(x)[0], "hat"), _parts(x)[1], EMPTY), level=ATOM)
                         if x.kind == "script" else accent(x, "hat")) for x in names]  # fmt: skip
    least = script(sign(r"\operatorname{argmin}", "argmin", PREFIX), listed(names))
    body = fence(pen.write(node.objective), "{", "}")
    point = fence(listed(hats)) if len(hats) > 1 else hats[0]
    whole = row(least, JOINT, body, level=PRODUCT)
    pen.asides.setdefault(("point", node), Aside(word("the proximal point is"), ((point, whole),)))
    if index < len(hats):
        return hats[index]
    if index == len(hats):
        return row(script(sign(r"\min", "min", PREFIX), listed(names)), JOINT, body, level=PRODUCT)
    return read_name(r"1_{\mathrm{jump}}")


@writes(PointSlope)
def point_slope(pen: Pen, node: Any) -> Tree:
    """Derivative of a minimising letter."""
    return _derivative(_proximal(pen, node.point, int(node.args[1])), pen.write(node.args[2]))


def _derivative(above: Tree, below: Tree) -> Tree:
    d = sign(r"\partial ", "∂")
    return over(row(d, held(above, ATOM)), row(d, held(below, ATOM)))


@writes(ResponseProduct)
def response_product(pen: Pen, node: Any) -> Tree:
    """The trace of a product of two responses, or the squared norm of one."""
    at_point = {x: Marked(_proximal(pen, node.point, i)) for i, x in enumerate(node.point.letters)}
    sides = [_derivative(pen.write(f.xreplace(at_point)), pen.write(c)) for f, c in node.sides]
    if sides[0] == sides[1]:
        return script(fence(sides[0], "|", "|"), above=number("2"))
    product = row(fence(sides[0]), script(fence(sides[1]), above=sign(r"\top", "⊤")))
    return row(sign(r"\operatorname{tr}", "tr", "word"), fence(product, "[", "]"), level=ATOM)


@writes(ChannelMean)
def channel_mean(pen: Pen, node: Any) -> Tree:
    """The mean of the first body."""
    return _channel(pen, node, 0)


def _channel(pen: Pen, node: Any, index: int) -> Tree:
    if ("channel", node) not in pen.asides:
        tokens, normals = node.noise_counts
        each = [pen.name(x, "standard normal variable of a token") for x in node.noise[:tokens]]
        once = [pen.name(x, "standard normal variable of a sample") for x in node.noise[tokens : tokens + normals]]
        words = [word("E is over independent standard normal "), listed(each), word(", one for each token"),
                 *([word(", and "), listed(once), word(", one for each sample")] if once else [])]  # fmt: skip
        first = pen.name(node.noise[-1], "one on the first token, zero on the others")
        pen.asides["channel", node] = Aside(row(*words, word("; "), first, word(" marks the first token; there")))
        lines = tuple((pen.name(x), pen.write(value)) for x, value in node.definitions.items())
        pen.asides["channel", node].equations = tuple((a, b) for a, b in lines if a != b)
        pen.asides["channel", node].stands_alone = True
    return mean(EMPTY, pen.write(node.bodies[index]))


def _state(pen: Pen, node: Any, index: int) -> Tree:
    law = node.law if isinstance(node, Trajectory) else node
    size = len(law.state)
    is_flow = isinstance(law, Flow)
    names = [pen.name(x) for x in law.state]
    end = pen.write(law.duration)
    clock = getattr(law, "clock", None)
    now = pen.name(clock) if clock is not None else sign("t")
    if ("law", law) not in pen.asides:
        if is_flow:
            words = row(listed([call(x, now) for x in names]), word(" follow"))
            lines = [(_derivative_of(x), pen.write(b)) for x, b in zip(names, law.bodies, strict=True)]
        else:
            words = row(listed([call(x, now) for x in names]), word(" follow, all at once at each step "), now)
            lines = [(x, row(_GETS, pen.write(b), level=SUM)) for x, b in zip(names, law.bodies, strict=True)]
        starts = [pen.write(start) for start in law.start]
        moved = [(call(x, number("0")), s) for x, s in zip(names, starts, strict=True) if x != s]
        start = word(", from the values given") if len(moved) < len(names) else EMPTY
        pen.asides["law", law] = Aside(row(words, start), (*moved, *lines))
        if isinstance(law, RandomRecurrence):
            _noise(pen, law)
        if getattr(law, "until", None) is not None:
            pen.asides["until", law] = Aside(row(word("until "), pen.write(law.until)))
    if isinstance(node, Trajectory):
        if index == 0:
            return word("the steps logged")
        if index <= size:
            name = names[index - 1]
            return fence(listed([call(name, number("0")), sign(r"\dots", "…"), call(name, end)]))
        return call(names[index - 1 - size], end)
    if index < size:
        return call(names[index], end)
    return fence(pen.write(law.readings[index - size]))


def _derivative_of(name: Tree) -> Tree:
    d = sign(r"\mathrm{d}", "d")
    return over(row(d, name), row(d, sign("t")))


def _noise(pen: Pen, law: Any) -> None:
    tokens, normals, chis = law.noise_counts
    batch, length, _ = law.sizes
    marks = law.noise
    parts: list[Tree] = [word("at each step are drawn: standard normal ")]
    parts += [listed([pen.name(x, "standard normal variable of a token") for x in marks[:tokens]])]
    parts += [word(" for each of "), pen.write(length), word(" tokens of "), pen.write(batch), word(" sequences")]
    if normals:
        names = [pen.name(x, "standard normal variable of a step") for x in marks[tokens : tokens + normals]]
        parts += [word("; standard normal "), listed(names)]
    for x, degrees in zip(marks[tokens + normals : tokens + normals + chis], law.degrees, strict=True):
        name = pen.name(x, "chi variable of a step")
        parts += [word("; "), name, word(" of the chi law with "), pen.write(degrees), word(" degrees of freedom")]
    first = pen.name(marks[-1], "one on the first token of each sequence, zero on the others")
    parts += [word("; "), first, word(" marks the informative token")]
    lines = tuple((pen.name(x), pen.write(value)) for x, value in law.definitions.items())
    pen.asides["noise", law] = Aside(row(*parts), tuple((a, b) for a, b in lines if a != b))


@writes(Recurrence, Flow, RandomRecurrence)
def first_of_state(pen: Pen, node: Any) -> Tree:
    """The first letter of the state at the end."""
    return _state(pen, node, 0)


@writes(Trajectory)
def trajectory(pen: Pen, node: Any) -> Tree:
    """The clock of a log."""
    return _state(pen, node, 0)


@writes(Component)
def component(pen: Pen, node: Any) -> Tree:
    """One of the values of an operator."""
    operator, index = node.operator, node.index
    if isinstance(operator, Minimum):
        return _minimiser(pen, operator, index)
    for kind, writer in ((Eigenvalues, _eigenvalue), (Proximal, _proximal), (ChannelMean, _channel),
                         (Branches, fixed_point), (Spinodal, meeting),
                         ((Recurrence, Flow, RandomRecurrence, Trajectory), _state)):  # fmt: skip
        if isinstance(operator, kind):
            return writer(pen, operator, index)
    return script(fence(pen.write(operator), "[", "]"), below=number(str(index)))
