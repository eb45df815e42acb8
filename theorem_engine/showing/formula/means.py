"""Means as a theorist writes them: over normal letters, lengths, tokens that compete, spectra."""

from __future__ import annotations

from typing import Any

import sympy

from theorem_engine.language.functions import log_softplus, softplus
from theorem_engine.language.operators.gaussian_mean import Blurred, GaussianMean
from theorem_engine.language.operators.spectral_mean import SpectralMean
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
    call,
    cases,
    fence,
    held,
    listed,
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
_HIDDEN = sign(r"\epsilon", "ε")
_INDICES = "jkmnr"
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
        return expression.xreplace({letter: Marked(indexed(name, token)) for letter, name in named})

    if key not in pen.asides:
        pen.asides[key] = _tokens(pen, node, normals, signs, at)
    count = len(node.args[5])
    indices = [sign(_INDICES[i % len(_INDICES)]) for i in range(count)]
    body: list[Any] = [at(_HIDDEN, f) for f in node.args[4] if f != 1]
    body += [at(index, f) for index, f in zip(indices, node.args[5], strict=True) if f != 1]
    if node.nobody:
        body.append(Marked(indexed(signs[0], sign(r"\emptyset", "∅"))) ** node.nobody)
    inside = pen.write(sympy.Mul(*body, evaluate=len(body) < 2)) if body else number("1")
    if count:
        apart = [*indices, *([_HIDDEN] if node.has_hidden else [])]
        below = listed(apart, _UNEQUAL) if len(apart) > 1 else apart[0]
        inside = row(script(_SUM_SIGN, below), JOINT, held(inside, PRODUCT), level=PRODUCT)
    return mean(EMPTY, inside)


def indexed(name: Tree, token: Tree) -> Tree:
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
        of = indexed(mine, sign("m"))
        total = row(script(_SUM_SIGN, sign("m")), JOINT, of, level=PRODUCT)
        if node.extra != 0:
            total = row(pen.write(node.extra), PLUS, total, level=SUM)
        equations.append((indexed(name, _ELL), over(indexed(mine, _ELL), total)))
        if node.nobody:
            empty = indexed(name, sign(r"\emptyset", "∅"))
            equations.append((empty, over(pen.write(node.extra), total)))
        ordinary, hidden = (_exponential(pen, at(token, k)) for token, k in zip((_ELL, _HIDDEN), pair, strict=True))
        if node.has_hidden and pair[0] != pair[1]:
            unlike = row(_ELL, _UNEQUAL, _HIDDEN, level=SUM)
            value = cases((ordinary, unlike), (hidden, row(_ELL, EQUALS, _HIDDEN, level=SUM)))
            equations.append((indexed(mine, _ELL), value))
        else:
            equations.append((indexed(mine, _ELL), ordinary))
    who = row(word("for each token "), _ELL, EQUALS, listed([number("1"), sign(r"\dots", "…"), pen.write(node.length)]))
    drawn = row(word(", with independent standard normal "), listed([indexed(x, _ELL) for x in normals]))
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
