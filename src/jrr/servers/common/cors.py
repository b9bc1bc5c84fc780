"""Answer pages of other origins may use a contributor's routes (CORS); never an operator's.

A browser lets a page read a reply only if the server says that it may. What these routes give,
they give to whoever knows a pseudonym, from any machine; there are no cookies that a foreign page
could make use of. So any origin may ask unless a setting names some.
"""

import re

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from jrr.errors import ArgumentError

ANY = "*"
_CONTRIBUTORS = re.compile(r"/v1/surveys/[0-9a-f]{64}(/status|/cards|/seats|/reports|/complaints)?")
_ORIGIN = re.compile(r"https?://[a-z0-9.\-\[\]:]+")
_A_DAY = b"86400"  # seconds that a browser may remember what is allowed


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
    """Tell browsers which pages may ask; answer the questions that they ask before asking."""

    def __init__(self, app: ASGIApp, origins: frozenset[str]) -> None:
        self._app = app
        self._origins = origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and add what its origin is allowed to the reply."""
        headers = dict(scope["headers"]) if scope["type"] == "http" else {}
        origin = headers.get(b"origin")
        if origin is None or not _CONTRIBUTORS.fullmatch(scope["path"]):
            await self._app(scope, receive, send)
            return
        told = self._told(origin)
        if scope["method"] == "OPTIONS" and b"access-control-request-method" in headers:
            await send({"type": "http.response.start", "status": 204, "headers": _before(told)})
            await send({"type": "http.response.body"})
            return

        async def with_origin(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *told]}
            await send(message)

        await self._app(scope, receive, with_origin)

    def _told(self, origin: bytes) -> list[tuple[bytes, bytes]]:
        # A page may see when it is told to come back, which browsers hide otherwise.
        later = (b"access-control-expose-headers", b"retry-after")
        if ANY in self._origins:
            return [(b"access-control-allow-origin", b"*"), later]
        vary = (b"vary", b"origin")
        if origin.decode("latin-1") not in self._origins:
            return [vary]
        return [(b"access-control-allow-origin", origin), later, vary]


def _before(told: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    return [
        *told,
        (b"access-control-allow-methods", b"GET, POST"),
        (b"access-control-allow-headers", b"content-type"),
        (b"access-control-max-age", _A_DAY),
    ]
