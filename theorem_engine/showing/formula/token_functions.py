"""Functions of the numbers of all tokens: sums, the largest, an order."""

from __future__ import annotations

from typing import Any

import sympy

from theorem_engine.language.functions import OpenFunction
from theorem_engine.language.operators.channel import (
    TokenLogSum,
    TokenMax,
    TokenSort,
)
from theorem_engine.language.operators.spectrum_sum import SpectrumSum
from theorem_engine.language.operators.stochastic import BatchSum, TokenSum
from theorem_engine.showing.formula.tree import (
    ATOM,
    INFINITY,
    JOINT,
    PREFIX,
    PRODUCT,
    Tree,
    call,
    held,
    row,
    scope,
    script,
    sign,
)
from theorem_engine.showing.formula.writing import Pen, writes

_SUM_SIGN, _ELL = sign(r"\sum", "Σ", PREFIX), sign(r"\ell", "ℓ")


@writes(TokenSum)
def token_sum(pen: Pen, node: Any) -> Tree:
    """A sum over the tokens of a sequence."""
    pen.functions["Σ_ℓ"] = "sum over the tokens of a sequence"
    return row(script(_SUM_SIGN, _ELL), JOINT, held(pen.write(node.args[0]), PRODUCT), level=PRODUCT)


@writes(SpectrumSum)
def spectrum_sum(pen: Pen, node: Any) -> Tree:
    """A sum over all modes."""
    (name,) = pen.bind([node.index], "number of a mode, from one on")
    below = row(name, sign("="), sign("1"))
    inside = held(pen.write(node.body), PRODUCT)
    return scope(row(script(_SUM_SIGN, below, INFINITY), JOINT, inside, level=PRODUCT), frozenset({node.index}))


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
