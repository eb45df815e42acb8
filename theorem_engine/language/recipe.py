"""Recipes: where solvers start and where searches look, beside a statement and not inside it.

A statement says what a quantity is: the solution of an equation, the minimiser of an expression. How to find it is no
part of that; the recipe has it, by letter, and nothing of it is printed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from theorem_engine.base.errors import DeclarationError
from theorem_engine.language.operators.base import Searched, distinct_nodes
from theorem_engine.language.statement import Statement, Unknown, strip


@dataclass(frozen=True)
class Start:
    """How the solution of a self-consistent equation is found; the fields are those of ``Unknown``."""

    value: Any
    positive: bool = False
    along: Any = None
    method: str = "newton"
    continued: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Search:
    """Where a minimiser or a root is looked for: between two ends, at how many places, in which unit."""

    low: Any
    high: Any
    scan: int = 0
    single_valley: bool = False
    slopes: bool = True
    unit: Any = None
    #: Of several roots, which is meant.
    sign_change: str = "first"


@dataclass(frozen=True)
class Descent:
    """Where a local minimum lies at known values of other letters, from which it is followed to those asked for."""

    value: Any
    known: Mapping[Any, Any]


How = Start | Search | Descent
#: By letter, or a function of the setting that gives it.
Recipe = Mapping[Any, How] | Callable[[Any], Mapping[Any, How]]


def prepared(statement: Statement, recipe: Mapping[Any, How]) -> Statement:
    """The statement with starts at its self-consistent letters and ranges at its searches."""
    if not recipe and not any(strip(equation).has(Searched) for equation in statement.equations.values()):
        return statement
    searches = _searches(recipe)
    starts = {letter: how for letter, how in recipe.items() if isinstance(how, Start)}
    in_circles = circular(statement.equations)
    equations = {}
    for symbol, equation in statement.equations.items():
        searched = _searched(strip(equation), searches, statement.owner)
        if symbol in starts and symbol in in_circles and not isinstance(equation, Unknown):
            how = starts[symbol]
            equations[symbol] = Unknown(searched, how.value, how.positive, how.along, how.method, how.continued)
        elif isinstance(equation, Unknown):
            equations[symbol] = replace(equation, equation=searched)
        else:
            equations[symbol] = searched
    return replace(statement, equations=equations)


def searched(expression: Any, recipe: Mapping[Any, How], owner: str) -> Any:
    """An expression beside the statement (a requirement) with ranges at its searches."""
    return _searched(expression, _searches(recipe), owner)


def _searches(recipe: Mapping[Any, How]) -> dict[str, Search | Descent]:
    return {letter.name: how for letter, how in recipe.items() if not isinstance(how, Start)}


def circular(equations: Mapping[Any, Any]) -> set[Any]:
    """Letters that depend on themselves."""
    # only statements with a recipe need it, and it takes longer to import than a paper
    import networkx

    graph = networkx.DiGraph()
    for symbol, equation in equations.items():
        graph.add_edges_from((symbol, other) for other in strip(equation).free_symbols if other in equations)
    groups = networkx.strongly_connected_components(graph)
    return {s for group in groups for s in group if len(group) > 1 or graph.has_edge(s, s)}


def _searched(expression: Any, searches: Mapping[str, Search | Descent], owner: str) -> Any:
    """The expression with ranges at every minimum, root and branch that has none."""
    open_nodes = [n for n in distinct_nodes(expression) if isinstance(n, Searched) and not n.has_range]
    if not open_nodes:
        return expression
    swaps = {}
    for node in open_nodes:
        missing = [x.name for x in node.sought if x.name not in searches]
        if missing:
            raise DeclarationError(f"{owner}: the recipe does not say where to look for {', '.join(missing)}")
        swaps[node] = node.searched([searches[x.name] for x in node.sought])
    # a search inside another is met again in what takes its place
    return _searched(expression.xreplace(swaps), searches, owner)
