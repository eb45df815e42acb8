"""Questions as plain data and answers as plain data: what a web page or an assistant may ask."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from theorem_engine.asking.citation import cite
from theorem_engine.asking.prediction import predict
from theorem_engine.base.errors import BadRequest, TheoremEngineError, UnknownEntry, UnknownFigure, ValidityWarning
from theorem_engine.base.exact import to_text
from theorem_engine.base.text import jsonable
from theorem_engine.language.catalogue import find_entry
from theorem_engine.language.domains import Interval
from theorem_engine.language.entry import Entry
from theorem_engine.showing.book.curve import places_of
from theorem_engine.showing.example import example_of
from theorem_engine.showing.find import entry_json, search
from theorem_engine.showing.formula.lines import plain
from theorem_engine.showing.formula.names import read_name

#: Points of a curve, seconds of a check, digits, entries cited: no question may ask for more.
MOST_POINTS, MOST_SECONDS, MOST_DIGITS, MOST_CITED = 200, 20.0, 200, 100
#: Text of one value.
LONGEST = 400

Body = Mapping[str, Any]


def answer(question: str, body: Body) -> dict[str, Any]:
    """The answer as ``{"status": 200, "answer": ...}``, or a status of 4xx with the engine's sentence."""
    warned: list[str] = []
    try:
        if question not in QUESTIONS:
            raise UnknownEntry(f"no question {question[:40]!r}; there are {', '.join(QUESTIONS)}")
        with warnings.catch_warnings(record=True) as raised:
            warnings.simplefilter("always", ValidityWarning)
            found = QUESTIONS[question](body)
        warned = list(dict.fromkeys(str(w.message) for w in raised if issubclass(w.category, ValidityWarning)))
    except TheoremEngineError as error:
        status = 404 if isinstance(error, (UnknownEntry, UnknownFigure)) else 422
        # a KeyError puts quotes around its message
        message = str(error.args[0]) if error.args else str(error)
        return {"status": status, "answer": {"error": type(error).__name__, "message": message}}
    return {"status": 200, "answer": {**found, "warnings": warned} if warned else found}


def _find(body: Body) -> dict[str, Any]:
    _only(body, "words", "paper")
    paper = body.get("paper")
    return {"found": search(_text(body, "words", ""), None if paper is None else _text(body, "paper"))
            .to_json()}  # fmt: skip


def _show(body: Body) -> dict[str, Any]:
    _only(body, "id")
    entry = find_entry(_text(body, "id"))
    example = example_of(entry)
    point = {} if example is None else {name: str(value) for name, value in example.point.items()}
    return {**entry_json(entry), "example": point, "sliders": [_slider(x, point) for x in entry.given]}


def _slider(letter: Any, point: Mapping[str, str]) -> dict[str, Any]:
    """What a form needs to know of a letter: its sign, and a range or a list of names."""
    found: dict[str, Any] = {"name": letter.name, "sign": plain(read_name(letter.latex_name)),
                             "meaning": letter.meaning}  # fmt: skip
    if type(letter.domain) is Interval:
        try:
            places, is_logarithmic = places_of(letter, point.get(letter.name, "1"), 3)
        except ValueError:
            return found
        found.update({"low": float(places[0]), "high": float(places[-1]), "logarithmic": is_logarithmic})
    elif getattr(letter.domain, "names", ()):
        found["names"] = list(letter.domain.names)
    return found


def _predict(body: Body) -> dict[str, Any]:
    _only(body, "id", "point", "digits", "certified")
    entry = find_entry(_text(body, "id"))
    digits = body.get("digits")
    if digits is not None and (isinstance(digits, bool) or not isinstance(digits, int) or digits > MOST_DIGITS):
        raise BadRequest(f"digits is a whole number of at most {MOST_DIGITS}")
    certified = body.get("certified", False)
    if not isinstance(certified, bool):
        raise BadRequest("certified is true or false")
    settings: dict[str, Any] = {"digits": digits, "certified": certified}
    found = predict(entry.id, **settings, **_point(entry, body))
    # as text it has no digit that its error does not cover
    return {**found.to_json(), "text": str(found)}


