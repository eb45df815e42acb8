"""What is exported: an entry at a choice of options, some letters fixed; its arguments and outputs."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from theorem_engine.asking.point import meets, read_letter
from theorem_engine.base.errors import BadRequest, NotAvailable, TheoremEngineError, UnknownParameter, nearest
from theorem_engine.base.exact import NotANumber, as_float, read_number, to_text
from theorem_engine.base.version import __version__
from theorem_engine.language.conditions import Undecided
from theorem_engine.language.domains import ComplexPlane, Interval
from theorem_engine.language.entry import Entry, shown_options
from theorem_engine.language.letters import ABSENT, CANONICAL, Letter
from theorem_engine.language.statement import LabelSlot, Statement
from theorem_engine.showing.export.program import drops_terms


@dataclass(frozen=True)
class Argument:
    """A letter that the exported function takes."""

    letter: Letter
    name: str
    #: As text of code, or None.
    default: str | None

    @property
    def is_complex(self) -> bool:
        """Whether it is any number of the complex plane."""
        return isinstance(self.letter.domain, ComplexPlane)


@dataclass(frozen=True, eq=False)
class Task:
    """An entry made ready for another language."""

    entry: Entry
    options: Mapping[str, Any]
    statement: Statement
    #: Letters with a value that is written into the code, in exact form.
    fixed: Mapping[Letter, Any]
    arguments: tuple[Argument, ...]
    #: Outputs by name, each the symbol of a number.
    outputs: Mapping[str, Any]
    #: Conditions that would make the statement another one.
    excluded: tuple[Any, ...]
    #: What the numbers of outputs that are words mean.
    words: Mapping[str, str]
    #: Options as they were chosen.
    chosen: Mapping[str, Any]
    #: Whether all outputs were asked for.
    is_whole: bool
    #: Conditions that are taken as met.
    conditions: tuple[Any, ...] = ()

    def met(self, relation: Any) -> Task | None:
        """The task in the case in which a condition is met; None where it lacks an output of this one."""
        met = (*self.conditions, relation)
        try:
            options, statement, excluded = _decided(self.entry, self.chosen, self.fixed, met)
        except NotAvailable:
            return None
        found, words = _outputs(self.entry, statement, None)
        if not set(self.outputs) <= set(found) or set(statement.given) != set(self.statement.given):
            return None
        outputs = {name: found[name] for name in self.outputs}
        # each condition leads on from where the one before was not met
        left = tuple(r for r in excluded if r not in self.excluded[: self.excluded.index(relation)])
        return replace(
            self, options=options, statement=statement, outputs=outputs, excluded=left, words=words, conditions=met
        )

    def at(self, values: Mapping[Letter, Any]) -> Task:
        """The task in the case that these values choose, as far as cases have code of their own."""
        for relation in self.excluded:
            if relation.free_symbols <= set(values) and meets(relation, values):
                other = self.met(relation)
                return self if other is None else other.at(values)
        return self

    @property
    def name(self) -> str:
        """The id as an identifier."""
        return self.entry.id.replace(".", "_").replace("-", "_")

    @property
    def title(self) -> str:
        """The first line of the code."""
        return f"{self.entry.id}: {self.entry.title}."

    def ordered(self) -> list[Argument]:
        """Arguments without a default first."""
        return sorted(self.arguments, key=lambda a: a.default is not None)

    def domain_tests(self) -> Iterator[tuple[str, str, str]]:
        """Each argument in an interval with ends: name, test, domain."""
        for argument in self.arguments:
            domain = argument.letter.domain
            low, high = getattr(domain, "low", None), getattr(domain, "high", None)
            tests = []
            if low is not None and low != -math.inf:
                is_open = isinstance(domain, Interval) and domain.is_open_below
                tests.append(f"{argument.name} {'>' if is_open else '>='} {float(low)!r}")
            if high is not None and high != math.inf:
                is_open = isinstance(domain, Interval) and domain.is_open_above
                tests.append(f"{argument.name} {'<' if is_open else '<='} {float(high)!r}")
            for test in tests:
                yield argument.name, test, domain.describe()

    def lines(self, remark: str) -> list[str]:
        """What a reader of the code should know."""
        entry = self.entry
        found = [
            f"Source: {entry.source}. Regime: {entry.regime}. Written by theorem-engine {__version__}.",
            "",
            "Letters:",
        ]
        found += [f"  {a.name}: {a.letter.meaning}; {a.letter.domain.describe()}" for a in self.arguments]
        found += [f"  {x.name} = {to_text(v)}: {x.meaning} (fixed)" for x, v in self.fixed.items()]
        chosen = [x.name for x in entry.options if x.name in self.options and self.options[x.name] is not ABSENT]
        found += [f"  {name} = {self.options[name]} (chosen)" for name in chosen if self.options[name] is not None]
        found.append("Outputs:")
        for name in self.outputs:
            meaning = (
                entry.outputs[name.partition("_part_")[0]].meaning
                if name.partition("_part_")[0] in entry.outputs
                else ""
            )
            found.append(f"  {name}: {self.words.get(name, meaning)}")
        for relation in self.excluded:
            other = self.met(relation)
            there = {} if other is None or not self.is_whole else _outputs(entry, other.statement, None)[0]
            if more := [name for name in there if name not in self.outputs]:
                found.append(f"Where {relation} there is also {', '.join(more)}, which is not in this code.")
        if entry.requires:
            found.append("Conditions that join several letters are not checked here.")
        found += ["", remark]
        return [part for line in found for part in (textwrap.wrap(line, 110, subsequent_indent="    ") or [""])]


def make_task(entry: Entry, at: Mapping[str, Any], outputs: Sequence[str] | None = None) -> Task:
    """Read what is fixed, decide which statement that chooses, and list arguments and outputs."""
    letters = _letters(entry)
    chosen: dict[str, Any] = {}
    fixed: dict[Letter, Any] = {}
    for name, raw in at.items():
        if name not in letters:
            raise UnknownParameter(
                f"{entry.id} has no parameter {str(name)[:60]!r}{nearest(str(name)[:60], letters, 1)}. It takes "
                f"{', '.join(letters)}."
            )
        value = read_letter(entry, letters[name], raw)
        if letters[name].domain.is_option or isinstance(value, str):
            chosen[name] = value
        else:
            fixed[letters[name]] = value
    options, statement, excluded = _decided(entry, chosen, fixed)
    present = set(statement.given)
    for letter in fixed:
        if letter not in present:
            raise BadRequest(f"{entry.id}: {letter.name} does not occur in the statement that is exported")
    arguments = tuple(_argument(x) for x in statement.given if x not in fixed)
    found, words = _outputs(entry, statement, outputs)
    return Task(entry, options, statement, fixed, arguments, found, excluded, words, chosen, outputs is None)


def _letters(entry: Entry) -> dict[str, Letter]:
    known = {x.name: x for x in entry.applied_letters}
    known.update({x.name: x for x in entry.given})
    return known


def _decided(
    entry: Entry, chosen: Mapping[str, Any], fixed: Mapping[Letter, Any], met: Sequence[Any] = ()
) -> tuple[dict[str, Any], Statement, tuple[Any, ...]]:
    """Options, the statement, and the conditions that were taken as not met: all that nothing decides but ``met``."""
    ways = (
        set()
        if entry.model is None
        else {x.name for x in entry.model.letters} - {x.name for x in entry.model.canonical}
    )
    if ways & ({*chosen, *(x.name for x in fixed)}):
        options = entry.options_with({**chosen, **{x.name: v for x, v in fixed.items()}})
        options = {name: v for name, v in options.items() if name not in {x.name for x in fixed}}
    else:
        options = {**shown_options(entry), **chosen}
    options = {name: value for name, value in options.items() if name == CANONICAL or not _is_condition(entry, name)}
    for letter in fixed:
        options.pop(letter.name, None)
    excluded: list[Any] = []

    def outcome(relation: Any) -> bool:
        if relation in met:
            return True
        if relation.free_symbols <= set(fixed):
            return meets(relation, fixed)
        if not drops_terms(entry, relation):
            excluded.append(relation)
        return False

    options.update({name: outcome(relation) for name, relation in entry.cases.items()})
    while True:
        try:
            return options, entry.statement(options), tuple(excluded)
        except Undecided as need:
            options[need.name] = outcome(need.relation)
        except TheoremEngineError as error:
            raise NotAvailable(f"{entry.id}: no statement can be written for this choice: {error}") from None


def _is_condition(entry: Entry, name: str) -> bool:
    return name in entry.cases or name.startswith("(")


def _argument(letter: Letter) -> Argument:
    default = None
    if not letter.is_required and letter.default is not ABSENT:
        try:
            default = repr(as_float(read_number(letter.default)))
        except NotANumber:
            default = None
    return Argument(letter, letter.name, default)


def _outputs(entry: Entry, statement: Statement, wanted: Sequence[str] | None) -> tuple[dict[str, Any], dict[str, str]]:
    for name in wanted or ():
        if name not in statement.outputs:
            raise BadRequest(f"{entry.id} has no output {name[:40]!r}{nearest(name, statement.outputs)}")
    found: dict[str, Any] = {}
    words: dict[str, str] = {}

    def visit(name: str, shape: Any) -> None:
        if isinstance(shape, LabelSlot):
            found[name] = shape.symbol
            listed = [*(word for _, word in shape.label.cases), shape.label.otherwise]
            words[name] = ", ".join(f"{i} = {word}" for i, word in enumerate(listed))
        elif isinstance(shape, Mapping):
            for key, part in shape.items():
                visit(f"{name}_part_{key}", part)
        elif isinstance(shape, (list, tuple)):
            for i, part in enumerate(shape):
                visit(f"{name}_part_{i}", part)
        elif not isinstance(shape, str):
            found[name] = shape

    for name, shape in statement.outputs.items():
        if wanted is None or name in wanted:
            visit(name, shape)
    return found, words
