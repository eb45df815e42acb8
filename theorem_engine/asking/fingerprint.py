"""Fingerprints: short texts that are equal when, and only when, two computations are the same.

A result kept from an earlier run may stand for a new one if nothing that made it has changed: the entry's
equations, those of the entries it applies, its domains and requirements, the simulators' code, the engine. A
fingerprint is the same in every process, and differs for any change of an equation, however small.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import sympy

from theorem_engine.asking.point import read_point
from theorem_engine.base.errors import BadRequest, TheoremEngineError, ValidityWarning
from theorem_engine.base.sources import (
    content_digest,
    digest,
    engine_digest,
    function_digest,
    function_text,
    module_digest,
    place_digest,
)
from theorem_engine.language.application import Applied
from theorem_engine.language.catalogue import find_entry
from theorem_engine.language.conditions import opened
from theorem_engine.language.entry import Entry
from theorem_engine.language.packs import packs
from theorem_engine.language.statement import Statement

#: What an entry says in words, and what is fingerprinted elsewhere: equations, simulators.
_WORDS = frozenset(
    ("kind", "title", "source", "body", "module", "needs", "symbol", "assumes", "checks", "marks", "notes", "aliases")
)


def fingerprint(value: Any) -> str:
    """The fingerprint of plain data, of SymPy expressions, and of frozen data classes made of such.

    >>> x, y = sympy.symbols("x y")
    >>> fingerprint(x + y) == fingerprint(y + x), fingerprint(x + y) == fingerprint(x - y)
    (True, False)
    """
    return _Reader().of(value)


def statement_fingerprint(statement: Statement) -> str:
    """The equations of one statement, and those of every entry that they apply."""
    return _Reader().statement(statement)


def prediction_fingerprint(entry: Entry, point: Mapping[str, Any]) -> str:
    """All that decides what an entry predicts at a point, the point itself included."""
    return digest([engine_digest(), *_entry_parts(entry, point)])


def equations_fingerprint(entry: Entry, point: Mapping[str, Any]) -> str:
    """What an entry states at a point, whoever evaluates it: equations, those of entries applied, domains, ranges."""
    return digest(_entry_parts(entry, point)[1:])


def computation_fingerprint(function: Callable[[Any], Any], item: Any) -> str:
    """A function at an item, and what it rests on: its ``identity`` of the item, else all entries and simulators."""
    identity = getattr(function, "identity", None)
    rests_on = _all_content() if identity is None else str(identity(item))
    return digest([engine_digest(), function_digest(function), rests_on, fingerprint(item)])


def _all_content() -> str:
    """Every entry and every simulator, those of packs too."""
    return digest([content_digest(), *(place_digest(pack.place) for pack in packs().values() if pack.place)])


def _entry_parts(entry: Entry, point: Mapping[str, Any]) -> list[str]:
    parts = [fingerprint(dict(point)), _declared(entry)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ValidityWarning)
        try:
            options = read_point(entry, point).options
            # the options once more: a file may have another content under its old name
            parts += [fingerprint(options), _equations(entry, options)]
        except TheoremEngineError as error:
            # the point is refused, or the entry has no equations there: that is its answer
            parts.append(f"{type(error).__name__}: {error}")
    return parts


@cache
def _declared(entry: Entry) -> str:
    return _Reader().entry(entry)


@cache
def _equations(entry: Entry, options: tuple[tuple[str, Any], ...]) -> str:
    return statement_fingerprint(entry.statement(dict(options)))


class _Reader:
    """Digests of nodes, each worked out once: expressions share most of their parts."""

    def __init__(self) -> None:
        self.nodes: dict[Any, str] = {}
        self.dummies: dict[Any, int] = {}
        self.applied: dict[Any, str] = {}

    def entry(self, entry: Entry) -> str:
        """What an entry says beside its equations: domains, defaults, requirements, ranges, regime."""
        kept = [f for f in fields(entry) if f.name not in _WORDS and not f.name.startswith("_")]
        letters = [(x.name, x.domain, None if x.is_required else (x.default,)) for x in entry.given]
        parts = [self.of(letters)]
        for field in kept:
            if field.name == "outputs":
                parts.append(self.of([(n, o.range, o.optional) for n, o in entry.outputs.items()]))
            elif field.name == "stated_identities":
                # what is stated, whether it was written at once or when asked for
                parts.append(self.of(("identities", entry.identities)))
            elif field.name != "given":
                parts.append(self.of((field.name, getattr(entry, field.name))))
        return digest(parts)

    def statement(self, statement: Statement) -> str:
        """Given letters, equations, shapes of the outputs and stated derivatives, in their order."""
        parts = (statement.given, list(statement.equations.items()), list(statement.outputs.items()))
        return digest([self.of(parts), self.of(list(statement.partials.items()))])

    def of(self, value: Any) -> str:
        """The digest of anything; an object that cannot be told from another by its parts is refused."""
        if isinstance(value, type):
            return digest(["class", value.__module__, value.__qualname__])
        if isinstance(value, (sympy.Basic, sympy.MatrixBase)):
            return self._node(value)
        name = type(value).__name__
        if value is None or isinstance(value, (bool, int, float, complex, str, bytes, Fraction, Path)):
            return digest([name, value if isinstance(value, bytes) else repr(value)])
        if isinstance(value, Mapping):
            # the order of a mapping is what its author wrote, but two of one content are the same
            return digest(["mapping", *sorted(digest([self.of(k), self.of(v)]) for k, v in value.items())])
        if isinstance(value, (list, tuple)):
            return digest(["sequence", *map(self.of, value)])
        if isinstance(value, (set, frozenset)):
            return digest(["set", *sorted(map(self.of, value))])
        if hasattr(value, "dtype") and hasattr(value, "tobytes"):
            return digest([name, str(value.dtype), repr(value.shape), value.tobytes()])
        if is_dataclass(value) and not isinstance(value, type):
            # what takes no part in comparing two of a class is words
            named = [self.of((f.name, getattr(value, f.name))) for f in fields(value) if f.compare]
            return digest([type(value).__module__, name, *named, *_file_behind(value)])
        if callable(value):
            return digest([name, getattr(value, "__qualname__", ""), function_text(value)])
        text = repr(value)
        if " at 0x" in text:
            raise BadRequest(f"a {name} has no fingerprint: nothing but its address tells it from another")
        return digest([type(value).__module__, name, text])

    def _node(self, node: Any) -> str:
        if isinstance(node, sympy.MatrixBase):
            return digest(["matrix", repr(node.shape), *map(self.of, node)])
        key = (type(node), node)
        if key not in self.nodes:
            self.nodes[key] = self._read_node(node)
        return self.nodes[key]

    def _read_node(self, node: Any) -> str:
        name = type(node).__name__
        if isinstance(node, sympy.Dummy):
            # its number counts up through the life of a process; the order of first use does not
            number = self.dummies.setdefault(node, len(self.dummies))
            return digest(["dummy", str(number), repr(sorted(node.assumptions0.items()))])
        if isinstance(node, sympy.Symbol):
            facts = repr(sorted(node.assumptions0.items()))
            return digest([name, str(getattr(node, "scope", "")), node.name, facts])
        if isinstance(node, Applied):
            return digest([self._application(node), *map(self.of, node.args)])
        if not node.args:
            return digest([name, sympy.srepr(node)])
        parts = [self.of(arg) for arg in node.args]
        if isinstance(node, (sympy.Add, sympy.Mul, sympy.And, sympy.Or)) and node.is_commutative is not False:
            # the order of terms means nothing
            parts.sort()
        return digest([type(node).__module__, name, *parts, *_numbers_from_outside(node)])

    def _application(self, node: Any) -> str:
        """Which output (or derivative) of which entry, and the equations that stand behind it."""
        node = opened(node)
        key = (node.entry_id, node.options)
        if key not in self.applied:
            # an entry that applies itself is named inside its own equations
            self.applied[key] = digest(["applied", node.entry_id, self.of(node.options)])
            name = next(iter(node.open_conditions()), None)
            if name is None:
                behind = self.statement(find_entry(node.entry_id).statement(dict(node.options)))
            else:
                # decided at each evaluation: what is written under either outcome counts
                behind = digest(self._application(node.decided({name: outcome})) for outcome in (True, False))
            self.applied[key] = digest([self.applied[key], behind])
        return digest([self.applied[key], node.output, *node.derivatives])


def _numbers_from_outside(node: Any) -> list[str]:
    """The code that evaluates a node, where its class names modules outside the engine."""
    named = {**getattr(node, "lowerings", {}), **getattr(node, "meanings", {})}
    return [module_digest(place.partition(":")[0]) for _, place in sorted(named.items())]


def _file_behind(value: Any) -> list[bytes]:
    """The content of a file that a value was read from: its name may stay while its content changes."""
    source = getattr(value, "source", None)
    path = Path(source.partition("#")[0]) if isinstance(source, str) else None
    try:
        return [path.read_bytes()] if path is not None and path.is_file() else []
    except (OSError, ValueError):
        return []