def _curve(body: Body) -> dict[str, Any]:
    """Values along a letter; null where there is none."""
    _only(body, "id", "point", "letter", "places", "output")
    entry = find_entry(_text(body, "id"))
    point = _point(entry, body)
    name = _text(body, "letter")
    letter = next((x for x in entry.letters if x.name == name), None)
    if letter is None:
        raise BadRequest(f"{entry.id}: {name[:40]!r} is no letter to run along")
    places = body.get("places")
    if not isinstance(places, list) or not 2 <= len(places) <= MOST_POINTS:
        raise BadRequest(f"places is a list of 2 to {MOST_POINTS} numbers")
    output = _text(body, "output", entry.main_output)
    if output not in entry.outputs:
        raise BadRequest(f"{entry.id} has no output {output[:40]!r}; it has {', '.join(entry.outputs)}")
    values: list[float | None] = []
    reasons: list[str] = []
    for place in places:
        try:
            found = predict(entry.id, **{**point, name: _value(name, place)}).outputs.get(output)
        except TheoremEngineError as error:
            reasons.append(str(error))
            values.append(None)
            continue
        number = jsonable(found, None)
        values.append(number if isinstance(number, (int, float)) and not isinstance(number, bool) else None)
    if len(reasons) == len(places):
        # every place is refused: the point itself is wrong, and its sentence is the answer
        raise BadRequest(reasons[0])
    return {"entry": entry.id, "letter": name, "output": output, "places": places, "values": values,
            "refused": len(reasons), "reason": reasons[0] if reasons else ""}  # fmt: skip


def _check(body: Body) -> dict[str, Any]:
    from theorem_engine.checking.verdict import check

    _only(body, "id", "point", "seconds", "samples", "seed")
    entry = find_entry(_text(body, "id"))
    seconds = body.get("seconds", 5)
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds <= MOST_SECONDS:
        raise BadRequest(f"seconds is a number above 0 and at most {MOST_SECONDS:g}")
    settings: dict[str, Any] = {"seconds": seconds}
    for name, least in (("samples", 1), ("seed", 0)):
        value = body.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= 10**9:
            raise BadRequest(f"{name} is a whole number from {least} to a thousand million")
        settings[name] = value
    return check(entry.id, **settings, **_point(entry, body)).to_json()


def _cite(body: Body) -> dict[str, Any]:
    _only(body, "ids")
    ids = body.get("ids")
    if not isinstance(ids, list) or not 1 <= len(ids) <= MOST_CITED or not all(isinstance(id, str) for id in ids):
        raise BadRequest(f"ids is a list of 1 to {MOST_CITED} ids")
    return {"ids": ids, "bibtex": cite(*ids)}


QUESTIONS: dict[str, Callable[[Body], dict[str, Any]]] = {
    "find": _find, "show": _show, "predict": _predict, "curve": _curve, "check": _check, "cite": _cite,
}  # fmt: skip


def _only(body: Body, *names: str) -> None:
    for name in body:
        if name not in names:
            raise BadRequest(f"{name[:40]!r} is not asked for here; {', '.join(names)} are")


def _text(body: Body, name: str, default: str | None = None) -> str:
    value = body.get(name, default)
    if not isinstance(value, str) or len(value) > LONGEST:
        raise BadRequest(f"{name} is a text of at most {LONGEST} characters")
    return value


def _point(entry: Entry, body: Body) -> dict[str, Any]:
    """The letters of a question: numbers, names and truth values; what would read a file is refused."""
    point = body.get("point", {})
    if not isinstance(point, dict) or len(point) > 60:
        raise BadRequest("point is an object of letters and values")
    own = {letter.name: letter for letter in entry.given}
    for name in point:
        domain = own[name].domain if name in own else None
        if domain is not None and not type(domain).__module__.startswith("theorem_engine.language."):
            raise BadRequest(f"{entry.id}: {name} is not taken here; it may stand for a file of this machine")
        if name in ("digits", "certified", "seconds", "samples", "seed") and name not in own:
            raise BadRequest(f"{entry.id}: {name!r} is no letter; it stands beside the point")
    return {name: _value(name, value) for name, value in point.items()}


def _value(name: str, value: Any) -> Any:
    if isinstance(value, bool) or (isinstance(value, str) and len(value) <= LONGEST):
        return value
    if isinstance(value, int) and abs(value) < 10**30:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return to_text(value)
    raise BadRequest(f"{name[:40]}: a value is a number, a truth value or a text of at most {LONGEST} characters")
