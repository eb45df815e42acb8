"""What all operators share: unevaluated SymPy nodes with bound letters and one lowering per backend."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import sympy

from theorem_engine.base.errors import NoDerivative


def only(part: Any) -> Any:
    """What a tuple of at most one holds, or None."""
    return part[0] if part else None


class Part:
    """An argument of an operator by its place, and what it is read as: ``letters = Part(1, "Those bound.", tuple)``."""

    def __init__(self, place: int, meaning: str, read: Callable[[Any], Any] | None = None) -> None:
        self.place, self.read, self.__doc__ = place, read, meaning

    def __get__(self, node: Any, kind: type | None = None) -> Any:
        if node is None:
            return self
        part = node._args[self.place]
        return part if self.read is None else self.read(part)


class Operator(sympy.Expr):
    """An operation that is not elementary; its value is its first component.

    Subclasses keep everything in ``args`` so that substitution and differentiation see it, name the ``Part`` of each
    place, and list those that hold bound letters, which no outer substitution may touch.
    """

    is_commutative = True
    #: How many numbers the operation yields; the others are reached with ``Component``.
    size = 1
    #: Module of each backend's folder that evaluates the node.
    lowering: str = ""
    #: Modules anywhere else that evaluate the node, by the name of the backend: {"float64": "my_pack.heat"}. Each has
    #: ``lower(operators, parameters, backend)``; they go before ``lowering``.
    lowerings: ClassVar[Mapping[str, str]] = {}
    #: Whether the float64 lowering takes arrays at the cost of one call.
    vectorised = True
    #: Whether the lowerings take arrays of several axes, each parameter along some of them.
    broadcasts = False
    #: Whether the float64 lowering is cheaper where a search asks for few digits.
    can_be_rough = False
    #: Whether the value is a mean over random numbers, and its error statistical.
    is_random = False

    #: Names of the parts that hold bound letters.
    binds: ClassVar[tuple[str, ...]] = ()

    @property
    def func(self) -> Any:
        """Rebuild from ``args``, which are bound already."""
        return functools.partial(sympy.Expr.__new__, type(self))

    def stated(self) -> Any:
        """The operator without what only helps to compute it."""
        return self

    @property
    def bound(self) -> frozenset[Any]:
        """Letters that have no meaning outside the node."""
        parts = [getattr(self, name) for name in self.binds]
        return frozenset(x for part in parts for x in (part if isinstance(part, tuple) else (part,)) if x is not None)

    @property
    def free_symbols(self) -> set[Any]:
        """Letters whose values the operation needs; found once, as bodies may be large and are asked often."""
        if self._free is None:
            self._free = frozenset().union(*(arg.free_symbols for arg in self.args)) - self.bound
        return set(self._free)

    _free: frozenset[Any] | None = None

    def bundle_key(self) -> Hashable:
        """Nodes with equal keys may be lowered together, sharing their evaluations."""
        return self

    def components(self) -> int:
        """Number of values this node yields."""
        return self.size

    def _eval_derivative(self, symbol: Any) -> Any:
        if symbol not in self.free_symbols:
            return sympy.S.Zero
        return self.partial(symbol)

    def partial(self, symbol: Any) -> Any:
        """Derivative of the first component in a free letter."""
        raise NoDerivative(f"{type(self).__name__} has no symbolic derivative")

    def component_partial(self, index: int, symbol: Any) -> Any:
        """Derivative of another component."""
        raise NoDerivative(f"component {index} of {type(self).__name__} has no symbolic derivative")


class Searched(Operator):
    """An operator whose value is looked for; where, it says itself or the recipe of the statement does."""

    @property
    def has_range(self) -> bool:
        """Whether it is said where to look."""
        raise NotImplementedError

    @property
    def sought(self) -> tuple[Any, ...]:
        """The letters whose values are looked for."""
        raise NotImplementedError

    def searched(self, searches: Sequence[Any]) -> Any:
        """The same operation, looked for as these say, one for each letter sought."""
        raise NotImplementedError


class Component(sympy.Expr):
    """One value of an operator that yields several."""

    is_commutative = True
    operator = Part(0, "The node this is a part of.")
    index = Part(1, "Which part.", int)

    def __new__(cls, operator: Any, index: Any) -> Any:
        """Component 0 is the operator itself."""
        if index == 0:
            return operator
        return sympy.Expr.__new__(cls, operator, sympy.Integer(index))

    def _eval_derivative(self, symbol: Any) -> Any:
        if symbol not in self.free_symbols:
            return sympy.S.Zero
        return self.operator.component_partial(self.index, symbol)

    def _latex(self, printer: Any) -> str:
        names = getattr(self.operator, "component_names", None)
        inside = printer._print(self.operator)
        label = names()[self.index] if names else self.index
        return rf"\left[{inside}\right]_{{{label}}}"


@dataclass(frozen=True)
class SymPyIntegral:
    """What the engine asks of operators, answered for SymPy's own integrals."""

    node: Any
    lowering = "integral"
    lowerings: ClassVar[Mapping[str, str]] = {}
    vectorised = True
    broadcasts = True
    is_random = False

    @property
    def bound(self) -> frozenset[Any]:
        """The variables of integration."""
        return frozenset(self.node.variables)

    def bundle_key(self) -> Hashable:
        """Integrals over one range share their nodes."""
        return sympy.Integral, self.node.limits

    def components(self) -> int:
        """One number."""
        return 1


