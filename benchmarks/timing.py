"""Seconds of a call: the best of a few repetitions, which noise can only make worse.

Processor time of this process, all its threads together: other work on the machine does not count, and neither side of
a ratio gains by taking more cores. What other processes do is taken from the system's own account of children.
"""

import os
import resource
import subprocess
import time

#: Rows of the report, in the order in which they were measured.
RECORDED = []


def best(call, repeat=5, clock=time.process_time):
    """Smallest time of a call."""
    times = []
    for _ in range(repeat):
        begin = clock()
        call()
        times.append(clock() - begin)
    return min(times)


def best_of_many(call, count=200, repeat=5):
    """Smallest time of one of many equal calls, each too short for the clock."""

    def many():
        for _ in range(count):
            call()

    return best(many, repeat) / count


def children():
    """Processor seconds of all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def seconds_of(*command, repeat=5, **environment):
    """Smallest processor time of a command."""
    there = {**os.environ, **environment}
    return best(lambda: subprocess.run(command, check=True, capture_output=True, env=there), repeat, children)


def line(name, value, wanted=""):
    """One row of figures that are no ratios."""
    RECORDED.append({"kind": "figure", "work": name, "value": str(value), "wanted": wanted})
    print(f"{name:<72} {value:>12} {wanted}", flush=True)


def row(work, rival, ratio, wanted=None, note="", at_most=False):
    """One ratio of times, that of the rival over ours, beside the one wanted."""
    is_met = None if wanted is None else ratio <= wanted if at_most else ratio >= wanted
    RECORDED.append(
        {"kind": "ratio", "work": work, "rival": rival, "ratio": ratio, "wanted": wanted, "met": is_met, "note": note,
         "at_most": at_most}
    )  # fmt: skip
    limit = "" if wanted is None else f"wanted: at {'most' if at_most else 'least'} {wanted:g}"
    state = "" if is_met is None else "met" if is_met else "NOT MET"
    print(f"{work} / {rival}: {number(ratio)} {limit} {state} {note}", flush=True)


def skipped(work, rival, why):
    """A row that could not be measured here."""
    RECORDED.append({"kind": "skipped", "work": work, "rival": rival, "note": why})
    print(f"{work} / {rival}: skipped, {why}", flush=True)


def number(value):
    """A ratio in three digits."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def same(ours, theirs, tolerance, what):
    """An error unless a rival gives the numbers that we give: a race between different programs tells nothing."""
    if not abs(ours - theirs) <= tolerance:
        raise AssertionError(f"{what}: {ours!r} and its rival's {theirs!r} differ by more than {tolerance:.2g}")


def slope(times):
    """Least-squares slope of the logarithm of times against that of sizes."""
    import numpy as np

    return float(np.polyfit(np.log(list(times)), np.log(list(times.values())), 1)[0])
