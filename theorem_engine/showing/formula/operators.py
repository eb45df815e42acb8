"""Operators as a theorist writes them: means, sums over tokens, spectral integrals, minima, roots, laws of motion."""

from __future__ import annotations

from typing import Any

import sympy

from theorem_engine.language.functions import OpenFunction, log_softplus, softplus
from theorem_engine.language.operators.at_evaluation import AtEvaluation
from theorem_engine.language.operators.base import Component
from theorem_engine.language.operators.channel import (
    ChannelMean,
    TokenLogSum,
    TokenMax,
    TokenSort,
)
from theorem_engine.language.operators.dynamics import Flow, Recurrence, Trajectory
from theorem_engine.language.operators.gaussian_mean import Blurred, GaussianMean
from theorem_engine.language.operators.optimum import LocalMinimum, Minimum, Root
from theorem_engine.language.operators.proximal import PointSlope, Proximal, ResponseProduct
from theorem_engine.language.operators.spectral_mean import SpectralMean
from theorem_engine.language.operators.spectrum import Eigenvalues
from theorem_engine.language.operators.stochastic import BatchSum, RandomRecurrence, TokenSum
from theorem_engine.language.operators.token_mean import Hardmax, LengthMean, TokenMean
from theorem_engine.showing.formula.names import read_name
from theorem_engine.showing.formula.tree import (
    ATOM,
    EMPTY,
    EQUALS,
    INFINITY,
    JOINT,
    PLUS,
    PREFIX,
    PRODUCT,
    RELATION,
    SUM,
    Tree,
    accent,
    call,
    cases,
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

_MEAN = sign(r"\mathbf{E}", "E")
_SUM_SIGN, _ELL = sign(r"\sum", "Σ", PREFIX), sign(r"\ell", "ℓ")
_UNEQUAL, _TILDE = sign(r"\neq ", " ≠ ", RELATION), sign(r"\sim ", " ~ ", RELATION)
_GETS = sign(r"\leftarrow ", " ← ", RELATION)
_STAR = sign(r"\star", "⋆")
_HIDDEN = sign(r"\epsilon", "ε")
_INDICES = "jkmnr"
#: A matrix whose entries are wider together is written entry by entry.
_WIDEST = 120
_FORMS = {
    "bulk": "limit of tr h(S)/n",
    "right-right": "limit of rᵀ h(S) r",
    "right-left": "limit of rᵀ h(S) Xᵀ l/√p",
    "left-left": "limit of lᵀ X h(S) Xᵀ l/p",
    "across": "limit of wᵀ X h(S) Xᵀ w/p",
}


def mean(over_what: Tree, body: Tree) -> Tree:
    """E with what it is taken over, and what is averaged in brackets."""
    return row(script(_MEAN, over_what) if over_what != EMPTY else _MEAN, fence(body, "[", "]"), level=ATOM)


@writes(GaussianMean)
def gaussian_mean(pen: Pen, node: Any) -> Tree:
    """E over standard normal letters."""
    names = pen.bind(node.variables, "standard normal variable")
    return scope(mean(listed(names), pen.write(node.body)), frozenset(node.variables))


@writes(Blurred)
def blurred(pen: Pen, node: Any) -> Tree:
    """E over a normal letter of some mean and variance."""
    function, letter, centre, variance = node.args
    (name,) = pen.bind([letter], "normal variable")
    law = call(sign(r"\mathcal{N}", "N"), pen.write(centre), pen.write(variance))
    inside = pen.write(function)
    return scope(mean(row(name, _TILDE, law), inside), frozenset({letter}))


@writes(LengthMean)
def length_mean(pen: Pen, node: Any) -> Tree:
    """E over the length."""
    (name,) = pen.bind([node.letter], "length drawn from its distribution")
    below = name if name == pen.name(node.length) else row(name, _TILDE, pen.name(node.length))
    return scope(mean(below, pen.write(node.body)), frozenset({node.letter}))


@writes(TokenMean)
def token_mean(pen: Pen, node: Any) -> Tree:
    """E of a sum over distinct tokens, the hidden one named; an aside says what the weights are."""
    # what is written alike is the same, whatever binds the letters
    kernels = tuple(pen.write(k) for pair in node.kernels for k in pair)
    key = (pen.write(node.length), kernels, node.has_hidden, pen.write(node.extra), bool(node.nobody))
    signs = [pen.distinct("weights", key, read_name(sympy.latex(w))) for w in node.letters]
    normals = [pen.name(x, "standard normal score of a token") for x in node.normals]
    for letter in node.letters:
        pen.name(letter, "weight of a token")

    def at(token: Tree, expression: Any) -> Any:
        named = zip((*node.normals, *node.letters), (*normals, *signs), strict=True)
        return expression.xreplace({letter: Marked(_indexed(name, token)) for letter, name in named})

    if key not in pen.asides:
        pen.asides[key] = _tokens(pen, node, normals, signs, at)
    count = len(node.args[5])
    indices = [sign(_INDICES[i % len(_INDICES)]) for i in range(count)]
    body: list[Any] = [at(_HIDDEN, f) for f in node.args[4] if f != 1]
    body += [at(index, f) for index, f in zip(indices, node.args[5], strict=True) if f != 1]
    if node.nobody:
        body.append(Marked(_indexed(signs[0], sign(r"\emptyset", "∅"))) ** node.nobody)
    inside = pen.write(sympy.Mul(*body, evaluate=len(body) < 2)) if body else number("1")
    if count:
        apart = [*indices, *([_HIDDEN] if node.has_hidden else [])]
        below = listed(apart, _UNEQUAL) if len(apart) > 1 else apart[0]
        inside = row(script(_SUM_SIGN, below), JOINT, held(inside, PRODUCT), level=PRODUCT)
    return mean(EMPTY, inside)


def _indexed(name: Tree, token: Tree) -> Tree:
    """A letter of one token."""
    if name.kind == "script":
        base, below, above = name.parts
        inside = token if below == EMPTY else listed([below, token])
        return Tree("script", (base, inside, above), level=ATOM)
    return script(name, below=token)


def _tokens(pen: Pen, node: Any, normals: list[Tree], signs: list[Tree], at: Any) -> Aside:
    equations: list[tuple[Tree, Tree]] = []
    kernel = sign("K")
    for name, pair in zip(signs, node.kernels, strict=True):
        mine = kernel if len(signs) == 1 else script(kernel, above=name)
        mine = pen.distinct("kernels", name, mine)
        of = _indexed(mine, sign("m"))
        total = row(script(_SUM_SIGN, sign("m")), JOINT, of, level=PRODUCT)
        if node.extra != 0:
            total = row(pen.write(node.extra), PLUS, total, level=SUM)
        equations.append((_indexed(name, _ELL), over(_indexed(mine, _ELL), total)))
        if node.nobody:
            empty = _indexed(name, sign(r"\emptyset", "∅"))
            equations.append((empty, over(pen.write(node.extra), total)))
        ordinary, hidden = (_exponential(pen, at(token, k)) for token, k in zip((_ELL, _HIDDEN), pair, strict=True))
        if node.has_hidden and pair[0] != pair[1]:
            unlike = row(_ELL, _UNEQUAL, _HIDDEN, level=SUM)
            value = cases((ordinary, unlike), (hidden, row(_ELL, EQUALS, _HIDDEN, level=SUM)))
            equations.append((_indexed(mine, _ELL), value))
        else:
            equations.append((_indexed(mine, _ELL), ordinary))
    who = row(word("for each token "), _ELL, EQUALS, listed([number("1"), sign(r"\dots", "…"), pen.write(node.length)]))
    drawn = row(word(", with independent standard normal "), listed([_indexed(x, _ELL) for x in normals]))
    hidden_words = row(word(" and the hidden token "), _HIDDEN) if node.has_hidden else EMPTY
    return Aside(row(who, drawn, hidden_words), tuple(equations))


def _exponential(pen: Pen, logarithm: Any) -> Tree:
    if isinstance(logarithm, Hardmax):
        inner = pen.write(logarithm.args[0])
        growing = pen.write(sympy.exp(Marked(sign("b")) * Marked(inner)))
        return row(sign(r"\lim_{b\to\infty}", "lim(b → ∞) ", PREFIX), growing)
    if logarithm == -sympy.oo:
        return number("0")
    if isinstance(logarithm, log_softplus):
        return pen.write(softplus(*logarithm.args))
    if isinstance(logarithm, sympy.Piecewise):
        rows = [(_exponential(pen, v), EMPTY if c == True else pen.write(c)) for v, c in logarithm.args]  # noqa: E712
        return cases(*rows)
    return pen.write(sympy.exp(logarithm))


@writes(Hardmax)
def hardmax(pen: Pen, node: Any) -> Tree:
    """Infinitely many times a score."""
    return row(INFINITY, sign(r"\cdot ", "·", "times"), held(pen.write(node.args[0]), PRODUCT), level=PRODUCT)


@writes(SpectralMean)
def spectral_mean(pen: Pen, node: Any) -> Tree:
    """An integral over the Marchenko-Pastur law, its ratio (and spike) below."""
    law = node.law
    (name,) = pen.bind([node.variable], "eigenvalue")
    below = [pen.write(law.ratio)] + ([pen.write(law.spike)] if law.spike != 0 else [])
    form = {"bulk": EMPTY, "right-right": sign("rr"), "right-left": sign("rl"), "left-left": sign("ll"),
            "across": sign("ww")}[law.form]  # fmt: skip
    measure = Tree("script", (sign(r"\mu", "μ"), listed(below), form), level=ATOM)
    if ("law", measure) not in pen.asides:
        pen.asides["law", measure] = Aside(_law_words(pen, law, measure))
    if law.form != "bulk" and "spike" not in pen.asides:
        pen.asides["spike"] = Aside(
            word("r and l are the right and left unit vectors of the spike of X, w is a unit vector orthogonal to l")
        )
    parts = (sign(r"\int", "∫", "name"), JOINT, held(pen.write(node.body), PRODUCT), JOINT, sign(r"\mathrm{d}", "d"))
    return scope(row(*parts, call(measure, name), level=PRODUCT), frozenset({node.variable}))


def _law_words(pen: Pen, law: Any, measure: Tree) -> Tree:
    if law.form == "bulk":
        text = " is the Marchenko-Pastur law of ratio n/p = "
        return row(measure, word(text), pen.write(law.ratio), word(": that of S = Xᵀ X/p, X standard normal, p by n"))
    what = f" integrates h to the {_FORMS[law.form]}, S = Xᵀ X/p, n/p = "
    ends = [word(", spike "), pen.write(law.spike), word(" √p")] if law.spike != 0 else []
    return row(measure, word(what), pen.write(law.ratio), *ends)


@writes(Minimum)
def minimum(pen: Pen, node: Any) -> Tree:
    """min over letters."""
    names = pen.bind(node.letters, "minimised over")
    what = r"\operatorname{locmin}" if isinstance(node, LocalMinimum) else r"\min"
    head = script(sign(what, "locmin" if isinstance(node, LocalMinimum) else "min", PREFIX), listed(names))
    return scope(row(head, JOINT, fence(pen.write(node.body), "{", "}"), level=PRODUCT), frozenset(node.letters))


def _minimiser(pen: Pen, node: Any, index: int) -> Tree:
    letters = node.letters
    if index == len(letters) + 1:
        return word("1 where the minimum is attained, else 0")
    names = pen.bind(letters, "minimised over")
    kind = "argmin" if not isinstance(node, LocalMinimum) else "arglocmin"
    head = script(sign(rf"\operatorname{{{kind}}}", kind, PREFIX), listed(names))
    body = fence(pen.write(node.body), "{", "}")
    whole = scope(row(head, JOINT, body, level=PRODUCT), frozenset(letters))
    if len(letters) == 1:
        return whole
    plain = [read_name(sympy.latex(x)) for x in letters]
    stars = [pen.distinct("minimisers", node, Tree("script", (*_parts(x), _STAR), level=ATOM)) for x in plain]
    pen.asides.setdefault(("argmin", node), Aside(word("the minimisers are"), ((fence(listed(stars)), whole),)))
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
    name = pen.distinct("matrices", node, sign("M"))
    if ("matrix", node) not in pen.asides:
        pen.asides["matrix", node] = _matrix(pen, node, name)
    part = "Re" if index < node.order else "Im"
    which = script(sign(r"\mathrm{eig}", "eig", "word"), number(str(index % node.order + 1)))
    return row(sign(rf"\operatorname{{{part}}}", f"{part} ", PREFIX), call(which, name), level=PRODUCT)


def _matrix(pen: Pen, node: Any, name: Tree) -> Aside:
    """The matrix itself, or where it is too wide its entries."""
    eigenvalues = row(sign(r"\mathrm{eig}_i", "eig_i", "name"), fence(name))
    entries = tuple(pen.write(x) for x in node.entries)
    if sum(entry.width for entry in entries) <= _WIDEST:
        words = row(eigenvalues, word(" are the eigenvalues, by falling real part, of"))
        return Aside(words, ((name, matrix(node.order, entries)),))
    size = f" are the eigenvalues, by falling real part, of the matrix of order {node.order} whose entries, zero where "
    lines = []
    for position, entry in enumerate(entries):
        place = number(f"{position // node.order + 1}{position % node.order + 1}")
        if node.entries[position] != 0:
            lines.append((_indexed(name, place), entry))
    return Aside(row(eigenvalues, word(size + "not listed, are")), tuple(lines))


@writes(AtEvaluation)
def at_evaluation(pen: Pen, node: Any) -> Tree:
    """The body at the values of its letters."""
    return pen.write(node.body.xreplace(dict(zip(node.letters, node.values, strict=True))))


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
                         ((Recurrence, Flow, RandomRecurrence, Trajectory), _state)):  # fmt: skip
        if isinstance(operator, kind):
            return writer(pen, operator, index)
    return script(fence(pen.write(operator), "[", "]"), below=number(str(index)))


