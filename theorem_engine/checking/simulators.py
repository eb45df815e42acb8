"""Finding the reference simulators that entries name."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from theorem_engine.asking.fingerprint import prediction_fingerprint
from theorem_engine.base.errors import BadRequest, DeclarationError, NotAvailable, nearest
from theorem_engine.base.sources import digest, function_digest
from theorem_engine.language.catalogue import BUILT_IN
from theorem_engine.language.entry import Entry
from theorem_engine.language.unchecked import Unchecked

if TYPE_CHECKING:
    from theorem_engine.validators.simulator import Simulator

#: The simulators of this project.
VALIDATORS = "theorem_engine.validators"


def find_simulator(name: str, package: str = VALIDATORS) -> Simulator:
    """What an entry names as ``module.function`` of the validators, or of the package that it is declared in.

    >>> find_simulator("gaussian.erf_mean").deterministic
    False
    """
    from theorem_engine.validators.simulator import as_simulator

    module_name, _, function = name.rpartition(".")
    whole = f"{package}.{module_name}" if package and module_name else package or module_name
    where = "among the validators" if package == VALIDATORS else f"in the package {package}" if package else "of Python"
    try:
        module = importlib.import_module(whole)
    except ModuleNotFoundError as error:
        if error.name is None or not whole.startswith(error.name):
            raise DeclarationError(f"{whole}, wanted for {name!r}, does not import: {error}") from None
        raise DeclarationError(f"no module {module_name!r} {where}, wanted for {name!r}") from None
    found = getattr(module, function, None)
    if not callable(found):
        shown = whole.removeprefix("theorem_engine.")
        raise DeclarationError(f"{shown} has no function {function!r}{nearest(function, dir(module))}")
    return as_simulator(found)


def _package(entry: Entry) -> str:
    """Where the simulators that an entry names by text are looked for: beside the entry, if it comes from outside."""
    if entry.module.startswith(BUILT_IN):
        return VALIDATORS
    return str(getattr(sys.modules.get(entry.module), "__package__", "") or "")


def named_simulators(entry: Entry) -> list[tuple[str, Simulator]]:
    """The simulators of an entry, which it names by text or as functions."""
    from theorem_engine.validators.simulator import as_simulator

    return [
        (check, find_simulator(check, _package(entry)))
        if isinstance(check, str)
        else (f"{_module(check)}.{check.__name__}", as_simulator(check))
        for check in entry.checks
        if not isinstance(check, Unchecked)
    ]


def unchecked_outputs(entry: Entry) -> dict[str, str]:
    """Outputs that the entry declares to have no check, with its reasons."""
    declared = [check for check in entry.checks if isinstance(check, Unchecked)]
    return {output: check.because for check in declared for output in check.outputs}


def covered_outputs(entry: Entry) -> dict[str, list[str]]:
    """Outputs that simulators of the entry measure, each with the names of these; what they are told does not count."""
    found: dict[str, list[str]] = {}
    for name, simulator in named_simulators(entry):
        for output in simulator.covers:
            if output in entry.outputs and output not in simulator.takes:
                found.setdefault(output, []).append(name)
    return found


def consistent_outputs(entry: Entry) -> dict[str, list[str]]:
    """Outputs that simulators are told and return by an identity, which can refute them but does not measure them."""
    found: dict[str, list[str]] = {}
    for name, simulator in named_simulators(entry):
        for output in simulator.covers:
            if output in entry.outputs and output in simulator.takes:
                found.setdefault(output, []).append(name)
    return found


def split_variants(entry: Entry, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """The letters of a query, and the choices in it that its simulators declare as their own.

    The first value of a choice is what the theorem assumes: it is no departure, and left out.
    """
    known: dict[str, tuple[str, ...]] = {}
    for _, simulator in named_simulators(entry):
        for name, values in simulator.variants.items():
            known[name] = tuple(dict.fromkeys((*known.get(name, ()), *values)))
    # a letter of the entry goes before a choice of the same name
    own = {name for name in given if name in known} - {x.name for x in entry.given}
    for name in own:
        if given[name] not in known[name]:
            raise BadRequest(f"{entry.id}: {name}={str(given[name])[:40]!r} is none of {', '.join(known[name])}")
    letters = {name: value for name, value in given.items() if name not in own}
    return letters, {name: given[name] for name in given if name in own and given[name] != known[name][0]}


def able_simulators(
    entry: Entry, found: Sequence[tuple[str, Simulator]], variants: Mapping[str, str]
) -> list[tuple[str, Simulator]]:
    """Those simulators that know every choice asked for; an error if none does.

    One that draws whole vectors is left out where faster ones measure all that it does.
    """
    able = [
        (name, simulator)
        for name, simulator in found
        if all(value in simulator.variants.get(choice, ()) for choice, value in variants.items())
    ]
    if variants and not able:
        asked = ", ".join(f"{name}={value}" for name, value in variants.items())
        raise NotAvailable(f"{entry.id}: none of its simulators draws with {asked}")
    faster = {output for _, simulator in able if not simulator.whole for output in simulator.covers}
    return [
        (name, simulator)
        for name, simulator in able
        if not simulator.whole or not set(simulator.covers) & set(entry.outputs) <= faster
    ]


def random_letters(entry: Entry) -> tuple[str, ...]:
    """Letters of an entry that draw a random prediction, as its simulators declare them."""
    names = {x.name for x in entry.given}
    letters = (simulator.random_letter for _, simulator in named_simulators(entry))
    return tuple(dict.fromkeys(letter for letter in letters if letter in names))


def _module(function: Any) -> str:
    return str(function.__module__).rpartition(".")[2]


def check_fingerprint(entry: Entry, point: Mapping[str, Any]) -> str:
    """All that decides what comes of a check of an entry at a point, but for its seed and its effort."""
    from theorem_engine.validators import statistics

    drawing = function_digest(statistics.sample)
    simulators = [f"{name} {function_digest(function)}" for name, function in named_simulators(entry)]
    return digest([prediction_fingerprint(entry, point), drawing, *simulators])
