"""A plan over a product of axes, in stages: what hangs on few of them is evaluated for those alone.

Every letter varies along some axes or none. Elementary equations are taken apart so that each part is evaluated on the
axes that it hangs on, and products and sums are put in the order that leaves the least to do on all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy

from theorem_engine.backends.base import Backend, Numeric, straight_line, used_later
from theorem_engine.language.operators.base import as_operator
from theorem_engine.planning.plan import Evaluate, Operate, Plan, Step

Axes = frozenset[int]
NONE: Axes = frozenset()


@dataclass(frozen=True)
class Stage:
    """A function of some letters that gives others, all of which vary along these axes at most."""

    function: Numeric
    sources: tuple[Any, ...]
    results: tuple[Any, ...]
    axes: Axes


@dataclass(frozen=True)
class Stages:
    """Stages in their order, and the letters in which each target ends."""

    stages: tuple[Stage, ...]
    targets: tuple[Any, ...]


def stages_of(plan: Plan, backend: Backend, axes: Mapping[Any, Axes]) -> Stages:
    """The stages of a plan whose inputs vary along these axes."""
    known = {symbol: axes.get(symbol, NONE) for symbol in plan.inputs}
    names: dict[Any, Any] = {symbol: symbol for symbol in plan.inputs}
    found: list[Stage] = []
    for number, step in enumerate(plan.steps):
        if isinstance(step, Evaluate):
            found += _evaluated(step, used_later(plan, number), backend, known, names)
            continue
        if isinstance(step, Operate):
            sources, results = list(step.parameters), [s for result in step.results for s in result]
            function = backend.operate(step)
        else:
            sources = [*(s for branch in step.starts for s in branch), *step.parameters]
            results, function = list(step.unknowns), backend.group(step)
        wide = NONE.union(*(known[names[s]] for s in sources))
        if not _broadcasts(step):
            function = backend.flattened(function)
        # what is not used has no name, and a place all the same
        made = [sympy.Dummy("unused") if s is None else s for s in results]
        names.update({s: s for s in made})
        known.update(dict.fromkeys(made, wide))
        found.append(Stage(function, tuple(names[s] for s in sources), tuple(made), wide))
    return Stages(tuple(found), tuple(names[s] for s in plan.targets))


def _broadcasts(step: Step) -> bool:
    """Whether a step takes parameters that vary along different axes as they are."""
    return isinstance(step, Operate) and all(getattr(as_operator(o), "broadcasts", False) for o in step.operators)


def _evaluated(
    step: Evaluate, used: set[Any], backend: Backend, known: dict[Any, Axes], names: dict[Any, Any]
) -> list[Stage]:
    """Elementary equations as one stage for each set of axes, the small ones first."""
    made = {s for s, _ in step.equations}
    outputs = [s for s, _ in step.equations if s in used]
    inputs = sorted({s for _, e in step.equations for s in e.free_symbols} - made, key=lambda s: (s.name, id(s)))
    code = straight_line(inputs, step.equations, outputs)
    fresh = {s: sympy.Dummy(s.name, **s.assumptions0) for s, _ in code.lines}
    fresh.update({s: names[original] for s, original in zip(code.inputs, inputs, strict=True)})
    parting = _Parting(known)
    for symbol, expression in code.lines:
        parting.add(fresh[symbol], expression.xreplace(fresh))
    ends = [fresh[s] for s in code.results]
    names.update(zip(outputs, ends, strict=True))
    layers: dict[Axes, list[tuple[Any, Any]]] = {}
    for symbol, expression in parting.lines:
        layers.setdefault(known[symbol], []).append((symbol, expression))
    found = []
    for wide in sorted(layers, key=lambda axes: (len(axes), sorted(axes))):
        lines = layers[wide]
        mine = {s for s, _ in lines}
        elsewhere = {s for axes, others in layers.items() if axes != wide for _, e in others for s in e.free_symbols}
        results = [s for s in mine if s in elsewhere or s in ends]
        sources = sorted({s for _, e in lines for s in e.free_symbols} - mine, key=lambda s: (s.name, id(s)))
        results.sort(key=[s for s, _ in lines].index)
        found.append(Stage(backend.elementary(sources, lines, results), tuple(sources), tuple(results), wide))
    return found


class _Parting:
    """Lines of elementary code, each taken apart by the axes that its parts hang on."""

    def __init__(self, known: dict[Any, Axes]) -> None:
        self.known = known
        self.lines: list[tuple[Any, Any]] = []
        self.parts: dict[Any, Any] = {}
        self.seen: dict[Any, Axes] = {}

    def axes(self, node: Any) -> Axes:
        """The axes that a node hangs on."""
        if node not in self.seen:
            own = self.known.get(node, NONE) if isinstance(node, sympy.Symbol) else NONE
            self.seen[node] = own.union(*(self.axes(arg) for arg in node.args))
        return self.seen[node]

    def add(self, symbol: Any, expression: Any) -> None:
        """One line and, before it, those that it needs."""
        wide = self.axes(expression)
        reduced = self.reduced(expression, wide)
        self.known[symbol] = wide
        self.lines.append((symbol, reduced))

    def part(self, node: Any) -> Any:
        """A node as a letter with a line of its own; what is one word already stays."""
        if not node.args or not isinstance(node, sympy.Expr):
            return node
        if node not in self.parts:
            letter = sympy.Dummy("part", **_sign(node))
            self.add(letter, node)
            self.parts[node] = letter
        return self.parts[node]

    def reduced(self, node: Any, wide: Axes) -> Any:
        """A node that hangs on all these axes, with a letter for every part that hangs on fewer."""
        if not node.args:
            return node
        if isinstance(node, (sympy.Mul, sympy.Add)):
            return self._gathered(node, wide)
        return self._rebuilt(node, [self._inside(arg, wide) for arg in node.args])

    def _inside(self, node: Any, wide: Axes) -> Any:
        is_whole = self.axes(node) == wide or not isinstance(node, sympy.Expr)
        return self.reduced(node, wide) if is_whole else self.part(node)

    def _gathered(self, node: Any, wide: Axes) -> Any:
        """A product or a sum with the terms of fewer axes taken together first."""
        groups: dict[Axes, list[Any]] = {}
        for arg in node.args:
            groups.setdefault(self.axes(arg), []).append(arg)
        whole = [self.reduced(arg, wide) for arg in groups.pop(wide, [])]
        if NONE in groups and len(groups) > 1:
            # numbers go with the fewest others
            numbers = groups.pop(NONE)
            least = min(groups, key=lambda axes: (len(axes), sorted(axes)))
            groups[least] = [*numbers, *groups[least]]
        # a number would be multiplied into a sum, term by term, and spoil what cancels there
        letters = [
            self.part(node.func(*(self.part(t) if t.is_Add else t for t in terms)))
            for _, terms in sorted(groups.items(), key=lambda item: (len(item[0]), sorted(item[0])))
        ]
        return self._rebuilt(node, [*letters, *whole])

    def _rebuilt(self, node: Any, args: Sequence[Any]) -> Any:
        return node if tuple(args) == node.args else node.func(*args)


def _sign(node: Any) -> Mapping[str, bool]:
    """What may be assumed of a letter that stands for a node, so that roots and sizes of it stay as they are."""
    return {"real": True} if node.is_real else {}
