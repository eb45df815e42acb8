"""Mutation: wrong versions of a theorem, made from its own equations, that a check must be able to refute.

A mutant differs from its entry in one place of one equation as its author wrote it: a sign, a factor two, a dropped
term or factor, two letters exchanged, a wrong exponent, or a whole-number letter off by one; inside operators and in
the arguments of functions too. Derivatives are worked out anew from what was changed. A mutant is an entry of its own
that the registry never hears of, and is evaluated like any other.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any

import sympy

from theorem_engine.asking.point import Point
from theorem_engine.backends import get_backend
from theorem_engine.checking.evidence import flat_outputs
from theorem_engine.checking.simulation import time_limit
from theorem_engine.checking.simulators import random_letters
from theorem_engine.language.application import at_arguments
from theorem_engine.language.conditions import Undecided
from theorem_engine.language.entry import Entry
from theorem_engine.language.operators.base import Operator
from theorem_engine.language.statement import Partial, Statement, Unknown, assemble
from theorem_engine.planning.plan import make_plan

KINDS = ("sign", "factor 2", "dropped term", "dropped factor", "swapped letters", "wrong exponent", "off by one")
#: Mutants of one kind from one equation, spread over all its places.
MOST = 6
#: Parts of operators that say how to compute, not what.
HINTS = frozenset(("breaks", "unit", "each", "known"))
#: Nodes of a place that are spelled out in its name.
SPELLED = 40
#: Seconds of the processor that a mutant may take at a point; one that takes longer has lost what its solver relies on.
PATIENCE = 10.0
#: Gap, relative to an output, up to which two evaluations in double precision may be the same number.
EQUAL = 1e-9


@dataclass(frozen=True)
class Change:
    """One changed place: what it is called, and the expression with it."""

    kind: str
    place: str
    make: Callable[[], Any]


@dataclass(frozen=True, eq=False)
class Wrong(Entry):
    """An entry that is wrong in one place."""

    change: tuple[str, str] = ("", "")
    #: What its function returns at the options it was made for.
    _changed: dict[Any, Mapping[Any, Any]] = field(default_factory=dict, repr=False)

    def returned(self, options: Mapping[str, Any]) -> Mapping[Any, Any]:
        """What the author's function returns, with the change if there is such a place at these options."""
        key = _key(options)
        if key not in self._changed:
            true = super().returned(options)
            found = (
                changed
                for name, changed in changed_returns(true, self.present(options), random_letters(self))
                if name == self.change
            )
            self._changed[key] = next(found, true)
        return self._changed[key]


@dataclass(frozen=True)
class Mutant:
    """A wrong entry at one choice of options."""

    entry: Entry
    kind: str
    place: str
    options: Mapping[str, Any] = field(default_factory=dict)
    #: What the author's function returned before the change.
    before: Mapping[Any, Any] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> tuple[str, str]:
        """What tells it from the other mutants of its entry."""
        return self.kind, self.place

    @property
    def statement(self) -> Statement:
        """Its equations; a wrong one may fail in any way."""
        return self.entry.statement(self.options)

    def evaluate(self, point: Point) -> dict[str, Any] | None:
        """Its outputs at a point, flat; None where it has no finite real value."""
        return self.evaluate_all([point])[0]

    def evaluate_all(self, points: Sequence[Point], seconds: float | None = PATIENCE) -> list[dict[str, Any] | None]:
        """The same at many points of one choice of options, planned and compiled once."""
        return [outputs for outputs, _ in self.evaluations(points, seconds)]

    def evaluations(
        self, points: Iterable[Point], seconds: float | None = PATIENCE
    ) -> Iterator[tuple[dict[str, Any] | None, bool]]:
        """The same point by point, as they are asked for, each with whether the time did not suffice."""
        runs: dict[int, Any] = {}
        for point in points:
            outputs, is_late, begin = None, False, time.process_time()
            try:
                with warnings.catch_warnings(), time_limit(seconds, of_cpu=True):
                    warnings.simplefilter("ignore")
                    statement = self.statement_at(point)
                    if id(statement) not in runs:
                        runs[id(statement)] = get_backend("float64").compile(_plan(statement))
                    outputs = _outputs(statement, runs[id(statement)], point)
            except TimeoutError:
                is_late = True
            except Exception:  # a wrong formula may fail in any way: then it refutes itself
                # what was stopped in the middle may have failed of that
                is_late = seconds is not None and time.process_time() - begin >= seconds
            yield outputs, is_late

    def statement_at(self, point: Point) -> Statement:
        """Its equations at a point, conditions that only the change has brought in decided by the point's values."""
        options = dict(self.options)
        while True:
            try:
                return self.entry.statement(options)
            except Undecided as need:
                values = dict(zip(self.entry.present(self.options), map(sympy.sympify, point.values), strict=True))
                options[need.name] = bool(at_arguments(need.relation, values))

    def redraw(self, point: Point) -> Callable[[str, Any], Mapping[str, Any]]:
        """Its scalar outputs for many values of one letter at once, as a function of the letter and the values."""
        import numpy as np

        backend = get_backend("float64")

        def evaluate(letter: str, values: Any) -> Mapping[str, Any]:
            statement = self.statement_at(point)
            given = [
                np.asarray(values, dtype=float) if x.name == letter else backend.number(v)
                for x, v in zip(statement.given, point.values, strict=True)
            ]
            with np.errstate(all="ignore"):
                found = dict(zip(statement.targets(), backend.compile(_plan(statement))(*given), strict=True))
            scalar = {n: shape for n, shape in statement.outputs.items() if isinstance(shape, sympy.Symbol)}
            return {name: found[symbol] for name, symbol in scalar.items()}

        return evaluate

    def digits(self, point: Point, digits: int, seconds: float) -> dict[Any, Any] | None:
        """Values of its targets at a point with so many digits; None where they cannot be had in the time."""
        import mpmath

        try:
            with warnings.catch_warnings(), time_limit(seconds, of_cpu=True):
                warnings.simplefilter("ignore")
                statement = self.statement_at(point)
                backend = get_backend("multiprecision")
                run = backend.compile(_plan(statement))
                with mpmath.workdps(digits + 15):
                    return dict(zip(statement.targets(), run(*[backend.number(v) for v in point.values]), strict=True))
        except Exception:  # not every operator has digits
            return None


