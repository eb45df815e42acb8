"""Mutation: wrong versions of a theorem, made from its own equations, that a check must be able to refute.

A mutant differs from its entry in one place of one equation: a sign, a factor two, a dropped term, two letters
exchanged, a wrong exponent, or a whole-number letter off by one. It is evaluated like the entry, in a plan of
its own; the registry never hears of it.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sympy

from theorem_engine.asking.point import Point, read_point
from theorem_engine.backends import get_backend
from theorem_engine.checking.comparison import DISAGREES, judge
from theorem_engine.checking.evidence import RELEVANT, Effort, Evidence, flat_outputs
from theorem_engine.checking.outcome import outcomes, overall
from theorem_engine.checking.simulation import gather
from theorem_engine.language.application import Applied
from theorem_engine.language.entry import Entry
from theorem_engine.language.operators.base import is_operator
from theorem_engine.language.statement import Statement, Unknown, assemble, strip
from theorem_engine.planning.plan import make_plan

KINDS = ("sign", "factor 2", "dropped term", "swapped letters", "wrong exponent", "off by one")
#: Mutants of one kind from one equation.
MOST = 6


@dataclass(frozen=True)
class Mutant:
    """A statement that is wrong in one place."""

    entry: Entry
    kind: str
    place: str
    statement: Statement

    def evaluate(self, point: Point) -> dict[str, Any] | None:
        """Its outputs at a point, flat; None where it has no finite real value."""
        return self.evaluate_all([point])[0]

    def evaluate_all(self, points: Sequence[Point]) -> list[dict[str, Any] | None]:
        """The same at many points of one choice of options, planned and compiled once."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                plan = make_plan(
                    self.statement.given, self.statement.equations, self.statement.targets(), self.entry.id
                )
                run = get_backend("float64").compile(plan)
        except Exception:  # a wrong formula may fail in any way: then it refutes itself
            return [None] * len(points)
        return [self._outputs(run, point) for point in points]

    def _outputs(self, run: Any, point: Point) -> dict[str, Any] | None:
        import numpy as np

        backend = get_backend("float64")
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                results = run(*[backend.number(v) for v in point.values])
            plain = {s: _number(v) for s, v in zip(self.statement.targets(), results, strict=True)}
            outputs = {name: assemble(shape, plain) for name, shape in self.statement.outputs.items()}
            flat = flat_outputs(outputs)
        except Exception:  # a wrong formula may fail in any way: then it refutes itself
            return None
        return None if any(isinstance(v, float) and math.isnan(v) for v in flat.values()) else flat


def _number(value: Any) -> Any:
    item = value.item() if hasattr(value, "item") and value.size == 1 else value
    if isinstance(item, (bool, complex)) or (hasattr(item, "ndim") and item.ndim):
        return item
    return float(item)


def mutants(entry: Entry, options: Mapping[str, Any] | None = None) -> Iterator[Mutant]:
    """All mutants of an entry's statement, in an order that does not change from run to run."""
    statement = entry.statement(options)
    whole = [x for x in statement.given if x.domain.is_whole]
    numbers = [x for x in statement.given if x not in whole]
    for symbol, equation in statement.equations.items():
        expression = strip(equation)
        if not isinstance(expression, sympy.Basic):
            continue
        counts = dict.fromkeys(KINDS, 0)
        for kind, place, changed in _changes(expression, whole, numbers):
            if counts[kind] >= MOST or changed == expression:
                continue
            counts[kind] += 1
            new = replace(equation, equation=changed) if isinstance(equation, Unknown) else changed
            wrong = replace(statement, equations={**statement.equations, symbol: new})
            yield Mutant(entry, kind, f"{symbol}: {place}", wrong)


