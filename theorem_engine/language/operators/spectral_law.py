"""The Marchenko-Pastur law and its spiked forms."""

from __future__ import annotations

from typing import Any

import sympy
from sympy.core.symbol import Str

from theorem_engine.language.operators.base import Part

#: Forms of a spectral law: the bulk itself; those in the right and left directions of the spike; and that in a left
#: direction orthogonal to it.
FORMS = ("bulk", "right-right", "right-left", "left-left", "across")


class MarchenkoPastur(sympy.Basic):
    """Law of the spectrum of S = X^T X/p, X = noise + a rank-one spike, seen in a given form.

    X is p by n with independent standard normal noise, ``ratio`` is n/p and ``spike`` is theta, the
    singular value of the spike over sqrt(p). With r and l its right and left directions, w a unit vector
    orthogonal to l, and Xs = X/sqrt(p), the forms are those of a function h of S:

    - bulk: tr h(S)/n without spike, the Marchenko-Pastur law proper;
    - right-right: r^T h(S) r; right-left: r^T h(S) Xs^T l; left-left: l^T Xs h(S) Xs^T l;
    - across: w^T Xs h(S) Xs^T w.

    >>> MarchenkoPastur(2).moment(2)
    3
    """

    ratio = Part(0, "Columns over rows.")
    spike = Part(1, "Strength of the spike; zero where the form does not see it.")

    def __new__(cls, ratio: Any, spike: Any = 0, form: str = "bulk") -> Any:
        """Keep ratio, spike and form."""
        name = form.name if isinstance(form, Str) else form
        if name not in FORMS:
            raise ValueError(f"a spectral law has the forms {', '.join(FORMS)}, not {name!r}")
        spike = sympy.S.Zero if name in ("bulk", "across") else sympy.sympify(spike, strict=True)
        return sympy.Basic.__new__(cls, sympy.sympify(ratio, strict=True), spike, Str(name))

    @property
    def form(self) -> str:
        """One of ``FORMS``."""
        return str(self.args[2].name)

    def spiked(self, spike: Any, form: str) -> Any:
        """The same bulk with a spike, in another form."""
        return MarchenkoPastur(self.ratio, spike, form)

    def resolvent(self, z: Any) -> Any:
        """The mean of 1/(s - z) for z off the spectrum, real or complex; an elementary expression.

        The square root is written for its argument: positive for real z outside the bulk, never on the
        negative axis for the others, so that it has the right branch everywhere.
        """
        ratio, spike = self.ratio, self.spike
        outer = self.uniformised(z)
        shifted = outer - 2 * spike**2
        # two forms of one function, each without cancellation at z -> 0
        bulk = sympy.Piecewise((-(outer + 2) / (outer * z), ratio > 1), (-2 / (outer + 2 * ratio), True))
        return {
            "bulk": bulk,
            "across": -2 * ratio / outer,
            "right-right": bulk * outer / shifted,
            "right-left": -2 * spike / shifted,
            "left-left": -2 * (spike**2 + ratio) / shifted,
        }[self.form]

    def uniformised(self, z: Any) -> Any:
        """2 sqrt(ratio)/u for the root u of sqrt(ratio) (u + 1/u) = z - 1 - ratio inside the unit circle."""
        shift = z - 1 - self.ratio
        inverse = 2 * sympy.sqrt(self.ratio) / shift
        return shift * (1 + sympy.sqrt((1 - inverse) * (1 + inverse)))

    def moment(self, power: int) -> Any:
        """The mean of s^power, a polynomial in ratio and spike."""
        ratio, spike = sympy.Dummy("ratio"), sympy.Dummy("spike")
        return _moment(self.form, power, ratio, spike).xreplace({ratio: self.ratio, spike: self.spike})

    def _latex(self, printer: Any) -> str:
        inside = ", ".join(printer._print(x) for x in self.args[: 1 if self.form in ("bulk", "across") else 2])
        return rf"\mathrm{{MP}}_{{\mathrm{{{self.form}}}}}\left({inside}\right)"


def _moment(form: str, power: int, ratio: Any, spike: Any) -> Any:
    """Coefficient extraction in the uniformising variable u: z = (1 + l u)(1 + l/u), l = sqrt(ratio).

    The moment is the residue at u = 0 of z^power R(z) dz/du, where R is a power series in u that
    starts with u; only its first ``power`` terms meet the pole.
    """
    u, root = sympy.Dummy("u"), sympy.sqrt(ratio)
    strength = spike**2 / root
    size = power + 2
    spiked = sum(((strength * u) ** k for k in range(size)), sympy.S.Zero)
    bulk = sum(((-root * u) ** k for k in range(size)), sympy.S.Zero)
    series = {
        "bulk": u / root * bulk,
        "across": root * u,
        "right-right": u / root * bulk * spiked,
        "right-left": spike * u / root * spiked,
        "left-left": (strength + root) * u * spiked,
    }[form]
    # minus the residue of z^power R dz/du, with R = -series and dz/du = root (1 - 1/u^2)
    body = sympy.expand((1 + root * u) ** power * (u + root) ** power * series * root * (u**2 - 1))
    return sympy.factor(-sympy.expand(body).coeff(u, power + 1))
