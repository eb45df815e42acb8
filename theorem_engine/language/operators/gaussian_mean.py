"""Mean over independent standard normal variables."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import sympy

from theorem_engine.base.errors import NoDerivative
from theorem_engine.language.functions import positive_part
from theorem_engine.language.operators.base import Operator, Part, hygienic

#: Harmonics of a function of a wave that are followed from the start; others are left to the halving of steps.
OVERTONES = 8


class GaussianMean(Operator):
    """``GaussianMean(body, x)`` or ``(body, x, y)``: expectation of body over standard normals.

    ``breaks`` lists the values of x (one variable only) where the body has a jump or a kink; between
    them it must be analytic near the real line, however steep.

    >>> x = sympy.Symbol("x")
    >>> GaussianMean(x**2, x).free_symbols
    set()
    """

    lowering = "gaussian_mean"
    binds = ("variables",)
    body = Part(0, "The function averaged.")
    variables = Part(1, "The normal variables.", tuple)
    breaks = Part(2, "Places of jumps and kinks.", tuple)

    def __new__(cls, body: Any, *variables: Any, breaks: tuple[Any, ...] = ()) -> Any:
        """Means of constants are those constants."""
        if len(variables) == 1 and isinstance(variables[0], sympy.Tuple):
            variables = tuple(variables[0])
        body = sympy.sympify(body, strict=True)
        used = tuple(v for v in variables if v in body.free_symbols)
        if not used:
            return body
        if len(variables) > 2 or (breaks and len(used) > 1):
            raise TypeError("GaussianMean takes one or two variables, and breaks for one only")
        marks = sympy.Tuple(*(sympy.sympify(b, strict=True) for b in breaks))
        return sympy.Expr.__new__(cls, body, sympy.Tuple(*used), marks)

    @property
    def func(self) -> Any:
        """Rebuild from ``args``."""
        return lambda body, variables, breaks: GaussianMean(body, *variables, breaks=tuple(breaks))

    def bundle_key(self) -> Hashable:
        """Means over the same variables with the same breaks share their nodes."""
        return (GaussianMean, self.variables, self.breaks)

    def partial(self, symbol: Any) -> Any:
        """Differentiate under the mean; a moving jump would add a term that is not formed here."""
        if any(symbol in mark.free_symbols for mark in self.breaks):
            raise NoDerivative("a mean whose kink or jump moves with a letter is not differentiated in it")
        return GaussianMean(self.body.diff(symbol), *self.variables, breaks=self.breaks)

    def _latex(self, printer: Any) -> str:
        names = ", ".join(printer._print(v) for v in self.variables)
        return rf"\mathbb{{E}}_{{{names}}}\left[{printer._print(self.body)}\right]"


class Blurred(Operator):
    """``Blurred(f, y, centre, variance)``: the mean of f(y) over a normal y, which the heat equation differentiates.

    Its derivative in the variance is half the mean of f'', also where the variance vanishes; the mean of f over
    centre + sqrt(variance) x would divide zero by zero there.

    >>> y, w = sympy.symbols("y w")
    >>> Blurred(y**4, y, 0, w).diff(w) == Blurred(12 * y**2, y, 0, w) / 2
    True
    """

    lowering = "gaussian_mean"
    _normal = sympy.Symbol("bound:zeta", real=True)

    def __new__(cls, function: Any, letter: Any, centre: Any, variance: Any) -> Any:
        """Bind the letter; a constant is its own mean."""
        function = sympy.sympify(function, strict=True)
        if letter not in function.free_symbols:
            return function
        (twin,), (inner,) = hygienic((letter,), function)
        return sympy.Expr.__new__(cls, inner, twin, *(sympy.sympify(v, strict=True) for v in (centre, variance)))

    @property
    def free_symbols(self) -> set[Any]:
        """The letter is bound in the function only."""
        function, letter, centre, variance = self.args
        return set((function.free_symbols - {letter}) | centre.free_symbols | variance.free_symbols)

    @property
    def bound(self) -> frozenset[Any]:
        """The letter, and the standard normal one that takes its place."""
        return frozenset({self.args[1], self._normal})

    @property
    def variables(self) -> tuple[Any, ...]:
        """The standard normal variable."""
        return (self._normal,)

    @property
    def body(self) -> Any:
        """The function averaged, of the standard normal variable; a variance below zero is one that is rounded."""
        function, letter, centre, variance = self.args
        return function.xreplace({letter: centre + sympy.sqrt(positive_part(variance)) * self._normal})

    @property
    def breaks(self) -> tuple[Any, ...]:
        """None: the function is smooth."""
        return ()

    def bundle_key(self) -> Hashable:
        """Means over the same law share their nodes."""
        return (Blurred, *self.args[2:])

    def partial(self, symbol: Any) -> Any:
        """Through the function, the centre and the variance."""
        function, letter, centre, variance = self.args
        slope = function.diff(letter)

        def mean(inner: Any) -> Any:
            return self.func(inner, letter, centre, variance) if letter in inner.free_symbols else inner

        return (
            mean(function.diff(symbol)) + mean(slope) * centre.diff(symbol)
            + mean(slope.diff(letter)) * variance.diff(symbol) / 2
        )  # fmt: skip

    def _latex(self, printer: Any) -> str:
        function, letter, centre, variance = (printer._print(part) for part in self.args)
        return rf"\mathbb{{E}}_{{{letter}\sim\mathcal{{N}}({centre},{variance})}}\left[{function}\right]"


def bandwidth(body: Any, variable: Any) -> Any:
    """A bound of the frequency at which a body oscillates in a variable, as an expression; 0 if it does not.

    A rule with even steps cannot tell sin(50 x) from a slow wave: its first step must be fine enough.

    >>> x = sympy.Symbol("x", real=True)
    >>> bandwidth(x * sympy.sin(50 * x) ** 2, x)
    100
    """
    if body == variable or variable not in body.free_symbols:
        return sympy.S.Zero
    if isinstance(body, (sympy.sin, sympy.cos)):
        return sympy.Abs(body.args[0].diff(variable)) + bandwidth(body.args[0], variable)
    parts = [bandwidth(part, variable) for part in body.args]
    if isinstance(body, sympy.Mul):
        return sympy.Add(*parts)
    if isinstance(body, sympy.Pow) and body.exp.is_Integer and body.exp > 0:
        return body.exp * parts[0]
    highest = sympy.Max(*parts)
    # any other function of a wave has overtones
    return highest if isinstance(body, sympy.Add) else OVERTONES * highest
