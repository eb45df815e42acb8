"""From what a user wrote to a point of the entry's domain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from theorem_engine.domains import Rejected
from theorem_engine.errors import BadNumber, Infeasible, MissingParameter, OutOfDomain, UnknownParameter, nearest
from theorem_engine.values import NotANumber, to_text

if TYPE_CHECKING:
    from theorem_engine.declaration import Entry
    from theorem_engine.letters import Letter


@dataclass(frozen=True, slots=True)
class Point:
    """Exact values of the letters, and the options, in the entry's order."""

    values: tuple[Any, ...]
    options: tuple[tuple[str, Any], ...]


def read_point(entry: Entry, given: Mapping[str, Any]) -> Point:
    """Read and check every parameter, then the requirements that join them."""
    check_names(entry, given)
    values, options = [], []
    for letter in entry.given:
        raw = given[letter.name] if letter.name in given else letter.default
        value = read_letter(entry, letter, raw)
        if letter.domain.is_option:
            options.append((letter.name, value))
        else:
            values.append(value)
    point = Point(tuple(values), tuple(sorted(options)))
    if entry.requires:
        check_requirements(entry, point)
    return point


def check_names(entry: Entry, given: Mapping[str, Any]) -> None:
    """Refuse unknown names and missing letters."""
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
    text = repr(raw) if not isinstance(raw, (int, float)) else to_text(raw) if abs(raw) < 10**80 else "a huge number"
    return text if len(text) <= 80 else text[:77] + "..."


def check_requirements(entry: Entry, point: Point) -> None:
    """Conditions on several letters at once."""
    from theorem_engine.backends import get_backend

    number = get_backend("float64").number
    values = [number(v) for v in point.values]
    for failed in failed_requirements(entry, values):
        shown = ", ".join(f"{x.name}={to_text(v)}" for x, v in zip(entry.letters, point.values, strict=True)
                          if x in failed.letters)  # fmt: skip
        raise Infeasible(f"{entry.id}: {shown}: {failed.reason}; see {entry.source}")


@dataclass(frozen=True)
class Failure:
    """A requirement that does not hold."""

    reason: str
    letters: frozenset[Any]


def failed_requirements(entry: Entry, values: list[Any]) -> list[Failure]:
    """Requirements that do not hold at a point of floats."""
    return [failure for test in _tests(entry) if (failure := test(values)) is not None]


@cache
def _tests(entry: Entry) -> list[Any]:
    import numpy as np

    from theorem_engine.backends import get_backend
    from theorem_engine.declaration import PositiveSemidefinite

    backend = get_backend("float64")
    tests: list[Any] = []
    for requirement in entry.requires:
        if isinstance(requirement, PositiveSemidefinite):
            size = requirement.matrix.shape[0]
            function = backend.function(entry.letters, list(requirement.matrix))
            letters = frozenset(requirement.matrix.free_symbols)

            def psd(values: list[Any], f: Any = function, n: int = size, r: Any = requirement, s: Any = letters) -> Any:
                lowest = float(np.linalg.eigvalsh(np.array(f(*values), dtype=float).reshape(n, n))[0])
                if lowest >= -r.slack:
                    return None
                return Failure(f"{r.meaning} is not positive semidefinite (lowest eigenvalue {lowest:.3g})", s)

            tests.append(psd)
        else:
            function = backend.function(entry.letters, [requirement.relation])
            letters = frozenset(requirement.relation.free_symbols)

            def holds(values: list[Any], f: Any = function, r: Any = requirement, s: Any = letters) -> Any:
                return None if bool(f(*values)[0]) else Failure(f"{r.meaning} ({r.relation}) does not hold", s)

            tests.append(holds)
    return tests