def _plan(statement: Statement) -> Any:
    return make_plan(statement.given, statement.equations, statement.targets(), statement.owner)


def _outputs(statement: Statement, run: Any, point: Point) -> dict[str, Any] | None:
    import numpy as np

    backend = get_backend("float64")
    with np.errstate(all="ignore"):
        results = run(*[backend.number(v) for v in point.values])
    plain = {s: _number(v) for s, v in zip(statement.targets(), results, strict=True)}
    outputs = {name: assemble(shape, plain) for name, shape in statement.outputs.items()}
    flat = flat_outputs(outputs)
    return None if any(isinstance(v, float) and math.isnan(v) for v in flat.values()) else flat


def _number(value: Any) -> Any:
    item = value.item() if hasattr(value, "item") and value.size == 1 else value
    if isinstance(item, (bool, complex)) or (hasattr(item, "ndim") and item.ndim):
        return item
    return float(item)


def original(entry: Entry, options: Mapping[str, Any] | None = None) -> Mutant:
    """The entry itself in the place of a mutant, to be evaluated in the same way."""
    return Mutant(entry, "none", "nowhere", entry.default_options() if options is None else options)


def mutants(entry: Entry, options: Mapping[str, Any] | None = None) -> Iterator[Mutant]:
    """All mutants of an entry at a choice of options, in an order that does not change from run to run."""
    chosen = dict(entry.default_options() if options is None else options)
    true = entry.returned(chosen)
    for (kind, place), changed in changed_returns(true, entry.present(chosen), random_letters(entry)):
        wrong = wrong_entry(entry, kind, place)
        wrong._changed[_key(chosen)] = changed
        yield Mutant(wrong, kind, place, chosen, true)


def differs(true: Mapping[str, Any], wrong: Mapping[str, Any], reported: Mapping[str, float] | None = None) -> bool:
    """Whether some output is another number than predicted, or is off by more than would be ``reported``."""
    for name, needed in (dict.fromkeys(true, 0.0) if reported is None else reported).items():
        first, second = true.get(name), wrong.get(name)
        if isinstance(first, float) and isinstance(second, float):
            if first != second and not abs(second - first) <= max(needed, EQUAL * abs(first)):
                return True
        elif first != second:
            return True
    return False


def wrong_entry(entry: Entry, kind: str, place: str) -> Wrong:
    """The entry with the change of this name, at whatever options it has such a place."""
    parts = {f.name: getattr(entry, f.name) for f in fields(Entry) if not f.name.startswith("_")}
    return Wrong(**parts, change=(kind, place))


