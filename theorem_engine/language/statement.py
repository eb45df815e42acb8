"""The words an author uses inside a statement, and the statement they make together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import sympy

from theorem_engine.base.errors import AmbiguousDefinition, DeclarationError
from theorem_engine.language.letters import Letter
from theorem_engine.language.operators.base import Operator, distinct_nodes


class Total(sympy.Expr):
    """Total derivative of an expression (or of an output, by name) in a given letter.

    The engine applies the chain rule through every definition of the statement, and the implicit
    function theorem through self-consistent groups.
    """

    is_commutative = True

    def __new__(cls, expression: Any, letter: Any) -> Any:
        """Keep both unevaluated; the statement resolves them."""
        if isinstance(expression, str):
            expression = sympy.Symbol(f"output:{expression}")
        return sympy.Expr.__new__(cls, sympy.sympify(expression, strict=True), letter)

    def _latex(self, printer: Any) -> str:
        above, below = (printer._print(arg) for arg in self.args)
        return rf"\frac{{\mathrm{{d}}}}{{\mathrm{{d}}{below}}}\left[{above}\right]"


@dataclass(frozen=True)
class Partial:
    """Key of a stated partial derivative: ``{Partial("value", t): ...}``.

    A lemma may state its derivative in a better form than differentiation gives; whoever applies
    the lemma gets that form. Tests compare it with the derivative of the value.
    """

    output: str
    letter: Letter


@dataclass(frozen=True)
class Unknown:
    """Right-hand side of a self-consistent equation ``letter = equation``.

    ``start`` is an expression (or several, for several branches) of letters outside the group.
    ``positive`` makes the solver work with the logarithm. ``along`` names a letter outside the group
    that eases the equations as it grows: where the method fails, larger values of it are solved
    first and the solution is followed back.

    ``method`` says how the group is solved: "newton" with the symbolic Jacobian; "anderson", accelerated iteration,
    where an operator has no derivative; "iteration", the map itself again and again, where the branch that this
    leads to from the start is what the statement means. A group is solved by one method.

    ``continued`` names letters along which the solution moves without a jump: a sweep over one of them may start the
    method at a point from what solves the equations at its neighbours. What is stated does not depend on it.
    """

    equation: Any
    start: Any
    positive: bool = False
    along: Any = None
    method: str = "newton"
    continued: tuple[Any, ...] = field(default=(), compare=False)

    def starts(self) -> tuple[Any, ...]:
        """All starting values, at least one."""
        many = self.start if isinstance(self.start, (tuple, list)) else (self.start,)
        return tuple(sympy.sympify(s, strict=True) for s in many)


@dataclass(frozen=True)
class Label:
    """An output that is a word: the first whose condition holds, else the last."""

    cases: tuple[tuple[Any, str], ...]
    otherwise: str

    def index(self) -> Any:
        """The position of the word as an expression."""
        pairs = [(sympy.Integer(i), condition) for i, (condition, _) in enumerate(self.cases)]
        return sympy.Piecewise(*pairs, (sympy.Integer(len(self.cases)), True))

    def word(self, position: int) -> str:
        """The word at a position."""
        return (*(word for _, word in self.cases), self.otherwise)[position]


@dataclass(frozen=True)
class Statement:
    """Equations of an entry for one choice of its options; all total derivatives are resolved."""

    owner: str
    given: tuple[Letter, ...]
    equations: Mapping[Any, Any]
    outputs: Mapping[str, Any]
    partials: Mapping[tuple[str, Letter], Any] = field(default_factory=dict)
    #: The equations as their author wrote them, total derivatives unresolved: what pages show.
    written: Mapping[Any, Any] = field(default_factory=dict)

    @cached_property
    def output_leaves(self) -> Mapping[str, tuple[Any, ...]]:
        """The symbols to be computed, by the output that holds them."""
        return {
            name: tuple(leaf for leaf in leaves(shape) if isinstance(leaf, sympy.Symbol))
            for name, shape in self.outputs.items()
        }

    def targets(self) -> list[Any]:
        """The symbols to be computed, in order of the outputs."""
        return [leaf for found in self.output_leaves.values() for leaf in found]

    def output_symbol(self, name: str) -> Any:
        """The symbol of a scalar output."""
        shape = self.outputs[name]
        if not isinstance(shape, sympy.Symbol):
            raise DeclarationError(f"{self.owner}: output {name!r} is not a number, so it cannot be applied")
        return shape


@dataclass(frozen=True)
class LabelSlot:
    """Where a word will be once its index is known."""

    symbol: Any
    label: Label


def leaves(shape: Any) -> Iterator[Any]:
    """All symbols of an output's shape, depth first."""
    if isinstance(shape, Mapping):
        for part in shape.values():
            yield from leaves(part)
    elif isinstance(shape, (list, tuple)):
        for part in shape:
            yield from leaves(part)
    elif isinstance(shape, LabelSlot):
        yield shape.symbol
    else:
        yield shape