@writes(TokenSum)
def token_sum(pen: Pen, node: Any) -> Tree:
    """A sum over the tokens of a sequence."""
    pen.functions["Σ_ℓ"] = "sum over the tokens of a sequence"
    return row(script(_SUM_SIGN, _ELL), JOINT, held(pen.write(node.args[0]), PRODUCT), level=PRODUCT)


@writes(BatchSum)
def batch_sum(pen: Pen, node: Any) -> Tree:
    """A sum over all tokens of a batch."""
    pen.functions["Σ_bℓ"] = "sum over the tokens of all sequences of a batch"
    below = row(sign("b"), _ELL)
    return row(script(_SUM_SIGN, below), JOINT, held(pen.write(node.args[0]), PRODUCT), level=PRODUCT)


@writes(TokenMax)
def token_max(pen: Pen, node: Any) -> Tree:
    """The largest over the tokens."""
    pen.functions["max_ℓ"] = "largest over the tokens of a sequence"
    return row(script(sign(r"\max", "max", PREFIX), _ELL), JOINT, held(pen.write(node.args[0]), ATOM), level=PRODUCT)


@writes(TokenSort)
def token_sort(pen: Pen, node: Any) -> Tree:
    """The tokens' numbers in decreasing order."""
    pen.functions["sort"] = "the tokens' numbers in decreasing order"
    return call(sign(r"\operatorname{sort}", "sort", "word"), pen.write(node.args[0]))


@writes(TokenLogSum)
def token_log_sum(pen: Pen, node: Any) -> Tree:
    """The logarithm of a sum of exponentials."""
    pen.functions["Σ_ℓ"] = "sum over the tokens of a sequence"
    inside = row(script(_SUM_SIGN, _ELL), JOINT, pen.write(sympy.exp(node.args[0])), level=PRODUCT)
    return row(sign(r"\log", "log ", PREFIX), inside, level=PRODUCT)


@writes(OpenFunction)
def open_function(pen: Pen, node: Any) -> Tree:
    """A function that says itself how it is written and what it is."""
    latex, text = node.sign
    if node.words:
        pen.functions[text.strip()] = node.words
    return call(sign(latex, text, "word"), *(pen.write(x) for x in node.args))
