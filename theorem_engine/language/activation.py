"""Attention activations: functions that turn scores into weights, named or written by a user."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import sympy

from theorem_engine.base.errors import BadNumber, OutOfDomain
from theorem_engine.base.exact import NotANumber, as_fraction, read_number
from theorem_engine.language.domains import Choice, Named, Rejected
from theorem_engine.language.functions import (
    OwenT,
    erfcx,
    expm1,
    log1p,
    log_softplus,
    mills,
    normal_cdf,
    normal_pdf,
    softplus,
)
from theorem_engine.language.gaussian_data import kinks
from theorem_engine.language.written_functions import activation_parts, is_word

_SCORE = sympy.Symbol("chi", real=True)
#: Functions of a kernel: those that every backend knows, and whose derivatives it knows.
FUNCTIONS: frozenset[Any] = frozenset({
    sympy.exp, sympy.log, sympy.sin, sympy.cos, sympy.tan, sympy.cot, sympy.sec, sympy.csc,
    sympy.sinh, sympy.cosh, sympy.tanh, sympy.coth, sympy.sech, sympy.csch,
    sympy.asin, sympy.acos, sympy.atan, sympy.asinh, sympy.acosh, sympy.atanh,
    sympy.erf, sympy.erfc, sympy.LambertW, sympy.Abs, sympy.Max, sympy.Min,
    OwenT, erfcx, expm1, log1p, log_softplus, mills, normal_cdf, normal_pdf, softplus,
})  # fmt: skip
#: What else a kernel may be made of: sums, powers, branches and their conditions.
_GRAMMAR = (
    sympy.Add, sympy.Mul, sympy.Pow, sympy.Piecewise, sympy.functions.elementary.piecewise.ExprCondPair,
    sympy.StrictGreaterThan, sympy.GreaterThan, sympy.StrictLessThan, sympy.LessThan, sympy.And, sympy.Or, sympy.Not,
)  # fmt: skip
#: Exponents beyond this are no kernel that could be told from a step.
_LARGEST_EXPONENT = 10**6


@dataclass(frozen=True)
class ElementWise:
    """Each token's weight is a function of its own score.

    ``breaks`` lists the scores where the function has a kink.

    >>> chi = sympy.Symbol("chi")
    >>> ElementWise(1 + sympy.erf(chi)).at(0)
    1
    """

    function: Any
    breaks: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        # the plain form overflows at large scores
        plain = _read(self.function).replace(_is_soft_logarithm, _soft)
        object.__setattr__(self, "function", plain)
        object.__setattr__(self, "breaks", _read_breaks(self.breaks))

    def at(self, score: Any) -> Any:
        """The weight at a score."""
        return self.function.xreplace({_SCORE: sympy.sympify(score, strict=True)})

    def __str__(self) -> str:
        return f"ElementWise({self.function})"


@dataclass(frozen=True)
class Normalised:
    """Each token's weight is a positive increasing kernel of its score over the sum of all kernels.

    ``extra`` is a constant added to that sum, so that a sequence may attend to nothing. ``breaks``
    lists the scores where the kernel has a kink; a kernel may vanish to the left of one.

    >>> chi = sympy.Symbol("chi")
    >>> Normalised(sympy.exp(chi)).log_at(2)
    2
    """

    kernel: Any
    extra: Any = 0
    breaks: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernel", _read(self.kernel))
        object.__setattr__(self, "extra", _constant("extra", self.extra))
        if self.extra < 0:
            raise OutOfDomain(f"extra={self.extra} is negative; it is a constant in a sum of positive kernels")
        object.__setattr__(self, "breaks", _read_breaks(self.breaks))
        _refuse_bad_kernel(self.kernel)

    def log_at(self, score: Any) -> Any:
        """The logarithm of the kernel at a score."""
        kernel = self.kernel
        if kernel.has(sympy.Max, sympy.Min, sympy.Abs):
            # a logarithm needs to see where the kernel vanishes
            kernel = sympy.piecewise_fold(kernel.rewrite(sympy.Piecewise))
        if isinstance(kernel, sympy.Piecewise):
            parts = [(-sympy.oo if k == 0 else _logarithm(k), condition) for k, condition in kernel.args]
            return sympy.Piecewise(*parts).xreplace({_SCORE: sympy.sympify(score, strict=True)})
        return _logarithm(kernel).xreplace({_SCORE: sympy.sympify(score, strict=True)})

    def __str__(self) -> str:
        extra = f", extra={self.extra}" if self.extra else ""
        return f"Normalised({self.kernel}{extra})"


@dataclass(frozen=True)
class Activation(Named):
    """A named activation, or a user's own: ``ElementWise(expression)`` or ``Normalised(expression)``."""

    named: tuple[tuple[str, Any], ...]
    names: tuple[str, ...] = field(init=False, repr=False, compare=False)

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> Activation:
        """From a table of names; None marks a name that is no function of a score."""
        return cls(tuple(table.items()))

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(name for name, _ in self.named))

    def read(self, given: Any) -> Any:
        """A known name, or an expression with how it is meant; text is read by a grammar and never evaluated."""
        if isinstance(given, (ElementWise, Normalised)):
            return given
        if isinstance(given, str) and given not in self.names and not is_word(given):
            return read_activation(given)
        if isinstance(given, sympy.Basic):
            raise NotANumber("does not say how it is meant; write ElementWise(expression) or Normalised(expression)")
        return Choice(self.names).read(given)

    def meaning(self, chosen: Any) -> Any:
        """The function behind a choice."""
        return dict(self.named)[chosen] if isinstance(chosen, str) else chosen

    def describe(self) -> str:
        """The names, and the open door."""
        listed = ", ".join(repr(name) for name in self.names)
        return f"one of {listed}, or ElementWise(...) or Normalised(...) of an expression of one letter such as 1+x^2"


