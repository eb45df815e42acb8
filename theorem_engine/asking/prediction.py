"""Predictions: an entry, a point, and the number that follows."""

from __future__ import annotations

import math
import re
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from theorem_engine.asking.certificate import USUAL_DIGITS, Certificate, certify
from theorem_engine.asking.citation import remember
from theorem_engine.asking.digits import evaluate_digits
from theorem_engine.asking.error import errors_of_outputs, float64_errors, is_statistical, refuse_beyond_bar
from theorem_engine.asking.evaluation import evaluate_float64, named_point, plan_of
from theorem_engine.asking.guard import at, guarded
from theorem_engine.asking.point import Point, read_point, warn_about_outputs
from theorem_engine.asking.prediction_text import prediction_html, prediction_json, prediction_text
from theorem_engine.asking.prediction_value import main_quantity, nothing_there, output_of, parts_of
from theorem_engine.asking.quantity import Numeric, Quantity
from theorem_engine.asking.ranges import within_ranges
from theorem_engine.backends import get_backend
from theorem_engine.base.errors import BadRequest, NotConverged, OutOfDomain, TheoremEngineError, ValidityWarning
from theorem_engine.base.precision import alone
from theorem_engine.base.random_sets import LEVEL
from theorem_engine.base.reports import listening
from theorem_engine.language.catalogue import Named, find_entry
from theorem_engine.language.domains import Measured
from theorem_engine.language.entry import Entry
from theorem_engine.language.operators.base import Operator
from theorem_engine.language.operators.spectral_mean import SpectralMean
from theorem_engine.language.operators.token_mean import TokenMean
from theorem_engine.language.statement import assemble
from theorem_engine.numerics.remembering import handed_on, remembering
from theorem_engine.planning.plan import Operate, Plan, Solve

MAX_DIGITS = 1000
#: Digits of a mean over random draws above which nobody can draw enough, so that it need not be tried.
MOST_DRAWN = 8


@dataclass(frozen=True, eq=False)
class Prediction(Numeric):
    """A number by name: the main output, all outputs, and how far they can be trusted.

    It may stand in arithmetic, which carries its error (``quantity``); ``p["excess"]`` and ``p.excess`` are its other
    outputs with theirs. Predictions are compared and hashed by value, as numbers are.

    ``error`` is the absolute error of ``value``, ``errors`` those of all outputs by name, in the shape of each: None
    for words and truth values, infinite where it could not be worked out. In double precision they are worked out
    when first asked for, by following rounding and truncation through the same evaluation.
    """

    value: Any
    outputs: Mapping[str, Any]
    error_kind: str
    digits: int | None
    method: str
    entry: Entry
    point: Mapping[str, Any]
    seconds: float
    #: Errors by output, or a function that finds them.
    _errors: Any = field(repr=False, compare=False)
    #: Probability with which statistical errors cover the truth; None where no random numbers were drawn.
    error_level: float | None = None
    #: What was proved, where a proof was asked for: every error is then the proven radius of its output.
    certificate: Certificate | None = None

    @cached_property
    def errors(self) -> Mapping[str, Any]:
        """Absolute errors of all outputs, each in the shape of its output."""
        found: Mapping[str, Any] = self._errors() if callable(self._errors) else self._errors
        return found

    @property
    def error(self) -> Any:
        """Absolute error of the value; of its worst part if it has several."""
        return worst(self.errors[self.entry.main_output])

    def quantity(self) -> Quantity:
        """The value with its error, for arithmetic; an error where what is asked for does not exist."""
        return main_quantity(self)

    @property
    def missing(self) -> str:
        """Why the outputs are values of nothing, where they are; else no text."""
        return nothing_there(self)

    def __getitem__(self, name: str) -> Any:
        return output_of(self, name)

    def __getattr__(self, name: str) -> Any:
        # only what is no attribute; names with underscores are asked for by copying and pickling
        if name.startswith("_") or name not in self.outputs:
            known = "" if name.startswith("_") else f"; its outputs are {', '.join(self.outputs)}"
            raise AttributeError(f"a prediction has no attribute {name!r}{known}")
        return output_of(self, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.outputs})

    def __hash__(self) -> int:
        try:
            return hash(self.value)
        except TypeError:
            return hash((self.entry.id, self.method))

    def __reduce__(self) -> Any:
        return parts_of(self)

    def __str__(self) -> str:
        return prediction_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return prediction_html(self)

    def to_json(self) -> dict[str, Any]:
        """Plain data; numbers of more than double precision as text."""
        return prediction_json(self)


