"""Every mutant of every entry through the check that users run and, if that leaves it, through the tests of its paper.

    python -m tests.mutants [ID]... [--seconds S] [--jobs N] [--tests] [--out FOLDER] [--table FILE] [--ledger]

Finished mutants lie in a journal and are not tried again, unless the entry's equations or the effort have changed; nor
is what simulators said drawn again while their code, the point and the effort are the same. The table has a row for
each entry, and every survivor as a diff below it. What the checks said of the entries themselves goes into the ledger.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import theorem_engine as te
from tests.mutated import VARIABLE
from theorem_engine.asking.fingerprint import equations_fingerprint, fingerprint
from theorem_engine.base.errors import TheoremEngineError
from theorem_engine.checking.campaign import FAMILY_ALARM, Campaign
from theorem_engine.checking.designed import find_design
from theorem_engine.checking.evidence import Effort
from theorem_engine.checking.kept import Kept
from theorem_engine.checking.ledger import write_ledger
from theorem_engine.checking.mutation import EQUIVALENT, NO_NUMBER, REFUTED, SURVIVED, TOO_SLOW, Trial
from theorem_engine.sweeping.executors import default_executor
from theorem_engine.sweeping.journal import Journal

ROOT = Path(te.__file__).parent.parent
FOLDER = Path("theorem-engine-mutants")
KILLED_BY_TESTS = "killed by tests"
#: Seconds after which the tests of a paper are stopped: a mutant that they have not noticed by then has survived.
LONGEST = 1500


@dataclass(frozen=True)
class Task:
    """All mutants of one entry."""

    id: str
    seconds: float | None
    samples: int | None
    seed: int
    limit: float
    whole: float
    #: Workers that a user's check of the entry would have: seconds are shared by its points, on so many processors.
    workers: int
    journal: str

    def key(self, name, sites):
        """What makes two trials of a mutant the same; the simulators' code and the engine's are not part of it."""
        effort = [self.seconds, self.samples, self.seed, self.workers]
        return fingerprint([self.id, *effort, sites, list(name)])[:24]


@dataclass
class Score:
    """What became of the mutants of an entry."""

    id: str
    verdict: str
    points: int
    designed: bool
    fates: list[dict] = field(default_factory=list)
    #: How many were not reached in the time.
    left: int = 0
    #: Given points of the entry, and what the check said of the entry there.
    places: list[dict] = field(default_factory=list)
    verdicts: list[dict] = field(default_factory=list)
    seconds: float = 0.0

    def count(self, *words):
        """How many came to one of these ends."""
        return sum(fate["fate"] in words for fate in self.fates)

    @property
    def real(self):
        """Mutants that are not the same theorem, of those whose fate is known."""
        return len(self.fates) - self.count(EQUIVALENT, TOO_SLOW)


def run_task(task):
    """All mutants of one entry, each written down when its fate is known."""
    entry, journal = te.entry(task.id), Journal(Path(task.journal))
    done = {record["key"]: record for record in journal.records() if "key" in record}
    begin = time.process_time()
    seconds = None if task.seconds is None else task.workers * task.seconds
    try:
        effort = Effort(seconds, task.samples, task.seed)
        trial = Trial(entry, effort, None, task.limit, Kept(journal))
        named = trial.named()
    except TheoremEngineError as error:
        return Score(task.id, f"not tried: {error}", 0, False)
    score = Score(task.id, trial.verdict, len(trial.sites), find_design(entry) is not None)
    score.places = [dict(site.given) for site in trial.sites]
    score.verdicts = [site.examined.verdict().to_json() for site in trial.sites]
    sites = [equations_fingerprint(entry, site.given) + fingerprint(dict(site.given)) for site in trial.sites]
    # in an order that has nothing to do with the equations: those that time leaves out are like the others
    for name in sorted(named, key=lambda name: fingerprint(list(name))):
        key = task.key(name, sites)
        if key not in done:
            if time.process_time() - begin > task.whole:
                score.left += 1
                continue
            done[key] = {"key": key, "fate": {"entry": task.id, **trial.fate(named[name]).to_json()}}
            journal.append(done[key])
        score.fates.append(done[key]["fate"])
    score.seconds = time.process_time() - begin
    return score


def tried_by_tests(score, journal):
    """Survivors through the tests of the paper; those that make a test fail are killed."""
    paper = score.id.partition(".")[0]
    files = [*sorted((ROOT / "tests" / "registry").glob(f"test_{paper}*.py")), ROOT / "tests/registry/test_golden.py"]
    done = {record["tests"]: record["killed"] for record in journal.records() if "tests" in record}
    for fate in score.fates:
        if fate["fate"] != SURVIVED:
            continue
        key = fingerprint([score.id, fate["kind"], fate["place"]])[:24]
        if key not in done:
            done[key] = _tests_fail([score.id, fate["kind"], fate["place"]], files)
            journal.append({"tests": key, "killed": done[key]})
        if done[key]:
            fate["fate"] = KILLED_BY_TESTS


def _tests_fail(mutant, files):
    words = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "tests.mutated", "-p", "no:cacheprovider"]
    try:
        ended = subprocess.run(
            [*words, "-m", "not campaign", *map(str, files)], cwd=ROOT, capture_output=True, check=False,
            timeout=LONGEST, env={**os.environ, VARIABLE: json.dumps(mutant)},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return False
    # anything but failed tests says nothing about the mutant
    return ended.returncode == 1


def table(scores, words):
    """The table as Markdown, and every survivor as a diff."""
    lines = [
        "# Mutants", "", *words, "",
        "| entry | check of the entry | points | mutants | equivalent | too slow | refuted | no number | by check | "
        "by tests | survivors |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    total = [0] * 8
    for score in scores:
        counts = [
            len(score.fates), score.count(EQUIVALENT), score.count(TOO_SLOW), score.count(REFUTED),
            score.count(NO_NUMBER), score.count(KILLED_BY_TESTS), score.count(SURVIVED), score.real,
        ]  # fmt: skip
        total = [a + b for a, b in zip(total, counts, strict=True)]
        points = f"{score.points} {'designed' if score.designed else 'drawn'}"
        left = f" ({score.left} not tried)" if score.left else ""
        lines.append(_row(score.id, score.verdict, points, counts, left))
    lines.append(_row("all", "", "", total, ""))
    survivors = [(score.id, fate) for score in scores for fate in score.fates if fate["fate"] == SURVIVED]
    lines += ["", "## Survivors", ""]
    if not survivors:
        lines.append("None.")
    for id, fate in survivors:
        lines += [f"- `{id}`, {fate['kind']}, `{fate['place']}`: {fate['why']}", "", "  ```diff"]
        lines += [f"  {line}" for line in fate["diff"].split("\n")] + ["  ```", ""]
    return "\n".join(lines).rstrip() + "\n"


def _row(name, verdict, points, counts, left):
    made, equal, slow, refuted, lost, tests, survived, real = counts
    share = f"{100 * (refuted + lost) / real:.1f} %" if real else ""
    cells = [name, verdict, points, f"{made}{left}", equal, slow, refuted, lost, share, tests, survived]
    return f"| {' | '.join(map(str, cells))} |"


def _as_campaign(score, seed, folder):
    """What the checks said of an entry itself, as a campaign over it has it."""
    return Campaign(tuple(score.verdicts), FAMILY_ALARM, seed, 0, folder, points=tuple(score.places))


def main(arguments=None):
    """Run and write the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__.partition("\n")[0])
    parser.add_argument("ids", nargs="*", help="entries, or papers; all without")
    parser.add_argument("--seconds", type=float, default=30.0, help="of a user's check of an entry")
    parser.add_argument("--samples", type=int, help="draws of each simulator at each point, instead of seconds")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=10.0, help="seconds of the processor for a mutant at a point")
    parser.add_argument("--whole", type=float, default=3600.0, help="seconds of the processor for an entry")
    parser.add_argument("--workers", type=int, default=2, help="processors of that user")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--ledger", action="store_true", help="write what the checks say of the entries themselves")
    parser.add_argument("--tests", action="store_true", help="try survivors by the tests of their paper")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder of the journal")
    parser.add_argument("--table", type=Path, help="file of the table")
    asked = parser.parse_args(arguments)
    chosen = [e.id for e in te.entries() if not asked.ids or e.id in asked.ids or e.paper in asked.ids]
    journal = Journal(asked.out / "mutants.jsonl")
    journal.prepare()
    seconds = None if asked.samples is not None else asked.seconds
    effort = (seconds, asked.samples, asked.seed, asked.limit, asked.whole, asked.workers)
    tasks = [Task(id, *effort, str(journal.path)) for id in chosen]
    pool = default_executor(asked.jobs if len(tasks) > 1 else 1, len(tasks), "", False)
    scores = []
    for score in pool.map(run_task, tasks):
        if asked.tests:
            tried_by_tests(score, journal)
        scores.append(score)
        killed = score.count(REFUTED, NO_NUMBER)
        print(
            f"{score.id}: {score.verdict}; {len(score.fates)} mutants, {score.count(EQUIVALENT)} equivalent, {killed} "
            f"killed by check, {score.count(KILLED_BY_TESTS)} by tests, {score.count(SURVIVED)} survive, "
            f"{score.count(TOO_SLOW)} too slow, {score.left} not tried; {score.seconds:.0f} s",
            flush=True,
        )
        if asked.ledger:
            write_ledger(_as_campaign(score, asked.seed, asked.out), datetime.now(UTC).date().isoformat())
    effort = (
        f"{asked.samples} samples"
        if asked.samples is not None
        else f"as `check ID --seconds {asked.seconds:g}` on {asked.workers} processors"
    )
    command = " ".join(["python -m tests.mutants", *asked.ids])
    words = [
        f"Made on {datetime.now(UTC).date()} by `{command}`,",
        f"{effort}, seed {asked.seed}, at most {asked.limit:g} s of the processor for a mutant at a point and "
        f"{asked.whole:g} s for an entry;",
        "survivors were " + ("tried" if asked.tests else "not tried") + " by the tests of their paper.",
    ]
    text = table(scores, words)
    if asked.table is not None:
        asked.table.write_text(text, encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
