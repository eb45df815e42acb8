"""Predictions: an entry, a point, and the number that follows."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from theorem_engine.backends import get_backend
from theorem_engine.catalogue import find_entry
from theorem_engine.declaration import Entry
from theorem_engine.errors import BadRequest, NotAvailable, NotConverged, ValidityWarning
from theorem_engine.letters import ABSENT
from theorem_engine.plan import Plan, make_plan
from theorem_engine.point import Point, read_point
from theorem_engine.statement import Statement, assemble
from theorem_engine.values import to_text

MAX_DIGITS = 1000
#: Digits carried beyond those asked for.
GUARD = 12


@dataclass(frozen=True)
class Prediction:
    """A number by name: the main output, all outputs, and how far they can be trusted.

    ``error`` is the absolute error of ``value``. In double precision it is worked out when first
    asked for, by following rounding and truncation through the same evaluation.
    """

    value: Any
    outputs: Mapping[str, Any]
    error_kind: str
    digits: int | None
    method: str
    entry: Entry
    point: Mapping[str, Any]
    seconds: float
    _error: Any = field(repr=False, compare=False)

    @property
    def error(self) -> Any:
        """Absolute error of the value."""
        return self._error() if callable(self._error) else self._error

    def __float__(self) -> float:
        return float(self.value)

    def __str__(self) -> str:
        from theorem_engine.display import prediction_text

        return prediction_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from theorem_engine.display import prediction_html

        return prediction_html(self)

    def to_json(self) -> dict[str, Any]:
        """Plain data; numbers of more than double precision as text."""
        from theorem_engine.display import jsonable

        return {
            "entry": self.entry.id,
            "point": {k: to_text(v) for k, v in self.point.items()},
            "value": jsonable(self.value, self.digits),
            "outputs": jsonable(dict(self.outputs), self.digits),
            "error": jsonable(self.error, None),
            "error_kind": self.error_kind,
            "digits": self.digits,
            "method": self.method,
            "seconds": self.seconds,
        }


def predict(id: str, *, digits: int | None = None, certified: bool = False, **parameters: Any) -> Prediction:
    """The value of an entry at a point.

    Parameters are the entry's own letters; ``digits`` asks for more than double precision.

    >>> predict("marion2025.linear-risk", gamma=1, L=10).value
    0.9
    """
    entry = find_entry(id)
    if certified:
        raise NotAvailable(f"{entry.id}: certified evaluation is not available in this version; use digits=")
    check_digits(digits)
    begin = time.perf_counter()
    point = read_point(entry, parameters)
    from theorem_engine.citing import remember

    remember(entry)
    if digits is None:
        outputs, error, method = _in_float64(entry, point)
    else:
        outputs, error, method = _in_digits(entry, point, digits)
    kind = "estimated" if digits is not None else _kind_of_error(entry, outputs)
    return Prediction(
        outputs[entry.main_output], outputs, kind, digits, method, entry, named_point(entry, point),
        time.perf_counter() - begin, error,
    )  # fmt: skip


def _kind_of_error(entry: Entry, outputs: Mapping[str, Any]) -> str:
    """The entry's kind of error, or "approximate" where an output says so; the user is then warned."""
    doubts = [doubt for doubt in entry.doubts if outputs[doubt.output] > doubt.above]
    for doubt in doubts:
        found = f"{doubt.output} = {outputs[doubt.output]:.3g}"
        warnings.warn(ValidityWarning(f"{entry.id}: {doubt.message} ({found})"), stacklevel=3)
    return "approximate" if doubts else entry.error_kind


def check_digits(digits: Any) -> None:
    """Digits are a whole number from 1 to the limit, or None."""
    if digits is None:
        return
    if isinstance(digits, bool) or not isinstance(digits, int) or not 1 <= digits <= MAX_DIGITS:
        shown = "a huge number" if isinstance(digits, int) and abs(digits) > 10**40 else repr(digits)[:40]
        raise BadRequest(f"digits={shown} is refused: digits is a whole number from 1 to {MAX_DIGITS}")


