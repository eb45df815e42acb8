"""Many points: sweeps by axes beside hand-written NumPy, and what a cluster of two workers costs and gains."""

import os
import resource
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import special

import theorem_engine as te
from benchmarks.timing import best, line, row
from theorem_engine.sweeping.executors import Serial

POINT = {"lam": "0.1", "gamma": "0.7", "d": 400, "L": 10}
SIDE = 1000
#: Fixed points solved by one process and by two workers.
POINTS = 200


def hand_written(kappa, nu, lam=0.1, gamma=0.7, d=400, L=10, eps=0.0):
    """Risk and excess on the manifold as a user would write them."""

    def square(t, g):
        return 1 - 8 * special.owens_t(np.sqrt(2) * t / np.sqrt(1 + 2 * g**2), 1 / np.sqrt(1 + 4 * g**2))

    tau, g = lam * np.sqrt(d / 2), lam * gamma
    own = 1 - 2 * nu * special.erf(tau * kappa / np.sqrt(1 + 2 * g**2)) + square(tau * kappa, g)
    excess = gamma**2 * own + (L - 1) * square(0.0, lam)
    return eps**2 + excess, excess


def sweeps():
    """Ratios for 10^6 points."""
    axis = np.linspace(-0.9, 0.9, SIDE)
    flat = [x.ravel() for x in np.meshgrid(axis, axis, indexing="ij")]
    rival = best(lambda: hand_written(*flat))
    broadcast = best(lambda: hand_written(axis[:, None], axis[None, :]))

    def ours(errors):
        return te.sweep("marion2025.manifold-risk", kappa=axis, nu=axis, errors=errors, **POINT)

    found = ours(False)
    assert np.allclose(found["risk"].values.ravel(), hand_written(*flat)[0], rtol=1e-12)
    values, errors = best(lambda: ours(False)), best(lambda: ours(True))
    row("sweep of a closed form, 10^6 points, values only", "hand-written NumPy", rival / values, 0.7)
    row("the same with errors", "hand-written NumPy without", rival / errors, 0.2)
    line("NumPy broadcast by hand over the sweep, values", f"{broadcast / values:.2f}")
    line("a sweep with errors over one without", f"{errors / values:.2f}", "wanted: at most 3")
    wide = {"kappa": np.linspace(-0.6, 0.6, SIDE), "theta": np.linspace(-0.6, 0.6, SIDE)}
    fixed = {"nu": "0.3", "eta": "0.1", "rho": "0.05", **POINT}
    both = [best(lambda e=e: te.sweep("marion2025.risk", errors=e, **wide, **fixed), repeat=3) for e in (False, True)]
    line("the same NumPy (two outputs) over marion2025.risk (seven)", f"{rival / both[0]:.2f}", "wanted: at least 0.7")
    line("marion2025.risk with errors over without", f"{both[1] / both[0]:.2f}", "wanted: at most 3")
    line("peak memory, MB", f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f}")


@contextmanager
def machines(count):
    """The address of a scheduler with so many workers on this machine, and the processes, the scheduler first."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    address = f"tcp://127.0.0.1:{port}"
    here = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.getcwd()}

    def started(*words):
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen([sys.executable, "-m", *words, "--no-dashboard"], env=here, **quiet)

    processes = [started("distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", port)]
    try:
        worker = ("distributed.cli.dask_worker", address, "--host", "127.0.0.1", "--nthreads", "1", "--no-nanny")
        processes += [started(*worker) for _ in range(count)]
        import distributed

        with distributed.Client(address, timeout=120, set_as_default=False) as client:
            client.wait_for_workers(count, timeout=120)
        yield address, processes
    finally:
        for process in reversed(processes):
            process.kill()
            process.wait()


def clusters():
    """Milliseconds of a point beyond its evaluation, and the speed-up of two workers.

    Both by the processor time of all processes that take part: a machine that is busy with something else would give
    wall-clock times of that. The speed-up is one process over the busier of two workers, or over client and scheduler
    should these work longer: of workers that have met the entry before, and of new ones, which import the paper and
    compile its equations within the sweep as the one process does within its own first.
    """
    cheap, dear = "marion2025.oracle-risk", "duranthon2026.bayes-learner"
    queries: dict[str, dict[str, Any]] = {
        cheap: {"lam": te.grid("0.1", 1, 400), "gamma": 1, "d": 400, "L": 10, "errors": False},
        # self-consistent systems that take no arrays: what does is faster in one process than sent anywhere
        dear: {"task": "spiked", "nu": 1, "L": 3, "alpha": te.grid(1, 4, POINTS), "draws": 4096, "errors": False},
    }
    runs = {id: [processor_seconds(id, query, executor=Serial())[0] for _ in range(2)] for id, query in queries.items()}
    alone = {id: min(seconds) for id, seconds in runs.items()}
    with machines(2) as (address, processes):

        def there(id: str) -> list[float]:
            return processor_seconds(id, queries[id], processes, scheduler=address)

        new = there(dear)
        shares = [there(dear) for _ in range(4)]
        there(cheap)
        one = min(sum(there(cheap)) for _ in range(2))
    longest = [max(client + scheduler, *workers) for client, scheduler, *workers in [new, *shares]]
    beyond = 1000 * (one - alone[cheap]) / 400
    line("milliseconds of a point on a cluster beyond its evaluation", f"{beyond:.2f}", "wanted: at most 3")
    gain = alone[dear] / min(longest[1:])
    line(f"speed-up of two workers over one process, {POINTS} fixed points", f"{gain:.2f}", "wanted: at least 1.7")
    line("the same by two new workers over a new process", f"{runs[dear][0] / longest[0]:.2f}")
    line("milliseconds of such a point in one process", f"{1000 * alone[dear] / POINTS:.1f}")


def processor_seconds(id, query, processes=(), **where):
    """Processor time of a sweep: of this process, then of the others given."""
    import psutil

    def used():
        times = [psutil.Process(process.pid).cpu_times() for process in processes]
        return [time.process_time(), *(t.user + t.system for t in times)]

    before = used()
    te.sweep(id, **query, **where)
    return [now - then for now, then in zip(used(), before, strict=True)]


def report():
    """Sweeps by axes, then clusters."""
    sweeps()
    clusters()


if __name__ == "__main__":
    report()
