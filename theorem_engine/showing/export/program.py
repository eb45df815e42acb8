"""A plan as a small program: lines, sums over tables, groups to be solved, conditions to be met.

The program knows no language; ``python_code`` and ``c_code`` write it down.
"""

from __future__ import annotations

import itertools
import keyword
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import sympy

from theorem_engine.base.errors import NotAvailable
from theorem_engine.language.application import Applied
from theorem_engine.language.catalogue import find_entry
from theorem_engine.language.conditions import open_relations, with_outcomes
from theorem_engine.language.lengths import Distribution
from theorem_engine.language.operators.at_evaluation import AtEvaluation
from theorem_engine.language.operators.base import as_operator
from theorem_engine.language.operators.optimum import Root
from theorem_engine.language.operators.token_mean import LengthMean
from theorem_engine.planning.plan import Evaluate, Operate, Plan, make_plan
from theorem_engine.planning.plan import Solve as PlannedSolve
from theorem_engine.showing.export.rules import as_sums, without_special
from theorem_engine.showing.export.tables import NodeSum

#: Names that mean something in Python or C, or in the code around.
_TAKEN = {
    *keyword.kwlist, "auto", "break", "case", "char", "const", "default", "do", "double", "enum", "extern", "float",
    "goto", "inline", "int", "long", "main", "register", "restrict", "short", "signed", "sizeof", "static", "struct",
    "switch", "typedef", "union", "unsigned", "void", "volatile", "numpy", "math", "exp", "log", "sqrt", "pow", "sin",
    "cos", "tan", "atan", "abs", "erf", "erfc", "sign", "nan", "inf", "pi", "where", "gamma_", "out", "result", "y0",
    "y1", "yn", "j0", "j1", "jn", "isnan", "isfinite", "fmax", "fmin", "fabs", "select",
}  # fmt: skip


@dataclass(frozen=True)
class Line:
    """``symbol = expression``, elementary."""

    symbol: Any
    expression: Any


@dataclass(frozen=True)
class Sum:
    """Results of a function of a node, weighted and summed over a table."""

    results: tuple[Any, ...]
    kind: str
    function: Function
    arguments: tuple[Any, ...]


@dataclass(frozen=True)
class Solve:
    """Unknowns that equal the right-hand sides which a function gives, followed by their Jacobian."""

    unknowns: tuple[Any, ...]
    positive: tuple[bool, ...]
    #: Starting values of every branch.
    starts: tuple[tuple[Any, ...], ...]
    function: Function
    arguments: tuple[Any, ...]
    is_linear: bool
    #: Place among the arguments of one that eases the equations as it grows.
    along: int | None


@dataclass(frozen=True)
class Find:
    """An unknown between two ends at which the first result of a function of it, and of the arguments, is zero."""

    result: Any
    ends: tuple[Any, Any]
    takes_last: bool
    function: Function
    arguments: tuple[Any, ...]


@dataclass(frozen=True)
class Guard:
    """A condition under which the program is another one: a function of the same inputs, if there is one."""

    relation: Any
    otherwise: Function | None = None


Step = Line | Sum | Solve | Find | Guard


@dataclass
class Function:
    """Inputs, steps in order, results."""

    name: str
    inputs: tuple[Any, ...]
    steps: list[Step]
    results: tuple[Any, ...]

    @property
    def is_plain(self) -> bool:
        """Whether it has lines only, so that it takes arrays of nodes."""
        return all(isinstance(step, Line) for step in self.steps)


class Names:
    """Identifiers for symbols, the same for the same symbol, readable and free of clashes."""

    def __init__(self) -> None:
        self._known: dict[Any, Any] = {}
        self._taken: set[str] = set(_TAKEN)

    def of(self, symbol: Any) -> Any:
        """A plain symbol whose name is an identifier."""
        if symbol not in self._known:
            name = self.fresh(re.sub(r"\W+", "_", symbol.name, flags=re.ASCII).strip("_") or "v")
            self._known[symbol] = sympy.Symbol(name, **symbol.assumptions0)
        return self._known[symbol]

    def fresh(self, wish: str) -> str:
        """An identifier like the one wished for."""
        base = wish if wish[0].isalpha() else f"v_{wish}"
        candidates = itertools.chain([base], (f"{base}_{n}" for n in itertools.count(2)))
        name = next(c for c in candidates if c not in self._taken)
        self._taken.add(name)
        return name

    def plain(self, expression: Any) -> Any:
        """The expression in plain symbols."""
        return expression.xreplace({s: self.of(s) for s in expression.free_symbols})


