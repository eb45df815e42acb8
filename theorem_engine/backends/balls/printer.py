"""SymPy nodes as calls of the functions of balls."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import sympy
from flint import acb, arb, fmpq
from sympy.printing.str import StrPrinter

from theorem_engine.backends.balls import functions
from theorem_engine.backends.balls.owens_t import owens_t
from theorem_engine.base.errors import NotAvailable

#: Functions by the name of their SymPy class.
NAMES = {
    "exp": "exp", "log": "log", "erf": "erf", "erfc": "erfc", "sin": "sin", "cos": "cos", "tan": "tan", "cot": "cot",
    "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "sech": "sech", "atan": "atan", "asin": "asin", "acos": "acos",
    "asinh": "asinh", "atanh": "atanh", "Abs": "absolute", "sign": "sign", "Heaviside": "heaviside", "Max": "largest",
    "Min": "smallest", "floor": "floor", "LambertW": "lambertw", "loggamma": "lgamma", "expm1": "expm1",
    "log1p": "log1p", "normal_pdf": "normal_pdf", "normal_cdf": "normal_cdf", "mills": "mills", "erfcx": "erfcx",
    "OwenT": "owens_t", "softplus": "softplus", "log_softplus": "log_softplus", "positive_part": "positive_part",
}  # fmt: skip

_RELATIONS = {
    "StrictLessThan": ("less", False), "StrictGreaterThan": ("less", True),
    "LessThan": ("less_or_equal", False), "GreaterThan": ("less_or_equal", True),
}  # fmt: skip


def namespace() -> dict[str, Any]:
    """What generated code may call: functions of balls, and constants made at the precision of the call."""
    names = {*NAMES.values(), "less", "less_or_equal", "equal", "both", "either", "negated", "choose", "power"}
    found = {name: getattr(functions, name) for name in sorted(names - {"owens_t"})}
    return {
        **found, "owens_t": owens_t,
        "sqrt": functions.sqrt, "whole_power": functions.whole_power, "rational": lru_cache(4096)(fmpq),
        "pi": arb.pi, "e": arb.const_e, "euler": arb.const_euler, "catalan": arb.const_catalan,
        "infinity": arb.pos_inf, "imaginary": lambda: acb(0, 1),
    }  # fmt: skip


class BallPrinter(StrPrinter):
    """Exact numbers stay exact; anything without an enclosure is refused by name."""

    def _print_Integer(self, node: Any) -> str:
        return f"rational({int(node)}, 1)"

    _print_Zero = _print_One = _print_NegativeOne = _print_Integer

    def _print_Rational(self, node: Any) -> str:
        return f"rational({int(node.p)}, {int(node.q)})"

    _print_Half = _print_Rational

    def _print_Float(self, node: Any) -> str:
        raise NotAvailable(f"the expression holds {node}, a number that is not exact: nothing is proved about it")

    def _print_Pi(self, node: Any) -> str:
        return "pi()"

    def _print_Exp1(self, node: Any) -> str:
        return "e()"

    def _print_EulerGamma(self, node: Any) -> str:
        return "euler()"

    def _print_Catalan(self, node: Any) -> str:
        return "catalan()"

    def _print_Infinity(self, node: Any) -> str:
        return "infinity()"

    def _print_NegativeInfinity(self, node: Any) -> str:
        return "(-infinity())"

    def _print_ImaginaryUnit(self, node: Any) -> str:
        return "imaginary()"

    def _print_Add(self, node: Any, order: Any = None) -> str:
        return "(" + " + ".join(self._print(a) for a in node.args) + ")"

    def _print_Mul(self, node: Any) -> str:
        top, bottom = [], []
        number, factors = node.as_coeff_mul()
        for factor in factors:
            if isinstance(factor, sympy.Pow) and factor.exp.is_Rational and factor.exp < 0:
                bottom.append(self._print(sympy.Pow(factor.base, -factor.exp, evaluate=False)))
            else:
                top.append(self._print(factor))
        if number.is_Rational and top:
            # beside a ball a whole number may be one of Python's
            top += [str(int(number.p))] if number.p != 1 else []
            bottom += [str(int(number.q))] if number.q != 1 else []
        elif number != 1:
            top.append(self._print(number))
        text = "*".join(top) or "rational(1, 1)"
        return f"({text}/({'*'.join(bottom)}))" if bottom else f"({text})"

    def _print_Pow(self, node: Any, rational: bool = False) -> str:
        base, exponent = node.base, node.exp
        if base is sympy.E:
            return f"exp({self._print(exponent)})"
        if exponent.is_Integer:
            if exponent == 1:
                return str(self._print(base))
            if exponent < 0:
                return f"(rational(1, 1)/{self._print(sympy.Pow(base, -exponent, evaluate=False))})"
            return f"whole_power({self._print(base)}, {int(exponent)})"
        if exponent == sympy.Rational(1, 2):
            return f"sqrt({self._print(base)})"
        return f"power({self._print(base)}, {self._print(exponent)})"

    def _print_Function(self, node: Any) -> str:
        name = NAMES.get(type(node).__name__)
        if name is None:
            raise NotAvailable(f"no ball code for {type(node).__name__}")
        return f"{name}({', '.join(self._print(a) for a in node.args)})"

    _print_Max = _print_Min = _print_Abs = _print_LambertW = _print_Heaviside = _print_Function

    def _print_Piecewise(self, node: Any) -> str:
        return "choose(" + ", ".join(f"({self._print(v)}, {self._print(c)})" for v, c in node.args) + ")"

    def _print_Relational(self, node: Any) -> str:
        left, right = self._print(node.lhs), self._print(node.rhs)
        kind = type(node).__name__
        if kind == "Equality":
            return f"equal({left}, {right})"
        if kind == "Unequality":
            return f"negated(equal({left}, {right}))"
        name, is_turned = _RELATIONS[kind]
        return f"{name}({right}, {left})" if is_turned else f"{name}({left}, {right})"

    def _print_And(self, node: Any) -> str:
        return "both(" + ", ".join(self._print(a) for a in node.args) + ")"

    def _print_Or(self, node: Any) -> str:
        return "either(" + ", ".join(self._print(a) for a in node.args) + ")"

    def _print_Not(self, node: Any) -> str:
        return f"negated({self._print(node.args[0])})"

    def _print_BooleanTrue(self, node: Any) -> str:
        return "True"

    def _print_BooleanFalse(self, node: Any) -> str:
        return "False"

    def _print_Symbol(self, node: Any) -> str:
        return str(node.name)

    _print_Dummy = _print_Symbol

    def emptyPrinter(self, node: Any) -> str:
        """Anything else has no enclosure."""
        raise NotAvailable(f"no ball code for {type(node).__name__}")
