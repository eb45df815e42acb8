"""Averages over the fields of a channel: on a fixed set of common random numbers, or by quadrature."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy
from sympy.core.symbol import Str

from theorem_engine.base.errors import DeclarationError
from theorem_engine.language.operators.base import Component, Operator, Part, hygienic


class TokenSort(sympy.Function):
    """The tokens' numbers in decreasing order: the largest is the first token's."""

    nargs = 1

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        return rf"\mathrm{{sort}}\left({printer._print(self.args[0])}\right)"


class TokenMax(sympy.Function):
    """The largest of the tokens' numbers."""

    nargs = 1

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        return rf"\max_\ell {printer._print(self.args[0])}"


class TokenLogSum(sympy.Function):
    """Logarithm of the sum of exponentials over the tokens, without overflow."""

    nargs = 1

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        return rf"\log\sum_\ell e^{{{printer._print(self.args[0])}}}"


class ChannelMean(Operator):
    """Means of several functions of standard normal letters, evaluated together.

    ``token_normals`` have one standard normal for each of ``tokens`` tokens, ``normals`` one for the sample;
    ``first`` is one on the first token and zero on the others; ``where`` defines letters for use in the
    bodies. Every body is one number per sample.

    With ``samples`` the means are taken on that many common random numbers. They are the same whenever the operator
    is evaluated, so that the means are smooth and deterministic functions of the parameters; their statistical error
    is told by independent scrambles.

    With ``scale`` instead they are integrals, taken by quadrature. That is for one letter per token, none for the
    sample, and two or three tokens, where the bodies depend on differences between tokens only and treat all tokens
    but the first alike; ``scale`` is the difference over which they vary where two tokens are equal.
    """

    vectorised = False
    binds = ("noise", "defined")
    bodies = Part(0, "What is averaged.", tuple)
    noise = Part(2, "Letters per token, per sample, and the mark of the first token.", tuple)
    defined = Part(4, "Letters defined for use in the bodies.", tuple)

    @classmethod
    def of(
        cls,
        bodies: Mapping[str, Any],
        *,
        token_normals: tuple[Any, ...],
        normals: tuple[Any, ...],
        first: Any,
        tokens: Any,
        samples: Any = None,
        scale: Any = None,
        where: Mapping[Any, Any] | None = None,
    ) -> Any:
        """Bind the random letters and the defined ones."""
        if (samples is None) == (scale is None):
            raise DeclarationError("a ChannelMean is taken on samples, or by quadrature with a scale: one of the two")
        if scale is not None and (len(token_normals) != 1 or normals):
            raise DeclarationError("a ChannelMean by quadrature has one letter per token and no other")
        local = dict(where or {})
        letters = (*token_normals, *normals, first, *local)
        parts = [sympy.sympify(e, strict=True) for e in (*bodies.values(), *local.values())]
        twins, bound = hygienic(letters, *parts)
        noise = len(token_normals) + len(normals) + 1
        return sympy.Expr.__new__(
            cls,
            sympy.Tuple(*bound[: len(bodies)]),
            sympy.Tuple(*(Str(name) for name in bodies)),
            sympy.Tuple(*twins[:noise]),
            sympy.Tuple(sympy.Integer(len(token_normals)), sympy.Integer(len(normals))),
            sympy.Tuple(*twins[noise:]),
            sympy.Tuple(*bound[len(bodies) :]),
            sympy.Tuple(
                sympy.sympify(tokens, strict=True), sympy.sympify(scale if samples is None else samples, strict=True)
            ),
            sympy.true if samples is not None else sympy.false,
        )

    @property
    def is_random(self) -> bool:  # type: ignore[override]
        """Whether the means are taken on random numbers."""
        return bool(self.args[7])

    @property
    def lowering(self) -> str:  # type: ignore[override]
        """Module that evaluates the means."""
        return "channel" if self.is_random else "channel_quadrature"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the means."""
        return tuple(str(name.name) for name in self.args[1])

    @property
    def noise_counts(self) -> tuple[int, int]:
        """How many of the random letters are of each kind."""
        a, b = (int(n) for n in self.args[3])
        return a, b

    @property
    def definitions(self) -> dict[Any, Any]:
        """Those letters and what each is."""
        return dict(zip(self.defined, self.args[5], strict=True))

    @property
    def sizes(self) -> tuple[Any, Any]:
        """Tokens, and samples over all scrambles or, with a quadrature, the scale."""
        tokens, number = self.args[6]
        return tokens, number

    def components(self) -> int:
        """One value for each body."""
        return len(self.bodies)

    def component_names(self) -> list[str]:
        """Names of the components for printing."""
        return [rf"\mathrm{{{name}}}".replace("_", r"\_") for name in self.names]

    def mean(self, name: str) -> Any:
        """The mean of a body, by its name."""
        return Component(self, self.names.index(name))

    def _latex(self, printer: Any) -> str:
        shown = r",\; ".join(printer._print(body) for body in self.bodies)
        return rf"\mathbb{{E}}\left[{shown}\right]"
