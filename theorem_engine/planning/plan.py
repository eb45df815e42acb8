"""The quantity graph and the evaluation plan it gives.

Every equation ``letter = expression`` is a node; strongly connected components are groups solved
together; the condensation, in topological order, is the order of evaluation.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import networkx as nx
import sympy

from theorem_engine.base.errors import MissingDefinition, UnsolvableCycle
from theorem_engine.language.operators.base import Component, as_operator, is_operator, outermost_operators
from theorem_engine.language.operators.homotopy import eased, has_homotopy, without_homotopy
from theorem_engine.language.statement import Statement, Total, Unknown, make_statement, strip
from theorem_engine.planning.unfold import unfold


@dataclass(frozen=True)
class Evaluate:
    """Elementary equations, evaluated in the order given."""

    equations: tuple[tuple[Any, Any], ...]


@dataclass(frozen=True)
class Operate:
    """Operators lowered together; ``results[i][j]`` names component j of operator i (None: unused)."""

    operators: tuple[Any, ...]
    results: tuple[tuple[Any, ...], ...]
    parameters: tuple[Any, ...]


@dataclass(frozen=True)
class Solve:
    """A group of self-consistent equations ``unknown = expression``.

    ``residual`` computes the right-hand sides, then their Jacobian row by row, from the unknowns and
    the parameters. ``starts[b]`` names the starting values of branch b. ``along`` is the place among the
    parameters of one that eases the equations as it grows.
    """

    unknowns: tuple[Any, ...]
    positive: tuple[bool, ...]
    starts: tuple[tuple[Any, ...], ...]
    parameters: tuple[Any, ...]
    residual: Plan
    is_linear: bool
    along: int | None = None
    #: As in ``Unknown``; the residual has a Jacobian for Newton's method only.
    method: str = "newton"
    #: The residual with easier expressions mixed in: after the unknowns comes the share of what is meant, from 0 to 1.
    eased: Plan | None = None


Step = Evaluate | Operate | Solve


@dataclass(frozen=True, eq=False)
class Plan:
    """Steps from inputs to targets, free of any backend."""

    inputs: tuple[Any, ...]
    targets: tuple[Any, ...]
    steps: tuple[Step, ...]
    graph: Any
    origin: Mapping[Any, str]
    applications: Mapping[str, str]


def make_plan(inputs: Sequence[Any], equations: Mapping[Any, Any], targets: Sequence[Any], owner: str = "") -> Plan:
    """Work out how to compute the targets from the inputs.

    >>> x, y, z = sympy.symbols("x y z")
    >>> plan = make_plan([x], {y: x + 1, z: y**2}, [z])
    >>> [type(step).__name__ for step in plan.steps]
    ['Evaluate']
    """
    unfolded = unfold(equations, owner)
    written = _with_starts(unfolded.equations)
    graph = _graph(inputs, written, targets, owner)
    everything = {symbol: _meant(equation) for symbol, equation in written.items()}
    nodes: dict[Any, _Node] = {}
    for members in _components(graph):
        if len(members) > 1 or graph.has_edge(members[0], members[0]):
            # a key of its own: the letters inside the cycle get nodes by their names
            nodes[tuple(members)] = _group(members, {**everything, **{s: written[s] for s in members}}, owner)
        elif members[0] in everything:
            _split(members[0], everything[members[0]], nodes)
    steps = _schedule(nodes, inputs)
    return Plan(
        tuple(inputs), tuple(targets), steps, graph,
        {s: unfolded.origin.get(s, owner) for s in everything}, unfolded.applications,
    )  # fmt: skip


def _with_starts(equations: Mapping[Any, Any]) -> dict[Any, Any]:
    """Give every starting value of a self-consistent letter a name of its own."""
    from theorem_engine.language.letters import Letter

    result: dict[Any, Any] = {}
    for symbol, equation in equations.items():
        if isinstance(equation, Unknown):
            names = []
            for branch, start in enumerate(equation.starts()):
                name = Letter(f"{symbol.name}.start{branch}", getattr(symbol, "scope", ""), assumptions={})
                result[name] = start
                names.append(name)
            result[symbol] = replace(equation, start=tuple(names))
        else:
            result[symbol] = equation
    return result


def _meant(equation: Any) -> Any:
    """An equation without the easier forms that its author wrote beside expressions of it."""
    if isinstance(equation, Unknown):
        return replace(equation, equation=without_homotopy(equation.equation))
    return without_homotopy(equation)


def _graph(inputs: Sequence[Any], equations: Mapping[Any, Any], targets: Sequence[Any], owner: str) -> Any:
    """Edges from each letter to the quantities it is used by, as far as the targets need them."""
    graph = nx.DiGraph()
    known = set(inputs)
    stack = list(targets)
    while stack:
        symbol = stack.pop()
        if graph.has_node(symbol) and graph.nodes[symbol].get("done"):
            continue
        graph.add_node(symbol, done=True)
        if symbol in known:
            continue
        if symbol not in equations:
            users = sorted(str(u) for u in graph.successors(symbol))
            raise MissingDefinition(
                f"{owner or 'plan'}: {symbol} is neither given nor defined (used by {', '.join(users) or 'a target'})"
            )
        equation = equations[symbol]
        needed = strip(equation).free_symbols
        if isinstance(equation, Unknown):
            needed = needed | set(equation.starts())
        for other in needed:
            graph.add_edge(other, symbol)
            stack.append(other)
    return graph


def _components(graph: Any) -> list[list[Any]]:
    """Strongly connected components in a topological order that does not depend on hashing."""
    condensed = nx.condensation(graph)
    names = {c: sorted(condensed.nodes[c]["members"], key=_name) for c in condensed.nodes}
    order = nx.lexicographical_topological_sort(condensed, key=lambda c: _name(names[c][0]))
    return [names[c] for c in order]


def _name(symbol: Any) -> tuple[str, str]:
    return symbol.name, getattr(symbol, "scope", "")


@dataclass
class _Node:
    """Something to schedule: what it makes, what it needs, and how."""

    makes: tuple[Any, ...]
    needs: set[Any]
    equation: Any = None
    operator: Any = None
    solve: Solve | None = None


def _split(symbol: Any, equation: Any, nodes: dict[Any, _Node]) -> None:
    """An equation becomes one elementary node and a node for each operator in it."""
    swaps: dict[Any, Any] = {}
    for part in outermost_operators(equation):
        operator, index = (part.operator, part.index) if isinstance(part, Component) else (part, 0)
        swaps[part] = _operator_node(operator, nodes).makes[index]
    body = equation.xreplace(swaps) if swaps else equation
    nodes[symbol] = _Node((symbol,), set(body.free_symbols), equation=body)


def _operator_node(operator: Any, nodes: dict[Any, _Node]) -> _Node:
    if operator not in nodes:
        size = as_operator(operator).components()
        slots = tuple(sympy.Dummy(f"{type(operator).__name__.lower()}{len(nodes)}_{i}") for i in range(size))
        nodes[operator] = _Node(slots, set(operator.free_symbols), operator=operator)
    return nodes[operator]


def _group(members: list[Any], equations: Mapping[Any, Any], owner: str) -> _Node:
    """A component with a cycle: choose the unknowns and write right-hand sides and Jacobian."""
    unknowns = [s for s in members if isinstance(equations[s], Unknown)]
    linear = not unknowns
    if linear:
        unknowns = members
    inner = {s: without_homotopy(strip(equations[s])) for s in members if s not in unknowns}
    rest = nx.DiGraph((a, s) for s, e in inner.items() for a in e.free_symbols if a in inner)
    if not nx.is_directed_acyclic_graph(rest):
        cycle = " -> ".join(str(a) for a, _ in nx.find_cycle(rest))
        raise UnsolvableCycle(f"{owner}: {cycle} depend on each other; declare one of them as Unknown(..., start=...)")
    methods = {"newton"} if linear else {equations[s].method for s in unknowns}
    if len(methods) > 1:
        raise UnsolvableCycle(f"{owner}: one group, but its unknowns name the methods {', '.join(sorted(methods))}")
    is_newton = methods == {"newton"}
    stated = {s: strip(equations[s]) for s in members}
    statement = _residual({s: without_homotopy(e) for s, e in stated.items()}, unknowns, owner, is_newton)
    targets = statement.targets()
    if linear and any(statement.equations[t].free_symbols & set(unknowns) for t in targets[len(unknowns) :]):
        raise UnsolvableCycle(
            f"{owner}: {', '.join(str(s) for s in members)} depend on each other, not linearly, and no method was "
            "declared; give at least one of them as Unknown(..., start=...)"
        )
    share = sympy.Dummy("share")
    mixed = None
    if any(has_homotopy(e) for e in stated.values()):
        if not is_newton or linear:
            raise UnsolvableCycle(f"{owner}: homotopy is followed by Newton's method, with a start for an unknown")
        mixed = _residual({s: eased(e, share) for s, e in stated.items()}, unknowns, owner, is_newton)
    used = {s for part in (statement, mixed) if part for e in part.equations.values() for s in e.free_symbols}
    made = {s for part in (statement, mixed) if part for s in part.equations}
    outside = sorted(used - made - set(unknowns) - {share}, key=_name)
    residual = make_plan([*unknowns, *outside], statement.equations, targets, f"{owner}:group")
    way = None
    if mixed is not None:
        way = make_plan([*unknowns, share, *outside], mixed.equations, mixed.targets(), f"{owner}:group")
    branches = 1 if linear else max(len(equations[s].starts()) for s in unknowns)
    starts = () if linear else tuple(
        tuple(equations[s].starts()[min(b, len(equations[s].starts()) - 1)] for s in unknowns) for b in range(branches)
    )  # fmt: skip
    positive = tuple(not linear and equations[s].positive for s in unknowns)
    helper = next((equations[s].along for s in unknowns if not linear and equations[s].along in outside), None)
    along = None if helper is None else outside.index(helper)
    solve = Solve(tuple(unknowns), positive, starts, tuple(outside), residual, linear, along, methods.pop(), way)
    # quantities inside the cycle are recomputed at the solution, for whoever else uses them
    node = _Node(tuple(unknowns), set(outside) | {s for b in starts for s in b}, solve=solve)
    node.equation = tuple(inner.items())
    return node


def _residual(stated: Mapping[Any, Any], unknowns: Sequence[Any], owner: str, has_slopes: bool) -> Statement:
    """Right-hand sides of the unknowns, and their Jacobian row by row where a method needs it."""
    inner = {s: e for s, e in stated.items() if s not in unknowns}
    sides = {f"f{i}": stated[s] for i, s in enumerate(unknowns)}
    places = range(len(unknowns)) if has_slopes else ()
    jacobian = {f"j{i}_{k}": Total(sides[f"f{i}"], x) for i in places for k, x in enumerate(unknowns)}
    return make_statement(f"{owner}:group", (), {**inner, **sides, **jacobian})


def _schedule(nodes: dict[Any, _Node], inputs: Sequence[Any]) -> tuple[Step, ...]:
    """Stage the nodes: elementary equations as one block, then all operators that are ready, then groups."""
    nodes = dict(nodes)
    for node in list(nodes.values()):
        if node.solve is not None and node.equation:
            for symbol, equation in node.equation:
                _split(symbol, equation, nodes)
    maker = {symbol: node for node in nodes.values() for symbol in node.makes}
    stages: dict[int, int] = {}

    def is_pure(node: _Node) -> bool:
        return node.operator is None and node.solve is None

    order = list(nx.lexicographical_topological_sort(_node_graph(nodes, maker), key=lambda k: k))
    listed = list(nodes.values())
    for position in order:
        node = listed[position]
        stage = 0
        for symbol in node.needs:
            if symbol in maker:
                before = maker[symbol]
                stage = max(stage, stages[id(before)] + (0 if is_pure(before) else 1))
        stages[id(node)] = stage
    steps: list[Step] = []
    for stage in range(max(stages.values(), default=-1) + 1):
        here = [listed[p] for p in order if stages[id(listed[p])] == stage]
        pure = tuple((n.makes[0], n.equation) for n in here if is_pure(n))
        if pure:
            steps.append(Evaluate(pure))
        bundles: dict[Hashable, list[_Node]] = {}
        for node in here:
            if node.operator is not None:
                bundles.setdefault(as_operator(node.operator).bundle_key(), []).append(node)
        for bundle in bundles.values():
            parameters = tuple(sorted(set().union(*(n.operator.free_symbols for n in bundle)), key=_name))
            steps.append(Operate(tuple(n.operator for n in bundle), tuple(n.makes for n in bundle), parameters))
        steps.extend(n.solve for n in here if n.solve is not None)
    return tuple(steps)


def _node_graph(nodes: dict[Any, _Node], maker: Mapping[Any, _Node]) -> Any:
    position = {id(node): i for i, node in enumerate(nodes.values())}
    graph = nx.DiGraph()
    graph.add_nodes_from(position.values())
    for node in nodes.values():
        for symbol in node.needs:
            if symbol in maker and maker[symbol] is not node:
                graph.add_edge(position[id(maker[symbol])], position[id(node)])
    return graph


__all__ = ["Evaluate", "Operate", "Plan", "Solve", "is_operator", "make_plan"]
