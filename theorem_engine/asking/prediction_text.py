"""A prediction as text and as a small table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from theorem_engine.base.errors import TheoremEngineError
from theorem_engine.base.exact import to_text
from theorem_engine.base.text import error_text, jsonable, value_text

if TYPE_CHECKING:
    from theorem_engine.asking.prediction import Prediction


def known_errors(prediction: Prediction) -> Mapping[str, Any]:
    """The errors of a prediction by output; none where they could not be worked out: showing a value never fails."""
    try:
        return prediction.errors or {}
    except TheoremEngineError:
        return {}


def prediction_text(prediction: Prediction) -> str:
    """The entry, the point, the main output with its error, and the other outputs below it."""
    point = ", ".join(f"{name}={to_text(value)}" for name, value in prediction.point.items())
    rows = list(_prediction_rows(prediction))
    width = max(len(name) for name, _, _ in rows)
    lines = [f"  {name.ljust(width)} = {value}{remark}" for name, value, remark in rows]
    follows = ", ".join(f"{name}={v:.6g}" for name, v in canonical_letters(prediction).items())
    head = [f"{prediction.entry.id} at {point}" if point else prediction.entry.id]
    none = [f"  {prediction.missing}"] if prediction.missing else []
    proved = [f"  {line}" for line in certificate_lines(prediction)]
    return "\n".join([*head, *none, *([f"  that is {follows}"] if follows else []), *lines, *proved])


def prediction_json(prediction: Prediction) -> dict[str, Any]:
    """Plain data; numbers of more than double precision as text."""
    return {
        "entry": prediction.entry.id,
        "point": {k: to_text(v) for k, v in prediction.point.items()},
        "canonical": jsonable(dict(canonical_letters(prediction)), None),
        "value": jsonable(prediction.value, prediction.digits),
        "outputs": jsonable(dict(prediction.outputs), prediction.digits),
        "error": jsonable(prediction.error, None),
        "errors": jsonable(dict(prediction.errors), None),
        "error_kind": prediction.error_kind,
        "error_level": prediction.error_level,
        "digits": prediction.digits,
        "method": prediction.method,
        "seconds": prediction.seconds,
        "certificate": None if prediction.certificate is None else prediction.certificate.to_json(),
        **({"missing": prediction.missing} if prediction.missing else {}),
    }


def certificate_lines(prediction: Prediction) -> list[str]:
    """The status of a proof and what it says, each in a line; nothing without a proof."""
    found = prediction.certificate
    if found is None:
        return []
    box = [f"box: {', '.join(f'{name} in {side}' for name, side in found.box.items())}"] if found.box else []
    return [*(f"{status}: {text}" for status, text in found.claims), *box]


def canonical_letters(prediction: Prediction) -> Mapping[str, Any]:
    """The letters that follow from those given; none where they cannot be worked out: showing a value never fails."""
    try:
        return getattr(prediction.point, "canonical", {})
    except TheoremEngineError:
        return {}


def _prediction_rows(prediction: Prediction) -> Iterator[tuple[str, str, str]]:
    """Name, value and remark of each output, the main one first."""
    main, errors, digits = prediction.entry.main_output, known_errors(prediction), prediction.digits
    sign = _sign(prediction.value, errors.get(main))
    kind = _kind_text(prediction) if main in errors else "error unknown"
    yield main, value_text(prediction.value, errors.get(main), digits), f"{sign}  ({kind}, {prediction.method})"
    told = f"  ({_drawn_text(prediction)})" if prediction.error_level and prediction.error_kind == "exact" else ""
    for name, value in prediction.outputs.items():
        if name != main:
            # digits that were asked for are all right: their number says what the error would, but for a zero that has
            # none; a proven radius is what was asked for
            is_told = digits and prediction.certificate is None and not (value == 0 and errors.get(name))
            remark = "" if is_told else _sign(value, errors.get(name))
            yield name, value_text(value, errors.get(name), digits), remark and remark + told


def _sign(value: Any, error: Any) -> str:
    """The error of a number beside it; of lists and tables the digits shown have to tell."""
    is_one = isinstance(value, (float, complex)) or hasattr(value, "_mpf_") or hasattr(value, "_mpc_")
    return f" +- {error_text(error)}" if is_one and error is not None else ""


def _kind_text(prediction: Prediction) -> str:
    """The kind of the error, with the level of one that is statistical."""
    if prediction.error_level is None or prediction.error_kind == "exact":
        return prediction.error_kind
    if prediction.error_kind == "statistical":
        return _drawn_text(prediction)
    return f"{prediction.error_kind}; the error is {_drawn_text(prediction)}"


def _drawn_text(prediction: Prediction) -> str:
    return f"statistical at {100 * (prediction.error_level or 0):g} %"


def prediction_html(prediction: Prediction) -> str:
    """The same as a small table."""
    point = ", ".join(f"{escape(name)} = {escape(to_text(value))}" for name, value in prediction.point.items())
    rows = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(value)}</td><td>{escape(remark.replace('+-', '±').strip())}</td></tr>"
        for name, value, remark in _prediction_rows(prediction)
    )
    none = f"<p>{escape(prediction.missing)}</p>" if prediction.missing else ""
    proved = "".join(f"<p>{escape(line)}</p>" for line in certificate_lines(prediction))
    place = f"<code>{escape(prediction.entry.id)}</code> at {point or 'its only point'}"
    return f"<div>{place}{none}<table>{rows}</table>{proved}</div>"
