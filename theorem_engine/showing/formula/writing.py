"""Expressions as trees: what is elementary here, operators where they are registered."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import sympy
from sympy.logic.boolalg import BooleanAtom

from theorem_engine.language.application import Applied
from theorem_engine.language.functions import UpTo, positive_part
from theorem_engine.language.operators.base import distinct_nodes
from theorem_engine.language.statement import Total
from theorem_engine.showing.formula.lines import plain
from theorem_engine.showing.formula.names import read_form, read_name
from theorem_engine.showing.formula.products import decimal, is_bare_sum, is_big, is_decimal, is_tall, times, whole
from theorem_engine.showing.formula.tree import (
    ATOM,
    EMPTY,
    EQUALS,
    GAP,
    INFINITY,
    JOINT,
    MINUS,
    NEGATIVE,
    ONE,
    PLUS,
    PREFIX,
    PRODUCT,
    RELATION,
    SUM,
    WORD,
    Tree,
    call,
    cases,
    fence,
    held,
    link,
    listed,
    matrix,
    number,
    over,
    root,
    row,
    scope,
    script,
    sign,
    word,
)

#: Exponents up to this width are raised; longer ones are arguments of exp.
_RAISED_WIDTH = 24
#: Entries of at most this many letters are applied by position, others by the letters that differ.
_BY_POSITION = 3
#: Arguments as wide as this that several outputs of an entry share are told once.
_COMMON_WIDTH = 8
_RELATIONS = {
    sympy.Eq: ("=", " = "), sympy.Ne: (r"\neq ", " ≠ "), sympy.Lt: ("<", " < "), sympy.Le: (r"\leq ", " ≤ "),
    sympy.Gt: (">", " > "), sympy.Ge: (r"\geq ", " ≥ "),
}  # fmt: skip
_FUNCTIONS = {
    "log": r"\log", "sin": r"\sin", "cos": r"\cos", "tan": r"\tan", "tanh": r"\tanh", "sinh": r"\sinh",
    "cosh": r"\cosh", "atan": r"\arctan", "asin": r"\arcsin", "acos": r"\arccos", "Max": r"\max", "Min": r"\min",
    "sign": r"\operatorname{sign}", "gamma": r"\Gamma",
}  # fmt: skip
_PLAIN = {"atan": "arctan", "asin": "arcsin", "acos": "arccos", "Max": "max", "Min": "min", "gamma": "Γ"}
#: Functions with a sign of their own, and what pages say of them.
_NAMED = {
    "erf": (r"\operatorname{erf}", "erf", "the error function"),
    "erfc": (r"\operatorname{erfc}", "erfc", "1 − erf"),
    "erfcx": (r"\operatorname{erfcx}", "erfcx", "exp(x²) erfc(x)"),
    "normal_pdf": (r"\varphi", "φ", "density of the standard normal law"),
    "normal_cdf": (r"\Phi", "Φ", "distribution function of the standard normal law"),
    "mills": (r"\mathrm{m}", "m", "Mills ratio Φ(−x)/φ(x)"),
    "OwenT": ("T", "T", "Owen's function: mass of {X > h, 0 < Y < a X} under two normals"),
    "softplus": (r"\operatorname{softplus}", "softplus", "log(1 + exp(x))"),
    "log_softplus": (r"\log\operatorname{softplus}", "log softplus", "logarithm of log(1 + exp(x))"),
    "log1p": (r"\operatorname{log1p}", "log1p", "log(1 + x)"),
    "expm1": (r"\operatorname{expm1}", "expm1", "exp(x) − 1"),
}  # fmt: skip
_E = sign(r"\mathrm{e}", "e", "name")

Writer = Callable[["Pen", Any], Tree]
#: How operators are written, by class; packs may add theirs.
WRITERS: dict[type, Writer] = {}


def writes(*classes: type) -> Callable[[Writer], Writer]:
    """Decorator: the function (pen, node) -> tree that writes nodes of these classes."""

    def register(function: Writer) -> Writer:
        WRITERS.update(dict.fromkeys(classes, function))
        return function

    return register


@dataclass
class Aside:
    """A sentence and equations that explain what an operator is taken over, once for all places that use it."""

    words: Tree
    #: (left, right) pairs; the sign between them is part of the right side where it is no equality.
    equations: tuple[tuple[Tree, Tree], ...] = ()
    #: Whether the sentence stands without those of its equations that were told beside another one.
    stands_alone: bool = False
    #: The sentence where its equations stand above already, beside another one.
    again: Tree | None = None


@dataclass
class Pen:
    """Writes expressions, and keeps what a page must explain: letters, functions, applied entries, asides."""

    #: The options that hold where the statement is shown, so that applications need not repeat them.
    options: dict[str, Any] = field(default_factory=dict)
    letters: dict[Any, str] = field(default_factory=dict)
    functions: dict[str, str] = field(default_factory=dict)
    applied: dict[str, Tree] = field(default_factory=dict)
    asides: dict[Any, Aside] = field(default_factory=dict)
    #: Bound letters that an abbreviation of their surroundings must be a function of.
    bound: set[Any] = field(default_factory=set)
    #: What is minimised, by the letters it is minimised over.
    minimised: dict[tuple[Any, ...], list[Any]] = field(default_factory=dict)
    #: Entries of matrices as they are written, which takes long.
    entries: dict[Any, tuple[Tree, ...]] = field(default_factory=dict)
    #: Whether an application left out letters of the same name, or an argument is named by its position.
    leaves_out: bool = False
    by_position: bool = False
    outputs: dict[str, Tree] = field(default_factory=dict)
    #: Arguments that several outputs of an entry are applied at: they are told once.
    common: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    _memory: dict[Any, Tree] = field(default_factory=dict)
    _names: dict[Any, Tree] = field(default_factory=dict)

    def begin(self, options: dict[str, Any], afresh: bool) -> None:
        """Go on to another case: applications are written for its options, and afresh nothing is named or told yet."""
        self.options = options
        self._memory.clear()
        if afresh:
            self.asides, self._names = {}, {}

    def look_over(self, expressions: Iterable[Any]) -> None:
        """See which entries are applied at the same arguments for several of their outputs."""
        seen: dict[str, dict[tuple[Any, ...], set[str]]] = {}
        for expression in expressions:
            for node in distinct_nodes(expression) if isinstance(expression, sympy.Basic) else ():
                if isinstance(node, Applied):
                    seen.setdefault(node.entry_id, {}).setdefault(node.args, set()).add(node.output)
        self.common = {
            id: next(iter(places)) for id, places in seen.items()
            if len(places) == 1 and len(next(iter(places.values()))) > 2
        }  # fmt: skip

    def write(self, expression: Any) -> Tree:
        """The tree of an expression."""
        if expression not in self._memory:
            self._memory[expression] = self._written(expression)
        return self._memory[expression]

    def name(self, letter: Any, meaning: str = "") -> Tree:
        """A letter by its sign; its meaning is kept for the page."""
        if isinstance(letter, Marked):
            return letter.tree
        if meaning or not self.letters.get(letter):
            self.letters[letter] = getattr(letter, "meaning", "") or meaning or self.letters.get(letter, "")
        tree = read_name(sympy.latex(letter))
        if letter in self.bound:
            return Tree(tree.kind, tree.parts, tree.data, tree.level, frozenset({letter}))
        return tree

    def bind(self, letters: Any, meaning: str) -> list[Tree]:
        """Letters that an operator binds, as signs that abbreviations take as arguments."""
        self.bound |= set(letters)
        return [self.name(letter, meaning) for letter in letters]

    def distinct(self, group: str, key: Any, tree: Tree) -> Tree:
        """The sign for a thing; with primes where the same sign stands for another thing of its group already."""
        known: dict[Any, Tree] = self._names.setdefault((group, tree), {})  # type: ignore[arg-type, assignment]
        if key not in known:
            marks = len(known)
            prime = sign(r"\prime" * marks if marks < 4 else f"({marks})", "′" * marks if marks < 4 else f"({marks})")
            known[key] = tree if not marks else Tree("script", (*_split(tree), prime), level=ATOM)
        return known[key]

    # what is elementary

    def _written(self, e: Any) -> Tree:
        for base in type(e).__mro__:
            if base in WRITERS:
                return WRITERS[base](self, e)
        if isinstance(e, Applied):
            return self.application(e)
        if isinstance(e, sympy.Symbol):
            if e.name.startswith("output:"):
                return self.outputs.get(e.name[7:], word(e.name[7:]))
            return self.name(e)
        if isinstance(e, sympy.Number) or e in (sympy.oo, -sympy.oo):
            return self._number(e)
        for kind, writer in (
            (sympy.Add, self._sum), (sympy.Mul, self._product), (sympy.Pow, self._power),
            (sympy.exp, lambda x: self._power_of_e(x.args[0])), (Total, self._total),
            (sympy.Piecewise, self._piecewise),
            (sympy.Integral, self._integral), (sympy.Abs, lambda x: fence(self.write(x.args[0]), "|", "|")),
            (UpTo, lambda x: self._sum_with_error(*x.args)),
            (positive_part, lambda x: script(call(EMPTY, self.write(x.args[0])), below=sign("+", "+"))),
            (sympy.MatrixBase, self._matrix), ((sympy.Function, sympy.Max, sympy.Min), self._function),
            (sympy.logic.boolalg.BooleanFunction, self._logic), (sympy.core.relational.Relational, self._relation),
            (BooleanAtom, lambda x: word(str(bool(x)).lower())),
        ):  # fmt: skip
            if isinstance(e, kind):
                return writer(e)
        constants = {sympy.pi: (r"\pi", "π"), sympy.E: (r"\mathrm{e}", "e"), sympy.I: (r"\mathrm{i}", "i")}
        if e in constants:
            return sign(*constants[e])
        return self._own_form(e)

    def _number(self, e: Any) -> Tree:
        if e in (sympy.oo, -sympy.oo):
            return INFINITY if e == sympy.oo else row(NEGATIVE, INFINITY, level=SUM)
        if e.is_Rational and is_decimal(e):
            size = decimal(abs(e))
        elif e.is_Rational and not e.is_Integer:
            size = over(whole(sympy.Integer(abs(e.p))), whole(sympy.Integer(e.q)))
        else:
            size = whole(abs(e))
        return size if e >= 0 else row(NEGATIVE, size, level=SUM)

    def _sum(self, e: Any) -> Tree:
        terms = e.as_ordered_terms() if len(e.args) < 40 else list(e.args)
        positive = [t for t in terms if not t.could_extract_minus_sign()]
        constants = [t for t in positive if t.is_number]
        rest = [t for t in terms if t not in constants]
        if not constants and positive:
            rest = [positive[0], *(t for t in terms if t is not positive[0])]
        parts: list[Tree] = []
        for term in (*constants, *rest):
            is_negative = term.could_extract_minus_sign()
            tree = self.write(-term if is_negative else term)
            tree = fence(tree) if is_negative and tree.level == SUM else tree
            if parts:
                parts.append(MINUS if is_negative else PLUS)
            elif is_negative:
                parts.append(NEGATIVE)
            parts.append(tree)
        return Tree("row", tuple(parts), level=SUM)

    def _product(self, e: Any) -> Tree:
        if e.could_extract_minus_sign() and not is_bare_sum(-e):
            inner = self.write(-e)
            return Tree("row", (NEGATIVE, held(inner, PRODUCT)), level=SUM)
        coefficient, factors = e.as_coeff_mul()
        if coefficient.is_negative:
            return Tree("row", (NEGATIVE, held(self.write(-e), PRODUCT)), level=SUM)
        ordered = sympy.Mul(*factors, evaluate=False).as_ordered_factors() if len(factors) < 30 else factors
        big = [f for f in factors if is_big(f)]
        if big and len(big) < len(factors) + (coefficient != 1):
            # what is taken over a range stands behind the rest, outside of any fraction
            rest = self.write(sympy.Mul(coefficient, *(f for f in factors if f not in big)))
            return times([held(rest, PRODUCT), *map(self.write, big)])
        above: list[Tree] = []
        below: list[Tree] = []
        roots: dict[bool, list[Any]] = {True: [], False: []}
        for factor in ordered:
            base, exponent = factor.as_base_exp()
            if isinstance(factor, sympy.Pow) and abs(exponent) == sympy.S.Half and _joins(base, roots[exponent > 0]):
                roots[bool(exponent > 0)].append(base)
            elif isinstance(factor, sympy.Pow) and exponent.is_number and exponent.is_negative:
                below.append(self.write(sympy.Pow(base, -exponent)))
            else:
                above.append(self.write(factor))
        front, under = self._coefficient(coefficient, roots)
        for is_above, is_number, tree in self._roots(roots):
            # roots of numbers stand in front of letters
            (front if is_above else under).append(tree) if is_number else (above if is_above else below).append(tree)
        above, below = [*front, *above], [*under, *below]
        top = times(above) if above else ONE
        return over(top, times(below)) if below else top

    def _coefficient(self, coefficient: Any, roots: dict[bool, list[Any]]) -> tuple[list[Tree], list[Tree]]:
        """The number of a product, above and below; half the root of two becomes one over it."""
        for base in [b for b in roots[True] if b.is_Integer]:
            if coefficient.is_Rational and coefficient.q % base == 0:
                coefficient = coefficient * base
                roots[True].remove(base)
                roots[False].append(base)
        if not coefficient.is_Rational:
            return [self.write(coefficient)], []
        if is_decimal(coefficient):
            return [decimal(coefficient)], []
        p, q = sympy.Integer(coefficient.p), sympy.Integer(coefficient.q)
        return [whole(p)] if p != 1 else [], [whole(q)] if q != 1 else []

    def _roots(self, roots: dict[bool, list[Any]]) -> list[tuple[bool, bool, Tree]]:
        """Roots above and below, which SymPy takes apart, each with whether it is a number; over a number as one."""
        has_letters = {where: not all(b.is_number for b in bases) for where, bases in roots.items()}
        if all(roots.values()) and not has_letters[False]:
            both = over(self._under_root(roots[True]), self._under_root(roots[False]))
            return [(True, not has_letters[True], root(both))]
        found = [(where, bases) for where, bases in roots.items() if bases]
        return [(where, not has_letters[where], root(self._under_root(bases))) for where, bases in found]

    def _under_root(self, bases: list[Any]) -> Tree:
        """What stands under the root of a product."""
        if len(bases) > 1 and any(b.is_Pow and b.exp.is_negative for b in bases):
            return self.write(sympy.Mul(*bases))
        numbers_first = sorted(bases, key=lambda b: (not b.is_Integer, not b.is_number))
        return times([held(self.write(b), PRODUCT) for b in numbers_first])

    def _power(self, e: Any) -> Tree:
        base, exponent = e.args
        if base == sympy.E:
            return self._power_of_e(exponent)
        if exponent.is_number and exponent.is_negative:
            return over(ONE, self.write(sympy.Pow(base, -exponent)))
        if exponent == sympy.S.Half:
            return root(self.write(base))
        return script(held(self.write(base), ATOM), above=self.write(exponent))

    def _power_of_e(self, exponent: Any) -> Tree:
        inner = self.write(exponent)
        if inner.width <= _RAISED_WIDTH and not is_tall(inner):
            return script(_E, above=inner)
        return call(sign(r"\exp", "exp", PREFIX), inner)

    def _function(self, e: Any) -> Tree:
        name = type(e).__name__
        if name in _NAMED:
            form, text, meaning = _NAMED[name]
            self.functions[text] = meaning
            head = sign(form, text, WORD if len(text) > 1 else "name")
        elif name in _FUNCTIONS:
            head = sign(_FUNCTIONS[name], _PLAIN.get(name, name), PREFIX if name in ("Max", "Min") else WORD)
        else:
            return self._own_form(e)
        return call(head, *(self.write(arg) for arg in e.args))

    def _relation(self, e: Any) -> Tree:
        form, text = _RELATIONS[type(e)]
        return row(self.write(e.lhs), sign(form, text, RELATION), self.write(e.rhs), level=SUM)

    def _logic(self, e: Any) -> Tree:
        if isinstance(e, sympy.Not):
            return row(word("not "), held(self.write(e.args[0]), ATOM), level=SUM)
        joint = word(" and ") if isinstance(e, sympy.And) else word(" or ")
        return listed([self.write(arg) for arg in e.args], sign(joint.data[0], joint.data[1], "binary"))

    def _piecewise(self, e: Any) -> Tree:
        rows = [(self.write(v), EMPTY if c == True else self.write(c)) for v, c in e.args]  # noqa: E712
        return cases(*rows)

    def _sum_with_error(self, value: Any, left: Any) -> Tree:
        """A value and what an expansion leaves out of it."""
        plus_minus = sign(r"\pm", " ± ", "binary")
        return fence(row(self.write(value), plus_minus, self.write(left), level=SUM), "(", ")")

    def _matrix(self, e: Any) -> Tree:
        return matrix(e.cols, tuple(self.write(x) for x in e))

    def _integral(self, e: Any) -> Tree:
        signs: list[Tree] = []
        ends: list[Tree] = []
        letters = tuple(limit[0] for limit in e.limits)
        for letter, name in zip(letters, self.bind(letters, "variable of integration"), strict=True):
            bounds = next(limit for limit in e.limits if limit[0] == letter)[1:]
            low, high = (self.write(bound) for bound in bounds) if len(bounds) == 2 else (EMPTY, EMPTY)
            signs.append(Tree("script", (sign(r"\int", "∫", "name"), low, high), level=ATOM))
            ends += [JOINT, sign(r"\mathrm{d}", "d"), name]
        body = held(self.write(e.function), PRODUCT)
        return scope(row(*signs, JOINT, body, *ends, level=PRODUCT), frozenset(letters))

    def _total(self, e: Any) -> Tree:
        inner, letter = e.args
        d = sign(r"\mathrm{d}", "d")
        body = self.write(inner)
        if body.width <= 12:
            return over(row(d, JOINT if body.width > 2 else EMPTY, held(body, ATOM)), row(d, self.write(letter)))
        return row(over(d, row(d, self.write(letter))), fence(body, "[", "]"), level=PRODUCT)

    # entries that are applied

    def application(self, node: Any) -> Tree:
        """An applied entry: its sign, what it is differentiated in, and its arguments."""
        from theorem_engine.language.catalogue import find_entry

        entry = find_entry(node.entry_id)
        head = symbol_of(entry)
        self.applied[entry.id] = head
        if node.output != entry.main_output:
            head = Tree("script", (*_split(head), _output_word(node.output)), level=ATOM)
        head = link(head, entry.id)
        present = entry.present(dict(node.options))
        positional = len(present) <= _BY_POSITION
        if node.derivatives:
            letters = {x.name: x for x in present}
            if positional:
                places = [str(list(letters).index(name) + 1) for name in node.derivatives]
                below = number("".join(places))
                self.by_position = True
            else:
                names = [self.name(letters[name]) for name in node.derivatives]
                below = row(*names) if all(x.kind == "sign" for x in names) else listed(names)
            head = row(script(sign(r"\partial", "∂"), below), GAP, head, level=ATOM)
        arguments: list[Tree] = []
        pairs: list[tuple[Tree, Tree]] = []
        silent: frozenset[Any] = frozenset()
        for letter, value in zip(present, node.args, strict=True):
            tree = self.write(value)
            if positional:
                arguments.append(tree)
            elif tree != self.name(letter):
                pairs.append((self.name(letter), tree))
            else:
                # what is not written may be bound all the same
                silent |= tree.arguments
        if not positional and len(pairs) < len(present):
            self.leaves_out = True
        if sum(tree.width for _, tree in pairs) >= _COMMON_WIDTH and self.common.get(node.entry_id) == node.args:
            words = row(link(symbol_of(entry), entry.id), word(" is taken at"))
            self.asides.setdefault(("taken", entry.id), Aside(words, tuple(pairs)))
        else:
            arguments += [row(name, EQUALS, tree, level=SUM) for name, tree in pairs]
        chosen = self._chosen(entry, node)
        if chosen:
            arguments.append(listed([word(value) for value in chosen]))
        found = call(head, *arguments) if arguments else head
        return Tree(found.kind, found.parts, found.data, found.level, found.arguments | silent)

    def _chosen(self, entry: Any, node: Any) -> list[str]:
        """Values of options that the application fixes and the page does not."""
        options = dict(node.options)
        return [
            str(options[x.name])
            for x in entry.applied_options
            if isinstance(options.get(x.name), str) and self.options.get(x.name) != options[x.name]
        ]

    def _own_form(self, e: Any) -> Tree:
        """A node that is written through its own LaTeX, its parts as trees."""
        slots = _Slots()
        if hasattr(e, "_latex"):
            form = e._latex(slots)
            return read_form(form, {k: held(self.write(part), ATOM) for k, part in enumerate(slots.parts)})
        name = sign(rf"\operatorname{{{type(e).__name__}}}", type(e).__name__, WORD)
        return call(name, *(self.write(arg) for arg in e.args)) if e.args else name


class Marked(sympy.Symbol):
    """A symbol that is written as a given tree: a letter with the number of its token, say."""

    __slots__ = ("tree",)
    tree: Tree

    def __new__(cls, tree: Tree, **assumptions: Any) -> Any:
        """Symbols with trees that read alike are the same."""
        found = sympy.Symbol.__xnew__(cls, plain(tree), **{"commutative": True, **assumptions})
        found.tree = tree
        return found


class _Slots:
    """Stands where a node expects SymPy's LaTeX printer, and keeps the parts it is asked to print."""

    def __init__(self) -> None:
        self.parts: list[Any] = []

    def _print(self, part: Any) -> str:
        self.parts.append(part)
        return rf"\slot{{{len(self.parts) - 1}}}"


def _joins(base: Any, others: list[Any]) -> bool:
    """Whether the root of a number times those of others is the root of the product: all but one are not negative."""
    return bool(base.is_nonnegative) or all(other.is_nonnegative for other in others)


def symbol_of(entry: Any) -> Tree:
    """The sign of an entry: what its author chose, else its name."""
    return read_name(entry.symbol) if entry.symbol else word(entry.name)


def _output_word(name: str) -> Tree:
    return sign(rf"\mathrm{{{name.replace('_', chr(92) + '_')}}}", name, WORD)


def _split(tree: Tree) -> tuple[Tree, Tree]:
    """A letter and its index."""
    return (tree.parts[0], tree.parts[1]) if tree.kind == "script" else (tree, EMPTY)
