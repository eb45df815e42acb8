"""From what a user wrote to a point of the entry's domain."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

from theorem_engine.domains import ComplexValue, Distribution, Rejected
from theorem_engine.errors import (
    BadNumber,
    Infeasible,
    MissingParameter,
    OutOfDomain,
    UnknownParameter,
    ValidityWarning,
    nearest,
)
from theorem_engine.letters import ABSENT
from theorem_engine.operators.base import outermost_operators
from theorem_engine.values import NotANumber, compare, to_text

if TYPE_CHECKING:
    from theorem_engine.declaration import Entry
    from theorem_engine.letters import Letter


@dataclass(frozen=True, slots=True)
class Point:
    """Exact values of the letters present, in the entry's order, and everything that shapes the equations.

    ``options`` holds the options chosen, the cases met, and ABSENT for letters left out.
    """

    values: tuple[Any, ...]
    options: tuple[tuple[str, Any], ...]


def read_point(entry: Entry, given: Mapping[str, Any], read: Callable[..., Any] | None = None) -> Point:
    """Read and check every parameter, then the requirements that join them.

    ``read`` takes the place of ``read_letter``, for callers that meet the same values again and again.
    """
    check_names(entry, given)
    read = read or read_letter
    values: dict[Letter, Any] = {}
    options: dict[str, Any] = {}
    for letter in entry.given:
        raw = given[letter.name] if letter.name in given else letter.default
        if raw is ABSENT:
            options[letter.name] = ABSENT
        elif letter.domain.is_option:
            options[letter.name] = read(entry, letter, raw)
        elif isinstance(value := read(entry, letter, raw), str):
            # a word in place of a number asks for another statement
            options[letter.name] = value
        else:
            values[letter] = value
    for name, relation in entry.cases.items():
        options[name] = meets(relation, values)
    if entry.requires or entry.warns:
        check_requirements(entry, values, options)
    if entry.needs:
        _decide_applied(entry, values, options)
    return Point(tuple(values.values()), tuple(sorted(options.items(), key=lambda item: item[0])))


def _decide_applied(entry: Entry, values: Mapping[Letter, Any], options: dict[str, Any]) -> None:
    """Conditions of entries that this one applies, as far as they hang on the letters given."""
    from theorem_engine.conditions import Undecided

    while True:
        try:
            entry.statement(options)
        except Undecided as need:
            options[need.name] = meets(need.relation, values)
        else:
            return


def check_names(entry: Entry, given: Mapping[str, Any]) -> None:
    """Refuse unknown names, missing letters, and letters that exclude each other."""
    names = [letter.name for letter in entry.given]
    for name in given:
        if name not in names:
            raise UnknownParameter(
                f"{entry.id} has no parameter {str(name)[:60]!r}{nearest(str(name)[:60], names, 1)}. It takes "
                f"{', '.join(names)}."
            )
    missing = [letter for letter in entry.given if letter.is_required and letter.name not in given]
    if missing:
        listed = "; ".join(f"{x.name} ({x.meaning}, {x.domain.describe()})" for x in missing)
        raise MissingParameter(f"{entry.id} needs {listed}")
    for rule in entry.given_rules:
        _check_rule(entry, rule, given)


def _check_rule(entry: Entry, rule: Any, given: Mapping[str, Any]) -> None:
    from theorem_engine.declaration import OneOf

    if isinstance(rule, OneOf):
        shown = " or ".join(" and ".join(group) for group in rule.groups)
        touched = [group for group in rule.groups if any(name in given for name in group)]
        if len(touched) > 1:
            clash = ", ".join(n for group in touched for n in group if n in given)
            raise UnknownParameter(f"{entry.id}: {clash} were given together; give {shown}, not both")
        if rule.required and not (touched and all(name in given for name in touched[0])):
            raise MissingParameter(f"{entry.id} needs {shown}")
        return
    default = next((x.default for x in entry.given if x.name == rule.option and not x.is_required), None)
    chosen = given.get(rule.option, default)
    wanted = isinstance(chosen, str) and chosen in rule.values
    if wanted and rule.required and rule.letter not in given:
        raise MissingParameter(f"{entry.id} needs {rule.letter} with {rule.option}={chosen!r}")
    if not wanted and rule.letter in given:
        raise UnknownParameter(
            f"{entry.id}: {rule.letter} has no meaning here; it goes with {rule.option} in "
            f"{', '.join(repr(v) for v in rule.values)}"
        )


def read_letter(entry: Entry, letter: Letter, raw: Any) -> Any:
    """One value in exact form, or an error that names everything a user needs to mend it."""
    try:
        return letter.domain.read(raw)
    except NotANumber as reason:
        raise BadNumber(
            f"{entry.id}: {letter.name}={_short(raw)} {reason}; {letter.name} is in {letter.domain.describe()} "
            f"({letter.meaning})"
        ) from None
    except Rejected as reason:
        raise OutOfDomain(
            f"{entry.id}: {letter.name}={_short(raw)} {reason} ({letter.meaning}); see {entry.source}"
        ) from None


def _short(raw: Any) -> str:
    if isinstance(raw, int) and abs(raw) > 10**60:
        return "a huge number"
    text = to_text(raw) if isinstance(raw, (float, Fraction)) else repr(raw)
    return text if len(text) <= 80 else text[:77] + "..."


def meets(relation: Any, values: Mapping[Any, Any]) -> bool:
    """Whether a condition on letters holds, decided on exact values; absent letters meet none."""
    import sympy

    letters = _letters(relation)
    if not all(letter in values for letter in letters):
        return False
    if isinstance(relation, sympy.Eq) and len(letters) == 1 and relation.rhs.is_number and relation.lhs in values:
        value, bound = values[relation.lhs], relation.rhs
        if isinstance(value, Distribution):
            value = value.weights[0][0] if len(value.weights) == 1 else -1
        return compare(value, float(bound) if bound.is_infinite else _fraction(bound)) == 0
    return bool(relation.xreplace({letter: as_sympy(values[letter]) for letter in letters}) == sympy.true)


@cache
def _letters(relation: Any) -> frozenset[Any]:
    return frozenset(relation.free_symbols)


@cache
def _fraction(number: Any) -> Any:
    from fractions import Fraction

    return Fraction(int(number.p), int(number.q))


def as_sympy(value: Any) -> Any:
    """An exact value as a SymPy number."""
    import sympy

    from theorem_engine.values import Constant, Root, as_fraction

    if isinstance(value, Root):
        root = sympy.sqrt(sympy.Rational(value.square.numerator, value.square.denominator))
        return -root if value.negative else root
    if isinstance(value, Constant):
        return value.expression
    if isinstance(value, ComplexValue):
        return as_sympy(value.real) + sympy.I * as_sympy(value.imaginary)
    fraction = as_fraction(value)
    return (sympy.oo if value > 0 else -sympy.oo) if fraction is None else sympy.Rational(*fraction.as_integer_ratio())


def check_requirements(entry: Entry, values: Mapping[Letter, Any], options: Mapping[str, Any]) -> None:
    """Conditions on several letters at once: failures are errors, known weak spots warnings."""
    floats = {letter: _as_tested(value) for letter, value in values.items()}
    for failed in failed_requirements(entry, floats, options):
        # an equality at the edge of what is allowed may be lost to rounding, but not in exact numbers
        if failed.relation is not None and failed.is_exact and meets(failed.relation, values):
            continue
        shown = ", ".join(f"{x.name}={to_text(v)}" for x, v in values.items() if x in failed.letters)
        raise Infeasible(f"{entry.id}: {shown}: {failed.reason}; see {entry.source}")
    _warn(entry, floats, options, (), stacklevel=5)


def warn_about_outputs(
    entry: Entry, values: Mapping[Letter, Any], options: Mapping[str, Any], outputs: Mapping[str, Any]
) -> None:
    """Weak spots that are known only once the outputs are."""
    import sympy

    for named in {getattr(warn, "outputs", ()) for warn in entry.warns} - {()}:
        found = {sympy.Symbol(name): outputs[name] for name in named if isinstance(outputs.get(name), (int, float))}
        _warn(entry, {**{x: _as_tested(v) for x, v in values.items()}, **found}, options, named, stacklevel=4)


def _warn(
    entry: Entry, floats: Mapping[Any, Any], options: Mapping[str, Any], outputs: tuple[str, ...], stacklevel: int
) -> None:
    import numpy as np

    chosen = tuple(sorted(options.items(), key=lambda item: item[0]))
    # doubles of NumPy overflow to infinity, which is above every level
    numbers = [np.float64(v) if isinstance(v, float) else v for v in floats.values()]
    for test, warn in _conditions(entry, tuple(floats), chosen, outputs):
        with np.errstate(all="ignore"):
            found = test(*numbers)
        if len(found) == 1:
            message = warn.message if bool(found[0]) else None
        else:
            number, level = map(float, found)
            message = warn.message.format(number=f"{number:.3g}", level=f"{level:g}") if number > level else None
        if message is not None:
            warnings.warn(ValidityWarning(f"{entry.id}: {message}"), stacklevel=stacklevel)


def _as_tested(value: Any) -> Any:
    """The nearest double as NumPy has it: a power of it overflows to infinity, where Python's own raises."""
    import numpy as np

    from theorem_engine.backends import get_backend

    number = get_backend("float64").number(value)
    return np.float64(number) if isinstance(number, float) else number


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


