"""One kept HTTP connection of the load generator: as little work as possible per request."""

import asyncio
from collections.abc import Callable
from typing import NamedTuple, cast

Done = Callable[["Plug", "Outcome"], None]


class Outcome(NamedTuple):
    """What came of one request."""

    status: int  # 0: the connection broke
    retry_after: float  # seconds; 0 where nothing was said
    problem: str  # the last part of the problem's type; "" where there was none


class Plug(asyncio.Protocol):
    """A connection that sends one request at a time."""

    def __init__(self, done: Done) -> None:
        self._done = done
        self._received = b""
        self._transport: asyncio.Transport | None = None
        self.number = -1  # of the request that is under way; -1: none
        self.due = 0.0  # when it should have been sent
        self.begun = 0.0  # when it was

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast(asyncio.Transport, transport)

    def send(self, number: int, due: float, now: float, request: bytes) -> None:
        """Begin a request."""
        self.number, self.due, self.begun, self._received = number, due, now, b""
        assert self._transport is not None  # connected
        self._transport.write(request)

    def abort(self) -> None:
        """Hang up without waiting."""
        if self._transport is not None:
            self._transport.abort()

    @property
    def is_open(self) -> bool:
        """Whether another request may be sent."""
        return self._transport is not None and not self._transport.is_closing()

    def data_received(self, data: bytes) -> None:
        """Wait for a whole reply."""
        self._received += data
        head, found, body = self._received.partition(b"\r\n\r\n")
        if not found:
            return
        lower = head.lower()
        if len(body) < int(_header(lower, b"content-length") or 0):
            return
        status = int(head[9:12])
        told = _header(lower, b"retry-after")
        kind = body.partition(b"urn:jrr:problem:")[2].partition(b'"')[0].decode("latin-1")
        if b"connection: close" in lower and self._transport is not None:
            self._transport.close()
        self._finish(Outcome(status, float(told) if told.isdigit() else 0.0, kind))

    def connection_lost(self, exc: Exception | None) -> None:
        """A request that was under way has no answer."""
        if self.number >= 0:
            self._finish(Outcome(0, 0.0, ""))

    def _finish(self, outcome: Outcome) -> None:
        self._done(self, outcome)


def _header(head: bytes, name: bytes) -> bytes:
    return head.partition(b"\r\n" + name + b":")[2].partition(b"\r\n")[0].strip()
