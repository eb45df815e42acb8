"""What an entry asks of its letters beyond their domains: relations, alternatives, and where it warns or doubts.

Each kind says for itself what it asks, whether that is met, and how it is told. A new kind derives from one of the
three bases: ``Rule`` (which letters go together), ``Requirement`` (what their values must meet), ``Caution``
(where the statement is known to be off).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from theorem_engine.base.errors import MissingParameter, UnknownParameter
from theorem_engine.base.exact import to_text
from theorem_engine.language.operators.base import outermost_operators
from theorem_engine.language.places import each_place, has_positive_pivots, lowest_eigenvalue

if TYPE_CHECKING:
    from numpy.random import Generator


class Rule:
    """Which letters a query gives together."""

    def check(self, entry: Any, given: Mapping[str, Any]) -> None:
        """An error of ours if the letters given break the rule."""
        raise NotImplementedError

    def text(self) -> str:
        """The rule as a sentence."""
        raise NotImplementedError

    def left_out(self, rng: Generator, fixed: Mapping[str, Any]) -> set[str]:
        """Letters that a point made up for a test does not give, some being fixed already."""
        return set()

    def wants(self, name: str, entry: Any, given: Mapping[str, Any]) -> bool | None:
        """Whether a letter is needed beside those given; None if the rule has no say in it."""
        return None

    def restricts(self, name: str) -> bool:
        """Whether a letter may be given only where the rule wants it."""
        return False

    def shown(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        """Letters that stand as letters where the statement is shown with these options."""
        return ()


@dataclass(frozen=True)
class OneOf(Rule):
    """Alternatives for the user: exactly one of these groups of letters is given (or at most one)."""

    groups: tuple[tuple[str, ...], ...]
    required: bool = True
    #: Whether a group that is begun must be ended, its letters having no defaults.
    whole: bool = False

    def _listed(self) -> str:
        # "c or p and n" could be read in two ways
        joint = ", or " if any(len(group) > 1 for group in self.groups) else " or "
        return joint.join(" and ".join(group) for group in self.groups)

    def check(self, entry: Any, given: Mapping[str, Any]) -> None:
        """Letters of two groups, or a group that is not whole where one is needed."""
        touched = [group for group in self.groups if any(name in given for name in group)]
        if len(touched) > 1:
            clash = ", ".join(n for group in touched for n in group if n in given)
            raise UnknownParameter(f"{entry.id}: {clash} were given together; give {self._listed()}, not both")
        is_whole = bool(touched) and all(name in given for name in touched[0])
        if not is_whole and (self.required or (touched and self.whole)):
            raise MissingParameter(f"{entry.id} needs {self._listed()}{'' if self.required else ', or none of them'}")

    def text(self) -> str:
        """The groups."""
        return f"give {self._listed()}{'' if self.required else ', or none of them'}"

    def left_out(self, rng: Generator, fixed: Mapping[str, Any]) -> set[str]:
        """All groups but one."""
        touched = [g for g in self.groups if any(n in fixed for n in g)]
        keep = touched[0] if touched else self.groups[int(rng.integers(len(self.groups)))]
        return {name for group in self.groups for name in group} - set(keep)

    def wants(self, name: str, entry: Any, given: Mapping[str, Any]) -> bool | None:
        """Every letter of the group that was not left out, or that was begun."""
        group = next((group for group in self.groups if name in group), ())
        is_begun = self.whole and any(other in given for other in group)
        return True if group and (self.required or is_begun) else None

    def restricts(self, name: str) -> bool:
        """A group that need not be given begins with its first letter."""
        return self.whole and not self.required and any(name in group[1:] for group in self.groups)

    def shown(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        """The first group, where one is needed."""
        return self.groups[0] if self.required else ()


@dataclass(frozen=True)
class OnlyWith(Rule):
    """A letter that is needed (or may be given) with some values of an option and is refused with the others."""

    letter: str
    option: str
    values: tuple[Any, ...]
    required: bool = True

    def _chosen(self, entry: Any, given: Mapping[str, Any]) -> Any:
        default = next((x.default for x in entry.given if x.name == self.option and not x.is_required), None)
        return given.get(self.option, default)

    def check(self, entry: Any, given: Mapping[str, Any]) -> None:
        """The letter without its option's value, or the value without the letter it needs."""
        chosen = self._chosen(entry, given)
        wanted = isinstance(chosen, str) and chosen in self.values
        if wanted and self.required and self.letter not in given:
            raise MissingParameter(f"{entry.id} needs {self.letter} with {self.option}={chosen!r}")
        if not wanted and self.letter in given:
            raise UnknownParameter(
                f"{entry.id}: {self.letter} has no meaning here; it goes with {self.option} in "
                f"{', '.join(repr(v) for v in self.values)}"
            )

    def text(self) -> str:
        """The letter and the values it goes with."""
        return f"{self.letter} goes with {self.option} = {' or '.join(map(to_text, self.values))}"

    def wants(self, name: str, entry: Any, given: Mapping[str, Any]) -> bool | None:
        """Its letter, with the values that need it."""
        return self.required and self._chosen(entry, given) in self.values if name == self.letter else None

    def restricts(self, name: str) -> bool:
        """Its letter."""
        return name == self.letter

    def shown(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        """Its letter, with the values that need it."""
        return (self.letter,) if self.required and options.get(self.option) in self.values else ()


@dataclass(frozen=True)
class Failure:
    """A requirement that does not hold."""

    reason: str
    letters: frozenset[Any]
    #: The relation that failed, or None for a matrix.
    relation: Any = None
    #: Whether the relation can be decided in exact numbers: operators have none.
    is_exact: bool = True
    #: Letters whose shrinking towards zero mends it: of a matrix those off its diagonal.
    movable: frozenset[Any] = frozenset()


class Requirement:
    """What the values of several letters must meet."""

    #: The options it is meant for: one pair (option, value), or several; None for all.
    only: tuple[Any, ...] | None = None

    def at(self, view: Any) -> Requirement | None:
        """What is required with the options of a query, or the setting of a model; None if nothing is."""
        return self

    #: Whether it may speak of letters that follow from those given.
    follows: ClassVar[bool] = False

    def resolved(self, resolve: Callable[[Any], Any]) -> Requirement:
        """The same with definitions in the place of letters that follow from those given."""
        return self

    def is_written(self) -> bool:
        """Whether it is the same with all options, so that it can be compiled once."""
        return True

    def expressions(self) -> list[Any]:
        """The expressions whose values decide it."""
        raise NotImplementedError

    def failure(self, values: Sequence[Any]) -> Failure | None:
        """What is wrong with the values of its expressions, if anything is."""
        raise NotImplementedError

    def met(self, values: Sequence[Any]) -> Any:
        """Whether it is met at each place of arrays of values; place by place unless a kind knows better."""
        return each_place(lambda *here: self.failure(here) is None, values)

    def text(self) -> str:
        """The requirement as a sentence."""
        raise NotImplementedError

    def letters(self) -> frozenset[Any]:
        """Letters that it joins."""
        return frozenset().union(*(e.free_symbols for e in self.expressions()))


@dataclass(frozen=True)
class PositiveSemidefinite(Requirement):
    """Requirement that a matrix of letters be positive semidefinite, up to rounding."""

    matrix: Any
    meaning: str
    slack: float = 1e-12

    def expressions(self) -> list[Any]:
        """Its entries, row by row."""
        return list(self.matrix)

    def failure(self, values: Sequence[Any]) -> Failure | None:
        """A negative eigenvalue, or entries that overflow."""
        lowest = lowest_eigenvalue(values, self.matrix.shape[0], self.slack)
        if lowest is None:
            return None
        is_finite = lowest > -math.inf
        reason = f"is not positive semidefinite (lowest eigenvalue {lowest:.3g})" if is_finite else "overflows"
        letters = self.letters()
        fixed = {s for entry in self.matrix.diagonal() for s in entry.free_symbols}
        return Failure(f"{self.meaning} {reason}", letters, movable=letters - fixed)

    def met(self, values: Sequence[Any]) -> Any:
        """Where the matrix, shifted by half the slack, has positive pivots; elsewhere eigenvalues tell."""
        import numpy as np

        positive = has_positive_pivots(values, self.matrix.shape[0], self.slack / 2)
        if positive.all():
            return positive
        found, *places = map(np.array, np.broadcast_arrays(positive, *values))
        unclear = ~found
        found[unclear] = each_place(lambda *here: self.failure(here) is None, [place[unclear] for place in places])
        return found

    def text(self) -> str:
        """Which matrix."""
        return f"{self.meaning} is positive semidefinite"


@dataclass(frozen=True)
class Holds(Requirement):
    """Requirement that a relation between letters hold.

    ``only`` restricts it to queries with a value of an option: ("task", "max"), or with several such pairs. A relation
    with what an option's value says (the size of a file) is a function of the options, which gives None where there
    is nothing to require.
    """

    relation: Any
    meaning: str
    only: tuple[Any, ...] | None = None
    follows: ClassVar[bool] = True

    def resolved(self, resolve: Callable[[Any], Any]) -> Holds:
        """The relation between the letters given."""
        return replace(self, relation=resolve(self.relation))

    def is_written(self) -> bool:
        """Whether the relation is one, and no function of the options."""
        return hasattr(self.relation, "free_symbols")

    def at(self, view: Any) -> Holds | None:
        """The relation that the options write."""
        if self.is_written():
            return self
        relation = self.relation(view)
        return None if relation is None else replace(self, relation=relation)

    def expressions(self) -> list[Any]:
        """The relation."""
        return [self.relation]

    def failure(self, values: Sequence[Any]) -> Failure | None:
        """The relation, if it is not true."""
        if bool(values[0]):
            return None
        letters = self.letters()
        return Failure(f"{self.text()} does not hold", letters, self.relation,
                       not outermost_operators(self.relation), letters)  # fmt: skip

    def met(self, values: Sequence[Any]) -> Any:
        """The relation at each place."""
        import numpy as np

        return np.asarray(values[0], dtype=bool)

    def text(self) -> str:
        """The meaning and the relation; an operator has no short text, so that the meaning must do."""
        is_short = self.is_written() and not outermost_operators(self.relation)
        return f"{self.meaning} ({self.relation})" if is_short else self.meaning


class Caution:
    """Where the statement is known to be off at finite size."""

    #: Outputs that it looks at, if it can speak only after the prediction.
    outputs: tuple[str, ...] = ()

    def parts(self, options: Mapping[str, Any], view: Any) -> list[Any]:
        """Expressions in the letters whose values decide; none where there is nothing to say.

        ``view`` is the options, or the setting of an entry that has a model.
        """
        raise NotImplementedError

    def told(self, values: Sequence[Any]) -> str | None:
        """What to tell the user at these values of the parts, if anything."""
        raise NotImplementedError

    def speaks(self, values: Sequence[Any]) -> Any:
        """Whether there is something to tell at each place of arrays of values."""
        return each_place(lambda *here: self.told(here) is not None, values)

    def text(self) -> str:
        """The caution as a sentence, for pages."""
        raise NotImplementedError


@dataclass(frozen=True)
class Warn(Caution):
    """Where the statement is known to be off at finite size: a relation, and what to tell the user.

    ``only`` restricts it to queries with a value of an option: ("weights", "aligned").
    """

    relation: Any
    message: str
    only: tuple[str, Any] | None = None

    def parts(self, options: Mapping[str, Any], view: Any) -> list[Any]:
        """The relation, with the options it is meant for."""
        return [self.relation] if self.only is None or options.get(self.only[0]) == self.only[1] else []

    def told(self, values: Sequence[Any]) -> str | None:
        """The message, if the relation holds."""
        return self.message if bool(values[0]) else None

    def speaks(self, values: Sequence[Any]) -> Any:
        """Where the relation holds."""
        import numpy as np

        return np.asarray(values[0], dtype=bool)

    def text(self) -> str:
        """The message and the relation that decides."""
        return f"{self.message} ({self.relation})"


@dataclass(frozen=True)
class Exceeds(Caution):
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
    #: A condition and an expression that is true where the statement is off, as a function of the options, and what to
    #: say of its {value}; it is evaluated at single points only, and only where there is something to tell.
    refined: Callable[[Mapping[str, Any]], tuple[Any, Any] | None] | None = None
    says: str = ""

    def better(self, options: Mapping[str, Any], view: Any) -> list[Any]:
        """Condition and expression in the letters that were given, or nothing."""
        found = None if self.refined is None else self.refined(view)
        if found is None:
            return []
        return list(found) if view is options else [view.resolved(part) for part in found]

    def parts(self, options: Mapping[str, Any], view: Any) -> list[Any]:
        """The number and its level, where there is one; in the letters that were given."""
        number = self.number(view)
        found = [] if number is None else [number, self.level(view)]
        # a setting brings canonical letters back to those of the query
        return found if view is options else [view.resolved(part) for part in found]

    def told(self, values: Sequence[Any]) -> str | None:
        """Both, if the number exceeds the level."""
        number, level = map(float, values)
        return self.message.format(number=f"{number:.3g}", level=f"{level:g}") if number > level else None

    def speaks(self, values: Sequence[Any]) -> Any:
        """Where the number exceeds the level."""
        import numpy as np

        return np.asarray(values[0], dtype=float) > np.asarray(values[1], dtype=float)

    def text(self) -> str:
        """What it means."""
        return self.meaning


@dataclass(frozen=True)
class Doubt:
    """An output that, above a level, tells that the statement is only an approximation at this point."""

    output: str
    above: float
    message: str
