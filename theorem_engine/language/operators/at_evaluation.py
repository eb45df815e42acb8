"""An applied entry with conditions on quantities that have values only when a plan is run."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import sympy

from theorem_engine.language.operators.base import Operator, hygienic


class AtEvaluation(Operator):
    """The value of an expression at given values of some letters, its conditions on these decided there.

    Which statement of an applied entry holds may hang on a quantity: on where a minimum was found, say. The letters of
    such conditions are bound, and get the values that the quantities turn out to have.
    """

    lowering = "at_evaluation"

    def __new__(cls, body: Any, letters: Iterable[Any]) -> Any:
        """Bind the letters; each stands for the quantity of its own name."""
        letters = tuple(sorted(letters, key=sympy.default_sort_key))
        twins, (body,) = hygienic(letters, sympy.sympify(body, strict=True))
        return sympy.Expr.__new__(cls, body, sympy.Tuple(*twins), sympy.Tuple(*letters))

    @property
    def func(self) -> Any:
        """Rebuild from ``args``."""
        return lambda *args: sympy.Expr.__new__(AtEvaluation, *args)

    @property
    def body(self) -> Any:
        """What is evaluated."""
        return self.args[0]

    @property
    def letters(self) -> tuple[Any, ...]:
        """The letters that get values."""
        return tuple(self.args[1])

    @property
    def values(self) -> tuple[Any, ...]:
        """Their values, in terms of quantities."""
        return tuple(self.args[2])

    @property
    def bound(self) -> frozenset[Any]:
        """The letters that get values."""
        return frozenset(self.letters)

    def bundle_key(self) -> Hashable:
        """Expressions at the same place share what they have in common."""
        return self.args[1:]

    def _latex(self, printer: Any) -> str:
        return str(printer._print(self.body.xreplace(dict(zip(self.letters, self.values, strict=True)))))
