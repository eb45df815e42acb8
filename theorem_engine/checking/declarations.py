"""Rules about how an entry is declared: words, domains, equations, needs. No number is computed here."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from theorem_engine.asking.evaluation import plan_of
from theorem_engine.asking.point import read_point
from theorem_engine.base.errors import (
    DeclarationError,
    MissingDefinition,
    TheoremEngineError,
    UnsolvableCycle,
    ValidityWarning,
)
from theorem_engine.checking.findings import Finding, finding
from theorem_engine.language.application import Applied
from theorem_engine.language.catalogue import find_entry
from theorem_engine.language.entry import Entry
from theorem_engine.language.statement import Unknown


def incomplete_words(entry: Entry) -> Iterator[Finding]:
    """A title, provenance, and a meaning for every letter and output."""
    if not entry.title.strip():
        yield finding("words", entry, "it has no title", 'give title="...", a few words')
    if not entry.description.strip():
        yield finding("words", entry, "it has no description", "write the statement in words as the docstring")
    if not entry.marks:
        yield finding("words", entry, "it has no provenance marks", 'give marks="D", or others that are true')
    for letter in entry.given:
        if not letter.meaning.strip():
            yield finding(
                "words", entry, f"the letter {letter.name} has no meaning", "say in its notation what it stands for",
                letter.name,
            )  # fmt: skip
    for name, output in entry.outputs.items():
        if not output.meaning.strip():
            yield finding("words", entry, f"the output {name} has no meaning", "say what it is in `outputs`", name)


def missing_domains(entry: Entry) -> Iterator[Finding]:
    """A domain for every letter that a query gives."""
    for letter in entry.given:
        if not letter.has_domain:
            yield finding(
                "domains", entry, f"the letter {letter.name} has no domain, so that every real number is taken for it",
                "say in its notation where it lies: POSITIVE, Interval(-1, 1), Integers(2), or REAL if that is true",
                letter.name,
            )  # fmt: skip


def unwritable_equations(entry: Entry, points: Iterable[Mapping[str, Any]] = ()) -> Iterator[Finding]:
    """Equations whose letters are all declared, that hold no binary numbers and can be put in an order."""
    seen = set()
    for options in (None, *points):
        try:
            if options is None:
                entry.statement()
            else:
                plan_of(entry, read_point(entry, options).options)
        except DeclarationError as error:
            text = str(error).removeprefix(f"{entry.id}: ")
            if text not in seen:
                seen.add(text)
                yield finding(_rule(error), entry, text, _mended(error))
        except TheoremEngineError:
            # a point about which the entry says nothing
            continue


def _rule(error: DeclarationError) -> str:
    if isinstance(error, MissingDefinition):
        return "letters"
    if isinstance(error, UnsolvableCycle):
        return "cycle"
    return "floats" if "binary number" in str(error) else "equations"


def _mended(error: DeclarationError) -> str:
    return {
        "letters": "add the letter to `given`, or return an equation that defines it",
        "cycle": "name one of the letters Unknown(..., start=...), or break the circle",
        "floats": "write Rational(1, 10) for 0.1, or divide whole numbers by SymPy's S: S(1)/10",
        "equations": "make the declaration and what the function returns agree",
    }[_rule(error)]


def unused_needs(entry: Entry, points: Iterable[Mapping[str, Any]] = ()) -> Iterator[Finding]:
    """Entries that it declares to need and applies under none of its options, nor at any of the points."""
    wanted = {find_entry(target).id for target in entry.needs.values()}
    used: set[str] = set()
    for point in itertools.chain((None,), points, _points_of_choices(entry)):
        if wanted <= used:
            break
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ValidityWarning)
                options = None if point is None else dict(read_point(entry, point).options)
            used |= _applied(entry.statement(options).equations.values())
        except TheoremEngineError:
            continue
    for keyword, target in entry.needs.items():
        if find_entry(target).id not in used:
            yield finding(
                "needs", entry, f"it needs {target} (as {keyword}) and applies it nowhere",
                f"apply {keyword}(...) in the equations, or take it out of `needs`", target,
            )  # fmt: skip


def _points_of_choices(entry: Entry) -> Iterator[Mapping[str, Any]]:
    """A point for each word that a letter of the entry can be, and for each example of what cannot be drawn."""
    import numpy as np

    from theorem_engine.asking.random_point import draw_point

    rng = np.random.default_rng(0)
    for letter in entry.given:
        words = (*getattr(letter.domain, "names", ()), getattr(letter.domain, "word", ""))
        for word in (*filter(None, words), *letter.domain.examples()):
            with suppress(TheoremEngineError):
                yield draw_point(entry, rng, {letter.name: word})


def _applied(equations: Iterable[Any]) -> set[str]:
    found: set[str] = set()
    for equation in equations:
        parts = (equation.equation, *equation.starts()) if isinstance(equation, Unknown) else (equation,)
        for part in parts:
            found |= {find_entry(node.entry_id).id for node in getattr(part, "atoms", lambda _: ())(Applied)}
    return found