def assemble(shape: Any, values: Mapping[Any, Any]) -> Any:
    """Put computed values back into an output's shape."""
    if isinstance(shape, sympy.Symbol):
        return values[shape]
    if isinstance(shape, LabelSlot):
        return shape.label.word(int(values[shape.symbol]))
    if isinstance(shape, Mapping):
        return {key: assemble(part, values) for key, part in shape.items()}
    if isinstance(shape, (list, tuple)):
        return [assemble(part, values) for part in shape]
    return shape


def shape_errors(shape: Any, values: Mapping[Any, Any], errors: Mapping[Any, Any]) -> Any:
    """Errors in an output's shape: None for words and truth values, which have none."""
    if isinstance(shape, sympy.Symbol):
        value = values.get(shape)
        return (
            None
            if isinstance(value, bool) or getattr(getattr(value, "dtype", None), "kind", "") == "b"
            else errors[shape]
        )
    if isinstance(shape, Mapping):
        return {key: shape_errors(part, values, errors) for key, part in shape.items()}
    if isinstance(shape, (list, tuple)):
        return [shape_errors(part, values, errors) for part in shape]
    return None


def make_statement(owner: str, given: tuple[Letter, ...], returned: Mapping[Any, Any]) -> Statement:
    """Turn what an author's function returned into equations, shapes and partial derivatives."""
    equations: dict[Any, Any] = {}
    outputs: dict[str, Any] = {}
    stated: dict[tuple[str, Letter], Any] = {}
    for key, value in returned.items():
        if isinstance(key, Partial):
            stated[key.output, key.letter] = value
        elif isinstance(key, str):
            outputs[key] = _shape(owner, key, value, equations)
        elif isinstance(key, sympy.Symbol):
            if key in given:
                raise AmbiguousDefinition(f"{owner}: {key} is given by the user and defined in the statement")
            equations[key] = value
        else:
            raise DeclarationError(f"{owner}: {key!r} is neither a letter nor the name of an output")
    written = dict(equations)
    names = {f"output:{name}": shape for name, shape in outputs.items() if isinstance(shape, sympy.Symbol)}
    resolver = _TotalResolver(owner, equations, names)
    partials = {key: resolver.resolve(sympy.sympify(value, strict=True)) for key, value in stated.items()}
    resolver.run()
    for symbol, equation in resolver.equations.items():
        _refuse_floats(owner, symbol, equation)
    return Statement(owner, given, resolver.equations, outputs, partials, written)


def _shape(owner: str, name: str, value: Any, equations: dict[Any, Any]) -> Any:
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return {key: _shape(owner, f"{name}.{key}", part, equations) for key, part in value.items()}
    if isinstance(value, sympy.MatrixBase):
        value = value.tolist() if value.shape[1] != 1 else list(value)
    if isinstance(value, (list, tuple)):
        return [_shape(owner, f"{name}.{i}", part, equations) for i, part in enumerate(value)]
    symbol = Letter(name, owner, latex=rf"\mathrm{{{name.replace('_', chr(92) + '_')}}}", assumptions={})
    if isinstance(value, Label):
        equations[symbol] = value.index()
        return LabelSlot(symbol, value)
    equations[symbol] = value if isinstance(value, Unknown) else sympy.sympify(value, strict=True)
    return symbol


