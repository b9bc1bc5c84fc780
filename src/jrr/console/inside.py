"""Requests of the console to the server that it runs in: the same routes, without a network.

So the console shows and does exactly what an operator's program would be shown and could do.
"""

import asyncio
import contextlib
import copy
from typing import Any
from urllib.parse import urlsplit

from jrr.protocol.steps import Reply
from jrr.servers.common.audit import ON_BEHALF, RIGHT
from jrr.servers.common.tokens import AdminToken

PATIENCE = 600.0  # seconds, as for operators' programs


class InsideSender:
    """Calls an ASGI application from threads beside its event loop."""

    def __init__(self, app: Any, token: str) -> None:
        self._app = app
        self._headers = [
            (b"authorization", f"Bearer {token}".encode()),
            (b"content-type", b"application/json"),
        ]
        self._loop: asyncio.AbstractEventLoop | None = None

    def on_behalf_of(self, holder: AdminToken) -> "InsideSender":
        """The same for requests of one operator: the audit log has the name, routes the right."""
        named = copy.copy(self)
        said = {ON_BEHALF: holder.shown_name, RIGHT: holder.right}
        named._headers = [
            *self._headers,
            *((name.encode(), value.encode()) for name, value in said.items()),
        ]
        return named

    def note_loop(self) -> None:
        """The event loop that the application runs in is this one; known at the first request."""
        self._loop = asyncio.get_running_loop()

    def request(
        self, method: str, address: str, body: bytes | None = None, *, longer: float = 0.0
    ) -> Reply:
        """One request; not from the event loop's own thread, which it needs."""
        if self._loop is None:
            return Reply(0)
        coming = asyncio.run_coroutine_threadsafe(
            self._call(method, address, body or b""), self._loop
        )
        return coming.result(PATIENCE + longer)

    async def _call(self, method: str, address: str, body: bytes) -> Reply:
        parts = urlsplit(address)
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": parts.path,
            "raw_path": parts.path.encode(),
            "query_string": parts.query.encode(),
            "root_path": "",
            "headers": [*self._headers, (b"content-length", str(len(body)).encode())],
            "client": None,
            "server": None,
            "state": {},
        }
        sent = iter([{"type": "http.request", "body": body, "more_body": False}])
        status, pieces = 0, bytearray()

        async def receive() -> dict[str, Any]:
            return next(sent, {"type": "http.disconnect"})

        async def send(message: dict[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = int(message["status"])
            pieces.extend(message.get("body", b""))

        # What a route did not expect is answered and logged, and then raised for the server, which
        # over HTTP nobody sees either.
        with contextlib.suppress(Exception):
            await self._app(scope, receive, send)
        return Reply(status, bytes(pieces))
