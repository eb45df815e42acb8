"""The point that minimises an objective over some letters, its jumps and its responses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import sympy

from theorem_engine.base.errors import DeclarationError, NoDerivative
from theorem_engine.language.domains import REAL
from theorem_engine.language.letters import Letter
from theorem_engine.language.operators.base import Component, Operator, Part, hygienic, only

#: The height reached from the centre, in the condition that it is the lowest.
_HEIGHT = Letter("height", "bound:proximal", domain=REAL)


class Proximal(Operator):
    """The minimiser of an objective over some letters; its value is the minimising value of the first of them.

    ``Proximal((x - omega)**2 / (2 * V) + softplus(-y * x), over=(x,))`` is a proximal point of the logistic loss.
    Written with ``TokenSum`` and ``TokenLogSum`` the objective is one number for each sample, and a letter inside the
    sums has one value for each token. Without sums every number of an array has an objective of its own.

    ``at(letter)`` is the minimising value of a letter, ``height`` the least value of the objective, ``jumps`` a mark
    that is one where the minimum reached by descent from the centre is not the lowest. The centre is the minimum of
    the terms that are quadratic in the letters.

    How to look for the lowest of several minima is said beside the objective: ``starts`` maps letters to places where
    a descent begins too (a letter left out begins at its centre). A start with the letter ``each`` stands for as many
    as there are tokens: ``each`` is one on one token and zero on the others. ``certain`` is a function of the height
    reached from the centre that gives a condition: where it holds no other start is tried.

    An absolute value or a positive part of a letter is a kink: see ``planning.kinks`` for what is served.
    """

    lowering = "proximal"
    objective = Part(0, "What is minimised.")
    letters = Part(1, "The letters minimised over.", tuple)
    each = Part(3, "The mark of the token that a start leads to, or None.", only)

    def __new__(
        cls,
        objective: Any,
        over: Iterable[Any],
        starts: Iterable[Mapping[Any, Any]] = (),
        each: Any = None,
        certain: Callable[[Any], Any] | None = None,
    ) -> Any:
        """Bind the letters, and the mark of the token that a start leads to."""
        letters = tuple(over)
        places = tuple(starts)
        if not letters:
            raise DeclarationError("a Proximal minimises over at least one letter")
        for place in places:
            if surplus := set(place) - set(letters):
                raise DeclarationError(f"a start of a Proximal is given for {surplus.pop()}, not one of its letters")
        parts = [
            sympy.sympify(objective, strict=True),
            sympy.sympify(certain(_HEIGHT) if certain else False, strict=True),
        ]
        if not parts[0].free_symbols >= set(letters):
            raise DeclarationError("the objective of a Proximal has all the letters it is minimised over")
        marks = () if each is None else (each,)
        # a letter that a start leaves out is named by itself: it begins at its centre
        rows = [sympy.Tuple(*(sympy.sympify(p.get(x, x), strict=True) for x in letters)) for p in places]
        twins, bound = hygienic((*letters, *marks), *parts, *rows)
        return sympy.Expr.__new__(
            cls,
            bound[0],
            sympy.Tuple(*twins[: len(letters)]),
            sympy.Tuple(*bound[2:]),
            sympy.Tuple(*twins[len(letters) :]),
            bound[1],
        )

    @property
    def starts(self) -> tuple[tuple[Any, ...], ...]:
        """Where else a descent begins: a value for each letter, which is the letter itself at its centre."""
        return tuple(tuple(row) for row in self.args[2])

    @property
    def certain(self) -> tuple[Any, Any]:
        """Where the minimum reached from the centre is known to be the lowest, and the letter of its height there."""
        return self.args[4], _HEIGHT

    @property
    def bound(self) -> frozenset[Any]:
        """The letters minimised over, the mark and the height."""
        return frozenset(self.letters) | frozenset(self.args[3]) | {_HEIGHT}

    def components(self) -> int:
        """The letters, the height and the mark of a jump."""
        return len(self.letters) + 2

    def component_names(self) -> list[str]:
        """Names of the components for printing."""
        return [*(sympy.latex(x) for x in self.letters), r"\mathrm{height}", r"\mathrm{jumps}"]

    def at(self, letter: Any) -> Any:
        """The minimising value of a letter."""
        return Component(self, [x.name for x in self.letters].index(letter.name))

    @property
    def height(self) -> Any:
        """The least value of the objective."""
        return Component(self, len(self.letters))

    @property
    def jumps(self) -> Any:
        """One where the minimum reached from the centre is not the lowest, zero elsewhere."""
        return Component(self, len(self.letters) + 1)

    def response(self, expression: Any, centre: Any) -> Response:
        """Derivatives of an expression of one token, at the point, in a letter of another: a matrix over the tokens."""
        return Response(self, expression, centre)

    def partial(self, symbol: Any) -> Any:
        """Implicit function theorem."""
        return self.component_partial(0, symbol)

    def component_partial(self, index: int, symbol: Any) -> Any:
        """Implicit function theorem, and the envelope theorem for the height."""
        if index < len(self.letters):
            return PointSlope(self, sympy.Integer(index), symbol)
        if index == len(self.letters):
            here = {x: Component(self, i) for i, x in enumerate(self.letters)}
            return self.objective.diff(symbol).xreplace(here)
        raise NoDerivative("the mark of a jump has no derivative")

    def _latex(self, printer: Any) -> str:
        names = ", ".join(printer._print(x) for x in self.letters)
        return rf"\operatorname{{argmin}}_{{{names}}} {printer._print(self.objective)}"


class _OfPoint(Operator):
    """A number that is computed together with the proximal point it belongs to, its first argument."""

    lowering = "proximal"
    point = Part(0, "The proximal point.")

    @property
    def bound(self) -> frozenset[Any]:
        """The letters minimised over."""
        return frozenset(self.point.bound)

    def bundle_key(self) -> Any:
        """Found with the point."""
        return self.point.bundle_key()


class PointSlope(_OfPoint):
    """Derivative of a minimising letter in a letter of the objective, where every number has its own objective."""

    def __new__(cls, point: Any, index: Any, symbol: Any) -> Any:
        """Keep all as arguments."""
        return sympy.Expr.__new__(cls, point, index, symbol)

    def _latex(self, printer: Any) -> str:
        letter = printer._print(self.point.letters[int(self.args[1])])
        return rf"\frac{{\partial \hat{{{letter}}}}}{{\partial {printer._print(self.args[2])}}}"


class Response:
    """Derivatives of f_l in c_m for all tokens l and m, where f is an expression at a proximal point.

    A matrix for each sample; what statements use of it is the sum of its products with another one.
    """

    def __init__(self, point: Any, expression: Any, centre: Any) -> None:
        twins = {x.name: x for x in point.letters}
        swap = {s: twins[s.name] for s in sympy.sympify(expression, strict=True).free_symbols if s.name in twins}
        self.point, self.expression, self.centre = point, sympy.sympify(expression, strict=True).xreplace(swap), centre

    def dot(self, other: Response) -> Any:
        """Sum over all entries of the products of two responses of one point: the trace of A B^T."""
        if other.point != self.point:
            raise DeclarationError("the product of two responses is that of one proximal point")
        return ResponseProduct(self.point, *(p for r in (self, other) for p in (r.expression, r.centre)))

    @property
    def square(self) -> Any:
        """Squared Frobenius norm."""
        return self.dot(self)


class ResponseProduct(_OfPoint):
    """Sum over tokens l and m of (df_l/dc_m)(dg_l/de_m) at a proximal point."""

    def __new__(cls, point: Any, *parts: Any) -> Any:
        """``parts`` are f, c, g and e."""
        return sympy.Expr.__new__(cls, point, *parts)

    @property
    def sides(self) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
        """(f, c) and (g, e)."""
        _, f, c, g, e = self.args
        return (f, c), (g, e)

    def _latex(self, printer: Any) -> str:
        (f, c), (g, e) = ((printer._print(a), printer._print(b)) for a, b in self.sides)
        if self.args[1:3] == self.args[3:]:
            return rf"\left|\frac{{\partial {f}}}{{\partial {c}}}\right|^2"
        first, second = rf"\frac{{\partial {f}}}{{\partial {c}}}", rf"\frac{{\partial {g}}}{{\partial {e}}}"
        return rf"\operatorname{{tr}} {first} \left({second}\right)^T"
