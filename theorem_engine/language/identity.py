"""Identities that entries carry as data: what must hold between outputs, so that a prover can try them.

Both sides are SymPy expressions of the entry's letters, of its outputs (``own``), of derivatives of these (``slope``)
and of other entries (``applied``); entries are looked up when an identity is proved, not when it is declared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import sympy
from sympy.core.symbol import Str


class ValueOf(sympy.Expr):
    """An output of an entry at the letters of the entry that carries the identity, some of them changed."""

    is_commutative = True

    def __new__(cls, *args: Any) -> Any:
        """Keep the id, the output and the changes as they are."""
        return sympy.Expr.__new__(cls, *args)

    @property
    def entry_id(self) -> str:
        """The entry meant; empty for the one that carries the identity."""
        return str(self.args[0])

    @property
    def output(self) -> str:
        """The output meant; empty for the main one."""
        return str(self.args[1])

    def changes(self) -> dict[str, Any]:
        """Letters and options that differ, by name."""
        pairs = ((str(name), value) for name, value in self.args[2].args)
        return {name: str(value) if isinstance(value, Str) else value for name, value in pairs}

    def _sympystr(self, printer: Any) -> str:
        changes = ", ".join(f"{name}={printer._print(value)}" for name, value in self.args[2].args)
        head = ".".join(part for part in (self.entry_id, self.output) if part)
        return f"{head}({changes})" if changes or self.entry_id else head


class Slope(sympy.Expr):
    """A derivative of an output, by differentiating the entry's equations, whatever derivative its author states."""

    is_commutative = True

    def __new__(cls, *args: Any) -> Any:
        """Keep the output and the letters as they are."""
        return sympy.Expr.__new__(cls, *args)

    def _sympystr(self, printer: Any) -> str:
        return f"d({self.args[0]})/d({', '.join(str(x) for x in self.args[1:])})"


def own(output: str, **changed: Any) -> Any:
    """An output of the entry itself, at its letters or with some of them changed."""
    return _value("", output, changed)


def applied(entry_id: str, output: str = "", **changed: Any) -> Any:
    """An output of another entry at letters and options of the same names, some of them changed."""
    return _value(entry_id, output, changed)


def slope(output: str, *letters: Any) -> Any:
    """The derivative of one of the entry's outputs in letters, one after the other."""
    return Slope(Str(output), *letters)


def _value(entry_id: str, output: str, changed: Mapping[str, Any]) -> Any:
    pairs = [(Str(k), Str(v) if isinstance(v, str) else sympy.sympify(v, strict=True)) for k, v in changed.items()]
    return ValueOf(Str(entry_id), Str(output), sympy.Tuple(*(sympy.Tuple(*pair) for pair in pairs)))


@dataclass(frozen=True, kw_only=True)
class Identity:
    """Where an identity is tried: a box of letters, points, and the options of the statement meant.

    ``box`` gives a letter two ends or one value, ``points`` one value each; text is read as a query's is. Letters that
    neither names take their defaults. On the box the two sides of an equation are to differ by less than ``radius``.
    """

    box: Mapping[str, Any] = field(default_factory=dict)
    points: tuple[Mapping[str, Any], ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    radius: Fraction = Fraction(1, 100)
    #: The sign between the sides.
    sign: ClassVar[str] = "="

    def sides(self) -> tuple[Any, Any]:
        """Left and right side."""
        raise NotImplementedError

    def __str__(self) -> str:
        left, right = self.sides()
        chosen = "".join(f", {name}={value}" for name, value in self.options.items())
        return f"{left} {self.sign} {right}{chosen}"


@dataclass(frozen=True)
class Equation(Identity):
    """Two sides are equal."""

    left: Any
    right: Any

    def sides(self) -> tuple[Any, Any]:
        """Left and right side."""
        return sympy.sympify(self.left, strict=True), sympy.sympify(self.right, strict=True)


@dataclass(frozen=True)
class Derivative(Identity):
    """The derivative of an output in a letter is what is said."""

    output: str
    letter: Any
    equals: Any

    def sides(self) -> tuple[Any, Any]:
        """The derivative of the equations, and what is said of it."""
        return slope(self.output, self.letter), sympy.sympify(self.equals, strict=True)


@dataclass(frozen=True)
class SpecialValue(Identity):
    """An output at special values of some letters."""

    at: Mapping[Any, Any]
    output: str
    value: Any

    def sides(self) -> tuple[Any, Any]:
        """The output there, and its value."""
        changed = {letter.name: value for letter, value in self.at.items()}
        return own(self.output, **changed), sympy.sympify(self.value, strict=True)


@dataclass(frozen=True)
class Ordering(Identity):
    """One side is never above the other."""

    lower: Any
    upper: Any
    sign: ClassVar[str] = "<="

    def sides(self) -> tuple[Any, Any]:
        """The lower and the upper side."""
        return sympy.sympify(self.lower, strict=True), sympy.sympify(self.upper, strict=True)


__all__ = [
    "Derivative", "Equation", "Identity", "Ordering", "Slope", "SpecialValue", "ValueOf", "applied", "own", "slope",
]  # fmt: skip