@dataclass
class Program:
    """The main function, and those it calls, innermost first."""

    main: Function
    functions: list[Function]
    kinds: list[str]
    #: Quantities of the main function that are complex numbers: letters, and what hangs on them.
    complex_ones: frozenset[Any] = frozenset()


class Builder:
    """Turns a plan into a program."""

    def __init__(self, names: Names, fixed: Mapping[Any, Any]) -> None:
        self.names = names
        self.fixed = fixed
        self.functions: list[Function] = []
        self.kinds: dict[str, None] = {}
        self.temporaries = (sympy.Symbol(self.names.fresh(f"t{i}")) for i in itertools.count())

    def function(self, name: str, plan: Plan, first: Sequence[Step] = ()) -> Function:
        """The function of a plan, pruned to what its targets need."""
        names = self.names
        results = tuple(names.of(s) for s in plan.targets)
        steps = _without_aliases([*first, *self._steps(plan)], results)
        inputs = tuple(names.of(s) for s in plan.inputs)
        return Function(self.names.fresh(name), inputs, self._shared(_needed(steps, results)), results)

    def _steps(self, plan: Plan) -> Iterator[Step]:
        for step in plan.steps:
            if isinstance(step, Evaluate):
                for symbol, expression in step.equations:
                    yield from self._line(symbol, expression)
            elif isinstance(step, Operate):
                yield from self._operate(step)
            else:
                yield self._solve(step)

    def _line(self, symbol: Any, expression: Any) -> Iterator[Step]:
        written = without_special(expression)
        if written == expression:
            yield Line(self.names.of(symbol), self.names.plain(expression))
        else:
            yield from self._inlined({symbol: written})

    def _inlined(self, equations: Mapping[Any, Any]) -> Iterator[Step]:
        """Steps of equations that hold operators or applications."""
        inputs = sorted({s for e in equations.values() for s in e.free_symbols} - set(equations), key=str)
        yield from self._steps(make_plan(inputs, equations, list(equations)))

    def _operate(self, step: Operate) -> Iterator[Step]:
        first = step.operators[0]
        if isinstance(first, NodeSum):
            yield self._sum(step)
            return
        if isinstance(first, Root):
            for operator, results in zip(step.operators, step.results, strict=True):
                yield from self._find(operator, results[0])
            return
        equations = {}
        for operator, results in zip(step.operators, step.results, strict=True):
            if as_operator(operator).components() != 1:
                raise NotAvailable(f"{type(operator).__name__} has no form in stand-alone code")
            if isinstance(operator, AtEvaluation):
                equations[results[0]], relations = _decided(operator)
                yield from (Guard(self.names.plain(relation)) for relation in relations)
            else:
                equations[results[0]] = self._as_expression(operator)
        # together, so that sums over one table share their loop
        yield from self._inlined(equations)

    def _as_expression(self, operator: Any) -> Any:
        if isinstance(operator, LengthMean):
            length = self.fixed.get(operator.length)
            if isinstance(length, Distribution) and length.single() is None:
                terms = [(sympy.Rational(str(w)), {operator.letter: sympy.Integer(n)}) for n, w in length.weights]
                return sympy.Add(*(weight * operator.body.xreplace(at) for weight, at in terms))
            return operator.body.xreplace({operator.letter: operator.length})
        return as_sums(operator)

    def _sum(self, step: Operate) -> Sum:
        kind = step.operators[0].kind
        self.kinds.setdefault(kind)
        targets = [sympy.Dummy(f"part{i}") for i in range(len(step.operators))]
        bodies = dict(zip(targets, (op.body for op in step.operators), strict=True))
        plan = make_plan([step.operators[0].node, *step.parameters], bodies, targets)
        function = self.function(f"at_{kind}_node", plan)
        self.functions.append(function)
        results = tuple(self.names.of(r[0]) for r in step.results)
        return Sum(results, kind, function, tuple(self.names.of(s) for s in step.parameters))

    def _find(self, root: Root, result: Any) -> Iterator[Step]:
        ends = {sympy.Dummy("low"): root.args[2], sympy.Dummy("high"): root.args[3]}
        yield from self._inlined(ends)
        given = sorted(root.body.free_symbols - {root.letter}, key=str)
        plan = make_plan([root.letter, *given], {(rest := sympy.Dummy("rest")): root.body}, [rest])
        function = self.function("zero_of", plan)
        self.functions.append(function)
        low, high = map(self.names.of, ends)
        yield Find(self.names.of(result), (low, high), root.takes_last, function, tuple(map(self.names.of, given)))

    def _solve(self, step: PlannedSolve) -> Solve:
        # an operator without a form is what stands in the way, whatever the method
        function = self.function("group", step.residual)
        if step.method != "newton":
            raise NotAvailable(f"a group solved by the method {step.method!r} has no form in stand-alone code")
        self.functions.append(function)
        return Solve(
            tuple(map(self.names.of, step.unknowns)), step.positive,
            tuple(tuple(map(self.names.of, branch)) for branch in step.starts), function,
            tuple(map(self.names.of, step.parameters)), step.is_linear, step.along,
        )  # fmt: skip

    def _shared(self, steps: Sequence[Step]) -> list[Step]:
        """Common parts of neighbouring lines worked out once."""
        found: list[Step] = []
        for is_line, block in itertools.groupby(steps, key=lambda step: isinstance(step, Line)):
            lines = list(block)
            found.extend(self._eliminated([x for x in lines if isinstance(x, Line)]) if is_line else lines)
        return found

    def _eliminated(self, lines: Sequence[Line]) -> Iterator[Line]:
        shared, reduced = sympy.cse([line.expression for line in lines], symbols=self.temporaries, order="none")
        definitions = dict([*shared, *((line.symbol, e) for line, e in zip(lines, reduced, strict=True))])
        placed: set[Any] = set()
        for target in (line.symbol for line in lines):
            stack = [target]
            while stack:
                top = stack[-1]
                waiting = [s for s in definitions[top].free_symbols if s in definitions and s not in placed]
                if waiting:
                    stack.extend(sorted(waiting, key=lambda s: str(s.name)))
                else:
                    stack.pop()
                    if top not in placed:
                        placed.add(top)
                        yield Line(top, definitions[top])


