"""A prediction as a number: its outputs with their errors, what it is when it is sent elsewhere, when it is none."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from theorem_engine.asking.evaluation import NamedPoint, canonical_values
from theorem_engine.asking.guard import at
from theorem_engine.asking.point import read_point
from theorem_engine.asking.quantity import Origin, Quantity
from theorem_engine.base.errors import BadRequest, Infeasible, UnknownOutput, nearest
from theorem_engine.base.exact import to_text
from theorem_engine.language.catalogue import find_entry
from theorem_engine.language.entry import Entry

if TYPE_CHECKING:
    from theorem_engine.asking.prediction import Prediction


def nothing_there(prediction: Prediction) -> str:
    """Why the outputs are values of nothing, as a clause; no text where what they speak of exists."""
    for name, output in prediction.entry.outputs.items():
        if output.existence and prediction.outputs.get(name) is False:
            return f"there is none at this point ({name} = False: {output.meaning})"
    return ""


def main_quantity(prediction: Prediction) -> Quantity:
    """The main output with its error; an error of ours if it does not exist or is more than one number."""
    if reason := nothing_there(prediction):
        raise Infeasible(
            f"{prediction.entry.id}: {reason}{at(prediction.point)}; .outputs has the values where the search ended"
        )
    found = output_of(prediction, prediction.entry.main_output)
    if not isinstance(found, Quantity):
        raise BadRequest(
            f"{prediction.entry.id}: {prediction.entry.main_output} is no single number, but {_kind(found)}; "
            ".value has it, and .outputs all outputs"
        )
    return found


def output_of(prediction: Prediction, name: Any) -> Any:
    """An output by name: a number with its error, or what else it is."""
    if name not in prediction.outputs:
        known = list(prediction.outputs)
        close = nearest(str(name)[:60], known, 1)
        raise UnknownOutput(
            f"{prediction.entry.id} has no output {str(name)[:60]!r}{close}. It has {', '.join(known)}."
        )
    value = prediction.outputs[name]
    if isinstance(value, bool) or not (isinstance(value, (int, float, complex)) or hasattr(value, "_mpf_")):
        return value if not hasattr(value, "_mpc_") else _with_error(prediction, name, value)
    return _with_error(prediction, name, value)


def _with_error(prediction: Prediction, name: str, value: Any) -> Quantity:
    given = tuple((letter, to_text(v)) for letter, v in prediction.point.items())
    key = (prediction.entry.id, given, prediction.digits, prediction.method, name)
    origin = Origin(key, lambda: prediction.errors[name], prediction.error_kind)
    return Quantity(value, {origin: 1.0}, 0.0, prediction.digits)


def _kind(found: Any) -> str:
    if isinstance(found, (bool, str)):
        return repr(found)
    return f"a {type(found).__name__} of {len(found)}" if hasattr(found, "__len__") else f"a {type(found).__name__}"


def restored_point(entry: Entry, given: Mapping[str, Any]) -> NamedPoint:
    """A point that comes from elsewhere, as it was."""
    return NamedPoint(given, lambda: canonical_values(entry, read_point(entry, given)))


def restored(kind: type[Prediction], id: str, given: Mapping[str, Any], numbers: Mapping[str, Any]) -> Prediction:
    """A prediction from the id of its entry, its point and its numbers."""
    entry = find_entry(id)
    return kind(entry=entry, point=restored_point(entry, given), **numbers)


def parts_of(prediction: Prediction) -> tuple[Any, ...]:
    """What ``restored`` is called with; entries and compiled functions stay where they are."""
    numbers = {name: value for name, value in vars(prediction).items() if name in kept_fields(type(prediction))} | {
        "_errors": dict(prediction.errors)
    }
    return partial(restored, type(prediction)), (prediction.entry.id, dict(prediction.point), numbers)


def kept_fields(kind: type[Any]) -> list[str]:
    """Fields of a prediction that are numbers and words."""
    return [name for name in kind.__dataclass_fields__ if name not in ("entry", "point", "_errors")]