def read_activation(text: str) -> ElementWise | Normalised:
    """An activation as text, ``ElementWise(exp(x))`` or ``Normalised(1 + max(0, x), extra=1)``; kinks are found.

    >>> str(read_activation("ElementWise(max(0, x))")), read_activation("ElementWise(max(0, x))").breaks
    ('ElementWise(Max(0, chi))', (0,))
    """
    kind, expression, extra = activation_parts(text)
    try:
        (letter,) = expression.free_symbols
        breaks = tuple(sorted(set(kinks(expression, letter)), key=float))
        if kind == "ElementWise":
            return ElementWise(expression, breaks=breaks)
        return Normalised(expression, extra=_exact(extra), breaks=breaks)
    except BadNumber as problem:
        raise NotANumber(f"is refused: {problem}") from None
    except OutOfDomain as problem:
        raise Rejected(f"is refused: {problem}") from None


def _exact(text: str) -> Any:
    """An exact number from text, as SymPy has it."""
    fraction = as_fraction(read_number(text))
    if fraction is None:
        raise NotANumber(f"has extra={text[:40]}, which is no rational number")
    return sympy.Rational(*fraction.as_integer_ratio())


def _read(expression: Any) -> Any:
    """An expression of one letter, in our own letter."""
    if not isinstance(expression, sympy.Expr) or len(expression.free_symbols) != 1:
        raise BadNumber(f"{str(expression)[:80]!r} is not a SymPy expression of one letter")
    if expression.atoms(sympy.Float):
        raise BadNumber(f"{str(expression)[:80]} contains a binary number; write exact rationals, or digits are lost")
    _refuse_unknown(expression)
    (letter,) = expression.free_symbols
    return expression.xreplace({letter: _SCORE})


def _refuse_unknown(expression: Any) -> None:
    """Whatever a backend does not know would reach its code as a bare name: only what is listed here may pass."""
    for node in sympy.preorder_traversal(expression):
        is_number = isinstance(node, (sympy.Number, sympy.NumberSymbol, sympy.logic.boolalg.BooleanAtom))
        if is_number or isinstance(node, sympy.Symbol) or type(node) in _GRAMMAR or type(node) in FUNCTIONS:
            continue
        names = ", ".join(sorted(function.__name__ for function in FUNCTIONS))
        raise BadNumber(
            f"{str(expression)[:80]!r} contains {type(node).__name__[:40]!r}, which no backend evaluates; "
            f"a kernel is made of sums, products, powers, Piecewise and the functions {names}"
        )


