"""Worker processes that answer questions, each one at a time; one that takes too long is ended and replaced."""

from __future__ import annotations

import asyncio
import contextlib
import json
import multiprocessing
import signal
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from typing import Any

#: Seconds that a question waits for a free worker, and that a worker may take to import the registry.
PATIENCE, STARTING = 10.0, 120.0
#: Seconds between two looks at whether who asked is still there; seconds that a worker has to finish if not.
LOOK, GRACE = 0.25, 2.0

READY = b"ready"
HasLeft = Callable[[], Awaitable[bool]]


class Late(Exception):
    """A question took longer than it may."""


class Busy(Exception):
    """No worker was free for a long time."""


class Left(Exception):
    """Who asked is gone."""


class Ended(Exception):
    """A worker was ended from outside."""


class Workers:
    """Some processes behind one queue; those that wait for others are let in as workers become free."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._idle: asyncio.Queue[_Worker] = asyncio.Queue()
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="worker")
        self._all: set[_Worker] = set()

    def start(self) -> None:
        """Start the processes; they import the registry while the first question is on its way."""
        for _ in range(self.count):
            self._add()

    def _add(self) -> None:
        worker = _Worker()
        self._all.add(worker)
        self._idle.put_nowait(worker)

    async def ask(
        self, question: str, body: dict[str, Any], seconds: float, has_left: HasLeft | None = None
    ) -> dict[str, Any]:
        """The answer of a free worker; Late if it takes longer than the seconds, Busy if none becomes free.

        Left if who asked has left, as ``has_left`` tells: then nothing more is waited for, and a worker that goes on
        for long is ended.
        """
        left = asyncio.ensure_future(_gone(has_left))
        try:
            worker = await self._idle_worker(left)
            loop = asyncio.get_running_loop()
            # a client that leaves does not set the worker free before it has answered
            task = loop.run_in_executor(self._threads, worker.ask, question, body, seconds)
            task.add_done_callback(lambda done: self._free(worker, done))
            either: set[asyncio.Future[Any]] = {task, left}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                await asyncio.wait({task}, timeout=GRACE)
                if not task.done() and worker.is_ready:
                    worker.process.kill()
                raise Left
            return task.result()
        except (EOFError, OSError):
            raise Ended from None
        finally:
            left.cancel()

    async def _idle_worker(self, left: asyncio.Future[None]) -> _Worker:
        found = asyncio.ensure_future(self._idle.get())
        either: set[asyncio.Future[Any]] = {found, left}
        await asyncio.wait(either, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
        if found.done() and not left.done():
            return found.result()
        if found.done():
            self._idle.put_nowait(found.result())
        found.cancel()
        raise Left if left.done() else Busy

    def _free(self, worker: _Worker, done: asyncio.Future[Any]) -> None:
        if done.cancelled() or done.exception() is not None:
            worker.end()
            self._all.discard(worker)
            self._add()
        else:
            self._idle.put_nowait(worker)

    def stop(self) -> None:
        """End all processes."""
        for worker in self._all:
            worker.end()
        self._threads.shutdown(wait=False, cancel_futures=True)


async def _gone(has_left: HasLeft | None) -> None:
    """Waits until who asked has left."""
    while has_left is None or not await has_left():
        await asyncio.sleep(LOOK)


class _Worker:
    """One process and the line to it; what goes over the line is JSON."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.line, other = context.Pipe()
        self.process = context.Process(target=serve_questions, args=(other,), daemon=True)
        with _deaf():
            self.process.start()
        other.close()
        self.is_ready = False

    def ask(self, question: str, body: dict[str, Any], seconds: float) -> dict[str, Any]:
        """The answer; in a thread, as it waits. The seconds count from when the worker is ready."""
        if not self.is_ready:
            if not self.line.poll(STARTING):
                raise Late
            self.is_ready = self.line.recv_bytes() == READY
        self.line.send_bytes(json.dumps([question, body]).encode())
        if not self.line.poll(seconds):
            raise Late
        found: dict[str, Any] = json.loads(self.line.recv_bytes())
        return found

    def end(self) -> None:
        """End the process, whatever it does."""
        self.process.kill()
        self.process.join(5)
        self.line.close()


@contextlib.contextmanager
def _deaf() -> Iterator[None]:
    """Processes started meanwhile pass over Ctrl-C, which is for the one that started them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)


def serve_questions(line: Connection) -> None:
    """The life of a worker: read a question, answer it, until the line is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    from theorem_engine.language.catalogue import load_all
    from theorem_engine.showing.web.questions import answer

    load_all()
    line.send_bytes(READY)
    while True:
        try:
            question, body = json.loads(line.recv_bytes())
        except (EOFError, OSError):
            return
        try:
            found = answer(question, body)
            data = json.dumps(found, allow_nan=False)
        except Exception as error:  # whatever went wrong is told, and the worker goes on
            fault = {"error": "Fault", "message": f"the engine failed here: {type(error).__name__}: {str(error)[:200]}"}
            data = json.dumps({"status": 500, "answer": fault})
        line.send_bytes(data.encode())
