"""Answer pages of other origins may use a contributor's routes (CORS); never an operator's.

A browser lets a page read a reply only if the server says that it may. What these routes give,
they give to whoever knows a pseudonym, from any machine; there are no cookies that a foreign page
could make use of. So any origin may ask unless a setting names some.
"""

import re

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from jrr.errors import ArgumentError

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
    """Tells browsers which pages may use a contributor's routes, and says nothing of others."""

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