def worst(errors: Any) -> Any:
    """The largest of the errors of an output's parts; zero if it has none."""
    if hasattr(errors, "max"):
        return float(errors.max(initial=0.0))
    if isinstance(errors, Mapping):
        errors = list(errors.values())
    if isinstance(errors, (list, tuple)):
        return max((worst(part) for part in errors), default=0.0)
    return 0.0 if errors is None else errors


def predict(id: Named, *, digits: int | None = None, certified: bool = False, **parameters: Any) -> Prediction:
    """The value of an entry at a point.

    An entry or another prediction may stand in place of the id. Parameters are the entry's own letters; ``digits``
    asks for more than double precision, ``certified`` for an enclosure with a proof, to 15 digits or as many as are
    asked for.

    >>> predict("marion2025.linear-risk", gamma=1, L=10).value
    0.9
    """
    entry = find_entry(id)
    check_digits(digits)
    if certified and digits is None:
        digits = USUAL_DIGITS
    certificate = None
    begin = time.perf_counter()
    with guarded(entry, parameters, "reading the point"):
        point = read_point(entry, parameters)
    check_measured(entry, point, digits, certified)
    remember(entry)
    named = named_point(entry, point)
    with guarded(entry, named, "the evaluation"):
        is_random = not certified and is_statistical(entry, point.options)
        if is_random and digits is not None:
            outputs, errors, method = _with_so_many_digits(entry, point, digits)
        elif digits is None:
            outputs, errors, method = _in_float64(entry, point)
        elif certified:
            with alone():
                outputs, errors, method, certificate = certify(entry, point, digits)
        else:
            outputs, errors, method = evaluate_digits(entry, point, digits)
        if entry.warns:
            options = dict(point.options)
            letters = [x for x in entry.letters if x.name not in options]
            warn_about_outputs(entry, dict(zip(letters, point.values, strict=True)), options, outputs)
        is_exact = digits is not None and not is_random
        kind = "certified" if certified else "estimated" if is_exact else _kind_of_error(entry, point, outputs)
        level = LEVEL if is_random else None
    return Prediction(
        outputs[entry.main_output], outputs, kind, digits, method, entry, named, time.perf_counter() - begin, errors,
        level, certificate,
    )  # fmt: skip


def _kind_of_error(entry: Entry, point: Point, outputs: Mapping[str, Any]) -> str:
    """What the error of the main output is, or "approximate" where an output says so; the user is then warned."""
    doubts = [doubt for doubt in entry.doubts if outputs[doubt.output] > doubt.above]
    for doubt in doubts:
        found = f"{doubt.output} = {outputs[doubt.output]:.3g}"
        warnings.warn(ValidityWarning(f"{entry.id}: {doubt.message} ({found})"), stacklevel=3)
    if doubts:
        return "approximate"
    if entry.error_kind != "statistical":
        return entry.error_kind
    statement, _ = plan_of(entry, point.options)
    if getattr(statement.equations.get(statement.outputs[entry.main_output]), "is_integer", False) is True:
        return "exact"
    return "statistical" if is_statistical(entry, point.options) else "estimated"


def check_digits(digits: Any) -> None:
    """Digits are a whole number from 1 to the limit, or None."""
    if digits is None:
        return
    if isinstance(digits, str) and re.fullmatch(r"\s*[0-9]{1,4}\s*", digits):
        raise BadRequest(f"digits={digits!r} is text; write digits={int(digits)} (from 1 to {MAX_DIGITS})")
    if isinstance(digits, bool) or not isinstance(digits, int) or not 1 <= digits <= MAX_DIGITS:
        shown = "a huge number" if isinstance(digits, int) and abs(digits) > 10**40 else repr(digits)[:40]
        raise BadRequest(f"digits={shown} is refused: digits is a whole number from 1 to {MAX_DIGITS}")


