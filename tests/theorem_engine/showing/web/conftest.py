"""The explorer as a user starts it, for tests over HTTP and in a browser."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[4]


@pytest.fixture(scope="module")
def port(book):
    """The port of a server of the small book, one worker; it lives to the end of the tests."""
    with socket.socket() as line:
        line.bind(("127.0.0.1", 0))
        number = line.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "theorem_engine", "serve", str(book), "--port", str(number), "--jobs", "1"],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        for _ in range(2400):
            try:
                socket.create_connection(("127.0.0.1", number), 1).close()
                break
            except OSError:
                assert process.poll() is None
                time.sleep(0.1)
        yield number
        assert process.poll() is None, "the server lives to the end"
    finally:
        process.terminate()
        process.wait(20)
