"""Long work told on stderr: what is being done, that it still is, and how long it took."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

Verbose = Annotated[bool, typer.Option("--verbose", help="Tell on stderr what is done, and how long it takes.")]
#: Seconds between two lines about work that goes on.
INTERVAL = 10.0


@contextmanager
def told(what: str, verbose: bool) -> Iterator[None]:
    """Lines on stderr around a computation, if they are wanted, and one every ten seconds while it takes."""
    if not verbose:
        yield
        return
    begin, done = time.monotonic(), threading.Event()

    def speak() -> None:
        while not done.wait(INTERVAL):
            print(f"still at it after {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)

    print(f"evaluating {what}", file=sys.stderr, flush=True)
    teller = threading.Thread(target=speak, daemon=True)
    teller.start()
    try:
        yield
    finally:
        done.set()
        teller.join()
        print(f"took {time.monotonic() - begin:.2f} s", file=sys.stderr, flush=True)
