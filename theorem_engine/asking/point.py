"""From what a user wrote to a point of the entry's domain."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Any

from theorem_engine.asking.rational_relations import decide
from theorem_engine.base.errors import (
    BadNumber,
    Infeasible,
    MissingParameter,
    OutOfDomain,
    TheoremEngineError,
    UnknownParameter,
    ValidityWarning,
    nearest,
)
from theorem_engine.base.exact import NotANumber, compare, to_text
from theorem_engine.base.spelling import spelled
from theorem_engine.language.conditions import Undecided
from theorem_engine.language.domains import ComplexValue, Rejected, Structured
from theorem_engine.language.letters import ABSENT
from theorem_engine.language.model import Setting
from theorem_engine.language.rules import Failure, Requirement

if TYPE_CHECKING:
    from theorem_engine.language.entry import Entry
    from theorem_engine.language.letters import Letter


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
    absent = entry.model.left_out(given) if entry.model is not None else ()
    for letter in entry.given:
        raw = given[letter.name] if letter.name in given else ABSENT if letter.name in absent else letter.default
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
    if entry.model is not None:
        decide_conditions(lambda: entry.read_model(options), values, options)
    if entry.requires or entry.warns:
        check_requirements(entry, values, options)
    decide_conditions(lambda: entry.statement(options), values, options)
    return Point(tuple(values.values()), tuple(sorted(options.items(), key=lambda item: item[0])))


def decide_conditions(ask: Callable[[], Any], values: Mapping[Letter, Any], options: dict[str, Any]) -> None:
    """Conditions that a setting or a statement asks about, as far as they hang on the letters given."""
    while True:
        try:
            ask()
        except Undecided as need:
            options[need.name] = meets(need.relation, values)
        else:
            return


def check_names(entry: Entry, given: Mapping[str, Any]) -> None:
    """Refuse unknown names, missing letters, and letters that exclude each other."""
    names = [letter.name for letter in entry.given]
    for name in given:
        if name not in names:
            # a Greek letter is near to its name, which its characters do not show
            close = nearest(spelled(str(name)[:60]), names, 1)
            raise UnknownParameter(
                f"{entry.id} has no parameter {str(name)[:60]!r}{close}. It takes {', '.join(names)}."
            )
    missing = [letter for letter in entry.given if letter.is_required and letter.name not in given]
    if missing:
        listed = "; ".join(f"{x.name} ({x.meaning}, {x.domain.describe()})" for x in missing)
        raise MissingParameter(f"{entry.id} needs {listed}")
    for rule in entry.given_rules:
        rule.check(entry, given)


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


def reading_once() -> Callable[[Entry, Letter, Any], Any]:
    """``read_letter`` for many points: an object that comes again at each of them is read once."""
    known: dict[tuple[str, int], Any] = {}

    def read(entry: Entry, letter: Letter, raw: Any) -> Any:
        key = letter.name, id(raw)
        if key not in known:
            known[key] = read_letter(entry, letter, raw)
        return known[key]

    return read


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
        if isinstance(value, Structured):
            value = value.single()
        return value is not None and compare(value, float(bound) if bound.is_infinite else _fraction(bound)) == 0
    decided = decide(relation, values)
    if decided is not None:
        return decided
    exact = {letter: as_sympy(values[letter]) for letter in letters}
    return bool(_elementary(relation).xreplace(exact) == sympy.true)


@cache
def _elementary(relation: Any) -> Any:
    """A condition in functions that SymPy has numbers for; it compares no others, and a maximum of them fails."""
    from theorem_engine.language.functions import SPECIAL, OwenT

    while special := [part for part in relation.atoms(*SPECIAL) if not isinstance(part, OwenT)]:
        relation = relation.xreplace({part: part.definition() for part in special})
    return relation


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

    from theorem_engine.base.exact import Constant, Root, as_fraction

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
        raise Infeasible(infeasible_text(entry, values, failed))
    _warn(entry, floats, options, (), stacklevel=5)


def infeasible_text(entry: Entry, values: Mapping[Letter, Any], failed: Failure) -> str:
    """Why there is nothing to predict at these values."""
    shown = ", ".join(f"{x.name}={to_text(v)}" for x, v in values.items() if x in failed.letters)
    return f"{entry.id}: {shown}: {failed.reason}; see {entry.source}"


def warn_about_outputs(
    entry: Entry, values: Mapping[Letter, Any], options: Mapping[str, Any], outputs: Mapping[str, Any]
) -> None:
    """Weak spots that are known only once the outputs are."""
    import sympy

    for named in {warn.outputs for warn in entry.warns} - {()}:
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
        message = warn.told(found)
        if message is not None:
            message += _refined(entry, warn, tuple(floats), chosen, numbers)
            warnings.warn(ValidityWarning(f"{entry.id}: {message}"), stacklevel=stacklevel)


def _refined(
    entry: Entry, warn: Any, present: tuple[Any, ...], chosen: tuple[tuple[str, Any], ...], numbers: list[Any]
) -> str:
    """What a caution knows better, in words; nothing where it does not, or where its own method fails."""
    better = _better(entry, warn, present, chosen) if getattr(warn, "refined", None) is not None else []
    if not better:
        return ""
    point = tuple(numbers)
    try:
        hash(point)
    except TypeError:
        # a letter that is more than one number
        value = _better_value.__wrapped__(tuple(better), point)
    else:
        value = _better_value(tuple(better), point)
    return str(warn.says).format(value=f"{value:.4g}") if math.isfinite(value) else ""


@lru_cache(maxsize=1024)
def _better_value(better: tuple[Callable[..., Any], ...], numbers: tuple[Any, ...]) -> float:
    """What a caution knows better at a point, NaN where it does not: kept, since it may cost more than the prediction.

    A prediction made again warns again.
    """
    import numpy as np

    holds, expression = better
    try:
        with np.errstate(all="ignore"):
            return float(expression(*numbers)[0]) if bool(holds(*numbers)[0]) else math.nan
    except (TheoremEngineError, ArithmeticError, ValueError):
        # a singular matrix is a ValueError of NumPy's; far from every size that can be met nothing better is known
        return math.nan


@cache
def _better(
    entry: Entry, warn: Any, present: tuple[Any, ...], chosen: tuple[tuple[str, Any], ...]
) -> list[Callable[..., Any]]:
    """Compiled: when a caution knows better, and what."""
    from theorem_engine.backends import get_backend

    options = dict(chosen)
    found = warn.better(options, _view(entry, options))
    if not all(part.free_symbols <= set(present) for part in found):
        return []
    return [get_backend("float64").function(present, [part]) for part in found]


def _as_tested(value: Any) -> Any:
    """The nearest double as NumPy has it: a power of it overflows to infinity, where Python's own raises."""
    import numpy as np

    from theorem_engine.backends import get_backend

    number = get_backend("float64").number(value)
    return np.float64(number) if isinstance(number, float) else number


