"""Rules about an entry's simulators: there is one, it covers the outputs, it cannot see the formula, it can refute."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from theorem_engine.asking.evaluation import named_point
from theorem_engine.asking.guard import at
from theorem_engine.asking.point import read_point
from theorem_engine.base.errors import DeclarationError, TheoremEngineError
from theorem_engine.base.sources import imported_by
from theorem_engine.checking.comparison import DISAGREES
from theorem_engine.checking.evidence import Effort, plain_point
from theorem_engine.checking.findings import Finding, finding
from theorem_engine.checking.mutation import EQUIVALENT, SURVIVED, Trial
from theorem_engine.checking.simulators import (
    consistent_outputs,
    covered_outputs,
    named_simulators,
    unchecked_outputs,
)
from theorem_engine.checking.verdict import FALSE_ALARM
from theorem_engine.language.entry import Entry

#: What a simulator may take from the engine: the word that declares it.
_ALLOWED = ("theorem_engine.simulator", "theorem_engine.validators")
#: Libraries in which a formula could be written down once more.
_SYMBOLIC = ("sympy", "mpmath")
#: Words that make a reason.
_FEWEST = 5
#: Surviving mutants that are named.
_NAMED = 5


def unchecked(entry: Entry) -> Iterator[Finding]:
    """A simulator that exists, and for every output one that measures it or words why there is none."""
    try:
        found = named_simulators(entry)
    except DeclarationError as error:
        yield finding("simulator", entry, str(error), "name a function that exists, as module.function of the pack")
        return
    if not found:
        yield finding(
            "simulator", entry, "no simulator measures it, so nothing can refute it",
            'write one that samples the model as it is defined, and name it: checks=("draws.name",)',
        )  # fmt: skip
        return
    for name, simulator in found:
        if list(inspect.signature(simulator.function).parameters)[:3] != ["point", "rng", "count"]:
            yield finding("simulator", entry, f"{name} does not take (point, rng, count)", "give it these parameters")
    measured, consistent, explained = covered_outputs(entry), consistent_outputs(entry), unchecked_outputs(entry)
    for output in entry.outputs:
        if output not in measured and output not in consistent and output not in explained:
            yield finding(
                "simulator", entry, f"no simulator covers the output {output}",
                f'measure it and say covers=(..., "{output}"), or add Unchecked("{output}", because="...") to `checks`',
                output,
            )  # fmt: skip
    for output, because in explained.items():
        if output not in entry.outputs:
            yield finding("simulator", entry, f"Unchecked names {output}, which is no output", "take it out", output)
        elif output in measured:
            yield finding("simulator", entry, f"{output} is measured and excused", "take the Unchecked out", output)
        elif len(because.split()) <= _FEWEST:
            yield finding("simulator", entry, f"{output}: {because!r} is no reason", "say why it cannot be measured")


def undeclared_outputs(entry: Entry, point: Mapping[str, Any]) -> Iterator[Finding]:
    """Outputs that a simulator returns without saying that it covers them; they would not be counted."""
    import numpy as np

    plain = plain_point(named_point(entry, read_point(entry, point)))
    for name, simulator in named_simulators(entry):
        if simulator.deterministic:
            # a computation may take long at any point, and is compared where it is tested
            continue
        told = dict.fromkeys(simulator.takes, 0.5)
        small = {"size": 40} if simulator.size else {}
        try:
            found = simulator({**plain, **told, **small}, np.random.default_rng(0), 2)
        except ValueError:
            # outside of what this simulator is for
            continue
        except Exception as error:  # somebody else's code may raise anything
            text = " ".join(str(error).split())[:120]
            yield finding(
                "simulator", entry, f"{name} raises {type(error).__name__}: {text}{at(point)}",
                "mend it, or let it raise ValueError where it is not meant to be used",
            )  # fmt: skip
            continue
        returned = {str(output).partition(".")[0] for output in found} - {"accuracy"}
        for output in sorted(returned & set(entry.outputs) - set(simulator.covers)):
            yield finding(
                "simulator", entry, f"{name} returns {output} and does not say that it covers it",
                f'add "{output}" to covers=(...) above it',
            )  # fmt: skip


def seen_formulas(entry: Entry, declaring: Iterable[str]) -> Iterator[Finding]:
    """Simulators whose modules reach an entry or a library of symbols: they could repeat the formula they check."""
    known = set(declaring)
    for name, simulator in named_simulators(entry):
        for module, path in imported_by(str(simulator.__module__)):
            reached = [module] if module in known else sorted(_symbols(path))
            if reached and not module.startswith("theorem_engine."):
                yield finding(
                    "wall", entry, f"the simulator {name} reaches {', '.join(reached)}, so it could repeat the formula",
                    "keep simulators in a module of their own that imports NumPy, SciPy and theorem_engine's simulator",
                )  # fmt: skip
                break


def _symbols(path: Path) -> set[str]:
    """Modules that a file imports and a simulator has no use for."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            is_engine = name.split(".")[0] == "theorem_engine" and not name.startswith(_ALLOWED)
            if is_engine or name.split(".")[0] in _SYMBOLIC:
                found.add(name)
    return found


def surviving_mutants(entry: Entry, seconds: float, seed: int = 0) -> Iterator[Finding]:
    """Wrong versions of the equations that the check does not tell from the entry, at the points that users get.

    ``seconds`` are for the simulators at all points together.
    """
    try:
        trial = Trial(entry, Effort(seconds, None, seed), FALSE_ALARM)
        fates = [] if trial.verdict == DISAGREES else [f for f in trial.fates() if f.fate != EQUIVALENT]
    except TheoremEngineError as error:
        yield finding("check", entry, f"it cannot be checked: {error}", "mend what the error names")
        return
    except Exception as error:  # somebody else's simulator may raise anything
        text = f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"
        yield finding("check", entry, f"it cannot be checked: {text}", "mend the simulator")
        return
    if trial.verdict == DISAGREES:
        given = next(site.given for site in trial.sites if site.verdict == DISAGREES)
        yield finding(
            "check", entry, f"its simulators disagree with it{at(given)}",
            f"see `theorem-engine check {entry.id}` at that point; one of the two is wrong",
        )  # fmt: skip
        return
    survivors = [f"{fate.kind}, {fate.place}" for fate in fates if fate.fate == SURVIVED]
    if survivors:
        more = f" and {len(survivors) - _NAMED} more" if len(survivors) > _NAMED else ""
        yield finding(
            "mutants", entry,
            f"{len(survivors)} of {len(fates)} wrong versions are not refuted in {seconds:g} s: "
            f"{'; '.join(survivors[:_NAMED])}{more}",
            "cover more outputs, give more --seconds, or name points that tell them apart in designed_points.toml",
        )  # fmt: skip
