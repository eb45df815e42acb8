"""Mutation of an entry: all its mutants through the check that users run, at the points that they get.

Simulators never see a formula, so what they say is the same for an entry and for its mutants: it is gathered once at
each point. Only simulators that are told outputs of the prediction, or compare with random predictions, are run again
for a mutant. A mutant that moves nothing is compared with its entry in thirty digits: where these are equal it is the
same theorem written otherwise.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from theorem_engine.asking.point import Point
from theorem_engine.base.errors import TheoremEngineError
from theorem_engine.checking.campaign import alarm_of, campaign_points, designed_places, share_of
from theorem_engine.checking.comparison import AGREES, CANNOT_TELL, DISAGREES
from theorem_engine.checking.evidence import Effort, Evidence, Redraw, Row
from theorem_engine.checking.kept import Kept
from theorem_engine.checking.mutants import PATIENCE, Mutant, differs, mutants, original
from theorem_engine.checking.simulation import gather
from theorem_engine.checking.simulators import named_simulators
from theorem_engine.checking.verdict import Examined, examine
from theorem_engine.language.entry import Entry

REFUTED, NO_NUMBER, SURVIVED, EQUIVALENT = "refuted", "no number", "survived", "equivalent"
#: One whose number does not come in the time of a campaign: what a check would say of it is not known.
TOO_SLOW = "too slow"
#: Digits in which a mutant must equal its entry to count as the same theorem, of those that are worked out.
DIGITS, AGREEING = 30, 25
#: Seconds of the processor for these digits at a point.
FOR_DIGITS = 10.0
#: Simulators that see the prediction draw anew for a mutant: a part of what a check draws first, which shows most.
LOOKS = (0.1, 1.0)
#: A mutant may take so many times as long as its entry, and at least so many seconds; where it is too slow at so many
#: points the others are not tried.
TIMES, QUICK, SLOW_POINTS = 5.0, 2.0, 2
#: Points of an entry that has no designed ones.
DRAWN = 3
#: Characters of an equation that a survivor is shown with.
SHOWN = 400


@dataclass
class Site:
    """A point of an entry, all that was measured there, and what its mutants need beside it."""

    given: dict[str, Any]
    examined: Examined
    #: What simulators say that see nothing of the prediction, and those that do.
    fixed: list[Row]
    told: list[Row]
    #: Outputs that simulators are told; none where they compare with random predictions.
    takes: frozenset[str] | None
    #: Seconds of the processor that the entry itself took, planned and compiled anew.
    took: float = 0.0
    digits: dict[Any, Any] | None = field(default=None, repr=False)
    has_digits: bool = False

    @property
    def point(self) -> Point:
        """The point, read."""
        return self.examined.point

    @property
    def true(self) -> Mapping[str, Any]:
        """What the entry itself predicts."""
        return self.examined.predicted

    @property
    def verdict(self) -> str:
        """What the check says of the entry itself."""
        return self.examined.verdict().verdict

    def is_told_the_same(self, wrong: Mapping[str, Any]) -> bool:
        """Whether simulators that see some outputs would say of a mutant what they said of the entry."""
        return self.takes is not None and not differs(self.true, wrong, dict.fromkeys(self.takes, 0.0))


@dataclass(frozen=True)
class Fate:
    """What became of a mutant."""

    kind: str
    place: str
    fate: str
    #: The point that refuted it, or why it is what it is.
    why: str = ""
    #: The equation as it is and as it was changed.
    diff: str = ""

    def to_json(self) -> dict[str, str]:
        """Plain data."""
        return dict(vars(self))


def sites_of(entry: Entry, effort: Effort, false_alarm: float | None, kept: Kept | None = None) -> list[Site]:
    """The points that a check of the entry runs, with what its simulators say there: each has its part of the seconds.

    Without a probability of a false alarm it is that of a campaign over this entry alone.
    """
    places = designed_places(entry, effort.seed) or campaign_points(entry, DRAWN, effort.seed)
    each = replace(effort, seconds=share_of(effort.seconds, 1, len(places)))
    alarm = alarm_of(len(places)) if false_alarm is None else false_alarm
    found = (_site(entry, place, each, alarm, kept) for place in places)
    return [site for site in found if site is not None]


def _site(entry: Entry, given: dict[str, Any], effort: Effort, false_alarm: float, kept: Kept | None) -> Site | None:
    def gathered(entry: Entry, named: Any, predicted: Any, planned: Effort, redraw: Redraw) -> Evidence:
        return gather(entry, named, predicted, planned, redraw) if kept is None else kept.gather(
            entry, named, predicted, planned, redraw
        )  # fmt: skip

    try:
        examined = examine(entry, given, effort, false_alarm, gathered)
    except TheoremEngineError:
        return None
    if not examined.predicted:
        # a theorem without a number here has no mutants to be told from
        return None
    simulators = dict(named_simulators(entry))
    seeing = {name: simulator for name, simulator in simulators.items() if _sees(simulator)}
    rows = examined.evidence.rows
    takes = frozenset(o for s in seeing.values() for o in s.takes if o in examined.predicted)
    is_random = any(simulator.random_letter for simulator in seeing.values())
    site = Site(
        given, examined, [r for r in rows if r.simulator not in seeing], [r for r in rows if r.simulator in seeing],
        None if is_random else takes,
    )  # fmt: skip
    begin = time.process_time()
    original(entry, dict(examined.point.options)).evaluate_all([examined.point], None)
    site.took = time.process_time() - begin
    return site


def _sees(simulator: Any) -> bool:
    return bool(simulator.takes or simulator.random_letter)


@dataclass
class Trial:
    """All mutants of an entry, and the points they are tried at."""

    entry: Entry
    effort: Effort
    false_alarm: float | None = None
    seconds: float = PATIENCE
    kept: Kept | None = None
    sites: list[Site] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.sites = sites_of(self.entry, self.effort, self.false_alarm, self.kept)

    @property
    def verdict(self) -> str:
        """What the check says of the entry itself: the worst of its points."""
        found = {site.verdict for site in self.sites}
        return next((word for word in (DISAGREES, CANNOT_TELL, AGREES) if word in found), CANNOT_TELL)

    def named(self) -> dict[tuple[str, str], list[tuple[Mutant, list[Site]]]]:
        """Mutants by name, each with the choices of options at which it is one, and the points of these."""
        groups: dict[str, list[Site]] = {}
        for site in self.sites:
            groups.setdefault(str(sorted(map(str, site.point.options))), []).append(site)
        found: dict[tuple[str, str], list[tuple[Mutant, list[Site]]]] = {}
        for sites in groups.values():
            for mutant in mutants(self.entry, dict(sites[0].point.options)):
                found.setdefault(mutant.name, []).append((mutant, sites))
        return found

    def fates(self, known: Callable[[tuple[str, str]], bool] = lambda name: False) -> Iterator[Fate]:
        """What becomes of every mutant that is not known already."""
        for name, versions in self.named().items():
            if not known(name):
                yield self.fate(versions)

    def fate(self, versions: Sequence[tuple[Mutant, list[Site]]]) -> Fate:
        """A mutant is refuted if the check disagrees at any point; one without a number anywhere is told as such."""
        mutant = versions[0][0]
        lost, slow = 0, 0
        moved: list[tuple[Mutant, Site, dict[str, Any]]] = []
        for version, places in versions:
            # the quickest point first: most mutants are refuted wherever they are tried
            sites = sorted(places, key=lambda site: site.took)
            runs = version.evaluations([s.point for s in sites], self._limit(sites))
            for site, (wrong, is_slow) in zip(sites, runs, strict=True):
                slow += is_slow
                if slow >= SLOW_POINTS:
                    break
                if wrong is None or set(wrong) != set(site.true):
                    lost += not is_slow
                elif differs(site.true, wrong):
                    moved.append((version, site, wrong))
                    rows = [*site.fixed, *(site.told if site.is_told_the_same(wrong) else [])]
                    if site.examined.overall(rows, wrong) == DISAGREES:
                        return Fate(mutant.kind, mutant.place, REFUTED, _point_text(site.given))
        for version, site, wrong in moved:
            if site.told and not site.is_told_the_same(wrong) and self._told_refutes(site, version, wrong):
                return Fate(mutant.kind, mutant.place, REFUTED, _point_text(site.given))
        if lost:
            return Fate(mutant.kind, mutant.place, NO_NUMBER, f"no number at {lost} of {len(self.sites)} points")
        if slow:
            return self._survivor(mutant, f"no number in {self._limit(self.sites):.0f} s", TOO_SLOW)
        if moved:
            return self._survivor(mutant, "moves what is predicted, by less than the check reports")
        if all(self._is_equal(version, site) for version, sites in versions for site in sites[:1]):
            return Fate(mutant.kind, mutant.place, EQUIVALENT, f"equal in {AGREEING} digits")
        return self._survivor(mutant, "moves nothing that is predicted at these points")

    def _limit(self, sites: Sequence[Site]) -> float:
        """Seconds of the processor for a mutant at a point: several times what the entry itself takes there."""
        return min(self.seconds, max(QUICK, TIMES * max(site.took for site in sites)))

    def _told_refutes(self, site: Site, mutant: Mutant, wrong: Mapping[str, Any]) -> bool:
        for part in LOOKS:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                effort, redraw = self._part_of(part), mutant.redraw(site.point)
                seeing = gather(self.entry, site.examined.named, wrong, effort, redraw, _sees)
            if site.examined.overall([*site.fixed, *seeing.rows], wrong) == DISAGREES:
                return True
        return False

    def _part_of(self, part: float) -> Effort:
        """A part of what a check spends at a point."""
        seconds, samples = self.effort.seconds, self.effort.samples
        return replace(
            self.effort,
            seconds=None if seconds is None else part * seconds / len(self.sites),
            samples=None if samples is None else max(2, round(part * samples)),
        )

    def _is_equal(self, mutant: Mutant, site: Site) -> bool:
        if not site.has_digits:
            true = original(self.entry, dict(site.point.options))
            site.digits, site.has_digits = true.digits(site.point, DIGITS, FOR_DIGITS), True
        wrong = mutant.digits(site.point, DIGITS, FOR_DIGITS) if site.digits is not None else None
        if wrong is None or site.digits is None:
            return False
        return all(same(value, wrong.get(symbol)) for symbol, value in site.digits.items())

    def _survivor(self, mutant: Mutant, why: str, word: str = SURVIVED) -> Fate:
        return Fate(mutant.kind, mutant.place, word, why, diff_of(mutant))


def same(first: Any, second: Any) -> bool:
    """Whether two numbers of many digits are equal in all that count."""
    if first is None or second is None or isinstance(first, bool) or isinstance(second, bool):
        return bool(first == second)
    if hasattr(first, "__len__") or hasattr(second, "__len__"):
        return len(first) == len(second) and all(map(same, first, second))
    return bool(first == second or abs(first - second) <= 10.0**-AGREEING * max(abs(first), abs(second)))


def diff_of(mutant: Mutant) -> str:
    """The changed equation before and after, in what can be read of it."""
    lines = []
    for key, value in mutant.entry.returned(mutant.options).items():
        true = mutant.before.get(key)
        if value is not true:
            lines += [f"- {key} = {_text(true)}", f"+ {key} = {_text(value)}"]
    return "\n".join(lines)


def _text(value: Any) -> str:
    expression = getattr(value, "equation", value)
    if hasattr(expression, "count_ops") and expression.count_ops() > SHOWN:
        return f"an expression of {expression.count_ops()} operations"
    text = str(expression)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]} ..."


def _point_text(given: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in given.items())
