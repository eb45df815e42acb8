"""The questions as tools of the Model Context Protocol: find, show, predict, check, cite, over stdio."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any, TypedDict

from theorem_engine.base.errors import NotAvailable
from theorem_engine.base.version import __version__
from theorem_engine.showing.web.questions import MOST_SECONDS
from theorem_engine.showing.web.workers import Busy, Late, Workers

#: Seconds that a question may take; a check has its own time and some to start.
QUICK, SLOW = 60.0, MOST_SECONDS + 40.0
_ABOUT = (
    "Theorems of papers by name. find looks for entries, show gives letters, domains and an example, predict gives a "
    "number with its error, check compares with simulators that never saw the formula, cite gives BibTeX. Give numbers "
    "as text to keep them exact."
)


class Answer(TypedDict):
    """What a tool gives back."""

    question: str
    answer: dict[str, Any]


def make_server() -> Any:
    """The server with its five tools; one process evaluates for it."""
    try:
        from mcp.server import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
    except ImportError:
        raise NotAvailable("assistants need the package mcp: pip install 'theorem-engine[mcp]'") from None
    workers = Workers(1)

    @contextlib.asynccontextmanager
    async def life(server: Any) -> AsyncIterator[None]:
        workers.start()
        try:
            yield
        finally:
            workers.stop()

    server: Any = MCPServer("theorem-engine", instructions=_ABOUT, version=__version__, lifespan=life)

    async def ask(question: str, seconds: float, body: dict[str, Any]) -> Answer:
        given = {name: value for name, value in body.items() if value is not None}
        try:
            found = await workers.ask(question, given, seconds)
        except (Late, Busy):
            raise ToolError(f"{question} took longer than {seconds:g} s; the command line sets no limit") from None
        if found["status"] != 200:
            refusal = found["answer"]
            raise ToolError(f"{refusal['error']}: {refusal['message']}")
        return {"question": question, "answer": found["answer"]}

    @server.tool()
    async def find(words: str, paper: str | None = None) -> Answer:
        """Entries and figures that contain all the words."""
        return await ask("find", QUICK, {"words": words, "paper": paper})

    @server.tool()
    async def show(id: str) -> Answer:
        """An entry: statement, letters with domains, assumptions, regime, source, an example."""
        return await ask("show", QUICK, {"id": id})

    @server.tool()
    async def predict(
        id: str,
        point: dict[str, str | int | float | bool],
        digits: int | None = None,
        certified: bool = False,
    ) -> Answer:
        """The value of an entry at a point, with the error of every output."""
        return await ask("predict", QUICK, {"id": id, "point": point, "digits": digits, "certified": certified})

    @server.tool()
    async def check(id: str, point: dict[str, str | int | float | bool], seconds: float = 10, seed: int = 0) -> Answer:
        """An entry against simulators that never saw it: agrees, disagrees or cannot tell, with the reason."""
        return await ask("check", SLOW, {"id": id, "point": point, "seconds": seconds, "seed": seed})

    @server.tool()
    async def cite(ids: list[str]) -> Answer:
        """BibTeX of entries and of what they rest on."""
        return await ask("cite", QUICK, {"ids": ids})

    return server


def run_stdio() -> None:
    """Serve an assistant over the standard streams, until it hangs up."""
    make_server().run("stdio")
