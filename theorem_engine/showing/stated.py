"""The statement of an entry, ready to be shown: equations in order of use, cases, abbreviations, what they rest on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import sympy

from theorem_engine.language.entry import Entry
from theorem_engine.language.operators.base import Operator, distinct_nodes
from theorem_engine.language.recipe import circular
from theorem_engine.language.statement import LabelSlot, Statement, Unknown, strip
from theorem_engine.showing.formula import operators as _operators  # noqa: F401 - operators register how they are written
from theorem_engine.showing.formula.abbreviations import Abbreviations
from theorem_engine.showing.formula.lines import plain
from theorem_engine.showing.formula.names import read_name
from theorem_engine.showing.formula.tree import (
    EMPTY,
    EQUALS,
    JOINT,
    SUM,
    Tree,
    cases,
    fence,
    listed,
    number,
    row,
    script,
    sign,
    word,
)
from theorem_engine.showing.formula.writing import Aside, Pen
from theorem_engine.showing.variants import Variant, variants_of

#: Values of a brace wider than this get names of their own.
_BRACE = 110
#: A sentence that is wider is not repeated.
_SENTENCE = 150
#: What a choice of an option changes in more lines is shown where it is asked for.
_LONG = 7
#: Lines that must be saved for a case to be told by another one than the first.
_FARTHER = 2
_ABBREVIATIONS = ("h", "u", "r", "a", "w", "f", "H")


#: Statements that were written, as text, HTML and LaTeX of a page are asked for one after the other.
_KEPT: dict[Any, Stated] = {}
_MOST = 64


@dataclass(frozen=True)
class Line:
    """One equation; without a left side, what follows the sign of another relation."""

    left: Tree
    right: Tree


@dataclass(frozen=True)
class Words:
    """A sentence between equations."""

    tree: Tree


@dataclass
class Stated:
    """What a page shows of a statement."""

    items: list[Line | Words] = field(default_factory=list)
    #: Letters that are used and not given: sign, name and meaning.
    letters: list[tuple[Tree, str, str]] = field(default_factory=list)
    functions: dict[str, str] = field(default_factory=dict)
    applied: dict[str, Tree] = field(default_factory=dict)
    #: Outputs that are letters of the statement, by name.
    aliases: dict[str, Tree] = field(default_factory=dict)
    #: Where to find what is not shown.
    remarks: list[str] = field(default_factory=list)

    def trees(self) -> Iterator[Tree]:
        """All trees of the statement."""
        for item in self.items:
            yield from (item.left, item.right) if isinstance(item, Line) else (item.tree,)


def stated(entry: Entry, chosen: Mapping[str, Any] | None = None) -> Stated:
    """The statement of an entry, in all its cases or in those of the values chosen."""
    key = (entry, tuple(sorted((name, str(value)) for name, value in (chosen or {}).items())))
    if key not in _KEPT:
        if len(_KEPT) >= _MOST:
            _KEPT.clear()
        _KEPT[key] = _Author(entry, dict(chosen or {})).stated()
    return _KEPT[key]


@dataclass(frozen=True)
class _Equation:
    left: Tree
    right: Tree
    is_unknown: bool = False


@dataclass
class _Told:
    """A case that was told: its equations, the lines beside its sentences, what was said of it, and when it holds."""

    base: dict[Tree, Tree]
    lines: dict[Tree, set[Any]]
    items: list[Line | Words] = field(default_factory=list)
    condition: Tree = EMPTY


class _Author:
    """Writes the statement of one entry."""

    def __init__(self, entry: Entry, chosen: dict[str, Any]) -> None:
        self.entry = entry
        self.variants = variants_of(entry, chosen)
        self.pen = Pen()
        self.aliases: dict[str, Tree] = {}

    def stated(self) -> Stated:
        """Everything in its order."""
        found = Stated()
        self._draft(found)
        self._shorten(found)
        pen = self.pen
        given = set(self.entry.given)
        names: dict[str, None] = {}
        for symbol, meaning in pen.letters.items():
            tree = read_name(sympy.latex(symbol))
            key = f"{plain(tree)}: {meaning}"
            if symbol in given or any(x.name == symbol.name and x.latex_name == sympy.latex(symbol) for x in given):
                continue
            if key not in names:
                names[key] = None
                found.letters.append((tree, symbol.name, meaning))
        found.functions, found.applied, found.aliases = dict(pen.functions), dict(pen.applied), self.aliases
        found.remarks += self.variants.remarks
        if pen.leaves_out:
            found.remarks.append("Arguments that are not named are the letters of the same name here.")
        if pen.by_position:
            found.remarks.append("∂₁ and ∂₂ are derivatives in the first and in the second argument.")
        return found

    # one variant

    def _equations(self, variant: Variant, afresh: bool = False) -> list[_Equation]:
        statement = variant.statement
        options = {x.name: variant.options.get(x.name) for x in self.entry.applied_options}
        self.pen.begin(options, afresh)
        written = {s: _as_stated(strip(e)) for s, e in (statement.written or statement.equations).items()}
        self.pen.look_over(strip(equation) for equation in written.values())
        for name in statement.outputs:
            self.pen.outputs[name] = _output(name)
        found: list[_Equation] = []
        used: list[Any] = []
        for name, shape in statement.outputs.items():
            for label, leaf in _leaves(name, shape):
                found += self._output(label, leaf, statement, written, used)
        done: set[Any] = set()
        outputs = {leaf for shape in statement.outputs.values() for _, leaf in _leaves("", shape)}
        solved = _solved_for(statement, written)
        while waiting := [s for s in written if s in set(_symbols(used)) - done - outputs]:
            group = [s for s in written if s in solved] if solved & set(waiting) else []
            for symbol in dict.fromkeys((*(s for s in waiting if s not in group), *group)):
                if symbol in done:
                    continue
                done.add(symbol)
                used.append(strip(written[symbol]))
                right = self.pen.write(sympy.sympify(strip(written[symbol]), strict=True))
                left = self.pen.name(symbol)
                if left != right and not self._says_nothing(symbol, strip(written[symbol])):
                    found.append(_Equation(left, right, symbol in group))
        return found

    def _output(
        self, label: str, leaf: Any, statement: Statement, written: Mapping[Any, Any], used: list[Any]
    ) -> list[_Equation]:
        left = _output(label)
        if isinstance(leaf, LabelSlot):
            rows = [(word(text), self.pen.write(condition)) for condition, text in leaf.label.cases]
            used.extend(condition for condition, _ in leaf.label.cases)
            return [_Equation(left, cases(*rows, (word(leaf.label.otherwise), EMPTY)))]
        if not isinstance(leaf, sympy.Symbol):
            return [_Equation(left, word(str(leaf)))]
        value = strip(written[leaf])
        value = value if isinstance(value, sympy.MatrixBase) else sympy.sympify(value, strict=True)
        used.append(value)
        if isinstance(value, sympy.Symbol) and not value.name.startswith("output:"):
            if value not in written:
                right = self.pen.name(value)
                return [_Equation(left, right)] if plain(left) != plain(right) else []
            self.aliases[label] = self.pen.name(value)
            return []
        return [_Equation(left, self.pen.write(self._with_outputs(value, statement, written)))]

    def _says_nothing(self, symbol: Any, value: Any) -> bool:
        """Whether an equation is q = 1 - (1 - q): the letter on its right is written so."""
        rest = 1 - value if isinstance(value, sympy.Add) else None
        return isinstance(rest, sympy.Symbol) and plain(self.pen.name(rest)) == plain(self.pen.write(1 - symbol))

    def _with_outputs(self, value: Any, statement: Statement, written: Mapping[Any, Any]) -> Any:
        """A sum with the name of another output in the place of that output's terms."""
        if not isinstance(value, sympy.Add):
            return value
        for name, leaf in statement.outputs.items():
            other = strip(written[leaf]) if isinstance(leaf, sympy.Symbol) else None
            if isinstance(other, sympy.Add) and len(other.args) > 2 and set(other.args) < set(value.args):
                rest = [term for term in value.args if term not in other.args]
                return sympy.Add(sympy.Symbol(f"output:{name}"), *rest)
        return value

    # all variants

    def _draft(self, found: Stated) -> None:
        variants = self.variants.listed
        if self.variants.in_braces:
            written = [self._equations(variant) for variant in variants]
            self._lay(found, self._in_braces(written) if len(written) > 1 else written[0])
            told: dict[Tree, set[Any]] = {}
            self._tell(found, self.pen.asides.values(), told)
            ordinary = next((k for k, v in enumerate(variants) if v.is_ordinary), 0)
            base = {e.left: e.right for e in written[ordinary]}
            self._tell_differences(found, self.variants.given, base, told)
            return
        self._tell_differences(found, [*variants, *self.variants.given], {}, {})

    def _tell_differences(
        self, found: Stated, variants: Sequence[Variant], base: dict[Tree, Tree], told: dict[Tree, set[Any]]
    ) -> None:
        """Each variant by what differs from the first, or from another that was told and is more like it.

        Without a base, the first is told in full.
        """
        known = [_Told(base, told)] if base else []
        left_out: list[Tree] = []
        for variant in variants:
            equations = self._equations(variant, afresh=True)
            asides = list(self.pen.asides.values())
            if not known:
                mine = self._news(_Told({}, {}), equations, asides)
                known.append(mine)
                found.items += mine.items
                continue
            # one that is a little shorter is not worth the way back to another case
            mine, best, _ = min(
                ((self._news(other, equations, asides), k, other) for k, other in enumerate(known)
                 if not k or other.base.keys() <= {e.left for e in equations}),
                key=lambda item: (len(item[0].items) + (_FARTHER if item[1] else 0), item[1]),
            )  # fmt: skip
            if not mine.items and not best:
                continue
            if self.variants.has_others and variant.choice != EMPTY and len(mine.items) > _LONG:
                left_out.append(variant.choice)
                continue
            said = [word("Where "), variant.condition]
            if best:
                said += [word(", as where "), known[best].condition]
            if mine.items:
                said.append(word(", but for:" if best else ":"))
            mine.condition = variant.condition
            known.append(mine)
            found.items.append(Words(row(*said)))
            found.items += mine.items

        if left_out:
            names = "; ".join(dict.fromkeys(map(plain, left_out)))
            found.remarks.append(f"Not shown here, as much of it is different: {names}.")

    def _news(self, other: _Told, equations: list[_Equation], asides: list[Aside]) -> _Told:
        """A variant as a case that was told, with what is not said there."""
        news = Stated()
        lines = {words: set(pairs) for words, pairs in other.lines.items()}
        self._lay(news, [e for e in equations if other.base.get(e.left) != e.right])
        self._tell(news, asides, lines)
        return _Told({e.left: e.right for e in equations}, lines, news.items)

    def _in_braces(self, written: list[list[_Equation]]) -> list[_Equation]:
        # an output that is a letter in some case is that letter in all of them
        letters = {_output(label): letter for label, letter in self.aliases.items()}
        written = [[replace(e, left=letters.get(e.left, e.left)) for e in equations] for equations in written]
        lefts = dict.fromkeys(e.left for equations in written for e in equations)
        merged = []
        for left in lefts:
            rows: dict[Tree, list[Variant]] = {}
            flags = False
            for variant, equations in zip(self.variants.listed, written, strict=True):
                mine = next((e for e in equations if e.left == left), None)
                if mine is not None:
                    rows.setdefault(mine.right, []).append(variant)
                    flags |= mine.is_unknown
            if len(rows) == 1:
                merged.append(_Equation(left, next(iter(rows)), flags))
            else:
                joint = sign(r"\text{ or }", " or ", "binary")
                pairs = [(right, listed(self._conditions(members), joint)) for right, members in rows.items()]
                merged.append(_Equation(left, cases(*pairs), flags))
        return merged

    def _conditions(self, members: list[Variant]) -> list[Tree]:
        """When one of some variants holds; what they have in all their cases is named alone."""
        listed_ones, choices = self.variants.listed, {v.choice for v in self.variants.listed}
        found: list[Tree] = []
        everywhere = [
            held for held in dict.fromkeys(v.held for v in members)
            if held != EMPTY and len(choices) > 1 and {v.choice for v in members if v.held == held} == choices
        ]  # fmt: skip
        left = [v for v in members if v.held not in everywhere]
        for choice in dict.fromkeys(v.choice for v in left):
            mine = [v for v in members if v.choice == choice]
            is_whole = choice != EMPTY and len(mine) == sum(v.choice == choice for v in listed_ones)
            found += [choice] if is_whole else [v.condition for v in mine if v in left]
        return [*found, *everywhere]

    def _lay(self, found: Stated, equations: list[_Equation]) -> None:
        unknown = [e for e in equations if e.is_unknown]
        told = ended = False
        for equation in equations:
            if equation.is_unknown and not told:
                names = fence(listed([e.left for e in unknown])) if len(unknown) > 1 else unknown[0].left
                verb = word(" solves" if len(unknown) == 1 else " solve")
                found.items.append(Words(row(word("where "), names, verb)))
                found.items += [Line(e.left, e.right) for e in unknown]
                told = True
            if not equation.is_unknown:
                if told and not ended:
                    found.items.append(Words(word("and")))
                    ended = True
                found.items.append(Line(equation.left, equation.right))

    def _tell(self, found: Stated, asides: Iterable[Aside], told: dict[Tree, set[Any]]) -> None:
        """What was not told before: sentences with their equations."""
        said: set[Any] = set().union(*told.values())
        above = set(said)
        for aside in asides:
            if aside.again is not None and aside.words not in told and above.issuperset(aside.equations):
                found.items.append(Words(aside.again))
                told[aside.words] = set(aside.equations)
                continue
            known = said if aside.stands_alone else told.get(aside.words, set())
            news = [pair for pair in aside.equations if pair not in known]
            if news or aside.words not in told:
                # a long sentence is said once
                if aside.words not in told or aside.words.width <= _SENTENCE:
                    found.items.append(Words(aside.words))
                elif found.items:
                    found.items.append(Words(word("there")))
                found.items += [Line(left, right) for left, right in news]
            told.setdefault(aside.words, set()).update(news)
            above.update(news)

    def _shorten(self, found: Stated) -> None:
        lines = [item for item in found.items if isinstance(item, Line)]
        bases = {_base(read_name(sympy.latex(symbol))) for symbol in self.pen.letters}
        bases |= {_base(item.left) for item in lines}
        letter = next(sign(x) for x in (*_ABBREVIATIONS, "ABB") if x not in bases)
        names = Abbreviations(letter)
        if len(self.variants.listed) == 1 and not self.variants.given:
            # what is an output of the only case needs no other name
            for line in lines:
                if not line.right.arguments:
                    names.named.setdefault(line.right, line.left)
        names.survey(item.right for item in lines)
        items: list[Line | Words] = []
        for item in found.items:
            items.append(Line(item.left, self._narrow(names, item.right)) if isinstance(item, Line) else item)
        if names.hides_letters:
            found.remarks.append("An abbreviation may depend on letters that are minimised or averaged over.")
        if names.definitions:
            items.append(Words(word("with the abbreviations")))
            items += [Line(left, right) for left, right in names.definitions]
        found.items = items

    def _narrow(self, names: Abbreviations, right: Tree) -> Tree:
        if right.kind != "cases":
            return names.shortened(right)
        pairs = []
        for value, condition in zip(right.parts[::2], right.parts[1::2], strict=True):
            is_wide = names.width_of(value) > _BRACE
            pairs.append((names.name_for(value) if is_wide else names.shortened(value), names.shortened(condition)))
        return cases(*pairs)