def _decided(operator: Any) -> tuple[Any, list[Any]]:
    """Conditions on quantities: the ordinary outcome of each, and the conditions that must not be met for it."""
    body = operator.body.xreplace(dict(zip(operator.letters, operator.values, strict=True)))
    known: dict[Any, None] = {}
    while relations := open_relations([body]):
        harmless = _harmless(body)
        for relation in relations:
            if not isinstance(relation, sympy.Eq):
                raise NotAvailable(f"AtEvaluation with the condition {relation} has no form in stand-alone code")
            if relation not in harmless:
                known.setdefault(relation)
        body = with_outcomes(body, dict.fromkeys(relations, False))
    return body, list(known)


def _harmless(body: Any) -> set[Any]:
    """Conditions of applied entries that only leave out terms which vanish."""
    found = set()
    for node in sympy.preorder_traversal(body):
        if isinstance(node, Applied):
            entry = find_entry(node.entry_id)
            for name, relation in node.open_conditions().items():
                if drops_terms(entry, entry.condition(name)):
                    found.add(relation)
    return found


def drops_terms(entry: Any, relation: Any) -> bool:
    """Whether a condition says that a letter is zero which an entry on the way only leaves out where it vanishes."""
    if not isinstance(relation, sympy.Eq) or relation.rhs != 0:
        return False
    return all(s.name in _zeros(entry.id) for s in relation.lhs.free_symbols)


@cache
def _zeros(id: str) -> frozenset[str]:
    """Names of letters that this entry, or one that it applies, leaves out where they vanish."""
    found: set[str] = set()
    seen: set[str] = set()
    waiting = [id]
    while waiting:
        entry = find_entry(waiting.pop())
        if entry.id not in seen:
            seen.add(entry.id)
            found |= {x.name for x in entry.zeros}
            # entries may apply each other in a circle
            waiting.extend(entry.needs.values())
    return frozenset(found)


