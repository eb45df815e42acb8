"""Mutation of an entry: all its mutants through the check that users run, at the points that they get.

Simulators never see a formula, so what they say is the same for an entry and for its mutants: it is gathered once at
each point. Only simulators that are told outputs of the prediction, or compare with random predictions, are run again
for a mutant. A mutant that moves nothing is compared with its entry in thirty digits: where these are equal it is the
same theorem written otherwise.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from theorem_engine.asking.point import Point, read_point
from theorem_engine.base.errors import TheoremEngineError, ValidityWarning
from theorem_engine.checking.campaign import campaign_points
from theorem_engine.checking.comparison import AGREES, CANNOT_TELL, DISAGREES, judge, normal_threshold
from theorem_engine.checking.designed import find_design
from theorem_engine.checking.evidence import Effort, Row, flat_outputs
from theorem_engine.checking.mutants import PATIENCE, Mutant, differs, mutants, original
from theorem_engine.checking.outcome import outcomes, overall
from theorem_engine.checking.simulation import gather
from theorem_engine.checking.simulators import random_letters
from theorem_engine.language.entry import Entry

REFUTED, NO_NUMBER, SURVIVED, EQUIVALENT = "refuted", "no number", "survived", "equivalent"
#: Digits in which a mutant must equal its entry to count as the same theorem, of those that are worked out.
DIGITS, AGREEING = 30, 25
#: Seconds of the processor for these digits at a point.
FOR_DIGITS = 10.0
#: Simulators that see the prediction draw anew for a mutant: a part of what a check draws first, which shows most.
LOOKS = (0.1, 1.0)
#: Points of an entry that has no designed ones.
DRAWN = 3
#: Characters of an equation that a survivor is shown with.
SHOWN = 400


@dataclass
class Site:
    """A point of an entry and all that was measured there."""

    given: dict[str, Any]
    point: Point
    true: Mapping[str, Any]
    errors: Mapping[str, float]
    #: What simulators say that see nothing of the prediction, and those that do.
    fixed: list[Row]
    told: list[Row]
    problems: list[str]
    #: Whether the entry says itself that it is not exact here: then a check disagrees with nothing.
    is_warned: bool = False
    verdict: str = ""
    digits: dict[Any, Any] | None = field(default=None, repr=False)
    has_digits: bool = False


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


def sites_of(entry: Entry, effort: Effort, false_alarm: float) -> list[Site]:
    """The points that a check of the entry runs, with what its simulators say there."""
    design = find_design(entry)
    if design is None:
        places: list[dict[str, Any]] = campaign_points(entry, DRAWN, effort.seed)
    else:
        drawn: dict[str, Any] = dict.fromkeys(random_letters(entry), effort.seed)
        places = [{**drawn, **point} for point in design.points]
    share = None if effort.seconds is None else effort.seconds / len(places)
    found = (_site(entry, place, replace(effort, seconds=share), false_alarm) for place in places)
    return [site for site in found if site is not None]


def _site(entry: Entry, given: dict[str, Any], effort: Effort, false_alarm: float) -> Site | None:
    from theorem_engine.asking.evaluation import named_point
    from theorem_engine.asking.prediction import predict
    from theorem_engine.checking.verdict import statistical_errors, without_rounding

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ValidityWarning)
        try:
            point = read_point(entry, given)
        except TheoremEngineError:
            return None
    is_warned = any(issubclass(warning.category, ValidityWarning) for warning in caught)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            prediction = predict(entry.id, **given)
            true = without_rounding(prediction, flat_outputs(prediction.outputs))
            errors = statistical_errors(entry, point)
        except TheoremEngineError:
            # a theorem without a number here has no mutants to be told from
            return None
        named = named_point(entry, point)
        fixed = gather(entry, named, true, effort, None, lambda simulator: not _sees(simulator))
        seeing = gather(entry, named, true, effort, original(entry, dict(point.options)).redraw(point), _sees)
    is_warned = is_warned or prediction.error_kind == "approximate"
    site = Site(given, point, true, errors, fixed.rows, seeing.rows, [*fixed.problems, *seeing.problems], is_warned)
    site.verdict = _verdict(site, [*site.fixed, *site.told], true, false_alarm)
    return site


def _sees(simulator: Any) -> bool:
    return bool(simulator.takes or simulator.random_letter)


def _verdict(site: Site, rows: Sequence[Row], predicted: Mapping[str, Any], false_alarm: float) -> str:
    from theorem_engine.checking.verdict import with_own_error

    compared = judge([with_own_error(row, site.errors) for row in rows], predicted, false_alarm)
    return overall(outcomes(compared, list(predicted)), site.problems, site.is_warned)[0]


@dataclass
class Trial:
    """All mutants of an entry, and the points they are tried at."""

    entry: Entry
    effort: Effort
    false_alarm: float
    seconds: float = PATIENCE
    sites: list[Site] = field(default_factory=list)

    def __post_init__(self) -> None:
        planned = normal_threshold(self.false_alarm / 4)
        self.effort = replace(self.effort, threshold=planned)
        self.sites = sites_of(self.entry, self.effort, self.false_alarm)

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
        lost, moved = 0, False
        for version, sites in versions:
            for site, wrong in zip(sites, version.evaluate_all([s.point for s in sites], self.seconds), strict=True):
                if wrong is None or set(wrong) != set(site.true):
                    lost += 1
                    continue
                if not differs(site.true, wrong):
                    continue
                moved = True
                if self._refutes(site, version, wrong):
                    return Fate(mutant.kind, mutant.place, REFUTED, _point_text(site.given))
        if moved:
            return self._survivor(mutant, "moves what is predicted, by less than the check reports")
        if lost:
            return Fate(mutant.kind, mutant.place, NO_NUMBER, f"no number at {lost} of {len(self.sites)} points")
        if all(self._is_equal(version, site) for version, sites in versions for site in sites[:1]):
            return Fate(mutant.kind, mutant.place, EQUIVALENT, f"equal in {AGREEING} digits")
        return self._survivor(mutant, "moves nothing that is predicted at these points")

    def _refutes(self, site: Site, mutant: Mutant, wrong: Mapping[str, Any]) -> bool:
        from theorem_engine.asking.evaluation import named_point

        if _verdict(site, site.fixed, wrong, self.false_alarm) == DISAGREES:
            return True
        if not site.told:
            return False
        named = named_point(self.entry, site.point)
        for part in LOOKS:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                effort = self._part_of(part)
                seeing = gather(self.entry, named, wrong, effort, mutant.redraw(site.point), _sees)
            if _verdict(site, [*site.fixed, *seeing.rows], wrong, self.false_alarm) == DISAGREES:
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

    def _survivor(self, mutant: Mutant, why: str) -> Fate:
        return Fate(mutant.kind, mutant.place, SURVIVED, why, diff_of(mutant))


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
