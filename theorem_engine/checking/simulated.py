"""Simulations: what the simulators of an entry draw at a point, the theorem left aside."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from theorem_engine.asking.evaluation import named_point
from theorem_engine.asking.guard import at, guarded
from theorem_engine.asking.point import read_point
from theorem_engine.base.errors import BadRequest, NotAvailable, UnknownOutput, ValidityWarning, nearest
from theorem_engine.base.exact import to_text
from theorem_engine.base.text import jsonable
from theorem_engine.checking.evidence import Effort, flatten, plain_point, read_effort
from theorem_engine.checking.simulated_text import simulation_html, simulation_text
from theorem_engine.checking.simulation import at_size, growing_letters, split, time_limit
from theorem_engine.checking.simulators import (
    able_simulators,
    covered_outputs,
    find_simulator,
    named_simulators,
    random_letters,
    split_variants,
)
from theorem_engine.language.catalogue import Named, find_entry
from theorem_engine.language.entry import Entry

if TYPE_CHECKING:
    from theorem_engine.validators.simulator import Simulator


@dataclass(frozen=True)
class Drawn:
    """One output of one simulator: its mean, the standard error of that, and how many samples they come from."""

    output: str
    simulator: str
    value: Any
    error: float | None
    samples: int
    #: Sizes that the simulator took: letters that grow in the limit, or a size of its own.
    sizes: Mapping[str, int]
    #: Whether it is a computation, and the samples are runs of it.
    deterministic: bool = False


@dataclass(frozen=True)
class Simulation:
    """Means over samples of a model, with their standard errors: works like a prediction, but knows no theorem.

    ``values``, ``errors``, ``samples`` and ``sizes`` have an item for each output; where several simulators draw one
    output the first that the entry names counts, and ``rows`` has them all. An error is one standard error of the
    mean; of a computation, its accuracy; None for words and truth values. ``notes`` says which simulators were left
    out, and why.
    """

    entry: Entry
    point: Mapping[str, Any]
    rows: tuple[Drawn, ...]
    seed: int
    seconds: float
    #: Choices of the simulators that the theorem does not assume, by name.
    variants: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def first(self) -> dict[str, Drawn]:
        """For each output, the row of the first simulator that draws it."""
        found: dict[str, Drawn] = {}
        for row in self.rows:
            found.setdefault(row.output, row)
        return found

    @property
    def values(self) -> dict[str, Any]:
        """Means by output."""
        return {output: row.value for output, row in self.first.items()}

    @property
    def errors(self) -> dict[str, float | None]:
        """Standard errors by output."""
        return {output: row.error for output, row in self.first.items()}

    @property
    def samples(self) -> dict[str, int]:
        """Numbers of samples by output."""
        return {output: row.samples for output, row in self.first.items()}

    @property
    def sizes(self) -> dict[str, Mapping[str, int]]:
        """Sizes by output; none for what is exact at any size."""
        return {output: row.sizes for output, row in self.first.items()}

    @property
    def value(self) -> Any:
        """The entry's main output, or the first that was simulated."""
        values = self.values
        return values.get(self.entry.main_output, next(iter(values.values())))

    @property
    def error(self) -> float | None:
        """The standard error of the value."""
        errors = self.errors
        return errors.get(self.entry.main_output, next(iter(errors.values())))

    def __getitem__(self, output: str) -> Any:
        values = self.values
        if output not in values:
            raise UnknownOutput(f"{self.entry.id}: {output!r} was not simulated{nearest(output, values)}")
        return values[output]

    def __float__(self) -> float:
        return float(self.value)

    def __str__(self) -> str:
        return simulation_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return simulation_html(self)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "entry": self.entry.id, "point": {name: to_text(value) for name, value in self.point.items()},
            "value": jsonable(self.value, None), "error": jsonable(self.error, None),
            "values": jsonable(self.values, None), "errors": jsonable(self.errors, None),
            "samples": self.samples, "sizes": jsonable(self.sizes, None),
            "variants": dict(self.variants), "seed": self.seed, "seconds": self.seconds, "notes": list(self.notes),
            "rows": [{name: jsonable(value, None) for name, value in vars(row).items()} for row in self.rows],
        }  # fmt: skip


def simulate(
    id: Named,
    *,
    samples: int | None = None,
    seconds: float = 20,
    seed: int = 0,
    size: int | None = None,
    **point: Any,
) -> Simulation:
    """Run the reference simulators of an entry alone: means and standard errors of its outputs at a point.

    ``samples`` of each are drawn, or as many as the seconds allow. A limit is simulated at the sizes of the point; with
    ``size`` those are scaled to that geometric mean, and a point without sizes is simulated at it. Beside its letters
    the point may hold choices that the simulators declare (their ``variants``). A simulator that has to be told what
    the theorem predicts is left out.

    >>> drawn = simulate("gaussian.erf-mean", t="0.3", g="0.7", samples=10_000)
    >>> abs(drawn["value"] - 0.2371) < 5 * drawn.errors["value"]
    True
    """
    entry = find_entry(id)
    letters, variants = split_variants(entry, point)
    return _simulation(entry, letters, read_effort(seconds, samples, seed, variants), size)


def simulate_output(id: Named, output: str, *, seconds: float, seed: int = 0, **point: Any) -> Simulation:
    """Run only those simulators of an entry that draw one output, with all of the time."""
    entry = find_entry(id)
    letters, variants = split_variants(entry, point)
    able = covered_outputs(entry).get(output, ())
    return _simulation(entry, letters, read_effort(seconds, None, seed, variants), None, among=set(able))


