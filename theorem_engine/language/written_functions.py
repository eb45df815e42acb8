"""Functions that users write as text: the names they may call, and how an activation is written."""

from __future__ import annotations

import re
from typing import Any

import sympy

from theorem_engine.base.exact import NotANumber
from theorem_engine.base.expression import Function, read_expression
from theorem_engine.language.functions import erfcx, expm1, log1p, mills, normal_cdf, normal_pdf, softplus

#: Names that text may call.
NAMES: dict[str, Function] = {
    **{
        name: Function(getattr(sympy, name))
        for name in (
            "exp", "log", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan", "asinh",
            "acosh", "atanh", "erf", "erfc", "sign",
        )
    },
    "abs": Function(sympy.Abs),
    "max": Function(sympy.Max, 2, 3),
    "min": Function(sympy.Min, 2, 3),
    "relu": Function(lambda x: sympy.Max(0, x)),
    "sigmoid": Function(lambda x: sympy.exp(-softplus(-x))),
    "softplus": Function(softplus),
    "expm1": Function(expm1),
    "log1p": Function(log1p),
    "erfcx": Function(erfcx),
    "mills": Function(mills),
    "normal_cdf": Function(normal_cdf),
    "normal_pdf": Function(normal_pdf),
}  # fmt: skip
#: A single word, which is meant as a name from a list.
_WORD = re.compile(r"\s*[^\W\d][\w-]+\s*")
_CALL = re.compile(r"\s*(?P<kind>ElementWise|Normalised)\s*\((?P<inside>.*)\)\s*", re.DOTALL | re.IGNORECASE)
_EXTRA = re.compile(r"(?P<kernel>.*),\s*extra\s*=\s*(?P<extra>[^,()]*)", re.DOTALL)


def is_word(text: str) -> bool:
    """Whether a text can only be meant as a name: one word of more than one character."""
    return _WORD.fullmatch(text) is not None


def function_of(text: str) -> Any:
    """The expression that a text writes; NotANumber with the reason if it writes none.

    >>> function_of("max(0, x) - x^2/2")
    -x**2/2 + Max(0, x)
    """
    try:
        return read_expression(text, NAMES)
    except (TypeError, ValueError, RecursionError) as problem:
        if isinstance(problem, NotANumber):
            raise
        raise NotANumber("is no function of one letter") from None


def activation_parts(text: str) -> tuple[str, Any, str]:
    """Kind, expression and the constant ``extra`` of text such as ``Normalised(exp(x), extra=1)``.

    >>> activation_parts("ElementWise(1 + erf(x))")
    ('ElementWise', erf(x) + 1, '0')
    """
    call = _CALL.fullmatch(text)
    if call is None:
        raise NotANumber("does not say how it is meant; write ElementWise(expression) or Normalised(expression)")
    kind = "ElementWise" if call["kind"].lower() == "elementwise" else "Normalised"
    split = _EXTRA.fullmatch(call["inside"]) if kind == "Normalised" else None
    return kind, function_of(split["kernel"] if split else call["inside"]), split["extra"].strip() if split else "0"
