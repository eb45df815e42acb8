"""What a backend is: numbers of one kind, and how plans are run on them."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Container, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

import numpy as np
import sympy
from sympy.core.function import AppliedUndef

from theorem_engine.backends.running import Numeric as Numeric
from theorem_engine.backends.running import heard_apart, once, stepwise, straight
from theorem_engine.base.errors import DeclarationError, MissingDefinition, NotAvailable
from theorem_engine.language.application import Applied
from theorem_engine.language.functions import OpenFunction
from theorem_engine.language.operators.base import as_operator
from theorem_engine.planning.plan import Evaluate, Operate, Plan, Solve

#: How many operators stand around the one that is being lowered, itself included. No argument: lowerings call back into
#: the backend for their bodies, and only the outermost and the innermost of these calls care.
_depth: ContextVar[int] = ContextVar("depth", default=0)


def is_nested() -> bool:
    """Whether the operator being lowered stands inside another one, which will ask for it many times."""
    return _depth.get() > 1


class Backend(ABC):
    """A folder of ``backends``: elementary functions, one module per operator, a group solver."""

    name: str
    #: Whether a number comes out the same whenever it is computed; not so where the precision may have changed.
    keeps_constants = False

    @abstractmethod
    def elementary(
        self, inputs: Sequence[Any], equations: Sequence[tuple[Any, Any]], outputs: Sequence[Any]
    ) -> Numeric:
        """Compile elementary equations into a function of the inputs returning a tuple."""

    @abstractmethod
    def group(self, solve: Solve) -> Numeric:
        """Compile a self-consistent group into a function of (starts..., parameters...)."""

    @abstractmethod
    def number(self, value: Any) -> Any:
        """An exact value as a number of this backend."""

    def operate(self, step: Operate) -> Numeric:
        """Compile a bundle of operators: the module named by the operator does it."""
        first = step.operators[0]
        try:
            lowering = find_lowering(first, self.name)
        except NoLowering:
            wanted = "to any number of digits" if self.name == "multiprecision" else f"with the backend {self.name}"
            raise NotAvailable(f"{type(first).__name__} is not evaluated {wanted}; double precision has it") from None
        depth = _depth.set(_depth.get() + 1)
        try:
            lowered = lowering.lower(step.operators, step.parameters, self)
        finally:
            _depth.reset(depth)
        found = heard_apart(lowered)
        return once(found) if self.keeps_constants and is_constant(step) else found

    def function(
        self, inputs: Sequence[Any], expressions: Sequence[Any], definitions: Mapping[Any, Any] | None = None
    ) -> Numeric:
        """Compile expressions, operators and applied entries included, into a function returning a list.

        ``definitions`` gives letters of the expressions that are neither inputs nor bound. Where an applied entry has
        conditions on the inputs, each outcome that is met is compiled by itself.
        """
        from theorem_engine.language.conditions import open_relations
        from theorem_engine.planning.plan import make_plan

        relations = open_relations(expressions)
        if relations:
            return self._by_outcome(inputs, expressions, relations, definitions)
        targets = [sympy.Dummy(f"value{i}") for i in range(len(expressions))]
        wanted = dict(zip(targets, expressions, strict=True))
        return self.compile(make_plan(inputs, {**(definitions or {}), **wanted}, targets))

    def _by_outcome(
        self,
        inputs: Sequence[Any],
        expressions: Sequence[Any],
        relations: Sequence[Any],
        definitions: Mapping[Any, Any] | None,
    ) -> Numeric:
        """A function that looks at the conditions first; places of an array with one outcome go together."""
        from theorem_engine.language.conditions import with_outcomes

        decide = self.function(inputs, relations, definitions)

        @cache
        def variant(truth: tuple[bool, ...]) -> Numeric:
            outcomes = dict(zip(relations, truth, strict=True))
            return self.function(inputs, [with_outcomes(e, outcomes) for e in expressions], definitions)

        def run(*values: Any) -> list[Any]:
            truths = decide(*values)
            if all(np.ndim(t) == 0 for t in truths):
                return list(variant(tuple(self.is_met(t) for t in truths))(*values))
            shape = np.broadcast_shapes(*(np.shape(v) for v in values))
            table = np.stack([np.broadcast_to(t, shape).ravel() for t in truths])
            flat = [np.broadcast_to(v, shape).ravel() if np.ndim(v) else v for v in values]
            results = [np.empty(table.shape[1]) for _ in expressions]
            for truth in np.unique(table, axis=1).T:
                here = np.all(table == truth[:, None], axis=0)
                part = [v[here] if np.ndim(v) else v for v in flat]
                for result, found in zip(results, variant(tuple(bool(t) for t in truth))(*part), strict=True):
                    result[here] = found
            return [result.reshape(shape) for result in results]

        return self.at_each_outcome(run)

    def is_met(self, truth: Any) -> bool:
        """What a condition came to, as a truth value."""
        return bool(truth)

    def at_each_outcome(self, run: Numeric) -> Numeric:
        """What a function that looks at conditions first becomes where arrays cannot be taken apart."""
        return run

    def flattened(self, run: Numeric) -> Numeric:
        """A function of arrays of one axis on arrays of several: places that its arguments span come one by one."""

        def flat(*values: Any) -> list[Any]:
            shape = np.broadcast_shapes(*(np.shape(v) for v in values))
            if len(shape) < 2:
                return list(run(*values))
            results = run(*(np.broadcast_to(v, shape).ravel() if np.ndim(v) else v for v in values))
            return [np.reshape(r, (*shape, *np.shape(r)[1:])) if np.ndim(r) else r for r in results]

        return flat

    def compile(self, plan: Plan) -> Numeric:
        """Compile a plan into a function of its inputs that returns the values of its targets."""
        block = plan.steps[0] if len(plan.steps) == 1 else None
        if isinstance(block, Evaluate) and set(plan.targets) <= {s for s, _ in block.equations}:
            # one block of elementary equations needs no bookkeeping, which would cost more than the block
            direct = self.elementary(plan.inputs, block.equations, plan.targets)
            return straight(direct)
        place = {symbol: i for i, symbol in enumerate(plan.inputs)}
        steps: list[tuple[Numeric, tuple[int, ...], tuple[int, ...]]] = []

        def slots(symbols: Sequence[Any]) -> tuple[int, ...]:
            return tuple(place.setdefault(s, len(place)) for s in symbols)

        for number, step in enumerate(plan.steps):
            if isinstance(step, Evaluate):
                made = {s for s, _ in step.equations}
                wanted = used_later(plan, number) & made
                outputs = [s for s, _ in step.equations if s in wanted]
                inputs = sorted({s for _, e in step.equations for s in e.free_symbols} - made, key=lambda s: place[s])
                steps.append((self.elementary(inputs, step.equations, outputs), slots(inputs), slots(outputs)))
            elif isinstance(step, Operate):
                outputs = [s for result in step.results for s in result]
                steps.append((self.operate(step), slots(step.parameters), slots(outputs)))
            else:
                begin = [s for branch in step.starts for s in branch]
                steps.append((self.group(step), slots([*begin, *step.parameters]), slots(step.unknowns)))
        targets = slots(plan.targets)
        size, width = len(place), len(plan.inputs)

        return stepwise(steps, size, width, targets)


def is_constant(step: Operate) -> bool:
    """Whether operators depend on nothing: no letter, no random numbers, no other entry that may draw some."""
    return not step.parameters and not any(
        isinstance(node, Applied) or getattr(node, "is_random", False) is True
        for operator in step.operators
        for node in sympy.preorder_traversal(operator)
    )


class NoLowering(Exception):
    """No module evaluates an operator with a backend."""


def find_lowering(operator: Any, backend: str) -> Any:
    """The module that lowers an operator with a backend: the one its class names, else one of the backend's folder.

    A module that is there and fails to import says so itself.
    """
    facts = as_operator(operator)
    if backend in facts.lowerings:
        return importlib.import_module(facts.lowerings[backend])
    folder = f"theorem_engine.backends.{backend}"
    if not facts.lowering:
        raise NoLowering(f"{type(operator).__name__} names no lowering for {backend}")
    try:
        return importlib.import_module(f"{folder}.{facts.lowering}")
    except ModuleNotFoundError as error:
        if error.name != f"{folder}.{facts.lowering}":
            raise
        raise NoLowering(f"{folder} has no module {facts.lowering}") from None


def used_later(plan: Plan, number: int) -> set[Any]:
    """Letters that the steps after this one, or the targets, need."""
    used: set[Any] = set(plan.targets)
    for step in plan.steps[number + 1 :]:
        if isinstance(step, Evaluate):
            for _, expression in step.equations:
                used |= expression.free_symbols
        elif isinstance(step, Operate):
            used |= set(step.parameters)
        else:
            used |= set(step.parameters) | {s for branch in step.starts for s in branch}
    return used


@dataclass(frozen=True)
class Listing:
    """Elementary equations as straight-line code: inputs, lines that use only lines above them, results.

    Letters are renamed: two instances of one entry may use the same letter for different values.
    """

    inputs: list[Any]
    lines: list[tuple[Any, Any]]
    results: list[Any]
    #: What a backend has made of it, by the backend's name: listings are shared.
    made: dict[str, Numeric] = field(default_factory=dict, compare=False)

    def compiled(self, modules: list[Any], printer: Any = None) -> Numeric:
        """A Python function by one of SymPy's printers, our lines in place of its own elimination."""
        results = tuple(self.results)
        return sympy.lambdify(
            self.inputs, results, modules=modules, printer=printer, cse=lambda _: (self.lines, results),
            docstring_limit=0,
        )  # fmt: skip


