"""An executor beyond one machine: the workers of a Dask scheduler.

Ids and points travel, never closures; workers give back numbers, and whoever asked writes them. A worker that is lost
is made up for by the others. The workers must run this engine: another version would answer with other numbers.
"""

from __future__ import annotations

import importlib
import re
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from theorem_engine.base.errors import NotAvailable
from theorem_engine.base.sources import engine_digest
from theorem_engine.language.packs import adopt, places
from theorem_engine.sweeping.executors import shown

#: Seconds within which a scheduler answers, and its first worker is there.
PATIENCE = 8.0
#: Tasks sent per worker at once, so that none waits while numbers travel; and most points of one task.
_AHEAD, _LARGEST = 16, 8
_ADDRESS = re.compile(r"(?:(?:tcp|tls)://)?(?P<host>\[[0-9a-fA-F:]+\]|[^\s/:]+):(?P<port>[0-9]{1,5})")
#: Precision and random numbers belong to a process: its threads take turns.
_turn = threading.Lock()


class Cluster:
    """The workers behind the address of a scheduler, ``tcp://host:8786``."""

    #: The workers may be elsewhere and write no files of ours.
    is_remote = True

    def __init__(self, address: str, label: str = "", progress: bool = False) -> None:
        self.address = address
        self.label = label
        self.progress = progress

    def refuse_unreachable(self) -> None:
        """An error at once where nobody listens, before anything is imported or computed."""
        match = _ADDRESS.fullmatch(self.address)
        if match is None:
            raise NotAvailable(f"{self.address[:80]!r} is no address of a scheduler, such as tcp://host:8786")
        try:
            socket.create_connection((match["host"].strip("[]"), int(match["port"])), timeout=PATIENCE / 2).close()
        except (OSError, OverflowError) as error:
            raise self._silence(error) from None

    def _silence(self, error: Exception) -> NotAvailable:
        reason = " ".join(str(error).split())[:120] or type(error).__name__
        return NotAvailable(
            f"no scheduler answers at {self.address[:80]!r} ({reason}); start one with `dask scheduler`"
        )

    def count_workers(self) -> int:
        """How many workers the scheduler has now; at least one is waited for."""
        client = self._connected()
        try:
            return max(1, len(client.scheduler_info()["workers"]))
        finally:
            client.close(timeout=PATIENCE)

    def map(self, function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        """Results in order, as they come in."""
        return shown(self._results(function, items), len(items), self.label, self.progress)

    def _results(self, function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        if not items:
            return
        client = self._connected()
        try:
            workers = max(1, len(client.scheduler_info()["workers"]))
            size = max(1, min(_LARGEST, len(items) // (_AHEAD * workers)))
            parts = [list(items[first : first + size]) for first in range(0, len(items), size)]
            # not pure: a scheduler that remembers would answer from an earlier engine
            told = {"function": function, "engine": engine_digest(), "packs": places()}
            futures = client.map(_in_worker, parts, **told, pure=False)
            for place, future in enumerate(futures):
                yield from self._found(future)
                # what has been read need not be kept over there
                futures[place] = None
                future.release()
        finally:
            client.close(timeout=PATIENCE)

    def _connected(self) -> Any:
        try:
            # without types of its own
            distributed: Any = importlib.import_module("distributed")
        except ImportError:
            raise NotAvailable("clusters need dask and distributed: pip install 'theorem-engine[cluster]'") from None
        try:
            client = distributed.Client(self.address, timeout=PATIENCE, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise self._silence(error) from None
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError:
            client.close(timeout=PATIENCE)
            raise NotAvailable(
                f"the scheduler at {self.address[:80]!r} has no worker; start some with `dask worker {self.address}`"
            ) from None
        return client

    def _found(self, future: Any) -> list[Any]:
        from concurrent.futures import CancelledError

        killed: Any = importlib.import_module("distributed").KilledWorker
        try:
            found: list[Any] = future.result()
        except killed:
            raise NotAvailable(
                f"workers of {self.address} were ended again and again at the same points, perhaps for want of memory"
            ) from None
        except (CancelledError, OSError) as error:
            raise NotAvailable(f"the scheduler at {self.address} was lost: {str(error)[:120]}") from None
        return found


def _in_worker(
    items: list[Any], *, function: Callable[[Any], Any], engine: str, packs: tuple[str, ...] = ()
) -> list[Any]:
    """A few items in a worker, one after the other."""
    if engine != engine_digest():
        raise NotAvailable(
            "a worker of the cluster runs another version of the engine; install the same one everywhere"
        )
    with _turn:
        adopt(packs)
        return [function(item) for item in items]
