"""The server: pages of a book with the explorer on them, and questions over JSON, for this machine only."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import AsyncIterator, Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

from theorem_engine.base.errors import BadRequest, NotAvailable
from theorem_engine.showing.book.kept import NAME
from theorem_engine.showing.web.bodies import Refused, read_body
from theorem_engine.showing.web.openapi import description
from theorem_engine.showing.web.patience import impatient_protocol
from theorem_engine.showing.web.questions import MOST_SECONDS, QUESTIONS
from theorem_engine.showing.web.workers import Busy, Ended, Late, Left, Workers

#: Seconds that a question may take; a check has its own workers, so that it keeps nobody waiting.
QUICK, SLOW = 20.0, MOST_SECONDS + 20.0
_HOSTS = ("127.0.0.1", "localhost", "[::1]")
_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".json": "application/json"}
_SCRIPT = '<script src="/explore.js"></script>\n</body>'


def make_app(book: Path | str, jobs: int = 2) -> Any:
    """The application on a book that ``theorem-engine book`` has written."""
    try:
        from starlette.applications import Starlette
        from starlette.responses import JSONResponse, Response
        from starlette.routing import Route
    except ImportError:
        raise NotAvailable("the explorer needs Starlette and uvicorn: pip install 'theorem-engine[web]'") from None
    folder = Path(book).resolve()
    if not (folder / NAME).is_file():
        raise BadRequest(f"{book} holds no book; theorem-engine book {book} makes one")
    # made before the first request: it may have to read the whole registry
    described = description()
    quick, slow = Workers(jobs), Workers(1)

    def said(status: int, error: str, message: str) -> Any:
        return JSONResponse({"error": error, "message": message}, status)

    async def ask(request: Any) -> Any:
        question = request.path_params["question"]
        if question not in QUESTIONS:
            return said(404, "UnknownQuestion", f"no question {question[:40]!r}; there are {', '.join(QUESTIONS)}")
        workers, seconds = (slow, SLOW) if question == "check" else (quick, QUICK)
        try:
            body = await read_body(request)
            found = await workers.ask(question, body, seconds, request.is_disconnected)
        except Refused as refusal:
            return said(refusal.status, "BadBody", refusal.message)
        except Late:
            return said(422, "Late", f"{question} took longer than {seconds:g} s; the command line sets no limit")
        except Busy:
            return said(429, "Busy", "all workers are busy; ask again in a moment")
        except Left:
            return said(400, "Left", "whoever asked has left")
        except Ended:
            return said(422, "Ended", f"the process that answered {question} was ended, perhaps for want of memory")
        return JSONResponse(found["answer"], found["status"])

    async def post_it(request: Any) -> Any:
        return said(405, "PostIt", "a question is sent with POST")

    async def describe(request: Any) -> Any:
        return JSONResponse(described)

    async def explorer(request: Any) -> Any:
        text = (files("theorem_engine.showing.web") / "assets" / "explore.js").read_text(encoding="utf-8")
        return Response(text, media_type="text/javascript")

    async def page(request: Any) -> Any:
        path = found_page(folder, request.path_params["place"])
        if path is None:
            return said(404, "NoPage", "the book has no such page")
        data = path.read_bytes()
        if path.suffix == ".html":
            data = data.replace(b"</body>", _SCRIPT.encode())
        return Response(data, media_type=_TYPES[path.suffix])

    @contextlib.asynccontextmanager
    async def life(app: Any) -> AsyncIterator[None]:
        quick.start()
        slow.start()
        yield
        quick.stop()
        slow.stop()

    routes = [
        Route("/api/{question}", ask, methods=["POST"]),
        Route("/api/{question}", post_it, methods=["GET", "PUT", "PATCH", "DELETE"]),
        Route("/openapi.json", describe),
        Route("/explore.js", explorer),
        Route("/{place:path}", page),
    ]
    app = Starlette(routes=routes, lifespan=life)
    app.add_middleware(OnlyHere)
    return app


def found_page(folder: Path, place: str) -> Path | None:
    """A file of the book; None for what is outside it, hidden, or of another kind."""
    if "\0" in place or "\\" in place:
        return None
    try:
        path = (folder / (place or "index.html")).resolve()
        if path.is_dir():
            path = path / "index.html"
        inside = path.is_relative_to(folder) and path.is_file() and path.suffix in _TYPES
    except (OSError, ValueError):
        return None
    return path if inside else None


class OnlyHere:
    """Answers only requests made to this machine by its own name, so that no page of elsewhere speaks through it."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Refuse a foreign host before anything else is looked at."""
        if scope["type"] == "http":
            host = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
            name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() and ":" in host else host
            if name not in _HOSTS:
                body = b'{"error": "ForeignHost", "message": "this server answers to 127.0.0.1 and localhost only"}'
                headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
                await send({"type": "http.response.start", "status": 403, "headers": headers})
                await send({"type": "http.response.body", "body": body})
                return
        await self.app(scope, receive, send)


def serve(book: Path | str, port: int = 8000, jobs: int = 2, announce: Callable[[str], None] = print) -> None:
    """Serve until interrupted, on this machine only; the address is announced when it is known to be free."""
    app = make_app(book, jobs)
    with socket.socket() as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            line.bind(("127.0.0.1", port))
        except OSError as error:
            raise BadRequest(f"port {port} cannot be used: {error.strerror}; choose another with --port") from None
    try:
        import uvicorn
    except ImportError:
        raise NotAvailable("the explorer needs Starlette and uvicorn: pip install 'theorem-engine[web]'") from None
    announce(f"http://127.0.0.1:{port}/  (Ctrl-C stops)")
    http: Any = impatient_protocol()
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning", timeout_keep_alive=10, http=http)