def _refuse_floats(owner: str, symbol: Any, equation: Any) -> None:
    expression = equation.equation if isinstance(equation, Unknown) else equation
    floats = {node for node in distinct_nodes(expression) if isinstance(node, sympy.Float)}
    if floats:
        raise DeclarationError(
            f"{owner}: the equation of {symbol} contains the binary number {sorted(floats)[0]}; "
            "write an exact rational, or digits are lost"
        )


class _TotalResolver:
    """Replaces ``Total`` nodes by new letters whose equations are chain rules.

    The derivative of a self-consistent letter obeys an equation of the same shape, linear in the
    derivatives: the graph finds that group, and the implicit function theorem is its solution.
    """

    def __init__(self, owner: str, equations: Mapping[Any, Any], names: Mapping[str, Any]) -> None:
        self.owner = owner
        self.equations = dict(equations)
        self.names = names
        self.known: dict[tuple[Any, Any], Any] = {}
        self.reach: dict[Any, set[Any]] = {}

    def run(self) -> None:
        """Resolve every equation; new ones appear on the way."""
        done: set[Any] = set()
        while pending := [s for s in self.equations if s not in done]:
            for symbol in pending:
                done.add(symbol)
                equation = self.equations[symbol]
                if isinstance(equation, Unknown):
                    inner = self.resolve(sympy.sympify(equation.equation, strict=True))
                    self.equations[symbol] = replace(equation, equation=inner, start=equation.starts())
                else:
                    self.equations[symbol] = self.resolve(sympy.sympify(equation, strict=True))

    def resolve(self, expression: Any) -> Any:
        """The expression without Total nodes, innermost first."""
        if isinstance(expression, sympy.MatrixBase) or not expression.has(Total):
            return self._named(expression)
        if isinstance(expression, Total):
            body, letter = expression.args
            return self.derivative(self.resolve(body), letter)
        parts = [self.resolve(arg) if isinstance(arg, sympy.Basic) else arg for arg in expression.args]
        return expression.func(*parts)

    def _named(self, expression: Any) -> Any:
        swaps = {s: self.names[s.name] for s in expression.free_symbols if s.name in self.names}
        return expression.xreplace(swaps) if swaps else expression

    def derivative(self, expression: Any, letter: Any) -> Any:
        """Chain rule through the definitions this expression uses."""
        result = expression.diff(letter)
        for symbol in sorted(expression.free_symbols - {letter}, key=str):
            if symbol in self.equations and letter in self._reached(symbol):
                result += expression.diff(symbol) * self._derivative_letter(symbol, letter)
        return result

    def _derivative_letter(self, symbol: Any, letter: Any) -> Any:
        if (symbol, letter) not in self.known:
            latex = rf"\frac{{\mathrm{{d}}{sympy.latex(symbol)}}}{{\mathrm{{d}}{sympy.latex(letter)}}}"
            name = f"d({symbol.name})/d({letter.name})"
            self.known[symbol, letter] = new = Letter(
                name, getattr(symbol, "scope", self.owner), latex=latex, assumptions={}
            )
            equation = self.equations[symbol]
            body = equation.equation if isinstance(equation, Unknown) else equation
            self.equations[new] = self.derivative(self.resolve(sympy.sympify(body, strict=True)), letter)
        return self.known[symbol, letter]

    def _reached(self, symbol: Any) -> set[Any]:
        """Every letter a defined letter depends on, through any chain of definitions."""
        seen: set[Any] = set()
        stack = [symbol]
        while stack:
            equation = self.equations.get(stack.pop())
            if equation is None:
                continue
            body = sympy.sympify(equation.equation if isinstance(equation, Unknown) else equation, strict=True)
            fresh = self._named(body).free_symbols - seen
            seen |= fresh
            stack.extend(fresh)
        return seen


def strip(equation: Any) -> Any:
    """The expression of an equation, self-consistent or not."""
    return equation.equation if isinstance(equation, Unknown) else equation


__all__ = [
    "Label", "Operator", "Partial", "Statement", "Total", "Unknown", "assemble", "make_statement",
    "shape_errors", "strip",
]  # fmt: skip
