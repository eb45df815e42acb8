"""Points drawn from an entry's own domain, for tests, campaigns and plots."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from theorem_engine.asking.point import failed_requirements, read_point
from theorem_engine.backends import get_backend
from theorem_engine.base.errors import Infeasible, NotAvailable, OutOfDomain, ValidityWarning
from theorem_engine.language.entry import Entry
from theorem_engine.language.letters import ABSENT, Letter

if TYPE_CHECKING:
    from numpy.random import Generator


def draw_point(entry: Entry, rng: Generator, fixed: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Parameters of a valid query: typical sizes, every requirement met, rules about alternatives kept.

    Values are short decimals, so that a point can be written down and tried again.
    """
    for _ in range(200):
        point = _feasible(entry, _attempt(entry, rng, dict(fixed or {})), set(fixed or ()))
        if point is not None:
            return point
    raise Infeasible(f"{entry.id}: no feasible point was found in 200 draws")


def _attempt(entry: Entry, rng: Generator, point: dict[str, Any]) -> dict[str, Any]:
    """Letters in their own domains, requirements that join them not yet looked at."""
    skipped = _skipped(entry, rng, point)
    for letter in entry.given:
        if letter.name in point or letter.name in skipped or not letter.domain.can_be_drawn:
            continue
        wanted = _is_wanted(entry, letter, point)
        # half of the time a letter with a default keeps it
        if not letter.is_required and not wanted and (_is_ruled(entry, letter) or rng.random() < 0.5):
            continue
        point[letter.name] = letter.domain.draw(rng, letter.typical)
    return point


def _skipped(entry: Entry, rng: Generator, fixed: Mapping[str, Any]) -> set[str]:
    """Letters left out because an alternative was chosen."""
    return {name for rule in entry.given_rules for name in rule.left_out(rng, fixed)}


def _is_wanted(entry: Entry, letter: Letter, point: Mapping[str, Any]) -> bool:
    """Whether a rule asks for this letter, given what was drawn so far; the first that has a say decides."""
    said = (rule.wants(letter.name, entry, point) for rule in entry.given_rules)
    return next((answer for answer in said if answer is not None), False)


def _is_ruled(entry: Entry, letter: Letter) -> bool:
    return any(rule.restricts(letter.name) for rule in entry.given_rules)


def _feasible(entry: Entry, point: dict[str, Any], fixed: set[str]) -> dict[str, Any] | None:
    """The point, its matrix letters moved towards zero until the matrix is semidefinite; None if that is not enough."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ValidityWarning)
        for _ in range(40):
            try:
                read_point(entry, point)
            except Infeasible:
                given = {x: point[x.name] if x.name in point else x.default for x in _numbers(entry, point)}
                values = {x: x.domain.read(v) for x, v in given.items()}
                number = get_backend("float64").number
                absent = entry.model.left_out(point) if entry.model is not None else ()
                options = {**point, **dict.fromkeys(absent, ABSENT)}
                failures = failed_requirements(entry, {x: number(v) for x, v in values.items()}, options)
                moved = {s.name for f in failures if f.relation is None for s in f.movable} & set(point) - fixed
                if not moved:
                    return None
                for name in moved:
                    point[name] = float(f"{0.8 * float(point[name]):.4g}")
                continue
            except (OutOfDomain, NotAvailable):
                # every letter is in its domain, but the entry has no statement there
                return None
            return point
    return None


def _numbers(entry: Entry, point: Mapping[str, Any]) -> list[Letter]:
    return [x for x in entry.letters if x.name in point or not (x.is_required or x.is_optional)]
