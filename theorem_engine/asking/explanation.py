"""Explanations: the graph of quantities a query walks, in order, with methods, errors and time."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

from theorem_engine.asking.evaluation import compiled, plan_of
from theorem_engine.asking.point import read_letter, read_point
from theorem_engine.asking.prediction import Prediction, check_digits, predict
from theorem_engine.asking.prediction_text import prediction_text
from theorem_engine.base.errors import ValidityWarning
from theorem_engine.base.reports import Note, listening
from theorem_engine.base.text import error_text, jsonable
from theorem_engine.language.catalogue import Named, find_entry
from theorem_engine.language.letters import ABSENT, CANONICAL
from theorem_engine.language.operators.base import Component
from theorem_engine.planning.plan import Evaluate, Operate, Plan, Solve, Step

if TYPE_CHECKING:
    from theorem_engine.language.entry import Entry

#: An equation longer than this is cut in the printed text; exports and plain data keep the whole.
_LONGEST = 100


@dataclass(frozen=True)
class Quantity:
    """One node of the graph: its name in this explanation, the entry it comes from, what it is made of."""

    name: str
    entry: str
    application: str
    role: str
    needs: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """How an entry is evaluated; with a point, also what the methods reported on the way.

    Letters of different applications of an entry share their names in the papers; here ``g@2`` is the
    letter g of application @2.
    """

    entry: Entry
    plan: Plan
    options: Mapping[str, Any]
    prediction: Prediction | None = None
    notes: tuple[Note, ...] = ()
    #: Seconds for planning (nothing if the plan was known already) and, with a point, for the query.
    seconds: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def applications(self) -> dict[str, str]:
        """Each application by its number, as the entry and its arguments."""
        return {f"@{scope.rpartition('#')[2]}": call for scope, call in self.plan.applications.items()}

    @cached_property
    def names(self) -> dict[Any, str]:
        """A name for every quantity, different for each, in order of evaluation."""
        names: dict[Any, str] = {}
        taken: set[str] = set()
        slots = _slot_names(self.plan)
        for symbol in self._symbols():
            name = slots.get(symbol, symbol.name) + self._application(symbol)
            # an output may bear the name of a letter of its own statement
            while name in taken:
                name += "'"
            taken.add(name)
            names[symbol] = name
        return names

    def _symbols(self) -> Iterator[Any]:
        """Given letters that are used, then everything in the order the steps make it."""
        seen: set[Any] = set()
        made = (symbol for step in self.plan.steps for symbol in _made(step))
        rest = sorted(self.plan.graph.nodes, key=lambda s: (s.name, getattr(s, "scope", "")))
        for symbol in (*(s for s in self.plan.inputs if s in self.plan.graph), *made, *rest):
            if symbol not in seen:
                seen.add(symbol)
                yield symbol

    @cached_property
    def quantities(self) -> list[Quantity]:
        """The nodes of the graph, in order of evaluation."""
        unknowns = {s for step in self.plan.steps if isinstance(step, Solve) for s in step.unknowns}
        place = {symbol: i for i, symbol in enumerate(self.names)}
        result = []
        for symbol, name in self.names.items():
            if symbol not in self.plan.graph:
                continue
            role = "given" if symbol in self.plan.inputs else "unknown" if symbol in unknowns else "quantity"
            if symbol in self.plan.targets:
                role = "output"
            needs = sorted(self.plan.graph.predecessors(symbol), key=place.__getitem__)
            origin = self.plan.origin.get(symbol, self.entry.id)
            result.append(Quantity(name, origin, self._application(symbol), role, tuple(self.names[s] for s in needs)))
        return result

    def _application(self, symbol: Any) -> str:
        scope = getattr(symbol, "scope", "")
        return f"@{scope.rpartition('#')[2]}" if scope in self.plan.applications else ""

    def groups(self) -> list[list[str]]:
        """Quantities that depend on each other and are solved for together."""
        return [[self.names[s] for s in step.unknowns] for step in self.plan.steps if isinstance(step, Solve)]

    def steps(self) -> list[dict[str, Any]]:
        """What is done, in order: each step says what it does and what it makes."""
        return [{"step": number, **self._step(step)} for number, step in enumerate(self.plan.steps, 1)]

    def _step(self, step: Step) -> dict[str, Any]:
        if isinstance(step, Evaluate):
            lines = {self.names[s]: self._written(e) for s, e in step.equations}
            return {"does": "evaluate", "makes": lines}
        if isinstance(step, Operate):
            kind = type(step.operators[0]).__name__
            lines = {}
            for operator, results in zip(step.operators, step.results, strict=True):
                lines[", ".join(self.names[s] for s in results)] = self._written(operator)
            return {"does": f"operate: {kind}", "makes": lines}
        how = "linear system" if step.is_linear else f"Newton, {len(step.starts)} starting point(s)"
        lines = {self.names[s]: self._written(e) for s, e in _right_sides(step).items()}
        return {"does": f"solve a group: {how}, Jacobian from SymPy", "makes": lines}

    def _written(self, expression: Any) -> str:
        """The expression in the names of this explanation."""
        import sympy

        swaps = {s: sympy.Symbol(self.names[s]) for s in expression.free_symbols if s in self.names}
        return str(expression.xreplace(swaps))

    def methods(self) -> list[dict[str, Any]]:
        """What the methods reported: how often each ran, its smallest and largest error, its last remark."""
        table: dict[str, dict[str, Any]] = {}
        for note in self.notes:
            row = table.setdefault(note.method, {"method": note.method, "runs": 0, "errors": [], "detail": ""})
            row["runs"] += 1
            row["errors"].extend(_numbers(note.error))
            row["detail"] = note.detail or row["detail"]
        for row in table.values():
            row["errors"] = [min(row["errors"]), max(row["errors"])] if row["errors"] else []
        return list(table.values())

    def __str__(self) -> str:
        origins = dict.fromkeys(q.entry for q in self.quantities)
        count = "1 entry" if len(origins) == 1 else f"{len(origins)} entries"
        lines = [f"{self.entry.id}: {len(self.quantities)} quantities of {count}"]
        if self.options:
            lines.append("options: " + ", ".join(f"{name}={value}" for name, value in self.options.items()))
        if self.applications:
            lines += ["applications of other entries", *(f"  {n} = {call}" for n, call in self.applications.items())]
        given = [q.name for q in self.quantities if q.role == "given"]
        lines += ["given", f"  {', '.join(given) or 'nothing'}"]
        for step in self.steps():
            lines.append(f"step {step['step']}: {step['does']}")
            lines += [f"  {name} = {_cut(text)}" for name, text in step["makes"].items()]
        if self.notes:
            lines.append("methods")
            lines += [f"  {_method_line(row)}" for row in self.methods()]
        lines += [f"{what}: {seconds * 1000:.3g} ms" for what, seconds in self.seconds.items()]
        if self.prediction is not None:
            lines.append(prediction_text(self.prediction))
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        source = f"<details><summary>Mermaid source of the graph</summary><pre>{escape(self.mermaid())}</pre></details>"
        return f"<div><pre>{escape(str(self))}</pre>{source}</div>"

    def to_json(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "entry": self.entry.id,
            "options": {name: str(value) for name, value in self.options.items()},
            "applications": self.applications,
            "quantities": [
                {"name": q.name, "entry": q.entry, "application": q.application, "role": q.role, "needs": list(q.needs)}
                for q in self.quantities
            ],
            "groups": self.groups(),
            "steps": self.steps(),
            "methods": [{**row, "errors": jsonable(row["errors"], None)} for row in self.methods()],
            "seconds": dict(self.seconds),
            "prediction": self.prediction.to_json() if self.prediction is not None else None,
        }

    def mermaid(self) -> str:
        """The graph in the language of Mermaid; one box per application."""
        shapes = {"given": '(["{}"])', "unknown": '{{{{"{}"}}}}', "output": '[["{}"]]', "quantity": '["{}"]'}
        lines = ["flowchart TD"]
        for number, (title, members) in enumerate(self._boxes()):
            lines.append(f'  subgraph box{number}["{_plain(title)}"]')
            lines += [f"    n{i}{shapes[q.role].format(_plain(q.name))}" for i, q in members]
            lines.append("  end")
        lines += [f"  n{a} --> n{b}" for a, b in self._edges()]
        return "\n".join(lines)

    def dot(self) -> str:
        """The graph in the language of Graphviz; one cluster per application."""
        shapes = {"given": "ellipse", "unknown": "hexagon", "output": "doubleoctagon", "quantity": "box"}
        lines = ["digraph quantities {", "  rankdir=TB;"]
        for number, (title, members) in enumerate(self._boxes()):
            lines += [f"  subgraph cluster_{number} {{", f"    label={_quoted(title)};"]
            lines += [f"    n{i} [label={_quoted(q.name)}, shape={shapes[q.role]}];" for i, q in members]
            lines.append("  }")
        lines += [f"  n{a} -> n{b};" for a, b in self._edges()]
        return "\n".join([*lines, "}"])

    def _boxes(self) -> Iterator[tuple[str, list[tuple[int, Quantity]]]]:
        """Titles and numbered members: what is given, the entry itself, then its applications."""
        titles = {"given": "given", "": self.entry.id, **{n: f"{n} = {call}" for n, call in self.applications.items()}}
        for key, title in titles.items():
            members = [
                (i, q)
                for i, q in enumerate(self.quantities)
                if key == ("given" if q.role == "given" else q.application)
            ]
            if members:
                yield title, members

    def _edges(self) -> Iterator[tuple[int, int]]:
        place = {q.name: i for i, q in enumerate(self.quantities)}
        yield from ((place[need], i) for i, q in enumerate(self.quantities) for need in q.needs)


def explain(id: Named, *, digits: int | None = None, **point: Any) -> Explanation:
    """The graph that a query walks; with a point it is walked, and the methods report.

    With an id alone, or an id and its options, the plan is explained without evaluating anything.

    >>> explain("marion2025.linear-risk").groups()
    []
    """
    entry = find_entry(id)
    by_name = {x.name: x for x in entry.options}
    begin = time.perf_counter()
    if digits is None and set(point) <= set(by_name):
        chosen = {name: read_letter(entry, by_name[name], value) for name, value in point.items()}
        options = entry.options_with(chosen)
        _, plan = plan_of(entry, tuple(sorted(options.items(), key=lambda item: item[0])))
        return Explanation(entry, plan, _visible(options), seconds={"planning": time.perf_counter() - begin})
    with warnings.catch_warnings():
        # the prediction below reads the point again, and warns
        warnings.simplefilter("ignore", ValidityWarning)
        key = read_point(entry, point).options
    check_digits(digits)
    _, plan = plan_of(entry, key)
    planned = time.perf_counter()
    compiled(entry, key, "float64" if digits is None else "multiprecision")
    ready = time.perf_counter()
    with listening() as notes:
        prediction = predict(id, digits=digits, **point)
    seconds = {"planning": planned - begin, "compiling": ready - planned, "evaluating": prediction.seconds}
    return Explanation(entry, plan, _visible(dict(key)), prediction, tuple(notes), seconds)


def _visible(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not ABSENT and name != CANONICAL}


def _made(step: Step) -> Iterable[Any]:
    """Symbols a step gives values to."""
    if isinstance(step, Evaluate):
        return [symbol for symbol, _ in step.equations]
    if isinstance(step, Operate):
        return [symbol for results in step.results for symbol in results]
    return step.unknowns


def _right_sides(step: Solve) -> dict[Any, Any]:
    """The self-consistent equations of a group, their operators put back in place."""
    inner: dict[Any, Any] = {}
    for part in step.residual.steps:
        if isinstance(part, Evaluate):
            inner.update({symbol: equation.xreplace(inner) for symbol, equation in part.equations})
        elif isinstance(part, Operate):
            for operator, results in zip(part.operators, part.results, strict=True):
                inner.update({symbol: Component(operator, i) for i, symbol in enumerate(results)})
    return {x: inner[side] for x, side in zip(step.unknowns, step.residual.targets, strict=False)}


def _slot_names(plan: Plan) -> dict[Any, str]:
    """Names of the values that operators yield: the kind of operator, counted, and the part if it has several."""
    names: dict[Any, str] = {}
    counts: Counter[str] = Counter()
    for step in plan.steps:
        for operator, results in zip(step.operators, step.results, strict=True) if isinstance(step, Operate) else ():
            kind = type(operator).__name__.lower()
            counts[kind] += 1
            parts = operator.component_names() if hasattr(operator, "component_names") else [""] * len(results)
            for symbol, part in zip(results, parts, strict=True):
                names[symbol] = f"{kind}{counts[kind]}{'.' + part if part else ''}"
    return names


def _numbers(error: Any) -> Iterator[Any]:
    """Every known number in a report, whatever its shape; NaN stands for unknown."""
    if isinstance(error, (list, tuple)):
        for part in error:
            yield from _numbers(part)
    elif hasattr(error, "tolist"):
        yield from _numbers(error.tolist())
    elif error is not None and error == error:
        yield abs(error)


def _method_line(row: Mapping[str, Any]) -> str:
    shown = dict.fromkeys(error_text(error) for error in row["errors"])
    runs = "once" if row["runs"] == 1 else f"{row['runs']} times"
    # a method that says nothing of its error is judged with the whole prediction
    error = f", error {' to '.join(shown)}" if shown else ""
    return f"{row['method']}: {runs}{error}{', ' + row['detail'] if row['detail'] else ''}"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 4] + " ..."


def _plain(text: str) -> str:
    """Text inside Mermaid's quotes, where signs are written as entities."""
    return text.replace("#", "#35;").replace('"', "#quot;").replace("<", "#lt;").replace(">", "#gt;")


def _quoted(text: str) -> str:
    """Text as a Graphviz string."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