def _without_aliases(steps: Sequence[Step], results: Sequence[Any]) -> list[Step]:
    """Steps without lines that only give a letter another name."""
    same: dict[Any, Any] = {}
    kept: list[Step] = []

    def renamed(symbols: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(same.get(s, s) for s in symbols)

    for step in steps:
        if isinstance(step, Line):
            expression = step.expression.xreplace(same)
            if expression.is_Symbol and step.symbol not in results:
                same[step.symbol] = expression
            else:
                kept.append(Line(step.symbol, expression))
        elif isinstance(step, Guard):
            kept.append(replace(step, relation=step.relation.xreplace(same)))
        elif isinstance(step, Sum):
            kept.append(replace(step, arguments=renamed(step.arguments)))
        elif isinstance(step, Find):
            kept.append(replace(step, arguments=renamed(step.arguments), ends=renamed(step.ends)))
        else:
            starts = tuple(renamed(branch) for branch in step.starts)
            kept.append(replace(step, arguments=renamed(step.arguments), starts=starts))
    return kept


def _needed(steps: Sequence[Step], results: Sequence[Any]) -> list[Step]:
    """Steps that the results hang on."""
    wanted = set(results)
    kept: list[Step] = []
    for step in reversed(steps):
        if isinstance(step, Line):
            if step.symbol not in wanted:
                continue
            wanted |= step.expression.free_symbols
        elif isinstance(step, Guard):
            wanted |= step.relation.free_symbols
        elif isinstance(step, Sum):
            if not wanted & set(step.results):
                continue
            wanted |= set(step.arguments)
        elif isinstance(step, Find):
            if step.result not in wanted:
                continue
            wanted |= {*step.arguments, *step.ends}
        else:
            if not wanted & set(step.unknowns):
                continue
            wanted |= {*step.arguments, *(s for branch in step.starts for s in branch)}
        kept.append(step)
    return kept[::-1]


def complex_quantities(main: Function, letters: Collection[Any]) -> frozenset[Any]:
    """Complex letters of a function and all lines that hang on one; NotAvailable where it is more than lines."""
    found = set(letters)
    for step in main.steps:
        if isinstance(step, Guard) and step.otherwise is not None:
            found |= complex_quantities(step.otherwise, letters)
        elif isinstance(step, Line):
            if found & step.expression.free_symbols:
                found.add(step.symbol)
        elif found and not isinstance(step, Guard):
            names = ", ".join(sorted(x.name for x in letters))
            raise NotAvailable(f"{names} is complex, and sums and solvers of stand-alone code are not")
    return frozenset(found)


def called(main: Function, functions: Sequence[Function]) -> list[Function]:
    """Those functions that the main one reaches, in their order: what is left out in the end calls nothing."""
    reached: set[int] = set()
    waiting = [main]
    while waiting:
        for step in waiting.pop().steps:
            inner = step.otherwise if isinstance(step, Guard) else getattr(step, "function", None)
            if inner is not None and id(inner) not in reached:
                reached.add(id(inner))
                waiting.append(inner)
    return [f for f in functions if id(f) in reached]


def has_step(program: Program, kind: type) -> bool:
    """Whether any of the functions has a step of this kind."""
    return any(isinstance(step, kind) for step in parts_of(program))


def parts_of(program: Program) -> list[Step]:
    """The steps of all functions."""
    return [step for f in (*program.functions, program.main) for step in f.steps]


def used_functions(program: Program) -> set[str]:
    """Names of all functions in the lines of a program."""
    lines = [x for f in (*program.functions, program.main) for x in f.steps if isinstance(x, (Line, Guard))]
    expressions = [x.expression if isinstance(x, Line) else x.relation for x in lines]
    return {type(call).__name__ for e in expressions for call in e.atoms(sympy.Function)}


def chosen(printer: Any, expr: Any, otherwise: str, form: str) -> str:
    """A function by cases, printed by a form with the places condition, value and rest."""
    pairs = list(expr.args)
    closed = pairs[-1].cond == sympy.true
    text = str(printer._print(pairs[-1].expr)) if closed else otherwise
    for value, condition in reversed(pairs[:-1] if closed else pairs):
        text = form.format(condition=printer._print(condition), value=printer._print(value), rest=text)
    return text


def needed_helpers(
    program: Program, printer: Any, helpers: Collection[str], uses: Mapping[str, Sequence[str]], language: str
) -> list[str]:
    """Own functions that the lines of a program call, and those that these call, in the order of the helpers."""
    names = used_functions(program)
    for name in names:
        known = {*printer.known_functions, *helpers, *printer._rewriteable_functions}
        if name not in known and not hasattr(printer, f"_print_{name}"):
            raise NotAvailable(f"the function {name} has no form in stand-alone {language}")
    names |= {other for name in names for other in uses.get(name, ())}
    return [name for name in helpers if name in names]
