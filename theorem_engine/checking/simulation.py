"""Running the simulators of an entry at a point; what fails becomes a reason, never an exception."""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from theorem_engine.base.errors import DeclarationError
from theorem_engine.checking.evidence import (
    POWER,
    RELEVANT,
    ROUNDING,
    WELCOME,
    Effort,
    Evidence,
    Redraw,
    Row,
    flatten,
    plain_point,
    stated_orders,
)
from theorem_engine.checking.extrapolation import extrapolated_row
from theorem_engine.checking.simulators import able_simulators, named_simulators
from theorem_engine.language.entry import Entry
from theorem_engine.language.regime import Limit

if TYPE_CHECKING:
    from theorem_engine.validators.simulator import Simulator

#: Sizes of a limit's simulations, as shares of the simulator's own, where no clock says what can be afforded.
SIZES = (0.375, 0.75, 1.5)
#: Elsewhere the largest size is the one of which so many runs fit into its part of the time, up to so many times the
#: simulator's own size; the others are a half and a quarter of it, and none is below the smallest, or its own word.
RUNS, MOST_TIMES, SMALLEST = 64, 6.0, 100
#: The same where the correction is a series, with more runs: its terms are told apart by the size at which it begins,
#: by a quarter of the largest or twice the first, and by the largest, at least eight times the first.
SERIES, SERIES_RUNS = (8.0, 4.0, 2.0), 350
#: Seconds that show what a run takes: clocks tell hundredths apart.
TIMED = 0.05
#: Parts of the time for the sizes, from the smallest to the largest.
PARTS, SERIES_PARTS = (0.2, 0.3, 0.5), (0.1, 0.18, 0.72)
DEFAULT_SIZE = 400
#: A simulator is stopped after this many times its share of the seconds, and five more.
PATIENCE = 2.0
#: Seconds on the wall between two looks at whether that time has come, on a busy machine.
SOONEST = 0.2
#: Samples that are always drawn if there is time, so that their spread is known.
FEWEST = 30


def gather(
    entry: Entry,
    point: Mapping[str, Any],
    predicted: Mapping[str, Any],
    effort: Effort,
    redraw: Redraw | None = None,
    among: Callable[[Simulator], bool] | None = None,
) -> Evidence:
    """Run every simulator of an entry at a point, or those ``among`` them; what fails becomes a reason, no exception.

    ``predicted`` says which outputs are wanted and how accurately; ``redraw`` evaluates a random prediction
    at many values of the letter that draws it.
    """
    evidence = Evidence()
    able = able_simulators(entry, named_simulators(entry), effort.variants)
    found = [(name, simulator) for name, simulator in able if among is None or among(simulator)]
    simulated = {**plain_point(point), **effort.variants}
    clock = _Clock(effort.seconds, len(found), len(able))
    said: dict[str, list[Row]] = {}
    # what one leaves of its time the next may spend: those that need most come last
    for name, simulator in sorted(found, key=lambda pair: (not pair[1].deterministic, pair[1].cost)):
        share = clock.share()
        told = {output: predicted[output] for output in simulator.takes if output in predicted}
        run = _Run(entry, name, simulator, {**simulated, **told}, predicted, replace(effort, seconds=share), redraw)
        try:
            with time_limit(share):
                said[name] = [replace(row, given=row.output.partition(".")[0] in told) for row in run.rows()]
        except DeclarationError:
            raise
        except Exception as error:  # a simulator is foreign code: whatever it raises is its answer
            evidence.problems.append(f"{name} raised {type(error).__name__}: {str(error)[:200]}")
            continue
        if not said[name]:
            evidence.problems.append(f"{name} simulates none of the outputs")
    evidence.rows.extend(row for name, _ in found for row in said.get(name, []))
    return evidence


def _working_clock() -> Callable[[], float]:
    from theorem_engine.validators.statistics import working_clock

    return working_clock()


class _Clock:
    """The time of several simulators: each may spend an equal part of what those before it have left."""

    def __init__(self, seconds: float | None, running: int, all_of_them: int) -> None:
        self.each = None if seconds is None else seconds / max(1, all_of_them)
        self.waiting = running
        self.all = (self.each or 0.0) * running
        self.clock = _working_clock()

    def share(self) -> float | None:
        """What the next may spend; at least half of an equal part, if others took too long."""
        if self.each is None:
            return None
        left = (self.all - self.clock()) / max(1, self.waiting)
        self.waiting -= 1
        return max(left, self.each / 2)


