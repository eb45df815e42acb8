"""Continuation as a word of a statement: an expression, and an easier one from which its solution is followed."""

from __future__ import annotations

from typing import Any

import sympy

from theorem_engine.language.operators.base import Part, distinct_nodes


class Homotopy(sympy.Expr):
    """What ``homotopy`` makes: everywhere the first expression, but for a solver that needs a way to it."""

    is_commutative = True
    actual = Part(0, "What is meant.")
    easy = Part(1, "What the solver may begin with.")

    def __new__(cls, actual: Any, easy: Any) -> Any:
        """Keep both; equal ones need no way from one to the other."""
        actual, easy = sympy.sympify(actual, strict=True), sympy.sympify(easy, strict=True)
        return actual if actual == easy else sympy.Expr.__new__(cls, actual, easy)

    def _eval_derivative(self, symbol: Any) -> Any:
        return self.actual.diff(symbol)

    def _sympystr(self, printer: Any) -> str:
        return str(printer._print(self.actual))

    def _latex(self, printer: Any) -> str:
        return str(printer._print(self.actual))


def homotopy(actual: Any, easy: Any) -> Any:
    """``actual``, in a self-consistent equation of which ``easy`` is a form whose solution is simple.

    The equations are solved with ``t actual + (1 - t) easy`` in its place, t going from 0 to 1 in steps that adapt,
    each solution being the start of the next. What is meant is the solution that this leads to: where there are
    several, the one connected with that of the easy equations. If the way ends before t = 1, the error says where.
    Outside of self-consistent equations, on pages and in derivatives it is ``actual``.

    >>> x, a = sympy.symbols("x a")
    >>> homotopy(sympy.exp(-a * x), 1)
    exp(-a*x)
    >>> homotopy(sympy.exp(-a * x), 1).diff(a)
    -x*exp(-a*x)
    """
    return Homotopy(actual, easy)


def without_homotopy(expression: Any) -> Any:
    """The expression as it is meant."""
    return eased(expression, sympy.S.One)


def has_homotopy(expression: Any) -> bool:
    """Whether an easier form stands beside a part of it."""
    return any(isinstance(node, Homotopy) for node in distinct_nodes(expression))


def eased(expression: Any, share: Any) -> Any:
    """The expression with ``share`` of what is meant and the rest of what is easy."""
    while nodes := [n for n in distinct_nodes(expression) if isinstance(n, Homotopy)]:
        inner = [n for n in nodes if not any(has_homotopy(arg) for arg in n.args)]
        expression = expression.xreplace(
            {n: n.actual if share == 1 else share * n.actual + (1 - share) * n.easy for n in inner}
        )
    return expression
