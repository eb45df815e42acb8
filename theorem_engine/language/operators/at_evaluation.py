"""An applied entry with conditions on quantities that have values only when a plan is run."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import sympy

from theorem_engine.language.operators.base import Operator, Part, hygienic


class AtEvaluation(Operator):
    """The value of an expression at given values of some letters, its conditions on these decided there.

    Which statement of an applied entry holds may hang on a quantity: on where a minimum was found, say. The letters of
    such conditions are bound, and get the values that the quantities turn out to have.
    """

    lowering = "at_evaluation"
    binds = ("letters",)
    body = Part(0, "What is evaluated.")
    letters = Part(1, "The letters that get values.", tuple)
    values = Part(2, "Their values, in terms of quantities.", tuple)

    def __new__(cls, body: Any, letters: Iterable[Any]) -> Any:
        """Bind the letters; each stands for the quantity of its own name."""
        letters = tuple(sorted(letters, key=sympy.default_sort_key))
        twins, (body,) = hygienic(letters, sympy.sympify(body, strict=True))
        return sympy.Expr.__new__(cls, body, sympy.Tuple(*twins), sympy.Tuple(*letters))

    def bundle_key(self) -> Hashable:
        """Expressions at the same place share what they have in common."""
        return self.args[1:]

    def _latex(self, printer: Any) -> str:
        return str(printer._print(self.body.xreplace(dict(zip(self.letters, self.values, strict=True)))))
