"""A setting that several entries share: the ways to describe it, and the letters that every way comes to.

A model has parts (a ratio, the moments of a function, a few vectors). Each part can be described in several ways, of
which a query takes one; every way defines the same canonical letters, and statements are written in those alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import sympy
from sympy.logic.boolalg import BooleanAtom

from theorem_engine.base.errors import DeclarationError, OutOfDomain
from theorem_engine.language.application import at_arguments
from theorem_engine.language.letters import Letter
from theorem_engine.language.operators.base import is_operator
from theorem_engine.language.rules import OneOf
from theorem_engine.language.statement import Label, Unknown

Definitions = Mapping[Any, Any]


@dataclass(frozen=True)
class Way:
    """One way to describe a part: the letters a user gives, and what they make of the canonical ones."""

    letters: tuple[Letter, ...]
    #: Letters that go with some values of an option among them; rules of their own say which.
    also: tuple[Letter, ...]
    #: Expressions by canonical letter, or a function of the setting (with its options) that gives them.
    defines: Definitions | Callable[[Setting], Definitions]
    #: Which of the letters go together, and what must hold of them.
    rules: tuple[Any, ...] = ()
    requires: tuple[Any, ...] = ()

    def definitions(self, setting: Setting) -> Definitions:
        """Canonical letters that this way defines."""
        return self.defines(setting) if callable(self.defines) else self.defines


def given(
    *letters: Letter,
    also: tuple[Letter, ...] = (),
    defines: Definitions | Callable[[Setting], Definitions] | None = None,
    rules: tuple[Any, ...] = (),
    requires: tuple[Any, ...] = (),
) -> Way:
    """A way to describe a part of a model: by these letters. Those that are canonical themselves need no definition.

    A canonical letter that is given and defined is changed on the way: what is defined counts. Without letters the
    part is the same in every query.
    """
    return Way(letters, also, {} if defines is None else defines, rules, requires)


def shorthand(letter: Letter, words: Mapping[str, Definitions | Callable[[Setting], Definitions]]) -> Way:
    """A way to describe a part by one word: each stands for values of the canonical letters."""

    def meant(setting: Setting) -> Definitions:
        meaning = words[getattr(setting, letter.name)]
        return meaning(setting) if callable(meaning) else meaning

    return Way((letter,), (), meant)


@dataclass(frozen=True, init=False)
class Alternatives:
    """The ways to describe one part of a model, and the canonical letters that all of them come to.

    A part that need not be described has one way all of whose letters have defaults: it is taken when no other is.
    """

    ways: tuple[Way, ...]
    to: tuple[Letter, ...]

    def __init__(self, *ways: Way, to: Iterable[Letter]) -> None:
        object.__setattr__(self, "ways", ways)
        object.__setattr__(self, "to", tuple(to))
        for way in ways:
            missing = set() if callable(way.defines) else set(self.to) - set(way.letters) - set(way.defines)
            if missing:
                names = ", ".join(sorted(x.name for x in missing))
                raise DeclarationError(f"the way {', '.join(x.name for x in way.letters)} does not define {names}")

    @property
    def is_needed(self) -> bool:
        """Whether a query must describe this part."""
        return not any(all(not (x.is_required or x.is_optional) for x in way.letters) for way in self.ways)

    def rule(self) -> OneOf:
        """Which letters exclude each other."""
        names = tuple(tuple(x.name for x in way.letters) for way in self.ways)
        return OneOf(names, self.is_needed)

    def way(self, setting: Setting) -> Way:
        """The way that was taken: the one with letters that are there."""
        for way in self.ways:
            if not way.letters or any(getattr(setting, x.name) is not None for x in way.letters):
                return way
        raise DeclarationError(f"{setting.owner}: no way to describe {', '.join(x.name for x in self.to)} was taken")


@dataclass(frozen=True, init=False)
class Model:
    """A setting that entries name: its parts by name, the letters users give, the canonical letters statements see.

    >>> from theorem_engine.language.letters import ABSENT, notation
    >>> var = notation("doctest")
    >>> c, p, n = (var(name, name, name, default=ABSENT) for name in "cpn")
    >>> model = Model(ratio=Alternatives(given(c), given(p, n, defines={c: p / n}), to=[c]))
    >>> [x.name for x in model.letters], [x.name for x in model.canonical]
    (['c', 'p', 'n'], ['c'])
    """

    parts: tuple[tuple[str, Alternatives], ...]

    def __init__(self, **parts: Alternatives) -> None:
        object.__setattr__(self, "parts", tuple(parts.items()))

    def also(self, **parts: Alternatives) -> Model:
        """The same model with further parts."""
        return Model(**dict(self.parts), **parts)

    def only(self, *names: str) -> Model:
        """The model of entries that see some of its parts only."""
        return Model(**{name: part for name, part in self.parts if name in names})

    @property
    def letters(self) -> tuple[Letter, ...]:
        """All letters that a user may give, in the order of the parts."""
        return tuple(dict.fromkeys(x for _, part in self.parts for way in part.ways for x in (*way.letters, *way.also)))

    @property
    def canonical(self) -> tuple[Letter, ...]:
        """The letters that statements see."""
        return tuple(dict.fromkeys(x for _, part in self.parts for x in part.to))

    @property
    def rules(self) -> tuple[Any, ...]:
        """Which letters exclude each other or must be given, for parts that leave a choice, and which go together."""
        found: list[Any] = []
        for _, part in self.parts:
            # the letters of an only way may have been declared for models with several
            is_open = part.is_needed and any(x.is_optional for way in part.ways for x in way.letters)
            found += [part.rule()] if len(part.ways) > 1 or is_open else []
            found += [rule for way in part.ways for rule in way.rules]
        return tuple(found)

    @property
    def requires(self) -> tuple[Any, ...]:
        """What must hold of the letters, whatever entry is asked."""
        return tuple(rule for _, part in self.parts for way in part.ways for rule in way.requires)

    def left_out(self, names: Iterable[str]) -> set[str]:
        """Letters that are not there in a query of these names: those of the ways that were not taken."""
        names = set(names)
        absent: set[str] = set()
        for _, part in self.parts:
            groups = [{x.name for x in (*way.letters, *way.also)} for way in part.ways]
            taken = next((group for group in groups if group & names), None)
            if taken is None:
                taken = next((g for g, way in zip(groups, part.ways, strict=True) if _is_silent(way)), set())
            absent |= set().union(*groups) - taken
        return absent

    def definitions(self, setting: Setting) -> dict[Any, Any]:
        """The canonical letters that are not given themselves, by the ways that were taken."""
        found: dict[Any, Any] = {}
        for _, part in self.parts:
            way = part.way(setting)
            stated = way.definitions(setting)
            for letter in part.to:
                if letter in stated:
                    found[letter] = sympy.sympify(stated[letter], strict=True)
                elif getattr(setting, letter.name) is None:
                    raise DeclarationError(f"{setting.owner}: {letter.name} is neither given nor defined here")
        return found


def _is_silent(way: Way) -> bool:
    return all(not (x.is_required or x.is_optional) for x in way.letters)


def _symbols(equation: Any) -> set[Any]:
    """All symbols of an equation, of its starts, or of an output made of several."""
    if isinstance(equation, Mapping):
        return set().union(*map(_symbols, equation.values()))
    if isinstance(equation, (list, tuple)):
        return set().union(*map(_symbols, equation))
    if isinstance(equation, Unknown):
        return set().union(*map(_symbols, (equation.equation, *equation.starts())))
    if isinstance(equation, Label):
        return set(equation.index().free_symbols)
    return set(getattr(equation, "free_symbols", ()))


class Setting:
    """What an author's function sees: the letters by name, options as chosen, None for what was left out.

    A canonical letter is the letter itself, or its value where the way taken makes it a constant or changes what was
    given. The letters among ``zeros`` are 0 where they vanish.
    """

    def __init__(
        self,
        owner: str,
        values: Mapping[str, Any],
        decide: Callable[[Any], bool],
        model: Model | None = None,
        zeros: Iterable[str] = (),
    ) -> None:
        self.owner = owner
        self._values = dict(values)
        self._decide = decide
        self._definitions: dict[Any, Any] = {}
        self._changed: dict[Any, Any] = {}
        # read when a letter that hangs on it is first asked for: much can be said of a setting without
        self._model = model
        self._canonical = frozenset() if model is None else frozenset(x.name for x in model.canonical)
        self._zeros = set(zeros)

    @property
    def definitions(self) -> dict[Any, Any]:
        """What the canonical letters are that were not given, or not given so."""
        self._read_model()
        return {**self._definitions, **self._changed}

    def _read_model(self) -> None:
        model, self._model = self._model, None
        if model is None:
            return
        try:
            found = model.definitions(self)
        except BaseException as error:
            # whoever decides what was open asks again, and so does the next query after one that was interrupted
            self._model = model
            if not isinstance(error, OutOfDomain) or self.owner in str(error):
                raise
            # what a definition calls on need not know which entry asked
            raise type(error)(f"{self.owner}: {error}") from None
        for letter, expression in found.items():
            is_given = self._values[letter.name] is not None
            (self._changed if is_given else self._definitions)[letter] = expression
            is_value = is_given or isinstance(expression, sympy.Rational)
            self._values[letter.name] = expression if is_value else letter

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self._canonical:
            self._read_model()
        if name not in self._values:
            known = ", ".join(self._values)
            raise DeclarationError(f"{self.owner}: the setting has no letter {name!r}; it has {known}")
        if name in self._zeros and self._values[name] is not None:
            if self.when(sympy.Eq(self._values[name], 0)):
                self._values[name] = sympy.S.Zero
            self._zeros.discard(name)
        return self._values[name]

    def has(self, name: str) -> bool:
        """Whether the setting knows a letter or option of this name."""
        return name in self._values

    def when(self, condition: Any) -> bool:
        """Whether a condition on the letters holds: what is written may differ where it does.

        It is decided from the point of a query, from the arguments where the entry is applied, or at each evaluation
        where an operator moves them.
        """
        condition = self.resolved(condition)
        if isinstance(condition, (bool, BooleanAtom)):
            return bool(condition)
        if not condition.free_symbols:
            return bool(isinstance(condition, sympy.Eq) and condition.lhs == condition.rhs)
        return self._decide(condition)

    def with_definitions(self, equations: Mapping[Any, Any]) -> dict[Any, Any]:
        """The equations, and before them the definitions of canonical letters that they use."""
        self._read_model()
        used: dict[Any, Any] = {}
        waiting = [s for equation in equations.values() for s in _symbols(equation)]
        while waiting:
            symbol = waiting.pop()
            if symbol in self._definitions and symbol not in used and symbol not in equations:
                used[symbol] = self._definitions[symbol]
                waiting.extend(used[symbol].free_symbols)
        return {**{s: e for s, e in self._definitions.items() if s in used}, **equations}

    def resolved(self, expression: Any) -> Any:
        """An expression or condition with the definitions of canonical letters in their place.

        An equation that definitions make more than algebra (the moments of a function, say) holds where both sides are
        written alike and nowhere else: numbers could meet it by accident only.
        """
        if any(s.name in self._canonical for s in getattr(expression, "free_symbols", ())):
            self._read_model()
        found = expression
        while getattr(found, "free_symbols", set()) & self._definitions.keys():
            found = at_arguments(found, self._definitions)
        if found is not expression and isinstance(found, sympy.Eq) and not _is_algebraic(found):
            return sympy.S.false
        return found


def _is_algebraic(condition: Any) -> bool:
    """Whether exact numbers decide a condition: it has no operator, and no function but those of sizes and signs."""
    plain = (sympy.Abs, sympy.Max, sympy.Min, sympy.sign)
    nodes = sympy.preorder_traversal(condition)
    return not any(is_operator(n) or (isinstance(n, sympy.Function) and not isinstance(n, plain)) for n in nodes)
