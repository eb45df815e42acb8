"""Vectorised NumPy in double precision: the default."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import sympy
from sympy.printing.numpy import NumPyPrinter

from theorem_engine.backends.base import Backend, Numeric, outside_meanings, straight_line
from theorem_engine.backends.float64.meanings import namespace
from theorem_engine.backends.restoring import code_of
from theorem_engine.backends.running import described
from theorem_engine.base.errors import NotAvailable
from theorem_engine.base.exact import as_float
from theorem_engine.language.domains import Structured
from theorem_engine.planning.plan import Solve


class _Printer(NumPyPrinter):
    """SymPy's NumPy printer, with maxima, conditions and branches that broadcast scalars against arrays."""

    def _print_Integer(self, expr: Any) -> str:
        # NumPy takes whole numbers of 64 bits and no longer ones; those beyond double precision are infinite
        if abs(expr.p) < 2**53:
            return str(expr.p)
        try:
            return f"({float(expr.p)!r})"
        except OverflowError:
            return "(inf)" if expr.p > 0 else "(-inf)"

    def _print_Rational(self, expr: Any) -> str:
        # the quotient of two long numbers may be a short one
        if max(abs(expr.p), expr.q) < 2**53:
            return f"{expr.p}/{expr.q}"
        try:
            return f"({expr.p / expr.q!r})"
        except OverflowError:
            return "(inf)" if expr.p > 0 else "(-inf)"

    def _print_Max(self, expr: Any) -> str:
        return self._fold("maximum", expr)

    def _print_Min(self, expr: Any) -> str:
        return self._fold("minimum", expr)

    def _print_And(self, expr: Any) -> str:
        return self._fold("logical_and", expr)

    def _print_Or(self, expr: Any) -> str:
        return self._fold("logical_or", expr)

    def _print_sech(self, expr: Any) -> str:
        # written by exponentials these overflow half of an argument earlier, and coth is no number there
        return f"(1/cosh({self._print(expr.args[0])}))"

    def _print_csch(self, expr: Any) -> str:
        return f"(1/sinh({self._print(expr.args[0])}))"

    def _print_coth(self, expr: Any) -> str:
        return f"(1/tanh({self._print(expr.args[0])}))"

    def _fold(self, function: str, expr: Any) -> str:
        first, *rest = (self._print(arg) for arg in expr.args)
        for other in rest:
            first = f"{function}({first}, {other})"
        return str(first)

    def _print_Piecewise(self, expr: Any) -> str:
        pairs = list(expr.args)
        text = self._print(pairs[-1].expr) if pairs[-1].cond == sympy.true else "nan"
        for value, condition in reversed(pairs[:-1] if pairs[-1].cond == sympy.true else pairs):
            text = f"where({self._print(condition)}, {self._print(value)}, {text})"
        return str(text)


@cache
def _printer() -> _Printer:
    known = {name: name for name in namespace()}
    return _Printer(
        {"fully_qualified_modules": False, "inline": True, "allow_unknown_functions": True, "user_functions": known}
    )


def _refuse_unknown(lines: Sequence[tuple[Any, Any]], outside: Mapping[str, Any]) -> None:
    """A function without a meaning in NumPy is refused by name; its name is never run."""
    printer = _printer()
    known = {*printer.known_functions, *printer._rewriteable_functions, *outside}
    for function in {type(call) for _, expression in lines for call in expression.atoms(sympy.Function)}:
        name = function.__name__
        if name not in known and not hasattr(printer, f"_print_{name}"):
            raise NotAvailable(f"the function {name} is not evaluated in double precision")


class Float64(Backend):
    """Double precision on scalars or on arrays of any shape."""

    name = "float64"
    keeps_constants = True

    def elementary(
        self, inputs: Sequence[Any], equations: Sequence[tuple[Any, Any]], outputs: Sequence[Any]
    ) -> Numeric:
        """By SymPy's NumPy printer."""
        code = straight_line(inputs, equations, outputs)
        outside = outside_meanings(code.lines, self.name, namespace())
        _refuse_unknown(code.lines, outside)
        if outside or self.name not in code.made:
            made = code.compiled([{**namespace(), **outside}, "numpy"], _printer())
            code.made[self.name] = described(made, lambda: code_of(made))
        return code.made[self.name]

    def group(self, solve: Solve) -> Numeric:
        """Newton with the symbolic Jacobian, vectorised over points."""
        from theorem_engine.backends.float64.group import lower_group

        return lower_group(solve, self)

    def number(self, value: Any) -> Any:
        """Nearest double; a value that is more than one number says itself what it becomes."""
        return value.as_number(as_float, complex) if isinstance(value, Structured) else as_float(value)


BACKEND = Float64()