def failed_requirements(entry: Entry, floats: Mapping[Letter, Any], options: Mapping[str, Any]) -> Iterator[Failure]:
    """Requirements that do not hold at a point of floats, of those that these options ask for, in their order.

    A later requirement may rest on an earlier one, so it is not looked at before it is asked for.
    """
    for test in requirement_tests(entry, tuple(floats), options):
        if (failure := test(*floats.values())) is not None:
            yield failure


def requirement_tests(entry: Entry, present: tuple[Letter, ...], options: Mapping[str, Any]) -> Iterator[Test]:
    """Compiled tests of the requirements that these options ask for, in their order."""
    for requirement, test in _tests(entry, present):
        if not _applies(requirement.only, options):
            continue
        if test is None:
            test = _written(entry, requirement, tuple(sorted(options.items(), key=lambda item: item[0])), present)
        if test is not None:
            yield test


def caution_tests(
    entry: Entry, present: tuple[Letter, ...], options: Mapping[str, Any]
) -> list[tuple[Callable[..., Any], Any]]:
    """Compiled warnings about these letters that can be given before the outputs are known."""
    return _conditions(entry, present, tuple(sorted(options.items(), key=lambda item: item[0])), ())


def _view(entry: Entry, options: Mapping[str, Any]) -> Any:
    """What requirements and warnings are functions of: the setting of an entry that has a model, else the options."""
    return options if entry.model is None else entry.setting(options)


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

    options = dict(chosen)
    view = _view(entry, options)
    found = []
    for warn in entry.warns:
        parts = warn.parts(options, view) if warn.outputs == outputs else []
        if parts and all(getattr(part, "free_symbols", set()) <= set(present) for part in parts):
            found.append((get_backend("float64").function(present, parts), warn))
    return found


@cache
def _tests(entry: Entry, present: tuple[Letter, ...]) -> list[tuple[Requirement, Test | None]]:
    """Requirements with their compiled tests; those that hang on the value of an option have none yet."""
    found: list[tuple[Requirement, Test | None]] = []
    follow = set() if entry.model is None else set(entry.model.canonical) - set(present)
    # those of a way speak of its own letters, the entry's of what every way comes to
    of_ways = () if entry.model is None else entry.model.requires
    for requirement in entry.requires:
        if not requirement.is_written():
            found.append((requirement, None))
        elif requirement.letters() <= set(present):
            found.append((requirement, _compiled(requirement, present)))
        elif requirement.follows and requirement not in of_ways and requirement.letters() - follow <= set(present):
            found.append((requirement, None))
    return found


@cache
def _written(
    entry: Entry, requirement: Requirement, chosen: tuple[tuple[str, Any], ...], present: tuple[Letter, ...]
) -> Test | None:
    """The test of what the values of options write; None where there is nothing to require."""
    options = dict(chosen)
    view = _view(entry, options)
    written = requirement.at(view)
    if written is not None and isinstance(view, Setting):
        # a relation between canonical letters, in those that were given
        written = written.resolved(view.resolved)
    if written is None or not written.letters() <= set(present):
        return None
    return _compiled(written.resolved(partial(entry.searched, options=options)), present)


def _compiled(requirement: Requirement, present: tuple[Letter, ...]) -> Test:
    from theorem_engine.backends import get_backend

    return Test(requirement, get_backend("float64").function(present, requirement.expressions()))


@dataclass(frozen=True)
class Test:
    """A requirement, and the compiled expressions that decide it."""

    requirement: Requirement
    function: Callable[..., Any]

    def values(self, *values: Any) -> list[Any]:
        """What the expressions come to, at one point or on arrays."""
        import numpy as np

        with np.errstate(all="ignore"):
            # doubles of NumPy overflow to infinity, plain ones raise
            return list(self.function(*(np.float64(v) if isinstance(v, float) else v for v in values)))

    def __call__(self, *values: Any) -> Failure | None:
        """What is wrong at one point, if anything is."""
        return self.requirement.failure(self.values(*values))