def straight_line(inputs: Sequence[Any], equations: Sequence[tuple[Any, Any]], outputs: Sequence[Any]) -> Listing:
    """Order the equations after common-subexpression elimination, keeping only what the outputs need."""
    _refuse_bare_names(inputs, equations)
    plain = {
        symbol: sympy.Symbol(f"v{i}", **symbol.assumptions0)
        for i, symbol in enumerate([*inputs, *(s for s, _ in equations)])
    }
    return _straight_line(
        tuple(plain[s] for s in inputs),
        tuple((plain[s], e.xreplace(plain)) for s, e in equations),
        tuple(plain[s] for s in outputs),
    )


@lru_cache(maxsize=512)
def _straight_line(
    inputs: tuple[Any, ...], equations: tuple[tuple[Any, Any], ...], outputs: tuple[Any, ...]
) -> Listing:
    """The same once letters are renamed: a value, its slopes and its outcomes have many blocks in common."""
    shared, reduced = sympy.cse([e for _, e in equations], symbols=sympy.numbered_symbols("x"), order="none")
    definitions = dict([*shared, *zip((s for s, _ in equations), reduced, strict=True)])
    placed: dict[Any, Any] = {}
    for output in outputs:
        stack = [output]
        while stack:
            top = stack[-1]
            waiting = [s for s in definitions[top].free_symbols if s in definitions and s not in placed]
            if waiting:
                stack.extend(sorted(waiting, key=lambda s: s.name))
            else:
                placed.setdefault(top, definitions[top])
                stack.pop()
    return Listing(list(inputs), list(placed.items()), list(outputs))


