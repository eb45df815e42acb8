"""Mean of a rational function over the Marchenko-Pastur law or one of its spiked forms."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import sympy

from theorem_engine.language.operators.base import Operator, Part, hygienic
from theorem_engine.language.operators.spectral_bundle import take_apart


class SpectralMean(Operator):
    """``SpectralMean(body, s, law)``: mean of body, rational in s, over a spectral law.

    The body must have no pole on the spectrum. Means over laws of one ratio are evaluated together and
    share the roots of their denominators. Derivatives pass inside; those in letters of the law too, over the bulk
    written in its angle, which does not move with the ratio.

    >>> from theorem_engine.language.operators.spectral_law import MarchenkoPastur
    >>> s, x = sympy.symbols("s x", positive=True)
    >>> SpectralMean(1 / (s + x), s, MarchenkoPastur(2)).free_symbols == {x}
    True
    """

    lowering = "spectral_mean"
    binds = ("variable",)
    body = Part(0, "The function averaged.")
    variable = Part(1, "The spectral variable.")
    law = Part(2, "The law averaged over.")

    def __new__(cls, body: Any, variable: Any, law: Any) -> Any:
        """Means of constants are those constants times the mass of the law."""
        body = sympy.sympify(body, strict=True)
        if variable not in body.free_symbols:
            return body if body == 0 else body * law.moment(0)
        if not getattr(variable, "scope", "").startswith("bound:"):
            (variable,), (body,) = hygienic((variable,), body)
        return sympy.Expr.__new__(cls, body, variable, law)

    @property
    def func(self) -> Any:
        """Rebuilt as it is made: a body may have become a constant."""
        return SpectralMean

    def bundle_key(self) -> Hashable:
        """Means over laws of one ratio share poles and nodes, whatever their forms."""
        return (SpectralMean, self.variable, self.law.ratio)

    def partial(self, symbol: Any) -> Any:
        """Differentiate under the mean.

        With s = 1 + ratio + 2 sqrt(ratio) cos(angle) the form "across" has the density ratio (2/pi) sin(angle)^2,
        so that its derivative in the ratio is that of the factor and of s; the other forms are reduced to it.
        """
        if symbol not in self.law.free_symbols:
            return SpectralMean(self.body.diff(symbol), self.variable, self.law)
        if self.law.form != "across":
            return self.over_plain_bulk().diff(symbol)
        s, ratio = self.variable, self.law.ratio
        moved = (s - 1 + ratio) / (2 * ratio) * self.body.diff(s)
        by_ratio = self / ratio + SpectralMean(moved, s, self.law)
        return SpectralMean(self.body.diff(symbol), s, self.law) + ratio.diff(symbol) * by_ratio

    def over_plain_bulk(self) -> Any:
        """The same mean by the form "across", the only one whose density has no pole near the bulk.

        The density of the bulk is that of "across" over ratio s; of "left-left", in essence, that over the distance to
        the outlier. What the body is at zero and at the outlier is taken out first; the rest divides by s and by that
        distance.
        """
        ratio, spike, form = self.law.ratio, self.law.spike, self.law.form
        if form in ("bulk", "right-right"):
            at_zero, rest = self._without(sympy.S.Zero)
            plain = at_zero + rest / ratio
            if form == "bulk" or spike == 0:
                return plain
        if spike == 0:
            plain_law = self.law.spiked(0, "across")
            return sympy.S.Zero if form == "right-left" else SpectralMean(self.body, self.variable, plain_law)
        outside, rest = self._without((1 + ratio / spike**2) * (1 + spike**2))
        turned = spike * outside - rest / spike
        if form == "right-left":
            return turned
        overlap = spike / (spike**2 + ratio)
        return turned / overlap if form == "left-left" else plain * ratio / (ratio + spike**2) + overlap * turned

    def _without(self, place: Any) -> tuple[Any, Any]:
        """The body h at a place, and the mean across of its divided difference (h(s) - h(place))/(s - place)."""
        s = self.variable
        bundle = take_apart((self,))
        (parts,) = bundle.bodies
        below = sympy.Mul(*(base**power for base, power in zip(bundle.denominators, parts.powers, strict=True)))
        whole = sympy.Add(*(q * s**j for j, q in enumerate(parts.polynomial)))
        value = (parts.numerator / below).subs(s, place)
        law = self.law.spiked(0, "across")
        # one mean for each power of s: what depends on the place stays outside, and the bodies stay simple
        slope = sympy.S.Zero
        for factor, top, bottom in ((1, whole, 1), (1, parts.numerator, below), (-value, below, below)):
            for j, q in enumerate(_divided_difference(top, s, place)):
                slope += factor * q * SpectralMean(s**j / bottom, s, law)
        return value + whole.subs(s, place), slope

    def _latex(self, printer: Any) -> str:
        name = printer._print(self.variable)
        return rf"\int {printer._print(self.body)}\,\mathrm{{d}}{printer._print(self.law)}({name})"


def _divided_difference(polynomial: Any, s: Any, place: Any) -> list[Any]:
    """Coefficients of (f(s) - f(place))/(s - place), lowest first: what Horner's scheme at the place leaves behind."""
    found: list[Any] = []
    for q in sympy.Poly(sympy.expand(polynomial), s).all_coeffs()[:-1]:
        found.insert(0, q + (found[0] * place if found else 0))
    return found