def changed_returns(
    true: Mapping[Any, Any], given: Sequence[Any], drawn: Sequence[str] = ()
) -> Iterator[tuple[tuple[str, str], Mapping[Any, Any]]]:
    """Names of changes, and what an author's function would have returned with each.

    Letters that have random numbers ``drawn`` are left as they are: another seed has the same law.
    """
    whole = [x for x in given if x.domain.is_whole and x.name not in drawn]
    numbers = [x for x in given if not x.domain.is_whole]
    for key, value in true.items():
        if isinstance(key, Partial):
            # a derivative that others use, compared with the value's own where it is stated
            continue
        for path, expression in _leaves(value):
            label = ".".join((str(key), *map(str, path)))
            seen: dict[tuple[str, str], int] = {}
            for change in _chosen(_changes(expression, whole, numbers)):
                name = (change.kind, f"{label}: {change.place}")
                seen[name] = seen.get(name, 0) + 1
                if seen[name] > 1:
                    name = (name[0], f"{name[1]} ({seen[name]})")
                changed = change.make()
                if changed != expression:
                    yield name, {**true, key: _put(value, path, changed)}


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Expressions in what an author returns for one key, with the way to each."""
    if isinstance(value, Unknown):
        yield path, sympy.sympify(value.equation, strict=True)
    elif isinstance(value, sympy.MatrixBase):
        yield from (((*path, i), part) for i, part in enumerate(value))
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from _leaves(part, (*path, key))
    elif isinstance(value, (list, tuple)):
        for i, part in enumerate(value):
            yield from _leaves(part, (*path, i))
    elif isinstance(value, sympy.Basic):
        yield path, value


def _put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """The same value with another expression at the end of a way."""
    if isinstance(value, Unknown):
        return replace(value, equation=new)
    if not path:
        return new
    first, *rest = path
    if isinstance(value, sympy.MatrixBase):
        parts = list(value)
        parts[first] = new
        return type(value)(*value.shape, parts)
    if isinstance(value, Mapping):
        return {**value, first: _put(value[first], tuple(rest), new)}
    return [_put(part, tuple(rest), new) if i == first else part for i, part in enumerate(value)]


def _chosen(changes: Iterator[Change]) -> Iterator[Change]:
    """At most so many changes of each kind, spread evenly over the places of an expression."""
    kinds: dict[str, list[Change]] = {kind: [] for kind in KINDS}
    for change in changes:
        kinds[change.kind].append(change)
    for found in kinds.values():
        count = min(MOST, len(found))
        yield from (found[i * len(found) // count] for i in range(count))


def _changes(expression: Any, whole: Sequence[Any], numbers: Sequence[Any]) -> Iterator[Change]:
    """Changed versions of one expression, with their kind and place."""

    def change(kind: str, place: str, node: Any, new: Any) -> Change:
        return Change(kind, place, lambda: expression.xreplace({node: new}))

    if isinstance(expression, sympy.Expr) and not expression.is_number:
        yield Change("sign", "the whole", lambda: -expression)
        yield Change("factor 2", "the whole", lambda: 2 * expression)
    for node in _nodes(expression):
        text = _short(node)
        if isinstance(node, sympy.Add):
            for term in node.args:
                rest, place = node.func(*(t for t in node.args if t is not term)), f"{_short(term)} of {text}"
                yield change("dropped term", place, node, rest)
                yield change("sign", place, node, rest - term)
                yield change("factor 2", place, node, rest + 2 * term)
        elif isinstance(node, sympy.Mul):
            for factor in node.args:
                if not factor.is_number:
                    rest = node.func(*(f for f in node.args if f is not factor))
                    yield change("dropped factor", f"{_short(factor)} of {text}", node, rest)
        elif isinstance(node, sympy.Pow) and node.exp.is_number and node.exp.is_real:
            yield change("wrong exponent", text, node, node.base ** (node.exp + 1))
            yield change("wrong exponent", text, node, node.base ** (2 * node.exp))
        elif isinstance(node, sympy.Function):
            for i, argument in enumerate(node.args):
                if isinstance(argument, sympy.Expr) and not argument.is_number:
                    place = f"argument {i + 1} of {text}"
                    yield change("sign", place, node, node.func(*node.args[:i], -argument, *node.args[i + 1 :]))
                    yield change("factor 2", place, node, node.func(*node.args[:i], 2 * argument, *node.args[i + 1 :]))
    free = [x for x in numbers if expression.has(x)]
    for i, first in enumerate(free):
        for second in free[i + 1 :]:
            swap = {first: second, second: first}
            yield Change("swapped letters", f"{first} and {second}", partial(expression.xreplace, swap))
    for letter in whole:
        if expression.has(letter):
            for shift in (1, -1):
                moved = {letter: letter + shift}
                yield Change("off by one", f"{letter} {shift:+d}", partial(expression.xreplace, moved))


def _nodes(expression: Any) -> Iterator[Any]:
    """Nodes from the outside in, each once; what an operator binds, and where it looks, are left alone."""
    seen = set()
    queue = [expression]
    while queue:
        node = queue.pop(0)
        if node in seen or not isinstance(node, sympy.Basic):
            continue
        seen.add(node)
        yield node
        queue.extend(_meant(node) if isinstance(node, Operator) else node.args)


def _meant(node: Operator) -> list[Any]:
    """Parts of an operator that are mathematics: not its bound letters, starts, ranges and places of kinks."""
    named: dict[int, str] = {}
    for kind in type(node).__mro__:
        for name, part in vars(kind).items():
            if hasattr(part, "place") and hasattr(part, "read"):
                named.setdefault(part.place, name)
    left_out = {*HINTS, *node.binds}
    searches = hasattr(node, "searched") or "objective" in named.values()
    return [
        arg
        for place, arg in enumerate(node.args)
        if (place in named or not searches) and named.get(place, "") not in left_out
    ]


def _short(node: Any) -> str:
    count = 0
    for count, _ in enumerate(sympy.preorder_traversal(node)):
        if count > SPELLED:
            return f"{type(node).__name__} of {len(node.args)} parts"
    text = str(node)
    return text if len(text) <= 40 else text[:37] + "..."


def _key(options: Mapping[str, Any]) -> Any:
    return tuple(sorted(options.items(), key=lambda item: item[0]))
