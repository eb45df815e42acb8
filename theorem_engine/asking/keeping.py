"""Writing kept plans: a query that was answered, as the data from which a later process answers its like."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from fractions import Fraction
from typing import Any

import sympy

from theorem_engine.asking import kept_files
from theorem_engine.asking.error import is_statistical
from theorem_engine.asking.evaluation import compiled, definitions_of, plan_of
from theorem_engine.asking.point import Point, caution_tests, read_point, requirement_tests
from theorem_engine.backends.running import description
from theorem_engine.base.errors import TheoremEngineError
from theorem_engine.base.files import write_whole
from theorem_engine.language import domains, rules
from theorem_engine.language.catalogue import BUILT_IN
from theorem_engine.language.entry import Entry
from theorem_engine.language.letters import ABSENT
from theorem_engine.language.statement import LabelSlot

#: Shapes of queries kept for one entry; the oldest makes room.
MOST = 24


class Unkept(Exception):
    """Something that has no form as plain data."""


def keep(entry: Entry, given: Mapping[str, str]) -> bool:
    """Keep the plan of a query that was answered; False where it cannot be had as plain data or not be written.

    Losing a plan costs time, never an answer, so nothing that goes wrong here is an error.
    """
    try:
        body = _joined(entry, _variant(entry, given, read_point(entry, given)))
        _write(entry, body)
    except (Unkept, TheoremEngineError, OSError):
        return False
    return True


def _joined(entry: Entry, variant: dict[str, Any]) -> dict[str, Any]:
    """All that is kept of the entry, this variant first."""
    try:
        known = kept_files.load(kept_files.path_of(entry.id)) or {"variants": []}
    except kept_files.Distrusted:
        known = {"variants": []}
    key = [variant[part] for part in ("names", "options", "conditions")]
    others = [v for v in known["variants"] if [v[part] for part in ("names", "options", "conditions")] != key]
    return {
        "id": entry.id,
        "main": entry.main_output,
        "error_kind": entry.error_kind,
        "doubts": [[doubt.output, doubt.above] for doubt in entry.doubts],
        "letters": [_letter(x) for x in entry.given],
        "variants": [variant, *others][:MOST],
    }


def _write(entry: Entry, body: Any) -> None:
    path = kept_files.path_of(entry.id)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        kept_files.load(path)
    except kept_files.Distrusted:
        # its permissions would pass to the file that replaces it
        with suppress(FileNotFoundError):
            path.unlink()
    data = {"fingerprint": kept_files.fingerprint(), "sum": kept_files.digest(body), "body": body}
    write_whole(path, json.dumps(data))
    os.chmod(path, 0o600)


def _variant(entry: Entry, given: Mapping[str, str], point: Point) -> dict[str, Any]:
    """One shape of a query with everything that answers it."""
    if not entry.module.startswith(BUILT_IN) or is_statistical(entry, point.options):
        raise Unkept("an entry from outside, or one that draws")
    if any(output.existence for output in entry.outputs.values()):
        raise Unkept("an entry that may speak of nothing")
    statement, _ = plan_of(entry, point.options)
    options = dict(point.options)
    letters = {x.name: x for x in entry.given}
    present = entry.present(options)
    targets = list(statement.targets())
    if statement.outputs[entry.main_output] not in targets:
        raise Unkept("a main output that is more than one number")
    code = description(compiled(entry, point.options, "float64"))
    if code is None:
        raise Unkept("a plan with operators that are not plain data")
    return {
        "names": sorted(given),
        "absent": [name for name, value in options.items() if value is ABSENT],
        "options": {n: _option(v) for n, v in options.items() if n in letters and v is not ABSENT},
        "conditions": [_condition(entry, n, bool(v), letters) for n, v in options.items() if n not in letters],
        "values": [x.name for x in present],
        "code": code,
        "outputs": [
            [name, _shape(shape, targets), _range(entry.outputs[name].range)]
            for name, shape in statement.outputs.items()
        ],
        "tests": [*_tests(entry, present, options)],
        "canonical": _canonical(entry, point),
    }


def _shape(shape: Any, targets: list[Any]) -> list[Any]:
    """An output's shape, with places among the targets for its symbols."""
    if isinstance(shape, sympy.Symbol):
        return ["target", targets.index(shape)]
    if isinstance(shape, LabelSlot):
        return ["label", targets.index(shape.symbol), [*(word for _, word in shape.label.cases), shape.label.otherwise]]
    if isinstance(shape, Mapping):
        return ["table", [str(key) for key in shape], [_shape(part, targets) for part in shape.values()]]
    if isinstance(shape, (list, tuple)):
        return ["list", [_shape(part, targets) for part in shape]]
    if isinstance(shape, str):
        return ["word", shape]
    raise Unkept("an output that is neither number nor word")