def named_point(entry: Entry, point: Point) -> dict[str, Any]:
    """The point as a mapping in the entry's order, defaults included."""
    values = iter(point.values)
    options = dict(point.options)
    whole = {x.name: options[x.name] if x.name in options else next(values) for x in entry.given}
    return {name: value for name, value in whole.items() if value is not ABSENT}


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
    import numpy as np

    statement, _ = plan_of(entry, options)
    run = compiled(entry, options, "float64")
    with np.errstate(all="ignore"):
        try:
            try:
                results = run(*values)
            except (ZeroDivisionError, OverflowError):
                # plain floats raise where arrays give infinities, which may well be what a limit needs
                results = run(*[np.float64(v) if isinstance(v, float) else v for v in values])
        except NotConverged as error:
            raise NotConverged(f"{entry.id}: {error}") from None
    return dict(zip(statement.targets(), results, strict=True))


def _in_float64(entry: Entry, point: Point) -> tuple[dict[str, Any], Any, str]:
    number = get_backend("float64").number
    statement, _ = plan_of(entry, point.options)
    values = evaluate_float64(entry, point.options, [number(v) for v in point.values])
    plain = {symbol: as_plain(entry, symbol, value) for symbol, value in values.items()}
    outputs = {name: assemble(shape, plain) for name, shape in statement.outputs.items()}

    def error() -> float:
        from theorem_engine.rounding import float64_error

        return float64_error(entry, point)

    return outputs, error, "float64"


def as_plain(entry: Entry, symbol: Any, value: Any) -> Any:
    """A Python number, truth value or array; a NaN never leaves the engine."""
    if getattr(value, "ndim", 0):
        if not (value == value).all():
            raise NotConverged(f"{entry.id}: {symbol.name} has entries without a finite value at this point")
        return value
    item = value.item() if hasattr(value, "item") else value
    if isinstance(item, (bool, complex)):
        return item
    try:
        item = float(item)
    except OverflowError:
        # a whole number beyond double precision
        item = math.nan
    if math.isnan(item):
        raise NotConverged(
            f"{entry.id}: {symbol.name} has no finite value in double precision at this point; try digits=30"
        )
    return item


def _in_digits(entry: Entry, point: Point, digits: int) -> tuple[dict[str, Any], Any, str]:
    """Evaluate at growing precision until two evaluations agree on the digits asked for."""
    from mpmath import mp

    from theorem_engine.backends.multiprecision import BACKEND

    statement, _ = plan_of(entry, point.options)
    run = compiled(entry, point.options, "multiprecision")
    main = statement.outputs[entry.main_output]
    targets = statement.targets()
    precision = digits + GUARD
    previous: list[Any] | None = None
    try:
        while precision <= 8 * (digits + 60):
            with mp.workdps(precision):
                results = run(*[BACKEND.number(v) for v in point.values])
                if previous is not None:
                    gaps = [_gap(a, b, digits) for a, b in zip(previous, results, strict=True)]
                    if all(gap is not None for gap in gaps):
                        values = dict(zip(targets, results, strict=True))
                        with mp.workdps(digits):
                            rounded = {s: _rounded(v) for s, v in values.items()}
                        outputs = {name: assemble(shape, rounded) for name, shape in statement.outputs.items()}
                        error = dict(zip(targets, gaps, strict=True)).get(main, mp.zero)
                        return outputs, error, f"mpmath, {precision} digits carried"
            previous, precision = results, precision + max(10, precision // 3)
    except NotConverged as error:
        raise NotConverged(f"{entry.id}: {error}") from None
    raise NotConverged(f"{entry.id}: evaluations up to {precision} digits do not agree on {digits} of them")


def _rounded(value: Any) -> Any:
    return value if isinstance(value, bool) or not hasattr(value, "_mpf_") else +value


def _gap(a: Any, b: Any, digits: int) -> Any:
    """Distance of two evaluations plus rounding, or None if it exceeds the digits asked for."""
    from mpmath import mp

    if isinstance(b, list):
        gaps = [_gap(x, y, digits) for x, y in zip(a, b, strict=True)]
        return None if any(g is None for g in gaps) else max(gaps, default=mp.zero)
    if isinstance(b, bool) or not (hasattr(b, "_mpf_") or hasattr(b, "_mpc_")):
        return mp.zero if a == b else None
    if mp.isnan(b):
        return None
    if a == b:
        return abs(b) * mp.mpf(10) ** (-digits) if mp.isfinite(b) else mp.zero
    unit = mp.mpf(10) ** (-digits)
    gap = abs(a - b)
    # zero itself has no leading digit: both evaluations are rounding noise of their own precision
    noise = mp.mpf(10) ** (8 - digits - GUARD)
    if gap <= unit * abs(b) / 10 or (abs(a) < noise and abs(b) < mp.mpf(10) ** (8 - mp.dps)):
        return gap + unit * abs(b)
    return None
