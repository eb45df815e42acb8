"""Plans kept on the disk: what a later process needs to answer a query without SymPy and without the paper.

A file for each entry in the user's cache holds letters and domains, and for each shape of a query the compiled code as
plain text. It is used under its fingerprint alone: the bytes of every source file of the engine and of the registry,
and the versions of Python and of the libraries. It must be ours: a plain file of this user that nobody else may write.
What is not plainly served (unknown letters, values outside their domains, warnings, odd results) is answered by None,
and left to those who can say why.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
import sys
import time
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from theorem_engine.base.exact import NotANumber, as_fraction, compare
from theorem_engine.base.files import cache_folder
from theorem_engine.base.version import __version__
from theorem_engine.language import domains
from theorem_engine.numerics.special_functions import compiled_functions_only

#: The form of the files; another number stands for another form.
FORM = 1
#: Files whose bytes decide what is computed.
_ENDINGS = (".py", ".toml")
_LIBRARIES = ("numpy", "scipy", "sympy", "mpmath")
#: Bytes of a file; ours are far shorter.
_LARGEST = 2**24


class Distrusted(Exception):
    """A file that is not used, and why."""


class Unserved(Exception):
    """A query that kept plans do not plainly answer."""


def folder() -> Path:
    """Where the plans of this installation are kept."""
    own = hashlib.sha256(str(_engine()).encode()).hexdigest()[:12]
    return cache_folder() / "plans" / own


def _engine() -> Path:
    return Path(__file__).resolve().parent.parent


@cache
def fingerprint() -> str:
    """A digest of all that decides what a kept plan computes."""
    found = hashlib.sha256(f"{FORM} {__version__} {sys.version} {sys.byteorder}".encode())
    for name in _LIBRARIES:
        found.update(_library(name))
    for place in (_engine(), *_registry()):
        for path in sorted(_files(str(place))):
            data = Path(path).read_bytes()
            found.update(f"{path[len(str(place)) :]} {len(data)}:".encode() + data)
    return found.hexdigest()


def _library(name: str) -> bytes:
    """What tells one version of a library from another, read without importing it."""
    import importlib.util

    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        return b"none"
    found = [spec.origin.encode()]
    for file in ("version.py", "release.py", "__init__.py"):
        path = Path(spec.origin).with_name(file)
        if path.is_file():
            found.append(path.read_bytes())
    return b"\n".join(found)


def _registry() -> list[Path]:
    import importlib.util

    spec = importlib.util.find_spec("theorem_engine.registry")
    return sorted(Path(place) for place in (spec.submodule_search_locations or ())) if spec else []


def _files(place: str) -> Iterator[str]:
    with os.scandir(place) as found:
        for item in found:
            if item.is_dir():
                if item.name != "__pycache__":
                    yield from _files(item.path)
            elif item.name.endswith(_ENDINGS):
                yield item.path


def path_of(id: str) -> Path:
    """The file of an entry."""
    return folder() / f"{id}.json"


def digest(body: Any) -> str:
    """The sum that a file carries of its own content."""
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def load(path: Path) -> Any:
    """The content of a file, None where there is none or it is of another state; Distrusted where it is not ours."""
    try:
        with path.open("rb") as file:
            _check_owner(os.fstat(file.fileno()), is_folder=False)
            _check_owner(os.stat(path.parent), is_folder=True)
            data = file.read(_LARGEST + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Distrusted(error.strerror or "it cannot be read") from None
    try:
        whole = json.loads(data) if len(data) <= _LARGEST else None
        state, total, body = whole["fingerprint"], whole["sum"], whole["body"]
    except (ValueError, KeyError, TypeError, RecursionError, MemoryError):
        raise Distrusted("it is broken") from None
    if digest(body) != total:
        raise Distrusted("its content is not what was written")
    return body if state == fingerprint() else None


def _check_owner(found: os.stat_result, is_folder: bool) -> None:
    what = "its folder" if is_folder else "it"
    if not (stat.S_ISDIR if is_folder else stat.S_ISREG)(found.st_mode):
        raise Distrusted(f"{what} is no plain {'folder' if is_folder else 'file'}")
    if hasattr(os, "getuid"):
        if found.st_uid != os.getuid():
            raise Distrusted(f"{what} belongs to another user")
        if found.st_mode & stat.S_IWOTH:
            raise Distrusted(f"everybody may write {what}")


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
    outputs, errors = {}, {}
    for (name, interval), value, bound in zip(variant["outputs"], results, map(bound_of, with_errors), strict=True):
        item = value.item() if hasattr(value, "item") and not getattr(value, "ndim", 0) else value
        outputs[name] = item if isinstance(item, bool) else _inside(item, interval)
        errors[name] = None if isinstance(item, bool) else bound
    for name, above in body["doubts"]:
        if outputs[name] > above:
            raise Unserved
    shown = Point({name: value for name, value in point.items() if value is not None})
    shown.canonical = {}
    if variant["canonical"]:
        with np.errstate(all="ignore"):
            found = restored(variant["canonical"]["code"], "float64")(*doubles)
        shown.canonical = {n: float(v) for n, v in zip(variant["canonical"]["names"], found, strict=True)}
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


def _inside(value: Any, interval: Any) -> Any:
    """A number that is one and lies in its range; others are told about by those who know the entry."""
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
