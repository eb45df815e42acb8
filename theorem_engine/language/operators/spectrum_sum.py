"""Sums over the modes of an infinite spectrum."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import sympy

from theorem_engine.base.errors import DeclarationError
from theorem_engine.language.operators.base import Operator, Part, hygienic


class SpectrumSum(Operator):
    """``SpectrumSum(body, over=i)``: the sum of a body over i = 1, 2, ... without end.

    The body is smooth in i as a real number from one on, and falls like a power of it faster than 1/i, as eigenvalues
    of a kernel do. Beyond the first terms the sum is an integral, by Euler and Maclaurin; a list that ends is summed
    as it stands, and needs no operator.

    >>> i = sympy.Symbol("i", positive=True)
    >>> SpectrumSum(1 / i**2, over=i).free_symbols
    set()
    """

    lowering = "spectrum_sum"
    vectorised = False
    binds = ("index",)
    body = Part(0, "What is summed.")
    index = Part(1, "The number of a mode.")

    def __new__(cls, body: Any, over: Any) -> Any:
        """Bind the index."""
        body = sympy.sympify(body, strict=True)
        if over not in body.free_symbols:
            raise DeclarationError(f"the sum of {body} over all {over} is infinite: it does not depend on {over}")
        (twin,), (body,) = hygienic((over,), body)
        return sympy.Expr.__new__(cls, body, twin)

    def bundle_key(self) -> Hashable:
        """Each sum has a tail of its own."""
        return self

    def partial(self, symbol: Any) -> Any:
        """Term by term."""
        slope = self.body.diff(symbol)
        return sympy.S.Zero if slope == 0 else self.func(slope, self.index)

    def _latex(self, printer: Any) -> str:
        return rf"\sum_{{{printer._print(self.index)} = 1}}^\infty {printer._print(self.body)}"
