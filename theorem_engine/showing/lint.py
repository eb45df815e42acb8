"""What the tests of this project ask of its own entries, asked of somebody else's; each finding with the fix."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from theorem_engine.base.errors import BadRequest, BrokenPack, DeclarationError, TheoremEngineError, nearest
from theorem_engine.checking.declarations import incomplete_words, missing_domains, unused_needs, unwritable_equations
from theorem_engine.checking.findings import Finding, finding
from theorem_engine.checking.numbers import bad_values, sample_points, small_errors, wrong_derivatives
from theorem_engine.checking.simulator_rules import seen_formulas, surviving_mutants, unchecked, undeclared_outputs
from theorem_engine.language import catalogue
from theorem_engine.language.entry import Entry
from theorem_engine.language.figure import Figure, figures
from theorem_engine.language.packs import packs
from theorem_engine.showing.example import example_of
from theorem_engine.showing.page_rules import bad_pages

#: Points of an entry at which ranges are looked at; half of them are evaluated at many digits.
POINTS = 4


@dataclass(frozen=True)
class Report:
    """All findings about a pack; prints as a list."""

    pack: str
    entries: tuple[str, ...]
    findings: tuple[Finding, ...]

    def __str__(self) -> str:
        count, found = len(self.entries), len(self.findings)
        looked = f"{self.pack}: {count} {'entry' if count == 1 else 'entries'}"
        if not found:
            return f"{looked}, nothing found."
        return "\n".join([*map(str, self.findings), f"{looked}, {found} finding{'' if found == 1 else 's'}."])

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        found = [finding.to_json() for finding in self.findings]
        return {"pack": self.pack, "entries": list(self.entries), "findings": found}


def lint(pack: str | os.PathLike[str], seconds: float = 5) -> Report:
    """Look for what is wrong with a pack, given by its path or by the name of one that is known.

    ``seconds`` are spent on the simulators of each entry.
    """
    name = str(pack)
    try:
        entries = _entries(pack)
    except BrokenPack as error:
        fix = "mend what that line says; the rest is looked at once the pack loads"
        return Report(name, (), (Finding("load", name, str(error), fix),))
    modules = {entry.module for entry in entries}
    found = [f for entry in entries for f in _findings(entry, modules, seconds)]
    papers = {entry.paper for entry in entries}
    found += [f for figure in figures() if figure.id.partition(".")[0] in papers for f in bare_figures(figure)]
    if not entries:
        found.append(Finding("load", name, "it declares no entry", "declare one with @theorem, @lemma, @result, ..."))
    return Report(name, tuple(entry.id for entry in entries), tuple(found))


def _entries(pack: str | os.PathLike[str]) -> list[Entry]:
    """The entries of what is named: a path, a pack that is known, or a paper of the registry."""
    name = str(pack)
    if name in catalogue.papers():
        return [entry for entry in catalogue.all_entries() if entry.paper == name]
    if name in packs():
        catalogue.load(name)
        return catalogue.entries_of(packs()[name])
    if not isinstance(pack, os.PathLike) and not Path(name).exists():
        known = [*catalogue.papers(), *packs()]
        raise BadRequest(f"no pack {name[:80]!r}{nearest(name[:80], known)}; give the path of one")
    return catalogue.register(pack)


def _findings(entry: Entry, modules: set[str], seconds: float) -> Iterator[Finding]:
    """Everything about one entry; numbers only where the equations can be written."""
    yield from incomplete_words(entry)
    yield from missing_domains(entry)
    yield from missing_example(entry)
    simulated = list(unchecked(entry))
    yield from simulated
    written = list(unwritable_equations(entry))
    yield from written
    if written:
        return
    try:
        points = sample_points(entry, POINTS)
    except TheoremEngineError as error:
        points = []
        fix = "let `typical` of the letters, or their domains, meet the requirements"
        yield finding("domains", entry, f"no point of its domain can be drawn: {error}", fix)
    except Exception as error:  # a domain from outside may raise anything
        points = []
        says = f"no point of its domain can be drawn: {type(error).__name__}: {str(error)[:120]}"
        yield finding("domains", entry, says, "mend the `draw` of its domains")
    written = list(unwritable_equations(entry, points))
    yield from written
    if written:
        return
    yield from unused_needs(entry, points)
    yield from bad_pages(entry)
    values = list(bad_values(entry, points))
    yield from values
    if not values:
        yield from small_errors(entry, points[: POINTS // 2])
        yield from wrong_derivatives(entry, points[: POINTS // 2])
    if simulated or not points:
        return
    yield from seen_formulas(entry, modules)
    broken = list(undeclared_outputs(entry, points[0]))
    yield from broken
    if not broken and not values:
        yield from surviving_mutants(entry, seconds)


def missing_example(entry: Entry) -> Iterator[Finding]:
    """A query that the entry's page can show."""
    try:
        example = example_of(entry)
    except DeclarationError as error:
        yield finding("example", entry, str(error), "write it as TOML, as the examples of other entries are")
        return
    if example is None:
        yield finding(
            "example", entry, "it has no example for its page",
            f'write ["{entry.id}"] with point = {{ ... }} and prints = ["{entry.main_output} = ..."] in examples.toml',
        )  # fmt: skip


def bare_figures(figure: Figure) -> Iterator[Finding]:
    """A caption and panels for a figure."""
    if not figure.caption.strip():
        yield Finding("figure", figure.id, "it has no caption", "write one as the docstring of what computes it")
    if not figure.has_panels:
        yield Finding("figure", figure.id, "it has no panels", "lay its data out in a function under @name.panels")
