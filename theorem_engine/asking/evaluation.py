"""An entry at a point as plans, compiled functions and numbers in double precision."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, cached_property, partial
from typing import Any

import numpy as np

from theorem_engine.asking.guard import guarded
from theorem_engine.asking.point import Point
from theorem_engine.backends import get_backend
from theorem_engine.base.errors import NotAvailable
from theorem_engine.language.entry import Entry
from theorem_engine.language.letters import ABSENT
from theorem_engine.language.statement import Statement
from theorem_engine.planning.plan import Plan, make_plan


def named_point(entry: Entry, point: Point) -> NamedPoint:
    """The point as a mapping in the entry's order, defaults included, letters of ways that were not taken left out."""
    values = iter(point.values)
    options = dict(point.options)
    whole = {x.name: options[x.name] if x.name in options else next(values) for x in entry.given}
    there = {name: value for name, value in whole.items() if value is not ABSENT}
    return NamedPoint(there, partial(canonical_values, entry, point))


class NamedPoint(dict[str, Any]):
    """What was given, by name; ``canonical`` holds the letters that follow from it where it is not those themselves."""

    def __init__(self, given: Mapping[str, Any], canonical: Callable[[], dict[str, Any]]) -> None:
        super().__init__(given)
        self._canonical = canonical

    @cached_property
    def canonical(self) -> dict[str, Any]:
        """Values of the canonical letters that were not given, in double precision."""
        return self._canonical()


def canonical_values(entry: Entry, point: Point) -> dict[str, Any]:
    """What the ways taken make of the canonical letters of the entry's model; none without a model."""
    if entry.model is None:
        return {}
    options = dict(point.options)
    setting = entry.setting(options)
    found = setting.definitions
    if not found:
        return {}
    backend = get_backend("float64")
    function = definitions_of(entry, point.options)
    with np.errstate(all="ignore"), guarded(entry, None, "what follows from the point"):
        values = function(*[backend.number(v) for v in point.values])
    return {letter.name: float(value) for letter, value in zip(found, values, strict=True)}


@cache
def definitions_of(entry: Entry, options: tuple[tuple[str, Any], ...]) -> Callable[..., list[Any]]:
    """The canonical letters that follow from those given, as one function."""
    setting = entry.setting(dict(options))
    expressions = [setting.resolved(e) for e in setting.definitions.values()]
    return get_backend("float64").function(entry.present(dict(options)), expressions)


@cache
def plan_of(entry: Entry, options: tuple[tuple[str, Any], ...]) -> tuple[Statement, Plan]:
    """The statement and its evaluation plan, worked out once per process."""
    statement = entry.statement(dict(options))
    return statement, make_plan(statement.given, statement.equations, statement.targets(), entry.id)


@cache
def compiled(entry: Entry, options: tuple[tuple[str, Any], ...], backend: str) -> Callable[..., list[Any]]:
    """The plan as a function of the letters, compiled once per process and backend."""
    plan = plan_of(entry, options)[1]
    try:
        return get_backend(backend).compile(plan)
    except NotAvailable as error:
        raise error if entry.id in str(error) else NotAvailable(f"{entry.id}: {error}") from None


def evaluate_float64(entry: Entry, options: tuple[tuple[str, Any], ...], values: list[Any]) -> dict[Any, Any]:
    """Values of all targets in double precision, for scalars or arrays."""
    statement, _ = plan_of(entry, options)
    run = compiled(entry, options, "float64")
    with np.errstate(all="ignore"), guarded(entry, None, "the evaluation in double precision"):
        try:
            results = run(*values)
        except (ZeroDivisionError, OverflowError):
            # plain floats raise where arrays give infinities, which may well be what a limit needs
            results = run(*[np.float64(v) if isinstance(v, float) else v for v in values])
    return dict(zip(statement.targets(), results, strict=True))