def _refuse_bad_kernel(kernel: Any) -> None:
    """What can be seen around zero; the whole range the tokens reach is looked at when a mean is taken."""
    plain = kernel.replace(lambda node: hasattr(node, "definition"), lambda node: node.definition())
    _refuse_towers(plain, kernel)
    low, high = (plain.xreplace({_SCORE: sympy.Integer(n)}).evalf() for n in (-1, 1))
    if low.is_real is not True or high.is_real is not True or bool(low < 0) or bool(high <= 0):
        raise OutOfDomain(f"the kernel {kernel} is not positive at scores -1 and 1; a normalised kernel must be")
    if bool(high <= low):
        raise OutOfDomain(f"the kernel {kernel} does not increase from score -1 to 1; a normalised kernel must")


def _refuse_towers(plain: Any, kernel: Any) -> None:
    """An exponential of a large number has as many digits as the number is large: inner ones are looked at first."""
    for node in sympy.postorder_traversal(plain):
        if isinstance(node, (sympy.exp, sympy.sinh, sympy.cosh, sympy.Pow)):
            exponent = node.args[-1]
            values = (exponent.xreplace({_SCORE: sympy.Integer(n)}).evalf() for n in (-1, 1))
            if any(value.is_real and bool(abs(value) > _LARGEST_EXPONENT) for value in values):
                raise OutOfDomain(f"the kernel {kernel} has an exponent above 10^6 at scores of -1 or 1")


def _logarithm(kernel: Any) -> Any:
    """log of a kernel in a form that neither overflows nor loses a small kernel."""
    if kernel.has(sympy.tanh, sympy.sinh, sympy.cosh, sympy.coth):
        kernel = sympy.simplify(kernel.rewrite(sympy.exp))
    kernel = kernel.replace(_is_soft_logarithm, _soft)
    if hasattr(kernel, "logarithm"):
        return kernel.logarithm()
    expanded = sympy.expand_log(sympy.log(sympy.powsimp(kernel)), force=True)
    return expanded.replace(_is_soft_logarithm, _soft)


def _is_soft_logarithm(node: Any) -> bool:
    return isinstance(node, sympy.log) and _parts(node) is not None


def _soft(node: Any) -> Any:
    """log(a + b exp(g)) as log a + softplus(g + log(b/a)), which does not overflow."""
    a, b, exponent = _parts(node)
    return sympy.log(a) + softplus(exponent + sympy.log(b / a))


def _parts(node: Any) -> Any:
    """a, b and g of log(a + b exp(g)) with positive numbers a and b; None for other logarithms."""
    inside = node.args[0]
    if not isinstance(inside, sympy.Add):
        return None
    a, rest = inside.as_independent(*inside.free_symbols, as_Add=True)
    b, call = rest.as_independent(*inside.free_symbols, as_Add=False)
    if isinstance(call, sympy.exp) and a.is_positive and b.is_positive:
        return a, b, call.args[0]
    return None


def _constant(name: str, given: Any) -> Any:
    """An exact real number; text is never read as mathematics."""
    try:
        value = sympy.Rational(str(given)) if isinstance(given, float) else sympy.sympify(given, strict=True)
    except (sympy.SympifyError, TypeError, ValueError):
        value = None
    if not isinstance(value, sympy.Expr) or not (value.is_number and value.is_real and value.is_finite):
        raise BadNumber(f"{name}={str(given)[:60]!r} is not a finite real number")
    _refuse_unknown(value)
    return value


def _read_breaks(given: Any) -> tuple[Any, ...]:
    """Scores of kinks."""
    if not isinstance(given, (tuple, list)):
        raise BadNumber(f"breaks={str(given)[:60]!r} is not a tuple of scores")
    return tuple(_constant("breaks", place) for place in given)
