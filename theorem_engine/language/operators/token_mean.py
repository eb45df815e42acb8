"""Means over a sequence of exchangeable Gaussian tokens that compete for normalised weights."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import sympy

from theorem_engine.base.errors import NoDerivative, NotAvailable
from theorem_engine.language.operators.base import Operator, Part, hygienic


class Hardmax(sympy.Function):
    """Logarithm of the kernel of the argmax: all weight goes to the token with the largest score."""

    nargs = 1

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        return rf"\infty\cdot {printer._print(self.args[0])}"


@dataclass(frozen=True)
class Tokens:
    """L tokens, each with its own standard normal letters, and the weights they compete for.

    ``weights`` maps a weight letter to the logarithm of its kernel, an expression of the normal
    letters, or to a pair (of an ordinary token, of the hidden one). The weight of a token is its kernel
    over the sum of all kernels, plus ``extra`` where the sum has a constant term.

    >>> L, x, w, s = sympy.symbols("L x w s")
    >>> Tokens(L, (x,), {w: s * x}).mean(each=(w, w)).free_symbols == {L, s}
    True
    """

    length: Any
    normals: tuple[Any, ...]
    weights: Mapping[Any, Any]
    extra: Any = 0
    #: Values of the last normal letter, any other being zero, at which a kernel has a kink: of an ordinary and of the
    #: hidden token. A kernel of two letters depends on them through one sum.
    breaks: tuple[Any, ...] = ()

    def mean(self, hidden: Any = None, each: tuple[Any, ...] = (), nobody: int = 0) -> Any:
        """Mean of a product: a factor of the hidden token, then one for each further token, all distinct, summed over.

        Factors are polynomials in the weight letters with coefficients in the normal letters.
        Without ``hidden`` all L tokens are alike and the sum runs over all of them. ``nobody`` is a power of the
        weight that no token has, ``extra`` over the sum: one minus all weights, which may be too small a difference.
        """
        return TokenMean(self, hidden, each, nobody)


class TokenMean(Operator):
    """Mean over tokens of a product of factors, each a polynomial in that token's weights.

    Differentiation stays inside the family: a weight moves by itself times (its own rate minus the
    weighted mean of all rates), which only adds a token to the product.
    """

    lowering = "token_mean"
    can_be_rough = True
    binds = ("normals", "letters")
    length = Part(0, "Number of tokens, or the letter of its distribution.")
    normals = Part(1, "The normal letters of a token.", tuple)
    letters = Part(2, "The weight letters.", tuple)
    kernels = Part(3, "Logarithms of the kernels: pairs (ordinary token, hidden token).", tuple)
    has_hidden = Part(4, "Whether one token is unlike the others.", bool)
    extra = Part(6, "The constant in the sum of kernels.")
    breaks = Part(7, "Places of kinks: of an ordinary token, of the hidden one.", tuple)
    nobody = Part(8, "Power of the weight that no token has.", int)

    def __new__(cls, tokens: Tokens, hidden: Any = None, each: tuple[Any, ...] = (), nobody: int = 0) -> Any:
        """Bind the normal and the weight letters."""
        letters = tuple(tokens.weights)
        if nobody and tokens.extra == 0:
            return sympy.S.Zero
        if nobody and len(letters) > 1:
            raise TypeError("the weight that no token has is known beside one weight only")
        if not 1 <= len(letters) <= 2 or len(tokens.normals) not in range(1, len(letters) + 1):
            raise TypeError("TokenMean takes one weight with one normal letter, or two weights with one or two")
        kernels = []
        for kernel in tokens.weights.values():
            pair = kernel if isinstance(kernel, (tuple, sympy.Tuple)) else (kernel, kernel)
            kernels.append(sympy.Tuple(*(sympy.sympify(k, strict=True) for k in pair)))
        marks = sympy.Tuple(*(sympy.sympify(b, strict=True) for b in tokens.breaks))
        first = sympy.Tuple() if hidden is None else sympy.Tuple(sympy.sympify(hidden, strict=True))
        factors = sympy.Tuple(*(sympy.sympify(f, strict=True) for f in each))
        twins, bodies = hygienic(tokens.normals + letters, sympy.Tuple(*kernels), first, factors)
        count = len(tokens.normals)
        return cls._make(
            sympy.sympify(tokens.length, strict=True),
            sympy.Tuple(*twins[:count]), sympy.Tuple(*twins[count:]), *bodies,
            sympy.sympify(tokens.extra, strict=True), marks, sympy.Integer(nobody),
        )  # fmt: skip

    @classmethod
    def _make(cls, *args: Any) -> Any:
        length, normals, letters, kernels, first, factors, extra, marks, nobody = args
        if any(f == 0 for f in (*first, *factors)):
            return sympy.S.Zero
        ordered = sympy.Tuple(*sorted(factors, key=sympy.default_sort_key))
        return sympy.Expr.__new__(cls, length, normals, letters, kernels, first, ordered, extra, marks, nobody)

    @property
    def func(self) -> Any:
        """Rebuild from ``args``."""
        return TokenMean._make

    @property
    def factors(self) -> tuple[tuple[bool, Any], ...]:
        """All factors, each with whether it belongs to the hidden token."""
        return (*((True, f) for f in self.args[4]), *((False, f) for f in self.args[5]))

    def bundle_key(self) -> Hashable:
        """Means over the same tokens share everything."""
        return (TokenMean, *self.args[:4], self.has_hidden, *self.args[6:8])

    def _with(self, factors: Mapping[int, Any], *more: Any) -> Any:
        """The same mean with some factors replaced and further tokens added."""
        everything = [factors.get(i, f) for i, (_, f) in enumerate(self.factors)]
        cut = len(self.args[4])
        first, rest = sympy.Tuple(*everything[:cut]), sympy.Tuple(*everything[cut:], *more)
        return TokenMean._make(*self.args[:4], first, rest, *self.args[6:])

    def partial(self, symbol: Any) -> Any:
        """d weight = weight (own rate - sum over all tokens of weight times rate)."""
        if symbol in self.length.free_symbols or symbol in self.extra.free_symbols:
            raise NoDerivative("a token mean is not differentiated in its length or in the constant of its sum")
        listed = self.factors
        total = sympy.S.Zero
        for i, (_, factor) in enumerate(listed):
            total += self._with({i: factor.diff(symbol)})
        for weight, kernel in zip(self.letters, self.kernels, strict=True):
            if symbol not in kernel.free_symbols:
                continue
            if kernel.has(Hardmax):
                raise NoDerivative("a token mean is not differentiated through an argmax")
            if kernel.has(-sympy.oo):
                raise NotAvailable(
                    "means of weights whose kernel vanishes are not differentiated: they jump from 0 to 1"
                )
            rates = [k.diff(symbol) for k in kernel]
            if self.nobody:
                # that weight falls by itself times the weighted mean of all rates
                total -= self.nobody * self._with({}, weight * rates[0])
                for i, (is_hidden, factor) in enumerate(listed):
                    total -= self.nobody * self._with({i: factor * weight * rates[is_hidden]})
            for i, (is_hidden, factor) in enumerate(listed):
                moved = factor.diff(weight) * weight
                total += self._with({i: moved * rates[is_hidden] * (1 - weight)})
                total -= self._with({i: moved}, weight * rates[0])
                for j, (other_hidden, other) in enumerate(listed):
                    if j != i:
                        total -= self._with({i: moved, j: other * weight * rates[other_hidden]})
        return total

    def _latex(self, printer: Any) -> str:
        symbols = "ijkmn"
        parts = []
        for position, (is_hidden, factor) in enumerate(self.factors):
            mark = r"\epsilon" if is_hidden else symbols[position % len(symbols)]
            parts.append(rf"\left[{printer._print(factor)}\right]_{{{mark}}}")
        names = ", ".join(printer._print(w) for w in self.letters)
        kernels = ", ".join(printer._print(k[0]) for k in self.kernels)
        count = len(self.args[5])
        total = r"\sum_{\neq}" if count else ""
        if self.nobody:
            parts.append(rf"\left[{printer._print(self.letters[0])}\right]_{{\emptyset}}^{{{self.nobody}}}")
        return rf"\mathbb{{E}}_{{\log {names}\sim {kernels}}} {total} {' '.join(parts)}"


class LengthMean(Operator):
    """Mean of an expression over the distribution of a length.

    ``LengthMean(body, L)``, or ``LengthMean(body, L, n)`` where the body calls the length n: so a
    second, independent length of the same distribution can be averaged over.
    """

    lowering = "length_mean"
    binds = ("letter",)
    body = Part(0, "What is averaged.")
    letter = Part(1, "The bound length.")
    length = Part(2, "The letter of the distribution.")

    def __new__(cls, body: Any, length: Any, letter: Any = None) -> Any:
        """Bind the length inside the body; a body without it is its own mean."""
        body = sympy.sympify(body, strict=True)
        letter = length if letter is None else letter
        if letter not in body.free_symbols:
            return body
        (twin,), (inner,) = hygienic((letter,), body)
        return sympy.Expr.__new__(cls, inner, twin, length)

    @property
    def func(self) -> Any:
        """Rebuild from ``args``; where the length has become a number there is nothing to average."""

        def rebuild(body: Any, letter: Any, length: Any) -> Any:
            return body.xreplace({letter: length}) if length.is_number else sympy.Expr.__new__(
                LengthMean, body, letter, length
            )  # fmt: skip

        return rebuild

    def bundle_key(self) -> Hashable:
        """Means over one distribution are taken together."""
        return (LengthMean, self.letter, self.length)

    def partial(self, symbol: Any) -> Any:
        """Differentiate under the mean."""
        derivative = self.body.diff(symbol)
        return derivative if derivative == 0 else sympy.Expr.__new__(LengthMean, derivative, *self.args[1:])

    def _latex(self, printer: Any) -> str:
        return rf"\mathbb{{E}}_{{{printer._print(self.letter)}}}\left[{printer._print(self.body)}\right]"
