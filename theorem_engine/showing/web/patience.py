"""Connections that say nothing: each is waited for a while, and many of them keep nobody out."""

from __future__ import annotations

from typing import Any

#: Seconds for the head of a request to arrive, and connections without one that are kept open.
SECONDS, MOST = 10.0, 200
_TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


def impatient_protocol(seconds: float = SECONDS, most: int = MOST) -> type:
    """A protocol for uvicorn that ends connections whose request does not come; of too many, the oldest."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    #: Those without a request, in the order they came.
    waiting: dict[Any, None] = {}

    class Impatient(H11Protocol):
        """HTTP by h11 with an end to waiting."""

        clock: Any = None
        has_spoken = False

        def connection_made(self, transport: Any) -> None:
            """Begin to wait."""
            super().connection_made(transport)
            self._look()
            if len(waiting) > most:
                next(iter(waiting)).give_up()

        def data_received(self, data: bytes) -> None:
            """Go on waiting for the head of a request, or be glad of it."""
            self.has_spoken = True
            super().data_received(data)
            self._look()

        def connection_lost(self, exc: Exception | None) -> None:
            """Nothing more to wait for."""
            self._forget()
            super().connection_lost(exc)

        def _look(self) -> None:
            if self.cycle is not None and not self.cycle.response_complete:
                self._forget()
            elif self.clock is None and not self.transport.is_closing():
                waiting[self] = None
                self.clock = self.loop.call_later(seconds, self.give_up)

        def _forget(self) -> None:
            waiting.pop(self, None)
            if self.clock is not None:
                self.clock.cancel()
                self.clock = None

        def give_up(self) -> None:
            """End the connection, with a word if it had begun to speak."""
            self._forget()
            if not self.transport.is_closing():
                if self.has_spoken:
                    self.transport.write(_TOO_SLOW)
                self.transport.close()

    return Impatient
