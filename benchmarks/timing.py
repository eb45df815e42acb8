"""Seconds of a call: the best of a few repetitions, which noise can only make worse."""

import time


def best(call, repeat=5):
    """Smallest wall time of a call."""
    times = []
    for _ in range(repeat):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return min(times)


def line(name, value, wanted=""):
    """One row of the report."""
    print(f"{name:<72} {value:>12} {wanted}")
