"""Conditions of applied entries, settled: by the applying entry's own cases, by the point, or at each evaluation.

Those on letters that an operator moves, or on quantities that the statement computes, are left to the evaluation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Protocol

import sympy
from sympy.logic.boolalg import BooleanAtom

from theorem_engine.base.errors import DeclarationError
from theorem_engine.language.application import Applied, at_arguments
from theorem_engine.language.letters import OPEN
from theorem_engine.language.operators.base import as_operator, is_operator
from theorem_engine.language.statement import Statement, Unknown


class Resolving(Protocol):
    """What knows the definitions of canonical letters."""

    def resolved(self, expression: Any) -> Any:
        """The expression with definitions in the place of letters."""


class Undecided(DeclarationError):
    """A condition on given letters that the options of a statement do not tell; whoever knows the point must."""

    def __init__(self, relation: Any) -> None:
        text = _text(relation)
        super().__init__(text)
        self.relation = relation
        #: Under this name its truth value is expected among the options.
        self.name = f"({text})"


@cache
def _text(relation: Any) -> str:
    # every point of a sweep asks the same
    return str(relation)


def settle(statement: Statement, cases: Mapping[str, Any], options: Mapping[str, Any], setting: Resolving) -> Statement:
    """The statement with every condition decided that hangs on given letters alone.

    ``cases`` are the applying entry's own conditions; their truth is among its ``options``, and so is that of
    conditions on its given letters that a point has been asked for.
    """
    known = {relation: bool(options.get(name, False)) for name, relation in cases.items()}
    # a condition on these is decided where they have values
    computed = frozenset(statement.equations) - set(statement.given)

    def decide(relation: Any, who: str) -> bool:
        relation = setting.resolved(relation)
        if isinstance(relation, BooleanAtom):
            return bool(relation)
        if relation in known:
            return known[relation]
        need = Undecided(relation)
        if need.name in options:
            return bool(options[need.name])
        unknown = relation.free_symbols - set(statement.given)
        if unknown:
            raise DeclarationError(f"{statement.owner}: whether {relation} is not known when {who} is applied")
        raise need

    def settled(expression: Any) -> Any:
        while swaps := {node: _decided(node, bound | computed, decide) for node, bound in _open_nodes(expression)}:
            changed = {old: new for old, new in swaps.items() if new is not old}
            if not changed:
                break
            expression = expression.xreplace(changed)
        return expression

    equations = {}
    for symbol, equation in statement.equations.items():
        if isinstance(equation, Unknown):
            start = tuple(settled(s) for s in equation.starts())
            equations[symbol] = replace(equation, equation=settled(equation.equation), start=start)
        else:
            equations[symbol] = settled(equation)
    partials = {key: settled(value) for key, value in statement.partials.items()}
    return replace(statement, equations=equations, partials=partials)


def _open_nodes(expression: Any) -> list[tuple[Any, frozenset[Any]]]:
    """Applications with something left to decide, and the letters that operators around them move."""
    if not isinstance(expression, sympy.Basic):
        return []
    found: dict[Any, frozenset[Any]] = {}

    def visit(node: Any, bound: frozenset[Any]) -> None:
        if isinstance(node, Applied) and (node.open_conditions() or not _is_whole(node)):
            found[node] = found.get(node, frozenset()) | bound
        if is_operator(node):
            bound = bound | as_operator(node).bound
        for arg in node.args:
            visit(arg, bound)

    visit(expression, frozenset())
    return list(found.items())


def _is_whole(node: Any) -> bool:
    """Whether the entry applied asks for nothing beyond its own conditions."""
    return _asked(node) is None


def _asked(node: Any) -> Any:
    """A condition that an entry applied inside the applied entry needs, in terms of the latter's letters."""
    from theorem_engine.language.catalogue import find_entry

    entry = find_entry(node.entry_id)
    if node.open_conditions():
        return None
    try:
        entry.statement(dict(node.options))
    except Undecided as need:
        return need
    return None


def _decided(node: Any, bound: frozenset[Any], decide: Callable[[Any, str], bool]) -> Any:
    """The application with all decided that no letter without a value yet touches."""
    outcomes = {
        name: decide(relation, node.entry_id)
        for name, relation in node.open_conditions().items()
        if not relation.free_symbols & bound
    }
    node = node.decided(outcomes) if outcomes else node
    while (need := _asked(node)) is not None:
        relation = at_arguments(need.relation, node.arguments())
        moves = bool(relation.free_symbols & bound)
        node = node.decided({need.name: OPEN if moves else decide(relation, node.entry_id)})
    return node


def opened(node: Any) -> Any:
    """The application with the next conditions that it asks for: decided by its arguments, or left open."""
    while (need := _asked(node)) is not None:
        relation = at_arguments(need.relation, node.arguments())
        node = node.decided({need.name: bool(relation) if isinstance(relation, BooleanAtom) else OPEN})
    return node


def open_relations(expressions: Sequence[Any]) -> list[Any]:
    """Conditions that only an evaluation can decide, each once, in a fixed order."""
    found: dict[Any, None] = {}
    for expression in expressions:
        if not isinstance(expression, sympy.Basic):
            continue
        bound: set[Any] = set()
        for node in sympy.preorder_traversal(expression):
            if is_operator(node):
                bound |= as_operator(node).bound
            if isinstance(node, Applied):
                found.update(dict.fromkeys(node.open_conditions().values()))
        for relation in list(found):
            # what an operator further inside moves is decided there
            if relation.free_symbols & bound:
                del found[relation]
    return sorted(found, key=sympy.default_sort_key)


def with_outcomes(expression: Any, outcomes: Mapping[Any, bool]) -> Any:
    """The expression with these conditions settled."""
    swaps = {}
    for node in sympy.preorder_traversal(expression):
        if isinstance(node, Applied):
            here = {name: outcomes[r] for name, r in node.open_conditions().items() if r in outcomes}
            if here:
                swaps[node] = opened(node.decided(here))
    return expression.xreplace(swaps) if swaps else expression