def _changes(expression: Any, whole: Sequence[Any], numbers: Sequence[Any]) -> Iterator[tuple[str, str, Any]]:
    """Changed versions of one expression, with their kind and place."""
    if isinstance(expression, sympy.Expr) and not expression.is_number:
        yield "sign", "the whole", -expression
        yield "factor 2", "the whole", 2 * expression
    for node in _nodes(expression):
        text = _short(node)
        if isinstance(node, sympy.Add):
            for term in sympy.Add.make_args(node):
                rest = sympy.Add(*(t for t in node.args if t != term))
                yield "dropped term", f"{_short(term)} of {text}", _with(expression, node, rest)
                yield "sign", f"{_short(term)} of {text}", _with(expression, node, rest - term)
                yield "factor 2", f"{_short(term)} of {text}", _with(expression, node, rest + 2 * term)
        elif isinstance(node, sympy.Pow) and node.exp.is_number and node.exp.is_real:
            yield "wrong exponent", text, _with(expression, node, node.base ** (node.exp + 1))
            yield "wrong exponent", text, _with(expression, node, node.base ** (2 * node.exp))
    free = [x for x in numbers if expression.has(x)]
    for i, first in enumerate(free):
        for second in free[i + 1 :]:
            swap = {first: second, second: first}
            yield "swapped letters", f"{first} and {second}", expression.xreplace(swap)
    for letter in whole:
        if expression.has(letter):
            for shift in (1, -1):
                yield "off by one", f"{letter} {shift:+d}", expression.xreplace({letter: letter + shift})


def _nodes(expression: Any) -> Iterator[Any]:
    """Nodes from the outside in, each once; what an operator binds and how an entry is applied are left alone."""
    seen = set()
    queue = [expression]
    while queue:
        node = queue.pop(0)
        if node in seen or not isinstance(node, sympy.Basic):
            continue
        seen.add(node)
        yield node
        if not is_operator(node) and not isinstance(node, Applied):
            queue.extend(node.args)


def _with(expression: Any, node: Any, new: Any) -> Any:
    return expression.xreplace({node: new})


def _short(node: Any) -> str:
    text = str(node)
    return text if len(text) <= 40 else text[:37] + "..."


@dataclass(frozen=True)
class Power:
    """How many mutants a check refuted, of those that change a compared output by more than a percent."""

    entry: str
    relevant: int
    refuted: int
    missed: tuple[str, ...]
    #: Mutants that have no finite value at the point, and those that change nothing that is compared.
    invalid: int
    harmless: int
    original: str


def measure_power(entry: Entry, parameters: Mapping[str, Any], effort: Effort, false_alarm: float) -> Power:
    """Check an entry and all its mutants at a point against the same evidence.

    The simulators never see a formula, so what they say is the same for the entry and for its mutants.
    """
    from theorem_engine.asking.evaluation import named_point
    from theorem_engine.asking.prediction import predict

    point = read_point(entry, parameters)
    options = dict(point.options)
    true = flat_outputs(predict(entry.id, **parameters).outputs)
    evidence = gather(entry, named_point(entry, point), true, effort)
    rows = [row for row in evidence.rows if row.predicted is None]
    refuted, missed, invalid, harmless = 0, [], 0, 0
    for mutant in mutants(entry, options):
        wrong = mutant.evaluate(point)
        if wrong is None or not all(row.output in wrong for row in rows):
            invalid += 1
        elif not any(_differs(true[row.output], wrong[row.output]) for row in rows):
            harmless += 1
        elif _verdict(Evidence(rows), wrong, false_alarm) == DISAGREES:
            refuted += 1
        else:
            missed.append(f"{mutant.kind}, {mutant.place}")
    original = _verdict(evidence, true, false_alarm)
    return Power(entry.id, refuted + len(missed), refuted, tuple(missed), invalid, harmless, original)


def _verdict(evidence: Evidence, predicted: Mapping[str, Any], false_alarm: float) -> str:
    found = outcomes(judge(evidence.rows, predicted, false_alarm), list(predicted))
    return overall(found, evidence.problems)[0]


def _differs(true: Any, wrong: Any) -> bool:
    if isinstance(true, float) and isinstance(wrong, float):
        if math.isinf(true) or math.isinf(wrong):
            return true != wrong
        return abs(wrong - true) > RELEVANT * abs(true)
    return bool(true != wrong)
