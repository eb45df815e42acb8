"""Entries: one declared lemma, theorem or result, as frozen data with a function that writes its equations."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import sympy

from theorem_engine.apply import EntryFunction
from theorem_engine.domains import Domain
from theorem_engine.errors import DeclarationError, MissingDefinition, OutOfDomain, TheoremEngineError
from theorem_engine.letters import ABSENT, Letter
from theorem_engine.operators.base import outermost_operators
from theorem_engine.statement import Statement, make_statement, strip

KINDS = ("definition", "lemma", "proposition", "theorem", "corollary", "result", "remark")
_ID = re.compile(r"[a-z][a-z0-9]*\.[a-z0-9]+(?:-[a-z0-9]+)*")
_LABEL = re.compile(r"(Definition|Lemma|Proposition|Theorem|Corollary|Result|Remark) ([0-9.]+)")

#: Provenance marks and what they mean; entries carry the letters, pages the sentences.
MARKS = {
    "A": "exact algebra",
    "D": "derived independently of the paper's text",
    "V": "verified numerically",
    "N": "not in the paper, as far as is known",
    "E": "numerical evidence only",
    "G": "the attribution to this place of the paper is a guess",
}


@dataclass(frozen=True)
class Source:
    """Where a statement stands: a work of ``references.toml`` and a place in it.

    A ``guessed`` label is shown as a guess and gives no alias.
    """

    work: str
    label: str = ""
    version: str = ""
    guessed: bool = False

    def alias(self, paper: str) -> str | None:
        """``paper.theorem-1`` for a label that is known to be "Theorem 1"."""
        match = None if self.guessed else _LABEL.fullmatch(self.label)
        return f"{paper}.{match[1].lower()}-{match[2]}" if match else None

    def __str__(self) -> str:
        place = f", {self.label}" if self.label else ""
        return f"{self.work}{' ' + self.version if self.version else ''}{place}{' (guessed)' if self.guessed else ''}"


@dataclass(frozen=True)
class Output:
    """Meaning of an output and the range its values must lie in."""

    meaning: str
    range: Domain | None = None
    #: Whether the output is there only for some choices of the letters.
    optional: bool = False


@dataclass(frozen=True)
class Regime:
    """Whether the statement is exact or a limit, and what is known of the distance to it."""

    text: str = "exact at finite size"
    limit: str = ""
    correction: str = ""

    def __str__(self) -> str:
        if not self.limit:
            return self.text
        return f"limit {self.limit}" + (f"; correction {self.correction}" if self.correction else "")


EXACT = Regime()


def limit(what: str, correction: str = "") -> Regime:
    """A statement about a limit, with the known order of the finite-size correction."""
    return Regime("limit", what, correction)


@dataclass(frozen=True)
class PositiveSemidefinite:
    """Requirement that a matrix of letters be positive semidefinite, up to rounding."""

    matrix: Any
    meaning: str
    slack: float = 1e-12


@dataclass(frozen=True)
class Holds:
    """Requirement that a relation between letters hold.

    ``only`` restricts it to queries with a value of an option: ("task", "max"), or with several such pairs. A relation
    with what an option's value says (the size of a file) is a function of the options, which gives None where there
    is nothing to require.
    """

    relation: Any
    meaning: str
    only: tuple[Any, ...] | None = None

    def text(self) -> str:
        """The meaning and the relation; an operator has no short text, so that the meaning must do."""
        is_short = hasattr(self.relation, "free_symbols") and not outermost_operators(self.relation)
        return f"{self.meaning} ({self.relation})" if is_short else self.meaning


@dataclass(frozen=True)
class OneOf:
    """Alternatives for the user: exactly one of these groups of letters is given (or at most one)."""

    groups: tuple[tuple[str, ...], ...]
    required: bool = True


@dataclass(frozen=True)
class OnlyWith:
    """A letter that is needed (or may be given) with some values of an option and is refused with the others."""

    letter: str
    option: str
    values: tuple[Any, ...]
    required: bool = True


@dataclass(frozen=True)
class Warn:
    """Where the statement is known to be off at finite size: a relation, and what to tell the user.

    ``only`` restricts it to queries with a value of an option: ("weights", "aligned").
    """

    relation: Any
    message: str
    only: tuple[str, Any] | None = None


@dataclass(frozen=True)
class Exceeds:
    """A number that says how far a finite size is from the statement; above a level the user is told both.

    ``number`` is a function of the options that gives an expression in the letters (and in symbols named like
    ``outputs``, if it is known only after the prediction), or None where there is nothing to say; ``level`` is a
    function of the options too. ``message`` holds {number} and {level}; ``meaning`` is what pages show.
    """

    number: Callable[[Mapping[str, Any]], Any]
    level: Callable[[Mapping[str, Any]], Any]
    message: str
    meaning: str
    outputs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Doubt:
    """An output that, above a level, tells that the statement is only an approximation at this point."""

    output: str
    above: float
    message: str


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
    regime: Regime = EXACT
    requires: tuple[Any, ...] = ()
    #: Conditions on the values that change the equations; the function gets each by its name, as a bool.
    cases: Mapping[str, Any] = field(default_factory=dict)
    #: OneOf and OnlyWith rules about which letters are given together.
    given_rules: tuple[Any, ...] = ()
    warns: tuple[Warn | Exceeds, ...] = ()
    #: Whether one prediction can take many seconds; tests over all entries leave such ones to the campaign.
    costly: bool = False
    #: Outputs that tell where the statement is only approximate; the prediction then says so.
    doubts: tuple[Doubt, ...] = ()
    #: What the error of a double-precision prediction is: "estimated", or "statistical" for means over samples.
    error_kind: str = "estimated"
    checks: tuple[Any, ...] = ()
    marks: str = "D"
    notes: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    _statements: dict[Any, Statement] = field(default_factory=dict, repr=False)

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
        options = {
            x.name: getattr(x.domain, "names", (None,))[0] if x.is_required or x.name in shown else x.default
            for x in self.options
        }
        options.update({x.name: ABSENT for x in self.letters if x.is_optional and x.name not in shown})
        options.update(dict.fromkeys(self.cases, False))
        from theorem_engine.conditions import Undecided

        while True:
            try:
                self.statement(options)
            except Undecided as need:
                # conditions of entries applied: without a point, the ordinary case
                options[need.name] = False
            except TheoremEngineError:
                # what cannot be written can still be asked for its options
                return options
            else:
                return options

    def statement(self, options: Mapping[str, Any] | None = None) -> Statement:
        """The equations for one choice of options, written once per process."""
        chosen = self.default_options() if options is None else dict(options)
        key = tuple(sorted(chosen.items(), key=lambda item: item[0]))
        if key not in self._statements:
            self._statements[key] = self._write(chosen)
        return self._statements[key]

    def _write(self, options: Mapping[str, Any]) -> Statement:
        present = tuple(x for x in self.letters if x.name not in options)
        arguments: dict[str, Any] = {x.name: options.get(x.name, x) for x in self.given}
        arguments.update({name: bool(options.get(name, False)) for name in self.cases})
        arguments = {name: None if value is ABSENT else value for name, value in arguments.items()}
        wanted = inspect.signature(self.body).parameters
        applied = {keyword: EntryFunction(target) for keyword, target in self.needs.items()}
        call = {name: value for name, value in {**arguments, **applied}.items() if name in wanted}
        try:
            equations = self.body(**call)
        except OutOfDomain as error:
            # what a body calls on need not know which entry asked
            raise error if self.id in str(error) else type(error)(f"{self.id}: {error}") from None
        from theorem_engine.conditions import settle

        statement = settle(make_statement(self.id, present, equations), self.cases, options)
        needed = {name for name, output in self.outputs.items() if not output.optional}
        if not needed <= set(statement.outputs) <= set(self.outputs):
            odd = sorted((needed - set(statement.outputs)) | (set(statement.outputs) - set(self.outputs)))
            raise DeclarationError(f"{self.id}: outputs declared and returned differ in {', '.join(odd)}")
        known = set(present) | set(statement.equations)
        for symbol, equation in statement.equations.items():
            for missing in sorted(strip(equation).free_symbols - known, key=str):
                raise MissingDefinition(f"{self.id}: {missing} is used by {symbol} but neither given nor defined")
        return statement

    def latex(self, options: Mapping[str, Any] | None = None) -> list[str]:
        """The defining equations as LaTeX, one string each."""
        lines = []
        for symbol, equation in self.statement(options).equations.items():
            if not symbol.name.startswith("d("):
                lines.append(f"{sympy.latex(symbol)} = {sympy.latex(strip(equation))}")
        return lines

    def __str__(self) -> str:
        return self.id

    def __repr__(self) -> str:
        from theorem_engine.display import entry_text

        return entry_text(self)

    def _repr_html_(self) -> str:
        from theorem_engine.display import entry_html

        return entry_html(self)

    def _repr_latex_(self) -> str:
        return (
            "$$\\begin{aligned}" + r"\\ ".join(line.replace("=", "&=", 1) for line in self.latex()) + "\\end{aligned}$$"
        )


def declare(
    kind: str,
    id: str,
    *,
    title: str,
    source: Source,
    given: tuple[Letter, ...],
    outputs: Mapping[str, Output | str],
    **rest: Any,
) -> Callable[[Callable[..., Mapping[Any, Any]]], Entry]:
    """Declare an entry; the decorated function returns its equations.

    Its positional parameters are the given letters (None where an optional one is absent, the chosen
    value for options), its keyword-only ones the entries it ``needs`` and its ``cases``.
    Keys of the returned mapping are letters (quantities), names (outputs) and ``Partial`` keys.
    """

    def decorate(body: Callable[..., Mapping[Any, Any]]) -> Entry:
        meanings = {name: o if isinstance(o, Output) else Output(o) for name, o in outputs.items()}
        entry = Entry(
            id=id, kind=kind, title=title, given=given, outputs=meanings, source=source, body=body,
            module=body.__module__, **rest,
        )  # fmt: skip
        _check_declaration(entry)
        from theorem_engine.catalogue import register

        register(entry)
        return entry

    return decorate


def _check_declaration(entry: Entry) -> None:
    """What can be seen before the equations are written."""
    if not _ID.fullmatch(entry.id):
        raise DeclarationError(f"{entry.id!r} is no id; ids are paper.meaning in lower case, hyphens inside")
    if not inspect.getdoc(entry.body):
        raise DeclarationError(f"{entry.id}: the function needs a docstring, the statement in words")
    unknown = set(entry.marks) - set(MARKS)
    if unknown:
        raise DeclarationError(f"{entry.id}: no provenance mark {sorted(unknown)}; there are {', '.join(MARKS)}")
    names = [x.name for x in entry.given]
    if len(set(names)) != len(names):
        raise DeclarationError(f"{entry.id}: a given letter is listed twice")
    for name, parameter in inspect.signature(entry.body).parameters.items():
        pool = [*entry.needs, *entry.cases] if parameter.kind is inspect.Parameter.KEYWORD_ONLY else names
        if name not in pool:
            what = "needs` or `cases" if parameter.kind is inspect.Parameter.KEYWORD_ONLY else "given"
            raise DeclarationError(f"{entry.id}: the function's parameter {name!r} is not in `{what}`")
    for name, relation in entry.cases.items():
        if isinstance(relation, sympy.logic.boolalg.BooleanAtom):
            raise DeclarationError(f"{entry.id}: the case {name!r} is {relation} for SymPy whatever the letters are")
    from theorem_engine.references import works_of

    works = works_of(sys.modules.get(entry.module))
    if entry.source.work not in works:
        raise DeclarationError(f"{entry.id}: work {entry.source.work!r} is not in references.toml of its folder")


definition = partial(declare, "definition")
lemma = partial(declare, "lemma")
proposition = partial(declare, "proposition")
theorem = partial(declare, "theorem")
corollary = partial(declare, "corollary")
result = partial(declare, "result")
remark = partial(declare, "remark")