@contextmanager
def time_limit(seconds: float | None, of_cpu: bool = False) -> Iterator[None]:
    """Stop a simulator that does not look at the clock: an error after several times its share.

    Seconds are those of work: what other processes take on a busy machine does not count. With ``of_cpu`` exactly so
    many seconds of the processor are the limit. Only a main thread can be interrupted, and only where the system has
    alarms; elsewhere nothing is limited.
    """
    if seconds is None or not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return
    worked = _working_clock()

    def stop(*_: Any) -> None:
        left = 0.0 if of_cpu else limit - worked()
        if left > 0:
            signal.setitimer(clock, max(left, SOONEST))
            return
        raise TimeoutError(f"not finished after {limit:.0f} s, its share of the time was {seconds:.1f} s")

    limit = seconds if of_cpu else PATIENCE * seconds + 5
    clock, alarm = (signal.ITIMER_PROF, signal.SIGPROF) if of_cpu else (signal.ITIMER_REAL, signal.SIGALRM)
    before = signal.signal(alarm, stop)
    signal.setitimer(clock, limit)
    try:
        yield
    finally:
        signal.setitimer(clock, 0)
        signal.signal(alarm, before)


@dataclass
class _Run:
    """One simulator at one point."""

    entry: Entry
    name: str
    simulator: Simulator
    point: dict[str, Any]
    predicted: Mapping[str, Any]
    effort: Effort
    redraw: Redraw | None

    def rows(self) -> list[Row]:
        if self.simulator.deterministic:
            return self._computed()
        if self.simulator.random_letter:
            # one random path says nothing about a mean: without others there is nothing to compare
            return [] if self.redraw is None else self._two_laws(self.simulator.random_letter)
        places = self._sizes()
        if places:
            return self._extrapolated(places)
        is_exact = not isinstance(self.entry.regime, Limit) or self.simulator.exact
        treatment = "exact at this size" if is_exact else "the simulator has no size to extrapolate in"
        return [
            replace(row, treatment=treatment, one_size=not is_exact)
            for row in self._sampled(self.point, self.name, self.effort)
        ]

    def _computed(self) -> list[Row]:
        from theorem_engine.validators.statistics import generator

        results = dict(self.simulator(self.point, generator(self.effort.seed, self.name, 0), 2))
        accuracy = float(results.pop("accuracy", [0.0])[0])
        rows = []
        for output, runs in results.items():
            first, second = (dict(flatten(output, run)) for run in list(runs)[:2])
            for leaf, value in first.items():
                if leaf not in self.predicted:
                    continue
                number = isinstance(value, float) and math.isfinite(value)
                problem = "its result is not a number" if isinstance(value, float) and math.isnan(value) else ""
                row = Row(
                    leaf, self.name, value, spread=abs(value - second[leaf]) if number else 0.0, samples=2,
                    systematic=accuracy, deterministic=True, tolerance=self.simulator.tolerance,
                    scale=self.simulator.scale_of(output), treatment="computed by another method",
                    problem=problem,
                )  # fmt: skip
                rows.append(row)
        return rows

    def _sampled(self, point: Mapping[str, Any], stream: str, effort: Effort) -> list[Row]:
        from theorem_engine.validators.statistics import sample

        def draw(rng: Any, count: int) -> dict[str, Any]:
            return split(self.simulator(point, rng, count), self.predicted)

        found = sample(
            draw, seed=effort.seed, stream=stream, seconds=effort.seconds, samples=effort.samples,
            wanted=lambda moments: self._needed(moments, effort.threshold),
            welcome=lambda moments: self._needed(moments, effort.threshold, WELCOME),
        )  # fmt: skip
        rows = []
        for leaf, moments in found.moments.items():
            n = moments.count
            broken = f"{self.name} returned a value that is not finite" if leaf in found.broken else ""
            row = Row(
                leaf, self.name, moments.mean, moments.standard_error, moments.spread,
                systematic=self.simulator.systematic_at(point) * abs(moments.mean),
                scale=self.simulator.scale_of(leaf.partition(".")[0]),
                skewness=_significant(moments.skewness, n) / math.sqrt(n),
                dominance=max(0.0, moments.kurtosis - 3 - 4 * math.sqrt(24 / n)) / n, samples=n,
                degrees=max(1, n - 1), problem=broken,
            )  # fmt: skip
            rows.append(row)
        return rows

    def _needed(self, moments: Mapping[str, Any], threshold: float, relevant: float = RELEVANT) -> float:
        """Samples that show a relevant deviation of every output; tiny outputs count as a third of their spread."""
        most = float(FEWEST)
        for leaf, seen in moments.items():
            value = self.predicted[leaf]
            if value == 0 and abs(seen.mean) + seen.spread <= ROUNDING:
                # an identity that holds in every draw
                continue
            # enough for the law of the mean to be near a Gaussian's
            most = max(most, (20 * seen.skewness) ** 2, 40 * (seen.kurtosis - 3))
            known = isinstance(value, float) and math.isfinite(value)
            scale = max(abs(value), seen.spread / 3, self.simulator.scale_of(leaf.partition(".")[0])) if known else 0.0
            if scale > 0:
                # a bound on what samples are off by leaves less room for their noise
                taken = self.simulator.systematic_at(self.point) * abs(seen.mean)
                room = relevant * scale - taken if taken < relevant * scale else relevant * scale
                most = max(most, ((threshold + POWER) * seen.spread / room) ** 2)
        return most

    def _sizes(self) -> list[tuple[int, dict[str, Any]]]:
        """Points of growing size, for a limit: whole-number letters scaled together, or the simulator's own size."""
        if not isinstance(self.entry.regime, Limit) or self.simulator.exact:
            return []
        whole = growing_letters(self.entry, self.simulator, self.point)
        largest = self.simulator.size or (DEFAULT_SIZE if whole else 0)
        if not largest:
            return []
        places = []
        for share in self._shares(whole, largest):
            changed = at_size(whole, round(share * largest))
            size = round(math.prod(changed.values()) ** (1 / len(changed)))
            places.append((size, self.simulator.at_sizes(self.point, changed)))
        return places

    def _shares(self, whole: Mapping[str, int], size: int) -> tuple[float, ...]:
        """Sizes as shares of the simulator's own, from what one run of it takes and the power its time grows with."""
        if self.effort.seconds is None or not self.simulator.cost:
            return SIZES
        each = self._seconds_of_a_run({**self.point, **at_size(whole, size)})
        begin = self.simulator.series_from_at(self.point)
        runs, part = (SERIES_RUNS, SERIES_PARTS[-1]) if begin else (RUNS, PARTS[-1])
        affordable = (part * self.effort.seconds / (runs * each)) ** (1 / self.simulator.cost)
        if begin:
            first, (times, parts, twice) = begin / size, SERIES
            last = max(min(affordable, MOST_TIMES), times * first)
            return first, max(last / parts, twice * first), last
        # corrections of two terms are known to need the size that the simulator names
        two_terms = any(isinstance(o, tuple) for o in stated_orders(self.entry, self.simulator, self.point))
        least = SIZES[-1] if two_terms else 4 * (self.simulator.smallest or SMALLEST) / size
        last = max(min(affordable, MOST_TIMES), least)
        return last / 4, last / 2, last

    def _seconds_of_a_run(self, place: Mapping[str, Any]) -> float:
        """What a run takes at a place: the fastest of a few, for the first fits controls and fills caches."""
        from theorem_engine.validators.statistics import generator

        assert self.effort.seconds is not None
        found, spent, count = math.inf, 0.0, 1
        for look in range(8):
            clock = _working_clock()
            self.simulator(place, generator(self.effort.seed, f"{self.name}:time", look), count)
            took = clock()
            found, spent = min(found, max(took, 1e-6) / count), spent + took
            if spent > 0.05 * self.effort.seconds or (look >= 2 and took > TIMED):
                break
            # runs too short for the clock are timed together
            count = count if took > TIMED else 2 * count
        return found

    def _extrapolated(self, places: list[tuple[int, dict[str, Any]]]) -> list[Row]:
        from theorem_engine.validators.statistics import generator

        at_size: list[tuple[int, dict[str, Row]]] = []
        is_series = self.simulator.series_from_at(self.point) > 0
        parts = SERIES_PARTS if is_series else PARTS
        for number, (size, point) in enumerate(places):
            # most of the time goes to the largest size, where a sample costs most
            share = parts[number] if len(places) == len(parts) else 1 / len(places)
            seconds = None if self.effort.seconds is None else share * self.effort.seconds
            if seconds is not None:
                # what a first draw fits and keeps is no part of the time at a size, of which the smallest get little
                self.simulator(point, generator(self.effort.seed, f"{self.name}:{size}:first", 0), 1)
            # an extrapolation to infinity magnifies errors a few times
            effort = replace(self.effort, seconds=seconds, threshold=6 * self.effort.threshold)
            rows = {row.output: row for row in self._sampled(point, f"{self.name}:{size}", effort)}
            at_size.append((size, rows))
        orders = stated_orders(self.entry, self.simulator, self.point)
        return [extrapolated_row(leaf, self.name, at_size, orders, is_series) for leaf in at_size[-1][1]]

    def _two_laws(self, letter: str) -> list[Row]:
        """Means over simulated runs against means over random predictions."""
        from theorem_engine.validators.statistics import Moments, sample

        half = None if self.effort.seconds is None else self.effort.seconds / 2
        sampled = {row.output: row for row in self._sampled(self.point, self.name, replace(self.effort, seconds=half))}
        redraw = self.redraw
        assert redraw is not None

        def draw(rng: Any, count: int) -> dict[str, Any]:
            # whole numbers that a float holds exactly
            paths = redraw(letter, rng.integers(2**52, size=count))
            return {leaf: paths[leaf] for leaf in sampled}

        stream = f"{self.name}:prediction"
        limit = None if self.effort.samples is None else max(2, self.effort.samples // 10)
        theirs: Mapping[str, Moments] = sample(
            draw, seed=self.effort.seed, stream=stream, seconds=half, samples=limit,
            wanted=lambda moments: self._needed(moments, 2 * self.effort.threshold),
        ).moments  # fmt: skip
        rows = []
        for leaf, row in sampled.items():
            paths = theirs[leaf]
            joined = replace(
                row, standard_error=math.hypot(row.standard_error, paths.standard_error), predicted=paths.mean,
                degrees=max(1, min(row.samples, paths.count) - 1),
                skewness=max(abs(row.skewness), abs(paths.skewness) / math.sqrt(paths.count)),
                treatment=f"exact at this size; the prediction is a mean over {paths.count} random paths",
            )  # fmt: skip
            rows.append(joined)
        return rows


def _significant(skewness: float, n: int) -> float:
    """The skewness, less what a Gaussian sample of this size may show."""
    return math.copysign(max(0.0, abs(skewness) - 2 * math.sqrt(6 / n)), skewness)


def growing_letters(entry: Entry, simulator: Simulator, point: Mapping[str, Any]) -> dict[str, int]:
    """Whole numbers of a point that grow in the limit; none where the simulator has a size of its own.

    Others, a length of sequences say, stay as they are.
    """
    if not isinstance(entry.regime, Limit) or simulator.own_size:
        return {}
    named = set(entry.regime.grows) & set(point)
    whole = [x.name for x in entry.letters if x.domain.is_whole and x.name in named]
    return {name: point[name] for name in whole if isinstance(point[name], int)}


def at_size(whole: Mapping[str, int], size: int) -> dict[str, int]:
    """What makes a point one of a size: its growing letters scaled together, or the size of the simulator itself."""
    return scaled(whole, size) if whole else {"size": size}


def scaled(letters: Mapping[str, int], size: int) -> dict[str, int]:
    """Whole numbers in nearly the same ratios, whose geometric mean is the size up to 15 percent.

    A limit depends on the ratios: rounding 3.4 to 3 would move it more than the size does.

    >>> scaled({"p": 2489, "n": 107}, 300)
    {'p': 1512, 'n': 65}
    """
    mean = math.prod(letters.values()) ** (1 / len(letters))
    best: tuple[float, dict[str, int]] | None = None
    for shift in range(-60, 61):
        factor = size / mean * (1 + 0.0025 * shift)
        rounded = {name: max(1, round(factor * value)) for name, value in letters.items()}
        ratios = [rounded[name] / value for name, value in letters.items()]
        # among equally good ones the nearest to the size
        off = max(ratios) / min(ratios) - 1 + 1e-9 * abs(shift)
        if best is None or off < best[0]:
            best = (off, rounded)
    assert best is not None
    return best[1]


def split(results: Mapping[str, Any], wanted: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Samples of real numbers that are wanted, or of all; complex ones as two parts."""
    import numpy as np

    parts: dict[str, Any] = {}
    for name, values in results.items():
        block = np.asarray(values)
        if np.iscomplexobj(block) or f"{name}.re" in (wanted or ()):
            parts.update({f"{name}.re": np.real(block), f"{name}.im": np.imag(block)})
        else:
            parts[name] = block
    if wanted is None:
        return parts
    return {name: block for name, block in parts.items() if isinstance(wanted.get(name), float)}
