"""The cases of a statement: values of options, and conditions on letters that change the equations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import sympy
from sympy.logic.boolalg import BooleanAtom

from theorem_engine.base.errors import BadRequest, OutOfDomain, TheoremEngineError, nearest
from theorem_engine.base.exact import to_text
from theorem_engine.language.application import at_arguments
from theorem_engine.language.conditions import Undecided
from theorem_engine.language.domains import Rejected
from theorem_engine.language.entry import Entry, shown_options
from theorem_engine.language.letters import ABSENT, CANONICAL, OPEN
from theorem_engine.language.statement import Statement, strip
from theorem_engine.showing.formula.tree import COMMA_SIGN, EMPTY, EQUALS, Tree, listed, row, word
from theorem_engine.showing.formula.writing import Pen

#: All combinations of the options are shown where there are no more, each else beside the first values of the others.
_COMBINED = 4
#: So many variants of a statement are shown in braces; of more, each is shown by what differs from the first.
IN_BRACES = 4
#: So many conditions are looked into, and so many that hold together.
_CONDITIONS, _HELD = 6, 3


@dataclass(frozen=True)
class Variant:
    """A statement, the options it is written for, and the condition that tells it from others."""

    condition: Tree
    options: Mapping[str, Any]
    statement: Statement
    #: Whether no condition on letters holds.
    is_ordinary: bool = True
    #: The part of the condition that names options, and the part on letters.
    choice: Tree = EMPTY
    held: Tree = EMPTY


@dataclass
class Variants:
    """The variants that a page shows, the ordinary one first, and what it says of those it does not."""

    listed: list[Variant] = field(default_factory=list)
    #: The ordinary case once more for each letter that may be left out, where giving it changes the statement.
    given: list[Variant] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    #: Whether there are more choices of options than are looked at: how to see them is said.
    has_others: bool = False
    #: Whether all are shown beside each other; else each by what differs from the first.
    in_braces: bool = True


def variants_of(entry: Entry, chosen: Mapping[str, Any]) -> Variants:
    """The variants of a statement at the values chosen."""
    return _Cases(entry, read_values(entry, chosen)).variants()


def read_values(entry: Entry, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Values of letters given as text, each in its domain."""
    known = {x.name: x for x in entry.given}
    found = {}
    for name, value in chosen.items():
        if name not in known:
            raise BadRequest(f"{entry.id} has no letter {name[:40]!r}{nearest(name[:40], known, 1)}")
        try:
            found[name] = known[name].domain.read(value)
        except Rejected as error:
            raise OutOfDomain(f"{entry.id}: {name}={str(value)[:40]} {error}") from None
    return found


