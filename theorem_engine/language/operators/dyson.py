"""Quadratic form of the inverse of a large random matrix whose entries know the classes of their row and column."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import sympy

from theorem_engine.base.errors import NoDerivative
from theorem_engine.language.operators.base import Operator, Part, hygienic


@dataclass(frozen=True)
class Coin:
    """A class letter that is 1 or -1, with a mean."""

    mean: Any = 0


@dataclass(frozen=True)
class Normal:
    """A class letter that is standard normal, at so many nodes."""

    nodes: int


@dataclass(frozen=True)
class Variance:
    """Independent noise: place (i, j) of the inverse loses E_v kernel(u, v) times entry ``of`` of G(v)."""

    place: tuple[int, int]
    of: tuple[int, int]
    kernel: Any


class ClassResolvent(Operator):
    """``b^T T^(-1) b`` for a large symmetric random matrix of k x k blocks whose rows belong to classes u.

    A row's class is drawn from a product law. Given the classes, the matrix has a fixed part ``local(u)`` on its
    diagonal, a part ``coupling(u, v)`` times products of common Gaussian vectors, of which there are ``ratio`` times
    as many as dimensions, independent noise of ``variances``, and a fixed part ``mean(u, v)`` of finite rank. The
    matrix G(u) of order k solves the Dyson equation

        G(u)^(-1) = local(u) + [M (1 + ratio G M)^(-1)](u, u) - sum over variances of E_v kernel(u, v) G(v)_of,

    M = coupling as an operator on functions of the class, and T = G^(-1) + mean, b = ``vector(u)``. ``start`` is a
    matrix of order k from which an averaged iteration leads to the solution meant. All matrices are symmetric under
    exchange of (i, u) and (j, v).

    ``classes`` maps pairs of letters (for u, for v) to their laws. The derivative is that of the implicit function
    theorem: a node of the same kind whose parts have changes.
    """

    lowering = "class_resolvent"
    vectorised = False
    binds = ("first", "second")
    first = Part(0, "Letters of the row's class.", tuple)
    second = Part(1, "Letters of the column's class.", tuple)
    laws = Part(2, "For each letter its number of nodes and, for a coin, its mean.", tuple)
    parts = Part(3, "Expressions: ratio, start, local, coupling, mean, vector, kernels.", tuple)
    places = Part(4, "Of each variance, its place and where it is taken from.", tuple)
    changes = Part(5, "Derivatives of the parts, or nothing.", tuple)

    def __new__(
        cls,
        classes: dict[Any, Any],
        local: Any,
        coupling: Any,
        ratio: Any,
        variances: Sequence[Variance],
        mean: Any,
        vector: Any,
        start: Any,
    ) -> Any:
        """Bind the class letters; matrices are taken row by row."""
        first, second = (tuple(pair[k] for pair in classes) for k in range(2))
        raw = [
            ratio, *sympy.Matrix(start), *sympy.Matrix(local), *sympy.Matrix(coupling), *sympy.Matrix(mean),
            *sympy.Matrix(vector), *(v.kernel for v in variances),
        ]  # fmt: skip
        twins, parts = hygienic((*first, *second), *(sympy.sympify(x, strict=True) for x in raw))
        laws = [sympy.Tuple(law.nodes) if isinstance(law, Normal) else sympy.Tuple(2, law.mean)
                for law in classes.values()]  # fmt: skip
        places = [sympy.Tuple(*v.place, *v.of) for v in variances]
        count = len(first)
        return sympy.Expr.__new__(
            cls, sympy.Tuple(*twins[:count]), sympy.Tuple(*twins[count:]), sympy.Tuple(*laws), sympy.Tuple(*parts),
            sympy.Tuple(*places), sympy.Tuple(),
        )  # fmt: skip

    @property
    def order(self) -> int:
        """Rows of a block."""
        # ratio, three square matrices and start's, a vector, the kernels
        square = (len(self.parts) - 1 - len(self.places)) // 4
        return int(sympy.integer_nthroot(square, 2)[0])

    def bundle_key(self) -> Hashable:
        """A form and its derivatives share the solution."""
        return (ClassResolvent, *self.args[:5])

    def partial(self, symbol: Any) -> Any:
        """The same form, its parts changing as they do with the symbol."""
        if self.changes:
            raise NoDerivative("a second derivative of a ClassResolvent is not formed")
        if any(symbol in law.free_symbols for law in self.laws):
            raise NoDerivative("the law of the classes depends on the letter of differentiation")
        rates = sympy.Tuple(*(part.diff(symbol) for part in self.parts))
        return self.func(*self.args[:5], rates)

    def stated(self) -> Any:
        """The form without the start of the iteration, which is no part of what is stated."""
        ratio, *rest = self.parts
        square = self.order**2
        return self.func(
            *self.args[:3], sympy.Tuple(ratio, *[0] * square, *rest[square:]), *self.args[4:]
        )  # fmt: skip
