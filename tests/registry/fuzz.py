"""A campaign of fuzzed queries over all entries: ``python -m tests.registry.fuzz --count 20000 --seed 0 --jobs 2``."""

import argparse
import sys
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import local

import theorem_engine as te
from tests.registry.fuzz_queries import make_query, shares
from tests.registry.fuzz_values import PREAMBLE
from tests.registry.fuzz_worker import Report, Worker


def run(count, seed, jobs=1, seconds=10.0, bases=24, chosen=None, progress=None, after=0):
    """Reports of ``count`` queries, entry after entry, so that the equations of each are compiled once.

    The first ``after`` of them are left out: a campaign goes on where another was stopped.
    """
    chosen = te.entries() if chosen is None else chosen
    queries = sorted((name, index) for name, n in shares(chosen, count).items() for index in range(n))[after:]
    here, workers, reports = local(), [], []

    def judge(job):
        if not hasattr(here, "worker"):
            here.worker = Worker(seconds)
            workers.append(here.worker)
        try:
            query = make_query(job[0], seed, job[1], bases)
        except Exception as error:
            # a point of an entry's own domain that is refused, or worse, is a failure, not the end of the campaign
            told = [("no point is drawn", f"{type(error).__name__}: {error}")]
            return Report(f"point {job[1]} of seed {seed}", job[0], (), "failed", told)
        return here.worker.judge(query)

    try:
        with ThreadPoolExecutor(jobs) as pool:
            for number, report in enumerate(pool.map(judge, queries), start=1):
                reports.append(report)
                if progress:
                    progress(number, len(queries), report)
    finally:
        for worker in workers:
            worker.close()
    return reports


def summary(reports):
    """Counts, then each distinct failure with the entries it meets and one call that shows it, as Markdown."""
    statuses = Counter(report.status for report in reports)
    lines = [f"{len(reports)} queries: " + ", ".join(f"{n} {status}" for status, n in sorted(statuses.items())), ""]
    lines += [f"Calls need `{PREAMBLE}`.", ""]
    groups = defaultdict(list)
    for report in reports:
        for cause, detail in report.failures:
            groups[cause].append((report, detail))
    for cause, found in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])):
        lines.append(f"## {cause} ({len(found)} queries)")
        by_entry = defaultdict(list)
        for report, detail in found:
            by_entry[report.entry].append((report, detail))
        for entry, cases in sorted(by_entry.items()):
            report, detail = min(cases, key=lambda case: (len(case[0].moved), len(case[0].call)))
            letters = Counter(name for case, _ in cases for name in case.moved)
            lines.append(f"- {entry} ({len(cases)}; letters {', '.join(letters)}): `{report.call}`")
            lines.append(f"  {' '.join(detail.split())[:260]}")
        lines.append("")
    slow = [report for report in reports if report.status == "slow"]
    if slow:
        lines.append(f"## Stopped at the time limit ({len(slow)} queries; not counted as failures)")
        lines += [f"- `{report.call}`" for report in slow]
    return "\n".join(lines) + "\n"


def main(arguments=None):
    """Run a campaign, write its summary, and end with 1 if a query failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.registry.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=10.0, help="time a query may take before it is left")
    parser.add_argument("--bases", type=int, default=24, help="valid points per entry that queries start from")
    parser.add_argument("--after", type=int, default=0, help="how many of the queries were judged before")
    parser.add_argument("--entry", action="append", help="only entries whose id contains this text")
    parser.add_argument("--skip-costly", action="store_true", help="leave out entries that take long")
    parser.add_argument("--out", type=Path, help="file for the summary; it is printed otherwise")
    parser.add_argument("--log", type=Path, help="file with a line for every query")
    given = parser.parse_args(arguments)
    reports = []

    def progress(number, total, report):
        reports.append(report)
        if given.log:
            with given.log.open("a", encoding="utf-8") as stream:
                stream.write(f"{report.status} {report.seconds:.3f} s {report.call} {report.said[:300]!r}\n")
        if number % 100 == 0 or number == total:
            failed = sum(r.status == "failed" for r in reports)
            print(f"{number} of {total} queries, {failed} failed, at {report.entry}", file=sys.stderr, flush=True)
            if given.out:
                given.out.write_text(summary(reports), encoding="utf-8")

    chosen = [entry for entry in te.entries() if not (given.skip_costly and entry.costly)]
    if given.entry:
        chosen = [entry for entry in chosen if any(part in entry.id for part in given.entry)]
    run(given.count, given.seed, given.jobs, given.seconds, given.bases, chosen, progress, given.after)
    if not given.out:
        print(summary(reports))
    return 1 if any(report.failures for report in reports) else 0


if __name__ == "__main__":
    sys.exit(main())
