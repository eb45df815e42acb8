"""Unfolding: entries applied inside equations become quantities of their own."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import sympy

from theorem_engine.language.application import Applied
from theorem_engine.language.conditions import opened
from theorem_engine.language.letters import Letter
from theorem_engine.language.operators.at_evaluation import AtEvaluation
from theorem_engine.language.operators.base import as_operator, is_operator
from theorem_engine.language.statement import Statement, Unknown, make_statement


@dataclass
class Unfolded:
    """Equations without applications, and which entry each quantity came from."""

    equations: dict[Any, Any]
    origin: dict[Any, str]
    applications: dict[str, str]


def unfold(equations: Mapping[Any, Any], owner: str = "") -> Unfolded:
    """Replace every application outside an operator's body by a quantity with its own equations.

    Equal applications share one instance. Bodies of operators keep theirs: they are unfolded when
    the body is compiled, in its own letters. An application with a condition on quantities becomes such a body too.
    """
    result = Unfolded({}, {}, {})
    instances: dict[Any, _Instance] = {}
    # the body of an operator may hold quantities of instances outside it: their numbers are taken
    taken = _taken(equations.values())
    numbers = (number for number in itertools.count(1) if number not in taken)
    queue: list[tuple[Any, Any, str]] = [(symbol, equation, owner) for symbol, equation in equations.items()]
    while queue:
        symbol, equation, origin = queue.pop(0)
        result.origin[symbol] = origin
        expressions = (equation.equation, *equation.starts()) if isinstance(equation, Unknown) else (equation,)
        swaps: dict[Any, Any] = {}
        for node in sorted(set().union(*(_applications(e) for e in expressions)), key=sympy.default_sort_key):
            # what no entry around it has settled, its own arguments may
            settled = opened(node)
            if conditions := settled.open_conditions():
                swaps[node] = AtEvaluation(settled, frozenset().union(*(c.free_symbols for c in conditions.values())))
                continue
            key = settled.instance_key()
            if key not in instances:
                instances[key] = _Instance(settled, next(numbers))
                label = f"{node.entry_id}({', '.join(_short(a) for a in node.args)})"
                result.applications[instances[key].scope] = label
            swaps[node], fresh = instances[key].request(settled)
            queue.extend((s, e, node.entry_id) for s, e in fresh)
        new = [e.xreplace(swaps) if swaps else e for e in expressions]
        if isinstance(equation, Unknown):
            result.equations[symbol] = replace(equation, equation=new[0], start=tuple(new[1:]))
        else:
            result.equations[symbol] = new[0]
    return result


def _taken(equations: Iterable[Any]) -> set[int]:
    """Numbers of instances whose quantities occur in equations."""
    parts = [(e.equation, *e.starts()) if isinstance(e, Unknown) else (e,) for e in equations]
    scopes = {getattr(s, "scope", "") for part in parts for e in part for s in e.free_symbols}
    return {int(scope.rpartition("#")[2]) for scope in scopes if "#" in scope}


def _short(argument: Any, most: int = 40) -> str:
    """An argument as text, if it is short enough to help a reader."""
    size = sum(1 for _ in itertools.islice(sympy.preorder_traversal(argument), most + 1))
    return str(argument) if size <= most else "..."


def _applications(expression: Any) -> set[Any]:
    """Applications that stand outside operators, and inside them only where no bound letter reaches."""
    found: set[Any] = set()

    def visit(node: Any, bound: frozenset[Any]) -> None:
        if isinstance(node, Applied):
            if not node.free_symbols & bound:
                found.add(node)
            # arguments may apply entries themselves; those surface once this one is replaced
            return
        if is_operator(node):
            bound = bound | as_operator(node).bound
        for arg in node.args:
            visit(arg, bound)

    visit(expression, frozenset())
    return found


class _Instance:
    """An entry's equations with its letters replaced by the arguments of one application."""

    def __init__(self, node: Any, number: int) -> None:
        from theorem_engine.language.catalogue import find_entry

        entry = find_entry(node.entry_id)
        self.statement: Statement = entry.statement(dict(node.options))
        self.scope = f"{node.entry_id}#{number}"
        self.arguments = dict(zip(self.statement.given, node.args, strict=True))
        self.renamed: dict[Any, Any] = {}
        self.names: set[str] = set()
        self.emitted: set[Any] = set()
        self.derivatives: dict[tuple[str, ...], Any] = {}

    def request(self, node: Any) -> tuple[Any, list[tuple[Any, Any]]]:
        """The symbol that stands for an application, and the equations it brings for the first time."""
        target = self.statement.output_symbol(node.output)
        source: Mapping[Any, Any] = self.statement.equations
        if node.derivatives:
            target, source = self._derivative(node.output, node.derivatives)
        return self._rename(target), self._emit(target, source)

    def _derivative(self, output: str, names: tuple[str, ...]) -> tuple[Any, Mapping[Any, Any]]:
        key = (output, *names)
        if key not in self.derivatives:
            letters = {x.name: x for x in self.statement.given}
            first, *rest = (letters[name] for name in _stated_first(self.statement, output, names))
            stated = self.statement.partials.get((output, first))
            from theorem_engine.language.statement import Total

            expression = stated if stated is not None else Total(self.statement.output_symbol(output), first)
            for letter in rest:
                expression = Total(expression, letter)
            name = "/".join(key)
            extended = make_statement(self.scope, self.statement.given, {**self.statement.equations, name: expression})
            self.derivatives[key] = extended.output_symbol(name), extended.equations
        return self.derivatives[key]

    def _emit(self, target: Any, source: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
        """Equations of everything the target needs that is not out yet."""
        fresh: list[tuple[Any, Any]] = []
        stack = [target]
        while stack:
            symbol = stack.pop()
            if symbol in self.emitted or symbol not in source:
                continue
            self.emitted.add(symbol)
            equation = source[symbol]
            if isinstance(equation, Unknown):
                parts = (equation.equation, *equation.starts())
                stack.extend(s for part in parts for s in part.free_symbols)
                body, *starts = (self._translate(part) for part in parts)
                along = None if equation.along is None else self._translate(equation.along)
                new = replace(equation, equation=body, start=tuple(starts), along=along)
                fresh.append((self._rename(symbol), new))
            else:
                stack.extend(equation.free_symbols)
                fresh.append((self._rename(symbol), self._translate(equation)))
        return fresh

    def _translate(self, expression: Any) -> Any:
        local = expression.free_symbols - set(self.arguments)
        swaps = {**self.arguments, **{s: self._rename(s) for s in local}}
        return expression.xreplace(swaps)

    def _rename(self, symbol: Any) -> Any:
        if symbol not in self.renamed:
            latex = getattr(symbol, "latex_name", None)
            # an output may bear the name of a letter of the paper; here they would share a scope
            name = symbol.name
            while name in self.names:
                name += "'"
            self.names.add(name)
            self.renamed[symbol] = Letter(name, self.scope, latex=latex, assumptions=symbol.assumptions0)
        return self.renamed[symbol]


def _stated_first(statement: Statement, output: str, names: tuple[str, ...]) -> list[str]:
    """Mixed derivatives commute: start with one the author stated, if any."""
    stated = {letter.name for (name, letter) in statement.partials if name == output}
    return sorted(names, key=lambda name: (name not in stated, name))