def _simulation(
    entry: Entry, letters: Mapping[str, Any], effort: Effort, size: int | None, among: set[str] | None = None
) -> Simulation:
    begin = time.perf_counter()
    if size is not None and (isinstance(size, bool) or not isinstance(size, int) or size < 1):
        raise BadRequest(f"size={size!r} is not a whole number of at least 1")
    letters = {**dict.fromkeys(random_letters(entry), effort.seed), **letters}
    with warnings.catch_warnings(), guarded(entry, letters, "reading the point"):
        # warnings are about how far the theorem holds
        warnings.simplefilter("ignore", ValidityWarning)
        named = named_point(entry, read_point(entry, letters))
    with warnings.catch_warnings():
        # what is not finite is told as such
        warnings.simplefilter("ignore")
        rows, notes = _drawn(entry, {**plain_point(named), **effort.variants}, effort, size, among)
    if not rows:
        raise NotAvailable(f"{entry.id}: {'; '.join(notes) or 'it names no simulator'}{at(named)}")
    return Simulation(entry, named, rows, effort.seed, time.perf_counter() - begin, effort.variants, notes)


def simulate_with(name: str, point: Mapping[str, Any], *, samples: int, seed: int = 0) -> dict[str, Drawn]:
    """One simulator by its name, at a point of plain numbers: for a model that no entry describes.

    >>> simulate_with("gaussian.erf_mean", {"t": 0.0, "g": 0.0}, samples=4)["value"].value
    0.0
    """
    effort = read_effort(1.0, samples, seed, {})
    return {row.output: row for row in _rows(name, find_simulator(name), point, effort, {})}


def _drawn(
    entry: Entry, point: Mapping[str, Any], effort: Effort, size: int | None, among: set[str] | None
) -> tuple[tuple[Drawn, ...], tuple[str, ...]]:
    """What all simulators of an entry draw, or those ``among`` some names, and the reasons why there is no more."""
    able = able_simulators(entry, named_simulators(entry), effort.variants)
    found = [(name, simulator) for name, simulator in able if among is None or name in among]
    if size is not None and not any(s.size or growing_letters(entry, s, point) for _, s in found):
        raise BadRequest(f"{entry.id}: size={size} is refused: what it is about has no size that grows")
    share = replace(effort, seconds=None if effort.seconds is None else effort.seconds / max(1, len(found)))
    rows: list[Drawn] = []
    notes: list[str] = []
    for name, simulator in found:
        # a word in place of a number ("tuned") leaves it to the theorem as well
        told = [output for output in simulator.takes if isinstance(point.get(output, ""), str)]
        if told:
            notes.append(f"{name} has to be told {', '.join(told)} by the theorem")
            continue
        whole = growing_letters(entry, simulator, point)
        sizes = {letter: int(point[letter]) for letter in whole}
        if size is not None and (whole or simulator.size):
            sizes = at_size(whole, size)
        elif not whole and simulator.size:
            sizes = {"size": simulator.size}
        try:
            with time_limit(share.seconds):
                drawn = _rows(name, simulator, simulator.at_sizes(point, sizes), share, sizes)
        except Exception as error:  # a simulator is foreign code: whatever it raises is its answer
            notes.append(f"{name}: {str(error)[:200] or type(error).__name__}")
            continue
        drawn = [row for row in drawn if row.output.partition(".")[0] in entry.outputs]
        rows += drawn
        if not drawn:
            notes.append(f"{name} draws none of the outputs")
    return tuple(rows), tuple(notes)


def _rows(
    name: str, simulator: Simulator, point: Mapping[str, Any], effort: Effort, sizes: Mapping[str, int]
) -> list[Drawn]:
    from theorem_engine.validators.statistics import generator, sample

    if simulator.deterministic:
        results = dict(simulator(point, generator(effort.seed, name, 0), 2))
        accuracy = float(results.pop("accuracy", [0.0])[0])
        runs = [dict(leaf for n, both in results.items() for leaf in flatten(n, list(both)[i])) for i in (0, 1)]
        return [
            Drawn(leaf, name, value, _apart(simulator, accuracy, leaf, runs), 2, sizes, True)
            for leaf, value in runs[0].items()
        ]
    found = sample(
        lambda rng, count: split(simulator(point, rng, count)),
        seed=effort.seed, stream=name, seconds=effort.seconds, samples=effort.samples,
    )  # fmt: skip
    if found.broken:
        raise ArithmeticError(f"{', '.join(found.broken)} is not finite")
    return [
        Drawn(leaf, name, moments.mean, moments.standard_error, moments.count, sizes)
        for leaf, moments in found.moments.items()
    ]


def _apart(simulator: Simulator, accuracy: float, leaf: str, runs: list[dict[str, Any]]) -> float | None:
    """How accurate a computation is: by its own word, and by what two runs of it differ by."""
    value, other = (run.get(leaf) for run in runs)
    if not isinstance(value, float):
        return None
    if not math.isfinite(value):
        return 0.0 if value == other else math.inf
    gap = abs(value - other) if isinstance(other, float) else math.inf
    return max(simulator.tolerance * max(abs(value), simulator.scale_of(leaf.partition(".")[0])), gap, accuracy)
