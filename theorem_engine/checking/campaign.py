"""Campaigns: every entry checked at points drawn from its own domain, in parallel, resumable, with one report.

The false-alarm rate belongs to the campaign as a whole: with n checks each is allowed an n-th of it, half of that
in each of two looks: checks that could not tell get a second one, with the time that others left. Points
depend on the seed and the entry's id alone, so that a campaign can be repeated, or continued after a kill.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from theorem_engine.asking.fingerprint import fingerprint
from theorem_engine.base.errors import BadRequest, TheoremEngineError, ValidityWarning
from theorem_engine.base.version import __version__
from theorem_engine.checking.designed import find_design
from theorem_engine.checking.evidence import Effort
from theorem_engine.checking.record import is_result
from theorem_engine.checking.simulators import check_fingerprint, random_letters
from theorem_engine.language.catalogue import all_entries, find_entry
from theorem_engine.language.entry import Entry
from theorem_engine.language.figure import figures
from theorem_engine.sweeping.executors import Executor, default_executor
from theorem_engine.sweeping.journal import Journal
from theorem_engine.sweeping.locking import only_one

#: Probability that a campaign over a true registry reports any disagreement.
FAMILY_ALARM = 0.01
#: Draws after which a point is taken although the entry warns about it.
TRIES = 50
#: What is added to the seed of a second look.
SECOND = 2**32
FOLDER = Path("theorem-engine-campaign")


@dataclass(frozen=True)
class Task:
    """One check: plain data that can travel to another process and be named in a journal."""

    id: str
    point: Mapping[str, Any]
    seconds: float | None
    samples: int | None
    seed: int
    false_alarm: float
    journal: str
    #: Of the entry's equations, those it applies, its simulators' code and the engine, as the campaign found them.
    made_of: str = ""

    @property
    def key(self) -> str:
        """What makes two checks the same: everything but where the journal lies."""
        parts = [self.id, dict(self.point), self.seconds, self.samples, self.seed, self.false_alarm, self.made_of]
        return fingerprint(parts)[:24]


@dataclass(frozen=True)
class Campaign:
    """Results of all checks, in the order of the tasks."""

    results: tuple[Mapping[str, Any], ...]
    false_alarm: float
    seed: int
    resumed: int
    folder: Path
    #: Lines of the journal that are no record of a check: cut short, damaged or foreign. They were not used.
    set_aside: int = 0
    #: The points as they were given, one for each result.
    points: tuple[Mapping[str, Any], ...] = ()

    def count(self, verdict: str) -> int:
        """How many checks came to a verdict."""
        return sum(result["verdict"] == verdict for result in self.results)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "engine": f"theorem-engine {__version__}", "seed": self.seed, "family_false_alarm": self.false_alarm,
            "checks": len(self.results), "resumed": self.resumed, "set_aside": self.set_aside,
            **{word.replace(" ", "_"): self.count(word) for word in ("agrees", "disagrees", "cannot tell")},
            "results": [dict(result) for result in self.results],
        }  # fmt: skip


def campaign_points(entry: Entry, count: int, seed: int) -> list[dict[str, Any]]:
    """Points of an entry's domain, where possible such that it has equations and does not warn of small sizes."""
    import numpy as np

    from theorem_engine.asking.point import read_point
    from theorem_engine.asking.random_point import draw_point

    word = int.from_bytes(hashlib.sha256(entry.id.encode()).digest()[:8], "big")
    rng = np.random.default_rng([seed, word])
    points = []
    for _ in range(count):
        for _ in range(TRIES):
            point = draw_point(entry, rng)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", ValidityWarning)
                try:
                    entry.statement(dict(read_point(entry, point).options))
                except TheoremEngineError:
                    # a choice of options about which the entry says nothing
                    continue
            if not any(issubclass(w.category, ValidityWarning) for w in caught):
                break
        points.append(point)
    return points


