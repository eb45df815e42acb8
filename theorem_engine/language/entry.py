"""Entries: one declared lemma, theorem or result, as frozen data with a function that writes its equations."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Protocol

import sympy

from theorem_engine.base.errors import DeclarationError, MissingDefinition, OutOfDomain, TheoremEngineError
from theorem_engine.language.application import EntryFunction
from theorem_engine.language.conditions import Undecided, settle
from theorem_engine.language.letters import ABSENT, CANONICAL, Letter
from theorem_engine.language.model import Model, Setting
from theorem_engine.language.operators.base import Searched
from theorem_engine.language.recipe import Recipe, prepared, searched
from theorem_engine.language.regime import EXACT, Exact, Limit
from theorem_engine.language.rules import Doubt, Exceeds, OneOf, Warn
from theorem_engine.language.source import Output, Source
from theorem_engine.language.statement import Statement, make_statement, strip

#: The name of the parameter that takes the whole setting.
SETTING = "m"


class Pages(Protocol):
    """What shows entries."""

    def text(self, entry: Entry) -> str:
        """A page of plain text."""

    def html(self, entry: Entry) -> str:
        """The same for a notebook."""


@dataclass(frozen=True, eq=False)
class Entry:
    """A statement of the registry; ``statement(options)`` writes its equations."""

    id: str
    kind: str
    title: str
    given: tuple[Letter, ...]
    outputs: Mapping[str, Output]
    source: Source
    body: Callable[..., Mapping[Any, Any]]
    module: str
    needs: Mapping[str, str] = field(default_factory=dict)
    symbol: str = ""
    assumes: tuple[str, ...] = ()
    regime: Limit | Exact = EXACT
    requires: tuple[Any, ...] = ()
    #: Conditions on the values that change the equations; the function gets each by its name, as a bool.
    cases: Mapping[str, Any] = field(default_factory=dict)
    #: OneOf and OnlyWith rules about which letters are given together.
    given_rules: tuple[Any, ...] = ()
    #: The setting that the entry shares with others, if it does.
    model: Model | None = None
    #: Letters that the function sees as 0 where they vanish, because terms of its equations then drop out.
    zeros: tuple[Letter, ...] = ()
    #: Where solvers start and searches look, by letter; or a function of the setting (and of entries applied).
    recipe: Recipe = field(default_factory=dict)
    warns: tuple[Warn | Exceeds, ...] = ()
    #: Whether one prediction can take many seconds; tests over all entries leave such ones to the campaign.
    costly: bool = False
    #: Outputs that tell where the statement is only approximate; the prediction then says so.
    doubts: tuple[Doubt, ...] = ()
    #: What the error of a double-precision prediction is: "estimated", or "statistical" for means over samples.
    error_kind: str = "estimated"
    checks: tuple[Any, ...] = ()
    #: What must hold between outputs, for the prover (``language/identity.py``); or a function that writes them.
    stated_identities: tuple[Any, ...] | Callable[[], tuple[Any, ...]] = ()
    marks: str = "D"
    notes: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    _statements: dict[Any, Statement] = field(default_factory=dict, repr=False)
    _settings: dict[Any, Setting] = field(default_factory=dict, repr=False)
    #: Conditions that a choice of options leaves open, so that the function need not be run again to find them.
    _undecided: dict[Any, Any] = field(default_factory=dict, repr=False)
    #: Conditions that the function asked about, by the names their outcomes have among the options.
    _conditions: dict[str, Any] = field(default_factory=dict, repr=False)
    #: How an entry is shown, set by whoever makes pages; without it an entry is one line.
    pages: ClassVar[Pages | None] = None
    #: What writes an entry, at the values chosen, as LaTeX; set with the pages.
    typeset: ClassVar[Callable[[Entry, Mapping[str, Any]], str] | None] = None

    @cached_property
    def identities(self) -> tuple[Any, ...]:
        """What must hold between outputs, written when it is first asked for: no prediction needs them."""
        return self.stated_identities() if callable(self.stated_identities) else self.stated_identities

    @property
    def paper(self) -> str:
        """The part of the id before the point."""
        return self.id.partition(".")[0]

    @property
    def name(self) -> str:
        """The part of the id after the point."""
        return self.id.partition(".")[2]

    @property
    def description(self) -> str:
        """The author's docstring: the statement in words."""
        return inspect.getdoc(self.body) or ""

    @property
    def letters(self) -> tuple[Letter, ...]:
        """Given letters that are numbers in the equations."""
        return tuple(x for x in self.given if not x.domain.is_option)

    @property
    def options(self) -> tuple[Letter, ...]:
        """Given letters that choose which equations are written."""
        return tuple(x for x in self.given if x.domain.is_option)

    @property
    def main_output(self) -> str:
        """The output that ``value`` shows."""
        return next(iter(self.outputs))

    def present(self, options: Mapping[str, Any]) -> tuple[Letter, ...]:
        """Letters that are numbers in the statement of these options, in order."""
        letters = self.applied_letters if CANONICAL in options else self.letters
        return tuple(x for x in letters if x.name not in options)

    @property
    def applied_letters(self) -> tuple[Letter, ...]:
        """Letters whose values whoever applies the entry gives: canonical ones in place of the ways to them."""
        if self.model is None:
            return self.letters
        ways = set(self.model.letters)
        return (*self.model.canonical, *(x for x in self.letters if x not in ways))

    @property
    def applied_options(self) -> tuple[Letter, ...]:
        """Options of whoever applies the entry: those that are no way to canonical letters."""
        ways = set(self.model.letters) if self.model else set()
        return tuple(x for x in self.options if x not in ways)

    def condition(self, name: str) -> Any:
        """The condition whose outcome has this name among the options."""
        return self.cases[name] if name in self.cases else self._conditions[name]

    def setting(self, options: Mapping[str, Any]) -> Setting:
        """What the function sees at a choice of options, made once per process."""
        key = _key(options)
        if key not in self._settings:
            self._settings[key] = self._make_setting(dict(options))
        return self._settings[key]

    def read_model(self, options: Mapping[str, Any]) -> None:
        """Ask what the ways taken make of the canonical letters; Undecided where the options do not tell."""
        key = ("model", _key(options))
        if key in self._undecided:
            raise Undecided(self._undecided[key])
        try:
            _ = self.setting(options).definitions
        except Undecided as need:
            self._note_undecided(key, need)
            raise

    def _note_undecided(self, key: Any, need: Undecided) -> None:
        # an entry applied inside may have asked: whoever leaves the condition open will want it by its name
        self._undecided[key] = need.relation
        self._conditions[need.name] = need.relation

    def _make_setting(self, options: Mapping[str, Any]) -> Setting:
        is_applied = CANONICAL in options
        shared = () if self.model is None else (*self.model.letters, *self.model.canonical)
        seen = (*self.applied_letters, *self.applied_options) if is_applied else self.given
        values = {**{x.name: ABSENT for x in shared}, **{x.name: options.get(x.name, x) for x in seen}}
        values = {name: None if value is ABSENT else value for name, value in values.items()}
        model = None if is_applied else self.model
        zeros = [x.name for x in self.zeros]
        return Setting(self.id, values, lambda condition: self._outcome(condition, options), model, zeros)

    def _outcome(self, condition: Any, options: Mapping[str, Any]) -> bool:
        """What the options say of a condition; Undecided where they say nothing yet."""
        need = Undecided(condition)
        if need.name in options:
            return bool(options[need.name])
        unknown = condition.free_symbols - set(self.present(options))
        if unknown:
            names = ", ".join(sorted(map(str, unknown)))
            raise DeclarationError(f"{self.id}: whether {condition} hangs on {names}, which no query gives")
        raise need

    def all_aliases(self) -> tuple[str, ...]:
        """Other names under which the entry is found."""
        label = self.source.alias(self.paper)
        return (*((label,) if label else ()), *self.aliases)

    def default_options(self) -> dict[str, Any]:
        """Options for showing the statement: defaults, else the first choice; what is optional is left out.

        Of alternatives one of which is needed, the first is shown.
        """
        needed = [rule for rule in self.given_rules if isinstance(rule, OneOf) and rule.required]
        shown = {name for rule in needed for name in rule.groups[0]}
        canonical = () if self.model is None else self.model.canonical
        options = {
            x.name: getattr(x.domain, "names", (None,))[0] if x.is_required or x.name in shown else x.default
            for x in self.applied_options
        }
        options.update(
            {
                x.name: ABSENT
                for x in self.applied_letters
                if x.is_optional and x.name not in shown and x not in canonical
            }
        )
        if self.model is not None:
            options[CANONICAL] = True
        return self._in_the_ordinary_case(options)

    def options_with(self, chosen: Mapping[str, Any]) -> dict[str, Any]:
        """Options for showing the statement at a choice of some; of parts of a model left open, the first way."""
        if self.model is None or not {x.name for x in self.model.letters} & set(chosen):
            return self._in_the_ordinary_case({**shown_options(self), **chosen})
        names = set(chosen)
        for _, part in self.model.parts:
            if not names & {x.name for way in part.ways for x in way.letters}:
                names |= {x.name for x in part.ways[0].letters}
        absent = self.model.left_out(names)
        absent |= {
            x.name
            for rule in self.given_rules
            for x in self.given
            if rule.restricts(x.name) and not rule.wants(x.name, self, chosen)
        }
        options = {x.name: ABSENT for x in self.given if x.name in absent}
        for x in self.options:
            if x.name not in absent:
                first = x.default if not x.is_required else getattr(x.domain, "names", (None,))[0]
                options[x.name] = chosen.get(x.name, first)
        return self._in_the_ordinary_case(options)

    def _in_the_ordinary_case(self, options: dict[str, Any]) -> dict[str, Any]:
        """The options, and conditions that they leave open as not met: without a point, the ordinary case."""
        options.update({name: options.get(name, False) for name in self.cases})
        while True:
            try:
                self.statement(options)
            except Undecided as need:
                options[need.name] = False
            except TheoremEngineError:
                # what cannot be written can still be asked for its options
                return options
            else:
                return options

    def statement(self, options: Mapping[str, Any] | None = None) -> Statement:
        """The equations for one choice of options, written once per process."""
        chosen = self.default_options() if options is None else dict(options)
        key = _key(chosen)
        if key in self._undecided:
            raise Undecided(self._undecided[key])
        if key not in self._statements:
            try:
                self._statements[key] = self._write(chosen)
            except Undecided as need:
                self._note_undecided(key, need)
                raise
        return self._statements[key]

    def returned(self, options: Mapping[str, Any]) -> Mapping[Any, Any]:
        """What the author's function returns for these options, with the definitions of the model's letters."""
        try:
            return self.setting(options).with_definitions(_called(self.body, self._call(options)))
        except OutOfDomain as error:
            # what a body calls on need not know which entry asked
            raise error if self.id in str(error) else type(error)(f"{self.id}: {error}") from None

    def _call(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """All that the author's function may ask for, by name."""
        arguments: dict[str, Any] = {x.name: options.get(x.name, x) for x in self.given}
        arguments.update({name: bool(options.get(name, False)) for name in self.cases})
        arguments = {name: None if value is ABSENT else value for name, value in arguments.items()}
        applied = {keyword: EntryFunction(target) for keyword, target in self.needs.items()}
        return {SETTING: self.setting(options), **arguments, **applied}

    def _write(self, options: Mapping[str, Any]) -> Statement:
        present, setting, call = self.present(options), self.setting(options), self._call(options)
        equations = self.returned(options)
        recipe = _called(self.recipe, call) if callable(self.recipe) else self.recipe
        statement = prepared(make_statement(self.id, present, equations), recipe)
        statement = settle(statement, self.cases, options, setting)
        needed = {name for name, output in self.outputs.items() if not output.optional}
        if not needed <= set(statement.outputs) <= set(self.outputs):
            odd = sorted((needed - set(statement.outputs)) | (set(statement.outputs) - set(self.outputs)))
            raise DeclarationError(f"{self.id}: outputs declared and returned differ in {', '.join(odd)}")
        known = set(present) | set(statement.equations)
        for symbol, equation in statement.equations.items():
            for missing in sorted(strip(equation).free_symbols - known, key=str):
                raise MissingDefinition(f"{self.id}: {missing} is used by {symbol} but neither given nor defined")
        return statement

    def searched(self, expression: Any, options: Mapping[str, Any]) -> Any:
        """An expression about the letters (a requirement) with ranges at its searches, as the recipe says."""
        if not expression.has(Searched):
            return expression
        recipe = self.recipe(self.setting(options)) if callable(self.recipe) else self.recipe
        return searched(expression, recipe, self.id)

    def latex(self, **chosen: Any) -> str:
        """The statement as LaTeX for a document with amsmath: definitions, cases, letters, domains.

        ``latex(task="max")`` writes the case asked for; where nothing was set to write pages, the equations alone.
        """
        typeset = type(self).typeset
        if typeset is not None:
            return typeset(self, chosen)
        return "\n".join(self._equation_lines())

    def _equation_lines(self) -> list[str]:
        return [
            f"\\[ {sympy.latex(symbol)} = {sympy.latex(strip(equation))} \\]"
            for symbol, equation in self.statement().equations.items()
            if not symbol.name.startswith("d(")
        ]

    def __str__(self) -> str:
        return self.id

    def __repr__(self) -> str:
        return self.pages.text(self) if self.pages else f"<{self.kind} {self.id}: {self.title}>"

    def _repr_html_(self) -> str | None:
        return self.pages.html(self) if self.pages else None


def _key(options: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted(options.items(), key=lambda item: item[0]))


def _called(function: Callable[..., Any], known: Mapping[str, Any]) -> Any:
    """What an author's function returns, called with what it names."""
    return function(**{name: known[name] for name in inspect.signature(function).parameters if name in known})


def shown_options(entry: Entry) -> dict[str, Any]:
    """Options under which the statement is shown: the defaults, and the first of alternatives that need one."""
    options = entry.default_options()
    for rule in entry.given_rules:
        for name in rule.shown(options):
            options.pop(name, None)
    return options