def _solved_for(statement: Statement, written: Mapping[Any, Any]) -> set[Any]:
    """Letters whose equations are to be solved: those with a start, and those of linear circles, which need none."""
    unknown = {s for s, equation in statement.equations.items() if isinstance(equation, Unknown)}
    if unknown:
        return unknown
    equations = {
        s: sympy.sympify(strip(e), strict=True)
        for s, e in written.items()
        if not isinstance(strip(e), sympy.MatrixBase)
    }
    return circular(equations) if any(s in equations[t].free_symbols for s in equations for t in equations) else set()


def _as_stated(expression: Any) -> Any:
    """An expression without what only helps to compute its operators."""
    if not isinstance(expression, sympy.Basic):
        return expression
    operators = (node for node in distinct_nodes(expression) if isinstance(node, Operator))
    swaps = {node: said for node in operators if (said := node.stated()) is not node}
    return expression.xreplace(swaps) if swaps else expression


def _base(tree: Tree) -> str:
    while tree.kind in ("script", "accent", "row", "link", "scope") and tree.parts:
        tree = tree.parts[0]
    return str(tree.data[1]) if tree.kind == "sign" else ""


def _leaves(name: str, shape: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(shape, Mapping):
        for key, part in shape.items():
            yield from _leaves(f"{name}.{key}", part)
    elif isinstance(shape, (list, tuple)):
        for position, part in enumerate(shape):
            yield from _leaves(f"{name}.{position}", part)
    else:
        yield name, shape


def _symbols(expressions: Sequence[Any]) -> Iterator[Any]:
    for expression in expressions:
        found = sympy.sympify(expression, strict=True) if not isinstance(expression, sympy.MatrixBase) else expression
        yield from found.free_symbols


@cache
def _output(label: str) -> Tree:
    """An output by its name; of one with parts, the part as ``points₁ kappa``."""
    parts: list[Tree] = []
    for name in label.split("."):
        if name.isdecimal() and parts:
            parts[-1] = script(parts[-1], below=number(str(int(name) + 1)))
        else:
            shown = name.replace("_", chr(92) + "_")
            parts += [*([JOINT] if parts else []), sign(rf"\mathrm{{{shown}}}", name, "word")]
    return row(*parts)


__all__ = ["EQUALS", "SUM", "Line", "Stated", "Words", "stated"]
