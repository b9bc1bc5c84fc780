"""Uploads of contributors, straight from the connection to what takes them.

Of all requests these come in crowds. Finding their route, checking arguments and writing the reply
by FastAPI took twice as long as everything else about them together; its routes still describe
them (OpenAPI), and answer addresses that name nothing.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Receive, Scope, Send

from jrr.servers.common.problems import too_large

_NAME = 64  # hexadecimal digits
_DIGITS = frozenset("0123456789abcdef")
_BODY = b'{"received":true}'
_HEADERS = [(b"content-length", b"%d" % len(_BODY)), (b"content-type", b"application/json")]


@dataclass(frozen=True)
class Upload:
    """One kind of uploads, and what is done with them."""

    start: str  # of the address, before the name of what it belongs to
    end: str  # after it
    limit: Callable[[str], Awaitable[int]]  # name -> bytes that a body may have, or a Problem
    take: Callable[[str, bytes], Awaitable[bool]]  # name, body -> whether it is new, or a Problem

    def name_in(self, path: str) -> str | None:
        """The name in an address; None where it is no address of such an upload."""
        if not path.startswith(self.start) or not path.endswith(self.end):
            return None
        name = path[len(self.start) : -len(self.end)]
        return name if len(name) == _NAME and _DIGITS.issuperset(name) else None


class Uploads:
    """Takes uploads, and passes everything else on."""

    def __init__(self, app: ASGIApp, kinds: list[Upload]) -> None:
        self._app = app
        self._kinds = kinds  # roles add theirs when the application is made

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take an upload, or pass the request on."""
        if scope["type"] == "http" and scope["method"] == "POST":
            for kind in self._kinds:
                name = kind.name_in(scope["path"])
                if name is not None:
                    await self._take(kind, name, scope, receive, send)
                    return
        await self._app(scope, receive, send)

    async def _take(
        self, kind: Upload, name: str, scope: Scope, receive: Receive, send: Send
    ) -> None:
        try:
            body = await _read(scope, receive, await kind.limit(name))
            status = 201 if await kind.take(name, body) else 200
        except Exception as error:
            await _refuse(error, scope, receive, send)
            return
        await send({"type": "http.response.start", "status": status, "headers": _HEADERS})
        await send({"type": "http.response.body", "body": _BODY})


async def _refuse(error: Exception, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer as the application answers such an error; it goes on where it is a bug."""
    handlers = scope["app"].exception_handlers
    kind = next((one for one in type(error).__mro__ if one in handlers), Exception)
    if kind is Exception:
        raise error
    reply = await handlers[kind](Request(scope, receive), error)
    await reply(scope, receive, send)


async def _read(scope: Scope, receive: Receive, limit: int) -> bytes:
    """A body of at most so many bytes; a Problem before more than that is read."""
    for name, value in scope["headers"]:
        if name == b"content-length" and (not value.isdigit() or int(value) > limit):
            raise too_large(limit)
    body: bytes = b""  # nearly always of one piece
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect()
        piece: bytes = message.get("body", b"")
        body += piece
        if len(body) > limit:
            raise too_large(limit)
        if not message.get("more_body", False):
            return body
