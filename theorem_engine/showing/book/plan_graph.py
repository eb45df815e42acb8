"""The evaluation plan of an entry as a graph: quantities in the order they are made, or steps where these are many."""

from __future__ import annotations

from collections import Counter
from typing import Any

import sympy

from theorem_engine.asking.explanation import Explanation, explain
from theorem_engine.base.errors import TheoremEngineError
from theorem_engine.language.entry import Entry
from theorem_engine.planning.plan import Solve
from theorem_engine.showing.book.frame import entry_place, root_of
from theorem_engine.showing.book.svg_graph import Node, graph_svg
from theorem_engine.showing.formula.lines import plain
from theorem_engine.showing.formula.names import read_name

#: More quantities than this are drawn application by application.
MOST = 26
#: In such a drawing more members of one role than this are one box.
CROWD = 9
_MANY = {"given": "letters", "unknown": "unknowns", "output": "more outputs", "quantity": "quantities between"}
_ROLES = {"given": "given", "unknown": "solved for, with others", "output": "an output", "quantity": "a quantity"}


def plan_html(entry: Entry) -> str:
    """The graph with a sentence above it."""
    try:
        found = explain(entry.id)
    except TheoremEngineError as error:
        return f"<p>The plan is made for each query: {error}</p>"
    many = len(found.quantities) > MOST
    nodes, edges = _condensed(found) if many else _whole(found)
    groups = sum(isinstance(step, Solve) for step in found.plan.steps)
    steps = len(found.plan.steps)
    solved = "" if not groups else f", {groups} of them a group of equations solved together"
    drawn = " Quantities of one application of another entry are drawn as one box." if many else ""
    count = len(found.quantities)
    words = (
        f"{count} {'quantity' if count == 1 else 'quantities'} in {steps} {'step' if steps == 1 else 'steps'}{solved}."
    )
    graph = graph_svg(nodes, edges, f"Evaluation plan of {entry.id}")
    return f"<p>{words}{drawn} What stands higher is computed first.</p>{graph}"


def label_of(symbol: Any, name: str) -> str:
    """A quantity as mathematics; outputs and values of operators by their names."""
    if name.partition("@")[0] != symbol.name or symbol.name.startswith(("output:", "d(")):
        return name.removeprefix("output:")
    mark = name[len(symbol.name) :]
    return plain(read_name(sympy.latex(symbol))) + mark


def _whole(found: Explanation) -> tuple[list[Node], list[tuple[str, str]]]:
    symbols = {name: symbol for symbol, name in found.names.items()}
    nodes = [
        Node(
            q.name, label_of(symbols[q.name], q.name), q.role, _link(found, q.entry), f"{_ROLES[q.role]}, of {q.entry}"
        )
        for q in found.quantities
    ]
    return nodes, [(need, q.name) for q in found.quantities for need in q.needs]


def _condensed(found: Explanation) -> tuple[list[Node], list[tuple[str, str]]]:
    """Applications as one box each, and so what lies between; roles with many members as one box too."""
    symbols = {name: symbol for symbol, name in found.names.items()}
    roles = Counter(q.role for q in found.quantities if not q.application)
    main = next((q.name for q in found.quantities if q.role == "output" and not q.application), "")
    box: dict[str, str] = {}
    members: dict[str, list[Any]] = {}
    for q in found.quantities:
        together = q.role == "quantity" or (roles[q.role] > CROWD and q.name != main)
        box[q.name] = q.application or (f"({q.role})" if together else q.name)
        members.setdefault(box[q.name], []).append(q)
    nodes = []
    for name, inside in members.items():
        first = inside[0]
        if name.startswith("("):
            shown = ", ".join(label_of(symbols[q.name], q.name) for q in inside)
            nodes.append(Node(name, f"{len(inside)} {_MANY[first.role]}", first.role, "", shown))
        elif name.startswith("@") and first.application == name:
            target = first.entry
            label = f"{target.partition('.')[2]} {name}, {len(inside)} quantities"
            hint = f"{len(inside)} quantities of {target}"
            nodes.append(Node(name, label, "applied", _link(found, target), hint))
        else:
            label = label_of(symbols[first.name], first.name)
            nodes.append(Node(name, label, first.role, "", f"{_ROLES[first.role]}, of {first.entry}"))
    edges = [(box[need], box[q.name]) for q in found.quantities for need in q.needs if box[need] != box[q.name]]
    return nodes, list(dict.fromkeys(edges))


def _link(found: Explanation, id: str) -> str:
    here = entry_place(found.entry.id)
    return "" if id == found.entry.id else root_of(here) + entry_place(id)
