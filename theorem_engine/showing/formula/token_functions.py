"""Functions of the numbers of all tokens: sums, the largest, an order."""

from __future__ import annotations

from typing import Any

import sympy

from theorem_engine.language.operators.channel import (
    LargestLog,
    LargestScore,
    TokenFront,
    TokenLogSum,
    TokenMax,
    TokenSort,
)
from theorem_engine.language.operators.stochastic import BatchSum, TokenSum
from theorem_engine.showing.formula.tree import (
    ATOM,
    JOINT,
    PREFIX,
    PRODUCT,
    Tree,
    call,
    held,
    row,
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


@writes(TokenFront)
def token_front(pen: Pen, node: Any) -> Tree:
    """The tokens' numbers with a drawn one in front."""
    pen.functions["front(x; b, u)"] = "x with a token in front that u draws from softmax(b x), the rest decreasing"
    return call(sign(r"\operatorname{front}", "front", "word"), *(pen.write(x) for x in node.args))


@writes(TokenLogSum)
def token_log_sum(pen: Pen, node: Any) -> Tree:
    """The logarithm of a sum of exponentials."""
    pen.functions["Σ_ℓ"] = "sum over the tokens of a sequence"
    inside = row(script(_SUM_SIGN, _ELL), JOINT, pen.write(sympy.exp(node.args[0])), level=PRODUCT)
    return row(sign(r"\log", "log ", PREFIX), inside, level=PRODUCT)


@writes(LargestLog)
def largest_log(pen: Pen, node: Any) -> Tree:
    """The log probability of being the largest."""
    pen.functions["log P(ω; s)"] = "log probability of each token to be the largest of ω + s ξ, ξ standard normal"
    if len(node.args) > 2:
        pen.functions["log P(ω; s, b)"] = "log probability of each token to be drawn from softmax(b (ω + s ξ))"
    inside = call(sign("P"), *(pen.write(x) for x in node.args))
    return row(sign(r"\log", "log ", PREFIX), inside, level=PRODUCT)


@writes(LargestScore)
def largest_score(pen: Pen, node: Any) -> Tree:
    """Derivative of the log probability of a weighted place."""
    omega, weight, *rest = node.args
    pen.functions["∇_ω"] = "derivatives in ω of each token"
    pen.functions["P(ω; s)"] = "probability of each token to be the largest of ω + s ξ, ξ standard normal"
    inside = row(script(_SUM_SIGN, _ELL), JOINT, pen.write(sympy.exp(weight)), JOINT,
                 call(sign("P"), pen.write(omega), *(pen.write(x) for x in rest)), level=PRODUCT)  # fmt: skip
    slope = script(sign(r"\nabla", "∇"), sign(r"\omega", "ω"))
    return row(slope, sign(r"\log", " log ", PREFIX), inside, level=PRODUCT)
