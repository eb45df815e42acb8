"""`make bench`: every ratio the project promises, measured now and written into RESULTS.md.

Names of suites behind it measure those alone and write nothing; `first-calls` and `cluster` are among them only then.
What it may take is counted in processor time, its processes' together, so that other work on the machine costs no row.
"""

import signal
import subprocess
import sys
import time
import traceback
from contextlib import contextmanager

from benchmarks import (
    cluster,
    finite_sample,
    first_calls,
    growth,
    interpolation,
    population,
    promises,
    queries,
    results,
    simulators,
)
from benchmarks.timing import children, skipped

SUITES = {
    "promises": promises.report,
    "sweeps": cluster.sweeps,
    "simulators": simulators.report,
    "growth": growth.report,
    "queries": queries.report,
    "population": population.report,
    "interpolation": interpolation.report,
    "finite-sample": finite_sample.report,
}
ON_DEMAND = {"cluster": cluster.clusters, "first-calls": first_calls.report}
#: Processor seconds for all suites together: ten minutes of a machine that does nothing else.
BUDGET = 570


class OutOfTime(BaseException):
    """The seconds set aside are over; no handler of ordinary errors keeps it."""


@contextmanager
def within(seconds):
    """An error inside the block when so many processor seconds are over; what was measured before it stays.

    Looked at once a second of the clock: a timer of processor time would make its clock as coarse as the kernel's tick.
    """
    if seconds == float("inf"):
        yield
        return
    end = used() + seconds

    def ring(*_):
        if used() > end:
            raise OutOfTime

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 1, 1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def used():
    """Processor seconds of this process and of those it has waited for."""
    return time.process_time() + children()


def commit():
    """The commit that is measured, where there is one."""
    found = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return found.stdout.strip()


def run(names, budget=BUDGET):
    """Measure suites; one that fails is a row that says so, and the others go on."""
    begin = used()
    for name in names:
        left = budget - (used() - begin)
        try:
            with within(left):
                {**SUITES, **ON_DEMAND}[name]()
        except OutOfTime:
            skipped(f"{name}: what is missing of it", "", f"{budget} processor seconds were over")
        except Exception as error:
            traceback.print_exc()
            skipped(name, "", f"{type(error).__name__}: {' '.join(str(error).split())[:120]}")
    return used() - begin


if __name__ == "__main__":
    if len(sys.argv) > 1:
        run(sys.argv[1:], float("inf"))
    else:
        print(f"wrote {results.write(run(SUITES), commit())}")
