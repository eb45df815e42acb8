"""Rules about an entry's numbers at sample points: in their ranges, as exact as claimed, derivatives as stated."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy

from theorem_engine.asking.guard import at
from theorem_engine.asking.point import read_point
from theorem_engine.asking.prediction import predict
from theorem_engine.backends import get_backend
from theorem_engine.base.errors import NotAvailable, TheoremEngineError, ValidityWarning
from theorem_engine.checking.findings import Finding, finding
from theorem_engine.language.domains import Interval
from theorem_engine.language.entry import Entry
from theorem_engine.language.statement import leaves
from theorem_engine.planning.plan import make_plan

#: Seed of the points at which entries are tried.
SEED = 20260117
#: Digits of the evaluation that claimed errors are held against.
DIGITS = 30


def sample_points(entry: Entry, count: int, seed: int = SEED) -> list[dict[str, Any]]:
    """Points drawn from the entry's own domain, the same each time."""
    import numpy as np

    from theorem_engine.asking.random_point import draw_point

    rng = np.random.default_rng(seed)
    return [draw_point(entry, rng) for _ in range(count)]


def bad_values(entry: Entry, points: Iterable[Mapping[str, Any]]) -> Iterator[Finding]:
    """Outputs that are numbers inside their declared ranges; a documented gap is none of this rule's business."""
    for point in points:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ValidityWarning)
                outputs = predict(entry.id, **point).outputs
        except NotAvailable:
            continue
        except TheoremEngineError as error:
            yield _outside(entry, point, str(error).removeprefix(f"{entry.id}: "))
            continue
        for name, output in entry.outputs.items():
            for value in leaves(outputs.get(name)):
                if isinstance(value, float) and not _lies_in(output.range, value):
                    yield _outside(entry, point, f"{name} = {value!r} is outside its range")


def _outside(entry: Entry, point: Mapping[str, Any], says: str) -> Finding:
    shown = says if at(point) in says else f"{says}{at(point)}"
    return finding(
        "range", entry, shown, "correct the equations or the declared range, or narrow the domains or `requires` to "
        "where the statement holds",
    )  # fmt: skip


def _lies_in(range_: Any, value: float) -> bool:
    if math.isnan(value):
        return False
    slack = 1e-12 * (1 + abs(value))
    return not isinstance(range_, Interval) or bool(range_.low - slack <= value <= range_.high + slack)


@dataclass(frozen=True)
class Distance:
    """A number in double precision, the same at many digits, and the error that was claimed."""

    output: str
    value: Any
    truth: Any
    error: Any

    def is_covered(self) -> bool:
        """Whether the claim is no smaller than the distance; what has no error must be the same."""
        from mpmath import mp

        if isinstance(self.value, (bool, str)) or self.error is None or not math.isfinite(abs(self.value)):
            return bool(self.value == self.truth)
        if math.isnan(self.error):
            return False
        with mp.workdps(DIGITS + 10):
            return bool(abs(mp.mpmathify(self.value) - mp.mpmathify(self.truth)) <= self.error)


def distances(entry: Entry, point: Mapping[str, Any]) -> list[Distance]:
    """All outputs of an entry at a point against an evaluation of the same equations at many digits."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ValidityWarning)
        quick = predict(entry.id, **point)
        errors = quick.errors
        exact = predict(entry.id, digits=DIGITS, **point)
    found = []
    for name in quick.outputs:
        columns = (_flat(quick.outputs[name]), _flat(exact.outputs[name]), _flat(errors[name]))
        found += [Distance(name, *row) for row in zip(*columns, strict=True)]
    return found


def _flat(value: Any) -> list[Any]:
    import numpy as np

    if isinstance(value, Mapping):
        return [x for part in value.values() for x in _flat(part)]
    if isinstance(value, (list, tuple)):
        return [x for part in value for x in _flat(part)]
    return list(np.ravel(value)) if getattr(value, "ndim", 0) else [value]


def small_errors(entry: Entry, points: Iterable[Mapping[str, Any]]) -> Iterator[Finding]:
    """Errors that cover the distance from an evaluation at many digits; where there is none, nothing is said."""
    if entry.error_kind == "statistical":
        return
    for point in points:
        try:
            found = distances(entry, point)
        except TheoremEngineError:
            continue
        for row in found:
            if not row.is_covered():
                yield finding(
                    "error", entry,
                    f"{row.output} = {row.value!r} claims an error of {row.error!r} and is {row.truth} at {DIGITS} "
                    f"digits{at(point)}",
                    "mend what evaluates it in double precision, or let its `rounded` lowering state a larger error; "
                    "an error that is not known is infinite", row.output,
                )  # fmt: skip
                break


def wrong_derivatives(entry: Entry, points: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """Derivatives that the author states against the numerical derivative of the value they belong to."""
    from mpmath import mp

    backend = get_backend("multiprecision")
    for parameters in points:
        point = read_point(entry, parameters)
        statement = entry.statement(dict(point.options))
        for (output, letter), stated in statement.partials.items():
            value_at = backend.compile(
                make_plan(statement.given, statement.equations, [statement.output_symbol(output)], entry.id)
            )
            slope = sympy.Symbol("stated_slope")
            slope_at = backend.compile(
                make_plan(statement.given, {**statement.equations, slope: stated}, [slope], entry.id)
            )
            with mp.workdps(40):
                values = [backend.number(v) for v in point.values]
                place = statement.given.index(letter)
                step = mp.mpf(10) ** -12
                # a one-sided domain still has a two-sided formula here: g enters squared
                moved = [[*values[:place], values[place] + k * step, *values[place + 1 :]] for k in (-2, -1, 1, 2)]
                a, b, c, d = (value_at(*m)[0] for m in moved)
                numeric = (a - 8 * b + 8 * c - d) / (12 * step)
                exact = slope_at(*values)[0]
                if not abs(numeric - exact) <= mp.mpf(10) ** -20 * (1 + abs(exact)):
                    yield finding(
                        "derivatives", entry,
                        f"Partial({output!r}, {letter}) is {mp.nstr(exact, 10)} and the slope {mp.nstr(numeric, 10)}"
                        f"{at(parameters)}", "correct it, or leave it out: derivatives are worked out", output,
                    )  # fmt: skip
