"""The step of a recurrence as a program: lines that stay, lines that move with the state, integrals between them.

What a step has of parameters and of the clock is steady: it is evaluated anew only where the clock has moved it. Calls
whose arguments are equal as products are one call, whatever names the equations have for their factors.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import sympy

from theorem_engine.backends.float64.scalar_code import Unsupported, renamed
from theorem_engine.planning.plan import Evaluate, Operate, make_plan

Line = tuple[Any, Any]


@dataclass
class Sums:
    """Integrals over one interval: a sum over nodes, of lines that hang on the node."""

    #: The node on [0, 1].
    node: Any
    width: Any
    #: Lines of the node and of steady numbers alone, as they stand and as far as they are kept in tables.
    tabled: list[Line] = field(default_factory=list)
    parts: list[Line] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    #: The letter of each sum and what is summed up.
    sums: list[Line] = field(default_factory=list)


@dataclass
class Program:
    """Lines in an order in which they can be evaluated."""

    #: What must be compared to know whether the clock has moved anything.
    clocked: list[Line] = field(default_factory=list)
    steady: list[Line] = field(default_factory=list)
    #: Stretches of lines that move with the state, an integral between each and the next.
    stretches: list[list[Line]] = field(default_factory=lambda: [[]])
    integrals: list[Sums] = field(default_factory=list)
    results: list[Any] = field(default_factory=list)


def program_of(inputs: list[Any], moving: set[Any], clock: Any, expressions: list[Any], prefix: str = "") -> Program:
    """The program of expressions of ``inputs``, of which those ``moving`` change with every step.

    The inputs are a0, a1, ... in it; all other letters begin with ``prefix``.
    """
    targets = [sympy.Dummy(f"result{i}") for i in range(len(expressions))]
    plan = make_plan(inputs, dict(zip(targets, expressions, strict=True)), targets)
    names = {symbol: sympy.Symbol(f"a{i}") for i, symbol in enumerate(inputs)}
    maker = _Maker({names[s] for s in inputs if s not in moving}, names[clock], prefix)
    known = dict(names)
    for number, step in enumerate(plan.steps):
        if isinstance(step, Evaluate):
            made = {s for s, _ in step.equations}
            used = {s for _, e in step.equations for s in e.free_symbols} - made
            sources = sorted(used, key=lambda s: known[s].name)
            for line in renamed(f"{prefix}b{number}_", sources, step.equations, [s for s, _ in step.equations], known):
                maker.add(*line)
        elif isinstance(step, Operate) and isinstance(step.operators[0], sympy.Integral):
            maker.integrate(f"{prefix}b{number}_", step, known)
        else:
            raise Unsupported(type(step).__name__)
    return maker.finish([known[t] for t in targets])


class _Maker:
    """Takes lines in their order, and keeps what it knows of each letter."""

    def __init__(self, steady: set[Any], clock: Any, prefix: str) -> None:
        self.steady, self.clock, self.prefix = steady, clock, prefix
        self.program = Program()
        #: Letters that are another letter or a number; letters that are products of others; calls and their letters.
        self.aliases: dict[Any, Any] = {}
        self.products: dict[Any, Any] = {}
        self.calls: dict[Any, Any] = {}
        self.kept: dict[Any, Any] = {}
        self.count = 0

    def letter(self, kind: str) -> Any:
        """A new one."""
        self.count += 1
        return sympy.Symbol(f"{self.prefix}{kind}{self.count}")

    def add(self, symbol: Any, expression: Any) -> None:
        """A line."""
        self._place(symbol, self._called(expression.xreplace(self.aliases)))

    def _place(self, symbol: Any, expression: Any) -> None:
        if expression.is_Symbol or expression.is_Number:
            self.aliases[symbol] = expression
            return
        if _is_product(expression):
            self.products[symbol] = expression.xreplace(self.products)
        if expression.free_symbols <= self.steady:
            self._keep(symbol, expression)
        else:
            self.program.stretches[-1].append((symbol, self._without_steady(expression)))

    def _keep(self, symbol: Any, expression: Any) -> None:
        self.steady.add(symbol)
        self.program.steady.append((symbol, self._without_clock(expression)))

    def _without_clock(self, expression: Any) -> Any:
        """The expression with a letter for each least part that holds the clock itself."""
        if self.clock not in expression.free_symbols or expression.is_Symbol:
            return expression
        if self.clock in expression.args:
            if expression not in self.kept:
                symbol = self.kept[expression] = self.letter("k")
                self.steady.add(symbol)
                self.program.clocked.append((symbol, expression))
            return self.kept[expression]
        return expression.func(*(self._without_clock(arg) for arg in expression.args))

    def _called(self, expression: Any, inner: frozenset[Any] = frozenset()) -> Any:
        """The expression with a letter for each call of a function; a call that is known is not made again."""
        if not expression.args:
            return expression
        parts = [self._called(arg, inner) for arg in expression.args]
        whole = expression.func(*parts)
        if not isinstance(whole, sympy.Function) or whole.free_symbols & inner:
            return whole
        call = whole.func(*(_as_product(arg, self.products) for arg in whole.args))
        if call not in self.calls:
            symbol = self.calls[call] = self.letter("f")
            self._place(symbol, call)
        return self.calls[call].xreplace(self.aliases)

    def _without_steady(self, expression: Any) -> Any:
        """The expression with a letter for each part that is steady."""
        return self._taken_out(expression, self.steady, self._steady_letter)

    def _steady_letter(self, part: Any) -> Any:
        if part not in self.kept:
            symbol = self.letter("h")
            self._keep(symbol, part)
            self.kept[part] = symbol
        return self.kept[part]

    def _taken_out(self, expression: Any, letters: set[Any], name: Any) -> Any:
        """The expression with the name of each largest part that is made of some letters alone."""
        if not expression.free_symbols or expression in self.steady:
            return expression
        if expression.free_symbols <= letters:
            return name(expression)
        if isinstance(expression, (sympy.Add, sympy.Mul)):
            inside = [a for a in expression.args if a.free_symbols <= letters]
            outside = [a for a in expression.args if not a.free_symbols <= letters]
            together = self._taken_out(expression.func(*inside), letters, name)
            return expression.func(together, *(self._taken_out(a, letters, name) for a in outside))
        if expression.is_Symbol:
            return expression
        return expression.func(*(self._taken_out(a, letters, name) for a in expression.args))

    def integrate(self, prefix: str, step: Operate, known: dict[Any, Any]) -> None:
        """Integrals over the same interval."""
        from theorem_engine.language.operators.base import outermost_operators

        variable, low, high = step.operators[0].limits[0]
        for operator in step.operators:
            parts = any(not isinstance(part, sympy.Basic) for part in operator.args)
            if parts or outermost_operators(operator.function):
                raise Unsupported("integral")
        ends = [sympy.Dummy("low"), sympy.Dummy("high")]
        between = list(zip(ends, (low, high), strict=True))
        for line in renamed(f"{prefix}e", list(step.parameters), between, ends, known):
            self.add(*line)
        low, high = (known[e].xreplace(self.aliases) for e in ends)
        found = Sums(sympy.Symbol(f"{prefix}node"), self._steady_or_line(high - low))
        values = [sympy.Dummy(f"value{i}") for i in range(len(step.operators))]
        inside = {**known, variable: sympy.Symbol(f"{prefix}x")}
        equations = [(v, o.function) for v, o in zip(values, step.operators, strict=True)]
        lines = [(inside[variable], low + (high - low) * found.node)]
        lines += renamed(f"{prefix}i", [variable, *step.parameters], equations, values, inside)
        for (result, *_), value in zip(step.results, values, strict=True):
            known[result] = self.letter("s")
            found.sums.append((known[result], inside[value]))
        self._inside(found, lines)
        self.program.integrals.append(found)
        self.program.stretches.append([])

    def _steady_or_line(self, expression: Any) -> Any:
        symbol = self.letter("w")
        self.add(symbol, expression)
        return symbol.xreplace(self.aliases)

    def _inside(self, found: Sums, lines: list[Line]) -> None:
        """Sort the lines of integrands: beside the loop, into tables, into the loop."""
        tabled: set[Any] = {found.node}
        moving: set[Any] = set()

        def part(expression: Any) -> Any:
            if not expression.free_symbols & tabled:
                return self._steady_letter(expression)
            known = {e: s for s, e in found.parts}
            if expression not in known:
                found.parts.append((self.letter("p"), expression))
                known[expression] = found.parts[-1][0]
            return known[expression]

        for symbol, expression in lines:
            plain = self._called(expression.xreplace(self.aliases), frozenset(tabled | moving))
            if plain.is_Symbol or plain.is_Number:
                self.aliases[symbol] = plain
            elif not plain.free_symbols & (tabled | moving):
                self._place(symbol, plain)
            elif plain.free_symbols <= self.steady | tabled:
                tabled.add(symbol)
                found.tabled.append((symbol, plain))
            else:
                whole = plain.replace(lambda e: isinstance(e, sympy.Function), self._expanded)
                found.lines.append((symbol, self._taken_out(whole, self.steady | tabled, part)))
                moving.add(symbol)
        found.sums = [(s, self._taken_out(v.xreplace(self.aliases), self.steady | tabled, part)) for s, v in found.sums]

    def _expanded(self, call: Any) -> Any:
        return call.func(*(_as_product(arg, self.products) for arg in call.args))

    def finish(self, results: list[Any]) -> Program:
        """The program without what nothing uses."""
        program = self.program
        program.results = [r.xreplace(self.aliases) for r in results]
        needed = {s for r in program.results for s in r.free_symbols}
        for number in reversed(range(len(program.stretches))):
            program.stretches[number] = _needed(program.stretches[number], needed)
            if number:
                found = program.integrals[number - 1]
                needed |= {s for _, v in found.sums for s in v.free_symbols} | found.width.free_symbols
                found.lines = _needed(found.lines, needed)
                found.parts = _needed(found.parts, needed)
                found.tabled = _needed(found.tabled, needed)
        program.steady = _needed(_ordered(program.steady), needed)
        program.clocked = _needed(program.clocked, needed)
        return program


def _is_product(expression: Any) -> bool:
    """Whether an expression is a product of letters and numbers."""
    return isinstance(expression, sympy.Expr) and all(
        f.is_Symbol or f.is_number or (f.is_Pow and f.base.is_Symbol and f.exp.is_number)
        for f in sympy.Mul.make_args(expression)
    )


def _as_product(expression: Any, products: dict[Any, Any]) -> Any:
    """A product in letters that are none themselves, others as they are."""
    return expression.xreplace(products) if _is_product(expression) else expression


def _needed(lines: list[Line], needed: set[Any]) -> list[Line]:
    """Lines that are used, in their order; ``needed`` learns what they use."""
    kept = []
    for symbol, expression in reversed(lines):
        if symbol in needed:
            needed |= expression.free_symbols
            kept.append((symbol, expression))
    return kept[::-1]


def _ordered(lines: list[Line]) -> list[Line]:
    """Lines after those that they use."""
    left, done, ready = dict(lines), [], set()

    def visit(symbol: Any) -> None:
        if symbol in ready or symbol not in left:
            return
        ready.add(symbol)
        for part in sorted(left[symbol].free_symbols, key=str):
            visit(part)
        done.append((symbol, left[symbol]))

    for symbol, _ in lines:
        visit(symbol)
    return done
