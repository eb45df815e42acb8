"""Bodies of requests: JSON objects that are small, shallow and in time."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

#: Bytes of a body, seconds for it to arrive, objects inside objects.
LARGEST, SLOWEST, DEEPEST = 64_000, 10.0, 8
_TEXTS = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)


class Refused(Exception):
    """A body that is not taken: a status of 4xx and a sentence."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


async def read_body(request: Any) -> dict[str, Any]:
    """The object that a request carries."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Refused(415, "a question is sent as application/json")
    from starlette.requests import ClientDisconnect

    try:
        data = await asyncio.wait_for(_bytes(request), SLOWEST)
    except TimeoutError:
        raise Refused(408, f"the body did not arrive within {SLOWEST:g} s") from None
    except ClientDisconnect:
        raise Refused(400, "the body broke off") from None
    return parsed(data)


async def _bytes(request: Any) -> bytes:
    found = bytearray()
    async for chunk in request.stream():
        found += chunk
        if len(found) > LARGEST:
            raise Refused(413, f"the body has more than {LARGEST} bytes")
    return bytes(found)


def parsed(data: bytes) -> dict[str, Any]:
    """The object in some bytes.

    >>> parsed(b'{"id": "a"}')
    {'id': 'a'}
    """
    try:
        text = data.decode("utf-8")
        # before a parser has to remember all the brackets
        if _depth(text) > DEEPEST:
            raise Refused(400, f"the body is nested more than {DEEPEST} deep")
        found = json.loads(text, parse_constant=_refuse_constant)
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise Refused(400, f"the body is no JSON: {str(error)[:120]}") from None
    if not isinstance(found, dict):
        raise Refused(400, "the body is no JSON object")
    return found


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def _depth(text: str) -> int:
    """How deep brackets stand in each other, those in texts left out."""
    depth = deepest = 0
    for sign in _TEXTS.sub("", text):
        depth += (sign in "[{") - (sign in "]}")
        deepest = max(deepest, depth)
    return deepest