class _Cases:
    """Looks for the cases of one entry."""

    def __init__(self, entry: Entry, chosen: dict[str, Any]) -> None:
        self.entry, self.chosen = entry, chosen
        self.pen = Pen()
        self.found = Variants()
        self._shown = shown_options(entry)

    def variants(self) -> Variants:
        """The ordinary case, then what differs from it."""
        options = self._open_options()
        combined = 1
        for _, values in options:
            combined *= len(values)
        first = {name: values[0] for name, values in options}
        if combined <= _COMBINED:
            choices = [dict(zip(first, values, strict=True)) for values in product(*(v for _, v in options))]
        else:
            choices = [first, *({**first, name: v} for name, values in options for v in values[1:])]
            axes = "; ".join(f"{name} = {', '.join(map(to_text, values))}" for name, values in options)
            self.found.remarks.append(
                f"Shown first for {', '.join(f'{k} = {to_text(v)}' for k, v in first.items())}, then where one of "
                f"these differs. For any other choice: theorem-engine show {self.entry.id} "
                f"{' '.join(f'{name}=...' for name, _ in options)} ({axes})."
            )
        varying = [name for name, values in options if len(values) > 1]
        many = combined > _COMBINED
        for choice in choices:
            shown = [name for name in varying if not many or choice[name] != first[name]]
            self._choose(choice, shown, is_first=choice is choices[0], deep=not many or choice is choices[0])
        self.found.has_others = many
        self.found.in_braces = not many and len(self.found.listed) <= IN_BRACES
        if not self.found.in_braces:
            self._put_the_ordinary_first()
        if not self.found.listed:
            raise BadRequest(f"{self.entry.id} has no statement for these values: {self._refusal}")
        self._give_the_rest(first)
        return self.found

    def _put_the_ordinary_first(self) -> None:
        """For variants told one after the other: of each choice the ordinary case, then what holds in its place."""
        groups: dict[Tree, list[Variant]] = {}
        for variant in self.found.listed:
            groups.setdefault(variant.choice, []).append(variant)
        if any(len(group) > 2 for group in groups.values()):
            self.found.remarks.append("Where several of these cases hold, the last of them counts.")
        self.found.listed = [
            replace(v, condition=v.choice) if v.is_ordinary else v for group in groups.values() for v in reversed(group)
        ]

    def _give_the_rest(self, first: dict[str, Any]) -> None:
        """Statements with a letter that is shown as left out and may be given."""
        ordinary = next((v for v in self.found.listed if v.is_ordinary), None)
        if ordinary is None:
            return
        for letter in self.entry.applied_letters:
            if not letter.is_optional or ordinary.options.get(letter.name) is not ABSENT:
                continue
            try:
                *_, (options, _) = self._leaves(
                    {k: v for k, v in self._options(first).items() if k != letter.name}, [], False
                )
            except (TheoremEngineError, ValueError):
                # it does not go with the first values of the options
                continue
            statement = self.entry.statement(options)
            if statement.written != ordinary.statement.written or statement.outputs != ordinary.statement.outputs:
                words = row(self.pen.name(letter), word(" is given"), level=0)
                self.found.given.append(Variant(words, options, statement, False))

    _refusal = ""

    def _open_options(self) -> list[tuple[str, list[Any]]]:
        """Options that are not chosen and belong to the statement, with their values."""
        found = []
        for letter in self.entry.applied_options:
            names = getattr(letter.domain, "names", ())
            if letter.name in self.chosen or not names:
                continue
            values = [letter.domain.read(name) for name in names]
            if not letter.is_required and not letter.is_optional and letter.default in values:
                values = [letter.default, *(v for v in values if v != letter.default)]
            found.append((letter.name, values))
        return found

    def _choose(self, choice: dict[str, Any], shown: list[str], is_first: bool, deep: bool) -> None:
        words = [_option(name, choice[name]) for name in shown]
        try:
            options = self._options(choice)
        except TheoremEngineError as error:
            self._refusal = str(error)
            return
        leaves = self._telling(list(self._leaves(options, [], deep)))
        for outcome, relations in leaves:
            statement = self.entry.statement(outcome)
            held = [self.pen.write(r) for r in relations]
            others = [word("otherwise")] if not relations and len(leaves) > 1 and (words or not is_first) else []
            condition = listed([*words, *held, *others], COMMA_SIGN)
            choice_words = listed(words, COMMA_SIGN) if words else EMPTY
            held_words = listed([*held, *others], COMMA_SIGN) if held or others else EMPTY
            self.found.listed.append(Variant(condition, outcome, statement, not relations, choice_words, held_words))

    def _options(self, choice: Mapping[str, Any]) -> dict[str, Any]:
        entry = self.entry
        values = {**self.chosen, **choice}
        names = {x.name for x in entry.options}
        options = {name: value for name, value in values.items() if name in names}
        ways = {x.name for x in entry.model.letters} if entry.model is not None else set()
        if ways & set(self.chosen):
            found = entry.options_with({k: v for k, v in values.items() if k in names or k in ways})
        else:
            found = {**self._shown, **options}
            for rule in entry.given_rules:
                for name in set(rule.shown(found)) - set(options):
                    found.pop(name, None)
        return {k: v for k, v in found.items() if not k.startswith("(") or k == CANONICAL}

    def _leaves(
        self, options: dict[str, Any], held: list[Any], deep: bool
    ) -> Iterator[tuple[dict[str, Any], list[Any]]]:
        """Options with every condition decided: those that hold along the way; the ordinary outcome last."""
        try:
            self.entry.statement(options)
        except Undecided as need:
            outcome = False if self._is_removable(need.relation) else self._known(need.relation)
            if outcome is None and deep and len(held) < _HELD:
                held_too = self._leaves({**options, need.name: True}, [*held, need.relation], deep)
                special = self._telling(list(held_too))
                # the last is the ordinary one of them
                yield from [*special[: _CONDITIONS - 1], *special[-1:]] if len(special) > _CONDITIONS else special
            if outcome is not True:
                yield from self._leaves({**options, need.name: False}, held, deep)
            else:
                yield from self._leaves({**options, need.name: True}, held, deep)
        except TheoremEngineError as error:
            self._refusal = str(error)
        else:
            yield options, held

    def _telling(self, leaves: list[tuple[dict[str, Any], list[Any]]]) -> list[tuple[dict[str, Any], list[Any]]]:
        """The leaves that say more than others: an equation that holds may only simplify what is stated without it."""
        by_relations = {frozenset(relations): options for options, relations in leaves}
        found = []
        for options, relations in leaves:
            others = (
                (r, by_relations[rest]) for r in relations if (rest := frozenset(relations) - {r}) in by_relations
            )
            if not any(self._only_simplifies(r, options, general) for r, general in others):
                found.append((options, relations))
        return found

    def _only_simplifies(self, relation: Any, options: dict[str, Any], general: dict[str, Any]) -> bool:
        """Whether a statement is the general one with the two sides of an equation made equal."""
        if not isinstance(relation, sympy.Eq):
            return False
        special, usual = self.entry.statement(options), self.entry.statement(general)
        if special.outputs != usual.outputs or set(special.written) != set(usual.written):
            return False
        old, new = (relation.rhs, relation.lhs) if relation.rhs.is_Symbol else (relation.lhs, relation.rhs)
        pairs = [(strip(special.written[x]), strip(usual.written[x])) for x in special.written]
        return all(a == b or a == b.subs(old, new) for a, b in pairs)

    def _is_removable(self, relation: Any) -> bool:
        """Whether a condition only says that terms vanish, which the ordinary equations say too."""
        letters = relation.free_symbols
        return isinstance(relation, sympy.Eq) and relation.rhs == 0 and letters <= set(self.entry.zeros)

    def _known(self, relation: Any) -> bool | None:
        """What the values chosen say of a condition."""
        values = {
            x: sympy.sympify(self.chosen[x.name], strict=True)
            for x in relation.free_symbols
            if x.name in self.chosen and not isinstance(self.chosen[x.name], str)
        }
        if not values:
            return None
        try:
            here = at_arguments(relation, values)
        except (TypeError, ValueError):
            return None
        return bool(here) if isinstance(here, BooleanAtom) else None


def _option(name: str, value: Any) -> Tree:
    return row(word(name), EQUALS, word(to_text(value)), level=0)


__all__ = ["ABSENT", "EMPTY", "OPEN", "Variant", "Variants", "read_values", "variants_of"]
