"""The two sides of an identity as one statement: its expression for algebra, its enclosure in balls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sympy

from theorem_engine.asking.point import read_letter
from theorem_engine.backends import get_backend
from theorem_engine.base.errors import DeclarationError, NotAvailable
from theorem_engine.language.application import EntryFunction
from theorem_engine.language.catalogue import find_entry
from theorem_engine.language.entry import Entry
from theorem_engine.language.identity import Identity, Slope, ValueOf
from theorem_engine.language.letters import Letter
from theorem_engine.language.operators.base import is_operator
from theorem_engine.language.statement import Statement, Total, Unknown, make_statement
from theorem_engine.planning.plan import make_plan
from theorem_engine.planning.unfold import unfold

#: Operations of an expression beyond which algebra is not tried.
LARGEST = 400


class Difference:
    """Right side minus left side of an identity, as a function of the letters it is stated in."""

    def __init__(self, entry: Entry, identity: Identity) -> None:
        self.entry = entry
        named = {*identity.box, *(name for point in identity.points for name in point)}
        unknown = named - {x.name for x in entry.applied_letters}
        if unknown:
            raise DeclarationError(f"{entry.id}: an identity names {', '.join(sorted(unknown))}, which is no letter")
        canonical = () if entry.model is None else entry.model.canonical
        used = identity.sides()[0].free_symbols | identity.sides()[1].free_symbols
        self._options = dict(identity.options)
        self._letters: dict[str, Letter] = {
            x.name: x
            for x in entry.applied_letters
            if x.is_required or x.name in named or x in used or (x in canonical and not x.is_optional)
        }
        self.letters = tuple(self._letters.values())
        self.statement = self._make_statement(identity)
        self._equations = unfold(self.statement.equations, entry.id).equations
        reached = self._reached()
        #: Letters that the two sides depend on: those that a box or a point must give a value.
        self.letters = tuple(x for x in self.letters if x in reached)

    def _make_statement(self, identity: Identity) -> Statement:
        owner, equations = self._own_equations(identity)
        left, right = (self._resolved(side, owner) for side in identity.sides())
        sides = {"left side": left, "right side": right, "difference": right - left}
        return make_statement(self.entry.id, self.letters, {**equations, **sides})

    def _own_equations(self, identity: Identity) -> tuple[Statement | None, Mapping[Any, Any]]:
        """The entry's own equations where one of its derivatives is meant."""
        if not any(side.has(Slope) for side in identity.sides()):
            return None, {}
        here = self._apply(self.entry, "", {})
        if here.open_conditions():
            raise NotAvailable("whether a condition of the statement holds is open, so it is not differentiated")
        owner = self.entry.statement(dict(here.options))
        defaults = {x: value for x, value in here.arguments().items() if x != value}
        return owner, {symbol: _replaced(equation, defaults) for symbol, equation in owner.equations.items()}

    def _reached(self) -> set[Any]:
        """All symbols behind the difference."""
        seen: set[Any] = set()
        stack = [self.statement.output_symbol("difference")]
        while stack:
            equation = self._equations.get(stack.pop())
            if equation is None:
                continue
            parts = (equation.equation, *equation.starts()) if isinstance(equation, Unknown) else (equation,)
            fresh = set().union(*(part.free_symbols for part in parts)) - seen
            seen |= fresh
            stack.extend(fresh)
        return seen

    def _resolved(self, expression: Any, owner: Statement | None) -> Any:
        """The expression with entries applied and derivatives of the entry's own equations."""
        swaps: dict[Any, Any] = {}
        for node in expression.atoms(ValueOf):
            if owner is not None and not node.entry_id and not node.changes():
                swaps[node] = owner.output_symbol(node.output)
            else:
                swaps[node] = self._apply(find_entry(node.entry_id or self.entry.id), node.output, node.changes())
        for node in expression.atoms(Slope):
            assert owner is not None
            derivative: Any = owner.output_symbol(str(node.args[0]))
            for letter in node.args[1:]:
                derivative = Total(derivative, letter)
            swaps[node] = derivative
        return expression.xreplace(swaps)

    def _apply(self, entry: Entry, output: str, changes: Mapping[str, Any]) -> Any:
        names = {x.name for x in (*entry.applied_letters, *entry.applied_options)}
        here = {**self._letters, **self._options, **changes}
        given = {name: value for name, value in here.items() if name in names}
        return EntryFunction(entry.id, output or None)(**given)

    def read(self, values: Mapping[str, Any]) -> list[Any]:
        """Exact values of the letters, from text or numbers by name."""
        missing = [x.name for x in self.letters if x.name not in values and (x.is_required or x.is_optional)]
        if missing:
            raise DeclarationError(f"{self.entry.id}: an identity is tried without a value of {', '.join(missing)}")
        return [read_letter(self.entry, x, values[x.name] if x.name in values else x.default) for x in self.letters]

    def expression(self) -> Any:
        """The difference in the letters alone, or None where definitions hold more than algebra can follow."""
        equations = self._equations
        found = self.statement.output_symbol("difference")
        for _ in range(len(equations) + 1):
            used = found.free_symbols & set(equations)
            if not used:
                return found
            if any(isinstance(equations[s], Unknown) for s in used):
                return None
            found = found.xreplace({s: equations[s] for s in used})
            if any(is_operator(n) and not isinstance(n, sympy.Integral) for n in sympy.preorder_traversal(found)):
                return None
            if sympy.count_ops(found) > 10 * LARGEST:
                return None
        return None

    def enclosing(self, moving: Sequence[Letter] = ()) -> Any:
        """A function of balls: the difference, the left side, and the derivatives of the difference in letters."""
        equations = dict(self.statement.equations)
        targets = [self.statement.output_symbol(name) for name in ("difference", "left side")]
        if moving:
            slopes = {f"slope in {x.name}": Total(targets[0], x) for x in moving}
            extended = make_statement(self.entry.id, self.letters, {**equations, **slopes})
            targets += [extended.output_symbol(name) for name in slopes]
            equations = dict(extended.equations)
        plan = make_plan(self.letters, equations, targets, self.entry.id)
        return get_backend("balls").compile(plan)


def _replaced(equation: Any, swaps: Mapping[Any, Any]) -> Any:
    if not swaps:
        return equation
    if isinstance(equation, Unknown):
        raise NotAvailable("a self-consistent equation is not differentiated here at a default of its letters")
    return equation.xreplace(dict(swaps))