def check_measured(entry: Entry, point: Point, digits: int | None, certified: bool) -> None:
    """Numbers known in double precision make no answer of many digits, and no proof."""
    for name, value in point.options:
        if isinstance(value, Measured) and (certified or (digits is not None and digits > value.digits)):
            asked = "a certified value" if certified else f"digits={digits}"
            raise BadRequest(
                f"{entry.id}: {asked} is refused, because {name} is read in double precision; ask for at most "
                f"{value.digits} digits, not certified, or give its numbers as letters"
            )


def _in_float64(entry: Entry, point: Point) -> tuple[dict[str, Any], Any, str]:
    number = get_backend("float64").number
    statement, _ = plan_of(entry, point.options)
    try:
        with remembering() as memory:
            values = evaluate_float64(entry, point.options, [number(v) for v in point.values])
    except (NotConverged, OutOfDomain) as error:
        raise type(error)(f"{error}{at(named_point(entry, point))}") from error.__cause__
    try:
        plain = {symbol: as_plain(entry, symbol, value) for symbol, value in values.items()}
        plain = dict(within_ranges(entry, statement, plain, lambda: float64_errors(entry, point)))
    except NotConverged as error:
        raise NotConverged(f"{error}{at(named_point(entry, point))}{_advice(entry, point)}") from error.__cause__
    outputs = {name: assemble(shape, plain) for name, shape in statement.outputs.items()}
    # an error that is asked for soon need not make the values again
    known = handed_on(memory)
    return outputs, lambda: errors_of_outputs(entry, point, plain, known()), "float64"


def _with_so_many_digits(entry: Entry, point: Point, digits: int) -> tuple[dict[str, Any], Any, str]:
    """Means over random draws, where their error bars have the digits asked for; else how many draws would."""
    if digits > MOST_DRAWN:
        refuse_beyond_bar(entry, digits, 1.0, 1)
    with listening() as notes:
        outputs, errors, method = _in_float64(entry, point)
    found, value = errors(), outputs[entry.main_output]
    size = abs(value) if isinstance(value, (int, float)) and value else 1.0
    draws = max((note.draws for note in notes), default=0)
    refuse_beyond_bar(entry, digits, worst(found[entry.main_output]) / size, draws)
    return outputs, found, method


def _advice(entry: Entry, point: Point) -> str:
    """A clause that sends a user to more digits: where they have been found to help, or where trying takes long."""
    plan = plan_of(entry, point.options)[1]
    if entry.costly:
        return ""
    if _has_long_digits(plan):
        return "; digits=30 may have a value here"
    try:
        with guarded(entry, None, "the evaluation with more digits"):
            evaluate_digits(entry, point, 15)
    except TheoremEngineError:
        return ""
    return "; digits=30 has a value here"


def _has_long_digits(plan: Plan) -> bool:
    """Whether more digits would take seconds, which a refusal must not.

    Groups, means over spectra and tokens, and operators inside operators do.
    """
    operators = [o for step in plan.steps if isinstance(step, Operate) for o in step.operators]
    return any(isinstance(step, Solve) for step in plan.steps) or any(
        isinstance(o, (SpectralMean, TokenMean)) or any(arg.atoms(Operator) for arg in o.args) for o in operators
    )


def as_plain(entry: Entry, symbol: Any, value: Any) -> Any:
    """A Python number, truth value or array; a NaN never leaves the engine."""
    if getattr(value, "ndim", 0):
        if not (value == value).all():
            raise NotConverged(f"{entry.id}: {symbol.name} has entries without a finite value")
        return value
    item = value.item() if hasattr(value, "item") else value
    if isinstance(item, (bool, complex)) and item == item:
        return item
    try:
        item = float(item)
    except (OverflowError, TypeError):
        # a whole number beyond double precision, or a complex number without a value
        item = math.nan
    if math.isnan(item):
        raise NotConverged(f"{entry.id}: {symbol.name} has no finite value in double precision")
    return item