def run_campaign(
    ids: Sequence[str] = (),
    *,
    seconds: float | None = 300,
    samples: int | None = None,
    points: int = 1,
    jobs: int | None = None,
    seed: int = 0,
    folder: Path = FOLDER,
    fresh: bool = False,
    progress: bool = False,
    fixed: Mapping[str, Any] | None = None,
    designed: bool = False,
    executor: Executor | None = None,
    scheduler: str | None = None,
) -> Campaign:
    """Check entries (all, if none is named), each at so many points; ``seconds`` is for the whole campaign.

    Where points are ``designed``, an entry that has such points is checked at all of them instead. A campaign over all
    entries checks the settings of the figures too.

    Finished checks lie in ``folder`` and are not repeated when the same campaign is started again, unless the entry's
    equations, its simulators or the engine have changed. A simulator that fails gives "cannot tell"; a journal that
    cannot be written stops the campaign: its results would be lost. A folder takes one campaign at a time.
    With ``scheduler``, the address of a Dask scheduler, its workers check; ``seconds`` are shared among all of them.
    """
    if scheduler is not None:
        from theorem_engine.sweeping.sweep import cluster

        if executor is not None or jobs is not None:
            raise BadRequest("scheduler, executor and jobs each say where checks are run; give one of them")
        executor = cluster(scheduler, "checks", False)
        jobs = executor.count_workers()
    workers = jobs if jobs is not None else os.cpu_count() or 1
    for name, value in (("points", points), ("jobs", workers)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise BadRequest(f"{name}={value!r} is not a whole number of at least 1")
    if seconds is not None and not 0 < seconds < float("inf"):
        raise BadRequest(f"seconds={seconds!r} is not a positive number")
    chosen = [find_entry(id) for id in dict.fromkeys(ids)] or all_entries()
    journal = Journal(Path(folder) / "journal.jsonl")
    with only_one(Path(folder) / "lock", "no second campaign"):
        if fresh:
            _remove(journal.path)
        journal.prepare()
        pairs = _pairs(chosen, points, seed, fixed, designed, with_figures=not ids and not fixed)
        return _run(pairs, journal, seconds, samples, workers, seed, progress, executor)


def _pairs(
    chosen: Sequence[Entry],
    points: int,
    seed: int,
    fixed: Mapping[str, Any] | None,
    designed: bool,
    with_figures: bool,
) -> list[tuple[Entry, dict[str, Any]]]:
    """Entries and the points they are checked at."""
    pairs = []
    for entry in chosen:
        places = designed_places(entry, seed) if designed and not fixed else None
        if places is None:
            places = [dict(fixed)] if fixed else campaign_points(entry, points, seed)
        pairs += [(entry, place) for place in places]
    if with_figures:
        pairs += [(find_entry(id), dict(point)) for figure in figures() for id, point in figure.settings]
    return pairs


def share_of(seconds: float | None, workers: int, checks: int) -> float | None:
    """Seconds of each of so many checks."""
    return None if seconds is None else round(workers * seconds / max(1, checks), 3)


def alarm_of(checks: int) -> float:
    """The probability of a false alarm that each check may have: half of the campaign's is for second looks."""
    return FAMILY_ALARM / (2 * max(1, checks))


def designed_places(entry: Entry, seed: int) -> list[dict[str, Any]] | None:
    """The designed points of an entry, if it has any; a random prediction is drawn by the seed of the campaign."""
    design = find_design(entry)
    drawn: dict[str, Any] = dict.fromkeys(random_letters(entry), seed)
    return None if design is None else [{**drawn, **point} for point in design.points]


def _run(
    pairs: Sequence[tuple[Entry, dict[str, Any]]],
    journal: Journal,
    seconds: float | None,
    samples: int | None,
    workers: int,
    seed: int,
    progress: bool,
    executor: Executor | None,
) -> Campaign:
    share = None if samples is not None else share_of(seconds, workers, len(pairs))
    alarm = alarm_of(len(pairs))
    path = str(journal.path)
    tasks = [Task(e.id, point, share, samples, seed, alarm, path, check_fingerprint(e, point)) for e, point in pairs]
    done, set_aside = finished_checks(journal)
    resumed = sum(task.key in done for task in tasks)

    def finish(wanted: Sequence[Task]) -> None:
        waiting = [task for task in wanted if task.key not in done]
        pool = executor or default_executor(workers if len(waiting) > 1 else 1, len(waiting), "", False)
        is_remote = bool(getattr(pool, "is_remote", False))
        finished = _kept(pool.map(check_task, waiting), journal) if is_remote else pool.map(run_task, waiting)
        for key, result in _shown(finished, tasks, done, progress):
            done[key] = result

    finish(tasks)
    second = {} if share is None or seconds is None else second_looks(tasks, done, workers * seconds)
    finish(list(second.values()))
    results = tuple(done[second.get(task.key, task).key] for task in tasks)
    given = tuple(task.point for task in tasks)
    return Campaign(results, FAMILY_ALARM, seed, resumed, journal.path.parent, set_aside, given)


def finished_checks(journal: Journal) -> tuple[dict[str, dict[str, Any]], int]:
    """Results in the journal by key, and how many of its lines are not results of checks."""
    done: dict[str, dict[str, Any]] = {}
    foreign = 0
    for record in journal.records():
        key: Any = record.get("key")
        result: Any = record.get("result")
        if isinstance(key, str) and is_result(result):
            done[key] = result
        else:
            foreign += 1
    return done, foreign + len(journal.damaged)


def second_looks(tasks: Sequence[Task], done: Mapping[str, Any], budget: float) -> dict[str, Task]:
    """Checks that more samples may settle, by key, each again with its part of the time that the others left.

    The samples are new ones; what the first look saw takes no part. The time spent is that in the journal, so that
    a campaign that is started again comes to the same second looks.
    """
    left = budget - sum(done[task.key]["seconds"] for task in tasks)
    waiting = [
        task
        for task in tasks
        if done[task.key]["verdict"] == "cannot tell" and any(row["z"] is not None for row in done[task.key]["rows"])
    ]
    share = round(left / max(1, len(waiting)), 3)
    return {
        task.key: replace(task, seconds=share, seed=task.seed + SECOND)
        for task in waiting
        if task.seconds is not None and share >= 1.5 * task.seconds
    }


def run_task(task: Task) -> tuple[str, dict[str, Any]]:
    """One check in a worker, which writes it down itself: what is finished is on the disk before it is reported."""
    key, result, is_kept = check_task(task)
    if is_kept:
        Journal(Path(task.journal)).append({"key": key, "result": result})
    return key, result


def check_task(task: Task) -> tuple[str, dict[str, Any], bool]:
    """One check, and whether its result may be kept; workers on other machines write nothing."""
    from theorem_engine.checking.verdict import check_point

    try:
        entry = find_entry(task.id)
        if task.made_of and check_fingerprint(entry, task.point) != task.made_of:
            # the result belongs to neither the old code nor the new: it is told, and not kept
            return task.key, _no_result(task, "the code changed while the campaign ran; start it again"), False
        effort = Effort(task.seconds, task.samples, task.seed)
        result = check_point(entry, task.point, effort, task.false_alarm).to_json()
        if not is_result(result):
            raise TypeError("the check came to something that is no result")
    except Exception as error:  # one check that fails, for whatever reason, must not stop the others
        result = _no_result(task, f"{type(error).__name__}: {error}")
    return task.key, result, True


def _kept(
    finished: Iterable[tuple[str, dict[str, Any], bool]], journal: Journal
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Checks of workers elsewhere, written down here as they come in."""
    for key, result, is_kept in finished:
        if is_kept:
            journal.append({"key": key, "result": result})
        yield key, result


def _no_result(task: Task, reason: str) -> dict[str, Any]:
    from theorem_engine.checking.verdict import CANNOT_TELL

    return {
        "entry": task.id, "verdict": CANNOT_TELL, "reason": reason,
        "point": {name: str(value) for name, value in task.point.items()}, "seed": task.seed, "samples": 0,
        "seconds": 0.0, "false_alarm": task.false_alarm, "rows": [], "notes": [], "outputs": {},
    }  # fmt: skip


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError:
        # the refusal to write comes next, with a sentence of its own
        return


def _shown(
    finished: Any, tasks: Sequence[Task], done: Mapping[str, Any], progress: bool
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The finished checks, with a live table of all of them on a terminal."""
    if not progress:
        yield from finished
        return
    from rich.console import Console
    from rich.live import Live

    from theorem_engine.checking.report import live_table

    with Live(live_table(tasks, done), console=Console(stderr=True), refresh_per_second=2) as live:
        for key, result in finished:
            yield key, result
            live.update(live_table(tasks, done))
