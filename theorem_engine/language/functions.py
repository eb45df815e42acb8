"""Special functions the papers need that SymPy lacks, each with its derivative.

Every backend gives them a numeric meaning; a test compares the backends with each other.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, ClassVar

import sympy
from sympy.codegen.cfunctions import expm1, log1p

__all__ = [
    "SPECIAL",
    "OpenFunction",
    "OwenT",
    "UpTo",
    "erfcx",
    "expm1",
    "log1p",
    "log_softplus",
    "mills",
    "normal_cdf",
    "normal_pdf",
    "positive_part",
    "softplus",
]


class normal_pdf(sympy.Function):  # noqa: N801
    """Density of the standard normal law."""

    nargs = 1

    def fdiff(self, argindex: int = 1) -> Any:
        """phi' = -x phi."""
        return -self.args[0] * self

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        return _named(r"\varphi", self, printer, exp)

    def definition(self) -> Any:
        """The function in elementary terms."""
        return sympy.exp(-(self.args[0] ** 2) / 2) / sympy.sqrt(2 * sympy.pi)


class normal_cdf(sympy.Function):  # noqa: N801
    """Distribution function of the standard normal law."""

    nargs = 1

    def fdiff(self, argindex: int = 1) -> Any:
        """Phi' = phi."""
        return normal_pdf(self.args[0])

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        return _named(r"\Phi", self, printer, exp)

    def definition(self) -> Any:
        """The function through erfc, accurate in the left tail."""
        return sympy.erfc(-self.args[0] / sympy.sqrt(2)) / 2


class mills(sympy.Function):  # noqa: N801
    """Mills ratio Phi(-x)/phi(x), which neither under- nor overflows for x >= 0."""

    nargs = 1

    def fdiff(self, argindex: int = 1) -> Any:
        """m' = x m - 1."""
        return self.args[0] * self - 1

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        return _named(r"\mathrm{m}", self, printer, exp)

    def definition(self) -> Any:
        """Ratio of tail to density."""
        return normal_cdf(-self.args[0]) / normal_pdf(self.args[0])


class erfcx(sympy.Function):  # noqa: N801
    """Scaled complementary error function exp(x^2) erfc(x)."""

    nargs = 1

    def fdiff(self, argindex: int = 1) -> Any:
        """Derivative 2 x erfcx(x) - 2/sqrt(pi)."""
        return 2 * self.args[0] * self - 2 / sympy.sqrt(sympy.pi)

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        return _named(r"\operatorname{erfcx}", self, printer, exp)

    def definition(self) -> Any:
        """The unscaled form."""
        return sympy.exp(self.args[0] ** 2) * sympy.erfc(self.args[0])


class positive_part(sympy.Function):  # noqa: N801
    """max(x, 0), kept as it is: SymPy's own maximum reasons about its arguments, which can take seconds."""

    nargs = 1

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        power = f"^{{{exp}}}" if exp is not None else ""
        return rf"\left({printer._print(self.args[0])}\right)_+{power}"


class OwenT(sympy.Function):
    """Owen's T: the mass of {X > h, 0 < Y < a X} under two independent normals."""

    nargs = 2

    def fdiff(self, argindex: int = 1) -> Any:
        """Partial derivatives in h and in a."""
        h, a = self.args
        if argindex == 1:
            return -normal_pdf(h) * sympy.erf(a * h / sympy.sqrt(2)) / 2
        return sympy.exp(-(h**2) * (1 + a**2) / 2) / (2 * sympy.pi * (1 + a**2))

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        return _named("T", self, printer, exp)

    def definition(self) -> Any:
        """Owen's integral."""
        h, a = self.args
        x = sympy.Dummy("x")
        return sympy.Integral(sympy.exp(-(h**2) * (1 + x**2) / 2) / (1 + x**2), (x, 0, a)) / (2 * sympy.pi)


class softplus(sympy.Function):  # noqa: N801
    """log(1 + exp(x)), which neither overflows nor loses a small value."""

    nargs = 1

    def fdiff(self, argindex: int = 1) -> Any:
        """The logistic function, exp(-softplus(-x))."""
        return sympy.exp(-softplus(-self.args[0]))

    def logarithm(self) -> Any:
        """Its logarithm, accurate where the value underflows."""
        return log_softplus(self.args[0])

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        return _named(r"\operatorname{softplus}", self, printer, exp)

    def definition(self) -> Any:
        """The function in elementary terms."""
        return sympy.log(1 + sympy.exp(self.args[0]))


class log_softplus(sympy.Function):  # noqa: N801
    """log(log(1 + exp(x))), which is x far to the left."""

    nargs = 1

    def fdiff(self, argindex: int = 1) -> Any:
        """Logistic function over softplus, as one exponential."""
        return sympy.exp(-softplus(-self.args[0]) - self)

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        return _named(r"\log\operatorname{softplus}", self, printer, exp)

    def definition(self) -> Any:
        """The function in elementary terms."""
        return sympy.log(sympy.log(1 + sympy.exp(self.args[0])))


class UpTo(sympy.Function):
    """``UpTo(value, left)``: a value of a cut expansion, known up to a term of the size of ``left``.

    The value is that of the expansion; what was left out is its error, beside that of rounding.
    """

    nargs = 2

    def fdiff(self, argindex: int = 1) -> Any:
        """How fast the term left out changes is not known: its slope has an error beyond all bounds of use."""
        return sympy.Integer(1) if argindex == 1 else UpTo(sympy.Integer(0), UNTOLD * self.args[1])

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        inside = rf"\left({printer._print(self.args[0])}\pm {printer._print(self.args[1])}\right)"
        return inside + (f"^{{{exp}}}" if exp is not None else "")


#: What makes an error of any size one that tells nothing.
UNTOLD = sympy.Integer(10) ** 250


class OpenFunction(sympy.Function):
    """A function whose numbers come from outside the engine: its class names who computes them.

    ``meanings = {"float64": "my_pack.methods:envelope"}`` gives, for each backend, a module and a function in it that
    takes numbers or arrays of them. How much memory that takes is said by ``numbers_per_token``. ``sign`` is how it is
    written before its arguments, in LaTeX and as text, and ``words`` is what a page says of it.
    """

    meanings: ClassVar[Mapping[str, str]] = {}
    sign: ClassVar[tuple[str, str]] = (r"\operatorname{f}", "f")
    words: ClassVar[str] = ""

    @classmethod
    def numbers_per_token(cls, tokens: int) -> int:
        """Numbers in the largest array that is made on the way, for each token of a sample of so many."""
        return 1

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        inside = ", ".join(printer._print(x) for x in self.args)
        power = f"^{{{exp}}}" if exp is not None else ""
        return rf"{self.sign[0]}{power}\left({inside}\right)"

    @classmethod
    def meaning(cls, backend: str) -> Any:
        """The numeric function for a backend, or None where there is none."""
        if backend not in cls.meanings:
            return None
        module, _, name = cls.meanings[backend].partition(":")
        return getattr(importlib.import_module(module), name)


#: The functions a backend must implement beyond SymPy's own.
SPECIAL = (normal_pdf, normal_cdf, mills, erfcx, OwenT, softplus, log_softplus)


def _named(symbol: str, call: Any, printer: Any, exp: str | None) -> str:
    inside = ", ".join(printer._print(arg) for arg in call.args)
    power = f"^{{{exp}}}" if exp is not None else ""
    return rf"{symbol}{power}\left({inside}\right)"
