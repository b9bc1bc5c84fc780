"""What every request passes: whose it is, how long it takes, which pages may ask, uploads."""

import re
import time
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol

from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from jrr.errors import ArgumentError
from jrr.servers.common.problems import too_large

CONTRIBUTORS = "/v1/surveys/"
IS_THERE = "jrr.is_there"  # in a scope: asks whether the connection is still open
IsThere = Callable[[], bool]
_visitor: ContextVar[IsThere | None] = ContextVar("visitor", default=None)


def visitor() -> IsThere | None:
    """Of a contributor's request, what tells whether they still wait; None: an operator's."""
    return _visitor.get()


def _always() -> bool:
    return True


class Visitors:
    """Marks requests of contributors, for `Writer`: who leaves need not be answered.

    An operator's request may be several jobs, of which none may be left out because a connection
    broke.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] == "http" and scope["path"].startswith(CONTRIBUTORS):
            # Each request runs in a context of its own, which ends with it.
            _visitor.set(scope.get(IS_THERE, _always))
        else:
            _visitor.set(None)
        await self._app(scope, receive, send)


class RequestCounter(Protocol):
    """What is told, as `jrr.servers.common.metrics` has it."""

    def count_request(self, by: str, seconds: float) -> None:
        """A request was answered; by: contributor or operator."""


class Measured:
    """Times requests."""

    def __init__(self, app: ASGIApp, metrics: RequestCounter) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http" or not scope["path"].startswith("/v1/"):
            await self._app(scope, receive, send)
            return
        begun = time.perf_counter()

        async def noted(message: Message) -> None:
            await send(message)
            if message["type"] == "http.response.body" and not message.get("more_body"):
                by = "contributor" if scope["path"].startswith(CONTRIBUTORS) else "operator"
                self._metrics.count_request(by, time.perf_counter() - begun)

        await self._app(scope, receive, noted)


ANY = "*"
_CONTRIBUTORS = re.compile(r"/v1/surveys/[0-9a-f]{64}(/status|/cards|/seats|/reports|/complaints)?")
_ORIGIN = re.compile(r"https?://[a-z0-9.\-\[\]:]+")
_A_DAY = 86_400  # seconds that a browser may remember what is allowed


def read_origins(setting: str) -> frozenset[str]:
    """The origins in a setting: "*", or some as https://page.example with blanks between.

    Args:
        setting: Empty: no page of another origin.

    Returns:
        The origins.

    Raises:
        ArgumentError: One is none.

    Example:
        >>> sorted(read_origins("https://a.example http://127.0.0.1:8003"))
        ['http://127.0.0.1:8003', 'https://a.example']
    """
    origins = frozenset(setting.split())
    for origin in origins - {ANY}:
        if not _ORIGIN.fullmatch(origin):
            raise ArgumentError(
                f"origins must be '*', or as https://page.example with blanks between, got {origin}"
            )
    return origins


class CrossOrigin:
    """Tells browsers which pages may use a contributor's routes (CORS); never an operator's.

    What these routes give, they give to whoever knows a pseudonym, from any machine; there are no
    cookies that a foreign page could make use of. So any origin may ask unless a setting names
    some.
    """

    def __init__(self, app: ASGIApp, origins: frozenset[str]) -> None:
        self._app = app
        self._contributors = CORSMiddleware(
            app,
            allow_origins=sorted(origins),
            allow_methods=("GET", "POST"),
            allow_headers=("content-type",),
            expose_headers=("retry-after",),  # when to come back, which browsers hide otherwise
            max_age=_A_DAY,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, by its address; one that no page sent is not touched."""
        is_pages = scope["type"] == "http" and any(key == b"origin" for key, _ in scope["headers"])
        is_theirs = is_pages and _CONTRIBUTORS.fullmatch(scope["path"])
        await (self._contributors if is_theirs else self._app)(scope, receive, send)


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
    """Takes uploads of contributors straight from the connection, and passes all else on.

    Of all requests these come in crowds. Finding their route, checking arguments and writing the
    reply by FastAPI took twice as long as everything else about them together; its routes still
    describe them (OpenAPI), and answer addresses that name nothing.
    """

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
            body = await read_whole(scope, receive, await kind.limit(name))
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


async def read_whole(scope: Scope, receive: Receive, limit: int) -> bytes:
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