def _option(value: Any) -> Any:
    if not isinstance(value, (str, bool)):
        raise Unkept("an option that is no word")
    return value


def _tests(entry: Entry, present: Any, options: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Requirements and cautions as code."""
    for test in requirement_tests(entry, present, options):
        asked = test.requirement
        if isinstance(asked, rules.Holds):
            yield {"kind": "holds", "code": _code(test.function)}
        elif isinstance(asked, rules.PositiveSemidefinite):
            size = asked.matrix.shape[0]
            yield {"kind": "positive", "size": size, "slack": asked.slack, "code": _code(test.function)}
        else:
            raise Unkept("a requirement of another kind")
    if any(caution.outputs for caution in entry.warns):
        raise Unkept("a caution about outputs")
    for function, caution in caution_tests(entry, present, options):
        if type(caution) not in (rules.Warn, rules.Exceeds):
            raise Unkept("a caution of another kind")
        yield {"kind": "warns" if type(caution) is rules.Warn else "exceeds", "code": _code(function)}


def _code(function: Any) -> Any:
    found = description(function)
    if found is None:
        raise Unkept("a test with operators that are not plain data")
    return found


def _canonical(entry: Entry, point: Point) -> Any:
    if entry.model is None:
        return None
    found = entry.setting(dict(point.options)).definitions
    names = [letter.name for letter in found]
    return {"names": names, "code": _code(definitions_of(entry, point.options))} if names else None


def _condition(entry: Entry, name: str, outcome: bool, letters: Mapping[str, Any]) -> list[Any]:
    """A condition on letters between rational expressions."""
    relation = entry.condition(name)
    if not isinstance(relation, sympy.core.relational.Relational) or not relation.free_symbols <= set(letters.values()):
        raise Unkept("a condition that is no relation of letters")
    return [_rational(relation.lhs), relation.rel_op, _rational(relation.rhs), outcome]


def _rational(expression: Any) -> list[Any]:
    if expression in (sympy.oo, -sympy.oo):
        return ["number", "inf" if expression == sympy.oo else "-inf"]
    if expression.is_Rational:
        return ["number", str(Fraction(int(expression.p), int(expression.q)))]
    if expression.is_Symbol:
        return ["letter", expression.name]
    if expression.is_Pow and expression.exp.is_Integer and abs(int(expression.exp)) <= 16:
        return ["power", _rational(expression.base), int(expression.exp)]
    if expression.is_Add or expression.is_Mul:
        return ["sum" if expression.is_Add else "product", *map(_rational, expression.args)]
    raise Unkept("a condition that is not rational")


def _letter(letter: Any) -> dict[str, Any]:
    default = None if letter.is_required or letter.default is ABSENT else _default(letter.default)
    return {"name": letter.name, "domain": _domain(letter.domain), "default": default}


def _default(value: Any) -> list[Any]:
    for kind, name in ((bool, "plain"), (int, "plain"), (str, "plain"), (Fraction, "fraction"), (float, "float")):
        if type(value) is kind:
            return [name, value if name == "plain" else str(value) if kind is Fraction else repr(value)]
    raise Unkept("a default of another kind")


def _domain(domain: Any) -> list[Any]:
    """A domain as plain data; functions of one letter by their names only, and others not at all."""
    kind = type(domain)
    if kind in (domains.Interval, domains.OrWord):
        ends = [_end(domain.low), _end(domain.high), domain.left_open, domain.right_open]
        return [kind.__name__, *ends, *([domain.word] if kind is domains.OrWord else [])]
    if kind is domains.Integers:
        return ["Integers", domain.low, domain.high]
    if kind in (domains.Choice, domains.Expression):
        return ["Choice", *domain.names]
    if kind in (domains.Switch, domains.ComplexPlane):
        return [kind.__name__]
    return ["unknown"]


def _end(number: Any) -> str:
    return str(Fraction(number)) if abs(number) != float("inf") else "inf" if number > 0 else "-inf"


def _range(found: Any) -> Any:
    """The range of an output: None for all finite numbers, "any" where it is not an interval of numbers."""
    if found is None:
        return None
    return _domain(found) if isinstance(found, domains.Interval) else "any"
