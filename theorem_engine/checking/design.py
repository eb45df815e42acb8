"""Choosing the points of a check by the mutants of the theorem: experiment design, done once for an entry.

Candidates are drawn from the entry's domain. At each of them a short simulation shows which outputs are measured and
how much one draw of them spreads; an output that a mutant moves by a percent of its scale, or by more than a
computation is accurate to, would be reported by a check with its stated power. Points are then chosen one by one, each
for the most mutants that those before it leave.

    python -m theorem_engine.checking.design ID ... [--candidates N] > designed_points.toml

With ``--score`` the points that an entry has are kept, and only the mutants that they tell are counted anew.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from theorem_engine.asking.evaluation import named_point
from theorem_engine.asking.point import Point, read_point
from theorem_engine.base.errors import TheoremEngineError
from theorem_engine.checking.campaign import campaign_points
from theorem_engine.checking.designed import Design, find_design
from theorem_engine.checking.evidence import RELEVANT, Effort, Row, flat_outputs
from theorem_engine.checking.mutants import EQUAL, differs, mutants
from theorem_engine.checking.simulation import gather
from theorem_engine.checking.simulators import named_simulators
from theorem_engine.language.catalogue import find_entry
from theorem_engine.language.entry import Entry

#: Candidates that are drawn, and fewest and most points that are kept.
CANDIDATES, FEWEST, MOST = 16, 3, 8
#: Draws that show the spread of an output, and those of simulators whose time grows with a size.
DRAWS, DEAR = 512, 16
#: Standard errors beyond which a short simulation has missed what its mean is made of.
RARE = 8.0
#: Seconds of the processor that a mutant may take at a candidate; slower ones count for no point.
PATIENCE = 3.0


@dataclass
class Candidate:
    """A point, what is predicted there, and by how much an output must move to be reported."""

    given: dict[str, Any]
    point: Point
    predicted: Mapping[str, Any]
    reported: dict[str, float]
    #: Mutants, by kind and place, that would be reported here.
    told: set[tuple[str, str]] = field(default_factory=set)


def design(entry: Entry, seed: int = 0, candidates: int = CANDIDATES) -> Design:
    """Three to eight points that together tell as many mutants from the entry as the candidates can."""
    drawn, changed = _tried(entry, _drawn(entry, candidates, seed))
    chosen: list[Candidate] = []
    told: set[tuple[str, str]] = set()
    while drawn and len(chosen) < MOST:
        best = max(drawn, key=lambda c: (len(c.told - told), len(c.told)))
        if len(chosen) >= FEWEST and not best.told - told:
            break
        told |= best.told
        chosen.append(best)
        drawn.remove(best)
    points = tuple({name: str(value) for name, value in c.given.items()} for c in chosen)
    return Design(points, len(told), changed)


def score(entry: Entry, points: Sequence[Mapping[str, Any]]) -> Design:
    """Given points, and how many mutants they tell from the entry."""
    tried, changed = _tried(entry, [dict(point) for point in points])
    told = set().union(*(candidate.told for candidate in tried))
    return Design(tuple({name: str(value) for name, value in point.items()} for point in points), len(told), changed)


def _tried(entry: Entry, points: Sequence[dict[str, Any]]) -> tuple[list[Candidate], int]:
    """Candidates with the mutants that each of them tells, and how many mutants move any output at any of them."""
    drawn = [found for given in points if (found := _candidate(entry, given)) is not None]
    changed: set[tuple[str, str]] = set()
    for group in _by_options(drawn):
        for mutant in mutants(entry, dict(group[0].point.options)):
            name = (mutant.kind, mutant.place)
            for candidate, wrong in zip(group, mutant.evaluate_all([c.point for c in group], PATIENCE), strict=True):
                if wrong is None:
                    continue
                if differs(candidate.predicted, wrong):
                    changed.add(name)
                if differs(candidate.predicted, wrong, candidate.reported):
                    candidate.told.add(name)
    return drawn, len(changed)


def _drawn(entry: Entry, count: int, seed: int) -> list[dict[str, Any]]:
    return [dict(point) for point in campaign_points(entry, count, seed)]


def _candidate(entry: Entry, given: dict[str, Any]) -> Candidate | None:
    """What a short simulation shows at a point; none where the theorem or the simulators say nothing."""
    from theorem_engine.asking.prediction import predict

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            point = read_point(entry, given)
            predicted = flat_outputs(predict(entry.id, **given).outputs)
            draws = DEAR if any(simulator.cost for _, simulator in named_simulators(entry)) else DRAWS
            rows = gather(entry, named_point(entry, point), predicted, Effort(None, draws)).rows
    except TheoremEngineError:
        return None
    if any(_is_rare(row, predicted[row.output]) for row in rows):
        return None
    reported: dict[str, float] = {}
    for row in rows:
        needed = _reported(row, predicted[row.output])
        if needed is not None:
            reported[row.output] = min(needed, reported.get(row.output, needed))
    return Candidate(given, point, predicted, reported) if reported else None


def _is_rare(row: Row, prediction: Any) -> bool:
    """Whether a mean is made of events that a short simulation does not meet: a check would need very many draws."""
    numbers = isinstance(prediction, float) and isinstance(row.estimate, float) and not row.deterministic
    return (
        numbers
        and not row.problem
        and abs(row.estimate - prediction) > RARE * row.standard_error + EQUAL * abs(prediction)
    )


def _reported(row: Row, prediction: Any) -> float | None:
    """By how much an output must move for this simulator to report it; none if it does not speak about it."""
    if row.problem or row.given or row.predicted is not None:
        return None
    if not isinstance(prediction, float) or not isinstance(row.estimate, float):
        return 0.0
    scale = max(abs(prediction), row.scale)
    if row.deterministic:
        return max(row.tolerance * scale, row.systematic)
    return RELEVANT * max(scale, row.spread)


def _by_options(drawn: Sequence[Candidate]) -> Iterator[list[Candidate]]:
    """Candidates of one choice of options each, for which the equations are the same."""
    groups: dict[str, list[Candidate]] = {}
    for candidate in drawn:
        groups.setdefault(str(sorted(map(str, candidate.point.options))), []).append(candidate)
    yield from groups.values()


def as_toml(id: str, found: Design) -> str:
    """A design as it stands in the file of a paper."""
    scores = [] if found.told is None else [f"told = {found.told}", f"mutants = {found.mutants}"]
    lines = [f'["{id}"]', *scores, "points = ["]
    for point in found.points:
        cells = ", ".join(f'{name} = "{value}"' for name, value in point.items())
        lines.append(f"    {{ {cells} }},")
    return "\n".join([*lines, "]", ""])


def main(words: Sequence[str]) -> None:
    """Print designs of entries as they are found."""
    parser = argparse.ArgumentParser(prog="python -m theorem_engine.checking.design")
    parser.add_argument("ids", nargs="+", metavar="ID")
    parser.add_argument("--candidates", type=int, default=CANDIDATES, help="points that are drawn to choose from")
    parser.add_argument("--score", action="store_true", help="count what the points that stand in the file tell")
    asked = parser.parse_args(words)
    for id in asked.ids:
        entry = find_entry(id)
        try:
            kept = find_design(entry) if asked.score else None
            found = design(entry, candidates=asked.candidates) if kept is None else score(entry, kept.points)
        except TheoremEngineError as error:
            print(f"# {id}: {error}", file=sys.stderr, flush=True)
            continue
        print(as_toml(entry.id, found), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