def failed_requirements(entry: Entry, floats: Mapping[Letter, Any], options: Mapping[str, Any]) -> Iterator[Failure]:
    """Requirements that do not hold at a point of floats, of those that these options ask for, in their order.

    A later requirement may rest on an earlier one, so it is not looked at before it is asked for.
    """
    present = tuple(floats)
    for requirement, test in _tests(entry, present):
        if not _applies(getattr(requirement, "only", None), options):
            continue
        if test is None:
            # a relation that the value of an option writes
            relation = requirement.relation(options)
            if relation is None or not relation.free_symbols <= set(present):
                continue
            test = _relation(replace(requirement, relation=relation), present)
        if (failure := test(*floats.values())) is not None:
            yield failure


def _applies(only: tuple[Any, ...] | None, options: Mapping[str, Any]) -> bool:
    """Whether a requirement or a warning is meant for these options: one pair (option, value), or several."""
    pairs = () if only is None else (only,) if isinstance(only[0], str) else only
    return all(options.get(name) == value for name, value in pairs)


@cache
def _conditions(
    entry: Entry, present: tuple[Any, ...], chosen: tuple[tuple[str, Any], ...], outputs: tuple[str, ...]
) -> list[tuple[Callable[..., Any], Any]]:
    """Compiled warnings that speak about these options and letters: a relation, or a number and its level."""
    from theorem_engine.backends import get_backend
    from theorem_engine.declaration import Warn

    options = dict(chosen)
    found = []
    for warn in entry.warns:
        if isinstance(warn, Warn):
            spoken = warn.only is None or options.get(warn.only[0]) == warn.only[1]
            parts = [warn.relation] if spoken and not outputs else []
        else:
            number = warn.number(options) if warn.outputs == outputs else None
            parts = [] if number is None else [number, warn.level(options)]
        if parts and all(getattr(part, "free_symbols", set()) <= set(present) for part in parts):
            found.append((get_backend("float64").function(present, parts), warn))
    return found


