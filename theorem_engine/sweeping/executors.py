"""Executors: where independent evaluations run. Anything with this ``map`` will do."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any, Protocol

from theorem_engine.base.errors import NotAvailable
from theorem_engine.language.packs import adopt, places

#: Below this many evaluations, starting processes costs more than it saves.
WORTH_PROCESSES = 24
#: Seconds between two looks of a worker at whether its parent lives.
INTERVAL = 0.5


class Executor(Protocol):
    """Maps a function over items, in order; the function and items must be importable and plain."""

    def map(self, function: Callable[[Any], Any], items: Sequence[Any]) -> Iterable[Any]:
        """Results in the order of the items."""


class Serial:
    """Runs everything here, one after the other."""

    def __init__(self, label: str = "", progress: bool = False) -> None:
        self.label = label
        self.progress = progress

    def map(self, function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        """Results in order, with a progress bar if asked."""
        return shown((function(item) for item in items), len(items), self.label, self.progress)


class Processes:
    """Runs in worker processes that each import the registry themselves."""

    def __init__(self, jobs: int, label: str = "", progress: bool = False) -> None:
        self.jobs = jobs
        self.label = label
        self.progress = progress

    def map(self, function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        """Results in order, as they come in."""
        from joblib import Parallel, delayed

        # workers must not each start threads of their own on a small machine
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        pool = Parallel(n_jobs=self.jobs, return_as="generator")
        parent, packs = os.getpid(), places()
        results = pool(delayed(_in_worker)(function, item, parent, packs) for item in items)
        return shown(_or_refusal(results), len(items), self.label, self.progress)


def _in_worker(function: Callable[[Any], Any], item: Any, parent: int, packs: tuple[str, ...] = ()) -> Any:
    """One item in a worker, which knows the packs of the process that started it and ends when that has ended."""
    adopt(packs)
    # workers elsewhere, of a cluster say, have parents of their own
    if os.getppid() == parent:
        _watch(parent)
    return function(item)


@cache
def _watch(parent: int) -> None:
    """Leave when the parent is gone, killed perhaps: nobody would take the results, and the work would go on."""

    def watch() -> None:
        # an orphan is given another parent
        while os.getppid() == parent:
            time.sleep(INTERVAL)
        os._exit(1)

    threading.Thread(target=watch, name="parent watch", daemon=True).start()


def _or_refusal(results: Iterable[Any]) -> Iterator[Any]:
    """The results; a worker that was killed (for want of memory, mostly) is told in a sentence."""
    from joblib.externals.loky.process_executor import BrokenProcessPool

    try:
        yield from results
    except BrokenProcessPool:
        raise NotAvailable(
            "a worker process was ended from outside, perhaps for want of memory; try fewer workers (jobs=1)"
        ) from None


def default_executor(jobs: int | None, count: int, label: str, progress: bool | None) -> Executor:
    """Processes when there is enough to do and joblib is installed; this process otherwise."""
    shown = sys.stderr.isatty() if progress is None else progress
    workers = jobs if jobs is not None else min(os.cpu_count() or 1, count // WORTH_PROCESSES + 1)
    if workers > 1:
        try:
            import joblib  # noqa: F401
        except ImportError:
            return Serial(label, shown)
        return Processes(workers, label, shown)
    return Serial(label, shown)


def shown(results: Iterable[Any], total: int, label: str, progress: bool) -> Iterator[Any]:
    """The results, with a bar on stderr: how many are done, how fast, and the time left."""
    if not progress:
        yield from results
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    begin, done = time.monotonic(), 0
    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        TextColumn("{task.fields[pace]}"),
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(label, total=total, pace="")
        for result in results:
            done += 1
            bar.update(task, advance=1, pace=pace_text(done, total, time.monotonic() - begin))
            yield result


def pace_text(done: int, total: int, seconds: float) -> str:
    """How fast work goes and how long the rest will take at that pace.

    >>> pace_text(30, 90, 10.0), pace_text(2, 10, 60.0)
    ('3 a second, 20 s left', '30 s each, 4 min left')
    """
    if not done or seconds <= 0:
        return ""
    rate = done / seconds
    left = (total - done) / rate
    shown = f"{left:.0f} s" if left < 120 else f"{left / 60:.0f} min" if left < 7200 else f"{left / 3600:.1f} h"
    pace = f"{rate:.3g} a second" if rate >= 1 else f"{1 / rate:.3g} s each"
    return f"{pace}, {shown} left"
