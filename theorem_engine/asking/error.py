"""The error of a double-precision prediction."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from theorem_engine.asking.evaluation import compiled, evaluate_float64, plan_of
from theorem_engine.asking.guard import guarded
from theorem_engine.asking.point import Point
from theorem_engine.backends import get_backend
from theorem_engine.backends.rounded.number import bound_of, rounding_of
from theorem_engine.base.errors import NotAvailable, NotConverged, TheoremEngineError
from theorem_engine.base.random_sets import COUNT, UNSEEN, only, statistical_error
from theorem_engine.base.reports import listening
from theorem_engine.language.application import Applied
from theorem_engine.language.catalogue import find_entry
from theorem_engine.language.entry import Entry
from theorem_engine.language.statement import shape_errors
from theorem_engine.numerics.remembering import Memory, remembering
from theorem_engine.planning.plan import Operate, Solve, make_plan

#: Residual of a self-consistent group below which it counts as solved, which no spread shows.
SOLVED = 1e-8


def float64_errors(
    entry: Entry, point: Point, found: Mapping[Any, Any] | None = None, known: Memory | None = None
) -> dict[Any, float]:
    """Error bounds of every target, by running the evaluation on numbers that carry their error.

    ``found`` are the values themselves, for errors that are a distance from them; ``known`` what was remembered when
    they were made.
    """
    import numpy as np

    statement, _ = plan_of(entry, point.options)
    if is_statistical(entry, point.options):
        return _statistical_errors(entry, point, found)
    number = get_backend("rounded").number
    with np.errstate(all="ignore"), remembering(known):
        results = compiled(entry, point.options, "rounded")(*[number(v) for v in point.values])
    return {symbol: bound_of(value) for symbol, value in zip(statement.targets(), results, strict=True)}


def _statistical_errors(entry: Entry, point: Point, found: Mapping[Any, Any] | None = None) -> dict[Any, float]:
    """Errors at the level of ``random_sets``: the whole evaluation on each set of random numbers alone, and together.

    ``found`` is what all sets together give, if it is known. What hangs on no draw has the error of its rounding; an
    output that hangs on some and came out the same on all sets may differ where something was not seen.
    """
    import numpy as np

    number = get_backend("float64").number
    values = [number(v) for v in point.values]
    statement = plan_of(entry, point.options)[0]
    if found is None:
        found = evaluate_float64(entry, point.options, values)
    together = {symbol: found[symbol] for symbol in statement.targets()}
    runs, draws = [], math.inf
    for index in range(COUNT):
        with only(index), listening() as notes:
            try:
                runs.append([float(v) for v in evaluate_float64(entry, point.options, values).values()])
            except NotConverged:
                continue
        draws = min([draws, *(COUNT * note.draws for note in notes if note.draws)])
    if len(runs) <= COUNT // 2:
        return dict.fromkeys(together, math.inf)
    columns = np.array(runs).T
    rounded = _rounding_errors(entry, point)
    floor = SOLVED if _is_solved(plan_of(entry, point.options)[1]) else 0.0
    with np.errstate(invalid="ignore"):
        spreads = statistical_error(np.array(runs), [float(v) for v in together.values()])

    def error(symbol: Any, value: Any, column: Any, spread: float) -> float:
        if symbol in rounded:
            return rounded[symbol]
        if isinstance(value, (bool, np.bool_)):
            return rounding_of(value)
        if np.all(column == float(value)):
            # infinite on all sets: the statement says so; else what was not seen
            return 0.0 if math.isinf(value) else UNSEEN / draws * max(1.0, abs(float(value)))
        unsolved = floor * max(1.0, abs(float(value)))
        return math.inf if math.isnan(spread) else float(spread) + unsolved + rounding_of(value)

    return {
        symbol: error(symbol, value, column, spread)
        for (symbol, value), column, spread in zip(together.items(), columns, spreads, strict=True)
    }


def _rounding_errors(entry: Entry, point: Point) -> dict[Any, float]:
    """Errors of the targets that hang on no draw, as far as every step on their way has one."""
    import numpy as np

    targets, run = _without_draws(entry, point.options)
    if run is None:
        return {}
    with np.errstate(all="ignore"):
        results = run(*[get_backend("rounded").number(v) for v in point.values])
    return {symbol: bound_of(value) for symbol, value in zip(targets, results, strict=True)}


@cache
def _without_draws(
    entry: Entry, options: tuple[tuple[str, Any], ...]
) -> tuple[list[Any], Callable[..., list[Any]] | None]:
    """Targets that hang on no draw, and their function on numbers that carry their error; None where there is none."""
    statement, plan = plan_of(entry, options)
    drawn = _drawn(plan)
    targets = [symbol for symbol in statement.targets() if symbol not in drawn]
    own = make_plan(statement.given, statement.equations, targets, entry.id)
    try:
        return targets, get_backend("rounded").compile(own) if targets else None
    except NotAvailable:
        return [], None


def _known(error: float) -> float:
    """An error, infinite where it is no number."""
    return math.inf if math.isnan(error) else error


def is_statistical(entry: Entry, options: tuple[tuple[str, Any], ...]) -> bool:
    """Whether an entry that may average over random numbers does so with these options."""

    return entry.error_kind == "statistical" and is_random(plan_of(entry, options)[1])


def refuse_beyond_bar(entry: Entry, digits: int, relative: float, draws: int) -> None:
    """Refuse digits that an error bar does not have, and say how many draws they take.

    ``relative`` is the bar over the value with so many draws; it falls like one over the root of their number.
    """
    wanted = 10.0**-digits
    if relative <= wanted:
        return
    asked = f"{entry.id}: {digits} digits are asked for of a mean over random draws"
    if not (math.isfinite(relative) and draws):
        raise NotAvailable(f"{asked}, whose error is not known here; leave digits out")
    power = math.log10(draws) + 2 * (math.log10(relative) + digits)
    needed = str(round(round(10**power), 1 - int(power))) if power < 7 else f"10^{math.ceil(power)}"
    found = f"{draws} draws leave {relative:.2g} of it" if draws > 1 else "they leave one over the root of their number"
    raise NotAvailable(f"{asked}, and {found}: about {needed} draws would be needed; leave digits out")


def errors_of_outputs(
    entry: Entry, point: Point, values: Mapping[Any, Any], known: Memory | None = None
) -> dict[str, Any]:
    """Error bounds of all outputs, each in the shape of its output; infinite where they could not be worked out."""

    statement, _ = plan_of(entry, point.options)
    try:
        with guarded(entry, None, "the estimate of the error"):
            errors = float64_errors(entry, point, values, known)
    except TheoremEngineError:
        # the value stands; how far it can be trusted is not known
        errors = dict.fromkeys(statement.targets(), float("inf"))
    return {name: shape_errors(shape, values, errors) for name, shape in statement.outputs.items()}


def is_random(plan: Any) -> bool:
    """Whether anything in a plan is a mean over random numbers, entries applied inside operators included."""
    return bool(_drawn(plan))


def _drawn(plan: Any) -> set[Any]:
    """The quantities of a plan that hang on random numbers."""
    drawn: set[Any] = set()
    for step in plan.steps:
        if isinstance(step, Solve):
            needed = {*step.parameters, *(start for branch in step.starts for start in branch)}
            if needed & drawn or is_random(step.residual):
                drawn.update(step.unknowns)
        elif isinstance(step, Operate):
            for operator, results in zip(step.operators, step.results, strict=True):
                if operator.free_symbols & drawn or _draws(operator):
                    drawn.update(results)
        else:
            drawn.update(symbol for symbol, body in step.equations if body.free_symbols & drawn)
    return drawn


def _is_solved(plan: Any) -> bool:
    """Whether anything is solved or searched for with random numbers, beside plain means over them."""
    if any(isinstance(step, Solve) for step in plan.steps):
        return True
    operators = [operator for step in plan.steps if isinstance(step, Operate) for operator in step.operators]
    return any(_draws(operator) and not getattr(operator, "is_random", False) for operator in operators)


def _draws(operator: Any) -> bool:
    """Whether an operator, or anything inside it, is a mean over random numbers."""
    import sympy

    for node in sympy.preorder_traversal(operator):
        if getattr(node, "is_random", False) is True:
            return True
        if isinstance(node, Applied) and find_entry(node.entry_id).error_kind == "statistical":
            return True
    return False