@cache
def _tests(entry: Entry, present: tuple[Letter, ...]) -> list[tuple[Any, Callable[..., Failure | None] | None]]:
    """Requirements with their compiled tests; those that hang on the value of an option have none yet."""
    from theorem_engine.declaration import PositiveSemidefinite

    found: list[tuple[Any, Callable[..., Failure | None] | None]] = []
    for requirement in entry.requires:
        is_matrix = isinstance(requirement, PositiveSemidefinite)
        what = requirement.matrix if is_matrix else requirement.relation
        if not hasattr(what, "free_symbols"):
            found.append((requirement, None))
        elif what.free_symbols <= set(present):
            compile_test = _semidefinite if is_matrix else _relation
            found.append((requirement, compile_test(requirement, present)))
    return found


def _semidefinite(requirement: Any, present: tuple[Letter, ...]) -> Callable[..., Failure | None]:
    import numpy as np

    from theorem_engine.backends import get_backend

    size = requirement.matrix.shape[0]
    function = get_backend("float64").function(present, list(requirement.matrix))
    letters = frozenset(requirement.matrix.free_symbols)
    fixed = {s for entry in requirement.matrix.diagonal() for s in entry.free_symbols}

    def test(*values: Any) -> Failure | None:
        with np.errstate(all="ignore"):
            entries = np.array(function(*values), dtype=float).reshape(size, size)
        if not np.all(np.isfinite(entries)):
            return Failure(f"{requirement.meaning} overflows", letters, movable=letters - fixed)
        eigenvalues = np.linalg.eigvalsh(entries)
        lowest = float(eigenvalues[0])
        if lowest >= -requirement.slack * max(1.0, float(eigenvalues[-1])):
            return None
        return Failure(f"{requirement.meaning} is not positive semidefinite (lowest eigenvalue {lowest:.3g})", letters,
                       movable=letters - fixed)  # fmt: skip

    return test


def _relation(requirement: Any, present: tuple[Letter, ...]) -> Callable[..., Failure | None]:
    import numpy as np

    from theorem_engine.backends import get_backend

    function = get_backend("float64").function(present, [requirement.relation])
    letters = frozenset(requirement.relation.free_symbols)

    def test(*values: Any) -> Failure | None:
        with np.errstate(all="ignore"):
            # doubles of NumPy overflow to infinity, plain ones raise
            holds = bool(function(*(np.float64(v) if isinstance(v, float) else v for v in values))[0])
        if holds:
            return None
        return Failure(f"{requirement.text()} does not hold", letters, requirement.relation,
                       not outermost_operators(requirement.relation), letters)  # fmt: skip

    return test
