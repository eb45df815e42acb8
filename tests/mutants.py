"""Every mutant of every entry through the check that users run and, if that leaves it, through the tests of its paper.

    python -m tests.mutants [ID]... [--seconds S] [--jobs N] [--tests] [--out FOLDER] [--table FILE]

Finished mutants lie in a journal and are not tried again, unless the entry's equations or the effort have changed. The
table has a row for each entry, and every survivor as a diff below it.
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
from theorem_engine.checking.designed import find_design
from theorem_engine.checking.evidence import Effort
from theorem_engine.checking.mutation import EQUIVALENT, NO_NUMBER, REFUTED, SURVIVED, Trial
from theorem_engine.checking.verdict import FALSE_ALARM
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
    journal: str

    def key(self, name, sites):
        """What makes two trials of a mutant the same; the simulators' code and the engine's are not part of it."""
        return fingerprint([self.id, self.seconds, self.samples, self.seed, sites, list(name)])[:24]


@dataclass
class Score:
    """What became of the mutants of an entry."""

    id: str
    verdict: str
    points: int
    designed: bool
    fates: list[dict] = field(default_factory=list)
    #: Whether time ran out before all mutants were tried.
    left: int = 0

    def count(self, *words):
        """How many came to one of these ends."""
        return sum(fate["fate"] in words for fate in self.fates)

    @property
    def real(self):
        """Mutants that are not the same theorem."""
        return len(self.fates) - self.count(EQUIVALENT)


def run_task(task):
    """All mutants of one entry, each written down when its fate is known."""
    entry, journal = te.entry(task.id), Journal(Path(task.journal))
    done = {record["key"]: record for record in journal.records() if "key" in record}
    begin = time.process_time()
    try:
        trial = Trial(entry, Effort(task.seconds, task.samples, task.seed), FALSE_ALARM, task.limit)
        named = trial.named()
    except TheoremEngineError as error:
        return Score(task.id, f"not tried: {error}", 0, False)
    score = Score(task.id, trial.verdict, len(trial.sites), find_design(entry) is not None)
    sites = [equations_fingerprint(entry, site.given) + fingerprint(dict(site.given)) for site in trial.sites]
    for name, versions in named.items():
        key = task.key(name, sites)
        if key not in done:
            if time.process_time() - begin > task.whole:
                score.left += 1
                continue
            done[key] = {"key": key, "fate": {"entry": task.id, **trial.fate(versions).to_json()}}
            journal.append(done[key])
        score.fates.append(done[key]["fate"])
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
        "| entry | check of the entry | points | mutants | equivalent | refuted | no number | by check | by tests | "
        "survivors |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    total = [0] * 7
    for score in scores:
        counts = [
            len(score.fates), score.count(EQUIVALENT), score.count(REFUTED), score.count(NO_NUMBER),
            score.count(KILLED_BY_TESTS), score.count(SURVIVED), score.real,
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
    made, equal, refuted, lost, tests, survived, real = counts
    share = f"{100 * (refuted + lost) / real:.1f} %" if real else ""
    cells = [name, verdict, points, f"{made}{left}", equal, refuted, lost, share, tests, survived]
    return f"| {' | '.join(map(str, cells))} |"


def main(arguments=None):
    """Run and write the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__.partition("\n")[0])
    parser.add_argument("ids", nargs="*", help="entries, or papers; all without")
    parser.add_argument("--seconds", type=float, default=20.0, help="for the simulations of an entry")
    parser.add_argument("--samples", type=int, help="draws of each simulator at each point, instead of seconds")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=10.0, help="seconds of the processor for a mutant at a point")
    parser.add_argument("--whole", type=float, default=3600.0, help="seconds of the processor for an entry")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--tests", action="store_true", help="try survivors by the tests of their paper")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder of the journal")
    parser.add_argument("--table", type=Path, help="file of the table")
    asked = parser.parse_args(arguments)
    chosen = [e.id for e in te.entries() if not asked.ids or e.id in asked.ids or e.paper in asked.ids]
    journal = Journal(asked.out / "mutants.jsonl")
    journal.prepare()
    seconds = None if asked.samples is not None else asked.seconds
    tasks = [Task(id, seconds, asked.samples, asked.seed, asked.limit, asked.whole, str(journal.path)) for id in chosen]
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
            f"{score.left} not tried",
            flush=True,
        )
    effort = f"{asked.samples} samples" if asked.samples is not None else f"{asked.seconds:g} s of simulation an entry"
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