def outside_meanings(lines: Sequence[tuple[Any, Any]], backend: str, known: Container[str]) -> dict[str, Any]:
    """Numeric functions that come from outside the engine, by the names they have in generated code."""
    found: dict[str, Any] = {}
    for kind in {type(call) for _, expression in lines for call in expression.atoms(OpenFunction)}:
        name = kind.__name__
        if name in known or name in found:
            raise DeclarationError(
                f"the function {name} of {kind.__module__} has the name of another; call it otherwise"
            )
        if kind.meaning(backend) is None:
            raise NotAvailable(f"the function {name} is not evaluated by the backend {backend}")
        found[name] = kind
    return {name: kind.meaning(backend) for name, kind in found.items()}


def _refuse_bare_names(inputs: Sequence[Any], equations: Sequence[tuple[Any, Any]]) -> None:
    """Generated code holds names of ours only: letters are renamed, functions are those the backends know."""
    known = {*inputs, *(symbol for symbol, _ in equations)}
    for _, expression in equations:
        for call in expression.atoms(AppliedUndef):
            raise NotAvailable(f"the function {str(call.func)[:40]!r} has no definition: nothing can evaluate it")
        for symbol in expression.free_symbols - known:
            raise MissingDefinition(f"the letter {str(symbol)[:40]!r} of an expression is neither given nor defined")


@cache
def get_backend(name: str) -> Backend:
    """The backend of that name; each is one folder beside this file."""
    backend: Backend = importlib.import_module(f"theorem_engine.backends.{name}").BACKEND
    return backend