#: Nodes of SymPy's own that backends lower as a whole, and what answers for them as an operator would.
ADAPTERS: dict[type, Callable[[Any], Any]] = {sympy.Integral: SymPyIntegral}


def is_operator(node: Any) -> bool:
    """Whether a backend lowers this node as a whole; SymPy's own integrals count."""
    return isinstance(node, (Operator, *ADAPTERS))


def as_operator(node: Any) -> Any:
    """An operator as it is; for a node of SymPy's own, what answers for it."""
    if isinstance(node, Operator):
        return node
    return next(adapter(node) for kind, adapter in ADAPTERS.items() if isinstance(node, kind))


def distinct_nodes(expression: Any) -> Iterator[Any]:
    """Every node of an expression once, however often it stands there."""
    seen: set[Any] = set()
    stack = [expression]
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            yield node
            stack.extend(node.args)


def outermost_operators(expression: Any) -> list[Any]:
    """Operators and components not inside another operator, in a fixed order."""
    found: dict[Any, None] = {}

    def visit(node: Any) -> None:
        if isinstance(node, Component) or is_operator(node):
            found.setdefault(node)
            return
        for arg in node.args:
            visit(arg)

    visit(expression)
    return list(found)


def hygienic(letters: tuple[Any, ...], *expressions: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Rename letters to bound twins inside expressions, so that outer letters of the same name stay free.

    The twins are the same for equal letters, which keeps equal operators equal.
    """
    from theorem_engine.language.letters import Letter

    twins = tuple(
        Letter(
            letter.name,
            "bound:" + getattr(letter, "scope", ""),
            latex=sympy.latex(letter),
            meaning=getattr(letter, "meaning", ""),
            assumptions=letter.assumptions0,
        )
        for letter in letters
    )
    swap = dict(zip(letters, twins, strict=True))
    known: dict[Any, Any] = {}
    return twins, tuple(_replaced(expression, swap, known) for expression in expressions)


def _replaced(expression: Any, swap: dict[Any, Any], known: dict[Any, Any]) -> Any:
    """What ``xreplace`` gives; parts that stand in many places are made once, as some take long to make anew."""
    if expression in swap:
        return swap[expression]
    is_plain = getattr(type(expression), "_xreplace", None) is sympy.Basic._xreplace
    if not is_plain or isinstance(expression, sympy.MatrixBase) or not expression.args:
        return expression.xreplace(swap)
    if expression not in known:
        parts = [_replaced(part, swap, known) for part in expression.args]
        is_same = all(new is old for new, old in zip(parts, expression.args, strict=True))
        known[expression] = expression if is_same else expression.func(*parts)
    return known[expression]
