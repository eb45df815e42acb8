"""Points drawn from an entry's own domain, for tests, campaigns and plots."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from theorem_engine.activation import Activation
from theorem_engine.backends import get_backend
from theorem_engine.declaration import Entry, OneOf, OnlyWith
from theorem_engine.domains import Choice, ComplexPlane, Expression, Integers, Interval, Lengths
from theorem_engine.errors import Infeasible, OutOfDomain, ValidityWarning
from theorem_engine.letters import Letter
from theorem_engine.point import failed_requirements, read_point

if TYPE_CHECKING:
    from numpy.random import Generator

#: Ranges for unbounded letters that state no typical one.
WIDE = 10.0


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
        point[letter.name] = _draw(letter, rng)
    return point


def _skipped(entry: Entry, rng: Generator, fixed: Mapping[str, Any]) -> set[str]:
    """Letters left out because an alternative was chosen."""
    skipped: set[str] = set()
    for rule in entry.given_rules:
        if isinstance(rule, OneOf):
            touched = [g for g in rule.groups if any(n in fixed for n in g)]
            keep = touched[0] if touched else rule.groups[int(rng.integers(len(rule.groups)))]
            skipped |= {name for group in rule.groups for name in group} - set(keep)
    return skipped


def _is_wanted(entry: Entry, letter: Letter, point: Mapping[str, Any]) -> bool:
    """Whether a rule asks for this letter, given what was drawn so far."""
    for rule in entry.given_rules:
        if isinstance(rule, OneOf) and rule.required and any(letter.name in group for group in rule.groups):
            return True
        if isinstance(rule, OnlyWith) and rule.letter == letter.name:
            default = next((x.default for x in entry.given if x.name == rule.option and not x.is_required), None)
            return rule.required and point.get(rule.option, default) in rule.values
    return False


def _is_ruled(entry: Entry, letter: Letter) -> bool:
    return any(isinstance(rule, OnlyWith) and rule.letter == letter.name for rule in entry.given_rules)


def _draw(letter: Letter, rng: Generator) -> Any:
    domain = letter.domain
    if isinstance(domain, (Activation, Choice, Expression)):
        names = letter.typical or domain.names
        return names[int(rng.integers(len(names)))]
    if isinstance(domain, Integers):
        low, high = letter.typical or (domain.low, domain.high if domain.high is not None else domain.low + 20)
        shift = 1 - low
        return round(math.exp(rng.uniform(0, math.log(high + shift)))) - shift
    if isinstance(domain, Lengths):
        low, high = letter.typical or (1, 12)
        return round(math.exp(rng.uniform(math.log(low), math.log(high))))
    if isinstance(domain, ComplexPlane):
        return complex(round(rng.uniform(-3, 3), 3), round(rng.uniform(0.5, 3), 3))
    if isinstance(domain, Interval):
        low, high = letter.typical or (max(float(domain.low), -WIDE), min(float(domain.high), WIDE))
        low, high = float(low), float(high)
        if low > 0 and high / low > 20:
            return float(f"{math.exp(rng.uniform(math.log(low), math.log(high))):.3g}")
        value = float(f"{rng.uniform(low, high):.3g}")
        return min(max(value, low), high) if value or not domain.left_open else high / 2
    raise TypeError(f"no way to draw from {type(domain).__name__}")


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
                failures = failed_requirements(entry, {x: number(v) for x, v in values.items()}, point)
                moved = {s.name for f in failures if f.relation is None for s in f.movable} & set(point) - fixed
                if not moved:
                    return None
                for name in moved:
                    point[name] = float(f"{0.8 * float(point[name]):.4g}")
                continue
            except OutOfDomain:
                # every letter is in its domain, but the entry has no statement there
                return None
            return point
    return None


def _numbers(entry: Entry, point: Mapping[str, Any]) -> list[Letter]:
    return [x for x in entry.letters if x.name in point or not (x.is_required or x.is_optional)]
