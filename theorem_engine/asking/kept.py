"""Plans kept on the disk: what a later process needs to answer a query without SymPy and without the paper.

A file for each entry in the user's cache (``kept_files``) holds letters and domains, and for each shape of a query the
compiled code as plain text. What is not plainly served (unknown letters, values outside their domains, warnings, odd
results) is answered by None, and left to those who can say why.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Mapping, Sequence
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, NamedTuple

from theorem_engine.asking.kept_files import Distrusted, load, path_of
from theorem_engine.base.exact import NotANumber, as_fraction, compare
from theorem_engine.language import domains
from theorem_engine.numerics.special_functions import compiled_functions_only


class Unserved(Exception):
    """A query that kept plans do not plainly answer."""


class Point(dict[str, Any]):
    """What was given, by name, and the letters that follow from it."""

    canonical: Mapping[str, Any]


def answer(id: str, given: Mapping[str, str]) -> Any:
    """What a prediction shows, from a kept plan; None where none is kept or the query is not plainly served."""
    begin = time.perf_counter()
    try:
        body = load(path_of(id))
        if body is None:
            return None
        with compiled_functions_only():
            return _answered(body, given, begin)
    except Unserved:
        return None
    except Distrusted as reason:
        print(f"the kept plan {path_of(id)} was ignored: {reason}", file=sys.stderr)
        return None
    except Exception as error:  # whatever is odd about kept data must not be the reason why a query fails
        print(f"the kept plan {path_of(id)} was ignored: {type(error).__name__}", file=sys.stderr)
        return None


def _answered(body: Any, given: Mapping[str, str], begin: float) -> Any:
    variant, point = _chosen(body, given)
    import numpy as np

    from theorem_engine.backends.restoring import restored
    from theorem_engine.backends.rounded.number import bound_of, with_error
    from theorem_engine.base.exact import as_float

    def number(value: Any) -> Any:
        return value.as_number(as_float, complex) if isinstance(value, domains.Structured) else as_float(value)

    exact = [point[name] for name in variant["values"]]
    doubles = [number(v) for v in exact]
    tested = [np.float64(v) if isinstance(v, float) else v for v in doubles]
    with np.errstate(all="ignore"):
        for test in variant["tests"]:
            if not _is_silent(test, restored(test["code"], "float64")(*tested)):
                raise Unserved
        results = restored(variant["code"], "float64")(*doubles)
        with_errors = restored(variant["code"], "rounded")(*map(with_error, exact, doubles))
    found = [_Result(value, bound_of(bound)) for value, bound in zip(results, with_errors, strict=True)]
    shaped = {name: _shaped(shape, interval, found) for name, shape, interval in variant["outputs"]}
    outputs, errors = ({name: pair[i] for name, pair in shaped.items()} for i in (0, 1))
    for name, above in body["doubts"]:
        if outputs[name] > above:
            raise Unserved
    shown = Point({name: value for name, value in point.items() if value is not None})
    shown.canonical = {}
    if variant["canonical"]:
        with np.errstate(all="ignore"):
            follow = restored(variant["canonical"]["code"], "float64")(*doubles)
        shown.canonical = {n: float(v) for n, v in zip(variant["canonical"]["names"], follow, strict=True)}
    return SimpleNamespace(
        entry=SimpleNamespace(id=body["id"], main_output=body["main"]), value=outputs[body["main"]], outputs=outputs,
        errors=errors, error=errors[body["main"]] or 0.0, error_kind=body["error_kind"], error_level=None, digits=None,
        method="float64", point=shown, seconds=time.perf_counter() - begin, certificate=None, missing="",
    )  # fmt: skip


def _is_silent(test: Mapping[str, Any], values: Any) -> bool:
    """Whether a requirement is met, or a caution has nothing to say."""
    if test["kind"] == "holds":
        return bool(values[0])
    if test["kind"] == "warns":
        return not bool(values[0])
    if test["kind"] == "exceeds":
        return not float(values[0]) > float(values[1])
    if test["kind"] == "positive":
        from theorem_engine.language.places import lowest_eigenvalue

        return lowest_eigenvalue(values, test["size"], test["slack"]) is None
    raise Unserved


class _Result(NamedTuple):
    """What code gives for one target."""

    value: Any
    bound: Any


def _shaped(shape: Any, interval: Any, found: Sequence[_Result]) -> tuple[Any, Any]:
    """An output and its error, in the shape that the entry gives it."""
    kind, *parts = shape
    if kind == "word":
        return parts[0], None
    if kind in ("target", "label"):
        here = found[parts[0]]
        value = _inside(here.value, interval)
        if kind == "label":
            return parts[1][int(value)], None
        return value, None if isinstance(value, bool) else here.bound
    pairs = [_shaped(part, interval, found) for part in parts[-1]]
    values, errors = [value for value, _ in pairs], [error for _, error in pairs]
    if kind == "list":
        return values, errors
    return dict(zip(parts[0], values, strict=True)), dict(zip(parts[0], errors, strict=True))


def _inside(found: Any, interval: Any) -> Any:
    """A truth value, or a number that is one and lies in its range; others are left to those who know the entry."""
    value = found.item() if hasattr(found, "item") and not getattr(found, "ndim", 0) else found
    if isinstance(value, bool):
        return value
    if not isinstance(value, (int, float)) or value != value:
        raise Unserved
    value = float(value)
    if interval is None:
        if abs(value) == math.inf:
            raise Unserved
    elif interval != "any" and not domain_of(interval).has(value):
        raise Unserved
    return value


def _chosen(body: Any, given: Mapping[str, str]) -> tuple[Any, dict[str, Any]]:
    """The variant that a query is answered by, and its point: exact values, None for letters that are not there."""
    letters = {letter["name"]: letter for letter in body["letters"]}
    if not set(given) <= set(letters):
        raise Unserved
    for variant in body["variants"]:
        if variant["names"] == sorted(given):
            point = _point(letters, variant, given)
            if point is not None:
                return variant, point
    raise Unserved


def _point(letters: Mapping[str, Any], variant: Any, given: Mapping[str, str]) -> dict[str, Any] | None:
    point: dict[str, Any] = {}
    for name, letter in letters.items():
        if name in variant["absent"]:
            point[name] = None
            continue
        raw = given[name] if name in given else default_of(letter["default"])
        try:
            value = domain_of(letter["domain"]).read(raw)
        except (NotANumber, domains.Rejected):
            raise Unserved from None
        if name in variant["options"]:
            if type(value) is not type(variant["options"][name]) or value != variant["options"][name]:
                return None
        elif isinstance(value, (str, bool)):
            return None
        point[name] = value
    for left, relation, right, outcome in variant["conditions"]:
        if _holds(point, left, relation, right) is not outcome:
            return None
    return point


_ORDERS = {
    "==": (0,), "!=": (-1, 1), "<": (-1,), "<=": (-1, 0), ">": (1,), ">=": (0, 1),
}  # fmt: skip


def _holds(point: Mapping[str, Any], left: Any, relation: str, right: Any) -> bool:
    """A condition between rational expressions, decided on exact values; one letter may be a root or infinite."""
    if left[0] == "letter" and right[0] == "number":
        value, bound = point[left[1]], right[1]
        if isinstance(value, domains.Structured):
            raise Unserved
        return compare(value, _end(bound)) in _ORDERS[relation]
    difference = _rational(left, point) - _rational(right, point)
    return (difference > 0) - (difference < 0) in _ORDERS[relation]


def _rational(tree: Any, point: Mapping[str, Any]) -> Fraction:
    """The value of a rational expression; Unserved where it has none among the fractions."""
    kind, *parts = tree
    if kind == "number":
        return Fraction(parts[0])
    if kind == "letter":
        fraction = as_fraction(point[parts[0]]) if isinstance(point[parts[0]], (int, float, Fraction)) else None
        if fraction is None:
            raise Unserved
        return fraction
    if kind == "power":
        base, exponent = _rational(parts[0], point), int(parts[1])
        if exponent < 0 and base == 0:
            raise Unserved
        return base**exponent
    values = [_rational(part, point) for part in parts]
    return sum(values, Fraction(0)) if kind == "sum" else math.prod(values, start=Fraction(1))


def default_of(kept: Any) -> Any:
    """A default as it was declared."""
    if kept is None:
        raise Unserved
    kind, value = kept
    return Fraction(value) if kind == "fraction" else float(value) if kind == "float" else value


def _end(text: Any) -> Any:
    """An end of an interval: whole, rational or infinite."""
    return float(text) if text in ("inf", "-inf") else int(text) if "/" not in text else Fraction(text)


def domain_of(data: Any) -> Any:
    """A domain from plain data."""
    kind, *parts = data
    if kind == "Interval":
        low, high, left, right = parts
        return domains.Interval(_end(low), _end(high), left, right)
    if kind == "OrWord":
        low, high, left, right, word = parts
        return domains.OrWord(_end(low), _end(high), left, right, word=word)
    if kind == "Integers":
        return domains.Integers(*parts)
    if kind == "Choice":
        return domains.Choice(tuple(parts))
    if kind == "Switch":
        return domains.Switch()
    if kind == "ComplexPlane":
        return domains.ComplexPlane()
    raise Unserved
