"""Serving the answer page: a few files from memory, and headers that keep everything else out.

The survey and the invitation stand in the fragment of the page's address, which browsers do not
send; nothing is logged all the same.
"""

import gzip
from collections.abc import Sequence
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from jrr.protocol.texts import check_address, split_link
from jrr.servers.page.files import START_FILE, PageFile, page_files

START = "/page/"
# Surveys name their servers, which the page does not know beforehand.
ANY_SERVER = ("https:", "http://127.0.0.1:*", "http://localhost:*")
Headers = list[tuple[bytes, bytes]]


def policy(servers: Sequence[str] = ()) -> str:
    """The Content-Security-Policy of the page.

    Args:
        servers: Addresses of the dealers and collectors that the page may talk to; none: any, by
            https.

    Returns:
        The header's value.

    Example:
        >>> "connect-src 'self' https://a.example;" in policy(["https://a.example"])
        True
    """
    # By origin: with a path, a browser would allow that one address and nothing below it.
    parts = [urlsplit(check_address("allow", server)) for server in servers]
    allowed = [f"{part.scheme}://{part.netloc}" for part in parts] or ANY_SERVER
    return "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "img-src 'self'",
            f"connect-src 'self' {' '.join(allowed)}",  # 'self': the page hashes its own files
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
        )
    )


def page_app(servers: Sequence[str] = (), survey: str | None = None) -> ASGIApp:
    """The application.

    Args:
        servers: As in `policy`.
        survey: Link of the survey that the page opens where its address names none.

    Returns:
        An ASGI application without state.
    """
    held = {f"/{file.path}": (file, gzip.compress(file.body, mtime=0)) for file in page_files()}
    held[START] = held[f"{START}index.html"]
    if survey is not None:
        split_link(survey)
        file = PageFile(f"page/{START_FILE}", f"{survey.strip()}\n".encode())
        held[f"/{file.path}"] = (file, gzip.compress(file.body, mtime=0))
    common: Headers = [
        (name.encode(), value.encode())
        for name, value in {
            "content-security-policy": policy(servers),
            "referrer-policy": "no-referrer",
            "x-content-type-options": "nosniff",
            "x-frame-options": "DENY",
            "cross-origin-opener-policy": "same-origin",
            "cross-origin-resource-policy": "same-origin",
            "permissions-policy": "camera=(), geolocation=(), microphone=()",
            "cache-control": "no-cache",
            "vary": "accept-encoding",
        }.items()
    ]

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        status, headers, body = _reply(held, scope)
        headers += [*common, (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        is_head = scope["method"] == "HEAD"
        await send({"type": "http.response.body", "body": b"" if is_head else body})

    return app


def _reply(held: dict[str, tuple[PageFile, bytes]], scope: Scope) -> tuple[int, Headers, bytes]:
    plain = (b"content-type", b"text/plain; charset=utf-8")
    if scope["method"] not in ("GET", "HEAD"):
        return 405, [plain, (b"allow", b"GET, HEAD")], b"only GET\n"
    if scope["path"] in ("/", START.rstrip("/")):  # browsers take the fragment along
        return 307, [plain, (b"location", START.encode())], b""
    if scope["path"] not in held:
        return 404, [plain], b"not here\n"
    file, compressed = held[scope["path"]]
    headers = [(b"content-type", file.kind.encode())]
    if b"gzip" in dict(scope["headers"]).get(b"accept-encoding", b""):
        return 200, [*headers, (b"content-encoding", b"gzip")], compressed
    return 200, headers, file.body
