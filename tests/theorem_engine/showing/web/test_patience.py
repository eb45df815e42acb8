"""Connections that say nothing, or too little, against a real server: they are ended, and others are served."""

import socket
import threading
import time

import pytest

from theorem_engine.showing.web.patience import impatient_protocol

uvicorn = pytest.importorskip("uvicorn")


async def application(scope, receive, send):
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})


@pytest.fixture
def port():
    with socket.socket() as line:
        line.bind(("127.0.0.1", 0))
        number = line.getsockname()[1]
    http = impatient_protocol(seconds=1.0, most=20)
    server = uvicorn.Server(uvicorn.Config(application, "127.0.0.1", number, http=http, log_level="critical",
                                           lifespan="off"))  # fmt: skip
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield number
    server.should_exit = True
    thread.join(20)


def opened(port, data=b""):
    line = socket.create_connection(("127.0.0.1", port), timeout=20)
    if data:
        line.sendall(data)
    return line


WHOLE = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


def test_a_connection_that_says_nothing_is_ended(port):
    with opened(port) as line:
        assert line.recv(100) == b""


def test_half_a_request_is_answered_with_too_slow(port):
    with opened(port, WHOLE[:-4]) as line:
        assert line.recv(100).startswith(b"HTTP/1.1 408")
        assert line.recv(100) == b""


def test_a_second_request_is_waited_for_no_longer_than_the_first(port):
    with opened(port, WHOLE) as line:
        answer = b""
        while not answer.endswith(b"ok"):
            answer += line.recv(200)
        line.sendall(WHOLE[:-4])
        assert line.recv(100).startswith(b"HTTP/1.1 408")


def test_many_that_say_nothing_keep_nobody_out(port):
    lines = [opened(port) for _ in range(60)]
    try:
        with opened(port, WHOLE) as line:
            assert line.recv(200).startswith(b"HTTP/1.1 200")
        # the oldest had to go
        assert lines[0].recv(10) == b""
    finally:
        for line in lines:
            line.close()
